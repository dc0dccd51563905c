"""`context()`: what a plugin can ask and tell while it runs."""

import hashlib
import os
from typing import Any, Mapping, Optional


from .errors import PermanentError
from .logs import current
from .registry import registry
from .run import MAX_CHECKPOINT, Run
from .values import encode

_LEVELS = ("debug", "info", "warning", "error")


class Context:
    """The run that the calling code belongs to. Hand it to threads of your own: they have no `context()`."""

    __slots__ = ("_run", "_resumed")

    def __init__(self, run: Run) -> None:
        self._run = run
        self._resumed: Any = self

    @property
    def task_id(self) -> str:
        return self._run.header["task_id"]

    @property
    def task_type(self) -> str:
        return self._run.header["task_type"]

    @property
    def attempt(self) -> int:
        return self._run.header.get("attempt", 1)

    @property
    def max_attempts(self) -> Optional[int]:
        return self._run.header.get("max_attempts")

    @property
    def epoch(self) -> int:
        return self._run.header.get("epoch", 0)

    @property
    def timeout_seconds(self) -> Optional[float]:
        return self._run.header.get("timeout_seconds")

    @property
    def client_role(self) -> Optional[str]:
        return self._run.header.get("client_role")

    @property
    def credential(self) -> None:
        """The account leased for this run; without pools there is none."""
        return None

    @property
    def resumed(self) -> Any:
        """The last checkpoint of an earlier attempt, or None."""
        if self._resumed is self:
            self._resumed = self._run.part("checkpoint", None)
        return self._resumed

    @property
    def cancelled(self) -> bool:
        return self._run.cancelled

    def raise_if_cancelled(self) -> None:
        self._run.check()

    def idempotency_key(self, name: str) -> str:
        """The same in every attempt of this task, different for every name: for APIs that take such a key."""
        return hashlib.sha256(("%s\0%s" % (self.task_id, name)).encode("utf-8", "replace")).hexdigest()[:40]

    def stage(self, name: str) -> None:
        self._run.stage(name)

    def progress(self, fraction: float, message: Optional[str] = None) -> None:
        self._run.progress(fraction, message)

    def emit(self, value: Any) -> None:
        """Sends `value` as an output event; waits while the node is too far behind."""
        self._run.emit(encode(value, "output", "OUTPUT"))

    def log(self, text: str, level: str = "info") -> None:
        """Never raises for a cancel: a `finally` may log."""
        if level not in _LEVELS:
            raise ValueError("level is one of %s, not %r" % (", ".join(_LEVELS), level))
        self._run.say(str(text), level)

    def checkpoint(self, value: Any) -> None:
        """Returns once `value` is stored: the next attempt finds it in `resumed`."""
        body = encode(value, "checkpoint", "CHECKPOINT")
        if len(body) > MAX_CHECKPOINT:
            raise PermanentError(
                "a checkpoint holds at most %d bytes, this one has %d; keep the data in a file and check in its path"
                % (MAX_CHECKPOINT, len(body)),
                "CHECKPOINT_TOO_LARGE",
            )
        self._run.checkpoint(body)

    def result(self, value: Any) -> None:
        """The result of an async generator, which cannot return one."""
        self._run.result = value

    def artifact_path(self, name: str) -> str:
        """A path for a file of this attempt; its folder exists."""
        folder = self._run.header.get("artifact_dir")
        if not folder:
            raise RuntimeError("this node gives no folder for artifacts")
        parts = name.replace("\\", "/").split("/")
        if os.path.isabs(name) or ".." in parts or not name:
            raise ValueError("an artifact has a relative name inside its folder, not %r" % name)
        path = os.path.join(folder, *parts)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path


def context() -> Context:
    run = current.get()
    if run is None:
        raise RuntimeError("no task runs here: call context() in the code of a run, and hand it to your own threads")
    return Context(run)


def get_plugin_timeout_seconds(default: float) -> float:
    """The time this run may take: the task's, else the type's, else `default`."""
    run = current.get()
    if run is None:
        return default
    own = run.header.get("timeout_seconds")
    if own is None:
        entry = registry.get(run.header["task_type"])
        own = entry.timeout_seconds if entry else None
    return default if own is None else own


def resolve_api_key(model_spec: Mapping[str, Any]) -> Optional[str]:
    """The key to call a model with: `api_key`, or the variable that `api_key_env` names; None if there is neither."""
    key = model_spec.get("api_key")
    if not key and model_spec.get("api_key_env"):
        key = os.environ.get(str(model_spec["api_key_env"]))
    return key or None


