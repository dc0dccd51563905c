"""Task types for the SDK's own tests: every kind of `infer`, and every way to end."""

import asyncio
import contextvars
import functools
import json
import logging
import os
import sys
import threading
import time

from windlass import (
    Cancelled,
    CredentialError,
    PermanentError,
    RetryableError,
    context,
    get_plugin_timeout_seconds,
    register,
    resolve_api_key,
)

print("printed at import")
seen = contextvars.ContextVar("seen", default=None)


def hello():
    print("printed in setup")
    sys.stderr.write("half a line in setup")


@register("function", setup=hello, timeout_seconds=77)
def function(model_spec, payload, inference_params):
    ctx = context()
    return {
        "given": [model_spec, payload, inference_params],
        "ctx": [ctx.task_id, ctx.task_type, ctx.attempt, ctx.max_attempts, ctx.epoch, ctx.client_role, ctx.credential],
        "resumed": ctx.resumed,
        "timeout": get_plugin_timeout_seconds(5),
        "key": resolve_api_key(model_spec),
        "idempotency": ctx.idempotency_key("pay"),
        "thread": threading.current_thread().name,
    }


@register("generator")
def generator(model_spec, payload, inference_params):
    try:
        for number in range(payload.get("n", 3)):
            yield number
        return {"kind": "generator"}
    finally:
        context().log("closed")


@register("coroutine")
async def coroutine(model_spec, payload, inference_params):
    await asyncio.sleep(0)
    print("from the coroutine")
    await asyncio.to_thread(print, "from its thread") if hasattr(asyncio, "to_thread") else print("from its thread")
    return {"kind": "coroutine"}


@register("async_generator")
async def async_generator(model_spec, payload, inference_params):
    for number in range(payload.get("n", 3)):
        await asyncio.sleep(0)
        yield number
    context().result({"kind": "async_generator"})


def decorated(function):
    @functools.wraps(function)
    def call(*args):
        return function(*args)

    return call


@register("wrapped")
@decorated
def wrapped(model_spec, payload, inference_params):
    yield 1
    return {"kind": "wrapped"}


@register("leaves_tasks")
async def leaves_tasks(model_spec, payload, inference_params):
    async def later():
        try:
            await asyncio.sleep(3600)
        finally:
            print("the left task was ended")

    asyncio.ensure_future(later())
    await asyncio.sleep(0)
    return "done"


@register("raises")
def raises(model_spec, payload, inference_params):
    kinds = {
        "retryable": lambda: RetryableError("later", code="BUSY", retry_after=2.5),
        "permanent": lambda: PermanentError("status 429 timeout", code="BAD_MODEL"),
        "plain": lambda: PermanentError("no code"),
        "credential": lambda: CredentialError("refused", 401),
        "value": lambda: ValueError("boom"),
        "exit": lambda: SystemExit(3),
        "interrupt": lambda: KeyboardInterrupt(),
        "memory": lambda: MemoryError(),
        "cancelled": lambda: Cancelled("of its own"),
        "surrogate": lambda: ValueError("bad \ud800 text \0 here"),
        "large": lambda: ValueError("é" * 5_000_000),
        "textless": lambda: Textless(),
    }
    raise kinds[payload["kind"]]()


class Textless(Exception):
    def __str__(self):
        raise RuntimeError("no text")


@register("async_exit")
async def async_exit(model_spec, payload, inference_params):
    await asyncio.sleep(0)
    sys.exit(4)


@register("returns")
def returns(model_spec, payload, inference_params):
    loop = []
    loop.append(loop)
    values = {
        "none": lambda: None,
        "nan": lambda: {"scores": [1.0, float("nan")]},
        "object": lambda: {"a": [{"b": object()}]},
        "key": lambda: {(1, 2): 3},
        "loop": lambda: loop,
        "surrogate": lambda: "x\ud800y",
        "pair": lambda: "\ud83d\ude00",
        "huge": lambda: "x" * (65 * 1024 * 1024),
        "large": lambda: "x" * (8 * 1024 * 1024),
    }
    return values[payload["what"]]()


@register("emits")
def emits(model_spec, payload, inference_params):
    ctx = context()
    for _ in range(payload["n"]):
        ctx.emit("x" * payload.get("bytes", 1))
    return "all sent"


@register("emits_async")
async def emits_async(model_spec, payload, inference_params):
    for _ in range(payload["n"]):
        yield "x" * payload.get("bytes", 1)


@register("progresses")
def progresses(model_spec, payload, inference_params):
    ctx = context()
    ctx.stage("first")
    for number in range(1, 10_001):
        ctx.progress(number / 10_000, "step %d" % number)
        if number == 5_000:
            ctx.stage("second")


@register("waits_for_progress")
def waits_for_progress(model_spec, payload, inference_params):
    context().progress(0.1)
    context().progress(0.2)
    context().emit("told")
    while not context().cancelled:
        time.sleep(0.005)


@register("checkpoints")
def checkpoints(model_spec, payload, inference_params):
    ctx = context()
    ctx.checkpoint({"at": 1})
    ctx.log("after the first")
    ctx.checkpoint({"at": 2})
    return "both kept"


@register("blocks", worker_threads=2)
def blocks(model_spec, payload, inference_params):
    """Never asks whether it was cancelled."""
    context().emit("begun")
    try:
        while True:
            time.sleep(0.01)
    finally:
        print("cleaned up")


@register("blocks_loop")
async def blocks_loop(model_spec, payload, inference_params):
    context().emit("begun")
    try:
        while True:
            time.sleep(0.01)
    finally:
        await asyncio.sleep(0.01)
        print("cleaned up")


@register("slow_cleanup")
def slow_cleanup(model_spec, payload, inference_params):
    context().emit("begun")
    try:
        while True:
            context().raise_if_cancelled()
            time.sleep(0.005)
    finally:
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            time.sleep(0.01)
        print("cleaned up in peace")


@register("chatters")
def chatters(model_spec, payload, inference_params):
    context().emit("begun")
    while True:
        print("x" * 100)


@register("waits_async")
async def waits_async(model_spec, payload, inference_params):
    context().emit("begun")
    try:
        await asyncio.sleep(3600)
    finally:
        await asyncio.sleep(0.05)
        print("cleaned up")


@register("finishes_anyway")
def finishes_anyway(model_spec, payload, inference_params):
    context().emit("begun")
    while not context().cancelled:
        time.sleep(0.005)
    return "finished"


@register("breaks_when_cancelled")
def breaks_when_cancelled(model_spec, payload, inference_params):
    context().emit("begun")
    while not context().cancelled:
        time.sleep(0.005)
    raise ConnectionError("the connection was closed")


@register("endless")
def endless(model_spec, payload, inference_params):
    try:
        while True:
            yield "x"
    finally:
        time.sleep(0.1)
        print("closed")


@register("endless_async")
async def endless_async(model_spec, payload, inference_params):
    try:
        while True:
            yield "x"
    finally:
        await asyncio.sleep(0.05)
        print("closed")


@register("prints")
def prints(model_spec, payload, inference_params):
    print("one\ntwo")
    sys.stdout.write("half ")
    sys.stdout.write("and half\n")
    print("windows\r")
    for percent in range(0, 101, 10):
        sys.stderr.write("\r%d%%" % percent)
    sys.stderr.write("\n")
    print(json.dumps({"t": "done", "run": 1}))
    sys.stdout.buffer.write("bytes: é\n".encode())
    os.write(1, b"native\n")
    print("bad \ud800 surrogate")
    logging.getLogger("some.library").warning("a record")
    threading.Thread(target=print, args=("from a thread of its own",)).start()
    print("x" * 20_000)
    print("no newline", end="")


@register("floods")
def floods(model_spec, payload, inference_params):
    for number in range(20_000):
        print(number)


@register("variables")
def variables(model_spec, payload, inference_params):
    before = seen.get()
    seen.set(context().task_id)
    return before


@register("forks")
def forks(model_spec, payload, inference_params):
    child = os.fork()
    if child == 0:
        print("from the child")
        context().emit("never")
        return "never"
    return os.WEXITSTATUS(os.waitpid(child, 0)[1])


@register("leaks_context")
def leaks_context(model_spec, payload, inference_params):
    ctx = context()

    def later():
        time.sleep(0.05)
        try:
            ctx.emit("too late")
        except RuntimeError as error:
            print(error)

    threading.Thread(target=later).start()


@register("artifact")
def artifact(model_spec, payload, inference_params):
    path = context().artifact_path("pages/one.txt")
    with open(path, "w") as file:
        file.write("here")
    try:
        context().artifact_path("../outside")
    except ValueError as error:
        return {"path": path, "refused": str(error)}


@register("surroundings")
def surroundings(model_spec, payload, inference_params):
    return {"names": [name for name in os.environ if name.startswith("WINDLASS")], "argv": sys.argv}
