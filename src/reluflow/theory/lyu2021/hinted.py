"""Theorem 6.2: three hints make training end as one linear neuron at a suboptimal margin [lyu2021]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.hard_margin import linear_separator
from reluflow.data.published.lyu2021_hinted import HintConditions
from reluflow.data.published.lyu2021_hinted import hinted as hinted_dataset
from reluflow.theory.evidence import Evidence, kept
from reluflow.theory.lyu2021 import conditions
from reluflow.theory.lyu2021.limits import best_network
from reluflow.theory.lyu2021.non_symmetric_limit import (
    against,
    finite_or_none,
    largest_scale,
    late_exponent,
    limit_function,
    limit_margin,
    side_of,
)
from reluflow.theory.measurement import Measurement, all_of, at_least, at_most, equals, missing, need, nothing
from reluflow.theory.stating import needs
from reluflow.theory.theorem import Constants


@dataclass(frozen=True, eq=False)
class Hints:
    """The hints of a dataset: which samples they are, and what Theorem 6.2 asks of them."""

    first: int
    others: tuple[int, int]
    separator: FloatArray
    conditions: HintConditions


def hints_of(evidence: Evidence) -> Hints | None:
    """The three hints, found from w^+: two samples support it and mirror each other, one lies along it far out.

    The base set and its separator are then recomputed. None where that is not the picture.
    """
    side = side_of(evidence, 1)
    if not side.separator.separable or side.closest.size != 2:
        return None
    X = evidence.dataset.X
    second, third = (int(k) for k in side.closest)
    across = 0.5 * (X[second] - X[third])
    is_mirrored = abs(float(across @ side.w)) <= 1e-9 * float(np.linalg.norm(across))
    if not (is_mirrored and np.all(evidence.dataset.y[side.closest] > 0.0)):
        return None
    lengths = np.linalg.norm(X, axis=1)
    cosines = np.where(evidence.dataset.y > 0, X @ side.w / lengths, -1.0)
    along = np.flatnonzero(cosines > 1.0 - 1e-12)
    if along.size == 0 or len(X) < 4:
        return None
    first = int(along[np.argmax(lengths[along])])
    base = evidence.dataset.subset(np.setdiff1d(np.arange(len(X)), [first, second, third]))
    needed = hinted_dataset(
        base,
        H=float(lengths[first]),
        K=float(np.linalg.norm(across)),
        eps=float(side.w @ (X[second] + X[third]) / 2),
        leak=evidence.leak,
        w_perp=across,
    ).conditions
    return Hints(first, (second, third), linear_separator(base).w, needed)


@kept
def _hints(evidence: Evidence) -> Hints | None:
    return hints_of(evidence)


def _limit_margin(evidence: Evidence) -> Measurement:
    hints = _hints(evidence)
    return missing("no hints found") if hints is None else limit_margin(evidence, 0.5 * hints.conditions.eps)


def _limit_function(evidence: Evidence) -> Measurement:
    hints = _hints(evidence)
    return missing("no hints found") if hints is None else limit_function(evidence, hints.separator, 1)


@needs(_hints, "no hints found")
def _consequences(evidence: Evidence, hints: Hints) -> Measurement:
    """What App. A.2 derives from the hints: A.1, A.2, A.3, A.5 with value leak eps/2, w^+ = w*, gamma^+ = eps."""
    facts = evidence.facts
    side, other, eps = side_of(evidence, 1), against(evidence, 1), hints.conditions.eps
    return all_of(
        (
            (conditions.principal_direction(facts).holds is True, "A.1 does not hold"),
            (conditions.pairwise_condition(facts).holds is True, "A.2 does not hold"),
            (conditions.positive_mean_is_longer(facts).holds is True, "A.3 does not hold"),
            (
                abs(other.any_multipliers - 0.5 * evidence.leak * eps) <= 1e-7 * eps,
                "the value of A.5 is not leak eps/2",
            ),
            (abs(other.dual_multipliers - 0.5 * evidence.leak * eps) <= 1e-7 * eps, "V* is not leak eps/2"),
            (float(np.linalg.norm(side.w - hints.separator)) <= 1e-9, "w^+ is not the separator of the base set"),
            (abs(side.margin - eps) <= 1e-9 * eps, "gamma^+ is not eps"),
        ),
        detail="A.1, A.2, A.3 hold, A.5 has the value leak eps/2, w^+ = w*, gamma^+ = eps",
    )


@needs(_hints, "no hints found")
def _optimality(evidence: Evidence, hints: Hints) -> Measurement:
    """The best margin of any width beats eps/2 exactly where K > eps sqrt((3 + leak)/(1 - leak))."""
    best = best_network(evidence)
    limit, needed = 0.5 * hints.conditions.eps, hints.conditions
    words = f"best margin {best.margin:.7g}, limit {limit:.7g}, K = {needed.K:.6g}, threshold {needed.K_exact:.6g}"
    if needed.K_exact < needed.K:
        return at_least(best.margin / limit, 1.0 + 1e-9, detail=f"{words}: suboptimal at every width m >= 3")
    return at_most(best.upper / limit, 1.0, allowance=1e-6, detail=f"{words}: the limit is the best of all widths")


def _late_law(evidence: Evidence) -> Measurement:
    """The share of the negative neurons falls like |theta|^(2(leak - 1))."""
    if np.all(evidence.network.a > 0.0):
        return nothing("no neuron is negative")
    exponent, expected = late_exponent(evidence, 1), 2.0 * (evidence.leak - 1.0)
    exponent = need(exponent, "fewer than five late snapshots with a share above 0; raise `late_margin`")
    words = f"the share of negative neurons falls like |theta|^{exponent:.6g}, foretold {expected:.6g}"
    earlier = late_exponent(evidence, 1, until=0.75)
    if earlier is not None and 0.02 * abs(expected) < abs(exponent - expected) < abs(earlier - expected):
        return missing(f"{words}, and still coming closer; raise `late_margin`")
    return equals(exponent, expected, atol=0.02 * abs(expected), detail=words)


def _constants(evidence: Evidence) -> Constants:
    hints = _hints(evidence)
    if hints is None:
        return {}
    needed = hints.conditions
    return {
        "eps": needed.eps,
        "eps_limit": needed.eps_limit,
        "H": needed.H,
        "H_0": needed.H_0,
        "H_3": needed.H_3,
        "K": needed.K,
        "K_min": needed.K_min,
        "K_exact": needed.K_exact,
        "log_scale_needed": finite_or_none(largest_scale(evidence)),
    }


def _predictions(evidence: Evidence) -> Constants:
    hints = _hints(evidence)
    margin = float("nan") if hints is None else 0.5 * hints.conditions.eps
    probability = 1.0 - 0.5**evidence.network.num_neurons
    return {"margin": margin, "share_exponent": 2.0 * (evidence.leak - 1.0), "probability": probability}
