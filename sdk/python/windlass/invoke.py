"""Calls `infer`, whichever of the four kinds it is, and brings back its result."""

import contextlib
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Any, Callable, Generator

from .errors import Stopped
from .run import Run
from .values import encode


def invoke(run: Run, infer: Callable[..., Any]) -> Any:
    value = infer(run.part("model_spec", {}), run.part("payload", {}), run.part("inference_params", {}))
    # Looked at here and not at registration: a decorator or a lambda may hide what the function is.
    if isinstance(value, GeneratorType):
        value = _drain(run, value)
    elif isinstance(value, (CoroutineType, AsyncGeneratorType)):
        from .coroutines import await_value  # here: asyncio is half of a host's start, and few plugins need it

        value = await_value(run, value)
    return run.result if value is None else value


def _drain(run: Run, values: Generator[Any, None, Any]) -> Any:
    with contextlib.closing(values):
        while True:
            try:
                value = next(values)
            except StopIteration as end:
                return end.value
            if run.cancelled:
                run.noticed()
                # `close` runs its `finally`; only then is the run over.
                _close(values)
                raise Stopped
            run.emit(encode(value, "output", "OUTPUT"))


def _close(values: Generator[Any, None, Any]) -> None:
    try:
        values.close()
    except RuntimeError:
        pass  # it yielded once more: it is told to stop, not asked
