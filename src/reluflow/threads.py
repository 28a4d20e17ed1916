"""Work of machine code, which holds no lock, shared between threads."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

import numba
import numpy as np
from numpy.typing import NDArray

from reluflow.arrays import IntArray

_Part = TypeVar("_Part")

_LARGE_PRODUCT = 2**26  # multiplications in a product from which it is shared: some ten milliseconds
_WORTH_A_THREAD = 2e-4  # seconds of work; handing some to a thread and waiting for it costs 6e-5


class ThreadTeam:
    """Threads that share out rows of work, as many as are worth it by how long a row took the last time.

    Rows must not depend on each other, so that nothing but the time does on who does them.
    """

    def __init__(self) -> None:
        self._seconds_a_row = 0.0

    def share(self, work: Callable[[IntArray], None], rows: IntArray) -> None:
        """Do some rows, and wait until all are done."""
        worth = 1 + int(len(rows) * self._seconds_a_row / _WORTH_A_THREAD)
        num_parts = min(numba.get_num_threads(), worth, len(rows))

        def timed(part: IntArray) -> None:
            start = time.thread_time()  # not by the clock: waiting for a busy core is no work that a thread would do
            work(part)
            self._seconds_a_row = (time.thread_time() - start) / len(part)

        if num_parts == 1:
            timed(rows)
            return
        first, *others = [rows[first::num_parts] for first in range(num_parts)]
        in_parts(lambda part: timed(part) if part is first else work(part), [first, *others])


@contextmanager
def at_most_threads(number: int | None) -> Iterator[None]:
    """Share work between so many threads at most within; None: as many as without."""
    before = numba.get_num_threads()
    numba.set_num_threads(min(number or before, before))
    try:
        yield
    finally:
        numba.set_num_threads(before)


def in_parts(work: Callable[[_Part], object], parts: Sequence[_Part]) -> None:
    """Do all parts of a piece of work, the first of them in this thread, and wait for the others."""
    others = [_pool(len(parts)).submit(work, part) for part in parts[1:]]
    try:
        work(parts[0])
    finally:
        for other in others:
            other.result()


def in_two(work: Callable[[slice], object], length: int) -> None:
    """Do the two halves of a piece of work on `length` rows, each in a thread where there are two.

    The halves are the same in one thread, so that no bit depends on how many there are.
    """
    halves = [slice(0, length // 2), slice(length // 2, length)]
    if numba.get_num_threads() > 1:
        in_parts(work, halves)
    else:
        for half in halves:
            work(half)


def product(left: NDArray[Any], right: NDArray[Any], out: NDArray[Any]) -> NDArray[Any]:
    """left @ right, a large one in two halves: threads of the library for matrices would spin while ours work."""
    if out.size * len(right) < _LARGE_PRODUCT:
        return np.matmul(left, right, out=out)
    in_two(lambda rows: np.matmul(left[rows], right, out=out[rows]), len(left))
    return out


@cache
def _pool(num_parts: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(1, num_parts - 1), thread_name_prefix="reluflow")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a forked process has none of these threads
