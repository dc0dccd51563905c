"""One run: what the node sent, what it was told, and the rules between the two (cancel, credit, coalescing)."""

import threading
import time
from typing import Any, Dict, Optional, Tuple

from . import frames
from .channel import Channel
from .errors import Cancelled, PermanentError
from .interrupt import Shield
from .logs import LogBook
from .timer import Timer

OUTPUT_CREDIT = 64
OUTPUT_CREDIT_BYTES = 256 * 1024
MAX_CHECKPOINT = 64 * 1024
MAX_NAME = 256
MAX_MESSAGE = 8 * 1024
PROGRESS_SECONDS = 0.05
# How long user code may take to notice a cancel by itself before it is interrupted.
NOTICE_SECONDS = 1.0
_RETRY_SECONDS = 0.02


class Run:
    __slots__ = (
        "id", "header", "ended", "cancelled", "reason", "result", "shield", "loop", "task",
        "_channel", "_timer", "_body", "_parts", "_guard", "_changed", "_seen",
        "_ref", "_unacked", "_unacked_bytes", "_answers", "_wake", "_progress", "_progress_at", "_book",
    )  # fmt: skip

    def __init__(self, channel: Channel, timer: Timer, header: Dict[str, Any], body: frames.Buffer) -> None:
        self.id: int = header["run"]
        self.header = header
        self.ended = False
        self.cancelled = False
        self.reason: Optional[str] = None
        self.result: Any = None
        self.shield = Shield()
        self.loop: Any = None
        self.task: Any = None
        self._channel = channel
        self._timer = timer
        self._body = body
        self._parts: Optional[Dict[str, Tuple[int, int]]] = None
        self._guard = threading.Lock()
        self._changed: Optional[threading.Condition] = None
        self._seen = False
        self._ref = 0
        self._unacked: Dict[int, int] = {}
        self._unacked_bytes = 0
        self._answers: Dict[int, Optional[bool]] = {}
        self._wake: Any = None
        self._progress: Optional[Tuple[float, Optional[str]]] = None
        self._progress_at = 0.0
        self._book: Optional[LogBook] = None

    # What the node sent

    def part(self, name: str, absent: Any) -> Any:
        """One JSON part of the body. Parsed here, in the run's own thread: the reader must stay free."""
        if self._parts is None:
            at, self._parts = 0, {}
            for part, length in self.header.get("parts", ()):
                self._parts[part] = (at, at + length)
                at += length
        start, end = self._parts.get(name, (0, 0))
        if start == end:
            return absent
        try:
            value = frames.loads(self._body[start:end])
        except (ValueError, RecursionError) as error:
            raise PermanentError("%s is not JSON: %s" % (name, error), "PAYLOAD_INVALID") from None
        return absent if value is None else value

    # What the plugin tells

    def check(self) -> None:
        if self.cancelled:
            self._seen = True
            raise Cancelled("the run was cancelled: %s" % self.reason)

    def stage(self, name: str) -> None:
        with self.shield:
            self.check()
            text = frames.dumps(frames.cut(str(name), MAX_NAME))
            header = b'{"t":"stage","run":%d,"name":%s}' % (self.id, text)
            # What was reached in the old stage belongs before the new one.
            self._send(self._take_progress() + frames.prefix(header))

    def progress(self, fraction: float, message: Optional[str]) -> None:
        value = float(fraction)
        if value != value:
            raise ValueError("progress is a number between 0 and 1, not NaN")
        with self.shield:
            self.check()
            now = time.monotonic()
            with self._guard:
                waiting = self._progress is not None
                self._progress = (min(1.0, max(0.0, value)), None if message is None else str(message))
            if waiting:
                return
            due = self._progress_at + PROGRESS_SECONDS - now
            if due <= 0:
                self._flush_progress()
            else:
                self._timer.after(due, self._flush_progress)

    def emit(self, body: bytes) -> None:
        with self.shield:
            self.check()
            self._await(lambda: self._has_credit(len(body)))
            self._send_output(body)

    async def emit_async(self, body: bytes) -> None:
        """As `emit`, but the event loop goes on while the node is behind."""
        while not self._has_credit(len(body)):
            wake = self.loop.create_future()
            with self._guard:
                self._wake = wake
            # An ack between the look and the line above would otherwise wake nobody.
            if not self._has_credit(len(body)):
                await wake
        with self.shield:
            self.check()
            self._send_output(body)

    def checkpoint(self, body: bytes) -> None:
        with self.shield:
            self.check()
            with self._guard:
                self._ref += 1
                ref = self._ref
                self._answers[ref] = None
            header = b'{"t":"checkpoint","run":%d,"ref":%d}' % (self.id, ref)
            self._send(frames.prefix(header, len(body)), body)
            self._await(lambda: self._answers[ref] is not None)
            del self._answers[ref]
            self.check()

    def say(self, text: str, level: str) -> None:
        with self.shield, self._log().lock:
            self._send(self._log().said(text, level))

    def written(self, stream: str, text: str) -> None:
        with self.shield, self._log().lock:
            data = self._log().written(stream, text)
            if data:
                # Not `_send`: a print must not raise in a thread that outlived the run.
                self._channel.send(data, b"", self)

    def end(self, header: bytes, body: bytes = b"") -> None:
        """Sends the one `done` or `failed`, with what was still held back before it."""
        data = self._take_progress()
        if self._book is not None:
            with self._book.lock:
                data += self._book.flushed()
        self._channel.send(data + frames.prefix(header, len(body)), body, self, last=True)

    # What the node answers

    def acked(self, ref: int, fenced: bool) -> None:
        with self._guard:
            size = self._unacked.pop(ref, None)
            if size is not None:
                self._unacked_bytes -= size
            elif ref in self._answers:
                self._answers[ref] = not fenced
        if fenced:
            self.cancel("lost")
        self._notify()

    def cancel(self, reason: str) -> None:
        with self._guard:
            if self.cancelled:
                return
            self.cancelled = True
            self.reason = reason
            loop, task = self.loop, self.task
        self._notify()
        if task is not None:
            self._from_outside(loop, self._cancel_task)
        self._timer.after(NOTICE_SECONDS, self._interrupt)

    def attach(self, loop: Any, task: Any) -> None:
        """From here on a cancel reaches the coroutine itself."""
        with self._guard:
            self.loop, self.task = loop, task
            late = self.cancelled
        if late:
            self._cancel_task()

    def noticed(self) -> None:
        """User code is being closed already: interrupting its `finally` would do harm."""
        self._seen = True

    def _interrupt(self) -> None:
        if self.ended or self._seen:
            return
        if not self.shield.interrupt():
            self._timer.after(_RETRY_SECONDS, self._interrupt)

    def _cancel_task(self) -> None:
        """On the loop. Whoever has heard of the cancel already is cleaning up, and would hear of it twice."""
        if not self._seen and not self.shield.arrived:
            self._seen = True
            self.task.cancel()

    def _from_outside(self, loop: Any, act: Any) -> None:
        try:
            loop.call_soon_threadsafe(act)
        except RuntimeError:
            pass  # closed: the coroutine has ended

    # Credit

    def _has_credit(self, size: int) -> bool:
        if not self._unacked:
            return True  # a value over the byte credit goes alone
        return len(self._unacked) < OUTPUT_CREDIT and self._unacked_bytes + size <= OUTPUT_CREDIT_BYTES

    def _send_output(self, body: bytes) -> None:
        with self._guard:
            self._ref += 1
            ref = self._ref
            self._unacked[ref] = len(body)
            self._unacked_bytes += len(body)
        self._send(frames.prefix(b'{"t":"output","run":%d,"ref":%d}' % (self.id, ref), len(body)), body)

    def _await(self, ready: Any) -> None:
        """Waits for an ack in the calling thread; a cancel ends the wait."""
        if ready():
            return
        if self._changed is None:
            with self._guard:
                self._changed = self._changed or threading.Condition(self._guard)
        with self._changed:
            while not ready() and not self.cancelled:
                self._changed.wait()
        self.check()

    def _notify(self) -> None:
        with self._guard:
            wake, self._wake = self._wake, None
            if self._changed is not None:
                self._changed.notify_all()
        if wake is not None:
            self._from_outside(self.loop, lambda: wake.done() or wake.set_result(None))

    # Sending

    def _send(self, head: bytes, body: bytes = b"") -> None:
        if not self._channel.send(head, body, self) and not self._channel.forked:
            raise RuntimeError("run %d of task %s has ended" % (self.id, self.header.get("task_id")))

    def _flush_progress(self) -> None:
        data = self._take_progress()
        if data:
            self._channel.send(data, b"", self)

    def _take_progress(self) -> bytes:
        with self._guard:
            state, self._progress = self._progress, None
            if state is None:
                return b""
            self._progress_at = time.monotonic()
        message = b"null" if state[1] is None else frames.dumps(frames.cut(state[1], MAX_MESSAGE))
        return frames.prefix(b'{"t":"progress","run":%d,"fraction":%.6g,"message":%s}' % (self.id, state[0], message))

    def _log(self) -> LogBook:
        if self._book is None:
            with self._guard:
                self._book = self._book or LogBook(self.id)
        return self._book
