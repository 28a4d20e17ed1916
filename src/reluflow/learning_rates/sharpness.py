"""Sharpness: the largest eigenvalue of the Hessian of the loss, which bounds the learning rates that can stay there.

Within one activation pattern the loss is smooth, with h_k = sum_j weight_j a_j s_jk <w_j, x_k>. Its Hessian is
J^T C J - B, where J is the derivative of the outputs, C the curvatures c l'' of the samples, and B has for each neuron
the block [[0, D_j], [D_j^T, 0]] with D_j = sum_k s_jk f_k x_k. A neuron of weight mu moves as mu neurons would, so its
rows of J are counted sqrt(mu) times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from reluflow.arrays import BoolArray, FloatArray, IntArray
from reluflow.dynamics.problem import TrainingProblem
from reluflow.geometry.boundary.walls import Walls
from reluflow.network import Network

ON_WALL = 1e-9  # |<w, x>| below this share of |w| |x|: the neuron is on the wall of the sample
MOST_PIECES = 256  # that meet at a point and are all looked at
_DENSE = 400  # parameters up to which the Hessian is made as a matrix: ARPACK may miss an end in a cluster
_MOST_MOVES = 64  # pieces that are looked at where there are more than can be listed


@dataclass(frozen=True)
class Sharpness:
    """The spectrum's ends at one network.

    Parameters
    ----------
    largest, smallest
        Largest and smallest eigenvalue of the Hessian, over all pieces of the loss that meet there.
    num_pieces
        How many pieces meet: 1 where no neuron is on a wall.
    is_exact
        Whether all of them were looked at.
    """

    largest: float
    smallest: float
    num_pieces: int = 1
    is_exact: bool = True

    @property
    def stable_below(self) -> float:
        """2 / sharpness: a larger learning rate cannot stay at this point.

        >>> Sharpness(4.0, 0.0).stable_below
        0.5
        """
        return 2.0 / self.largest if self.largest > 0.0 else np.inf


class Hessian:
    """The Hessian of the loss on one piece, as products with vectors; parameters are (w, a) neuron by neuron.

    Parameters
    ----------
    problem
        What is trained.
    network
        Where; its scale is multiplied in.
    slopes
        s_jk of the piece, shape (num_neurons, n); by default those of a network that is on no wall.
    """

    def __init__(self, problem: TrainingProblem, network: Network, slopes: FloatArray | None = None) -> None:
        network = network.materialized()
        X, y, loss = problem.dataset.X, problem.dataset.y, problem.loss
        slopes = piece_of(network, X) if slopes is None else slopes
        self.problem, self.network, self.slopes = problem, network, slopes
        along, root = self.network.w @ X.T, np.sqrt(self.network.weight)[:, None]
        outputs = np.asarray((self.network.weight * self.network.a) @ (self.slopes * along))
        self._forces = loss.forces(outputs, y)
        self._curvatures = loss.sample_weight(len(y)) * loss.curvature(outputs, y)
        self._pulls = (self.slopes * self._forces) @ X
        self._by_w = root * self.network.a[:, None] * self.slopes
        self._by_a = root * self.slopes * along * float(problem.trains_output_layer)

    @property
    def num_parameters(self) -> int:
        """m (d + 1)."""
        return self.network.num_neurons * (self.network.d + 1)

    def outputs_by(self, step: FloatArray) -> FloatArray:
        """J times a step of the parameters, shape (n,)."""
        along = step[:, :-1] @ self.problem.dataset.X.T  # (m, n)
        return np.asarray(np.sum(self._by_w * along + self._by_a * step[:, -1:], axis=0))

    def parameters_by(self, outputs: FloatArray) -> FloatArray:
        """J^T times a change of the outputs, shape (m, d + 1)."""
        return np.column_stack([(self._by_w * outputs) @ self.problem.dataset.X, self._by_a @ outputs])

    @property
    def largest_derivative(self) -> float:
        """The largest norm of the derivative of one output."""
        squares = np.einsum("kd,kd->k", self.problem.dataset.X, self.problem.dataset.X)
        return float(np.sqrt(np.max(np.sum(self._by_w**2, axis=0) * squares + np.sum(self._by_a**2, axis=0))))

    @property
    def gradient(self) -> FloatArray:
        """The gradient of the objective, shape (m, d + 1), in the same units."""
        decay = self.problem.weight_decay * self._decayed(self._parameters)
        return np.asarray(-self.parameters_by(self._forces) + decay)

    @property
    def _parameters(self) -> FloatArray:
        root = np.sqrt(self.network.weight)[:, None]
        return np.asarray(root * np.column_stack([self.network.w, self.network.a]))

    def _decayed(self, step: FloatArray) -> FloatArray:
        """What weight decay acts on."""
        return step if self.problem.trains_output_layer else np.column_stack([step[:, :-1], np.zeros(len(step))])

    def times(self, step: FloatArray) -> FloatArray:
        """The Hessian times a step, shape (m, d + 1)."""
        moved = self.parameters_by(self._curvatures * self.outputs_by(step))
        if self.problem.trains_output_layer:
            moved[:, :-1] -= step[:, -1:] * self._pulls
            moved[:, -1] -= np.einsum("jd,jd->j", self._pulls, step[:, :-1])
        if self.problem.weight_decay:
            moved += self.problem.weight_decay * self._decayed(step)
        return np.asarray(moved)

    def matrix(self) -> FloatArray:
        """As a matrix, (m (d + 1), m (d + 1))."""
        shape, size = (self.network.num_neurons, self.network.d + 1), self.num_parameters
        return np.stack([self.times(unit.reshape(shape)).ravel() for unit in np.eye(size)])

    def ends(self) -> tuple[float, float]:
        """Smallest and largest eigenvalue."""
        return self._by_patterns()._own_ends()

    def _by_patterns(self) -> Hessian:
        """A Hessian of fewer neurons whose spectrum has the same ends.

        With z_j = sqrt(weight_j) (w_j, a_j) the rows of Z, steps S of the neurons of one pattern move the outputs by
        Z^T S alone. Where Z = Q R has more rows than columns, the steps Q T have the Hessian of neurons R, and the
        others, orthogonal to Q, move no output: only the pull D of the pattern and weight decay act on them, with
        eigenvalues between weight_decay - |D| and weight_decay + |D|. Neither end is theirs alone. Q T holds a step
        along the first that moves no output, for of such steps the outputs know d numbers and there are d + 1; and to
        the second the outputs add what is not negative.
        """
        network, most = self.network, self.network.d + 1
        patterns, pattern_of, sizes = np.unique(self.slopes, axis=0, return_inverse=True, return_counts=True)
        if not np.any(sizes > most):
            return self
        alone = sizes[pattern_of.ravel()] <= most
        rows, slopes = [self._parameters[alone]], [self.slopes[alone]]
        for at in np.flatnonzero(sizes > most):
            members = np.flatnonzero(pattern_of.ravel() == at)
            rows.append(np.linalg.qr(self._parameters[members])[1])
            slopes.append(np.repeat(patterns[at : at + 1], most, axis=0))
        together = np.concatenate(rows)
        fewer = network.replace(w=together[:, :-1], a=together[:, -1], weight=np.ones(len(together)))
        return Hessian(self.problem, fewer, np.concatenate(slopes))

    def _own_ends(self) -> tuple[float, float]:
        if self.num_parameters <= _DENSE:
            values = np.linalg.eigvalsh(self.matrix())
            return float(values[0]), float(values[-1])
        shape, size = (self.network.num_neurons, self.network.d + 1), self.num_parameters
        operator = LinearOperator((size, size), matvec=lambda v: self.times(v.reshape(shape)).ravel(), dtype=np.float64)
        start = np.random.default_rng(0).standard_normal(size)  # ARPACK's own start differs from call to call
        return _end(operator, "SA", start), _end(operator, "LA", start)


def _end(operator: LinearOperator, which: Literal["SA", "LA"], start: FloatArray) -> float:
    """One end of the spectrum; where ARPACK stops early, the best it has."""
    try:
        return float(eigsh(operator, k=1, which=which, v0=start, return_eigenvectors=False, tol=1e-10)[0])
    except ArpackNoConvergence as stopped:
        vector = start / np.linalg.norm(start)
        found = stopped.eigenvalues
        return float(found[0]) if len(found) else float(vector @ operator.matvec(vector))


def sharpness(problem: TrainingProblem, network: Network | None = None) -> Sharpness:
    """The largest and smallest eigenvalue of the Hessian of the loss at a network.

    Where neurons are on walls several pieces of the loss meet, each with a Hessian of its own; the largest over them
    counts, since descent comes to all of them.

    Parameters
    ----------
    problem
        Dataset, loss and network.
    network
        Where; by default the problem's own network.

    Examples
    --------
    >>> import reluflow
    >>> data = reluflow.Dataset([[1.0]], [4.0])
    >>> problem = reluflow.TrainingProblem(data, reluflow.SquareLoss(), reluflow.Network(w=[[2.0]], a=[2.0]))
    >>> round(sharpness(problem).largest, 12)
    8.0
    """
    at = (problem.network if network is None else network).materialized()
    walls = Walls.of(problem.dataset.X)
    touched = np.argwhere(_is_on_wall(at, walls))  # rows (neuron, wall)
    if not len(touched):
        low, high = Hessian(problem, at).ends()
        return Sharpness(high, low)
    pieces = _Pieces(walls, at, touched, piece_of(at, problem.dataset.X))
    if 2 ** len(touched) > MOST_PIECES:
        return _by_moves(problem, at, pieces)
    ends = [Hessian(problem, at, pieces.slopes(sides)).ends() for sides in product((-1, 1), repeat=len(touched))]
    lows, highs = zip(*ends, strict=True)
    return Sharpness(max(highs), min(lows), len(ends), is_exact=pieces.all_exist)


def chatter_at(problem: TrainingProblem, network: Network, lr: float) -> float:
    """How much higher than at a limit on walls the loss of a descent may be that chatters across them, to first order.

    A step moves the pre-activation of a neuron on the wall of sample k by at most lr |a| |f_k| |x_k|^2, f_k the force
    with which the sample pulls; the output by |a| times that, and the loss by |f_k| times the output.
    """
    at, X = network.materialized(), problem.dataset.X
    walls = Walls.of(X)
    is_on = _is_on_wall(at, walls)[:, walls.wall_of_sample] & (walls.orientation != 0)  # (m, n)
    forces = problem.loss.forces(at.outputs(X), problem.dataset.y)
    heights = forces**2 * np.einsum("kd,kd->k", X, X)
    return float(lr * np.sum(at.weight[:, None] * at.a[:, None] ** 2 * np.where(is_on, heights, 0.0)))


def piece_of(network: Network, X: FloatArray) -> FloatArray:
    """The slopes s_jk of the piece of the loss in which a network lies, shape (num_neurons, n)."""
    return np.where(network.pre_activations(X) > 0.0, 1.0, network.leak)


def _is_on_wall(network: Network, walls: Walls) -> BoolArray:
    """Pairs (neuron, wall) with <w, normal> = 0 to rounding, of neurons that are not zero, (m, num_walls)."""
    sizes = np.linalg.norm(network.w, axis=1)[:, None]
    return np.asarray((np.abs(network.w @ walls.normals.T) <= ON_WALL * sizes) & (sizes > 0.0))


@dataclass(frozen=True, eq=False)
class _Pieces:
    """The pieces of the loss that meet at a network: one for each choice of sides of the walls that neurons are on."""

    walls: Walls
    network: Network
    touched: IntArray  # (p, 2): neuron, wall
    off_walls: FloatArray  # slopes (m, n), which count where a neuron is on no wall

    def slopes(self, sides: Sequence[int]) -> FloatArray:
        """The slopes of one piece."""
        chosen = np.zeros((len(self.off_walls), len(self.walls.normals)))
        chosen[self.touched[:, 0], self.touched[:, 1]] = sides
        of_sample = chosen[:, self.walls.wall_of_sample] * self.walls.orientation  # (m, n), 0 off the walls
        return np.where(of_sample == 0.0, self.off_walls, np.where(of_sample > 0.0, 1.0, self.network.leak))

    @property
    def all_exist(self) -> bool:
        """Whether every choice of sides is taken somewhere near: no neuron's walls depend on each other."""
        neurons = self.touched[:, 0]
        normals = [self.walls.normals[self.touched[neurons == j, 1]] for j in np.unique(neurons)]
        return all(np.linalg.matrix_rank(rows) == len(rows) for rows in normals)


def _by_moves(problem: TrainingProblem, network: Network, pieces: _Pieces) -> Sharpness:
    """The largest found by changing one side at a time while that makes it larger: a lower bound."""
    sides = [-1] * len(pieces.touched)
    low, high = Hessian(problem, network, pieces.slopes(sides)).ends()
    looked, last_change = 1, 0
    place = 0
    while looked < _MOST_MOVES and place - last_change < len(sides):
        at = place % len(sides)
        sides[at] = -sides[at]
        new_low, new_high = Hessian(problem, network, pieces.slopes(sides)).ends()
        looked, low, place = looked + 1, min(low, new_low), place + 1
        if new_high > high * (1.0 + 1e-12):
            high, last_change = new_high, place
        else:
            sides[at] = -sides[at]
    return Sharpness(high, low, looked, is_exact=False)
