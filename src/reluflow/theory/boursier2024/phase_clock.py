"""The phase clock: when the phases of Appendix F end on a run, and which clause ended each [boursier2024]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.stopping import Stationary
from reluflow.network import Network
from reluflow.theory.boursier2024.phase_states import PhaseState, log_scale_of, phase_states
from reluflow.theory.boursier2024.spurious_constants import constants_of
from reluflow.theory.evidence import Evidence, FlowPlan, kept
from reluflow.theory.theorem import Parameter

EPS = Parameter("eps", 0.25, "share of -ln(lambda)/|D*| that the alignment phase lasts", low=0.0, high=1.0 / 3.0)
EPS_2 = Parameter("eps_2", 0.04, "sum of a^2 over the positive neurons at which Phase 2a ends", low=0.0)
EPS_3 = Parameter("eps_3", 5e-7, "distance of the positive neurons' line to beta* at which Phase 2b ends", low=0.0)
EPS_4 = Parameter("eps_4", 1e-3, "distance the parameters may move in Phase 3", low=0.0)
DELTA_PRIME = Parameter("delta_prime", 0.004, "least cosine of a positive neuron with a sample in Phase 2b", 0.0, 1.0)
DELTA_4 = Parameter("delta_4", 0.02, "least cosine of a positive neuron with a sample in Phase 3", 0.0, 1.0)
CLOCK_PARAMETERS = (EPS, EPS_2, EPS_3, EPS_4, DELTA_PRIME, DELTA_4)

Clause = tuple[str, Callable[[PhaseState], float]]  # fires where the function is at least 0


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

    def aligned(self) -> PhaseState | None:
        """The state at tau."""
        return self._at(self.alignment)

    def between(self, begin: PhaseEnd, end: PhaseEnd) -> tuple[PhaseState, ...]:
        """States recorded in the phase from `begin` to `end`; the rest of the run where `end` was not reached."""
        return tuple(s for s in self.states[begin.index :] if s.time <= end.time)

    def _at(self, end: PhaseEnd) -> PhaseState | None:
        return self.states[end.index] if end.index < len(self.states) else None


@kept
def phase_clock(evidence: Evidence) -> PhaseClock:
    """Read the clock of a run for the parameters eps, eps_2, eps_3, eps_4, delta_prime, delta_4 of the evidence.

    A parameter that the result at hand does not have takes its default.
    """
    states, constants = phase_states(evidence), constants_of(evidence)
    log_lambda = log_scale_of(evidence.network)
    eps, eps_2, eps_3, eps_4, delta_prime, delta_4 = (_chosen(evidence, p) for p in CLOCK_PARAMETERS)
    tau = alignment_time(evidence, eps)
    first = next((i for i, s in enumerate(states) if s.time >= tau), len(states))
    alignment = PhaseEnd(tau if first < len(states) else np.inf, "time" if first < len(states) else "", first)

    def negative_above(level: float) -> Clause:
        return "negative", lambda s: s.log_square_sum(s.sets.negative) - level

    def facet_below(delta: float) -> Clause:
        return "facet", lambda s: delta - float(np.min(s.cosines, initial=np.inf))

    growth = _first(
        states,
        alignment,
        (
            ("grown", lambda s: s.log_square_sum(s.sets.positive) - float(np.log(eps_2))),
            negative_above(float(np.log(2.0)) + 2.0 * log_lambda),
        ),
    )
    fitting = _first(
        states,
        growth,
        (
            (
                "fitted",
                lambda s: float(np.log(eps_3) - np.log(np.linalg.norm(s.beta_positive - constants.beta_star) + 1e-300)),
            ),
            ("spread", lambda s: s.log_pair_gap - eps * log_lambda),
            facet_below(delta_prime),
            negative_above(2.0 * (1.0 - eps) * log_lambda),
        ),
    )
    entry = states[fitting.index] if fitting.index < len(states) else None

    def moved(state: PhaseState) -> float:
        return parameter_distance(state, entry) - eps_4 if entry is not None else -np.inf

    convergence = _first(states, fitting, (("moved", moved), facet_below(delta_4)))
    return PhaseClock(states, log_lambda, alignment, growth, fitting, convergence)


def alignment_time(evidence: Evidence, eps: float) -> float:
    """tau = -eps ln(lambda) / |D*|; 0 where lambda is 1 or more."""
    return max(-eps * log_scale_of(evidence.network) / constants_of(evidence).pull_norm, 0.0)


def phase_plan(evidence: Evidence) -> FlowPlan:
    """Snapshots through all phases: few while neurons grow freely, many around the growth, then out to the limit."""
    constants = constants_of(evidence)
    pull, rate = constants.pull_norm, constants.pl_constant
    tau = alignment_time(evidence, _chosen(evidence, EPS))
    growth = max(-log_scale_of(evidence.network) / pull, tau + 1.0 / pull)
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
    """|theta - theta'| with the weights of the neurons."""
    (w, a), (w_two, a_two) = (_parameters(each.network) for each in (state, other))
    squares = np.sum((w - w_two) ** 2, axis=1) + (a - a_two) ** 2
    return float(np.sqrt(state.network.weight @ squares))


def _parameters(network: Network) -> tuple[FloatArray, FloatArray]:
    """w and a with the scale included; what underflows is nothing beside the distances that are asked for."""
    scale = np.exp(network.log_scale)
    return network.w * scale, network.a * scale


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
