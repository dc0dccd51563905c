"""Raising `Cancelled` inside a thread that does not ask, without ever hitting our own code."""

import threading
from typing import Any, Dict

from .errors import Cancelled

_armed: Dict[int, "Shield"] = {}


class Injected(Cancelled):
    """Raised by the interpreter in another thread; its creation is how we learn that it arrived."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*(args or ("the run was cancelled",)))
        shield = _armed.pop(threading.get_ident(), None)
        if shield is not None:
            shield.delivered()


def _set_async(thread: int, exception: Any) -> None:
    import ctypes  # here: few runs need it, and it is slow to load

    argument = ctypes.py_object(exception) if exception is not None else ctypes.py_object()
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), argument)


class Shield:
    """Marks where a run's thread is in user code.

    An exception that is set while the thread holds the socket's lock would leave half a frame. So SDK calls run inside
    the shield, the exception is set only outside of it, and one that was set just before is taken back at the entry.
    """

    __slots__ = ("_lock", "_depth", "_thread", "_pending", "_user", "arrived")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._depth = 0
        self._thread = 0
        self._pending = False
        self._user = False
        self.arrived = False

    def begin(self) -> None:
        self._thread = threading.get_ident()
        self._user = True

    def end(self) -> None:
        """User code is over: from here on nothing is raised in this thread."""
        while True:
            try:
                with self._lock:
                    self._user = False
                    self._take_back()
                return
            except Cancelled:
                continue

    def __enter__(self) -> "Shield":
        with self._lock:
            if self._pending and self._thread == threading.get_ident():
                self._take_back()
                self.arrived = True
                raise Cancelled("the run was cancelled")
            self._depth += 1
        return self

    def __exit__(self, *_: Any) -> None:
        with self._lock:
            self._depth -= 1

    def interrupt(self) -> bool:
        """Raises `Cancelled` in the thread; False if it is in the SDK just now: try again."""
        with self._lock:
            if not self._user or self._pending or self.arrived:
                return True
            if self._depth:
                return False
            self._pending = True
            _armed[self._thread] = self
            _set_async(self._thread, Injected)
            return True

    def delivered(self) -> None:
        self._pending = False
        self.arrived = True

    def _take_back(self) -> None:
        if self._pending:
            self._pending = False
            _armed.pop(self._thread, None)
            _set_async(self._thread, None)
