"""Hypotheses of Theorems 2 and 4 and of the lemmas of Appendix F, and the thresholds they speak of [boursier2024]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial, wraps

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.stopping import Stationary
from reluflow.dynamics.trajectory import Outcome
from reluflow.papers.boursier2024.assumptions import (
    ACUTE_POSITIVE_DATA,
    FACET_CONDITION,
    RESIDUAL_CONDITION,
    acute_positive_data,
)
from reluflow.papers.boursier2024.theorems import alignment_regime
from reluflow.papers.boursier2024.theorems.phase_clock import TrainingPhase, phase_clock, phase_plan
from reluflow.papers.boursier2024.theorems.phase_states import log_lambda_of, neuron_sets
from reluflow.papers.boursier2024.theorems.spurious_constants import constants_of
from reluflow.theory.comparison import Comparison, judgement, require, undecided
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.flow_plan import Companion, FlowPlan
from reluflow.theory.hypotheses import DOMINATED, RELU, assumed, is_mean
from reluflow.theory.measures import Above, AtMost
from reluflow.theory.theorem import Hypothesis

MEAN_HALF_SQUARE = Hypothesis("loss", r"$L = (1/(2n)) \sum_k (h(x_k) - y_k)^2$", partial(is_mean, name="square"))


def _has_positive_active_neuron(evidence: Evidence) -> Comparison:
    count = int(np.sum(neuron_sets(evidence.problem).positive))
    return judgement(count > 0, float(count), f"{count} of {evidence.network.num_neurons} neurons")


POSITIVE_NEURON = Hypothesis(
    "positive-neuron",
    r"some neuron starts with $a_j > 0$ and $\langle w_j, x_k\rangle > 0$ for some $k$: $I$ is not empty (E8)",
    _has_positive_active_neuron,
)

BASIC = (MEAN_HALF_SQUARE, RELU, DOMINATED, POSITIVE_NEURON)
ACUTE = (*BASIC, assumed(ACUTE_POSITIVE_DATA))
FACETS = (*ACUTE, assumed(FACET_CONDITION))
RESIDUAL = (*FACETS, assumed(RESIDUAL_CONDITION))


@computed_once
def _is_acute(evidence: Evidence) -> Comparison:
    return acute_positive_data(evidence.facts)


def on_positive_data(judge: Callable[[Evidence], Comparison]) -> Callable[[Evidence], Comparison]:
    """The judgement where Assumption 4 holds, undecided elsewhere: thresholds and phases are defined there only."""

    @wraps(judge)
    def guarded(evidence: Evidence) -> Comparison:
        require(evidence.facts.has_affordable_cones, "the activation cones are too many to enumerate")
        return judge(evidence) if _is_acute(evidence).holds else undecided("it has no meaning without Assumption 4")

    return guarded


def on_a_run(judge: Callable[[Evidence], Comparison]) -> Callable[[Evidence], Comparison]:
    """The judgement where there is a run with snapshots and Assumption 4 holds, undecided elsewhere."""

    @wraps(judge)
    def guarded(evidence: Evidence) -> Comparison:
        require(evidence.run.snapshots, "no run with snapshots was made")
        return on_positive_data(judge)(evidence)

    return guarded


def scale_factor(evidence: Evidence, log_lambda: float) -> float:
    """The factor, as a logarithm, that brings the network to lambda = exp(log_lambda)."""
    return log_lambda - log_lambda_of(evidence)


def log_early_threshold(evidence: Evidence) -> float:
    """ln of the scale below which Theorem 1 with alpha_0 = 1 is proved (erratum E2); -inf on degenerate data."""
    constants = require(alignment_regime.constants_of(evidence), alignment_regime.TOO_MANY)
    return constants.log_lambda_corrected(evidence.parameter("eps"), 1.0) if constants.alpha_min > 0.0 else -np.inf


@on_positive_data
def _scale_is_proved(evidence: Evidence) -> Comparison:
    words = r"$\ln\lambda$ = {number:.6g}, $\ln$ of the threshold {bound:.6g}"
    return AtMost(log_lambda_of, log_early_threshold, words=words)(evidence)


PROVED_SCALE = Hypothesis(
    "scale",
    r"$\lambda$ is below Eq. (22) with $\alpha_0 = 1$ and small enough for $t_2 \le \tau$ (E2)",
    _scale_is_proved,
    is_regime=True,
)


def log_c(evidence: Evidence) -> float:
    """ln of the constant c of Theorem 1 with alpha_0 = 1."""
    return require(alignment_regime.constants_of(evidence), alignment_regime.TOO_MANY).log_c(1.0)


def log_alignment_bound(evidence: Evidence) -> float:
    """ln of c lambda^eps, the misalignment |D*| - <D*, wbar_i> that Lemma 4 allows at tau."""
    return log_c(evidence) + evidence.parameter("eps") * log_lambda_of(evidence)


def log_least_eps_2(evidence: Evidence) -> float:
    """ln of c' lambda^{eps/2}: the least eps_2 for which Lemma 15 follows from Lemma 4.

    With g = c lambda^eps / |D*|, a direction that close to D* has <wbar, x_k> >= (1-g) <D*/|D*|, x_k> - sqrt(2g) |x_k|;
    so (1 + sqrt 2) sqrt(g) <= 2 S eps_2 / |D*| suffices.
    """
    constants = constants_of(evidence)
    log_g = log_alignment_bound(evidence) - np.log(constants.pull_norm)
    return float(0.5 * log_g + np.log((1.0 + np.sqrt(2.0)) * constants.pull_norm / (2.0 * constants.mean_square)))


def largest_eps_2(evidence: Evidence) -> float:
    """eps_2*: below it outputs stay below labels while sum a^2 <= 2 eps_2, and every delta_k is positive."""
    constants = constants_of(evidence)
    labels = float(np.min(evidence.dataset.y / (2.0 * constants.lengths)))
    along = evidence.dataset.X @ constants.pull_at_zero / constants.lengths  # |D*| <D*/|D*|, x_k> / |x_k|
    return min(labels, float(np.min(along)) / (2.0 * constants.mean_square))


@on_positive_data
def _eps_2_is_small(evidence: Evidence) -> Comparison:
    return Above(largest_eps_2, evidence.parameter("eps_2"), words=r"$\varepsilon_2^*$ = {number:.6g}")(evidence)


SMALL_EPS_2 = Hypothesis(
    "eps_2",
    r"$\varepsilon_2 < \varepsilon_2^*$: outputs stay below labels and $\delta_k > 0$",
    _eps_2_is_small,
    is_regime=True,
)


def least_projections(evidence: Evidence) -> FloatArray:
    """delta_k of Lemma 5: <D*/|D*|, x_k> - 2 S max(eps_2, 2 lambda^2) |x_k| / |D*|, shape (n,).

    In Phase 2a |D^t - D*| <= S max(eps_2, 2 lambda^2), which turns D^t by at most twice that over |D*|.
    """
    constants = constants_of(evidence)
    log_lambda = log_lambda_of(evidence)
    size = max(evidence.parameter("eps_2"), float(2.0 * np.exp(min(2.0 * log_lambda, 0.0))))
    straight = evidence.dataset.X @ constants.pull_at_zero / constants.pull_norm
    return np.asarray(straight - 2.0 * constants.mean_square * size * constants.lengths / constants.pull_norm)


def start_residual(evidence: Evidence) -> float:
    """|y - h(0)|: the residual never grows."""
    return float(np.linalg.norm(evidence.dataset.y - evidence.network.outputs(evidence.dataset.X)))


def largest_pull(evidence: Evidence) -> float:
    """Dbar, the upper bound on every |D_u| along the run."""
    return constants_of(evidence).d_bar(start_residual(evidence))


@on_a_run
def _is_aligned(evidence: Evidence) -> Comparison:
    """The state Lemma 4 leaves at tau, as far as Phase 2a uses it."""
    clock = phase_clock(evidence)
    state, log_lambda = require(clock.at(clock.alignment), r"the run ended before $\tau$"), clock.log_lambda
    margin = float(np.min(state.cosines * state.constants.lengths - least_projections(evidence)))
    is_small = state.log_square_sum(state.sets.positive) < np.log(evidence.parameter("eps_2"))
    is_shrunk = state.log_square_sum(state.sets.negative) <= 2.0 * log_lambda + 1e-9
    detail = rf"at $\tau$ = {state.time:.6g} the least $\langle\bar w_i, x_k\rangle - \delta_k$ is {margin:.4g}"
    return judgement(margin >= 0.0 and is_small and is_shrunk, margin, detail)


ALIGNED = Hypothesis(
    "aligned",
    r"at $\tau$ the run is as Lemmas 4 and 15 leave it: $\langle\bar{w}_i, x_k\rangle \ge \delta_k$ on $I$, sums "
    r"of $a^2$ still small",
    _is_aligned,
    is_regime=True,
    needs_trajectory=True,
)


def _ended_by(evidence: Evidence, phase: TrainingPhase, clause: str) -> Comparison:
    """The run reached the end of a phase through the clause the proof names, so that the next one can begin."""
    clock = phase_clock(evidence)
    end = clock.end_of(phase)
    if end.is_reached and clock.states[end.index].has_lost_neurons:
        return undecided("negative neurons are too light for a double, so their clause cannot be read")
    if not end.is_reached and evidence.run.outcome.is_cut_short:
        return undecided("the run was cut short before the phase ended")
    words = f"ended at {end.time:.6g} by {end.clause!r}" if end.is_reached else "did not end within the run"
    return judgement(end.clause == clause, None, f"the phase {words}")


@on_a_run
def _growth_ended(evidence: Evidence) -> Comparison:
    return _ended_by(evidence, TrainingPhase.GROWTH, "grown")


@on_a_run
def _fitting_ended(evidence: Evidence) -> Comparison:
    return _ended_by(evidence, TrainingPhase.FITTING, "fitted")


GROWTH_ENDED = Hypothesis(
    "growth-ended",
    r"Phase 2a ended because $\sum_I a^2$ reached $\varepsilon_2$",
    _growth_ended,
    is_regime=True,
    needs_trajectory=True,
)
FITTING_ENDED = Hypothesis(
    "fitting-ended",
    r"Phase 2b ended because $|\beta^* - \beta_I|$ reached $\varepsilon_3$",
    _fitting_ended,
    is_regime=True,
    needs_trajectory=True,
)

SMALLER = "smaller"
SETTLED_RTOL = 1e-6  # of the largest label: runs at lambda and lambda^2 that end this close are one limit


def settled_plan(evidence: Evidence) -> FlowPlan:
    """The phases of the run, and beside it the same draw at lambda^2, at most e^-5 lambda, run to rest."""
    network = evidence.network.scaled(min(log_lambda_of(evidence), -5.0))
    return replace(phase_plan(evidence), companions=(Companion(SMALLER, network, until=Stationary()),))


@on_a_run
def _is_settled(evidence: Evidence) -> Comparison:
    """Not whether the end is the line, which is the conclusion: whether it is that of vanishing scale."""
    smaller = require(evidence.companions.get(SMALLER), "no run at the square of the scale was made")
    for name, run in (("the run", evidence.run), ("the run at the square of the scale", smaller)):
        if run.outcome is not Outcome.STATIONARY:
            return undecided(f"{name} did not come to rest ({run.outcome})")
    gap = float(np.max(np.abs(smaller.predictions - evidence.run.predictions)))
    allowed = SETTLED_RTOL * float(np.max(np.abs(evidence.dataset.y)))
    return judgement(gap <= allowed, allowed - gap, f"at the square of the scale the outputs end {gap:.3g} away")


SCALE_SETTLED = Hypothesis(
    "scale-settled",
    "the scale is so small that the same draw at its square ends at the same outputs",
    _is_settled,
    is_regime=True,
    needs_trajectory=True,
)
