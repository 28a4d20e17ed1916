"""The data scaling law, and with it every problem carried into the unit ball where explicit constants are stated.

With radius R = max |x_i| the flow on X from theta at time t is the flow on X/R from sqrt(R) theta at time R t.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.data.dataset import Dataset
from reluflow.dynamics.trajectory import Snapshot
from reluflow.geometry.subgradient import minimum_norm_subgradient
from reluflow.losses import AbstractLoss
from reluflow.network import Network
from reluflow.network.network import leaky_relu, row_norms
from reluflow.theory.elsewhere import definition
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.flow_plan import FlowPlan

SLIDING_RTOL = 1e-9  # |<w, x>| / (|w| |x|) of a neuron that slides; rounding leaves some 1e-15

NUM_DRAWS = 40  # random networks on which an inequality for all networks is tried

DRAW_SEED = 2021


@dataclass(frozen=True, eq=False)
class UnitBall:
    """A dataset divided by its largest norm, with the change of scale and time that makes the flow the same.

    Parameters
    ----------
    X, y
        Samples with |x_i| <= 1, shape (n, d), and labels.
    radius
        R, the norm that was divided out.
    """

    X: FloatArray
    y: FloatArray
    radius: float

    @classmethod
    def of(cls, dataset: Dataset) -> UnitBall:
        """The unit-ball form of a dataset."""
        radius = float(np.max(np.linalg.norm(dataset.X, axis=1)))
        return cls(dataset.X / radius, dataset.y, radius)

    def network(self, network: Network) -> Network:
        """sqrt(R) theta: the network whose outputs on X/R are those of theta on X."""
        return network.scaled(0.5 * np.log(self.radius))

    def neurons(self, network: Network, *, log_unit: float = 0.0) -> FloatArray:
        """Rows (w, a) of sqrt(R) theta, divided by exp(`log_unit`), shape (num_neurons, d + 1)."""
        factor = np.exp(network.log_scale + 0.5 * np.log(self.radius) - log_unit)
        return np.asarray(factor * neuron_rows(network))

    def log_norm(self, network: Network) -> float:
        """ln |sqrt(R) theta|_M."""
        return log_m_norm(network) + 0.5 * float(np.log(self.radius))

    def own_time(self, unit_time: float) -> float:
        """Time of the given problem at a time of the unit-ball problem."""
        return unit_time / self.radius


def neuron_rows(network: Network) -> FloatArray:
    """Rows (w_k, a_k) of the shape, without the scale, shape (num_neurons, d + 1)."""
    return np.hstack([network.w, network.a[:, None]])


def m_norm(rows: ArrayLike) -> float:
    """|theta|_M = max over neurons of max(|w_k|, |a_k|), from rows (w_k, a_k).

    Lyu et al. (2021), Def. 5.1 [lyu2021].

    >>> m_norm([[3.0, 4.0, 1.0], [0.0, 1.0, -6.0]])
    6.0
    """
    values = np.asarray(rows, dtype=np.float64)
    return float(max(np.max(np.linalg.norm(values[:, :-1], axis=1)), np.max(np.abs(values[:, -1]))))


DEF_5_1 = definition(
    "lyu2021:def5.1", "Def. 5.1", m_norm, r"$|\theta|_M$ is the largest of $\max(|w_k|, |a_k|)$ over neurons"
)


def log_m_norm(network: Network) -> float:
    """ln |theta|_M, the scale included; -inf for the zero network."""
    with np.errstate(divide="ignore"):
        return float(np.log(m_norm(neuron_rows(network))) + network.log_scale)


def output_gradients(network: Network, X: FloatArray) -> FloatArray:
    """Gradient of every f(x_i) in (w, a), shape (n, num_neurons, d + 1); slope 1 at a kink, log_scale 0 assumed."""
    products = network.pre_activations(X)  # (num_neurons, n)
    slopes = np.where(products >= 0.0, 1.0, network.leak)
    by_w = (network.a[:, None] * slopes).T[:, :, None] * X[:, None, :]
    by_a = leaky_relu(products, network.leak).T[:, :, None]
    return np.concatenate([by_w, by_a], axis=2)


def pull(network: Network, X: FloatArray, forces: FloatArray) -> FloatArray:
    """sum_i r_i grad f(x_i), shape (num_neurons, d + 1): minus the gradient of the loss for its forces r."""
    return np.asarray(np.einsum("i,ikp->kp", forces, output_gradients(network, X)))


def velocity(network: Network, outputs: FloatArray, dataset: Dataset, loss: AbstractLoss) -> FloatArray:
    """(dw/dt, da/dt) of the shape under the given outputs: on boundaries the minimum-norm Clarke subgradient.

    Shape (num_neurons, d + 1); the true velocity is exp(log_scale) times it.
    """
    forces = loss.forces(outputs, dataset.y)
    products = network.pre_activations(dataset.X)
    lengths = row_norms(network.w)[:, None] * np.linalg.norm(dataset.X, axis=1)
    patterns = np.where(np.abs(products) <= SLIDING_RTOL * lengths, 0, np.sign(products)).astype(np.int8)
    directions = (np.where(patterns > 0, 1.0, network.leak) * forces) @ dataset.X
    for k in np.flatnonzero(np.any(patterns == 0, axis=1)):
        directions[k] = minimum_norm_subgradient(dataset.X, forces, patterns[k], network.leak)[0]
    by_a = leaky_relu(products, network.leak) @ forces
    return np.hstack([network.a[:, None] * directions, by_a[:, None]])


def velocity_at(evidence: Evidence, snapshot: Snapshot) -> FloatArray:
    """The same at a snapshot of a run of the evidence's problem."""
    return velocity(snapshot.network, snapshot.outputs, evidence.dataset, evidence.loss)


def even_times(evidence: Evidence, num_intervals: int) -> FlowPlan:
    """Snapshots at even distances up to the parameter `until`, a unit-ball time."""
    until = evidence.parameter("until") / unit_ball(evidence).radius
    return FlowPlan(times=tuple(float(t) for t in np.linspace(0.0, until, num_intervals + 1)))


def steps_of(evidence: Evidence) -> Iterator[tuple[FloatArray, FloatArray, Network]]:
    """The input weights at each snapshot of the run and at the next, in the units of the latter, and its network."""
    for before, after in pairwise(evidence.run.snapshots):
        ratio = np.exp(before.network.log_scale - after.network.log_scale)
        yield ratio * before.network.w, after.network.w, after.network


@dataclass(frozen=True, eq=False)
class State:
    """A network with the outputs it is claimed to have on the samples of the unit ball."""

    network: Network
    outputs: FloatArray

    @property
    def rows(self) -> FloatArray:
        """Its neurons (w_k, a_k)."""
        return neuron_rows(self.network)

    @property
    def size(self) -> float:
        """Its M-norm."""
        return m_norm(self.rows)


@computed_once
def unit_ball(evidence: Evidence) -> UnitBall:
    """The unit-ball form of the evidence's dataset."""
    return UnitBall.of(evidence.dataset)


@dataclass(frozen=True, eq=False)
class DrawnNetworks:
    """The networks on which a statement about all networks is tried."""

    states: tuple[State, ...]


def drawn_networks(evidence: Evidence) -> DrawnNetworks:
    """Random networks of the problem's width and of many sizes, with their outputs."""
    ball, rng = unit_ball(evidence), np.random.default_rng(DRAW_SEED)
    m, d = evidence.network.w.shape
    drawn = []
    for size in np.geomspace(1e-2, 3.0, NUM_DRAWS):
        rows = rng.standard_normal((m, d + 1))
        rows *= size / m_norm(rows)
        network = Network(rows[:, :-1], rows[:, -1], leak=evidence.leak)
        drawn.append(State(network, network.outputs(ball.X)))
    return DrawnNetworks(tuple(drawn))


def states(evidence: Evidence) -> tuple[State, ...]:
    """Those that the theorem drew."""
    return evidence.recorded(DrawnNetworks).states
