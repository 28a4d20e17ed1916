"""What every network and every trajectory of the flow satisfies: Appendix B and Lemma E.10 [lyu2021].

Bounds are tried on random networks of many sizes. The samples are first carried into the unit ball by the data scaling
law, so the bounds apply to every dataset.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.losses import LogisticLoss
from reluflow.network import Network
from reluflow.network.network import leaky_relu
from reluflow.theory.comparison import Comparison, Values, at_most, fitted_slope, judgement, none_of, require
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.flow_plan import Companion, FlowPlan
from reluflow.theory.lyu2021.unit_ball import (
    State,
    even_times,
    m_norm,
    neuron_rows,
    pull,
    states,
    unit_ball,
    velocity,
    velocity_at,
)

SHARP = 0.25  # sup of l'', where the paper uses the bound 1
FORCE_ROUNDING = 5e-16  # of 2 g - 1
INTEGRATION = 1e-9  # relative; the runs have rtol 1e-10


def _width(evidence: Evidence) -> int:
    return evidence.network.num_neurons


def _output_bound(evidence: Evidence) -> Values:
    """|f(x_i)| / (m |theta|_M^2)."""
    return [np.abs(s.outputs) / (_width(evidence) * s.size**2) for s in states(evidence)]


def _difference_bound(evidence: Evidence) -> Values:
    """|f_theta - f_theta'| / (m |theta - theta'|_M (|theta|_M + |theta'|_M)) over consecutive networks."""
    for one, two in pairwise(states(evidence)):
        bound = _width(evidence) * m_norm(one.rows - two.rows) * (one.size + two.size)
        yield np.abs(one.outputs - two.outputs) / bound


def _gradient_gap(state: State, evidence: Evidence) -> FloatArray:
    """grad L - grad L~ for the recorded outputs, rows (w_k, a_k): the forces g_i against their value 1/2 at f = 0."""
    ball = unit_ball(evidence)
    loss = LogisticLoss()
    difference = loss.forces(state.outputs, ball.y) - loss.label_forces(ball.y)
    return -pull(state.network, ball.X, difference)


def _by_neuron(evidence: Evidence, *, by_input: bool, factor: float) -> Values:
    """The part of grad L - grad L~ by w_k or by a_k over m |theta|_M^2 |a_k| or m |theta|_M^2 |w_k|."""
    for s in states(evidence):
        gap, lengths = _gradient_gap(s, evidence), np.linalg.norm(s.rows[:, :-1], axis=1)
        sizes = np.linalg.norm(gap[:, :-1], axis=1) if by_input else np.abs(gap[:, -1])
        yield sizes / (factor * _width(evidence) * s.size**2 * (np.abs(s.rows[:, -1]) if by_input else lengths))


def _whole_gap(evidence: Evidence, *, factor: float) -> Values:
    """|grad L - grad L~|_M / (m |theta|_M^3)."""
    for s in states(evidence):
        yield m_norm(_gradient_gap(s, evidence)) / (factor * _width(evidence) * s.size**3)


def _velocity_gap(evidence: Evidence) -> Values:
    """|v - v~|_M / (m |theta|_M^3), v the velocity on boundaries included and v~ that of phase I."""
    ball, data = unit_ball(evidence), evidence.dataset.replace(X=unit_ball(evidence).X)
    for s in states(evidence):
        early = pull(s.network, ball.X, evidence.loss.label_forces(ball.y))
        yield m_norm(velocity(s.network, s.outputs, data, evidence.loss) - early) / (_width(evidence) * s.size**3)


_NONE_SMALL = "no network is small enough"


def _small_states(evidence: Evidence) -> tuple[State, ...]:
    """The drawn networks of M-norm at most sqrt(eps/(2m)), as Lemma B.14 asks."""
    largest = np.sqrt(evidence.parameter("eps") / (2.0 * _width(evidence)))
    return tuple(s for s in states(evidence) if s.size <= largest)


def _some_are_small(evidence: Evidence) -> Comparison:
    count = len(_small_states(evidence))
    return judgement(count > 0, float(count), f"{count} of {len(states(evidence))} networks have such an M-norm")


def _force_deviation(evidence: Evidence, *, factor: float) -> Values:
    """|2 g_i - 1| / (factor |f(x_i)|) over the small networks, the rounding of g taken off."""
    y = unit_ball(evidence).y
    for s in require(_small_states(evidence), _NONE_SMALL):
        deviations = np.abs(2.0 * y * LogisticLoss().force(s.outputs, y) - 1.0) - FORCE_ROUNDING
        yield np.maximum(deviations, 0.0) / np.maximum(factor * np.abs(s.outputs), np.finfo(float).tiny)


def _deviation_below_eps(evidence: Evidence) -> Values:
    """eps_i = |2 g_i - 1| over the small networks."""
    y, small = unit_ball(evidence).y, require(_small_states(evidence), _NONE_SMALL)
    return [np.abs(2.0 * y * LogisticLoss().force(s.outputs, y) - 1.0) for s in small]


def _loss_gap(evidence: Evidence) -> Values:
    """|L - L~| / (max f^2 / 8), L~ = ln 2 - sum_k a_k G(w_k); below rounding where f is tiny."""
    ball = unit_ball(evidence)
    for s in states(evidence):
        potentials = leaky_relu(s.rows[:, :-1] @ ball.X.T, evidence.leak) @ ball.y / (2.0 * len(ball.y))
        gap = abs(LogisticLoss().total(s.outputs, ball.y) - (np.log(2.0) - s.rows[:, -1] @ potentials))
        yield max(gap - 1e-15, 0.0) / (float(np.max(s.outputs**2)) / 8.0)


def _loss_gap_order(evidence: Evidence) -> float:
    """Order of |L - L~| in the scale, one network swept over three decades; sup l'' makes it 4 (f^2)."""
    ball, state = unit_ball(evidence), states(evidence)[-1]
    outputs, scales = state.outputs / float(np.max(np.abs(state.outputs))), np.geomspace(1e-2, 1e-1, 5)
    gaps = []
    for scale in scales:
        values = scale**2 * outputs
        gaps.append(abs(LogisticLoss().total(values, ball.y) - np.log(2.0) + ball.y @ values / (2.0 * len(ball.y))))
    return fitted_slope(np.log(scales), np.log(gaps))


def _subgradient_bound(evidence: Evidence) -> Values:
    """|grad L|_2 / |theta|_2 over the drawn networks."""
    data = evidence.dataset.replace(X=unit_ball(evidence).X)
    for s in states(evidence):
        yield np.linalg.norm(velocity(s.network, s.outputs, data, evidence.loss)) / np.linalg.norm(s.rows)


def _steps_bound(evidence: Evidence) -> Values:
    """|theta(t + h) - theta(t)| / ((e^h - 1) |theta(t)|) between snapshots, h in unit-ball time."""
    for one, two in pairwise(evidence.run.snapshots):
        first, second = neuron_rows(one.network), neuron_rows(two.network)
        second = second * np.exp(two.network.log_scale - one.network.log_scale)
        growth = np.expm1((two.time - one.time) * unit_ball(evidence).radius)
        yield np.linalg.norm(second - first) / (growth * np.linalg.norm(first))


NUM_INTERVALS = 240  # of the quadrature, an even number
DRIFT = 1e-9  # relative change of a^2 - |w|^2 that counts as integration error; 1e-14 was seen


def _integral(values: FloatArray, step: float) -> tuple[FloatArray, FloatArray]:
    """Trapezoidal integral over the first axis and a bound of its error.

    The error of two neighbouring intervals is at most the change that halving the step makes there, for a smooth
    integrand as for one that jumps where a neuron crosses a boundary; these changes are summed without their signs.
    """
    integral = step * (values.sum(axis=0) - 0.5 * (values[0] + values[-1]))
    changes = 0.5 * step * np.abs(values[:-2:2] - 2.0 * values[1:-1:2] + values[2::2])
    return integral, changes.sum(axis=0)


def _energy(evidence: Evidence) -> Comparison:
    """|L(0) - L(t) - integral of |dtheta/dt|^2| / (L(0) - L(t)) against the quadrature's own error bound."""
    snapshots = evidence.run.snapshots
    require(len(snapshots) > NUM_INTERVALS, "the run ended before the last snapshot")
    powers = [np.exp(2.0 * s.network.log_scale) * np.sum(velocity_at(evidence, s) ** 2) for s in snapshots]
    work, error = _integral(np.array(powers), snapshots[1].time - snapshots[0].time)
    drop = snapshots[0].loss - snapshots[-1].loss
    require(drop != 0.0, "the loss does not change up to the last snapshot; raise `until`")
    words = f"L falls by {drop:.9g}, the integral is {work:.9g}, its error at most {error:.2g}"
    return at_most(abs(drop - float(work)) / drop, float(error) / drop + 1e-9, detail=words)


@computed_once
def _rates(evidence: Evidence) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Over the snapshots, per neuron and in one common scale: <w, dw/dt>, a da/dt and a^2."""
    by_w, by_a, squares = [], [], []
    reference = max(s.network.log_scale for s in evidence.run.snapshots)
    for s in evidence.run.snapshots:
        moved = velocity_at(evidence, s)
        factor = np.exp(2.0 * (s.network.log_scale - reference))
        by_w.append(factor * np.sum(s.network.w * moved[:, :-1], axis=1))
        by_a.append(factor * s.network.a * moved[:, -1])
        squares.append(factor * s.network.a**2)
    return np.array(by_w), np.array(by_a), np.array(squares)


def _equal_rates(evidence: Evidence) -> float:
    """Largest |<w, dw/dt> - a da/dt| over the largest rate of the run."""
    by_w, by_a, _ = _rates(evidence)
    return float(np.max(np.abs(by_w - by_a)) / np.max(np.abs(by_a)))


def _rate_integral(evidence: Evidence) -> Comparison:
    """Largest |a_k^2(t) - a_k^2(0) - 2 integral of the rate| over neurons, against the quadrature's error bound."""
    require(len(evidence.run.snapshots) > NUM_INTERVALS, "the run ended before the last snapshot")
    _, by_a, squares = _rates(evidence)
    snapshots = evidence.run.snapshots
    gained, error = _integral(2.0 * by_a, snapshots[1].time - snapshots[0].time)
    size = float(np.max(squares))
    gaps = np.abs(squares[-1] - squares[0] - gained) / size
    worst = int(np.argmax(gaps - error / size))
    return at_most(float(gaps[worst]), float(error[worst]) / size + 1e-9)


def _drift(evidence: Evidence) -> Values:
    """Changes of a_k^2 - |w_k|^2 over the snapshots, relative to the neuron's own squared norm."""
    start = evidence.network
    for s in evidence.run.snapshots:
        factor = np.exp(2.0 * (s.network.log_scale - start.log_scale))
        change = np.abs(factor * s.network.balancedness() - start.balancedness())
        yield change / (factor * np.sum(neuron_rows(s.network) ** 2, axis=1) + np.sum(neuron_rows(start) ** 2, axis=1))


def _with_zero_neuron(network: Network) -> Network:
    """The network with its last neuron set to zero, or with a zero neuron added to a single one."""
    if network.num_neurons == 1:
        return network.replace(
            w=np.vstack([network.w, 0.0 * network.w]), a=np.append(network.a, 0.0), weight=np.ones(2)
        )
    keep = np.arange(network.num_neurons) < network.num_neurons - 1
    return network.replace(w=network.w * keep[:, None], a=network.a * keep)


def _zero_plan(evidence: Evidence) -> FlowPlan:
    times = even_times(evidence, 24).times
    return FlowPlan(times=times, companions=(Companion("zero", _with_zero_neuron(evidence.network), times),))


def _stays_zero(evidence: Evidence) -> Values:
    """Size of the zero neuron at the snapshots of the companion run."""
    run = require(evidence.companions.get("zero"), "no run with a zero neuron was made")
    return [np.abs(neuron_rows(s.network)[-1]) for s in run.snapshots]


def _stays_away_from_zero(evidence: Evidence) -> Values:
    """|z_k(t)| e^t / |z_k(0)| over neurons and snapshots, t in unit-ball time."""
    start = np.linalg.norm(neuron_rows(evidence.network), axis=1)
    alive = start > 0.0
    for s in evidence.run.snapshots[1:]:  # at the start the two sides are equal
        log_factor = s.network.log_scale - evidence.network.log_scale + s.time * unit_ball(evidence).radius
        ratios = np.linalg.norm(neuron_rows(s.network), axis=1)[alive] / start[alive]
        yield float(np.exp(log_factor) * np.min(ratios))


def _keeps_balance(evidence: Evidence) -> Values:
    """||a_k| - |w_k|| / |z_k| over the snapshots."""
    for s in evidence.run.snapshots:
        rows = neuron_rows(s.network)
        gaps = np.abs(np.abs(rows[:, -1]) - np.linalg.norm(rows[:, :-1], axis=1))
        yield gaps / np.linalg.norm(rows, axis=1)


def _keeps_signs(evidence: Evidence) -> Comparison:
    """How many output weights have another sign at some snapshot than at the start."""
    start = np.sign(evidence.network.a)
    changed = np.any([np.sign(s.network.a) != start for s in evidence.run.snapshots], axis=0)
    return none_of(int(np.sum(changed)), total=len(start))
