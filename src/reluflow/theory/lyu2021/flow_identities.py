"""What every trajectory of the flow satisfies: energy, balance, zero neurons, sgn a_k; Appendix B [lyu2021]."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.network import Network
from reluflow.theory.evidence import Companion, Evidence, FlowPlan, kept
from reluflow.theory.hypotheses import balanced_start, no_ridge_met
from reluflow.theory.lyu2021.unit_ball import LYU_SETTING, mean_logistic, neuron_rows, unit_ball, velocity
from reluflow.theory.measurement import Level, Measurement, at_least, at_most, missing, none_of
from reluflow.theory.stating import conclusion, theorems_of
from reluflow.theory.theorem import Parameter, Setting

NUM_INTERVALS = 240  # of the quadrature, an even number
DRIFT = 1e-9  # relative change of a^2 - |w|^2 that counts as integration error; 1e-14 was seen
_UNTIL = Parameter("until", 60.0, "unit-ball time up to which the run is followed", low=0.0)
_flow_theorem = theorems_of("lyu2021", setting=LYU_SETTING, example="lyu-symmetric")


def _times(evidence: Evidence, count: int) -> tuple[float, ...]:
    until = evidence.parameter("until") / unit_ball(evidence).radius
    return tuple(float(t) for t in np.linspace(0.0, until, count + 1))


def _quadrature_plan(evidence: Evidence) -> FlowPlan:
    return FlowPlan(times=_times(evidence, NUM_INTERVALS))


def _short_plan(evidence: Evidence) -> FlowPlan:
    return FlowPlan(times=_times(evidence, 24))


def _integral(values: FloatArray, step: float) -> tuple[FloatArray, FloatArray]:
    """Trapezoidal integral over the first axis and a bound of its error.

    The error of two neighbouring intervals is at most the change that halving the step makes there, for a smooth
    integrand as for one that jumps where a neuron crosses a boundary; these changes are summed without their signs.
    """
    integral = step * (values.sum(axis=0) - 0.5 * (values[0] + values[-1]))
    changes = 0.5 * step * np.abs(values[:-2:2] - 2.0 * values[1:-1:2] + values[2::2])
    return integral, changes.sum(axis=0)


@conclusion("energy", "L(0) - L(t) is the integral of |dtheta/dt|^2", Level.EXACT)
def _energy(evidence: Evidence) -> Measurement:
    """|L(0) - L(t) - integral of |dtheta/dt|^2| / (L(0) - L(t)) against the quadrature's own error bound."""
    snapshots = evidence.run.snapshots
    if len(snapshots) <= NUM_INTERVALS:
        return missing("the run ended before the last snapshot")
    powers = np.array(
        [
            np.exp(2.0 * s.network.log_scale)
            * np.sum(velocity(s.network, s.outputs, evidence.dataset, evidence.loss) ** 2)
            for s in snapshots
        ]
    )
    work, error = _integral(powers, snapshots[1].time - snapshots[0].time)
    drop = snapshots[0].loss - snapshots[-1].loss
    if drop == 0.0:
        return missing("the loss does not change up to the last snapshot; raise `until`")
    words = f"L falls by {drop:.9g}, the integral is {work:.9g}, its error at most {error:.2g}"
    return at_most(abs(drop - float(work)) / drop, float(error) / drop + 1e-9, detail=words)


LEMMA_B15 = _flow_theorem(
    "lemmaB.15",
    "Almost everywhere dtheta/dt is minus the shortest Clarke subgradient, and dL/dt = -|dtheta/dt|^2.",
    hypotheses=(mean_logistic(), no_ridge_met),
    conclusions=(_energy,),
    parameters=(_UNTIL,),
    plan=_quadrature_plan,
    departs="The integral is a trapezoidal sum over the snapshots; its own error bound is the tolerance.",
)


@kept
def _rates(evidence: Evidence) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Over the snapshots, per neuron and in one common scale: <w, dw/dt>, a da/dt and a^2."""
    by_w, by_a, squares = [], [], []
    reference = max(s.network.log_scale for s in evidence.run.snapshots)
    for s in evidence.run.snapshots:
        moved = velocity(s.network, s.outputs, evidence.dataset, evidence.loss)
        factor = np.exp(2.0 * (s.network.log_scale - reference))
        by_w.append(factor * np.sum(s.network.w * moved[:, :-1], axis=1))
        by_a.append(factor * s.network.a * moved[:, -1])
        squares.append(factor * s.network.a**2)
    return np.array(by_w), np.array(by_a), np.array(squares)


@conclusion("rates", "<w_k, dw_k/dt> = a_k da_k/dt", Level.EXACT)
def _equal_rates(evidence: Evidence) -> Measurement:
    """Largest |<w, dw/dt> - a da/dt| over the largest rate of the run."""
    by_w, by_a, _ = _rates(evidence)
    return at_most(float(np.max(np.abs(by_w - by_a)) / np.max(np.abs(by_a))), 1e-8)


@conclusion("integral", "a_k^2 grows by twice the integral of the rate", Level.EXACT)
def _rate_integral(evidence: Evidence) -> Measurement:
    """Largest |a_k^2(t) - a_k^2(0) - 2 integral of the rate| over neurons, against the quadrature's error bound."""
    if len(evidence.run.snapshots) <= NUM_INTERVALS:
        return missing("the run ended before the last snapshot")
    _, by_a, squares = _rates(evidence)
    snapshots = evidence.run.snapshots
    gained, error = _integral(2.0 * by_a, snapshots[1].time - snapshots[0].time)
    size = float(np.max(squares))
    gaps = np.abs(squares[-1] - squares[0] - gained) / size
    worst = int(np.argmax(gaps - error / size))
    return at_most(float(gaps[worst]), float(error[worst]) / size + 1e-9)


@conclusion("conserved", "|w_k|^2 - a_k^2 does not change", Level.EXACT)
def _drift(evidence: Evidence) -> Measurement:
    """Largest change of a_k^2 - |w_k|^2 over the snapshots, relative to the neuron's own squared norm."""
    start, worst = evidence.network, 0.0
    for s in evidence.run.snapshots:
        factor = np.exp(2.0 * (s.network.log_scale - start.log_scale))
        change = np.abs(factor * s.network.balancedness() - start.balancedness())
        sizes = factor * np.sum(neuron_rows(s.network) ** 2, axis=1) + np.sum(neuron_rows(start) ** 2, axis=1)
        worst = max(worst, float(np.max(change / sizes)))
    return at_most(worst, DRIFT)


LEMMA_B16 = _flow_theorem(
    "lemmaB.16",
    "|w_k|^2/2 and a_k^2/2 grow at the same rate sum_i r_i a_k phi(<w_k, x_i>); |w_k|^2 - a_k^2 is constant.",
    hypotheses=(mean_logistic(), no_ridge_met),
    conclusions=(_equal_rates, _rate_integral, _drift),
    parameters=(_UNTIL,),
    plan=_quadrature_plan,
)


def _with_zero_neuron(network: Network) -> Network:
    """The network with its last neuron set to zero, or with a zero neuron added to a single one."""
    if network.num_neurons == 1:
        return network.replace(
            w=np.vstack([network.w, 0.0 * network.w]), a=np.append(network.a, 0.0), weight=np.ones(2)
        )
    keep = np.arange(network.num_neurons) < network.num_neurons - 1
    return network.replace(w=network.w * keep[:, None], a=network.a * keep)


def _zero_plan(evidence: Evidence) -> FlowPlan:
    times = _times(evidence, 24)
    return FlowPlan(times=times, companions=(Companion("zero", _with_zero_neuron(evidence.network), times),))


@conclusion("zero", "a zero neuron does not move", Level.EXACT)
def _stays_zero(evidence: Evidence) -> Measurement:
    """Size of the zero neuron at the snapshots of the companion run."""
    run = evidence.companions.get("zero")
    if run is None:
        return missing("no run with a zero neuron was made")
    return at_most(max(float(np.max(np.abs(neuron_rows(s.network)[-1]))) for s in run.snapshots), 0.0)


@conclusion("alive", "|z_k(t)| e^t / |z_k(0)| is at least 1")
def _stays_away_from_zero(evidence: Evidence) -> Measurement:
    """Smallest |z_k(t)| e^t / |z_k(0)| over neurons and snapshots, t in unit-ball time."""
    start = np.linalg.norm(neuron_rows(evidence.network), axis=1)
    alive = start > 0.0
    smallest = np.inf
    for s in evidence.run.snapshots[1:]:  # at the start the two sides are equal
        log_factor = s.network.log_scale - evidence.network.log_scale + s.time * unit_ball(evidence).radius
        ratios = np.linalg.norm(neuron_rows(s.network), axis=1)[alive] / start[alive]
        smallest = min(smallest, float(np.exp(log_factor) * np.min(ratios)))
    return at_least(smallest, 1.0, allowance=DRIFT)


LEMMA_B17 = _flow_theorem(
    "lemmaB.17",
    "A neuron that is zero once is zero always, and one that is not stays so: |z_k(t)| >= e^-t |z_k(0)|.",
    hypotheses=(mean_logistic(), no_ridge_met),
    conclusions=(_stays_zero, _stays_away_from_zero),
    parameters=(_UNTIL,),
    plan=_zero_plan,
    departs="The rate e^-t of the second half is the proof's, for samples in the unit ball.",
)


@conclusion("balanced", "|a_k| = |w_k| at all times", Level.EXACT)
def _keeps_balance(evidence: Evidence) -> Measurement:
    """Largest ||a_k| - |w_k|| / |z_k| over the snapshots."""
    worst = 0.0
    for s in evidence.run.snapshots:
        rows = neuron_rows(s.network)
        gaps = np.abs(np.abs(rows[:, -1]) - np.linalg.norm(rows[:, :-1], axis=1))
        worst = max(worst, float(np.max(gaps / np.linalg.norm(rows, axis=1))))
    return at_most(worst, DRIFT)


@conclusion("signs", "no a_k changes its sign", Level.EXACT)
def _keeps_signs(evidence: Evidence) -> Measurement:
    """How many output weights have another sign at some snapshot than at the start."""
    start = np.sign(evidence.network.a)
    changed = np.zeros(len(start), dtype=bool)
    for s in evidence.run.snapshots:
        changed |= np.sign(s.network.a) != start
    return none_of(int(np.sum(changed)), total=len(start))


_theorem = theorems_of(
    "lyu2021",
    setting=Setting(loss="logistic", leak=None, init="lyu-balanced", width=6, scale="1e-2"),
    example="lyu-symmetric",
)

COROLLARY_B18 = _theorem(
    "corB.18",
    "A balanced network stays balanced, and no output weight changes its sign.",
    hypotheses=(mean_logistic(), balanced_start(), no_ridge_met),
    conclusions=(_keeps_balance, _keeps_signs),
    parameters=(_UNTIL,),
    plan=_short_plan,
)
