"""From t_2 on: Lemma 15, the 1/t rate, the low rank of Appendix D.3 and the limit of the stable rank [min2024]."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.theory.comparison import (
    Comparison,
    Values,
    at_least,
    at_most,
    fitted_slope,
    nothing,
    require,
    requires,
    worst_compared,
)
from reluflow.theory.evidence import Evidence
from reluflow.theory.facts import DatasetFacts
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.measures import Constants
from reluflow.theory.min2024.assumptions import both_cones_held
from reluflow.theory.min2024.constants import data_constants, proof_constants
from reluflow.theory.min2024.growth import dead_neurons, groups
from reluflow.theory.min2024.landmarks import landmarks, last_fitted_time
from reluflow.theory.min2024.moving_neurons import Moment, moments, moments_from

LN2 = math.log(2.0)
LATE_LOG_TIMES = (2.0, 7.0, 20.0, 60.0, 180.0, 600.0)  # log t at which the stable rank is read
SLOWEST_EXPONENT = -0.25  # of the gap in log t: -1 where support samples span their class, else -1/2; -0.38 was seen
LARGEST_EXPONENT = 700.0  # e^700 still is a double; a bound above it is as good as that
KEPT = 1e-9  # error of the integration, relative; 6e-16 was measured
RANK_ROUNDING = 1e-28  # a matrix of rank one is stored with a relative rest of (1e-15)^2
ROUNDING = 1e-9  # gaps below this are rounding: with classes of equal margins there is none to close
PLANE = "in the plane every stable rank is at most 2"


def best_factor(evidence: Evidence) -> float:
    """The largest factor for which Lemma 15's proof works: 1 for exponential, 1/(4 ln^2 2) for twice logistic."""
    return 1.0 if evidence.loss.name == "exponential" else 1.0 / (4.0 * LN2**2)


def _linear_decrease(evidence: Evidence, factor: float | None = None) -> Comparison:
    """|grad L|^2 over factor |a|^2 L^2 rho^2 at the snapshots where every sample is classified; None is the best."""
    margin, factor = (
        require(evidence.facts.separator, "the max-margin separator").margin,
        factor or best_factor(evidence),
    )
    ratios = []
    for moment in moments(evidence):
        if np.all(moment.data.y * moment.network.shape_outputs(moment.data.X) >= 0.0):
            output_square = float(np.sum((moment.network.a / moment.gauge) ** 2))
            ratios.append(moment.gauged_gradient_square / (output_square * moment.loss_value**2 * margin**2) / factor)
    words = f"smallest -dL/dt over its bound is {{measured:.6g}} in {{count}} snapshots, rho = {margin:.6g}"
    without = "no snapshot with every y_i f_i >= 0"
    return worst_compared(ratios, "at_least", 1.0, words=words, without=without, allowance=1e-12)


def _linear_plan(evidence: Evidence) -> FlowPlan:
    return FlowPlan(times=(0.0, *np.linspace(1.0, 12.0, 12), *np.geomspace(20.0, 2000.0, 6)))


def _fitted_moments(evidence: Evidence) -> tuple[Moment, ...]:
    fitted = last_fitted_time(evidence)
    return () if fitted is None else moments_from(evidence, fitted)


def _slope_of_loss(evidence: Evidence, factor: float | None = None) -> Values:
    """|grad L|^2/(factor alpha_rate L^2) >= 1 from t_2 on; None is four times the best factor of Lemma 15."""
    rate = (4.0 * best_factor(evidence) if factor is None else factor) * proof_constants(evidence).rate
    for moment in _fitted_moments(evidence):
        gradient_square = (moment.gauge * math.exp(moment.network.log_scale)) ** 2 * moment.gauged_gradient_square
        yield gradient_square / moment.loss_value**2 / rate


@requires(_fitted_moments, "two snapshots after t_2", at_least=2)
def loss_under_curve(evidence: Evidence, found: tuple[Moment, ...]) -> Comparison:
    """L(t) (L(s) alpha (t - s) + 1)/L(s) <= 1 for all snapshots t >= s >= t_2, s the first of them."""
    first, rate = found[0], proof_constants(evidence).rate
    ratios = [
        m.loss_value * (first.loss_value * rate * (m.time - first.time) + 1.0) / first.loss_value for m in found[1:]
    ]
    words = f"largest L(t) over its bound is {max(ratios):.6g} up to {found[-1].time - first.time:.6g} after t_2"
    return at_most(max(ratios), 1.0, detail=words)


def stable_rank(w: FloatArray) -> float:
    """|W|_F^2/|W|_2^2.

    >>> stable_rank(np.diag([1.0, 1.0]))
    2.0
    """
    singular = np.linalg.svd(w, compute_uv=False)
    return float(np.sum((singular / singular[0]) ** 2))


@requires(_fitted_moments, "two snapshots after t_2", at_least=2)
def norm_over_curve(evidence: Evidence, found: tuple[Moment, ...]) -> Comparison:
    """|W|_F^2 - log(n/curve(t))/X_max at the snapshots from t_2 on, curve the bound on the loss.

    |f(x)| <= |W|_F^2 |x| for a balanced network, so L >= n exp(-X_max |W|_F^2) and the norm grows with log t.
    """
    data = data_constants(evidence)
    first, rate = found[0], proof_constants(evidence).rate
    room = []
    for moment in found[1:]:
        log_curve = -math.log(rate * (moment.time - first.time) + 1.0 / first.loss_value)
        room.append(_frobenius(moment) - (math.log(data.n) - log_curve) / data.largest_norm)
    words = f"|W|_F^2 = {_frobenius(found[-1]):.6g} at the end, at least {min(room):.6g} above its growing bound"
    return at_least(min(room), 0.0, detail=words)


def _frobenius(moment: Moment) -> float:
    return float(np.sum(moment.network.w**2)) * math.exp(2.0 * moment.network.log_scale)


def with_both_cones(measure: Callable[[Evidence], Comparison]) -> Callable[[Evidence], Comparison]:
    """The second part of Theorem 1 speaks only of runs in which the cone of each class present holds a neuron."""

    def guarded(evidence: Evidence) -> Comparison:
        judged = both_cones_held(evidence)
        return measure(evidence) if judged.holds else nothing(f"a cone holds no neuron: {judged.detail}")

    return guarded


def low_rank(evidence: Evidence) -> Comparison:
    """(|W|_F^2 - 2|W|_2^2)/|W|_2^2 against 4 sqrt(m) eps W_max^2/|W|_2^2, at every snapshot from t_1 on."""
    if evidence.dataset.d < 3:
        return nothing(PLANE)
    found = require(moments_from(evidence, proof_constants(evidence).t_1), "no snapshot after t_1")
    worst = max(stable_rank(moment.network.w) - 2.0 - _allowance(evidence, moment) for moment in found)
    return at_most(worst, 0.0, detail=f"stable rank exceeds 2 + 4 sqrt(m) eps W_max^2/|W|_2^2 by {worst:.6g}")


def _allowance(evidence: Evidence, moment: Moment) -> float:
    constants, m = proof_constants(evidence), evidence.network.num_neurons
    spectral = 2.0 * (math.log(float(np.linalg.norm(moment.network.w, 2))) + moment.network.log_scale)
    log_ratio = math.log(4.0 * math.sqrt(m)) + constants.log_scale + 2.0 * constants.log_largest_start - spectral
    return math.exp(min(log_ratio, LARGEST_EXPONENT))


def _invariant_is_kept(evidence: Evidence) -> Values:
    """Change of W_+^T W_+ - a_+ a_+^T after t_1, over the size of W_+^T W_+: conserved, so rounding alone."""
    for group in groups(evidence):
        first = None
        for moment in group.moments:
            w, a = moment.network.w[group.neurons], moment.network.a[group.neurons]
            square = math.exp(2.0 * moment.network.log_scale)
            gram, size = (w @ w.T - np.outer(a, a)) * square, float(np.sum(w**2)) * square
            first = gram if first is None else first
            if size > 0.0:
                yield float(np.max(np.abs(gram - first))) / size


def _invariant_is_small(evidence: Evidence) -> Values:
    """log of the spectral norm of the invariant at t_1 against log(4 eps W_max^2 |V~|/sqrt(m))."""
    for group in groups(evidence):
        network = group.moments[0].network
        w, a = network.w[group.neurons], network.a[group.neurons]
        norm = max(float(np.linalg.norm(w @ w.T - np.outer(a, a), 2)), float(np.finfo(float).tiny))
        bound = _log_group_bound(evidence, int(np.sum(group.neurons)))
        yield bound - math.log(norm) - 2.0 * network.log_scale


def _log_group_bound(evidence: Evidence, size: int) -> float:
    """log(4 eps W_max^2 size/sqrt(m))."""
    constants, m = proof_constants(evidence), evidence.network.num_neurons
    return math.log(4.0 * size / math.sqrt(m)) + constants.log_scale + 2.0 * constants.log_largest_start


def _group_rank(evidence: Evidence, sign: int) -> Comparison:
    """(41), (42): largest |W_+-|_F^2 - |W_+-|_2^2 - 4 eps W_max^2 |V~|/sqrt(m), over |W_+-|_2^2."""
    group = next((g for g in groups(evidence) if g.sign == sign), None)
    if group is None:
        return nothing("no neuron in that cone at t_1: both sides are 0")
    log_bound, worst = _log_group_bound(evidence, int(np.sum(group.neurons))), -math.inf
    for moment in group.moments:
        if not np.all(moment.seen[group.neurons]):
            continue  # beside the fitted class, the other one is below the doubles of the snapshot
        singular = np.linalg.svd(moment.network.w[group.neurons], compute_uv=False)
        log_spectral = 2.0 * (math.log(float(singular[0])) + moment.network.log_scale)
        rest = float(np.sum((singular[1:] / singular[0]) ** 2))
        worst = max(worst, rest - math.exp(min(log_bound - log_spectral, LARGEST_EXPONENT)))
    require(not math.isinf(worst), "no snapshot after t_1 that holds the whole group")
    words = f"the rest of the spectrum exceeds its bound by {worst:.3g} of |W|_2^2 (rounding leaves {RANK_ROUNDING:g})"
    return at_most(worst, 0.0, allowance=RANK_ROUNDING, detail=words)


def _dead_norm(evidence: Evidence) -> Comparison:
    """(43): log |W_dead|_F^2 against log(4 eps W_max^2 |V~_dead|/sqrt(m))."""
    dead = dead_neurons(evidence)
    if not np.any(dead):
        return nothing("no neuron is dead at t_1: both sides are 0")
    bound = _log_group_bound(evidence, int(np.sum(dead)))
    found = moments_from(evidence, proof_constants(evidence).t_1)
    largest = max(float(np.logaddexp.reduce(2.0 * moment.log_norms[dead])) for moment in found)
    return at_most(largest, bound, detail=f"log |W_dead|_F^2 = {largest:.6g} for {int(np.sum(dead))} dead neurons")


@requires(_fitted_moments, "three snapshots after t_2", at_least=3)
def _norm_diverges(evidence: Evidence, found: tuple[Moment, ...]) -> Comparison:
    """Smallest rise of |W|_F^2 between snapshots after t_2: it never stops growing."""
    sizes = [_frobenius(m) for m in found]
    words = f"|W|_F^2 rises from {sizes[0]:.6g} to {sizes[-1]:.6g}; smallest rise {{measured:.3g}}"
    return worst_compared((b - a for a, b in pairwise(sizes)), "at_least", 0.0, words=words)


def stable_rank_limit(facts: DatasetFacts) -> float:
    """The limit of the stable rank: 2(p + q)/(p + q + sqrt((p - q)^2 + 4 p q c^2)), p, q = 1/margin of each class."""
    vectors = facts.one_class
    if vectors.positive is None or vectors.negative is None:
        return 1.0
    p, q = vectors.positive.norm, vectors.negative.norm
    cosine = float(vectors.positive.w @ vectors.negative.w) / (p * q)
    return 2.0 * (p + q) / (p + q + math.sqrt((p - q) ** 2 + 4.0 * p * q * cosine**2))


def _stable_rank_predictions(evidence: Evidence) -> Constants:
    bound = 2.0 / (1.0 + data_constants(evidence).mu)
    return {"stable_rank_limit": stable_rank_limit(evidence.facts), "stable_rank_bound": bound}


def _late_plan(evidence: Evidence) -> FlowPlan:
    return FlowPlan(times=tuple(landmarks(evidence).last_fitted + math.exp(log_time) for log_time in LATE_LOG_TIMES))


def _limit_below_bound(evidence: Evidence) -> Comparison:
    return at_most(stable_rank_limit(evidence.facts), 2.0 / (1.0 + data_constants(evidence).mu), allowance=1e-12)


def _approach(evidence: Evidence) -> Comparison:
    """Exponent of |stable rank - limit| in log t; or the gap is below rounding from the start.

    A neuron's part off the span of the support samples of its class is frozen once the class is fitted, while |w| grows
    like sqrt(log t): where there is such a part the gap falls like 1/sqrt(log t), elsewhere like 1/log t.
    """
    limit = stable_rank_limit(evidence.facts)
    late = [moment for moment in moments(evidence) if moment.time > math.exp(LATE_LOG_TIMES[1])]
    require(len(late) >= 3, "three snapshots after t = e^7")
    gaps = np.array([abs(stable_rank(moment.network.w) - limit) for moment in late])
    words = f"gap {gaps[0]:.3g} at t = {late[0].time:.3g}, {gaps[-1]:.3g} at t = {late[-1].time:.3g}"
    if np.all(gaps <= ROUNDING):
        return at_most(float(np.max(gaps)), ROUNDING, detail=f"{words}: equal to rounding throughout")
    exponent = fitted_slope(np.log([math.log(m.time) for m in late]), np.log(np.maximum(gaps, 1e-300)))
    return at_most(exponent, SLOWEST_EXPONENT, detail=f"{words}: falls like (log t)^{exponent:.4g}")


def ranks_in_space(evidence: Evidence, *, from_last: bool) -> Comparison:
    """The largest stable rank at the snapshots, or that at the last; at most 2, as Theorem 1 says of the limit."""
    if evidence.dataset.d < 3:
        return nothing(PLANE)
    chosen = moments(evidence)[-1:] if from_last else moments(evidence)
    return at_most(max(stable_rank(moment.network.w) for moment in chosen), 2.0)
