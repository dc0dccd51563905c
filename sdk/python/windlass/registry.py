"""What `@register` was told, checked where it was said."""

import enum
import json
import re
from types import CodeType, FunctionType
from typing import Any, Callable, Dict, List, Mapping, Optional, Union

from .errors import RegistrationError

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}\Z")


class CredentialMode(enum.Enum):
    NONE = "none"
    CALLER_OR_POOL = "caller_or_pool"
    CALLER_REQUIRED = "caller_required"


class Registration:
    def __init__(self, name: str, infer: Callable[..., Any], setup: Optional[Callable[[], Any]], **values: Any) -> None:
        self.name = name
        self.infer = infer
        self.setup = setup
        self.values = values
        self.timeout_seconds: Optional[float] = values["timeout_seconds"]

    def described(self) -> Dict[str, Any]:
        return {"name": self.name, **self.values, "has_setup": self.setup is not None}


class Registry:
    def __init__(self) -> None:
        self._types: Dict[str, Registration] = {}
        self._homes: Dict[str, str] = {}
        self.file = ""

    def add(self, entry: Registration) -> None:
        if entry.name in self._types:
            raise RegistrationError("type `%s` is registered twice, first in %s" % (entry.name, self._homes[entry.name]))
        self._types[entry.name] = entry
        self._homes[entry.name] = self.file

    def get(self, name: str) -> Optional[Registration]:
        return self._types.get(name)

    def of_file(self, path: str) -> List[Registration]:
        return [entry for name, entry in self._types.items() if self._homes[name] == path]

    def forget(self, path: str) -> None:
        for entry in self.of_file(path):
            del self._types[entry.name], self._homes[entry.name]


registry = Registry()


def register(
    name: str,
    *,
    worker_threads: Optional[int] = None,
    processes: Optional[int] = None,
    credential_mode: Union[CredentialMode, str] = CredentialMode.NONE,
    metadata_version: Optional[int] = None,
    timeout_seconds: Optional[float] = None,
    start_timeout_seconds: Optional[float] = None,
    max_attempts: Optional[int] = None,
    description: Optional[str] = None,
    payload_schema: Optional[Mapping[str, Any]] = None,
    setup: Optional[Callable[[], Any]] = None,
    gpu: Optional[Mapping[str, int]] = None,
    memory_mb: Optional[int] = None,
    max_tasks_per_process: Optional[int] = None,
    host_group: Optional[str] = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes the function below it the code of task type `name`."""
    _check_name("type", name)
    if host_group is not None:
        _check_name("host_group", host_group)
    if setup is not None and not callable(setup):
        raise RegistrationError("type `%s`: setup is a function, not %r" % (name, setup))
    values = {
        "description": _text(name, "description", description),
        "worker_threads": _count(name, "worker_threads", worker_threads),
        "processes": _count(name, "processes", processes),
        "timeout_seconds": _seconds(name, "timeout_seconds", timeout_seconds),
        "start_timeout_seconds": _seconds(name, "start_timeout_seconds", start_timeout_seconds),
        "max_attempts": _count(name, "max_attempts", max_attempts),
        "memory_mb": _count(name, "memory_mb", memory_mb),
        "max_tasks_per_process": _count(name, "max_tasks_per_process", max_tasks_per_process),
        "host_group": host_group,
        "gpu": _gpu(name, gpu),
        "credential_mode": _credential_mode(name, credential_mode),
        "metadata_version": _count(name, "metadata_version", metadata_version, least=0),
        "payload_schema": _schema(name, payload_schema),
    }

    def decorate(infer: Callable[..., Any]) -> Callable[..., Any]:
        _check_infer(name, infer)
        registry.add(Registration(name, infer, setup, **values))
        return infer

    return decorate


def _check_name(what: str, name: Any) -> None:
    if not isinstance(name, str) or not _NAME.match(name):
        raise RegistrationError("%s name %r is not of the form [a-z0-9][a-z0-9_-]{0,63}" % (what, name))


def _check_infer(name: str, infer: Any) -> None:
    if not callable(infer):
        raise RegistrationError("type `%s`: what is registered is a function, not %r" % (name, infer))
    if isinstance(infer, FunctionType) and not hasattr(infer, "__wrapped__") and _takes_three(infer.__code__):
        return
    import inspect  # here: slow to load, and only for what is unusual

    try:
        inspect.signature(infer).bind(None, None, None)
    except TypeError:
        raise RegistrationError(
            "type `%s`: the function takes (model_spec, payload, inference_params)" % name
        ) from None
    except ValueError:
        pass  # a builtin without a signature: it shows when it is called


def _takes_three(code: CodeType) -> bool:
    return code.co_argcount == 3 and not code.co_kwonlyargcount


def _refuse(name: str, key: str, value: Any, allowed: str) -> RegistrationError:
    return RegistrationError("type `%s`: %s is %s, not %r" % (name, key, allowed, value))


def _count(name: str, key: str, value: Any, least: int = 1) -> Optional[int]:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**31:
        raise _refuse(name, key, value, "a whole number from %d" % least)
    return value


def _seconds(name: str, key: str, value: Any) -> Optional[float]:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e9:
        raise _refuse(name, key, value, "a number of seconds above 0")
    return float(value)


def _text(name: str, key: str, value: Any) -> Optional[str]:
    if value is not None and not isinstance(value, str):
        raise _refuse(name, key, value, "a text")
    return value


def _credential_mode(name: str, value: Any) -> str:
    try:
        return CredentialMode(value).value
    except ValueError:
        allowed = "one of " + ", ".join(mode.value for mode in CredentialMode)
        raise _refuse(name, "credential_mode", value, allowed) from None


def _gpu(name: str, value: Any) -> Optional[Dict[str, int]]:
    if value is None:
        return None
    if not isinstance(value, Mapping) or not set(value) <= {"memory_mb", "count"} or "memory_mb" not in value:
        raise _refuse(name, "gpu", value, '{"memory_mb": N, "count": N}')
    memory = _count(name, "gpu memory_mb", value["memory_mb"])
    count = _count(name, "gpu count", value.get("count", 1))
    if memory is None or count is None:
        raise _refuse(name, "gpu", value, '{"memory_mb": N, "count": N}')
    return {"memory_mb": memory, "count": count}


def _schema(name: str, value: Any) -> Optional[Dict[str, Any]]:
    if value is None:
        return None
    try:
        if not isinstance(value, Mapping):
            raise TypeError
        return json.loads(json.dumps(dict(value), allow_nan=False))
    except (TypeError, ValueError):
        raise _refuse(name, "payload_schema", value, "a JSON Schema as a dict") from None
