"""`python -m windlass.worker`: a host. Reads frames on the main thread, runs tasks on the threads of their type."""

import atexit
import faulthandler
import json
import os
import queue
import signal
import sys
import threading
from contextvars import Context as Variables
from typing import Any, Dict, List, NoReturn

from . import __version__, frames
from .channel import Channel
from .errors import Cancelled, Stopped
from .failures import failed, failure_of, story_of
from .invoke import invoke
from .loader import load
from .logs import Logs, LogStream, current
from .registry import Registration, registry
from .run import Run
from .timer import Timer
from .values import encode

PROTOCOL = 1


class Host:
    def __init__(self, channel: Channel, logs: Logs) -> None:
        self._channel = channel
        self._logs = logs
        self._timer = Timer()
        self._runs: Dict[int, Run] = {}
        self._queues: Dict[str, "queue.SimpleQueue[Run]"] = {}
        self._stopping = False

    def start(self, plan: Dict[str, Any]) -> None:
        types: Dict[str, Dict[str, Any]] = plan.get("types", {})
        entries = self._load(plan.get("files", []), list(types))
        self._set_up(entries)
        for entry in entries:
            self._start_threads(entry, int(types[entry.name].get("threads", 1)))
        self._logs.flush()
        ready = {"t": "ready", "protocol": PROTOCOL, "pid": os.getpid(), "sdk": "python/" + __version__}
        self._channel.send(frames.pack({**ready, "types": list(types)}))

    def serve(self) -> NoReturn:
        reader = frames.FrameReader(self._channel.sock)
        try:
            while True:
                frame = reader.read()
                if frame is None:
                    break
                self._received(*frame)
        except OSError:
            pass
        except (frames.ProtocolError, ValueError, KeyError, TypeError) as error:
            os.write(2, ("windlass.worker: the node broke the protocol: %r\n" % error).encode("utf-8", "replace"))
            os._exit(1)
        # The node is gone: nobody may hear of what still runs here, and nothing may outlive it.
        os._exit(0)

    def _load(self, files: List[str], types: List[str]) -> List[Registration]:
        for path in files:
            try:
                load(path)
            except BaseException as error:
                self._give_up("LOAD_FAILED", "%s: %s" % (path, story_of(error)))
        entries = []
        for name in types:
            entry = registry.get(name)
            if entry is None:
                self._give_up("LOAD_FAILED", "type `%s` is registered by none of: %s" % (name, ", ".join(files)))
            entries.append(entry)
        return entries

    def _set_up(self, entries: List[Registration]) -> None:
        for entry in entries:
            try:
                if entry.setup is not None:
                    value = entry.setup()
                    if hasattr(value, "__await__"):
                        import asyncio  # here, as in `invoke`

                        asyncio.run(value)
            except BaseException as error:
                self._give_up("SETUP_FAILED", "setup of `%s`: %s" % (entry.name, story_of(error)))

    def _give_up(self, code: str, detail: str) -> NoReturn:
        self._logs.flush()
        self._channel.send(frames.prefix(failed(None, "permanent", code, detail)))
        os._exit(1)

    def _start_threads(self, entry: Registration, count: int) -> None:
        waiting: "queue.SimpleQueue[Run]" = queue.SimpleQueue()
        self._queues[entry.name] = waiting
        for number in range(max(1, count)):
            name = "%s-%d" % (entry.name, number)
            threading.Thread(target=self._work, args=(entry, waiting), name=name, daemon=True).start()

    # Main thread

    def _received(self, header: Dict[str, Any], body: frames.Buffer) -> None:
        kind = header["t"]
        if kind == "run":
            self._start_run(header, body)
        elif kind == "ack":
            run = self._runs.get(header["run"])
            if run is not None:
                run.acked(header["ref"], bool(header.get("fenced")))
        elif kind == "cancel":
            run = self._runs.get(header["run"])
            if run is not None:
                run.cancel(str(header.get("reason", "cancel")))
        elif kind == "ping":
            self._channel.send(frames.pack({"t": "pong", "n": header.get("n")}))
        elif kind == "shutdown":
            self._stopping = True
            self._exit_if_idle()
        # Anything else is of a later version, which keeps what this one needs.

    def _start_run(self, header: Dict[str, Any], body: frames.Buffer) -> None:
        waiting = self._queues.get(header["task_type"])
        if waiting is None or self._stopping:
            code = "HOST_STOPPING" if self._stopping else "UNSUPPORTED_TASK_TYPE"
            detail = "this host does not run `%s`" % header["task_type"]
            self._channel.send(frames.prefix(failed(header["run"], "retryable", code, detail)))
            return
        run = Run(self._channel, self._timer, header, body)
        self._runs[run.id] = run
        waiting.put(run)

    # Threads of a type

    def _work(self, entry: Registration, waiting: "queue.SimpleQueue[Run]") -> None:
        while True:
            run = waiting.get()
            # Variables of a context must not travel from one run to the next.
            Variables().run(self._execute, entry, run)
            if self._channel.forked:
                # `infer` forked and its child came back here: this is no host.
                os._exit(0)
            del self._runs[run.id]
            # Or a whole payload would stay alive until the next run.
            del run
            if self._stopping:
                self._exit_if_idle()

    def _execute(self, entry: Registration, run: Run) -> None:
        current.set(run)
        if run.cancelled:
            run.end(_cancelled(run, "cancelled before it began"))
            return
        try:
            try:
                run.shield.begin()
                value = invoke(run, entry.infer)
            finally:
                run.shield.end()
            body = encode(value, "result", "RESULT")
        except BaseException as error:
            run.end(_ending(run, error))
        else:
            run.end(b'{"t":"done","run":%d}' % run.id, body)

    def _exit_if_idle(self) -> None:
        if self._runs:
            return
        self._logs.flush()
        # What plugins asked for at exit; then out, whatever threads they left.
        atexit._run_exitfuncs()
        os._exit(0)


def _ending(run: Run, error: BaseException) -> bytes:
    """After a cancel, whatever is not a result is the end that was asked for: closing things makes errors."""
    if not run.cancelled:
        return failure_of(run.id, error)
    if isinstance(error, (Stopped, Cancelled)) or type(error).__name__ == "CancelledError":
        return _cancelled(run, "cancelled: %s" % run.reason)
    return _cancelled(run, "cancelled: %s; while stopping: %s" % (run.reason, story_of(error)))


def _cancelled(run: Run, detail: str) -> bytes:
    return failed(run.id, "cancelled", "CANCELLED", detail)


def isolate() -> None:
    """Signals are for the node, which decides when a host ends; a handler, unlike "ignore", is not inherited."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    faulthandler.enable(file=sys.__stderr__ or 2, all_threads=True)


MARKS = ("WINDLASS_NODE_MARK", "WINDLASS_HOST_MARK")


def strip_environment() -> None:
    """The node's own settings, secrets among them, are none of a plugin's business.

    The marks stay: by them the node finds, and ends, what a killed host had started.
    """
    for name in [name for name in os.environ if name.startswith("WINDLASS_") and name not in MARKS]:
        del os.environ[name]


def redirect(channel: Channel) -> Logs:
    logs = Logs(channel)
    sys.stdout = LogStream("stdout", 1, logs)
    sys.stderr = LogStream("stderr", 2, logs)
    # A forked child has no part in the protocol: it writes to the pipes.
    os.register_at_fork(after_in_child=_restore_streams)
    return logs


def _restore_streams() -> None:
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    current.set(None)


def main() -> None:
    channel = Channel.from_environment()
    plan = os.environ.get("WINDLASS_HOST")
    if channel is None or plan is None:
        sys.stderr.write("windlass.worker is started by a node, which sets WINDLASS_FD and WINDLASS_HOST\n")
        sys.exit(64)
    strip_environment()
    isolate()
    host = Host(channel, redirect(channel))
    host.start(json.loads(plan))
    host.serve()


if __name__ == "__main__":
    main()
