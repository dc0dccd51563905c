"""Task types that misbehave on purpose, for the node's tests. What each does stands above it.

A ledger is a file that gets one JSON line a fact: what really ran, whatever the node believes.
"""

import asyncio
import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any, Dict

from windlass import Cancelled, PermanentError, RetryableError, context, register

SLICE = 0.02


def note(payload: Dict[str, Any], event: str, **more: Any) -> None:
    path = payload.get("ledger")
    if not path:
        return
    ctx = context()
    line = {"event": event, "task": ctx.task_id, "attempt": ctx.attempt, "epoch": ctx.epoch}
    line.update(pid=os.getpid(), time=time.time(), **more)
    # One write to a file opened for appending: lines of many processes stay whole.
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, (json.dumps(line) + "\n").encode())
    finally:
        os.close(descriptor)


def pause(seconds: float) -> None:
    ctx = context()
    end = time.monotonic() + seconds
    while True:
        ctx.raise_if_cancelled()
        left = end - time.monotonic()
        if left <= 0:
            return
        time.sleep(min(SLICE, left))


def die_by(number: int) -> None:
    """Ends this process by signal `number`, whatever handler stands in the way (also from a thread)."""
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        ctypes.CDLL(None).signal(number, None)
    os.kill(os.getpid(), number)
    time.sleep(60)


def signal_number(value: Any) -> int:
    return value if isinstance(value, int) else int(getattr(signal, str(value)))


# Sleeps `seconds`; stops when told to.
@register("probe_sleep", worker_threads=4)
def probe_sleep(model_spec, payload, inference_params):
    pause(payload.get("seconds", 1))
    return {"slept": payload.get("seconds", 1)}


# Notes start and end in `ledger`, `seconds` apart.
@register("probe_ledger", worker_threads=4)
def probe_ledger(model_spec, payload, inference_params):
    ctx = context()
    note(payload, "start")
    pause(payload.get("seconds", 0))
    note(payload, "end")
    return {"attempt": ctx.attempt, "epoch": ctx.epoch, "pid": os.getpid()}


# Ignores cancel and timeout. `native`: inside C code, where no exception arrives. `child`: leaves a child in a session
# of its own. `seconds`: how long, for ever if absent.
@register("probe_hang", worker_threads=4)
def probe_hang(model_spec, payload, inference_params):
    note(payload, "start")
    child = None
    if payload.get("child"):
        environment = {**os.environ, "PROBE_MARKER": str(payload.get("marker", ""))}
        command = [sys.executable, "-c", "import time; time.sleep(3600)"]
        child = subprocess.Popen(command, start_new_session=True, env=environment).pid
    context().emit({"pid": os.getpid(), "child": child})
    end = time.monotonic() + payload.get("seconds", 10**9)
    while time.monotonic() < end:
        try:
            if payload.get("native"):
                # Holds the interpreter's lock all the time: no thread of this process gets a turn.
                ctypes.PyDLL(None).sleep(3600)
            while time.monotonic() < end:
                time.sleep(0.05)
        except BaseException:
            continue
    return {"hung": True}


TREE = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
wait = [sys.executable, "-c", "import signal,time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(3600)"]
own_session = subprocess.Popen(wait, start_new_session=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv(wait[0], wait)
    os._exit(0)
os.wait()
open(sys.argv[1], "w").close()
time.sleep(3600)
"""


# shell -> python -> a child in its own session and a double-forked orphan, all deaf to SIGTERM and all with
# PROBE_MARKER=`marker` in their environment. Emits once they run, then waits as probe_sleep does.
@register("probe_tree", worker_threads=4)
def probe_tree(model_spec, payload, inference_params):
    marker = str(payload["marker"])
    up = os.path.join(tempfile.gettempdir(), "probe-tree-%d-%s" % (os.getpid(), context().task_id))
    command = '"$0" -c "$1" "$2"; :'
    environment = {**os.environ, "PROBE_MARKER": marker}
    shell = subprocess.Popen(["sh", "-c", "trap '' TERM; " + command, sys.executable, TREE, up], env=environment)
    while not os.path.exists(up):
        pause(SLICE)
    os.unlink(up)
    context().emit({"marker": marker, "shell": shell.pid})
    pause(payload.get("seconds", 3600))
    return {"marker": marker}


# Emits 0..n-1, `delay` seconds apart; notes "closed" in `ledger` when its finally has run (`cleanup` seconds long).
@register("probe_stream", worker_threads=4)
def probe_stream(model_spec, payload, inference_params):
    sent = 0
    try:
        for number in range(payload.get("n", 3)):
            yield {"number": number, "pad": "x" * payload.get("pad", 0)} if payload.get("pad") else number
            sent = number + 1
            time.sleep(payload.get("delay", 0))
        return {"sent": sent}
    finally:
        time.sleep(payload.get("cleanup", 0))
        note(payload, "closed", sent=sent)


# Emits "asking", then awaits a line from `url` (host:port, or http://host:port/path), emits and returns it. Notes
# "closed" in `ledger` at its end, with whether the cancel reached the await.
@register("probe_astream", worker_threads=4)
async def probe_astream(model_spec, payload, inference_params):
    address = payload["url"].split("//")[-1]
    host, _, port = address.partition("/")[0].partition(":")
    writer, cancelled = None, False
    try:
        yield "asking"
        reader, writer = await asyncio.open_connection(host, int(port or 80))
        writer.write(("GET /%s HTTP/1.0\r\n\r\n" % address.partition("/")[2]).encode())
        await writer.drain()
        answer = (await reader.read(65536)).decode("utf-8", "replace")
        yield answer
        context().result({"answer": answer})
    except asyncio.CancelledError:
        cancelled = True
        raise
    finally:
        if writer is not None:
            writer.close()
        note(payload, "closed", cancelled=cancelled)


# Dies: by `signal` (a number or a name), or by os._exit(`code`), or sys.exit with `exit`; after `after` seconds, and
# after `progress` output events. `when` "always", or only on attempts <= `until` (default 1).
@register("probe_die", worker_threads=4)
def probe_die(model_spec, payload, inference_params):
    ctx = context()
    note(payload, "start")
    for number in range(payload.get("progress", 0)):
        ctx.emit(number)
    pause(payload.get("after", 0))
    if payload.get("when") == "always" or ctx.attempt <= payload.get("until", 1):
        if "signal" in payload:
            die_by(signal_number(payload["signal"]))
        if "exit" in payload:
            sys.exit(payload["exit"])
        os._exit(payload.get("code", 1))
    note(payload, "end")
    return {"survived": ctx.attempt}


# Fails the first `times` attempts. `kind`: retryable, permanent, other, memory; with `text`, `code`, `retry_after`.
@register("probe_fail", worker_threads=4)
def probe_fail(model_spec, payload, inference_params):
    ctx = context()
    note(payload, "start")
    pause(payload.get("seconds", 0))
    if ctx.attempt <= payload.get("times", 10**9):
        kind, text = payload.get("kind", "other"), payload.get("text", "as told")
        if kind == "retryable":
            raise RetryableError(text, payload.get("code"), payload.get("retry_after"))
        if kind == "permanent":
            raise PermanentError(text, payload.get("code"))
        raise MemoryError(text) if kind == "memory" else ValueError(text)
    return {"attempt": ctx.attempt}


# Writes `bytes` (default 5 MB). `mode`: stderr5m, stdout5m, longline, nonewline, shortlines (for `seconds`, as fast as
# it can), native5m (past Python, to descriptor 2).
@register("probe_chatty", worker_threads=4)
def probe_chatty(model_spec, payload, inference_params):
    mode, size = payload.get("mode", "stderr5m"), payload.get("bytes", 5_000_000)
    if mode in ("stderr5m", "stdout5m"):
        stream = sys.stderr if mode == "stderr5m" else sys.stdout
        for number in range(size // 100):
            print("%09d %s" % (number, "x" * 89), file=stream)
    elif mode in ("longline", "nonewline"):
        for _ in range(max(1, size // 65536)):
            sys.stdout.write("y" * min(size, 65536))
        if mode == "longline":
            print()
    elif mode == "native5m":
        for _ in range(max(1, size // 65536)):
            os.write(2, b"z" * 65535 + b"\n")
    else:
        end = time.monotonic() + payload.get("seconds", 1)
        number = 0
        while time.monotonic() < end:
            print("line", number)
            number += 1
    return {"mode": mode}


# Everything that could break or forge a protocol on standard output, between real messages.
@register("probe_print", worker_threads=4)
def probe_print(model_spec, payload, inference_params):
    ctx = context()
    forged = json.dumps({"t": "done", "run": 1})
    print("before")
    ctx.stage("one")
    sys.stdout.write("half a line")
    ctx.progress(0.5)
    for percent in range(0, 101, 10):
        sys.stderr.write("\r%3d%%" % percent)
    sys.stderr.write("\n")
    print(forged)
    os.write(1, len(forged).to_bytes(4, "big") + (2).to_bytes(4, "big") + forged.encode() + b"{}\n")
    ctx.emit("between")
    os.write(1, b"native half")
    print()
    print("after")
    return {"exact": True}


# `result`, `event`, `message`, `error` or `checkpoint`: how many bytes each has.
@register("probe_big", worker_threads=4)
def probe_big(model_spec, payload, inference_params):
    ctx = context()
    note(payload, "start")
    if "event" in payload:
        ctx.emit("e" * payload["event"])
    if "message" in payload:
        ctx.progress(0.5, "m" * payload["message"])
    if "checkpoint" in payload:
        ctx.checkpoint("c" * payload["checkpoint"])
    if "error" in payload:
        raise ValueError("r" * payload["error"])
    return "d" * payload.get("bytes", payload.get("result", 0))


# Does `steps` steps, `seconds` each, with a checkpoint and a ledger line after each; at `kill_at`, on attempt 1, kills
# its own host right after that checkpoint. The result says which steps each attempt did.
@register("probe_checkpoint", worker_threads=4)
def probe_checkpoint(model_spec, payload, inference_params):
    ctx = context()
    done = (ctx.resumed or {"done": []})["done"]
    for step in range(len(done), payload.get("steps", 3)):
        pause(payload.get("seconds", 0))
        done.append({"step": step, "attempt": ctx.attempt})
        note(payload, "step", step=step)
        ctx.checkpoint({"done": done})
        if ctx.attempt == 1 and payload.get("kill_at") == step:
            die_by(signal.SIGKILL)
    return {"steps": done}


# What a plugin can see of its surroundings.
@register("probe_env", worker_threads=4)
def probe_env(model_spec, payload, inference_params):
    descriptors = {}
    for number in os.listdir("/proc/self/fd"):
        try:
            descriptors[number] = os.readlink("/proc/self/fd/" + number)
        except OSError:
            continue
    with open("/proc/self/cmdline", "rb") as file:
        command = file.read().decode().split("\0")
    return {
        "environment": dict(os.environ) if payload.get("values") else sorted(os.environ),
        "argv": sys.argv,
        "command": command,
        "descriptors": descriptors,
        "modules": [name for name in sys.modules if name.startswith("windlass")],
        "pid": os.getpid(),
        "parent": os.getppid(),
    }


# Ten runs share a host; the one with `kill` kills it after `after` seconds (default 0.5).
@register("probe_neighbour", worker_threads=10)
def probe_neighbour(model_spec, payload, inference_params):
    note(payload, "start")
    if payload.get("kill"):
        pause(payload.get("after", 0.5))
        die_by(signal.SIGKILL)
    pause(payload.get("seconds", 1))
    note(payload, "end")
    return {"pid": os.getpid()}


# Kills the process `pid` (the node) after `after` seconds, on attempts <= `until` (default 1).
@register("probe_kill_node", worker_threads=4)
def probe_kill_node(model_spec, payload, inference_params):
    note(payload, "start")
    pause(payload.get("after", 0))
    if context().attempt <= payload.get("until", 1):
        os.kill(payload["pid"], signal_number(payload.get("signal", "SIGKILL")))
        pause(payload.get("seconds", 60))
    return {"attempt": context().attempt}


# Takes `mb` megabytes, `step` at a time, really touched, and keeps them for `seconds`.
@register("probe_memory", worker_threads=4)
def probe_memory(model_spec, payload, inference_params):
    held = []
    step = payload.get("step", 16)
    for _ in range(0, payload.get("mb", 64), step):
        held.append(bytearray(os.urandom(1024)) * (step * 1024))
        context().raise_if_cancelled()
    context().emit({"mb": len(held) * step})
    pause(payload.get("seconds", 0))
    return {"mb": len(held) * step}


# Swallows the first cancel and goes on for `seconds`: late, but not for ever.
@register("probe_slow_stop", worker_threads=4)
def probe_slow_stop(model_spec, payload, inference_params):
    try:
        pause(3600)
    except Cancelled:
        time.sleep(payload.get("seconds", 1))
        note(payload, "closed")
        raise
