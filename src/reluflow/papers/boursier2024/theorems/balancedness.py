"""Lemma 1: the flow conserves a_j^2 - |w_j|^2, and a step of descent changes it by a known amount [boursier2024]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.network.network import row_norms
from reluflow.papers.boursier2024.assumptions import SMOOTH_LOSS
from reluflow.papers.boursier2024.paper import SETTING, THREE_POINTS
from reluflow.papers.boursier2024.theorems.alignment_regime import recorded_states
from reluflow.papers.boursier2024.theorems.neuron_states import NeuronStates
from reluflow.theory.comparison import Comparison, Level, Source, Values, at_most, none_of
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.hypotheses import assumed
from reluflow.theory.measures import AtMost
from reluflow.theory.theorem import Conclusion, Parameter, Reference, Theorem

UNTIL = Parameter("until", 30.0, "time up to which the run is followed", low=0.0)
RTOL = Parameter("rtol", 1e-12, "allowed relative change, for rounding", low=0.0)
LR = Parameter("lr", 0.1, "step size of the descent the flow is compared with", low=0.0)

NUM_TIMES = 9
STEP_ROUNDING = 1e-14  # relative; measured below 6e-16


def _plan(evidence: Evidence) -> FlowPlan:
    return FlowPlan(times=tuple(np.linspace(0.0, evidence.parameter("until"), NUM_TIMES)))


def _conserved(evidence: Evidence) -> Values:
    """Change of a_j^2 - |w_j|^2 over the snapshots, relative to the neuron's largest squared norm so far."""
    start = evidence.network
    for snapshot in evidence.run.snapshots:
        network = snapshot.network
        square = np.exp(2.0 * (network.log_scale - start.log_scale))  # one common scale for both networks
        change = np.abs(square * network.balancedness() - start.balancedness())
        size = square * (network.a**2 + np.sum(network.w**2, axis=1)) + start.a**2 + np.sum(start.w**2, axis=1)
        yield change / np.maximum(size, np.finfo(float).tiny)


def _rtol(evidence: Evidence) -> float:
    return evidence.parameter("rtol")


def _no_sign_change(evidence: Evidence) -> Comparison:
    """With |a_j| >= |w_j| at the start, no output weight ever changes its sign."""
    start = evidence.network
    dominated = np.abs(start.a) >= row_norms(start.w) * (1.0 - 1e-12)
    flips = sum(
        int(np.sum(dominated & (np.sign(s.network.a) != np.sign(start.a)) & (s.network.a != 0.0)))
        for s in evidence.run.snapshots
    )
    return none_of(flips, total=int(np.sum(dominated)))


def descent_step(states: NeuronStates, lr: float) -> tuple[FloatArray, FloatArray]:
    """(w, a) of the shape after one step of gradient descent, w + lr a D and a + lr <w, D>."""
    network, pulls = states.network, states.bent_pulls
    return network.w + lr * network.a[:, None] * pulls, network.a + lr * np.sum(network.w * pulls, axis=1)


def descent_change(states: NeuronStates, lr: float) -> FloatArray:
    """What one step of descent adds to a_j^2 - |w_j|^2: lr^2 (<w, D>^2 - a^2 |D|^2), at most 0 where |w_j| <= |a_j|."""
    network, pulls = states.network, states.bent_pulls
    return np.asarray(lr**2 * (np.sum(network.w * pulls, axis=1) ** 2 - network.a**2 * np.sum(pulls * pulls, axis=1)))


@dataclass(frozen=True, eq=False)
class DescentSteps:
    """(w, a) after one step of gradient descent from every recorded state."""

    steps: tuple[tuple[FloatArray, FloatArray], ...]


def descent_steps(evidence: Evidence) -> DescentSteps:
    """One step of descent from every recorded state."""
    return DescentSteps(tuple(descent_step(here, evidence.parameter("lr")) for here in recorded_states(evidence)))


def _descent_identity(evidence: Evidence) -> Comparison:
    """One step of descent from every snapshot; the error is relative to the neuron's squared norm after the step."""
    lr = evidence.parameter("lr")
    states, steps = recorded_states(evidence), evidence.recorded(DescentSteps).steps
    worst, largest = 0.0, -np.inf
    for here, (w, a) in zip(states, steps, strict=True):
        squares = np.sum(w * w, axis=1)
        size = np.maximum(a**2 + squares, np.finfo(float).tiny)
        expected = descent_change(here, lr)
        worst = max(worst, float(np.max(np.abs(a**2 - squares - here.network.balancedness() - expected) / size)))
        dominated = np.abs(here.network.a) >= row_norms(here.network.w)
        largest = max(largest, float(np.max((expected / size)[dominated], initial=-np.inf)))
    detail = f"relative error {worst:.2g} with lr {lr:g}; the change of dominated neurons is at most {largest:.2g}"
    return at_most(worst, STEP_ROUNDING, detail=detail)


LEMMA_1 = Theorem(
    "boursier2024:lemma1",
    Reference("boursier2024", "Lemma 1"),
    "Along the flow $a_j^2 - |w_j|^2$ is constant for every neuron; a dominated neuron keeps the sign of $a_j$.",
    hypotheses=(assumed(SMOOTH_LOSS),),
    conclusions=(
        Conclusion("conserved", "$a_j^2 - |w_j|^2$ does not change", AtMost(_conserved, _rtol), Level.EXACT),
        Conclusion("sign", "no $a_j$ of a dominated neuron changes its sign", _no_sign_change, Level.EXACT),
        Conclusion(
            "descent-step",
            r"a step $\eta$ of gradient descent changes $a_j^2 - |w_j|^2$ by "
            r"$\eta^2 (\langle w, D\rangle^2 - a^2 |D|^2)$",
            _descent_identity,
            Level.EXACT,
            Source.RELUFLOW,
        ),
    ),
    parameters=(UNTIL, RTOL, LR),
    plan=_plan,
    record=descent_steps,
    setting=SETTING,
    example=THREE_POINTS,
    holds_for_descent=True,
)
