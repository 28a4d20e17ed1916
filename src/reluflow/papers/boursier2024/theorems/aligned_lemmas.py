"""Phase 1, positive neurons align: Lemmas 4 and 15 [boursier2024]."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from reluflow.papers.boursier2024.paper import EXAMPLE, PHASES_SETTING
from reluflow.papers.boursier2024.theorems.phase_clock import TrainingPhase, alignment_time, phase_clock, states_in
from reluflow.papers.boursier2024.theorems.phase_parameters import EPS_1, EPS_2
from reluflow.papers.boursier2024.theorems.phase_states import RESOLUTION, PhaseState, log_lambda_of, phase_states
from reluflow.papers.boursier2024.theorems.spurious_constants import constants_of
from reluflow.papers.boursier2024.theorems.spurious_hypotheses import (
    ACUTE,
    PROVED_SCALE,
    least_projections,
    log_alignment_bound,
    log_c,
    log_early_threshold,
    log_least_eps_2,
    on_positive_data,
    scale_factor,
)
from reluflow.theory.comparison import (
    Comparison,
    Level,
    Source,
    at_least,
    at_most,
    fitted_slope,
    judgement,
    largest_over,
    least_over,
    missing,
    none_of,
    nothing,
    require,
    requires,
)
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.measures import Quantities
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem

LOG_ROUNDING = 1e-9  # of a logarithm of a weight; measured below 1e-11 at scale e^-1300
ALIGNMENT_SCALES = (-40.0, -60.0, -80.0)  # ln lambda; the misalignment lambda^{2 eps} stays above rounding


def tau_plan(evidence: Evidence, *, other_scales: tuple[float, ...] = ALIGNMENT_SCALES) -> FlowPlan:
    """Snapshots up to tau, at the given scale and at other values of ln lambda."""
    tau = alignment_time(evidence)
    times = np.linspace(0.0, tau, 9) if tau > 0.0 else np.linspace(0.0, 1.0, 2)
    return FlowPlan(
        tuple(times.tolist()), other_scales=tuple(scale_factor(evidence, target) for target in other_scales)
    )


def misalignment(state: PhaseState) -> float:
    """Largest |D*| - <D*, wbar_i> over I, without cancellation."""
    pull = state.constants.pull_norm
    wbar = state.directions[state.sets.positive]
    unit = state.constants.pull_at_zero / pull
    return float(np.max(pull * 0.5 * (np.sum((wbar - unit) ** 2, axis=1) + state.shortfalls)))


def _alignment(evidence: Evidence) -> Comparison:
    state = phase_clock(evidence).aligned()
    gap = max(misalignment(state), np.finfo(float).tiny)
    bound = log_alignment_bound(evidence)
    if bound < np.log(gap) < np.log(RESOLUTION * state.constants.pull_norm):
        return missing(r"directions told apart by doubles to $c \lambda^\varepsilon$; take a larger scale")
    detail = (
        rf"$\ln$ of the largest $|D^*| - \langle D^*, \bar w_i\rangle$ is {np.log(gap):.6g}, of "
        rf"$c \lambda^\varepsilon$ {bound:.6g}"
    )
    return at_most(float(np.log(gap)), bound, detail=detail)


def exponent_over(logs: Sequence[tuple[float, float]], claimed: float, *, what: str, expected: str = "") -> Comparison:
    """The slope of ln of a gap in ln lambda over the scales, at least as claimed; -inf is a gap lost in rounding."""
    points = [point for point in logs if np.isfinite(point[1])]
    if len(points) < 2:
        return nothing(f"{what} to rounding at {len(logs) - len(points)} of {len(logs)} scales")
    slope = fitted_slope(*zip(*points, strict=True))
    detail = f"fitted exponent {slope:.6g} over {len(points)} scales, claimed at least {claimed:g}{expected}"
    return at_least(slope, claimed, detail=detail)


def _alignment_exponent(evidence: Evidence) -> Comparison:
    clocks, eps = [phase_clock(e) for e in evidence.other_scales], evidence.parameter("eps")
    gaps = [(c.log_lambda, misalignment(state)) for c in clocks if (state := c.at(c.alignment)) is not None]
    require(len(gaps) >= 2, "runs at two scales or more")
    logs = [(log_lambda, float(np.log(gap)) if gap > RESOLUTION else -np.inf) for log_lambda, gap in gaps]
    return exponent_over(logs, eps, what="aligned", expected=f", expected {2 * eps:g}")


@requires(lambda evidence: states_in(evidence, TrainingPhase.ALIGNMENT), r"snapshots up to $\tau$")
def _positive_growth(evidence: Evidence, states: tuple[PhaseState, ...]) -> Comparison:
    most = -2.0 * evidence.parameter("eps") * log_lambda_of(evidence)
    growth = [s.log_growth[s.sets.positive] for s in states]
    slacks = [min(float(np.min(each)), float(np.min(most - each))) for each in growth]
    return least_over(
        states, slacks, 0.0, rf"distance of $\ln a_i/a_i(0)$ to the ends of [0, {most:.6g}]", allowance=LOG_ROUNDING
    )


def negative_shrinkage(evidence: Evidence, phase: TrainingPhase, *, grows: bool = False) -> Comparison:
    """a_i(0) <= a_i <= 0 on N at all states of a phase, as logarithms of |a_i|; with `grows` a_i(0) lambda^(-eps)."""
    states = require(states_in(evidence, phase), "states of this phase")
    log_factor = -evidence.parameter("eps") * log_lambda_of(evidence) if grows else 0.0
    members = states[0].sets.negative
    if not np.any(members):
        return nothing("there is no negative neuron")
    require(
        not any(state.has_lost_neurons for state in states),
        "negative neurons too light for a double beside the positive ones; take a larger scale",
    )
    flipped = sum(int(np.sum(state.network.a[members] > 0.0)) for state in states)
    if flipped:
        return none_of(flipped, detail=f"{flipped} output weights of $N$ are positive")
    growth = [np.max(s.log_growth[members]) for s in states]
    return largest_over(states, growth, log_factor, r"$\ln|a_i/a_i(0)|$ on $N$", allowance=LOG_ROUNDING)


@requires(phase_states, "snapshots")
def _resting(evidence: Evidence, states: tuple[PhaseState, ...]) -> Comparison:
    members = states[0].sets.resting
    if not np.any(members):
        return nothing("no positive neuron starts dead")
    require(
        not any(np.any(state.network.a[members] == 0.0) for state in states),
        "dead neurons too light for a double beside the positive ones; take a larger scale",
    )
    grown = max(float(np.max(np.abs(s.log_growth)[members])) for s in states)
    turned = max(float(np.max(np.abs(s.directions[members] - states[0].directions[members]))) for s in states)
    detail = (
        rf"largest $|\ln a_i/a_i(0)|$ {grown:.3g} and change of $w_i/a_i$ {turned:.3g} over {members.sum()} neurons"
    )
    return at_most(max(grown, turned), 0.0, allowance=LOG_ROUNDING, detail=detail)


def _early_scale(evidence: Evidence) -> float:
    """Below the threshold of Theorem 1, and so small that c lambda^eps is below e^-7 |D*|."""
    speaking = (np.log(constants_of(evidence).pull_norm) - 7.0 - log_c(evidence)) / evidence.parameter("eps")
    return scale_factor(evidence, 1.001 * min(log_early_threshold(evidence), float(speaking)))


def largest_pull_at_zero(evidence: Evidence) -> float:
    """|D*|."""
    return constants_of(evidence).pull_norm


LEMMA_4 = Theorem(
    "boursier2024:lemma4",
    Reference("boursier2024", "Lemma 4"),
    r"At the end $\tau$ of Phase 1 every positive active neuron is aligned with $D^*$ to $c \lambda^\varepsilon$ "
    r"and has grown by at most $\lambda^{-2 \varepsilon}$, negative neurons have only shrunk, and positive dead "
    r"ones never move.",
    hypotheses=(*ACUTE, PROVED_SCALE),
    conclusions=(
        Conclusion(
            "aligned", r"$\langle D^*, \bar w_i(\tau)\rangle \ge |D^*| - c \lambda^\varepsilon$ on $I$", _alignment
        ),
        Conclusion(
            "exponent",
            r"the misalignment is of order $\lambda^\varepsilon$ at most",
            _alignment_exponent,
            Level.SCALING,
            Source.RELUFLOW,
        ),
        Conclusion(
            "growth", r"$a_i(0) \le a_i \le a_i(0) \lambda^{-2 \varepsilon}$ on $I$ up to $\tau$", _positive_growth
        ),
        Conclusion(
            "negative",
            r"$a_i(0) \le a_i \le 0$ on $N$ up to $\tau$",
            partial(negative_shrinkage, phase=TrainingPhase.ALIGNMENT),
        ),
        Conclusion("resting", "neurons outside $I$ and $N$ do not move", _resting, Level.EXACT),
    ),
    constants=Quantities(
        {
            "tau": alignment_time,
            "pull_norm": largest_pull_at_zero,
            "log_c": log_c,
            "log_lambda": log_lambda_of,
            "log_threshold": log_early_threshold,
        }
    ),
    parameters=(EPS_1,),
    plan=tau_plan,
    log_scale=_early_scale,
    setting=PHASES_SETTING,
    example=EXAMPLE,
    erratum=r"E2: Theorem 1 also needs $t_2 \le \tau$, so the scale must be below the corrected threshold.",
)

# Lemma 15 -------------------------------------------------------------------------------------------------------------


@on_positive_data
def _eps_2_is_large(evidence: Evidence) -> Comparison:
    least = log_least_eps_2(evidence)
    margin = float(np.log(evidence.parameter("eps_2"))) - least
    return judgement(margin >= 0.0, margin, rf"$\ln$ of $c' \lambda^{{\varepsilon/2}}$ is {least:.6g}")


LARGE_EPS_2 = Hypothesis(
    "large-eps_2", r"$\varepsilon_2 \ge c' \lambda^{\varepsilon/2}$", _eps_2_is_large, is_regime=True
)


def _projections_at_tau(evidence: Evidence) -> Comparison:
    state, deltas = phase_clock(evidence).aligned(), least_projections(evidence)
    slack = float(np.min(state.cosines * state.constants.lengths - deltas))
    return at_least(
        slack,
        0.0,
        detail=rf"least $\langle\bar w_i(\tau), x_k\rangle - \delta_k$ is {slack:.6g}; $\delta$ = {deltas.round(6)}",
    )


def _lemma_15_scale(evidence: Evidence) -> float:
    spare = float(np.log(evidence.parameter("eps_2"))) - log_least_eps_2(evidence)
    log_lambda = log_lambda_of(evidence) + min(spare, 0.0) * 2.0 / evidence.parameter("eps")
    return scale_factor(evidence, 1.001 * min(log_lambda, log_early_threshold(evidence)))


LEMMA_15 = Theorem(
    "boursier2024:lemma15",
    Reference("boursier2024", "Lemma 15"),
    r"Where $\varepsilon_2 \ge c' \lambda^{\varepsilon/2}$, every positive active neuron has "
    r"$\langle\bar{w}_i(\tau), x_k\rangle \ge \delta_k$.",
    hypotheses=(*ACUTE, PROVED_SCALE, LARGE_EPS_2),
    conclusions=(
        Conclusion(
            "projections",
            r"$\langle\bar{w}_i(\tau), x_k\rangle \ge \delta_k$ for $i$ in $I$ and all $k$",
            _projections_at_tau,
        ),
    ),
    constants=Quantities({"delta": least_projections, "log_least_eps_2": log_least_eps_2}),
    parameters=(EPS_1, EPS_2),
    plan=partial(tau_plan, other_scales=()),
    log_scale=_lemma_15_scale,
    setting=PHASES_SETTING,
    example=EXAMPLE,
    departs=r"The $\Theta(\varepsilon_2)$ in $\delta_k$ and the constant $c'$ are explicit: "
    r"$2 S \varepsilon_2 |x_k|/|D^*|$, and what it needs.",
)
