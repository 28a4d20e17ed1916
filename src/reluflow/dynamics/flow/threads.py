"""Work of machine code, which holds no lock, shared between threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from reluflow.arrays import IntArray


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
