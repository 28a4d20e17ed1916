"""One learning rate beside the flow: how far the outputs part, which walls are met, where it ends."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.budget import Budget, count
from reluflow.certificates.limits.undecided import limit_or_undecided
from reluflow.learning_rates.gate_history import Departure, first_departure
from reluflow.learning_rates.reference_flow import ReferenceFlow, follow_flow
from reluflow.learning_rates.sharpness import chatter_at, sharpness
from reluflow.learning_rates.watched_descent import DescentRule, WatchedDescent

NUM_TIMES = 48  # at which the outputs are compared
_LONGER = (1, 4, 16)  # times the horizon for which a descent that has not come down is followed
# where steps cost less than the flow that takes over, which has little to do near its limit; so many steps at least
_CHEAP_LONGER, _CHEAP_STEPS = (16, 64), (1_000, 16_000)
_CHEAP = 5e7  # products of a weight and a coordinate that 16 horizons may take to be cheap
_OPERATIONS_A_STEP = 500.0  # of a descent, besides its products, of 1e9 a second
_AT_ONCE = 2e8  # the same between two looks at the clock
_LEFT = 1e-5  # share of the fall of its loss that a descent near its limit may have left: the flow has a tenth of it
_AT_REST = 1e-12  # share at which it is there, whatever the sharpest of the pieces that meet says
_LEARNT = 1e-1  # share of its first loss that a classifier may have left, whose direction the flow follows


class DescentOutcome(StrEnum):
    """How a descent ended."""

    SETTLED = "settled"
    OSCILLATES = "oscillates"
    DIVERGED = "diverged"
    UNDECIDED = "undecided"  # the seconds were spent, or the flow has no limit to compare with


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
    same_gates
        Whether they meet the same walls in the same order; None where descent was ended too early to tell.
    same_limit
        Whether it ends where the flow does: same certificate, same function on the data; None where that is open.
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
    same_gates: bool | None
    same_limit: bool | None
    loss: float
    order: float = float("nan")

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
        Of processor time, the flow that takes over where descent has come down included.
    """
    allowed, descent = Budget(max_seconds), WatchedDescent(reference.problem, rule)
    lr, times, distances = rule.lr, [], []
    last = max(1, int(reference.horizon / lr))
    for step in comparison_steps(lr, reference.horizon) if outputs is not None else ():
        _advance(descent, int(step), allowed)
        if descent.has_overflowed or descent.steps < step:
            break
        exact = None if outputs is None else outputs.get(lr * step)
        if exact is not None:
            times.append(lr * step)
            distances.append(float(np.max(np.abs(descent.outputs() - exact))))
    is_compared = _advance(descent, last, allowed)
    until = reference.horizon if descent.has_overflowed else min(descent.time, reference.horizon)  # none came later
    departure = first_departure(reference.gates, descent.events(), reference.walls, lr=lr, until=until)
    same_gates = departure is None if is_compared or departure is not None else None
    outcome, is_same, loss = _ending(reference, descent, last, allowed)
    return FollowedRate(lr, outcome, np.array(times), np.array(distances), departure, same_gates, is_same, loss)


def _ending(
    reference: ReferenceFlow, descent: WatchedDescent, last: int, allowed: Budget
) -> tuple[DescentOutcome, bool | None, float]:
    """How descent ends: where it has come down, the flow from there says where that is; whether it can stay there."""
    problem, loss = reference.problem, np.inf
    is_cheap = not problem.loss.is_classification and _CHEAP_LONGER[0] * last * _products(descent) <= _CHEAP
    targets = [max(longer * last, least) for longer, least in zip(_CHEAP_LONGER, _CHEAP_STEPS, strict=True)]
    for target in targets if is_cheap else [longer * last for longer in _LONGER]:
        is_in_time = _advance(descent, target, allowed)
        if descent.has_overflowed:
            return DescentOutcome.DIVERGED, False, np.inf
        network = descent.network()
        loss = problem.objective(network)
        if reference.limit is None or not is_in_time:
            return DescentOutcome.UNDECIDED, None, loss
        if not loss < problem.objective(problem.network):  # it jumps about above where it started
            continue
        onwards, _ = follow_flow(
            replace(problem, network=network), max_seconds=max(allowed.left, 0.5), rtol=reference.onward_rtol
        )
        if onwards.outcome.is_cut_short:
            return DescentOutcome.UNDECIDED, None, loss
        limit = limit_or_undecided(onwards)
        low = onwards.loss if problem.loss.is_classification else problem.objective(limit.network)
        if descent.rule.batch is not None:  # its noise never rests: the flow from there says in whose basin it is
            return DescentOutcome.SETTLED, reference.is_same_limit(limit), loss
        fall = problem.objective(problem.network) - low
        chatter = 0.0 if problem.loss.is_classification else chatter_at(problem, limit.network, descent.rule.lr)
        if loss - low > (_LEARNT if problem.loss.is_classification else _LEFT) * fall + chatter:
            continue
        is_there = problem.loss.is_classification or loss - low <= _AT_REST * fall
        if is_there or descent.rule.lr < sharpness(problem, limit.network).stable_below:
            return DescentOutcome.SETTLED, reference.is_same_limit(limit), loss
    return DescentOutcome.OSCILLATES, False, loss


def _products(descent: WatchedDescent) -> float:
    """Products of a weight and a coordinate that one step takes."""
    return 2.0 * descent.problem.dataset.X.size * descent.problem.network.num_neurons


def _advance(descent: WatchedDescent, step: int, allowed: Budget) -> bool:
    """Go on to an iteration with a look at the clock now and then; whether it was not spent on the way."""
    at_once = max(1, int(_AT_ONCE / _products(descent)))
    while descent.steps < step and not descent.has_overflowed:
        if allowed.is_spent:
            return False
        before = descent.steps
        descent.advance(min(step, before + at_once))
        count((descent.steps - before) * (_OPERATIONS_A_STEP + _products(descent)))
    return True
