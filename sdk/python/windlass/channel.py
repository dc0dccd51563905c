"""The worker's end of the socket: whole frames, one writer at a time."""

import os
import socket
import threading
from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from .run import Run

# Below this, one copy is cheaper than a second system call.
_JOIN_BELOW = 32 * 1024


class Channel:
    def __init__(self, sock: socket.socket) -> None:
        # A program started by a plugin must not keep the node waiting for this socket to close.
        sock.set_inheritable(False)
        # Ends of a pair made by an asynchronous node may come as non-blocking.
        sock.setblocking(True)
        self._sock = sock
        self._lock = threading.Lock()
        self._forked = False
        # Thread that is writing now: a `__del__` that prints in the middle of it must not wait for itself.
        self.writer = 0
        os.register_at_fork(after_in_child=self._after_fork)

    @classmethod
    def from_environment(cls) -> Optional["Channel"]:
        number = os.environ.get("WINDLASS_FD", "")
        if not number.isdigit():
            return None
        return cls(socket.socket(fileno=int(number)))

    @property
    def sock(self) -> socket.socket:
        return self._sock

    @property
    def forked(self) -> bool:
        return self._forked

    def send(self, head: bytes, body: bytes = b"", run: Optional["Run"] = None, last: bool = False) -> bool:
        """Sends one or more whole frames; False if `run` had ended before, so nothing was sent."""
        if self._forked:
            return False
        with self._lock:
            if run is not None:
                if run.ended:
                    return False
                run.ended = last
            self.writer = threading.get_ident()
            try:
                if len(body) < _JOIN_BELOW:
                    self._sock.sendall(head + body if body else head)
                else:
                    self._sock.sendall(head)
                    self._sock.sendall(body)
            except OSError:
                # The node is gone. Nobody is left to work for.
                os._exit(0)
            finally:
                self.writer = 0
        return True

    def _after_fork(self) -> None:
        # A forked child shares the stream: a frame from it would land in the middle of one of ours.
        self._forked = True
        self._lock = threading.Lock()
        self.writer = 0
        self._sock.close()
