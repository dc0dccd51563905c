"""One thread for everything that is due later; it exists only once something is."""

import heapq
import itertools
import threading
import time
from typing import Callable, List, Tuple


class Timer:
    def __init__(self) -> None:
        self._due: List[Tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._changed = threading.Condition()
        self._started = False

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        entry = (time.monotonic() + seconds, next(self._order), act)
        with self._changed:
            heapq.heappush(self._due, entry)
            if not self._started:
                self._started = True
                threading.Thread(target=self._loop, name="windlass-timer", daemon=True).start()
            elif self._due[0] is entry:
                self._changed.notify()

    def _loop(self) -> None:
        while True:
            self._next()()

    def _next(self) -> Callable[[], None]:
        with self._changed:
            while True:
                if not self._due:
                    self._changed.wait()
                    continue
                wait = self._due[0][0] - time.monotonic()
                if wait <= 0:
                    return heapq.heappop(self._due)[2]
                self._changed.wait(wait)
