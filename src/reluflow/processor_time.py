"""A bound on work in seconds of processor time, so that a busy machine gives the same answer as an idle one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from reluflow.compilation.clock import computing_thread_time

_SECONDS_A_BLOCK = 0.3  # of work between two looks at the clock


class ProcessorTime:
    """So many seconds of the processor time of this thread, counted from now.

    Other threads that share its work are not counted, so that two cores make it faster and leave the bound as it is.

    Parameters
    ----------
    seconds
        What may be spent; infinite where there is no bound.
    clock
        What tells the time; by default what this thread computes, and does not compile.

    Examples
    --------
    >>> ticks = iter([0.0, 1.0, 3.0])
    >>> allowed = ProcessorTime(2.0, clock=lambda: next(ticks))
    >>> allowed.is_spent, allowed.is_spent
    (False, True)
    """

    def __init__(self, seconds: float = math.inf, *, clock: Callable[[], float] | None = None) -> None:
        self.seconds = float(seconds)
        self._clock = computing_thread_time if clock is None else clock
        self._start = self._clock()

    @property
    def used(self) -> float:
        """Seconds spent so far."""
        return self._clock() - self._start

    @property
    def left(self) -> float:
        """Seconds left; 0 where nothing is."""
        return max(self.seconds - self.used, 0.0)

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left."""
        return self.used >= self.seconds

    @property
    def share(self) -> float:
        """The share that is spent, in [0, 1]; 0 where there is no bound."""
        return min(self.used / self.seconds, 1.0) if math.isfinite(self.seconds) else 0.0

    def blocks(self, count: int, *, first: int = 1, largest: int = 128) -> Iterator[slice]:
        """Cut `count` equal pieces of work into blocks of a fraction of a second each, until the time is spent.

        The first block is done in any case. What is not given out was not done.
        """
        size, start = first, 0
        while start < count and (start == 0 or not self.is_spent):
            before = self.used
            yield slice(start, min(start + size, count))
            start += size
            seconds = self.used - before
            if 2.0 * seconds < _SECONDS_A_BLOCK and size < largest:
                size = min(2 * size, largest)
            elif seconds > 2.0 * _SECONDS_A_BLOCK:
                size = max(size // 2, first)
