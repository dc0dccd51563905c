"""The node's end of the protocol, for tests: starts a host over a real socket pair and speaks frames with it."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

ROOT = Path(__file__).resolve().parents[2]
SDK = ROOT / "sdk" / "python"
PLUGINS = ROOT / "plugins"
PROBES = ROOT / "tests" / "plugins"
sys.path.insert(0, str(SDK))

from windlass import frames  # noqa: E402

PATIENCE = 15.0


class Message:
    def __init__(self, header: Dict[str, Any], body: bytes) -> None:
        self.header = header
        self.body = bytes(body)

    @property
    def kind(self) -> str:
        return self.header["t"]

    @property
    def value(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()

    def __repr__(self) -> str:
        return "%r %r" % (self.header, self.body[:200])


class Node:
    """One host. Messages are read as they are asked for, and everything read is kept in `seen`."""

    def __init__(
        self,
        files: Sequence[Path],
        types: Mapping[str, int],
        environment: Optional[Mapping[str, str]] = None,
        acks: bool = True,
    ) -> None:
        ours, theirs = socket.socketpair()
        ours.settimeout(PATIENCE)
        # As an asynchronous node would hand it over.
        theirs.setblocking(False)
        plan = {
            "group": "test",
            "files": [str(file) for file in files],
            "types": {name: {"threads": threads} for name, threads in types.items()},
        }
        self.process = start("windlass.worker", [], theirs, {"WINDLASS_HOST": json.dumps(plan), **(environment or {})})
        theirs.close()
        self.sock = ours
        self.acks = acks
        self.seen: List[Message] = []
        self._reader = frames.FrameReader(ours)
        self._runs = 0
        self.piped = {"stdout": b"", "stderr": b""}
        self._drains = [
            threading.Thread(target=self._drain, args=(name,), daemon=True) for name in ("stdout", "stderr")
        ]
        for drain in self._drains:
            drain.start()

    def _drain(self, name: str) -> None:
        pipe = getattr(self.process, name)
        for data in iter(lambda: pipe.read1(65536), b""):
            self.piped[name] += data

    def __enter__(self) -> "Node":
        return self

    def __exit__(self, *_: Any) -> None:
        self.sock.close()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        for drain, pipe in zip(self._drains, (self.process.stdout, self.process.stderr)):
            drain.join(2)
            # A process that a probe left behind may hold the pipe open.
            if not drain.is_alive():
                pipe.close()

    def ready(self) -> Message:
        return self.until(lambda message: message.kind == "ready")

    def send(self, header: Dict[str, Any], body: bytes = b"") -> None:
        self.sock.sendall(frames.pack(header, body))

    def run(self, task_type: str, payload: Any = None, **given: Any) -> int:
        """Sends a run and answers its number."""
        self._runs += 1
        header, body = run_frame(self._runs, task_type, payload, **given)
        self.send(header, body)
        return self._runs

    def cancel(self, run: int, reason: str = "cancel") -> None:
        self.send({"t": "cancel", "run": run, "reason": reason})

    def ack(self, message: Message, fenced: bool = False) -> None:
        answer = {"fenced": True} if fenced else {"ok": True}
        self.send({"t": "ack", "run": message.header["run"], "ref": message.header["ref"], **answer})

    def read(self) -> Optional[Message]:
        frame = self._reader.read()
        if frame is None:
            return None
        message = Message(frame[0], bytes(frame[1]))
        self.seen.append(message)
        if self.acks and "ref" in message.header:
            self.ack(message)
        return message

    def until(self, wanted: Any) -> Message:
        while True:
            message = self.read()
            if message is None:
                raise AssertionError("the host ended; seen: %r; stderr: %r" % (self.seen, self.piped["stderr"]))
            if wanted(message):
                return message

    def next(self, run: Optional[int], *kinds: str) -> Message:
        """The next message of `run` of one of the kinds, among those not read before."""
        return self.until(lambda message: message.kind in kinds and message.header.get("run") == run)

    def end(self, run: int) -> Message:
        return self.next(run, "done", "failed")

    def call(self, task_type: str, payload: Any = None, **given: Any) -> Message:
        return self.end(self.run(task_type, payload, **given))

    def of(self, run: Optional[int], kind: str) -> List[Message]:
        return [message for message in self.seen if message.kind == kind and message.header.get("run") == run]

    def lines(self, run: Optional[int]) -> List[str]:
        return [message.text for message in self.of(run, "log")]

    def rest(self) -> Iterator[Message]:
        """What is sent until the host's end of the socket closes."""
        while True:
            message = self.read()
            if message is None:
                return
            yield message

    def exit_code(self) -> int:
        return self.process.wait(PATIENCE)


def run_frame(run: int, task_type: str, payload: Any, **given: Any) -> Tuple[Dict[str, Any], bytes]:
    values = {
        "payload": payload if payload is not None else {},
        "model_spec": given.pop("model_spec", {}),
        "inference_params": given.pop("inference_params", {}),
        "checkpoint": given.pop("checkpoint", None),
    }
    texts = {name: json.dumps(value).encode() for name, value in values.items() if value is not None}
    header = {
        "t": "run",
        "run": run,
        "task_id": "task-%d" % run,
        "task_type": task_type,
        "attempt": 1,
        "max_attempts": 3,
        "epoch": 1,
        "timeout_seconds": None,
        "artifact_dir": None,
        "client_role": None,
        **given,
        "parts": [[name, len(text)] for name, text in texts.items()],
    }
    return header, b"".join(texts.values())


def start(module: str, arguments: Sequence[str], sock: socket.socket, more: Mapping[str, str]) -> Any:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("WINDLASS_")}
    environment.update({"PYTHONPATH": str(SDK), "WINDLASS_FD": str(sock.fileno()), **more})
    return subprocess.Popen(
        [sys.executable, "-u", "-m", module, *arguments],
        env=environment,
        pass_fds=(sock.fileno(),),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def describe(*arguments: str, environment: Optional[Mapping[str, str]] = None) -> Dict[str, Any]:
    ours, theirs = socket.socketpair()
    ours.settimeout(PATIENCE)
    process = start("windlass.describe", arguments, theirs, environment or {})
    theirs.close()
    piped: List[bytes] = []
    # While the frame is awaited: a plugin that prints at import would otherwise block on a full pipe.
    drain = threading.Thread(target=lambda: piped.extend(process.communicate()), daemon=True)
    drain.start()
    try:
        frame = frames.FrameReader(ours).read()
    finally:
        ours.close()
        drain.join(PATIENCE)
    if frame is None:
        raise AssertionError("describe sent nothing: %r" % piped)
    assert frame[0] == {"t": "described"}, frame[0]
    return json.loads(bytes(frame[1]))


def await_true(condition: Any, what: str) -> None:
    """For facts that only polling shows (a process that is gone, a file another one wrote)."""
    limit = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > limit:
            raise AssertionError("never came true: " + what)
        time.sleep(0.005)
