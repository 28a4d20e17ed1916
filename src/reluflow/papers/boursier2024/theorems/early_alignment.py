"""Theorems 1 and 3: small networks align their neurons with extremal vectors before they grow [boursier2024]."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np

from reluflow.arrays import BoolArray
from reluflow.geometry.boundary.decision import Ridge
from reluflow.geometry.thresholds import AlignmentConstants
from reluflow.papers.boursier2024.assumptions import GENERAL_POSITION, NO_DEAD_SADDLE, NO_SADDLE, SMOOTH_LOSS
from reluflow.papers.boursier2024.paper import SETTING, THREE_POINTS
from reluflow.papers.boursier2024.theorems.alignment_regime import (
    ALPHA_0,
    EPS,
    NONZERO,
    POSITIVE_CONSTANTS,
    SETTLED,
    SETTLED_WITH_SADDLES,
    SMALL_SCALE,
    alignment_numbers,
    alignment_plan,
    alpha_of,
    bring_to,
    constants_of,
    log_lambda_star,
    met_at_start,
    on_run,
    reaches_tau,
    settled_before_tau,
    settling_time,
    start_of,
    states_of,
    tau_of,
)
from reluflow.papers.boursier2024.theorems.neuron_states import log_lambda
from reluflow.theory.comparison import (
    Comparison,
    Level,
    Source,
    at_least,
    at_most,
    fitted_slope,
    none_of,
    nothing,
    require,
)
from reluflow.theory.condition import DataHypotheses
from reluflow.theory.elsewhere import definition
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.hypotheses import DOMINATED, assumed
from reluflow.theory.measures import Constants, Quantities
from reluflow.theory.theorem import Conclusion, Reference, Theorem

ROUNDING = 1e-12  # relative; |w|/|a| - 1 and <w/a, D>/|D| - 1 of recorded runs exceed 0 by at most 5e-16
RESOLUTION = 4e-15  # of |D|: gaps below are rounding of |w|/|a|; a smaller bound is read as this one
PREDICTED_GAPS = np.geomspace(1e-4, 1e-11, 5)  # predicted relative gaps of the longest extremal vector over the scales
MEASURABLE_GAPS = (1e-13, 1e-2)  # relative gaps a double resolves, and those the exponential law has reached


def log_c_with_saddles(constants: AlignmentConstants) -> float:
    """ln of the constant of Eq. (40) in front of the alignment error of Theorem 3."""
    exponent = 0.5 * constants.t2_bound(1.0) * constants.d_max
    first = math.log(constants.d_max) + exponent + math.sqrt(2.0 * constants.mean_square / constants.d_max) / math.e
    return float(np.logaddexp(first, 0.5 * math.log(2.0 * constants.d_max * constants.mean_square)))


EQ_40 = definition("boursier2024:eq40", "Eq. (40)", log_c_with_saddles, r"$\ln c$ of Theorem 3's gap")

# Theorem 1, Theorem 3 -------------------------------------------------------------------------------------------------


def _log_c(constants: AlignmentConstants, evidence: Evidence, *, saddles: bool) -> float:
    return log_c_with_saddles(constants) if saddles else constants.log_c(alpha_of(evidence))


@on_run
def _growth(evidence: Evidence, constants: AlignmentConstants) -> Comparison:
    """Largest |ln(|a_j(t)| / |a_j(0)|)| up to tau against 2 eps ln(1/lambda)."""
    start = start_of(evidence).log_outputs
    grown = max(float(np.max(np.abs(states.log_outputs - start))) for states in states_of(evidence))
    allowed = -2.0 * evidence.parameter("eps") * log_lambda(evidence.network)
    detail = rf"$\ln|a|$ moves by at most {grown:.6g}, allowed {allowed:.6g}, predicted {0.5 * allowed:.6g}"
    return at_most(grown, allowed, detail=detail)


@on_run
def _dominance(evidence: Evidence, constants: AlignmentConstants) -> Comparison:
    largest = max(float(np.max(np.linalg.norm(states.directions, axis=1))) for states in states_of(evidence))
    return at_most(largest, 1.0, allowance=ROUNDING, detail=f"largest $|w_j|/|a_j|$ is 1 + {largest - 1.0:.3g}")


def _none_outside(is_outside: BoolArray, met: BoolArray, condition: int) -> Comparison:
    lost, total = int(np.sum(met & is_outside)), int(np.sum(met))
    detail = rf"{lost} of {total} neurons with Condition {condition} are in no extremal cone at $\tau$"
    return none_of(lost, total=total, detail=detail)


@on_run
def _extremal_at_tau(evidence: Evidence, constants: AlignmentConstants) -> Comparison:
    end = states_of(evidence)[-1]
    return _none_outside(~end.is_dead & (end.sides == 0), met_at_start(evidence, alpha_of(evidence)), 1)


@on_run
def _extremal_and_alive_at_tau(evidence: Evidence, constants: AlignmentConstants) -> Comparison:
    end = states_of(evidence)[-1]
    return _none_outside(end.is_dead | (end.sides != end.signs), met_at_start(evidence, 1.0), 2)


@on_run
def gap_within(evidence: Evidence, constants: AlignmentConstants, *, saddles: bool) -> Comparison:
    """|D| >= <D, w/a> >= |D| - c lambda^(eps |D|/D_max) at tau, in logarithms of the gap."""
    met, end = met_at_start(evidence, alpha_of(evidence)), states_of(evidence)[-1]
    alive = met & ~end.is_dead
    judged = alive if saddles else alive & ~end.is_opposite
    require(np.any(alive), r"no neuron satisfies the condition at the start and is alive at $\tau$")
    if not np.any(judged):
        return nothing(f"all {int(np.sum(alive))} living neurons are on the ray of $-D$")
    overshoot = float(np.max(end.alignments[judged] / end.speeds[judged])) - 1.0
    rate = evidence.parameter("eps") * end.speeds[judged] / constants.d_max
    log_bounds = _log_c(constants, evidence, saddles=saddles) + rate * log_lambda(evidence.network)
    resolved = np.log(RESOLUTION * end.speeds[judged])
    log_gaps = np.log(np.maximum(end.gaps[judged], np.finfo(float).tiny))
    log_bounds = np.maximum(log_bounds, resolved)
    worst = int(np.argmax(log_gaps - log_bounds))
    vacuous = int(np.sum(log_bounds >= np.log(2.0 * end.speeds[judged])))
    detail = (
        rf"$\ln$ of the gap {log_gaps[worst]:.6g} against {log_bounds[worst]:.6g}; the bound says nothing for "
        rf"{vacuous} of {int(np.sum(judged))} neurons; $\langle D, w/a\rangle/|D| - 1$ is at most {overshoot:.2g}"
    )
    if overshoot > ROUNDING:
        return at_most(overshoot, 0.0, detail=rf"$\langle D, w/a\rangle$ exceeds $|D|$: {detail}")
    return at_most(float(log_gaps[worst]), float(log_bounds[worst]), detail=detail)


@on_run
def _kind_at_tau(evidence: Evidence, constants: AlignmentConstants) -> Comparison:
    """Positive neurons at local maxima of G, negative ones at local minima."""
    extremal = evidence.facts.extremal
    kinds = {tuple(u): kind for u, kind in zip(extremal.patterns.tolist(), extremal.kinds, strict=True)}
    met, end = met_at_start(evidence, alpha_of(evidence)), states_of(evidence)[-1]
    judged = met & ~end.is_dead & (end.sides != 0)
    wanted = {1.0: "maximum", -1.0: "minimum"}
    wrong = sum(
        kinds.get(tuple(end.patterns[j].tolist())) != wanted[float(end.signs[j])] for j in np.flatnonzero(judged)
    )
    return none_of(wrong, total=int(np.sum(judged)))


def _common_neurons(evidence: Evidence, runs: tuple[Evidence, ...]) -> BoolArray:
    """Neurons with the condition that end the run at every scale in their last cone."""
    end = states_of(evidence)[-1]
    common = met_at_start(evidence, alpha_of(evidence)) & ~end.is_dead & (end.sides == end.signs)
    for run in runs:
        there = states_of(run)[-1]
        common &= np.all(there.patterns == end.patterns, axis=1)
    return np.asarray(common)


@on_run
def _gap_exponent(evidence: Evidence, constants: AlignmentConstants) -> Comparison:
    """Slope of ln gap against ln lambda over the scales, in units of eps |D|/D_max: at least 1, predicted 2."""
    runs = tuple(run for run in evidence.other_scales if reaches_tau(run))
    require(len(runs) >= 3, "the exponent needs runs at three scales or more")
    common = np.flatnonzero(_common_neurons(evidence, runs))
    speeds = states_of(evidence)[-1].speeds[common]
    gaps = np.array([states_of(run)[-1].gaps[common] for run in runs]) / speeds  # (num_scales, num_neurons)
    scales = np.array([log_lambda(run.network) for run in runs])
    ratios = []
    for column, speed in zip(gaps.T, speeds, strict=True):
        usable = (column > MEASURABLE_GAPS[0]) & (column < MEASURABLE_GAPS[1])
        if np.sum(usable) >= 3:
            slope = fitted_slope(scales[usable], np.log(column[usable]))
            ratios.append(slope / (evidence.parameter("eps") * speed / constants.d_max))
    if not ratios and gaps.size and np.all(gaps <= MEASURABLE_GAPS[0]):
        return nothing(f"all {gaps.shape[1]} aligned neurons have gap 0 to rounding at every scale")
    require(ratios, "no neuron is aligned, with a gap a double resolves, at three scales")
    decades = (scales.max() - scales.min()) / math.log(10.0)
    detail = (
        rf"slopes over {decades:.0f} decades, divided by $\varepsilon|D|/D_{{\max}}$: from {min(ratios):.5g} to "
        rf"{max(ratios):.5g} on {len(ratios)} neurons; at least 1 is claimed, 2 is predicted"
    )
    return at_least(min(ratios), 1.0, detail=detail)


def swept_plan(evidence: Evidence, *, ridge: Ridge = "stop") -> FlowPlan | None:
    """Snapshots up to tau, also at scales with small, resolved gaps: 2 eps (|D|/D_max) ln lambda = ln gap."""
    plan, constants = alignment_plan(evidence, ridge=ridge), constants_of(evidence)
    if plan is None or constants is None or len(evidence.facts.extremal) == 0:
        return plan
    longest = float(evidence.facts.extremal.norms[0])
    scales = np.log(PREDICTED_GAPS) * constants.d_max / (2.0 * evidence.parameter("eps") * longest)
    return replace(plan, other_scales=tuple((scales - log_lambda(evidence.network)).tolist()))


def theorem_numbers(evidence: Evidence, *, saddles: bool) -> Constants:
    """Those constants of Theorem 1, or with saddles of Theorem 3, that depend on more than the data."""
    found = constants_of(evidence)
    if found is None:
        return {}
    limit = settling_time(found, evidence, saddles=saddles)
    return {
        "log_lambda": log_lambda(evidence.network),
        "log_lambda_star": log_lambda_star(found, evidence),
        "log_lambda_settled": -limit * found.d_max / evidence.parameter("eps"),
        "t_2": limit,
        "log_c": _log_c(found, evidence, saddles=saddles),
    }


def _predictions(evidence: Evidence) -> Constants:
    found = constants_of(evidence)
    if found is None:
        return {}
    norms = evidence.facts.extremal.norms
    return {
        "tau": tau_of(evidence),
        "directions": evidence.facts.extremal.directions.tolist(),
        "kinds": list(evidence.facts.extremal.kinds),
        "gap_exponents": (2.0 * evidence.parameter("eps") * norms / found.d_max).tolist(),
    }


@bring_to
def informative_log_scale(constants: AlignmentConstants, evidence: Evidence, *, saddles: bool) -> float:
    """ln lambda below every threshold at which the explicit bound is a thousandth of the shortest extremal vector."""
    shortest = float(np.min(evidence.facts.extremal.norms, initial=constants.d_max))
    rate = evidence.parameter("eps") * shortest / constants.d_max
    informative = (math.log(1e-3 * shortest) - _log_c(constants, evidence, saddles=saddles)) / rate
    return min(settled_before_tau(constants, evidence, saddles=saddles), informative)


THM_1 = Theorem(
    "boursier2024:thm1",
    Reference("boursier2024", "Theorem 1"),
    r"Without saddles of $G$ and for a small enough scale, until $\tau = -\varepsilon\,\ln(\lambda)/D_{\max}$ "
    r"output weights hardly grow, and at $\tau$ every neuron with Condition 1 is dead or aligned with an extremal "
    r"vector: a maximum of $G$ for $a_j > 0$, a minimum for $a_j < 0$.",
    hypotheses=(
        assumed(SMOOTH_LOSS),
        assumed(GENERAL_POSITION),
        POSITIVE_CONSTANTS,
        NONZERO,
        DOMINATED,
        assumed(NO_SADDLE),
        assumed(NO_DEAD_SADDLE),
        SMALL_SCALE,
        SETTLED,
    ),
    conclusions=(
        Conclusion(
            "growth",
            r"$|a_j(0)| \lambda^{2 \varepsilon} \le |a_j(t)| \le |a_j(0)| \lambda^{-2 \varepsilon}$ up to $\tau$",
            _growth,
        ),
        Conclusion("dominance", r"$|w_j| \le |a_j|$ up to $\tau$", _dominance),
        Conclusion("extremal", r"$D(w_j(\tau), 0)$ is extremal or 0", _extremal_at_tau, Level.EXACT),
        Conclusion(
            "gap",
            r"$\langle D, w_j/a_j\rangle \ge |D| - c \lambda^{\varepsilon|D|/D_{\max}}$ at $\tau$, or $w_j/a_j$ on "
            r"the ray of $-D$",
            partial(gap_within, saddles=False),
        ),
        Conclusion("kind", "a maximum of $G$ for $a_j > 0$, a minimum for $a_j < 0$", _kind_at_tau, Level.EXACT),
        Conclusion(
            "exponent",
            r"the gap shrinks at least like $\lambda^{\varepsilon|D|/D_{\max}}$",
            _gap_exponent,
            Level.SCALING,
            Source.RELUFLOW,
        ),
    ),
    constants=Quantities({}, others=(alignment_numbers, partial(theorem_numbers, saddles=False))),
    predictions=_predictions,
    parameters=(EPS, ALPHA_0),
    plan=swept_plan,
    log_scale=partial(informative_log_scale, saddles=False),
    setting=SETTING,
    example=THREE_POINTS,
    erratum=r"E2: $\lambda < \lambda^*$ alone does not give $t_2 \le \tau$; without it neurons may be in no "
    r"extremal cone at $\tau$. E4: the second alternative is $w/a$ on the ray of $-D$, not $w$.",
    departs="Condition 1(2) is looked at at the recorded times only. Neurons too small to be held beside the largest "
    "are followed in closed form, where outputs bend no force by a digit.",
    diagnosed=DataHypotheses(),
)

THM_3 = Theorem(
    "boursier2024:thm3",
    Reference("boursier2024", "Theorem 3"),
    r"Also with saddles of $G$, for a small enough scale, until $\tau$ output weights hardly grow, and at $\tau$ "
    r"every neuron with Condition 2 is aligned with an extremal vector.",
    hypotheses=(
        assumed(SMOOTH_LOSS),
        assumed(GENERAL_POSITION),
        POSITIVE_CONSTANTS,
        NONZERO,
        DOMINATED,
        SMALL_SCALE,
        SETTLED_WITH_SADDLES,
    ),
    conclusions=(
        Conclusion(
            "growth",
            r"$|a_j(0)| \lambda^{2 \varepsilon} \le |a_j(t)| \le |a_j(0)| \lambda^{-2 \varepsilon}$ up to $\tau$",
            _growth,
        ),
        Conclusion(
            "extremal", r"$a_j D(w_j(\tau), 0)$ is not 0 and in its cone", _extremal_and_alive_at_tau, Level.EXACT
        ),
        Conclusion(
            "gap",
            r"$\langle D, w_j/a_j\rangle \ge |D| - c \lambda^{\varepsilon|D|/D_{\max}}$ at $\tau$",
            partial(gap_within, saddles=True),
        ),
        Conclusion(
            "exponent",
            r"the gap shrinks at least like $\lambda^{\varepsilon|D|/D_{\max}}$",
            _gap_exponent,
            Level.SCALING,
            Source.RELUFLOW,
        ),
    ),
    constants=Quantities({}, others=(alignment_numbers, partial(theorem_numbers, saddles=True))),
    predictions=_predictions,
    parameters=(EPS,),
    plan=partial(swept_plan, ridge="stay"),
    log_scale=partial(informative_log_scale, saddles=True),
    setting=SETTING,
    example="relu-teacher:n=2,d=4,noise=0.3",
    erratum=r"E2: $\lambda < \lambda^*$ alone does not give $t_2 \le \tau$.",
    departs="Condition 2(2) is the solver's policy to stay where the flow is not unique. Neurons too small to be held "
    "beside the largest are followed in closed form, where outputs bend no force by a digit.",
    diagnosed=DataHypotheses(),
)
