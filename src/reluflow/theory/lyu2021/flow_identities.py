"""What every trajectory of the flow satisfies: energy, balance, zero neurons, sgn a_k; Appendix B [lyu2021]."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.network import Network
from reluflow.theory.evidence import Companion, Evidence, FlowPlan, kept
from reluflow.theory.lyu2021.unit_ball import even_times, neuron_rows, unit_ball, velocity_at
from reluflow.theory.measurement import Measurement, Values, at_most, need, none_of

NUM_INTERVALS = 240  # of the quadrature, an even number
DRIFT = 1e-9  # relative change of a^2 - |w|^2 that counts as integration error; 1e-14 was seen


def _plan(evidence: Evidence, num_intervals: int = NUM_INTERVALS) -> FlowPlan:
    return even_times(evidence, num_intervals)


def _integral(values: FloatArray, step: float) -> tuple[FloatArray, FloatArray]:
    """Trapezoidal integral over the first axis and a bound of its error.

    The error of two neighbouring intervals is at most the change that halving the step makes there, for a smooth
    integrand as for one that jumps where a neuron crosses a boundary; these changes are summed without their signs.
    """
    integral = step * (values.sum(axis=0) - 0.5 * (values[0] + values[-1]))
    changes = 0.5 * step * np.abs(values[:-2:2] - 2.0 * values[1:-1:2] + values[2::2])
    return integral, changes.sum(axis=0)


def _energy(evidence: Evidence) -> Measurement:
    """|L(0) - L(t) - integral of |dtheta/dt|^2| / (L(0) - L(t)) against the quadrature's own error bound."""
    snapshots = evidence.run.snapshots
    need(len(snapshots) > NUM_INTERVALS, "the run ended before the last snapshot")
    powers = [np.exp(2.0 * s.network.log_scale) * np.sum(velocity_at(evidence, s) ** 2) for s in snapshots]
    work, error = _integral(np.array(powers), snapshots[1].time - snapshots[0].time)
    drop = snapshots[0].loss - snapshots[-1].loss
    need(drop != 0.0, "the loss does not change up to the last snapshot; raise `until`")
    words = f"L falls by {drop:.9g}, the integral is {work:.9g}, its error at most {error:.2g}"
    return at_most(abs(drop - float(work)) / drop, float(error) / drop + 1e-9, detail=words)


@kept
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


def _rate_integral(evidence: Evidence) -> Measurement:
    """Largest |a_k^2(t) - a_k^2(0) - 2 integral of the rate| over neurons, against the quadrature's error bound."""
    need(len(evidence.run.snapshots) > NUM_INTERVALS, "the run ended before the last snapshot")
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
    times = _plan(evidence, 24).times
    return FlowPlan(times=times, companions=(Companion("zero", _with_zero_neuron(evidence.network), times),))


def _stays_zero(evidence: Evidence) -> Values:
    """Size of the zero neuron at the snapshots of the companion run."""
    run = need(evidence.companions.get("zero"), "no run with a zero neuron was made")
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


def _keeps_signs(evidence: Evidence) -> Measurement:
    """How many output weights have another sign at some snapshot than at the start."""
    start = np.sign(evidence.network.a)
    changed = np.any([np.sign(s.network.a) != start for s in evidence.run.snapshots], axis=0)
    return none_of(int(np.sum(changed)), total=len(start))
