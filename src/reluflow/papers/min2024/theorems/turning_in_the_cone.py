"""How the neurons of a class turn towards its aggregate and grow on [t_1, t_2]: (37) and (40) [min2024]."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.papers.min2024.paper import EXAMPLE, SETTING
from reluflow.papers.min2024.theorems.class_groups import Group, fit_predictions, groups, growing_moments
from reluflow.papers.min2024.theorems.constants import alignment_constants, data_constants, log_bound, proof_constants
from reluflow.papers.min2024.theorems.landmarks import whole_plan
from reluflow.papers.min2024.theorems.moving_neurons import Moment
from reluflow.papers.min2024.theorems.shared_hypotheses import BOTH_CONES, REGIME
from reluflow.theory.comparison import Values
from reluflow.theory.evidence import Evidence
from reluflow.theory.measures import AtLeast, AtMost, ScaledDownTo
from reluflow.theory.theorem import Conclusion, Reference, Theorem


def _forces_are_near_one(evidence: Evidence) -> Values:
    """(40): the distances of |g_i| from 1 on [t_1, t_2^+-], at most 1/2."""
    return (np.abs(group.own_forces(moment) - 1.0) for group, moment in growing_moments(evidence))


def _weighted_cosine(evidence: Evidence) -> Values:
    """cos(x_+-, x~_a) on [t_1, t_2^+-]."""
    for group, moment in growing_moments(evidence):
        pull = group.weighted_sum(moment)
        yield group.aggregate @ pull / (np.linalg.norm(group.aggregate) * np.linalg.norm(pull))


def _weighted_length(evidence: Evidence) -> Values:
    """|x~_a| over |x_+-|/2 on [t_1, t_2^+-]."""
    for group, moment in growing_moments(evidence):
        yield 2.0 * float(np.linalg.norm(group.weighted_sum(moment)) / np.linalg.norm(group.aggregate))


def _least_length(evidence: Evidence) -> Values:
    """|x~_a| over sqrt(mu) n_+- X_min/2 on [t_1, t_2^+-], by Lemma 11."""
    for group, moment in growing_moments(evidence):
        speed = data_constants(evidence).speed(group.sign)
        yield 2.0 * float(np.linalg.norm(group.weighted_sum(moment))) / speed


EQ_40 = Theorem(
    "min2024:eq40",
    Reference("min2024", "Eq. (40)"),
    r"On $[t_1, t_2^\pm]$, $1/2 \le |g_i| \le 3/2$, so $\cos(x_\pm, \tilde x_a) \ge 1/3$ and "
    r"$|\tilde x_a| \ge |x_\pm|/2 \ge \sqrt{\mu} n_\pm X_{\min}/2$.",
    hypotheses=(*REGIME, BOTH_CONES),
    conclusions=(
        Conclusion(
            "forces",
            "distance of $|g_i|$ from 1",
            AtMost(
                _forces_are_near_one,
                0.5,
                words="$|g_i|$ stays within {measured:.6g} of 1, allowed 1/2",
                without="no snapshot in $[t_1, t_2]$",
            ),
        ),
        Conclusion(
            "cosine",
            r"smallest $\cos(x_\pm, \tilde x_a)$",
            AtLeast(_weighted_cosine, 1.0 / 3.0, without="no snapshot in $[t_1, t_2]$"),
        ),
        Conclusion(
            "length",
            r"$|\tilde x_a|$ over $|x_\pm|/2$",
            AtLeast(
                _weighted_length,
                1.0,
                words=r"smallest $|\tilde x_a|$ over $|x_\pm|/2$ is {measured:.6g}",
                without="no snapshot in $[t_1, t_2]$",
            ),
        ),
        Conclusion(
            "aggregate",
            r"$|\tilde x_a|$ over $\sqrt{\mu}\, n_\pm X_{\min}/2$",
            AtLeast(
                _least_length,
                1.0,
                words=r"smallest $|\tilde x_a|$ over its bound is {measured:.6g}",
                without="no snapshot in $[t_1, t_2]$",
            ),
        ),
    ),
    constants=alignment_constants,
    predictions=fit_predictions,
    plan=whole_plan,
    log_scale=ScaledDownTo(log_bound),
    setting=SETTING,
    example=EXAMPLE,
    erratum="The closing paragraph prints 1/2 for 1/3 once.",
)


def _turning_inequality(evidence: Evidence) -> Values:
    """(37) wherever cos <= 1/3, as a difference over sqrt(mu) n_+- X_min/2; elsewhere nothing is claimed (E10).

    Neurons are also tried at directions of their cone with a small cosine, where the inequality bites.
    """
    for group, moment in growing_moments(evidence):
        half, pull = 0.5 * data_constants(evidence).speed(group.sign), group.weighted_sum(moment)
        directions = np.vstack([moment.directions[group.neurons], _wide_directions(evidence, group)])
        cosines = directions @ group.unit
        chosen = cosines <= 1.0 / 3.0
        speeds = (pull @ group.unit - (directions @ pull) * cosines)[chosen]
        yield speeds / half - (1.0 / 3.0 - cosines[chosen])


def _wide_directions(evidence: Evidence, group: Group) -> FloatArray:
    """Directions of S_+- far from the aggregate: drawn ones whose cosine is at most 1/2."""
    data, rng = data_constants(evidence), np.random.default_rng(37)
    pool = rng.standard_normal((400, data.X.shape[1]))
    pool /= np.linalg.norm(pool, axis=1, keepdims=True)
    inside = np.all((pool @ data.X.T > 0.0) == group.own, axis=1)
    return np.asarray(pool[inside & (pool @ group.aggregate <= 0.5 * np.linalg.norm(group.aggregate))])


def _quarter_speed(evidence: Evidence) -> Values:
    """At cos = 1/4, (37) gives sqrt(mu) n_+- X_min/24; tried on directions of that cosine in the span."""
    for group, moment in growing_moments(evidence):
        pull, unit = group.weighted_sum(moment), group.unit
        across = np.linalg.norm(pull - (pull @ unit) * unit)
        slowest = (1.0 - 1.0 / 16.0) * (pull @ unit) - 0.25 * math.sqrt(15.0 / 16.0) * across
        yield slowest / (data_constants(evidence).speed(group.sign) / 24.0)


EQ_37 = Theorem(
    "min2024:eq37",
    Reference("min2024", "Eq. (37)"),
    r"On $[t_1, t_2^\pm] d/dt\,\cos(x_\pm, w_j) \ge (1/3 - \cos) \sqrt{\mu} n_\pm X_{\min}/2$ wherever $\cos \le 1/3$.",
    hypotheses=(*REGIME, BOTH_CONES),
    conclusions=(
        Conclusion(
            "turning",
            r"difference of the two sides, over $\sqrt{\mu} n_\pm X_{\min}/2$",
            AtLeast(
                _turning_inequality,
                0.0,
                words=r"smallest difference {measured:.6g} over {count} directions with $\cos \le 1/3$",
                empty="no direction of the cone has a cosine below 1/3 with the aggregate",
            ),
        ),
        Conclusion(
            "quarter",
            r"at $\cos = 1/4$ the speed is at least $\sqrt{\mu} n_\pm X_{\min}/24$",
            AtLeast(
                _quarter_speed,
                1.0,
                words=r"slowest turn at $\cos = 1/4$ over its bound is {measured:.6g}",
                without="no snapshot in $[t_1, t_2]$",
            ),
        ),
    ),
    constants=alignment_constants,
    predictions=fit_predictions,
    plan=whole_plan,
    log_scale=ScaledDownTo(log_bound),
    setting=SETTING,
    example=EXAMPLE,
    erratum=r"E10: valid only for $\cos \le 1/3$.",
)


def _ready(evidence: Evidence) -> Iterator[tuple[Group, Moment]]:
    """Every group with every snapshot on its [t_1', t_2^+-], t_1' = t_1 + 6/(sqrt(mu) n_+- X_min)."""
    data, t_1 = data_constants(evidence), proof_constants(evidence).t_1
    return ((g, moment) for g, moment in growing_moments(evidence) if moment.time >= t_1 + 6.0 / data.speed(g.sign))


def _aligned_growth(evidence: Evidence) -> Values:
    """cos(x_+-, w_j) on [t_1', t_2^+-]."""
    for group, moment in _ready(evidence):
        yield moment.directions[group.neurons] @ group.aggregate / np.linalg.norm(group.aggregate)


COSINE_QUARTER = Theorem(
    "min2024:cosine-quarter",
    Reference("min2024", "App. D.2, after Eq. (37)"),
    r"$\cos(x_\pm, w_j) \ge 1/4$ from $t_1 + 6/(\sqrt{\mu} n_\pm X_{\min})$ until $t_2^\pm$.",
    hypotheses=(*REGIME, BOTH_CONES),
    conclusions=(
        Conclusion("cosine", "smallest cosine", AtLeast(_aligned_growth, 0.25, without="no snapshot in $[t_1', t_2]$")),
    ),
    constants=alignment_constants,
    predictions=fit_predictions,
    plan=whole_plan,
    log_scale=ScaledDownTo(log_bound),
    setting=SETTING,
    example=EXAMPLE,
)


def _growth_rate(evidence: Evidence) -> Values:
    """d/dt |w_j|^2 over (sqrt(mu) n_+- X_min/4)|w_j|^2 on [t_1', t_2^+-]."""
    for group, moment in _ready(evidence):
        yield 2.0 * moment.growth[group.neurons] / (0.25 * data_constants(evidence).speed(group.sign))


def _log_norm_before_fit(evidence: Evidence) -> float:
    data = data_constants(evidence)
    return -math.log(math.sqrt(data.mu) * data.smallest_norm)


def _norm_before_fit(evidence: Evidence) -> Values:
    """Until t_2^+- the group's sum of |w_j|^2 is at most 1/(sqrt(mu) X_min)."""
    return (group.log_norm_square(moment) for group in groups(evidence) for moment in group.growing[-1:])


NORM_GROWTH = Theorem(
    "min2024:norm-growth",
    Reference("min2024", "App. D.2, before Eq. (39)"),
    r"On $[t_1', t_2^\pm]$, $d/dt |w_j|^2 \ge (\sqrt{\mu} n_\pm X_{\min}/4)|w_j|^2$; at $t_2^\pm$ they sum to at "
    r"most $1/(\sqrt{\mu} X_{\min})$.",
    hypotheses=(*REGIME, BOTH_CONES),
    conclusions=(
        Conclusion(
            "rate",
            "growth rate over its bound",
            AtLeast(
                _growth_rate,
                1.0,
                words="smallest growth rate over its bound is {measured:.6g}",
                without="no snapshot in $[t_1', t_2]$",
            ),
        ),
        Conclusion(
            "sum",
            "logarithm of the sum of $|w_j|^2$ before $t_2$",
            AtMost(
                _norm_before_fit,
                _log_norm_before_fit,
                words="log of the sum {measured:.6g}",
                without="no snapshot in $[t_1, t_2]$",
            ),
        ),
    ),
    constants=alignment_constants,
    predictions=fit_predictions,
    plan=whole_plan,
    log_scale=ScaledDownTo(log_bound),
    setting=SETTING,
    example=EXAMPLE,
)
