"""Phase 3 never ends, and the network converges: Lemma 24, Corollary 1 and Lemma 7 [boursier2024]."""

from __future__ import annotations

from functools import partial

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.papers.boursier2024.paper import EXAMPLE, PHASES_SETTING
from reluflow.papers.boursier2024.theorems.local_lemmas import (
    CONVERGENCE,
    STAYS_NEAR_THE_LINE,
    bend_bound,
    convergence_rate,
    integral_over,
    largest_travel,
    loss_prefactor,
)
from reluflow.papers.boursier2024.theorems.mixed_lemmas import LATE, late_states
from reluflow.papers.boursier2024.theorems.phase_clock import TrainingPhase, in_phase, phase_clock, phase_plan
from reluflow.papers.boursier2024.theorems.phase_parameters import LATE_PARAMETERS
from reluflow.papers.boursier2024.theorems.phase_states import PhaseState
from reluflow.papers.boursier2024.theorems.spurious_constants import constants_of
from reluflow.papers.boursier2024.theorems.spurious_hypotheses import on_a_run, scale_factor
from reluflow.papers.boursier2024.theorems.spurious_limit import LIMIT, LINE, PATTERNS
from reluflow.theory.comparison import Comparison, Level, all_of, judgement, nothing, require, worst_compared
from reluflow.theory.evidence import Evidence
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem

LARGEST_EXPONENT = 300.0  # beyond it a bound says nothing, and its square overflows


def _moves(states: tuple[PhaseState, ...], members: BoolArray) -> FloatArray:
    """Largest |a - a(tau_3)| and |w - w(tau_3)| over |a(tau_3)|, and |wbar - wbar(tau_3)|, at every state; (k, 3)."""
    entry = states[0].network.materialized()
    size, found = np.where(entry.a == 0.0, 1.0, np.abs(entry.a)), []
    for state in states:
        network, turned = state.network.materialized(), state.directions - states[0].directions
        moved = np.abs(network.a - entry.a) / size, np.linalg.norm(network.w - entry.w, axis=1) / size
        found.append([np.max(part[members]) for part in (*moved, np.linalg.norm(turned, axis=1))])
    return np.array(found)


def _grown(exponent: float) -> float:
    return float(np.exp(min(exponent, LARGEST_EXPONENT)))


@in_phase(TrainingPhase.CONVERGENCE)
def _positive_moves(evidence: Evidence, states: tuple[PhaseState, ...]) -> Comparison:
    travel, moved = largest_travel(evidence, states), _moves(states, states[0].sets.positive)
    allowed = np.array([_grown(travel) - 1.0, travel * _grown(travel), travel])
    largest = f"{np.max(moved, axis=0).round(9)} against {allowed.round(6)}"
    return worst_compared(
        allowed - moved, "at_least", 0.0, words=rf"largest relative moves of $a$, $w$ and turn of $\bar w$ {largest}"
    )


def largest_negative_growth(evidence: Evidence, states: tuple[PhaseState, ...]) -> float:
    """Bound on ln |a_i/a_i(tau_3)| on N: the integral of S (|b| + Q).

    Beside beta* itself G >= 0 by Assumption 6, so that a negative neuron is fed by the errors of the fit alone.
    """
    constants, rate = constants_of(evidence), convergence_rate(evidence)
    line = 2.0 * np.sqrt(2.0 * loss_prefactor(evidence, states) / constants.sigma_min) / rate
    bent = integral_over(states, lambda s: np.sqrt(2.0 * bend_bound(s) / constants.sigma_min) + s.mixed_mass)
    return float(constants.mean_square * (line + bent))


@in_phase(TrainingPhase.CONVERGENCE)
def _negative_moves(evidence: Evidence, states: tuple[PhaseState, ...]) -> Comparison:
    members = states[0].sets.negative
    if not np.any(members):
        return nothing("there is no negative neuron")
    is_lost = any(s.has_lost_neurons or np.any(s.is_held_up & members) for s in states)
    require(not is_lost, "negative neurons too light for a double; take a larger scale")
    factor, moved = _grown(largest_negative_growth(evidence, states)), _moves(states, members)[:, :2]
    largest = f"{np.max(moved, axis=0).round(9)} against {factor:.4g}, {1 + factor:.4g}"
    slack = np.array([factor, 1.0 + factor]) - moved
    return worst_compared(slack, "at_least", 0.0, words=rf"largest moves of $a$ and $w$ over $|a(\tau_3)|$ {largest}")


LEMMA_24 = Theorem(
    "boursier2024:lemma24",
    Reference("boursier2024", "Lemma 24"),
    r"In Phase 3 positive neurons move and turn by $O(\varepsilon_3)$ relative to their size, negative ones by $O(1)$.",
    hypotheses=(*LATE, STAYS_NEAR_THE_LINE),
    conclusions=(
        Conclusion(
            "positive",
            r"moves of $a$, $w$ and $\bar w$ on $I$ stay within $\exp(J) - 1$, $J\,\exp(J)$ and $J$",
            _positive_moves,
        ),
        Conclusion(
            "negative", r"moves of $a$ and $w$ on $N$ stay within a constant times $|a_i(\tau_3)|$", _negative_moves
        ),
    ),
    constants=CONVERGENCE,
    parameters=LATE_PARAMETERS,
    plan=phase_plan,
    log_scale=partial(scale_factor, log_lambda=-60.0),
    setting=PHASES_SETTING,
    example=EXAMPLE,
    erratum=r"E11: on $N$ the bound is in terms of $|a_i(\tau_3)|$.",
    departs=r"$J$ is the explicit bound of Lemma 23 on $\int |D^t|\, dt$.",
)

# Corollary 1, Lemma 7 -------------------------------------------------------------------------------------------------


def farthest_move(evidence: Evidence, states: tuple[PhaseState, ...]) -> float:
    """Lemma 24 summed over all neurons: a bound on |theta - theta(tau_3)| in Phase 3."""
    entry, travel = states[0], largest_travel(evidence, states)
    positive, negative = (np.exp(0.5 * entry.log_square_sum(m)) for m in (entry.sets.positive, entry.sets.negative))
    factor, grown = _grown(largest_negative_growth(evidence, states)), _grown(travel)
    on_positive = positive * np.hypot(grown - 1.0, travel * grown)
    return float(np.hypot(on_positive, negative * np.hypot(factor, 1.0 + factor)))


@on_a_run
def _stays_within_eps_4(evidence: Evidence) -> Comparison:
    bound = farthest_move(evidence, require(late_states(evidence), "the run does not reach Phase 3"))
    margin = evidence.parameter("eps_4") - bound
    return judgement(margin > 0.0, margin, rf"Lemma 24 allows $|\theta - \theta(\tau_3)|$ up to {bound:.4g}")


CONFINED = Hypothesis(
    "confined",
    r"$\varepsilon_3$ is so small against $\varepsilon_4$ that Lemma 24 keeps $\theta$ within $\varepsilon_4$ of "
    r"$\theta(\tau_3)$",
    _stays_within_eps_4,
    is_regime=True,
    needs_trajectory=True,
)


def _never_ends(evidence: Evidence) -> Comparison:
    clock = phase_clock(evidence)
    end = clock.convergence
    require(clock.fitting.is_reached, "a run that reaches Phase 3")
    words = f"no clause fired up to $t$ = {clock.states[-1].time:.6g}"
    return all_of([(not end.is_reached, f"Phase 3 ended at {end.time:.6g} by {end.clause!r}")], detail=words)


COR_1 = Theorem(
    "boursier2024:cor1",
    Reference("boursier2024", "Corollary 1"),
    r"Phase 3 never ends: $\tau_4$ is infinite.",
    hypotheses=(*LATE, STAYS_NEAR_THE_LINE, CONFINED),
    conclusions=(Conclusion("never-ends", r"neither clause of $\tau_4$ fires", _never_ends, Level.EXACT),),
    constants=CONVERGENCE,
    parameters=LATE_PARAMETERS,
    plan=phase_plan,
    log_scale=partial(scale_factor, log_lambda=-60.0),
    setting=PHASES_SETTING,
    example=EXAMPLE,
    erratum=r"E11: the comparison is with the square of $\varepsilon_4^*$.",
    departs=r"$\tau_4$ is judged up to the end of the run.",
)

LEMMA_7 = Theorem(
    "boursier2024:lemma7",
    Reference("boursier2024", "Lemma 7"),
    r"Phase 3 never ends, and $\theta(t)$ converges to a network whose neurons are active on all samples or on "
    r"none, with $\sum a w = \beta^*$ over the former.",
    hypotheses=(*LATE, STAYS_NEAR_THE_LINE, CONFINED),
    conclusions=(
        Conclusion("never-ends", r"$\tau_4$ is infinite", _never_ends, Level.EXACT),
        LIMIT,
        PATTERNS,
        LINE,
    ),
    constants=CONVERGENCE,
    parameters=LATE_PARAMETERS,
    plan=phase_plan,
    log_scale=partial(scale_factor, log_lambda=-60.0),
    setting=PHASES_SETTING,
    example=EXAMPLE,
)
