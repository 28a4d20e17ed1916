"""TaskQueue: hands out the missing cases of a plan, and sees to those another sweep is computing."""

from __future__ import annotations

import time

import numpy as np

from reluflow.arrays import IndexArray
from reluflow.sweep.store import DONE_CODE, MISSING_CODE, Progress
from reluflow.sweep.worker import Report

TASK_S = 2.0  # work in one task, so that what is paid per task (a sync, a message) is paid once in two seconds
MOST_CASES_IN_A_TASK = 2000
RETRY_BUSY_S = 1.0


class TaskQueue:
    """Cases in tasks; those under one lease are always in one task.

    Parameters
    ----------
    known
        What has a result.
    missing
        Numbers of the cases to compute.
    num_workers
        How many work at a time.
    is_retry
        Whether a failed result counts as none.
    """

    def __init__(self, known: Progress, missing: IndexArray, num_workers: int, *, is_retry: bool) -> None:
        self._known = known
        self._num_workers = num_workers
        self._is_retry = is_retry
        self._cases, leases = known.in_lease_order(missing)
        self._ends = np.append(np.flatnonzero(np.diff(leases)) + 1, len(self._cases))
        self._at = 0
        self._seconds_per_case = 0.0
        self._busy: list[int] = []
        self._looked = 0.0

    @property
    def is_finished(self) -> bool:
        """Whether there is nothing left to hand out or to wait for."""
        return self._at >= len(self._cases) and not self._busy

    def next_task(self) -> tuple[int, ...] | None:
        """The next task; None where there is none now."""
        if self._at < len(self._cases):
            start = self._at
            end = min(start + self._size(), len(self._cases))
            self._at = int(self._ends[np.searchsorted(self._ends, end)])  # never through the middle of a lease
            return tuple(int(index) for index in self._cases[start : self._at])
        if self._busy and time.monotonic() - self._looked >= RETRY_BUSY_S:
            return self._still_busy()
        return None

    def take(self, report: Report) -> None:
        """Learn from a report what a case costs and which cases another sweep has."""
        self._busy.extend(report.busy)
        if report.computed:
            mean = report.seconds / report.computed
            before = self._seconds_per_case
            self._seconds_per_case = mean if before == 0.0 else 0.7 * before + 0.3 * mean

    def _still_busy(self) -> tuple[int, ...] | None:
        """Cases of another sweep that have no result yet: a worker looks whether their lease is still alive."""
        self._looked = time.monotonic()
        self._known.read()
        least = DONE_CODE if self._is_retry else MISSING_CODE + 1
        rest = np.array([index for index in self._busy if self._known.codes[index] < least], dtype=np.intp)
        self._busy = []
        return tuple(int(index) for index in self._known.in_lease_order(rest)[0]) if len(rest) else None

    def _size(self) -> int:
        """Cases in the next task: one at first, then what takes a while, and fewer towards the end."""
        share = -(-(len(self._cases) - self._at) // (3 * self._num_workers))
        fits = int(TASK_S / self._seconds_per_case) if self._seconds_per_case > 0.0 else 1
        return max(1, min(fits, share, MOST_CASES_IN_A_TASK))
