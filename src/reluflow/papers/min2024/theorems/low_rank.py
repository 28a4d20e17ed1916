"""The low rank of Appendix D.3 and the limit of the stable rank [min2024]."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.one_class import OneClassVectors
from reluflow.papers.min2024.paper import SETTING, SPATIAL
from reluflow.papers.min2024.theorems.class_groups import dead_neurons, groups
from reluflow.papers.min2024.theorems.constants import (
    alignment_and_rate_constants,
    data_constants,
    log_bound,
    proof_constants,
)
from reluflow.papers.min2024.theorems.fitting import fitted_moments, frobenius_square
from reluflow.papers.min2024.theorems.landmarks import landmarks, whole_plan
from reluflow.papers.min2024.theorems.moving_neurons import Moment, moments, moments_from
from reluflow.papers.min2024.theorems.shared_hypotheses import BOTH_CONES, FLOW, REGIME
from reluflow.theory.comparison import (
    Comparison,
    Level,
    Source,
    Values,
    at_most,
    fitted_slope,
    nothing,
    require,
    requires,
    worst_compared,
)
from reluflow.theory.elsewhere import part
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.measures import AtLeast, AtMost, Constants, ScaledDownTo
from reluflow.theory.theorem import Conclusion, Reference, Theorem

LATE_LOG_TIMES = (2.0, 7.0, 20.0, 60.0, 180.0, 600.0)  # log t at which the stable rank is read
SLOWEST_EXPONENT = -0.25  # of the gap in log t: -1 where support samples span their class, else -1/2; -0.38 was seen
LARGEST_EXPONENT = 700.0  # e^700 still is a double; a bound above it is as good as that
KEPT = 1e-9  # error of the integration, relative; 6e-16 was measured
RANK_ROUNDING = 1e-28  # a matrix of rank one is stored with a relative rest of (1e-15)^2
ROUNDING = 1e-9  # gaps below this are rounding: with classes of equal margins there is none to close
PLANE = "in the plane every stable rank is at most 2"


def stable_rank(w: FloatArray) -> float:
    """|W|_F^2/|W|_2^2.

    >>> stable_rank(np.diag([1.0, 1.0]))
    2.0
    """
    singular = np.linalg.svd(w, compute_uv=False)
    return float(np.sum((singular / singular[0]) ** 2))


def low_rank(evidence: Evidence) -> Comparison:
    """(|W|_F^2 - 2|W|_2^2)/|W|_2^2 against 4 sqrt(m) eps W_max^2/|W|_2^2, at every snapshot from t_1 on."""
    if evidence.dataset.d < 3:
        return nothing(PLANE)
    found = require(moments_from(evidence, proof_constants(evidence).t_1), "no snapshot after $t_1$")
    worst = max(stable_rank(moment.network.w) - 2.0 - _allowance(evidence, moment) for moment in found)
    return at_most(
        worst, 0.0, detail=rf"stable rank exceeds $2 + 4 \sqrt{{m}} \varepsilon W_{{\max}}^2/\|W\|_2^2$ by {worst:.6g}"
    )


def _allowance(evidence: Evidence, moment: Moment) -> float:
    constants, m = proof_constants(evidence), evidence.network.num_neurons
    spectral = 2.0 * (math.log(float(np.linalg.norm(moment.network.w, 2))) + moment.network.log_scale)
    log_ratio = math.log(4.0 * math.sqrt(m)) + constants.log_scale + 2.0 * constants.log_largest_start - spectral
    return math.exp(min(log_ratio, LARGEST_EXPONENT))


def ranks_in_space(evidence: Evidence, *, from_last: bool) -> Comparison:
    """The largest stable rank at the snapshots, or that at the last; at most 2, as Theorem 1 says of the limit."""
    if evidence.dataset.d < 3:
        return nothing(PLANE)
    chosen = moments(evidence)[-1:] if from_last else moments(evidence)
    return at_most(max(stable_rank(moment.network.w) for moment in chosen), 2.0)


# Appendix D.3 ---------------------------------------------------------------------------------------------------------


def _invariant_is_kept(evidence: Evidence) -> Values:
    """Change of W_+^T W_+ - a_+ a_+^T after t_1, over the size of W_+^T W_+: conserved, so rounding alone.

    In units of the group's own largest weight: beside a class that has fitted its squares leave the doubles.
    """
    for group in groups(evidence):
        first: tuple[FloatArray, float] | None = None
        for moment in group.moments:
            if not np.all(moment.seen[group.neurons]):
                continue
            w, a = moment.network.w[group.neurons], moment.network.a[group.neurons]
            unit = float(np.max(np.abs(w)))
            w, a, log_unit = w / unit, a / unit, math.log(unit) + moment.network.log_scale
            gram = w @ w.T - np.outer(a, a)
            first = first or (gram, log_unit)
            before = first[0] * math.exp(2.0 * (first[1] - log_unit))
            yield float(np.max(np.abs(gram - before))) / float(np.sum(w**2))


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
        return nothing("no neuron in that cone at $t_1$: both sides are 0")
    log_bound, excesses = _log_group_bound(evidence, int(np.sum(group.neurons))), []
    for moment in group.moments:
        if not np.all(moment.seen[group.neurons]):
            continue  # beside the fitted class, the other one is below the doubles of the snapshot
        singular = np.linalg.svd(moment.network.w[group.neurons], compute_uv=False)
        log_spectral = 2.0 * (math.log(float(singular[0])) + moment.network.log_scale)
        rest = float(np.sum((singular[1:] / singular[0]) ** 2))
        excesses.append(rest - math.exp(min(log_bound - log_spectral, LARGEST_EXPONENT)))
    words = (
        r"the rest of the spectrum exceeds its bound by {measured:.3g} of $\|W\|_2^2$ "
        f"(rounding leaves {RANK_ROUNDING:g})"
    )
    without = "no snapshot after $t_1$ that holds the whole group"
    return worst_compared(
        excesses, "at_most", 0.0, allowance=RANK_ROUNDING, words=words, without=without, evidence=evidence
    )


def _dead_norm(evidence: Evidence) -> Comparison:
    """(43): log |W_dead|_F^2 against log(4 eps W_max^2 |V~_dead|/sqrt(m))."""
    dead = dead_neurons(evidence)
    if not np.any(dead):
        return nothing("no neuron is dead at $t_1$: both sides are 0")
    bound = _log_group_bound(evidence, int(np.sum(dead)))
    found = moments_from(evidence, proof_constants(evidence).t_1)
    largest = max(float(np.logaddexp.reduce(2.0 * moment.log_norms[dead])) for moment in found)
    return at_most(
        largest,
        bound,
        detail=rf"$\log\|W_{{\mathrm{{dead}}}}\|_F^2$ = {largest:.6g} for {int(np.sum(dead))} dead neurons",
    )


@requires(fitted_moments, "three snapshots after $t_2$", at_least=3)
def _norm_diverges(evidence: Evidence, found: tuple[Moment, ...]) -> Comparison:
    """Smallest rise of |W|_F^2 between snapshots after t_2: it never stops growing."""
    sizes = [frobenius_square(m) for m in found]
    words = rf"$\|W\|_F^2$ rises from {sizes[0]:.6g} to {sizes[-1]:.6g}; smallest rise {{measured:.3g}}"
    return worst_compared((b - a for a, b in pairwise(sizes)), "at_least", 0.0, words=words)


APP_D_3 = Theorem(
    "min2024:appD.3",
    Reference("min2024", "App. D.3, Eqs. (41)-(43)"),
    r"From $t_1$ on $W_+^\top W_+ - a_+ a_+^\top$ is constant and of norm at most "
    r"$4 \varepsilon W_{\max}^2 |\tilde V_+|/\sqrt{m}$, so $W_+$ and $W_-$ are nearly of rank one, "
    r"$W_{\mathrm{dead}}$ is small, and $\|W\|_F^2 \le 2\|W\|_2^2 + 4 \sqrt{m} \varepsilon W_{\max}^2$.",
    hypotheses=(*REGIME, BOTH_CONES),
    conclusions=(
        Conclusion(
            "invariant",
            r"$W_\pm^\top W_\pm - a a^\top$ does not change",
            AtMost(
                _invariant_is_kept,
                KEPT,
                words=r"largest change over $\|W_\pm\|_F^2$ is {measured:.3g}, allowed {bound:g}",
                without="no snapshot after $t_1$ in the range of doubles",
            ),
            Level.EXACT,
        ),
        Conclusion(
            "invariant-size",
            "log of its bound minus log of its norm",
            AtLeast(
                _invariant_is_small,
                0.0,
                words="log of the bound minus log of the norm is {measured:.6g}",
                without="no neuron in its cone at $t_1$",
            ),
        ),
        Conclusion("eq41", r"log of the bound minus log of $\|W_+\|_F^2 - \|W_+\|_2^2$", partial(_group_rank, sign=1)),
        Conclusion("eq42", "the same for $W_-$", partial(_group_rank, sign=-1)),
        Conclusion("eq43", r"$\log\|W_{\mathrm{dead}}\|_F^2$ against its bound", _dead_norm),
        Conclusion("sum", "stable rank against 2 plus the allowance", low_rank),
        Conclusion("norm", r"$\|W\|_F$ grows after $t_2$", _norm_diverges),
    ),
    constants=alignment_and_rate_constants,
    plan=whole_plan,
    log_scale=ScaledDownTo(log_bound),
    setting=SETTING,
    example=SPATIAL,
    erratum="E9: the limit of the stable rank is printed as equal to 2; it is at most 2.",
)

EQ_41 = part("min2024:eq41", "Eq. (41)", APP_D_3, "the conclusion eq41 of Appendix D.3")
EQ_42 = part("min2024:eq42", "Eq. (42)", APP_D_3, "the conclusion eq42 of Appendix D.3")
EQ_43 = part("min2024:eq43", "Eq. (43)", APP_D_3, "the conclusion eq43 of Appendix D.3")


# The limit of the stable rank -----------------------------------------------------------------------------------------


def stable_rank_limit(vectors: OneClassVectors) -> float:
    """The limit of the stable rank: 2(p + q)/(p + q + sqrt((p - q)^2 + 4 p q c^2)), p, q = 1/margin of each class."""
    if vectors.positive is None or vectors.negative is None:
        return 1.0
    p, q = vectors.positive.norm, vectors.negative.norm
    cosine = float(vectors.positive.w @ vectors.negative.w) / (p * q)
    return 2.0 * (p + q) / (p + q + math.sqrt((p - q) ** 2 + 4.0 * p * q * cosine**2))


def _stable_rank_predictions(evidence: Evidence) -> Constants:
    bound = 2.0 / (1.0 + data_constants(evidence).mu)
    return {"stable_rank_limit": stable_rank_limit(evidence.facts.one_class), "stable_rank_bound": bound}


def _late_plan(evidence: Evidence) -> FlowPlan:
    return FlowPlan(times=tuple(landmarks(evidence).last_fitted + math.exp(log_time) for log_time in LATE_LOG_TIMES))


def _class_vectors(evidence: Evidence) -> OneClassVectors:
    """The max-margin direction of each class, which gives the limit."""
    return evidence.facts.one_class


def _limit_below_bound(evidence: Evidence) -> Comparison:
    return at_most(
        stable_rank_limit(evidence.recorded(OneClassVectors)),
        2.0 / (1.0 + data_constants(evidence).mu),
        allowance=1e-12,
    )


def _approach(evidence: Evidence) -> Comparison:
    """Exponent of |stable rank - limit| in log t; or the gap is below rounding from the start.

    A neuron's part off the span of the support samples of its class is frozen once the class is fitted, while |w| grows
    like sqrt(log t): where there is such a part the gap falls like 1/sqrt(log t), elsewhere like 1/log t.
    """
    limit = stable_rank_limit(evidence.recorded(OneClassVectors))
    late = [moment for moment in moments(evidence) if moment.time > math.exp(LATE_LOG_TIMES[1])]
    require(len(late) >= 3, "three snapshots after $t = e^7$")
    gaps = np.array([abs(stable_rank(moment.network.w) - limit) for moment in late])
    words = f"gap {gaps[0]:.3g} at $t$ = {late[0].time:.3g}, {gaps[-1]:.3g} at $t$ = {late[-1].time:.3g}"
    if np.all(gaps <= ROUNDING):
        return at_most(float(np.max(gaps)), ROUNDING, detail=f"{words}: equal to rounding throughout")
    exponent = fitted_slope(np.log([math.log(m.time) for m in late]), np.log(np.maximum(gaps, 1e-300)))
    return at_most(exponent, SLOWEST_EXPONENT, detail=rf"{words}: falls like $\log t$ to the power {exponent:.4g}")


STABLE_RANK = Theorem(
    "min2024:stable-rank",
    Reference("min2024", "App. D.3, limit"),
    r"The stable rank of $W$ tends to $2(p + q)/(p + q + \sqrt{(p - q)^2 + 4 p q c^2}) \le 2/(1 + \mu)$, with $p$, "
    r"$q$ the inverse margins of the classes and $c$ the cosine of their max-margin directions.",
    hypotheses=(*FLOW, BOTH_CONES),
    conclusions=(
        Conclusion("bound", r"the predicted limit is at most $2/(1 + \mu)$", _limit_below_bound),
        Conclusion(
            "approach",
            r"the distance to it falls, like $1/\log t$ or $1/\sqrt{\log t}$",
            _approach,
            Level.SCALING,
            is_asymptotic=True,
        ),
        Conclusion("ranks", "the stable rank at late times", partial(ranks_in_space, from_last=False)),
    ),
    predictions=_stable_rank_predictions,
    plan=_late_plan,
    record=_class_vectors,
    setting=SETTING,
    example=SPATIAL,
    erratum="E9: printed as a limit equal to 2.",
    source=Source.RELUFLOW,
    departs="Not in the paper: the limit follows from the max-margin direction of each class.",
)
