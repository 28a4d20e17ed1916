"""OutputPoint: a network with several outputs or an output bias, the forces on it, and what its neurons can gain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.certificates.best_neuron import BestNeuron, NeuronOracle
from reluflow.certificates.stationarity import Escape, kinks_of
from reluflow.data.dataset import Dataset
from reluflow.geometry.boundary.minimum_norm import box_minimum_norm
from reluflow.geometry.boundary.tolerance import ROUNDING
from reluflow.losses import AbstractLoss
from reluflow.network.network import Network, row_norms

_STEPS = 10.0 ** -np.arange(9)  # lengths of a trial step, relative to the largest neuron
_BEYOND_GRADIENT = 10.0  # a way down wins this many times what the gradient that is left could


@dataclass(frozen=True, eq=False)
class NeuronMove:
    """A change of one neuron that should lower the loss.

    Parameters
    ----------
    neuron
        Which; None for one that is added.
    w, v
        Directions of its changes, of unit length; v may be 0.
    answer
        What the change of w, at unit length, adds to Gamma at the neuron, shape (K,).
    """

    neuron: int | None
    w: FloatArray
    v: FloatArray
    answer: FloatArray


@dataclass(frozen=True, eq=False)
class OutputPoint:
    """A network with the forces of the samples on it.

    Parameters
    ----------
    forces
        f_k, shape (n, K).
    force_scale
        The larger of sum_k |f_k| |x_k| at this network and at output zero.
    kinks
        Which <w_j, x_k> count as zero, shape (num_neurons, n).
    moves_bias
        Whether there is an output bias that is trained.
    residual, bias_residual
        Relative distance of zero to the subdifferential in (w, v), and |sum_k f_k| over sum_k |f_k| along a trained b.
    """

    network: Network
    dataset: Dataset
    loss: AbstractLoss
    forces: FloatArray
    label_forces: FloatArray
    force_scale: float
    kinks: BoolArray
    residual: float
    bias_residual: float
    moves_bias: bool

    @classmethod
    def of(
        cls, network: Network, dataset: Dataset, loss: AbstractLoss, *, moves_bias: bool, kink_rtol: float
    ) -> OutputPoint:
        X, leak = dataset.X, network.leak
        forces, at_zero = (
            np.reshape(part, (dataset.n, -1))
            for part in (
                loss.forces(network.outputs(X), dataset.y),
                loss.label_forces(dataset.y, dataset.num_outputs),
            )
        )
        lengths, sizes = np.linalg.norm(X, axis=1), row_norms(network.w)
        strengths = [np.linalg.norm(part, axis=1) for part in (forces, at_zero)]
        scale = float(max(strengths[0] @ lengths, strengths[1] @ lengths))
        products = network.pre_activations(X)
        kinks = kinks_of(network, dataset, kink_rtol)
        slopes = np.where(products > 0.0, 1.0, leak)
        pulls = network.v @ forces.T  # <f_k, v_j>, (num_neurons, n)
        moves_w = (slopes * ~kinks * pulls) @ X
        for j in np.flatnonzero(kinks.any(axis=1)):
            on, count = kinks[j], int(np.sum(kinks[j]))
            tolerance = ROUNDING * float(np.abs(pulls[j]) @ lengths)
            ends = np.full(count, leak), np.ones(count)
            moves_w[j], _ = box_minimum_norm(moves_w[j], pulls[j, on, None] * X[on], *ends, tolerance)
        moves_v = (slopes * ~kinks * products) @ forces
        squares = np.sum(moves_w**2, axis=1) + np.sum(moves_v**2, axis=1)
        norm = float(np.sqrt(network.weight @ (network.squared_output_weights() + sizes**2)))
        residual = float(np.sqrt(network.weight @ squares)) / (norm * scale) if norm * scale > 0.0 else 0.0
        felt = float(max(strengths[0].sum(), strengths[1].sum()))
        along = float(np.linalg.norm(forces.sum(axis=0))) / felt if moves_bias and felt > 0.0 else 0.0
        return cls(network, dataset, loss, forces, at_zero, scale, kinks, residual, along, moves_bias)

    def best_new_neuron(self, column: int) -> BestNeuron:
        """The best neuron that could be added, for one output."""
        forces = np.ascontiguousarray(self.forces[:, column])
        return NeuronOracle(self.dataset.X, np.sign(forces), self.network.leak).best(forces)

    def gamma(self, u: FloatArray) -> FloatArray:
        """Gamma(u) = sum_k f_k s(<u, x_k>), shape (K,)."""
        heights = self.dataset.X @ u
        return np.asarray(np.maximum(heights, self.network.leak * heights) @ self.forces)

    def gain_around(self, neuron: int, *, is_zero: bool) -> tuple[float, list[NeuronMove]]:
        """What no small change of a neuron gains per unit of |v|, over all outputs, and changes that should gain."""
        network, X = self.network, self.dataset.X
        v, K = network.v[neuron], network.num_outputs
        on = np.ones(self.dataset.n, dtype=bool) if is_zero else self.kinks[neuron]
        heights = network.pre_activations(X)[neuron]
        slopes = np.where(heights > 0.0, 1.0, network.leak)
        linear = (slopes * ~on) * self.forces.T @ X  # (K, d), the smooth columns of D
        one_sided = K == 1 and not is_zero and v[0] != 0.0
        signs = (int(np.sign(v[0])),) if one_sided else (1, -1)
        bound = 0.0
        directions: list[FloatArray] = []
        for c in range(K):
            forces = np.ascontiguousarray(self.forces[on, c])
            if not on.any():
                bound = max(bound, float(np.linalg.norm(linear[c])))
                continue
            best = NeuronOracle(X[on], np.sign(forces), network.leak, signs=signs).best(forces, linear=linear[c])
            bound = max(bound, best.upper)
            if best.value > 0.0:
                directions.append(best.vector / best.value)
        if not on.any() and bound > 0.0:
            rows = np.linalg.svd(linear, full_matrices=False)[2]
            directions += [*rows, *(-rows)]
        return bound, [move for u in directions for move in self._moves(neuron, u, on, linear)]

    def _moves(self, neuron: int, u: FloatArray, on: BoolArray, linear: FloatArray) -> list[NeuronMove]:
        """Turn w towards u and v towards what that answers, or w alone where that should gain."""
        heights = self.dataset.X[on] @ u
        answer = linear @ u + np.maximum(heights, self.network.leak * heights) @ self.forces[on]
        size = float(np.linalg.norm(answer))
        if size == 0.0:
            return []
        alone = [NeuronMove(neuron, u, 0.0 * answer, answer)] if self.network.v[neuron] @ answer > 0.0 else []
        return [NeuronMove(neuron, u, answer / size, answer), *alone]

    def tried(self, move: NeuronMove) -> Escape | None:
        """Steps of several lengths along a move; the best that lowers the loss by more than a gradient left over."""
        factor = float(np.exp(self.network.log_scale))
        w, v, weight = self.network.w * factor, self.network.v * factor, self.network.weight
        squares = np.sum(w**2, axis=1) + np.sum(v**2, axis=1)
        size = float(np.sqrt(np.max(squares))) or 1.0
        gradient = self.residual * self.force_scale * float(np.sqrt(weight @ squares))
        before = self._loss(w, v, weight)
        place = len(w) if move.neuron is None else move.neuron
        if move.neuron is None:
            w, v = (np.vstack([rows, np.zeros(rows.shape[1])]) for rows in (w, v))
            weight = np.append(weight, 1.0)
        best: Escape | None = None
        for step in size * _STEPS:
            for ratio in (1.0, 0.1, 0.01):
                moved_w, moved_v, change = w.copy(), v.copy(), ratio * step * move.v
                moved_w[place] += step * move.w
                moved_v[place] += change
                lower = before - self._loss(moved_w, moved_v, weight)
                floor = max(1e-14 * before, _BEYOND_GRADIENT * gradient * step * (1.0 + ratio))
                if lower > floor and (best is None or lower > best.actual_decrease):
                    predicted = float(weight[place]) * step * float(moved_v[place] @ move.answer)
                    outputs = float(change[0]) if len(change) == 1 else change
                    best = Escape(move.neuron, step * move.w, outputs, predicted, lower)
        return best

    def _loss(self, w: FloatArray, v: FloatArray, weight: FloatArray) -> float:
        moved = Network(w, v=v, b=self.network.b, leak=self.network.leak, weight=weight)
        return self.loss.total(moved.outputs(self.dataset.X), self.dataset.y)
