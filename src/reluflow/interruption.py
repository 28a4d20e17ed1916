"""Ctrl-C where work can be left: between two steps, not in the middle of one."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupt_between_steps() -> Iterator[Callable[[], None]]:
    """Hold the first Ctrl-C back until the step under way is done; a second one comes through at once.

    Gives a function that raises KeyboardInterrupt if one is waiting. Signals go to the main thread only, so elsewhere
    none ever is.
    """
    waiting = False
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return

    def hold(number: int, frame: FrameType | None) -> None:
        nonlocal waiting
        if waiting:
            raise KeyboardInterrupt
        waiting = True

    def let_through() -> None:
        if waiting:
            raise KeyboardInterrupt

    previous = signal.signal(signal.SIGINT, hold)
    try:
        yield let_through
    finally:
        signal.signal(signal.SIGINT, previous)
