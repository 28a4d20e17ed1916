"""The phase clock: when the phases of Appendix F end on a run, and which clause ended each [boursier2024]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

import numpy as np

from reluflow.dynamics.stopping import Stationary
from reluflow.papers.boursier2024.theorems.phase_parameters import EPS_1, PHASE_PARAMETERS
from reluflow.papers.boursier2024.theorems.phase_states import PhaseState, log_lambda_of, phase_states
from reluflow.papers.boursier2024.theorems.spurious_constants import constants_of
from reluflow.theory.comparison import Comparison, all_of, require, requires
from reluflow.theory.elsewhere import definition
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.theorem import Parameter

Found = TypeVar("Found")
Clause = tuple[str, Callable[[PhaseState], float]]  # fires where the function is at least 0


class TrainingPhase(StrEnum):
    """The phases of Appendix F, in order; each begins where the one before it ends."""

    ALIGNMENT = "1"
    GROWTH = "2a"
    FITTING = "2b"
    CONVERGENCE = "3"


@dataclass(frozen=True)
class PhaseEnd:
    """The end of a phase.

    Parameters
    ----------
    time
        When a clause fired, interpolated between two records; infinite where none did.
    clause
        The clause that fired first: "grown", "negative", "fitted", "spread", "facet" or "moved"; empty for none.
    index
        The first recorded state at or after it; the number of states where there is none.
    """

    time: float
    clause: str
    index: int

    @property
    def is_reached(self) -> bool:
        """Whether the phase ended within the run."""
        return bool(np.isfinite(self.time))


@dataclass(frozen=True, eq=False)
class PhaseClock:
    """The four ends tau, tau_2, tau_3, tau_4 on the recorded states.

    References
    ----------
    Boursier & Flammarion (2024), App. F, with erratum E10 (the first clause of tau_3 sums over I) [boursier2024].
    """

    states: tuple[PhaseState, ...]
    log_lambda: float
    alignment: PhaseEnd
    growth: PhaseEnd
    fitting: PhaseEnd
    convergence: PhaseEnd

    def end_of(self, phase: TrainingPhase) -> PhaseEnd:
        """The end of a phase."""
        ends = (self.alignment, self.growth, self.fitting, self.convergence)
        return ends[list(TrainingPhase).index(phase)]

    def entry_of(self, phase: TrainingPhase) -> int:
        """The first recorded state of a phase: the first of all, or the one at the end of the phase before."""
        index = list(TrainingPhase).index(phase)
        return self.end_of(list(TrainingPhase)[index - 1]).index if index else 0

    def at(self, end: PhaseEnd) -> PhaseState | None:
        """The first recorded state at or after the end of a phase."""
        return self.states[end.index] if end.index < len(self.states) else None

    def aligned(self) -> PhaseState:
        """The state at tau, without which a statement about it is undecided."""
        return require(self.at(self.alignment), r"a snapshot at $\tau$")


@computed_once
def phase_clock(evidence: Evidence) -> PhaseClock:
    """Read the clock of a run for the parameters eps, eps_2, eps_3, eps_4, delta_prime, delta_4 of the evidence.

    A parameter that the result at hand does not have takes its default.
    """
    states, constants = phase_states(evidence), constants_of(evidence)
    log_lambda, tau = log_lambda_of(evidence), alignment_time(evidence)
    eps, eps_2, eps_3, eps_4, delta_prime, delta_4 = (_chosen(evidence, parameter) for parameter in PHASE_PARAMETERS)
    first = next((i for i, s in enumerate(states) if s.time >= tau), len(states))
    alignment = PhaseEnd(tau, "time", first) if first < len(states) else PhaseEnd(np.inf, "", first)

    def negative_above(level: float) -> Clause:
        return "negative", lambda s: s.log_square_sum(s.sets.negative) - level

    def facet_below(delta: float) -> Clause:
        return "facet", lambda s: delta - float(np.min(s.cosines, initial=np.inf))

    def distance(state: PhaseState) -> float:
        return float(np.log(np.linalg.norm(state.beta_positive - constants.beta_star) + 1e-300))

    grown: Clause = ("grown", lambda s: s.log_square_sum(s.sets.positive) - float(np.log(eps_2)))
    growth = _first(states, alignment, (grown, negative_above(float(np.log(2.0)) + 2.0 * log_lambda)))
    fitted: Clause = ("fitted", lambda s: float(np.log(eps_3)) - distance(s))
    spread: Clause = ("spread", lambda s: s.log_pair_gap - eps * log_lambda)
    ends = (fitted, spread, facet_below(delta_prime), negative_above(2.0 * (1.0 - eps) * log_lambda))
    fitting = _first(states, growth, ends)
    entry = states[fitting.index] if fitting.index < len(states) else None

    def moved(state: PhaseState) -> float:
        return parameter_distance(state, entry) - eps_4 if entry is not None else -np.inf

    convergence = _first(states, fitting, (("moved", moved), facet_below(delta_4)))
    return PhaseClock(states, log_lambda, alignment, growth, fitting, convergence)


def states_in(evidence: Evidence, phase: TrainingPhase) -> tuple[PhaseState, ...]:
    """States recorded in a phase, the first at its entry; the rest of the run where it does not end."""
    clock = phase_clock(evidence)
    last = clock.end_of(phase).time
    return tuple(s for s in clock.states[clock.entry_of(phase) :] if s.time <= last)


def in_phase(
    phase: TrainingPhase, *, at_least: int = 1
) -> Callable[[Callable[[Evidence, tuple[PhaseState, ...]], Found]], Callable[[Evidence], Found]]:
    """The decorated measure on the states of a phase; undecided where there are none, or fewer than two."""
    what = f"{'two states' if at_least == 2 else 'states'} of Phase {phase}"
    return requires(lambda evidence: states_in(evidence, phase), what, at_least=at_least)


def ends_by(evidence: Evidence, phase: TrainingPhase, clause: str) -> Comparison:
    """The phase ended through this clause."""
    end = phase_clock(evidence).end_of(phase)
    words = f"Phase {phase} ended at {end.time:.6g} by {end.clause or 'nothing'!r}"
    return all_of([(end.clause == clause, words)], detail=words)


def alignment_time(evidence: Evidence) -> float:
    """tau = -eps ln(lambda) / |D*|; 0 where lambda is 1 or more."""
    return max(-_chosen(evidence, EPS_1) * log_lambda_of(evidence) / constants_of(evidence).pull_norm, 0.0)


def phase_plan(evidence: Evidence) -> FlowPlan:
    """Snapshots through all phases: few while neurons grow freely, many around the growth, then out to the limit."""
    constants = constants_of(evidence)
    pull, rate = constants.pull_norm, constants.pl_constant
    tau = alignment_time(evidence)
    growth = max(-log_lambda_of(evidence) / pull, tau + 1.0 / pull)
    opening = max(growth - 8.0 / pull, tau)
    times = np.concatenate(
        [
            np.linspace(0.0, tau, 9),
            np.linspace(tau, opening, 9),
            np.linspace(opening, growth + 8.0 / pull, 49),
            growth + 8.0 / pull + np.linspace(0.3, 24.0, 42) / rate,
        ]
    )
    return FlowPlan(times=tuple(np.unique(times).tolist()), until=Stationary())


def parameter_distance(state: PhaseState, other: PhaseState) -> float:
    """|theta - theta'| with the weights of the neurons; what underflows is nothing beside the distances asked for."""
    one, two = (np.exp(s.network.log_scale) * np.column_stack([s.network.w, s.network.a]) for s in (state, other))
    squares = np.sum((one - two)[:, :-1] ** 2, axis=1) + (one - two)[:, -1] ** 2
    return float(np.sqrt(state.network.weight @ squares))


def _first(states: Sequence[PhaseState], begin: PhaseEnd, clauses: tuple[Clause, ...]) -> PhaseEnd:
    """The first clause to fire after a phase has begun."""
    if not begin.is_reached:
        return PhaseEnd(np.inf, "", len(states))
    before: list[float] | None = None
    for index in range(begin.index, len(states)):
        state = states[index]
        values = [value(state) for _, value in clauses]
        fired = [c for c, value in enumerate(values) if value >= 0.0]
        if fired:
            start = states[index - 1].time if before is not None else state.time
            hits = [(_root(start, state.time, before[c] if before else 0.0, values[c]), c) for c in fired]
            time, c = min(hits)
            return PhaseEnd(time, clauses[c][0], index)
        before = values
    return PhaseEnd(np.inf, "", len(states))


def _root(low: float, high: float, below: float, above: float) -> float:
    """Where the chord from (low, below < 0) to (high, above >= 0) is 0."""
    return high if not (np.isfinite(below) and above > below) else low + (high - low) * below / (below - above)


def _chosen(evidence: Evidence, parameter: Parameter) -> float:
    return float(evidence.parameters.get(parameter.name, parameter.default))


APP_F = definition(
    "boursier2024:appF",
    "Appendix F, phases",
    phase_clock,
    r"$\tau$, $\tau_2$, $\tau_3$, $\tau_4$ on a run, with the clause that ended each phase (E10)",
)
