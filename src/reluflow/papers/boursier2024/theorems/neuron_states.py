"""Neuron states: pattern, pull D(w, 0), direction w/a of every neuron at one recorded time [boursier2024]."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reluflow.arrays import BoolArray, FloatArray, SignArray
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.trajectory import Snapshot
from reluflow.geometry.activation_pattern import activation_pattern
from reluflow.geometry.alignment import align_until
from reluflow.geometry.subgradient import minimum_norm_subgradient
from reluflow.network import Network
from reluflow.theory.elsewhere import definition

ON_BOUNDARY = 1e-12  # sliding neurons of recorded runs keep |<w, x_k>| below 3e-16 |w| |x_k| (measured)
SMALLEST_NEURON = 1e-290  # as stored: below, a neuron's direction loses digits
FROZEN = -60.0  # ln of a bend of the forces that moves no double of order 1
NO_PULL = 1e-12  # |D| below this fraction of sum_k |r_k| |x_k| is 0: the shortest subgradient is exact to rounding


def log_lambda(network: Network) -> float:
    """ln of the scale lambda = sqrt(sum_j a_j^2), which makes Eq. (5) an equality for this width.

    Every bound asks of the initialisation only that sum_j a_j(0)^2 <= lambda^2 and |w_j| <= |a_j|, so this value serves
    any draw, Gaussian ones included.

    >>> round(log_lambda(Network(w=[[1.0], [0.0]], a=[3.0, 4.0], log_scale=-500.0)), 12)
    -498.390562087566

    References
    ----------
    Boursier & Flammarion (2024), Eqs. (3) to (5) [boursier2024].
    """
    largest = float(np.max(np.abs(network.a)))
    if largest == 0.0:
        return -np.inf
    squares = float(np.sum(network.weight * (network.a / largest) ** 2))
    return network.log_scale + float(np.log(largest)) + 0.5 * float(np.log(squares))


def pulls_of(patterns: SignArray, X: FloatArray, forces: FloatArray, leak: float) -> FloatArray:
    """D_u for every row u of `patterns`, shape (m, d); equal rows on a boundary are solved once."""
    pulls = (np.where(patterns > 0, 1.0, leak) * forces) @ X
    on_boundary = np.any(patterns == 0, axis=1)
    distinct, index = np.unique(patterns[on_boundary], axis=0, return_inverse=True)
    found = [minimum_norm_subgradient(X, forces, pattern, leak)[0] for pattern in distinct]
    pulls[on_boundary] = np.array(found).reshape(len(distinct), X.shape[1])[index.ravel()]
    return np.asarray(pulls)


def sides_of(patterns: SignArray, pulls: FloatArray, X: FloatArray) -> SignArray:
    """+1 where D lies in the cone of its pattern, -1 where in the opposite one, 0 where in neither, shape (m,)."""
    own = activation_pattern(pulls, X, rtol=ON_BOUNDARY)
    is_there, is_opposite = np.all(own == patterns, axis=1), np.all(own == -patterns, axis=1)
    has_pull = np.any(own != 0, axis=1)
    return np.where(has_pull, is_there.astype(np.int8) - is_opposite.astype(np.int8), 0).astype(np.int8)


@dataclass(frozen=True, eq=False)
class Shape:
    """Neurons exp(log_sizes[j]) * (w[j], a[j]), each of its own size; `is_lost` where the digits are gone."""

    w: FloatArray
    a: FloatArray
    log_sizes: FloatArray
    is_lost: BoolArray


@dataclass(frozen=True, eq=False)
class NeuronStates:
    """All neurons at one recorded time.

    One network of doubles holds neurons at most e^700 apart. Those that have fallen below the others by more are taken
    from the closed form of the frozen flow, which is what they follow while no output can bend a force by one digit.

    Parameters
    ----------
    problem
        Dataset and loss.
    time
        When.
    network
        The neurons.
    outputs
        h(x_k), shape (n,).
    """

    problem: TrainingProblem
    time: float
    network: Network
    outputs: FloatArray

    @classmethod
    def at(cls, snapshot: Snapshot, problem: TrainingProblem) -> NeuronStates:
        """The neurons of a snapshot."""
        return cls(problem, snapshot.time, snapshot.network, snapshot.outputs)

    @cached_property
    def shape(self) -> Shape:
        """The neurons, those too small for the network's doubles in closed form."""
        w, a, sizes = self.network.w, self.network.a, np.full(self.network.num_neurons, self.network.log_scale)
        start = self.problem.network
        lost = (np.abs(a) < SMALLEST_NEURON) & (start.a != 0.0)
        dataset, loss = self.problem.dataset, self.problem.loss
        log_bend = self.log_squares + float(np.log(loss.sample_weight(dataset.n) * np.sum(dataset.X**2)))
        if not np.any(lost) or log_bend > FROZEN:
            return Shape(w, a, sizes, lost)
        forces = loss.label_forces(dataset.y)
        found = align_until(dataset.X, forces, start.w[lost], start.a[lost], self.time, leak=start.leak)
        w, a = w.copy(), a.copy()
        w[lost], a[lost], sizes[lost] = found.w, found.a, found.log_norms + start.log_scale
        lost[lost] = found.times != self.time  # no unique way on
        return Shape(w, a, sizes, lost)

    @cached_property
    def patterns(self) -> SignArray:
        """A(w_j), shape (m, n), 0 where the neuron stands on the sample's hyperplane to rounding."""
        w = self.shape.w
        largest = np.max(np.abs(w), axis=1, keepdims=True)  # squares of neurons of size 1e-170 would vanish
        return activation_pattern(w / np.where(largest > 0.0, largest, 1.0), self.problem.dataset.X, rtol=ON_BOUNDARY)

    @cached_property
    def pulls(self) -> FloatArray:
        """D(w_j, 0), the shortest subgradient at zero output, shape (m, d)."""
        dataset, loss = self.problem.dataset, self.problem.loss
        return pulls_of(self.patterns, dataset.X, loss.label_forces(dataset.y), self.network.leak)

    @cached_property
    def bent_pulls(self) -> FloatArray:
        """D(w_j, theta), the shortest subgradient at the present outputs, shape (m, d)."""
        dataset, loss = self.problem.dataset, self.problem.loss
        return pulls_of(self.patterns, dataset.X, loss.forces(self.outputs, dataset.y), self.network.leak)

    @cached_property
    def speeds(self) -> FloatArray:
        """|D(w_j, 0)|, shape (m,), 0 where nothing pulls."""
        dataset, loss = self.problem.dataset, self.problem.loss
        size = np.sum(np.abs(loss.label_forces(dataset.y)) * np.linalg.norm(dataset.X, axis=1))
        length = np.linalg.norm(self.pulls, axis=1)
        return np.where(length > NO_PULL * size, length, 0.0)

    @property
    def is_dead(self) -> BoolArray:
        """D(w_j, 0) = 0, shape (m,)."""
        return np.asarray(self.speeds == 0.0)

    @property
    def signs(self) -> FloatArray:
        """Sign of a_j, shape (m,)."""
        return np.sign(self.shape.a)

    @cached_property
    def directions(self) -> FloatArray:
        """w_j / a_j, shape (m, d): the sign of the output weight is included; 0 for a neuron with a_j = 0."""
        w, a = self.shape.w, self.shape.a[:, None]
        return np.divide(w, a, out=np.zeros_like(w), where=a != 0.0)

    @cached_property
    def alignments(self) -> FloatArray:
        """<w_j / a_j, D(w_j, 0)>, shape (m,); continuous along the flow, although D jumps."""
        return np.asarray(np.sum(self.directions * self.pulls, axis=1))

    @cached_property
    def sides(self) -> SignArray:
        """+1 where D(w_j, 0) lies in the neuron's cone, -1 where in the opposite one, 0 where in neither."""
        return sides_of(self.patterns, self.pulls, self.problem.dataset.X)

    @property
    def is_final(self) -> BoolArray:
        """a_j D(w_j, 0) in the neuron's own cone, or D = 0: from here on the pattern stays (Lemma 13)."""
        return np.asarray(self.is_dead | (self.sides == self.signs))

    @property
    def is_opposite(self) -> BoolArray:
        """w_j/a_j lies on the ray of -D, to rounding: the second way Theorem 1(ii) can end (erratum E4)."""
        with np.errstate(invalid="ignore", divide="ignore"):
            unit = self.directions / np.linalg.norm(self.directions, axis=1)[:, None]
            aim = self.pulls / self.speeds[:, None]
        is_on_ray = np.linalg.norm(unit + aim, axis=1) <= ON_BOUNDARY
        return np.asarray(~self.is_dead & (self.sides == -self.signs) & is_on_ray)

    @property
    def log_outputs(self) -> FloatArray:
        """ln |a_j|, the scale included, shape (m,)."""
        with np.errstate(divide="ignore"):
            return np.log(np.abs(self.shape.a)) + self.shape.log_sizes

    @property
    def log_squares(self) -> float:
        """ln sum_j a_j^2, the scale included."""
        return 2.0 * log_lambda(self.network)

    @property
    def log_budget(self) -> float:
        """ln of c sum_k |h(x_k)| |x_k|: how far the outputs can have bent any D; also below the range of a double."""
        X, loss = self.problem.dataset.X, self.problem.loss
        total = np.sum(np.abs(self.network.shape_outputs(X)) * np.linalg.norm(X, axis=1))
        with np.errstate(divide="ignore"):
            return float(np.log(loss.sample_weight(len(X)) * total)) + 2.0 * self.network.log_scale

    @cached_property
    def gaps(self) -> FloatArray:
        """|D| - <w_j/a_j, D>, shape (m,), from the angle and from 1 - |w/a|, so that small gaps keep their digits."""
        length = np.linalg.norm(self.directions, axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            unit = self.directions / length[:, None]
            aim = self.pulls / self.speeds[:, None]
            cosine = np.sum(unit * aim, axis=1)
            turned = np.where(
                cosine > 0.0, np.sum((unit - cosine[:, None] * aim) ** 2, axis=1) / (1.0 + cosine), 1.0 - cosine
            )
            found = self.speeds * ((1.0 - length) + length * turned)
        return np.where(self.is_dead, 0.0, np.where(length > 0.0, found, self.speeds))


def satisfies_condition_1(states: NeuronStates, alpha_0: float) -> BoolArray:
    """Condition 1(1) at the start: <D, w/a> > -sqrt(1 - alpha_0^2) |D|, shape (m,).

    Dead neurons, D = 0, fail the strict inequality; they have nothing left to do.

    References
    ----------
    Boursier & Flammarion (2024), Condition 1 [boursier2024].
    """
    floor = -np.sqrt(max(1.0 - alpha_0**2, 0.0)) * states.speeds
    return np.asarray(~states.is_dead & (states.alignments > floor))


def satisfies_condition_2(states: NeuronStates) -> BoolArray:
    """Condition 2(1) at the start: <D, w/a> > 0, shape (m,).

    Condition 2(2), never to leave a cone one could stay in, is the policy `ridge="stay"` of the flow.

    References
    ----------
    Boursier & Flammarion (2024), Condition 2 [boursier2024].
    """
    return satisfies_condition_1(states, 1.0)


EQ_5 = definition(
    "boursier2024:eq5",
    "Eqs. (3) to (5)",
    log_lambda,
    r"the scale $\lambda$, taken as the root of $\sum_j a_j(0)^2$ so that Eq. (5) holds for every draw",
)
CONDITION_1 = definition(
    "boursier2024:condition1",
    "Condition 1",
    satisfies_condition_1,
    "part (1), at the start; part (2) is looked at along the run",
)
CONDITION_2 = definition(
    "boursier2024:condition2",
    "Condition 2",
    satisfies_condition_2,
    "part (1), at the start; part (2) is the policy to stay where the flow is not unique",
)
