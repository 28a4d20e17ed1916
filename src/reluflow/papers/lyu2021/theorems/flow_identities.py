"""What every trajectory of the flow satisfies: Lemmas B.15 to B.17, Corollary B.18, Lemma E.10 [lyu2021]."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.network import Network
from reluflow.papers.lyu2021.paper import EXAMPLE, SETTING
from reluflow.papers.lyu2021.theorems.hypotheses import MEAN_LOSS
from reluflow.papers.lyu2021.theorems.parameters import UNTIL_40, UNTIL_60
from reluflow.papers.lyu2021.theorems.unit_ball import (
    drawn_networks,
    even_times,
    neuron_rows,
    states,
    unit_ball,
    velocity,
    velocity_at,
)
from reluflow.theory.comparison import Comparison, Level, Values, at_most, none_of, require
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.flow_plan import Companion, FlowPlan
from reluflow.theory.hypotheses import BALANCED, NO_RIDGE
from reluflow.theory.measures import AtLeast, AtMost
from reluflow.theory.setting import Setting
from reluflow.theory.theorem import Conclusion, Reference, Theorem

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


# Lemma B.15 -----------------------------------------------------------------------------------------------------------


def _energy(evidence: Evidence) -> Comparison:
    """|L(0) - L(t) - integral of |dtheta/dt|^2| / (L(0) - L(t)) against the quadrature's own error bound."""
    snapshots = evidence.run.snapshots
    require(len(snapshots) > NUM_INTERVALS, "the run ended before the last snapshot")
    powers = [np.exp(2.0 * s.network.log_scale) * np.sum(velocity_at(evidence, s) ** 2) for s in snapshots]
    work, error = _integral(np.array(powers), snapshots[1].time - snapshots[0].time)
    drop = snapshots[0].loss - snapshots[-1].loss
    require(drop != 0.0, "the loss does not change up to the last snapshot; raise `until`")
    words = f"$L$ falls by {drop:.9g}, the integral is {work:.9g}, its error at most {error:.2g}"
    return at_most(abs(drop - float(work)) / drop, float(error) / drop + 1e-9, detail=words)


LEMMA_B_15 = Theorem(
    "lyu2021:lemmaB.15",
    Reference("lyu2021", "Lemma B.15"),
    r"Almost everywhere $d\theta/dt$ is minus the shortest Clarke subgradient, and $dL/dt = -|d\theta/dt|^2$.",
    hypotheses=(MEAN_LOSS, NO_RIDGE),
    conclusions=(Conclusion("energy", r"$L(0) - L(t)$ is the integral of $|d\theta/dt|^2$", _energy, Level.EXACT),),
    parameters=(UNTIL_60,),
    plan=partial(even_times, num_intervals=NUM_INTERVALS),
    setting=SETTING,
    example=EXAMPLE,
    departs="The integral is a trapezoidal sum over the snapshots; its own error bound is the tolerance.",
)

# Lemma B.16 -----------------------------------------------------------------------------------------------------------


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


LEMMA_B_16 = Theorem(
    "lyu2021:lemmaB.16",
    Reference("lyu2021", "Lemma B.16"),
    r"$|w_k|^2/2$ and $a_k^2/2$ grow at the same rate $\sum_i r_i a_k \varphi(\langle w_k, x_i\rangle)$; "
    r"$|w_k|^2 - a_k^2$ is constant.",
    hypotheses=(MEAN_LOSS, NO_RIDGE),
    conclusions=(
        Conclusion("rates", r"$\langle w_k, dw_k/dt\rangle = a_k da_k/dt$", AtMost(_equal_rates, 1e-8), Level.EXACT),
        Conclusion("integral", "$a_k^2$ grows by twice the integral of the rate", _rate_integral, Level.EXACT),
        Conclusion("conserved", "$|w_k|^2 - a_k^2$ does not change", AtMost(_drift, DRIFT), Level.EXACT),
    ),
    parameters=(UNTIL_60,),
    plan=partial(even_times, num_intervals=NUM_INTERVALS),
    setting=SETTING,
    example=EXAMPLE,
)

# Lemma B.17 -----------------------------------------------------------------------------------------------------------


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


LEMMA_B_17 = Theorem(
    "lyu2021:lemmaB.17",
    Reference("lyu2021", "Lemma B.17"),
    r"A neuron that is zero once is zero always, and one that is not stays so: $|z_k(t)| \ge e^{-t} |z_k(0)|$.",
    hypotheses=(MEAN_LOSS, NO_RIDGE),
    conclusions=(
        Conclusion("zero", "a zero neuron does not move", AtMost(_stays_zero, 0.0), Level.EXACT),
        Conclusion(
            "alive", "$|z_k(t)| e^t/|z_k(0)|$ is at least 1", AtLeast(_stays_away_from_zero, 1.0, allowance=DRIFT)
        ),
    ),
    parameters=(UNTIL_60,),
    plan=_zero_plan,
    setting=SETTING,
    example=EXAMPLE,
    departs="The rate $e^{-t}$ of the second half is the proof's, for samples in the unit ball.",
    holds_for_descent=True,
)

# Cor. B.18 ------------------------------------------------------------------------------------------------------------


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


COR_B_18 = Theorem(
    "lyu2021:corB.18",
    Reference("lyu2021", "Cor. B.18"),
    "A balanced network stays balanced, and no output weight changes its sign.",
    hypotheses=(MEAN_LOSS, BALANCED, NO_RIDGE),
    conclusions=(
        Conclusion("balanced", "$|a_k| = |w_k|$ at all times", AtMost(_keeps_balance, DRIFT), Level.EXACT),
        Conclusion("signs", "no $a_k$ changes its sign", _keeps_signs, Level.EXACT),
    ),
    parameters=(UNTIL_60,),
    plan=partial(even_times, num_intervals=24),
    setting=Setting(loss="logistic", leak=None, init="lyu-balanced", width=6, scale="1e-2"),
    example=EXAMPLE,
    holds_for_descent=True,
)

# Lemma E.10 -----------------------------------------------------------------------------------------------------------

INTEGRATION = 1e-9  # relative; the runs have rtol 1e-10


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


LEMMA_E_10 = Theorem(
    "lyu2021:lemmaE.10",
    Reference("lyu2021", "Lemma E.10"),
    r"Every Clarke subgradient $g$ of $L$ has $|g| \le |\theta|$: "
    r"$|\theta(t + h) - \theta(t)| \le (e^h - 1)|\theta(t)|$.",
    hypotheses=(MEAN_LOSS,),
    conclusions=(
        Conclusion("subgradient", r"$|g|$ over $|\theta|$", AtMost(_subgradient_bound, 1.0)),
        Conclusion(
            "steps", r"$|\theta(t + h) - \theta(t)|$ over its bound", AtMost(_steps_bound, 1.0, allowance=INTEGRATION)
        ),
    ),
    parameters=(UNTIL_40,),
    plan=partial(even_times, num_intervals=24),
    record=drawn_networks,
    setting=SETTING,
    example=EXAMPLE,
)
