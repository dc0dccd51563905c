"""Runs a second of one worker process, beside a raw echo of the same frames: what the SDK itself costs.

    python3 tests/python/bench_worker.py [--threads 8] [--seconds 3]
"""

import argparse
import os
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable

from node import Node, frames, run_frame

PLUGIN = '''
from windlass import register, context

@register("bench")
def infer(model_spec, payload, inference_params):
    return {"echo": payload}

@register("bench_told")
def told(model_spec, payload, inference_params):
    ctx = context()
    ctx.stage("only")
    ctx.progress(0.5)
    return {"echo": payload}
'''


def pump(sock: socket.socket, name: str, window: int, seconds: float, ended: Callable[[dict], bool]) -> float:
    """Keeps `window` runs under way and counts their ends."""
    reader = frames.FrameReader(sock)
    payload = {"text": "x" * 180}
    header, body = run_frame(0, name, payload)
    number = 0

    def send(count: int) -> None:
        nonlocal number
        data = b""
        for _ in range(count):
            number += 1
            header["run"] = number
            data += frames.pack(header, body)
        sock.sendall(data)

    send(window)
    done, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        frame = reader.read()
        assert frame is not None
        if ended(frame[0]):
            done += 1
            send(1)
    return done / (time.perf_counter() - start)


def echo(sock: socket.socket) -> None:
    reader = frames.FrameReader(sock)
    while True:
        try:
            frame = reader.read()
            if frame is None:
                os._exit(0)
            sock.sendall(frames.pack({"t": "done", "run": frame[0]["run"]}, bytes(frame[1])))
        except OSError:
            os._exit(0)


def raw(window: int, seconds: float) -> float:
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        ours.close()
        echo(theirs)
    theirs.close()
    rate = pump(ours, "bench", window, seconds, lambda header: True)
    ours.close()
    os.wait()
    return rate


def worker(file: Path, name: str, threads: int, seconds: float) -> float:
    with Node([file], {name: threads}) as node:
        node.ready()
        return pump(node.sock, name, threads, seconds, lambda header: header["t"] == "done")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--echo", action="store_true", help="only the raw echo's rate, as a number")
    given = parser.parse_args()
    if given.echo:
        return print(raw(given.threads, given.seconds))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bench.py"
        file.write_text(PLUGIN)
        rows = [("raw echo, 1 thread", raw(given.threads, given.seconds))]
        for name, text in (("bench", "trivial run"), ("bench_told", "run with stage and progress")):
            rows.append((text, worker(file, name, given.threads, given.seconds)))
            rows.append((text + ", 1 thread", worker(file, name, 1, given.seconds)))
    print("Python %s, %d runs under way" % (sys.version.split()[0], given.threads))
    for text, rate in rows:
        print("%-40s %8.0f /s" % (text, rate))


if __name__ == "__main__":
    main()
