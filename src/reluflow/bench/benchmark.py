"""Benchmark: one task done by us and by a peer, timed in the same process, with how far the answers agree."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Timing:
    """The outcome of a benchmark.

    Parameters
    ----------
    name
        `group/task`.
    ours_s
        Our best wall time in seconds, after one warm-up call.
    peer
        What we are compared with, in words.
    peer_s
        The peer's best wall time; None where it was not run (the peer is out of reach at this size, or not installed).
    agreement
        How far the two answers differ, in words with the measured number.
    """

    name: str
    ours_s: float
    peer: str
    peer_s: float | None
    agreement: str

    @property
    def ratio(self) -> float | None:
        """Peer's time over ours: above 1 we are faster."""
        return None if self.peer_s is None else self.peer_s / self.ours_s


@dataclass(frozen=True)
class Benchmark:
    """A named task that can be run."""

    name: str
    summary: str
    run: Callable[[], list[Timing]]


def best_time(task: Callable[[], T], *, repeats: int = 3, warm_up: bool = True) -> tuple[float, T]:
    """Smallest wall time of a few calls, and the last result; the first call compiles and does not count."""
    if warm_up:
        task()
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        result = task()
        best = min(best, time.perf_counter() - start)
    return best, result
