"""Appendix B's bounds for a network of M-norm |theta|_M on samples in the unit ball, and phase I's approximate loss.

Each is tried on random networks of many sizes. The samples are first carried into the unit ball by the data scaling
law, so the bounds apply to every dataset.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.losses import LogisticLoss
from reluflow.network.network import leaky_relu
from reluflow.theory.condition import Judgement
from reluflow.theory.evidence import Evidence, FlowPlan
from reluflow.theory.lyu2021.unit_ball import State, m_norm, neuron_rows, pull, states, unit_ball, velocity
from reluflow.theory.measurement import Measurement, at_most, equals, fitted_slope, missing
from reluflow.theory.stating import hypothesis

SHARP = 0.25  # sup of l'', where the paper uses the bound 1
FORCE_ROUNDING = 5e-16  # of 2 g - 1
NUM_TIMES = 25
INTEGRATION = 1e-9  # relative; the runs have rtol 1e-10


def _width(evidence: Evidence) -> int:
    return evidence.network.num_neurons


def _output_bound(evidence: Evidence) -> Measurement:
    """Largest |f(x_i)| / (m |theta|_M^2)."""
    ratios = [
        float(np.max(np.abs(s.outputs))) / (_width(evidence) * m_norm(neuron_rows(s.network)) ** 2)
        for s in states(evidence)
    ]
    return at_most(max(ratios), 1.0)


def _difference_bound(evidence: Evidence) -> Measurement:
    """Largest |f_theta - f_theta'| / (m |theta - theta'|_M (|theta|_M + |theta'|_M)) over consecutive networks."""
    ratios, drawn = [], states(evidence)
    for one, two in pairwise(drawn):
        first, second = neuron_rows(one.network), neuron_rows(two.network)
        bound = _width(evidence) * m_norm(first - second) * (m_norm(first) + m_norm(second))
        ratios.append(float(np.max(np.abs(one.outputs - two.outputs))) / bound)
    return at_most(max(ratios), 1.0)


def _gradient_gap(state: State, evidence: Evidence) -> FloatArray:
    """grad L - grad L~ for the recorded outputs, rows (w_k, a_k): the forces g_i against their value 1/2 at f = 0."""
    ball = unit_ball(evidence)
    loss = LogisticLoss()
    difference = loss.forces(state.outputs, ball.y) - loss.label_forces(ball.y)
    return -pull(state.network, ball.X, difference)


def _by_neuron(evidence: Evidence, *, by_input: bool, factor: float) -> Measurement:
    worst = -np.inf
    for state in states(evidence):
        gap, rows = _gradient_gap(state, evidence), neuron_rows(state.network)
        lengths = np.linalg.norm(rows[:, :-1], axis=1)
        sizes = np.linalg.norm(gap[:, :-1], axis=1) if by_input else np.abs(gap[:, -1])
        partner = np.abs(rows[:, -1]) if by_input else lengths
        worst = max(worst, float(np.max(sizes / (factor * _width(evidence) * m_norm(rows) ** 2 * partner))))
    return at_most(worst, 1.0)


def _whole_gap(evidence: Evidence, *, factor: float) -> Measurement:
    ratios = [
        m_norm(_gradient_gap(s, evidence)) / (factor * _width(evidence) * m_norm(neuron_rows(s.network)) ** 3)
        for s in states(evidence)
    ]
    return at_most(max(ratios), 1.0)


def _velocity_gap(evidence: Evidence) -> Measurement:
    """Largest |v - v~|_M / (m |theta|_M^3), v the velocity on boundaries included and v~ that of phase I."""
    ball, data = unit_ball(evidence), evidence.dataset.replace(X=unit_ball(evidence).X)
    worst = -np.inf
    for s in states(evidence):
        gap = velocity(s.network, s.outputs, data, evidence.loss) - pull(
            s.network, ball.X, evidence.loss.label_forces(ball.y)
        )
        worst = max(worst, m_norm(gap) / (_width(evidence) * m_norm(neuron_rows(s.network)) ** 3))
    return at_most(worst, 1.0)


_NONE_SMALL = "no network is small enough"


def _small_states(evidence: Evidence) -> tuple[State, ...]:
    """The drawn networks of M-norm at most sqrt(eps/(2m)), as Lemma B.14 asks."""
    largest = np.sqrt(evidence.parameter("eps") / (2.0 * _width(evidence)))
    return tuple(s for s in states(evidence) if m_norm(neuron_rows(s.network)) <= largest)


@hypothesis("small-network", "|theta|_M <= sqrt(eps/(2m))", is_regime=True)
def _some_are_small(evidence: Evidence) -> Judgement:
    count = len(_small_states(evidence))
    return Judgement(count > 0, float(count), f"{count} of {len(states(evidence))} networks have such an M-norm")


def _force_deviation(evidence: Evidence, *, factor: float) -> Measurement:
    """Largest |2 g_i - 1| / (factor |f(x_i)|) over the small networks, the rounding of g taken off."""
    y, ratios = unit_ball(evidence).y, []
    for s in _small_states(evidence):
        deviations = np.abs(2.0 * y * LogisticLoss().force(s.outputs, y) - 1.0) - FORCE_ROUNDING
        sizes = np.maximum(factor * np.abs(s.outputs), np.finfo(float).tiny)
        ratios.append(float(np.max(np.maximum(deviations, 0.0) / sizes)))
    return at_most(max(ratios), 1.0) if ratios else missing(_NONE_SMALL)


def _deviation_below_eps(evidence: Evidence) -> Measurement:
    """Largest eps_i = |2 g_i - 1| over the small networks."""
    y = unit_ball(evidence).y
    eps = [np.max(np.abs(2.0 * y * LogisticLoss().force(s.outputs, y) - 1.0)) for s in _small_states(evidence)]
    return at_most(float(np.max(eps)), evidence.parameter("eps")) if eps else missing(_NONE_SMALL)


def _loss_gap(evidence: Evidence) -> Measurement:
    """Largest |L - L~| / (max f^2 / 8), L~ = ln 2 - sum_k a_k G(w_k); below rounding where f is tiny."""
    ball, ratios = unit_ball(evidence), []
    for s in states(evidence):
        rows = neuron_rows(s.network)
        potentials = leaky_relu(rows[:, :-1] @ ball.X.T, evidence.leak) @ ball.y / (2.0 * len(ball.y))
        approximate = np.log(2.0) - rows[:, -1] @ potentials
        gap = abs(LogisticLoss().total(s.outputs, ball.y) - approximate)
        ratios.append(max(gap - 1e-15, 0.0) / (float(np.max(s.outputs**2)) / 8.0))
    return at_most(max(ratios), 1.0)


def _loss_gap_order(evidence: Evidence) -> Measurement:
    """Order of |L - L~| in the scale, one network swept over three decades; sup l'' makes it 4 (f^2)."""
    ball, state = unit_ball(evidence), states(evidence)[-1]
    outputs, scales = state.outputs / float(np.max(np.abs(state.outputs))), np.geomspace(1e-2, 1e-1, 5)
    gaps = []
    for scale in scales:
        values = scale**2 * outputs
        gaps.append(abs(LogisticLoss().total(values, ball.y) - np.log(2.0) + ball.y @ values / (2.0 * len(ball.y))))
    slope = fitted_slope(np.log(scales), np.log(gaps))
    return equals(slope, 4.0, atol=0.05, detail=f"order {slope:.4f} in the scale, 4 expected")


def _subgradient_bound(evidence: Evidence) -> Measurement:
    """Largest |grad L|_2 / |theta|_2 over the drawn networks."""
    data = evidence.dataset.replace(X=unit_ball(evidence).X)
    ratios = [
        np.linalg.norm(velocity(s.network, s.outputs, data, evidence.loss)) / np.linalg.norm(neuron_rows(s.network))
        for s in states(evidence)
    ]
    return at_most(float(np.max(ratios)), 1.0)


def _steps_bound(evidence: Evidence) -> Measurement:
    """Largest |theta(t + h) - theta(t)| / ((e^h - 1) |theta(t)|) between snapshots, h in unit-ball time."""
    ball, snapshots, ratios = unit_ball(evidence), evidence.run.snapshots, []
    for one, two in pairwise(snapshots):
        unit = one.network.log_scale
        first = neuron_rows(one.network)
        second = neuron_rows(two.network) * np.exp(two.network.log_scale - unit)
        growth = np.expm1((two.time - one.time) * ball.radius)
        ratios.append(float(np.linalg.norm(second - first) / (growth * np.linalg.norm(first))))
    return at_most(max(ratios), 1.0, allowance=INTEGRATION)


def _plan(evidence: Evidence) -> FlowPlan:
    until = evidence.parameter("until") / unit_ball(evidence).radius
    return FlowPlan(times=tuple(float(t) for t in np.linspace(0.0, until, NUM_TIMES)))


_lemmab_11_input_sharp = partial(_by_neuron, by_input=True, factor=SHARP)
_lemmab_11_output_sharp = partial(_by_neuron, by_input=False, factor=SHARP)
_lemmab_12_gap_sharp = partial(_whole_gap, factor=SHARP)
