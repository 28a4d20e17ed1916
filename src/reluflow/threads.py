"""Work of machine code, which holds no lock, shared between threads."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numba

from reluflow.arrays import IntArray

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
        start = time.perf_counter()
        in_parts(work, [rows[first::num_parts] for first in range(num_parts)])
        self._seconds_a_row = num_parts * (time.perf_counter() - start) / len(rows)


def in_parts(work: Callable[[IntArray], None], parts: Sequence[IntArray]) -> None:
    """Do all parts of a piece of work, the first of them in this thread, and wait for the others."""
    others = [_pool(len(parts)).submit(work, part) for part in parts[1:]]
    try:
        work(parts[0])
    finally:
        for other in others:
            other.result()


@cache
def _pool(num_parts: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(1, num_parts - 1), thread_name_prefix="reluflow")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a forked process has none of these threads
