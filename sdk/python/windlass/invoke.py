"""Calls `infer`, whichever of the four kinds it is, and brings back its result."""

import asyncio
import contextlib
import inspect
import threading
from typing import Any, AsyncGenerator, Callable, Coroutine, Generator

from .errors import Cancelled
from .run import Run
from .values import encode

_loops = threading.local()


class Stopped(Exception):
    """User code was closed because of a cancel, and has ended."""


def invoke(run: Run, infer: Callable[..., Any]) -> Any:
    arguments = (run.part("model_spec", {}), run.part("payload", {}), run.part("inference_params", {}))
    value = infer(*arguments)
    # Looked at here and not at registration: a decorator or a lambda may hide what the function is.
    if inspect.isgenerator(value):
        value = _drain(run, value)
    elif inspect.iscoroutine(value):
        value = _on_loop(run, value)
    elif inspect.isasyncgen(value):
        value = _on_loop(run, _drain_async(run, value))
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


async def _drain_async(run: Run, values: AsyncGenerator[Any, None]) -> None:
    try:
        async for value in values:
            if run.cancelled:
                run.noticed()
                raise Stopped
            await run.emit_async(encode(value, "output", "OUTPUT"))
    finally:
        with contextlib.suppress(RuntimeError):
            await values.aclose()


def _on_loop(run: Run, coroutine: Coroutine[Any, Any, Any]) -> Any:
    loop = _loop_of_thread()
    task = loop.create_task(coroutine)
    run.attach(loop, task)
    try:
        while not task.done():
            try:
                loop.run_until_complete(task)
            except Cancelled:
                # Interrupted while the loop itself was at work: the coroutine has yet to hear of it.
                task.cancel()
            except BaseException:
                if not task.done():
                    raise
        return task.result()
    finally:
        _end_leftovers(loop)


def _loop_of_thread() -> asyncio.AbstractEventLoop:
    """One loop a thread and not a run: clients and connection pools that plugins keep are bound to their loop."""
    loop = getattr(_loops, "loop", None)
    if loop is None or loop.is_closed():
        loop = _loops.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
    return loop


def _end_leftovers(loop: asyncio.AbstractEventLoop) -> None:
    """Tasks that the run started and left behind end with it."""
    left = asyncio.all_tasks(loop)
    if left:
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
