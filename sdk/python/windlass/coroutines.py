"""Coroutines and async generators: an event loop a thread, and a cancel that reaches what they await."""

import asyncio
import contextlib
import threading
from types import AsyncGeneratorType, CoroutineType
from typing import Any, Union

from .errors import Cancelled, Stopped
from .run import Run
from .values import encode

_loops = threading.local()


def await_value(run: Run, value: Union[CoroutineType, AsyncGeneratorType]) -> Any:
    loop = _loop_of_thread()
    task = loop.create_task(_drain(run, value) if isinstance(value, AsyncGeneratorType) else value)
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


async def _drain(run: Run, values: AsyncGeneratorType) -> None:
    try:
        async for value in values:
            if run.cancelled:
                run.noticed()
                raise Stopped
            await run.emit_async(encode(value, "output", "OUTPUT"))
    finally:
        with contextlib.suppress(RuntimeError):
            await values.aclose()


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
