"""A clock that stands still while Numba compiles, or loads, machine code: what bounds of seconds are counted on.

A run that is allowed twenty seconds gets twenty seconds of computing, whether its kernels were compiled on this machine
before or are compiled by it; so no answer depends on the cache.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import numba.core.event


class _Compiling(numba.core.event.Listener):
    """Adds up how long Numba compiles in this process; kernels compiled for others are part of those."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.own = threading.local()  # what this thread has spent of its processor time
        self._depth = 0
        self._began = 0.0
        self._lock = threading.Lock()

    def on_start(self, event: Any) -> None:
        own = self.own
        own.depth = getattr(own, "depth", 0) + 1
        if own.depth == 1:
            own.began = time.thread_time()
        with self._lock:
            if self._depth == 0:
                self._began = time.monotonic()
            self._depth += 1

    def on_end(self, event: Any) -> None:
        own = self.own
        own.depth -= 1
        if own.depth == 0:
            own.seconds = getattr(own, "seconds", 0.0) + time.thread_time() - own.began
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                self.seconds += time.monotonic() - self._began

    def so_far(self) -> float:
        """Seconds until now, of what is being compiled at this moment too."""
        with self._lock:
            return self.seconds + (time.monotonic() - self._began if self._depth else 0.0)


_COMPILING = _Compiling()
numba.core.event.register("numba:compile", _COMPILING)  # type: ignore[no-untyped-call]


def computing_time() -> float:
    """Seconds on a clock that stands still while machine code is made; only differences mean something."""
    return time.monotonic() - _COMPILING.so_far()


def computing_thread_time() -> float:
    """Processor time of this thread, without what it has spent making machine code."""
    return time.thread_time() - float(getattr(_COMPILING.own, "seconds", 0.0))


def compiling_seconds() -> float:
    """Seconds that this process has spent making machine code."""
    return _COMPILING.so_far()
