"""The scale a theorem asks for, over a sweep: where its hypotheses begin to hold, by bisection, without any run."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from reluflow.experiment import Experiment
from reluflow.network.scale import decimal_of
from reluflow.sweep.plan import Plan
from reluflow.sweep.swept import with_value
from reluflow.sweep.training import problem_of
from reluflow.sweep.values import Interval

if TYPE_CHECKING:
    from reluflow.theory.theorem import Theorem

SCALE, PREFIX = "scale", "theorem:"
MOST_VALUES = 24  # of the other setting at which the scale is looked for
_HALVINGS = 14


@dataclass(frozen=True)
class AskedScale:
    """Below which scale the hypotheses of a theorem hold, at one value of another setting.

    Parameters
    ----------
    place
        Which value of the other setting; 0 where there is none.
    scale
        The scale; 0 where they hold at none that was swept, infinity where at all.
    """

    place: int
    scale: float


def asked_scales(
    plan: Plan, key: str, other: str | None, fixed: dict[str, str] | None = None
) -> tuple[AskedScale, ...]:
    """Where the hypotheses of a theorem that can be judged before a run begin to hold, within the swept scales.

    Parameters
    ----------
    plan
        The sweep; its first seed and the first value of every setting not named here are taken.
    key
        The theorem.
    other
        A swept setting beside the scale.
    fixed
        Values of further settings.
    """
    from reluflow.theory.registry import theorem_named

    theorem = theorem_named(key)
    axes = {axis.name: axis.values for axis in plan.axes}
    by_size = sorted(map(str, axes[SCALE]), key=decimal_of)
    interval = Interval(by_size[0], by_size[-1], is_log=True)
    places = range(0, len(axes[other]), -(-len(axes[other]) // MOST_VALUES)) if other else range(1)
    found = []
    for place in places:
        case = plan.case_at(0)
        for name, text in {**(fixed or {}), **({other: str(axes[other][place])} if other else {})}.items():
            case = with_value(case, name, text)
        found.append(AskedScale(place, _largest(theorem, case, interval)))
    return tuple(found)


def _largest(theorem: Theorem, case: Experiment, interval: Interval) -> float:
    """The largest scale of an interval at which the hypotheses hold; that they do at all smaller ones is assumed."""
    low, high = Decimal(0), Decimal(1)
    if not holds_before_a_run(theorem, with_value(case, SCALE, interval.at(low))):
        return 0.0
    if holds_before_a_run(theorem, with_value(case, SCALE, interval.at(high))):
        return float("inf")
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if holds_before_a_run(theorem, with_value(case, SCALE, interval.at(middle))):
            low = middle
        else:
            high = middle
    return float(interval.at((low + high) / 2))


def holds_before_a_run(theorem: Theorem, case: Experiment) -> bool:
    """Whether every hypothesis that needs no run is judged to hold on the problem of a case."""
    from reluflow.theory.evidence import Evidence

    evidence = Evidence(problem_of(case), parameters=theorem.parameter_values({}))
    return all(judged.holds is True for judged in theorem.judged_before_a_run(evidence))
