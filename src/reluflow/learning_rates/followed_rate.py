"""One learning rate beside the flow: how far the outputs part, which walls are met, where it ends."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.limits.undecided import limit_or_undecided
from reluflow.learning_rates.gate_history import Departure, first_departure
from reluflow.learning_rates.reference_flow import ReferenceFlow, follow_flow
from reluflow.learning_rates.sharpness import sharpness
from reluflow.learning_rates.watched_descent import DescentRule, WatchedDescent

NUM_TIMES = 48  # at which the outputs are compared
_LONGER = (1, 4, 16)  # times the horizon for which a descent that has not come down is followed
_LEFT = 1e-5  # share of the fall of its loss that a descent near its limit may have left: the flow has a tenth of it
_AT_REST = 1e-12  # share at which it is there, whatever the sharpest of the pieces that meet says
_LEARNT = 1e-1  # share of its first loss that a classifier may have left, whose direction the flow follows


class DescentOutcome(StrEnum):
    """How a descent ended."""

    SETTLED = "settled"
    OSCILLATES = "oscillates"
    DIVERGED = "diverged"


@dataclass(frozen=True, eq=False)
class FollowedRate:
    """Descent at one learning rate beside the flow.

    Parameters
    ----------
    lr
        The learning rate.
    outcome
        How it ended.
    times, distances
        The largest distance of an output from the flow's at some times, shape (T,).
    departure
        Where its neurons first meet other walls than those of the flow, or None.
    same_limit
        Whether it ends where the flow does: same certificate, same function on the data.
    loss
        At the end.
    order
        Of the largest distance in lr, observed against the next smaller rate; nan where there is none.
    """

    lr: float
    outcome: DescentOutcome
    times: FloatArray
    distances: FloatArray
    departure: Departure | None
    same_limit: bool
    loss: float
    order: float = float("nan")

    @property
    def same_gates(self) -> bool:
        """Whether its neurons meet the walls that those of the flow meet, in the same order."""
        return self.departure is None

    @property
    def largest_distance(self) -> float:
        """The largest distance of an output from the flow's; infinite where descent diverged."""
        return float(np.max(self.distances, initial=0.0)) if self.outcome is not DescentOutcome.DIVERGED else np.inf


def comparison_steps(lr: float, horizon: float) -> FloatArray:
    """Iterations at which outputs are compared: half of them evenly in time, half in its logarithm."""
    last = max(1, int(horizon / lr))
    evenly = np.linspace(1, last, NUM_TIMES // 2)
    return np.unique(np.round(np.concatenate([evenly, np.geomspace(1, last, NUM_TIMES // 2)])))


def follow_rate(
    reference: ReferenceFlow, rule: DescentRule, outputs: dict[float, FloatArray] | None = None,
    *, max_seconds: float = np.inf,
) -> FollowedRate:  # fmt: skip
    """Run descent beside the flow and judge it.

    Parameters
    ----------
    reference
        The flow.
    rule
        How descent steps.
    outputs
        Those of the flow at the times of `comparison_steps`; without them no distances are measured.
    max_seconds
        Allowed to the flow that takes over where descent has come down.
    """
    descent = WatchedDescent(reference.problem, rule)
    lr, times, distances = rule.lr, [], []
    last = max(1, int(reference.horizon / lr))
    for step in comparison_steps(lr, reference.horizon) if outputs is not None else ():
        descent.advance(int(step))
        if descent.has_overflowed:
            break
        exact = None if outputs is None else outputs.get(lr * step)
        if exact is not None:
            times.append(lr * step)
            distances.append(float(np.max(np.abs(descent.outputs() - exact))))
    descent.advance(last)
    departure = first_departure(
        reference.gates, descent.events(), reference.walls, lr=lr, until=min(descent.time, reference.horizon)
    )
    outcome, is_same, loss = _ending(reference, descent, last, max_seconds)
    return FollowedRate(lr, outcome, np.array(times), np.array(distances), departure, is_same, loss)


def _ending(
    reference: ReferenceFlow, descent: WatchedDescent, last: int, max_seconds: float
) -> tuple[DescentOutcome, bool, float]:
    """How descent ends: where it has come down, the flow from there says where that is; whether it can stay there."""
    problem, loss = reference.problem, np.inf
    for longer in _LONGER:
        descent.advance(longer * last)
        if descent.has_overflowed:
            return DescentOutcome.DIVERGED, False, np.inf
        network = descent.network()
        loss = problem.objective(network)
        if not loss < problem.objective(problem.network):  # it jumps about above where it started
            continue
        onwards, _ = follow_flow(replace(problem, network=network), max_seconds=max_seconds)
        limit = limit_or_undecided(onwards)
        low = 0.0 if problem.loss.is_classification else problem.objective(limit.network)
        if descent.rule.batch is not None:  # its noise never rests: the flow from there says in whose basin it is
            return DescentOutcome.SETTLED, reference.is_same_limit(limit), loss
        left = (loss - low) / (problem.objective(problem.network) - low)
        if left > (_LEARNT if problem.loss.is_classification else _LEFT):
            continue
        is_there = problem.loss.is_classification or left <= _AT_REST
        if is_there or descent.rule.lr < sharpness(problem, limit.network).stable_below:
            return DescentOutcome.SETTLED, reference.is_same_limit(limit), loss
    return DescentOutcome.OSCILLATES, False, loss
