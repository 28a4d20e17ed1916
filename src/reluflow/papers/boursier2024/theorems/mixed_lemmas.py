"""Phase 3, the neurons across the data: Lemmas 19 and 20 with Eqs. (51) and (52) [boursier2024]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial, wraps
from itertools import pairwise

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.network import Network
from reluflow.papers.boursier2024.paper import EXAMPLE, PHASES_SETTING
from reluflow.papers.boursier2024.theorems.phase_clock import TrainingPhase, in_phase, phase_plan, states_in
from reluflow.papers.boursier2024.theorems.phase_parameters import LATE_PARAMETERS, PHASE_PARAMETERS
from reluflow.papers.boursier2024.theorems.phase_states import PhaseState, log_lambda_of
from reluflow.papers.boursier2024.theorems.spurious_constants import constants_of, mixed_descent_rate
from reluflow.papers.boursier2024.theorems.spurious_hypotheses import (
    FITTING_ENDED,
    RESIDUAL,
    largest_pull,
    on_a_run,
    scale_factor,
)
from reluflow.theory.comparison import (
    Comparison,
    Level,
    judgement,
    least_over,
    none_of,
    nothing,
    require,
    worst_compared,
)
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.flow_plan import Companion, FlowPlan
from reluflow.theory.measures import Equals, Quantities
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem

ROUNDING = 1e-12  # of an output at this stage; measured below 1e-15


def late_states(evidence: Evidence) -> tuple[PhaseState, ...]:
    """States recorded in Phase 3; the first is the entry."""
    return states_in(evidence, TrainingPhase.CONVERGENCE)


def output_errors(state: PhaseState) -> FloatArray:
    """s_k = h(x_k) - <beta*, x_k>, shape (n,)."""
    return np.asarray(state.outputs - state.X @ state.constants.beta_star)


def moved_outputs(evidence: Evidence, entry: PhaseState) -> FloatArray:
    """Lemma 19: |h_t - h_tau_3| <= 2 |x_k| (sqrt(sum a(tau_3)^2) + eps_4) eps_4, shape (n,)."""
    eps_4 = evidence.parameter("eps_4")
    size = np.exp(0.5 * entry.log_square_sum(np.ones(entry.network.num_neurons, dtype=bool)))
    return np.asarray(2.0 * entry.constants.lengths * (size + eps_4) * eps_4)


def largest_output_errors(evidence: Evidence, entry: PhaseState) -> FloatArray:
    """Lemma 19: |h(x_k) - <beta*, x_k>| <= |x_k| (eps_3 + sum_N a(tau_3)^2) + what Phase 3 can move, shape (n,)."""
    negative = float(np.exp(entry.log_square_sum(entry.sets.negative)))
    at_entry = entry.constants.lengths * (evidence.parameter("eps_3") + negative)
    return np.asarray(at_entry + moved_outputs(evidence, entry))


def force_error(evidence: Evidence, entry: PhaseState) -> float:
    """Largest change of <w/|w|, D_u> from its value beside beta* in Phase 3: the mean of |x_k| times Lemma 19."""
    return float(np.mean(entry.constants.lengths * largest_output_errors(evidence, entry)))


@in_phase(TrainingPhase.CONVERGENCE)
def _outputs_stay(evidence: Evidence, states: tuple[PhaseState, ...]) -> Comparison:
    bounds = moved_outputs(evidence, states[0])
    slack = [np.min(bounds - np.abs(s.outputs - states[0].outputs)) for s in states]
    return least_over(states, slack, 0.0, r"bound minus $|h - h(\tau_3)|$")


@in_phase(TrainingPhase.CONVERGENCE)
def _outputs_fit(evidence: Evidence, states: tuple[PhaseState, ...]) -> Comparison:
    bounds = largest_output_errors(evidence, states[0])
    slack = [np.min(bounds - np.abs(output_errors(s))) for s in states]
    return least_over(states, slack, 0.0, r"bound minus $|h - \langle\beta^*, x\rangle|$")


LEMMA_19 = Theorem(
    "boursier2024:lemma19",
    Reference("boursier2024", "Lemma 19"),
    r"In Phase 3 outputs stay within $O(\varepsilon_3 + \varepsilon_4)$ of the least-squares line.",
    hypotheses=(*RESIDUAL, FITTING_ENDED),
    conclusions=(
        Conclusion(
            "moved",
            r"$|h - h(\tau_3)| \le 2 |x_k| (\sqrt{\sum a(\tau_3)^2} + \varepsilon_4) \varepsilon_4$",
            _outputs_stay,
        ),
        Conclusion(
            "fit",
            r"$|h - \langle\beta^*, x_k\rangle| \le |x_k| (\varepsilon_3 + \sum_N a(\tau_3)^2)$ plus that",
            _outputs_fit,
        ),
    ),
    parameters=PHASE_PARAMETERS,
    plan=phase_plan,
    log_scale=partial(scale_factor, log_lambda=-60.0),
    setting=PHASES_SETTING,
    example=EXAMPLE,
)

# Lemma 20, Eqs. (51) and (52) -----------------------------------------------------------------------------------------


def _dimension(evidence: Evidence) -> int:
    return evidence.dataset.d


PLANE = Hypothesis(
    "plane",
    "the samples lie in the plane, where Eq. (52) is minimised exactly",
    Equals(_dimension, 2, words="dimension {number}"),
)


@computed_once
def descent_rate(evidence: Evidence) -> float:
    """c_4 of Eq. (52) for the chosen delta_tilde."""
    return mixed_descent_rate(evidence.facts, evidence.parameter("delta_tilde"))


def facet_push(evidence: Evidence, entry: PhaseState) -> float:
    """Least speed, per unit of int |a|/|w| dt, at which a neuron beside a facet is expelled: alpha_4/|x_k| - error."""
    constants = constants_of(evidence)
    longest = float(np.max(constants.lengths[constants.facets]))
    turning = evidence.parameter("delta_tilde") * largest_pull(evidence)
    return constants.alpha_4 / longest - force_error(evidence, entry) - turning


@on_a_run
def _small_steps(evidence: Evidence) -> Comparison:
    entry = require(late_states(evidence), "the run does not reach Phase 3")[0]
    c_4, error, push = descent_rate(evidence), force_error(evidence, entry), facet_push(evidence, entry)
    margin = min(0.75 * c_4 - error, push)
    detail = f"force error {error:.4g} against $(3/4) c_4$ = {0.75 * c_4:.4g}; push at the facets {push:.4g}"
    return judgement(margin > 0.0, margin, detail)


SMALL_STEPS = Hypothesis(
    "small-steps",
    r"$\varepsilon_3$, $\varepsilon_4$ and $\tilde\delta$ are so small that $c_4$ and $\alpha_4$ outweigh the "
    r"errors of Lemma 19",
    _small_steps,
    is_regime=True,
    needs_trajectory=True,
)

LATE = (*RESIDUAL, PLANE, FITTING_ENDED, SMALL_STEPS)

ACROSS = "across"
_ANGLES = np.radians([0.0, 2.0, 4.0, 6.0, 10.0, 20.0, 30.0, 180.0, 183.0, 186.0, 190.0, -5.0, -20.0])


def across_the_data(evidence: Evidence) -> Network:
    """A start of Phase 3: one positive neuron at beta*, and light negative ones on both sides of the data."""
    line = evidence.facts.least_squares
    size = np.sqrt(np.linalg.norm(line)) * (1.0 + 1e-7)
    ahead = line / np.linalg.norm(line)
    aside = np.array([ahead[1], -ahead[0]])
    light = 1e-5 * (np.cos(_ANGLES)[:, None] * aside + np.sin(_ANGLES)[:, None] * ahead)
    return Network(np.vstack([size * ahead, light]), np.append(size, np.full(len(light), -1e-5)), leak=evidence.leak)


def _across_plan(evidence: Evidence) -> FlowPlan:
    """The run, which as a rule has no mixed neuron left by tau_3, and beside it one that starts with some."""
    if evidence.dataset.d != 2:
        return phase_plan(evidence)
    start = across_the_data(evidence)
    plan = phase_plan(replace(evidence, problem=replace(evidence.problem, network=start)))
    return replace(phase_plan(evidence), companions=(Companion(ACROSS, start, plan.times, plan.until),))


def or_across(measure: Callable[[Evidence], Comparison]) -> Callable[[Evidence], Comparison]:
    """The measurement on the run; where no neuron of it is mixed, on the one that starts with some."""

    @wraps(measure)
    def chosen(evidence: Evidence) -> Comparison:
        found, beside = measure(evidence), evidence.beside(ACROSS)
        return measure(beside) if found.is_empty and beside is not None else found

    return chosen


@or_across
@in_phase(TrainingPhase.CONVERGENCE, at_least=2)
def _shrinks(evidence: Evidence, states: tuple[PhaseState, ...]) -> Comparison:
    if not any(np.any(s.is_mixed) for s in states):
        return nothing(r"no neuron is mixed after $\tau_3$")
    entered = sum(int(np.sum(b.is_mixed & ~a.is_mixed)) for a, b in pairwise(states))
    counts = f"{int(states[0].is_mixed.sum())} mixed neurons at the entry, {int(states[-1].is_mixed.sum())} at the end"
    return none_of(entered, detail=f"{entered} neurons become mixed in Phase 3; {counts}")


def log_prefactor(evidence: Evidence, entry: PhaseState) -> float:
    """ln C of Lemma 20: 1/2 for R_t, times what |w|^2 can gain while the neuron is expelled beside a facet.

    Beside a facet int |a|/|w| dt is at most delta_tilde / push, and |w|^2 gains at most exp(2 Dbar) per unit of it.
    """
    passage = evidence.parameter("delta_tilde") / facet_push(evidence, entry)
    return float(np.log(0.5) + (2.0 * largest_pull(evidence) + 0.5 * descent_rate(evidence)) * passage)


@or_across
@in_phase(TrainingPhase.CONVERGENCE)
def _mixed_norm(evidence: Evidence, states: tuple[PhaseState, ...]) -> Comparison:
    if not any(np.any(s.is_mixed) for s in states):
        return nothing(r"no neuron is mixed after $\tau_3$, so $R_t = 0$")
    entry, rate = states[0], 0.5 * descent_rate(evidence)
    level = log_prefactor(evidence, entry) + 2.0 * (1.0 - evidence.parameter("eps")) * log_lambda_of(evidence)
    words = (
        r"largest $\ln R_t + (c_4/2)(t - \tau_3)$ is {measured:.6g}, of $C \lambda^{{2(1 - \varepsilon)}}$ {bound:.6g}"
    )
    return worst_compared(
        (s.log_mixed_norm + rate * (s.time - entry.time) for s in states), "at_most", level, words=words
    )


@or_across
@in_phase(TrainingPhase.CONVERGENCE)
def _mixed_rate(evidence: Evidence, states: tuple[PhaseState, ...]) -> Comparison:
    """d ln |w|^2/dt <= -2 (c_4 - error) where a neuron stands across the data, with the error of the moment."""
    delta, c_4, slacks = evidence.parameter("delta_tilde"), descent_rate(evidence), []
    for state in states:
        constants, w = state.constants, state.network.w
        members = np.flatnonzero(state.is_mixed & state.sets.negative)
        cosines = w[members] @ state.X.T / (np.linalg.norm(w[members], axis=1)[:, None] * constants.lengths)
        at_facets = cosines[:, constants.facets]
        across = members[np.any(at_facets >= delta, axis=1) & np.any(at_facets <= -delta, axis=1)]
        error = float(np.mean(constants.lengths * np.abs(output_errors(state))))
        for j in across:
            active = state.signs[j] > 0
            pull = (state.y - state.outputs)[active] @ state.X[active] / state.y.size
            speed = 2.0 * state.network.a[j] * (w[j] @ pull) / (w[j] @ w[j])
            slacks.append(-2.0 * (c_4 - error) - float(speed))
    words, empty = (
        r"least $-2(c_4 - e) - d\ln|w|^2/dt$ with the error $e$, over {count} states",
        r"no neuron stands across the data after $\tau_3$",
    )
    return worst_compared(slacks, "at_least", 0.0, words=words, empty=empty, allowance=ROUNDING)


def _least_push(evidence: Evidence) -> float:
    return constants_of(evidence).alpha_4


LEMMA_20 = Theorem(
    "boursier2024:lemma20",
    Reference("boursier2024", "Lemma 20, Eqs. (51) and (52)"),
    r"In Phase 3 no neuron becomes mixed, and $R_t$, half the squared norm of the mixed ones, is at most "
    r"$C \lambda^{2(1 - \varepsilon)}\,\exp(-(c_4/2)(t - \tau_3))$.",
    hypotheses=LATE,
    conclusions=(
        Conclusion("shrinking", "the set of mixed neurons does not grow", _shrinks, Level.EXACT),
        Conclusion(
            "mixed-norm", r"$\ln R_t \le \ln C + 2(1 - \varepsilon)\,\ln(\lambda) - (c_4/2)(t - \tau_3)$", _mixed_norm
        ),
        Conclusion("mixed-rate", r"$d\ln|w|^2/dt \le -2(c_4 - e)$ across the data, $e$ being the error", _mixed_rate),
    ),
    constants=Quantities({"alpha_4": _least_push, "c_4": descent_rate}),
    parameters=LATE_PARAMETERS,
    plan=_across_plan,
    log_scale=partial(scale_factor, log_lambda=-60.0),
    setting=PHASES_SETTING,
    example=EXAMPLE,
    erratum="E9: the statement prints the rate $c_4$, the proof gives $c_4/2$; (51) and (52) need $u_{k'} = -1$ "
    "and adjacency.",
    departs=r"The data constant $C$ is explicit: it comes from the time a neuron spends beside a facet. Where no "
    r"neuron is mixed after $\tau_3$, a second run starts in Phase 3 with light negative ones that are.",
)
