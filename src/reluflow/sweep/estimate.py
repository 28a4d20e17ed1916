"""How long a sweep will take: from the runs it has kept, else from a few trial runs that are not kept."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reluflow.errors import ReluflowError
from reluflow.sweep.plan import Plan
from reluflow.sweep.segments import SegmentReader
from reluflow.sweep.training import finished_run, one_thread

if TYPE_CHECKING:
    from reluflow.dynamics.solver import AbstractRun

TRIALS = 5
TRIAL_S = 5.0  # for all trials together
_KEPT = 2000


@dataclass(frozen=True)
class Estimate:
    """Seconds one case takes on one core.

    Parameters
    ----------
    seconds
        The mean of what was looked at; a lower bound where `is_cut_short`.
    count
        How many cases that were.
    is_cut_short
        Whether a trial was given up.
    source
        "kept results" or "trial runs".
    """

    seconds: float
    count: int
    is_cut_short: bool
    source: str


class _TooLongError(Exception):
    """A trial has used up its time."""


def estimate(plan: Plan, folder: Path) -> Estimate:
    """The mean cost of a case of the plan."""
    kept: list[float] = []
    for segment in SegmentReader(folder).new():
        kept.extend(record.seconds for record in segment.records())
        if len(kept) >= _KEPT:
            break
    if kept:
        return Estimate(sum(kept) / len(kept), len(kept), False, "kept results")
    chosen = sorted({round(place * (len(plan) - 1) / (TRIALS - 1)) for place in range(TRIALS)})
    with one_thread():
        _seconds(plan, chosen[0], float("inf"))  # the first run compiles
        spent: list[float] = []
        for index in chosen:
            left = TRIAL_S - sum(spent)
            if left <= 0.0:
                break
            taken = _seconds(plan, index, left)
            spent.append(taken)
    return Estimate(sum(spent) / len(spent), len(spent), sum(spent) >= TRIAL_S, "trial runs")


def _seconds(plan: Plan, index: int, most: float) -> float:
    began = time.perf_counter()

    def watch(run: AbstractRun) -> None:
        if time.perf_counter() - began > most:
            raise _TooLongError

    try:
        trajectory = finished_run(plan.case_at(index), progress=watch)
        for measure in plan.measures:
            measure(trajectory)
    except (ReluflowError, _TooLongError):
        return time.perf_counter() - began  # a case that fails costs what it costs until then
    return time.perf_counter() - began
