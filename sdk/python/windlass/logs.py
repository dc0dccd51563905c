"""Everything a plugin prints, as bounded `log` frames of the run that printed it."""

import io
import threading
import time
from collections import deque
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Deque, Dict, List, Optional, Tuple

from . import frames
from .channel import Channel

if TYPE_CHECKING:
    from .run import Run

MAX_LINE = 8 * 1024
LINES_PER_SECOND = 200
BURST = 1000
_REDRAW_SECONDS = 1.0

# A context variable, not a thread local: it follows tasks of an event loop and `asyncio.to_thread` as well.
current: "ContextVar[Optional[Run]]" = ContextVar("windlass_run", default=None)


class LineSplitter:
    """Turns writes into whole lines with bounded memory, whatever is written.

    A carriage return redraws the line, as on a terminal: of a progress bar one state a second is kept, and the last.
    """

    __slots__ = ("_pieces", "_size", "_lost", "_return", "_next_redraw")

    def __init__(self) -> None:
        self._pieces: List[str] = []
        self._size = 0
        self._lost = 0
        self._return = False
        self._next_redraw = 0.0

    def feed(self, text: str, now: float) -> List[str]:
        if self._return:
            text, self._return = "\r" + text, False
        if text.endswith("\r"):
            # Whether this is a redraw or half of "\r\n" is known with the next write.
            text, self._return = text[:-1], True
        lines: List[str] = []
        *whole, rest = text.replace("\r\n", "\n").split("\n")
        for piece in whole:
            self._draw(piece, lines, now)
            self._end_line(lines)
        self._draw(rest, lines, now)
        return lines

    def flush(self) -> List[str]:
        lines: List[str] = []
        self._end_line(lines)
        return lines

    def _draw(self, piece: str, lines: List[str], now: float) -> None:
        first, *redraws = piece.split("\r")
        self._append(first)
        for redraw in redraws:
            if now >= self._next_redraw and self._size:
                self._next_redraw = now + _REDRAW_SECONDS
                self._end_line(lines)
            self._pieces, self._size, self._lost = [], 0, 0
            self._append(redraw)

    def _append(self, piece: str) -> None:
        if not piece:
            return
        kept = piece[: max(0, MAX_LINE - self._size)]
        if kept:
            self._pieces.append(kept)
            self._size += len(kept)
        self._lost += len(piece) - len(kept)

    def _end_line(self, lines: List[str]) -> None:
        text = "".join(self._pieces)
        if self._lost:
            marker = " … [line cut, %d characters left out]" % self._lost
            text = frames.utf8(text)[: MAX_LINE - 64].decode("utf-8", "ignore") + marker
        if text.strip():
            lines.append(text)
        self._pieces, self._size, self._lost = [], 0, 0


class Gate:
    """A token bucket; once it is empty it stays shut for a second, so that the gaps are few and each is told."""

    __slots__ = ("_tokens", "_at", "_shut", "lost")

    def __init__(self, now: float) -> None:
        self._tokens = float(BURST)
        self._at = now
        self._shut = False
        self.lost = 0

    def admits(self, now: float) -> bool:
        self._tokens = min(float(BURST), self._tokens + (now - self._at) * LINES_PER_SECOND)
        self._at = now
        if self._shut and self._tokens >= LINES_PER_SECOND:
            self._shut = False
        if self._shut or self._tokens < 1:
            self._shut = True
            self.lost += 1
            return False
        self._tokens -= 1
        return True


class LogBook:
    """The log of one run, or of the host: half lines of each stream, and the gate."""

    __slots__ = ("_run", "_splitters", "_gate", "lock")

    def __init__(self, run: Optional[int]) -> None:
        self._run = "null" if run is None else str(run)
        self._splitters: Dict[str, LineSplitter] = {}
        self._gate = Gate(time.monotonic())
        self.lock = threading.RLock()

    def written(self, stream: str, text: str) -> bytes:
        now = time.monotonic()
        splitter = self._splitters.get(stream)
        if splitter is None:
            splitter = self._splitters[stream] = LineSplitter()
        return self._frames(splitter.feed(text, now), stream, "info", now)

    def said(self, text: str, level: str) -> bytes:
        now = time.monotonic()
        lines = [frames.cut(line, MAX_LINE) for line in text.splitlines() if line.strip()]
        return self._frames(lines, "log", level, now)

    def flushed(self) -> bytes:
        now = time.monotonic()
        data = b"".join(self._frames(part.flush(), name, "info", now) for name, part in self._splitters.items())
        return data + self._gap()

    def _frames(self, lines: List[str], stream: str, level: str, now: float) -> bytes:
        packed = []
        for line in lines:
            if self._gate.admits(now):
                if self._gate.lost:
                    packed.append(self._gap())
                packed.append(self._frame(line, stream, level))
        return b"".join(packed)

    def _gap(self) -> bytes:
        lost, self._gate.lost = self._gate.lost, 0
        if not lost:
            return b""
        text = "[%d log lines left out: more than %d a second]" % (lost, LINES_PER_SECOND)
        return self._frame(text, "log", "warning")

    def _frame(self, line: str, stream: str, level: str) -> bytes:
        body = frames.utf8(frames.cut(line, MAX_LINE))
        header = '{"t":"log","run":%s,"level":"%s","stream":"%s"}' % (self._run, level, stream)
        return frames.prefix(header.encode(), len(body)) + body


class Logs:
    """Finds the book a text belongs to and sends what is complete."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._host = LogBook(None)
        self._deferred: Deque[Tuple[str, str]] = deque(maxlen=1000)

    def write(self, stream: str, text: str) -> None:
        if self._channel.writer == threading.get_ident():
            # A finaliser prints while this very thread is sending: it comes with the next line.
            self._deferred.append((stream, text))
            return
        while self._deferred:
            self._host_write(*self._deferred.popleft())
        run = current.get()
        if run is None or run.ended:
            self._host_write(stream, text)
        else:
            run.written(stream, text)

    def _host_write(self, stream: str, text: str) -> None:
        with self._host.lock:
            data = self._host.written(stream, text)
            if data:
                self._channel.send(data)

    def flush(self) -> None:
        with self._host.lock:
            data = self._host.flushed()
            if data:
                self._channel.send(data)


class _Bytes(io.RawIOBase):
    """`sys.stdout.buffer`, for those who write bytes."""

    def __init__(self, text: "LogStream") -> None:
        self._text = text

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        view = bytes(data)
        self._text.write(view.decode("utf-8", "replace"))
        return len(view)


class LogStream(io.TextIOBase):
    """Stands in for `sys.stdout` and `sys.stderr`. Its descriptor stays the pipe, where native code writes."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, name: str, descriptor: int, logs: Logs) -> None:
        self._stream = name
        self._descriptor = descriptor
        self._logs = logs
        self.buffer = _Bytes(self)
        self.name = "<%s>" % name
        self.mode = "w"

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError("write() argument must be str, not %s" % type(text).__name__)
        self._logs.write(self._stream, text)
        return len(text)

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        return self._descriptor

    def flush(self) -> None:
        """Nothing waits for it: a line is sent when it is whole, half a line with the end of the run."""

    def close(self) -> None:
        """A plugin that closes standard output must not silence its neighbours."""

    def reconfigure(self, **_: Any) -> None:
        """Accepted, as libraries call it at import."""
