"""What a computation may cost: seconds of processor time, or of work that is counted and so the same on every machine.

A loop that may take long counts the operations it does, with `count`. Within `counting_work` every bound of seconds is
one on these: a second of work is what the reference machine, one core of 2026, does in a second. The same call then
does the same work on a busy machine and on an idle one, and gives the same answer.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

OPERATIONS_A_SECOND = 1e9  # multiplications and additions of long products, as the reference machine does them
SLOWEST = 5.0  # seconds of processor time allowed to each second of work: slower machines end a computation there,
LOADING_SECONDS = 10.0  # with so many more, for what is loaded and looked at without being counted
FIRST_BLOCK = 8  # pieces of work that threads share before the budget is looked at
_SECONDS_A_BLOCK = 0.3  # of work between two looks at the budget


class _Counter(threading.local):
    """What this thread has done."""

    operations = 0  # whole, so that differences do not depend on what was counted before
    is_asked = False  # whether bounds of seconds are bounds on it
    num_late = 0  # budgets of work that processor time has ended


_COUNTER = _Counter()


def count(operations: float) -> None:
    """Add to the work that this thread has done."""
    _COUNTER.operations += round(operations)


def affordable(seconds: float, operations: float) -> float:
    """How often so many operations can be done in so many seconds of work."""
    return seconds * OPERATIONS_A_SECOND / operations


def operations_done() -> int:
    """How many operations this thread has counted; only differences mean something."""
    return _COUNTER.operations


def num_ended_late() -> int:
    """How many budgets of work this thread's processor time has ended; above 0 answers may depend on the machine."""
    return _COUNTER.num_late


def _processor_time() -> float:
    from reluflow.compilation.clock import computing_thread_time  # loads Numba, which what has a budget does anyway

    return computing_thread_time()


def counts_work() -> bool:
    """Whether this is within `counting_work`."""
    return _COUNTER.is_asked


@contextmanager
def counting_work(*, if_asked: bool = True) -> Iterator[None]:
    """Let every bound of seconds in this thread be one on the work that is counted.

    Examples
    --------
    >>> with counting_work():
    ...     budget = Budget(2.0)
    ...     count(1.5e9)
    ...     print(round(budget.left, 6))
    0.5
    """
    before = _COUNTER.is_asked
    _COUNTER.is_asked = if_asked
    try:
        yield
    finally:
        _COUNTER.is_asked = before


class Budget:
    """So many seconds, counted from now: of the processor time of this thread, or within `counting_work` of its work.

    Other threads that share its work are not counted, so that two cores make it faster and leave the bound as it is.
    A budget of work ends as well once the thread has computed `SLOWEST` times as long as the reference machine would.

    Parameters
    ----------
    seconds
        What may be spent; infinite where there is no bound.
    clock
        What tells the seconds that are spent, instead of either.

    Examples
    --------
    >>> ticks = iter([0.0, 1.0, 3.0])
    >>> budget = Budget(2.0, clock=lambda: next(ticks))
    >>> budget.is_spent, budget.is_spent
    (False, True)
    """

    def __init__(self, seconds: float = math.inf, *, clock: Callable[[], float] | None = None) -> None:
        self.seconds = float(seconds)
        self.is_of_work = clock is None and _COUNTER.is_asked
        self._unit = OPERATIONS_A_SECOND if self.is_of_work else 1.0
        self._clock: Callable[[], float] = clock or (operations_done if self.is_of_work else _processor_time)
        self._start = self._clock()
        self._has_end = self.is_of_work and math.isfinite(self.seconds)
        self._end = _processor_time() + LOADING_SECONDS + SLOWEST * self.seconds if self._has_end else math.inf
        self._is_late = False

    @property
    def used(self) -> float:
        """Seconds spent so far."""
        return (self._clock() - self._start) / self._unit

    @property
    def left(self) -> float:
        """Seconds left; 0 where nothing is."""
        return 0.0 if self._is_late else max(self.seconds - self.used, 0.0)

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left."""
        if self.used >= self.seconds:
            return True
        if self._has_end and not self._is_late and _processor_time() >= self._end:
            self._is_late = True
            _COUNTER.num_late += 1
        return self._is_late

    @property
    def share(self) -> float:
        """The share that is spent, in [0, 1]; 0 where there is no bound."""
        return min(self.used / self.seconds, 1.0) if math.isfinite(self.seconds) else 0.0

    def blocks(self, count: int, *, first: int = 1, largest: int = 128) -> Iterator[slice]:
        """Cut `count` equal pieces of work into blocks of a fraction of a second each, until the budget is spent.

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
