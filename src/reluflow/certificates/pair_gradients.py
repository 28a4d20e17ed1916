"""Margins of samples against their rivals and the gradients of these, for any number of outputs and an output bias.

A pair is a sample k and a rival class c: its margin is <u, h(x_k)> with u = e_y - e_c. With one output and labels -1
and 1 a pair is a sample and u its label. For theta = (w, v), at slopes eta,

    grad <u, h(x_k)> = (<u, v_j> eta_jk x_k for every w_j,  eta_jk <w_j, x_k> u for every v_j,  u for b).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from reluflow.arrays import BoolArray, FloatArray, IndexArray
from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError
from reluflow.geometry.boundary.minimum_norm import box_minimum_norm
from reluflow.geometry.boundary.tolerance import ROUNDING
from reluflow.geometry.boundary.walls import orthonormal_rows
from reluflow.network.network import Network


@dataclass(frozen=True, eq=False)
class Pairs:
    """All pairs of a sample and a rival class.

    Parameters
    ----------
    samples
        Index of the sample, shape (num_pairs,).
    rivals
        The rival class, shape (num_pairs,); 0 for one output.
    directions
        u, shape (num_pairs, K).
    """

    samples: IndexArray
    rivals: IndexArray
    directions: FloatArray

    @classmethod
    def of(cls, dataset: Dataset) -> Pairs:
        """The pairs of labels -1 and 1 or of classes, sample by sample."""
        everyone = np.arange(dataset.n)
        if dataset.num_outputs == 1:
            return cls(everyone, np.zeros(dataset.n, dtype=np.intp), dataset.y[:, None])
        if dataset.classes is None:
            raise InvalidInputError("`dataset` must have classes for margins between them, got rows of numbers.")
        own, unit = dataset.y.astype(np.intp), np.eye(dataset.num_outputs)
        samples, rivals = np.nonzero(np.arange(dataset.num_outputs) != own[:, None])
        return cls(samples, rivals, unit[own[samples]] - unit[rivals])

    def margins(self, outputs: FloatArray) -> FloatArray:
        """<u, h(x_k)> of every pair, shape (num_pairs,), from outputs (n,) or (n, K)."""
        rows = outputs[:, None] if outputs.ndim == 1 else outputs
        return np.asarray(np.einsum("pc,pc->p", rows[self.samples], self.directions))

    def forces(self, multipliers: FloatArray, num_samples: int) -> FloatArray:
        """f_k = sum over the pairs of sample k of lambda u, shape (n, K)."""
        forces = np.zeros((num_samples, self.directions.shape[1]))
        np.add.at(forces, self.samples, multipliers[:, None] * self.directions)
        return forces

    def unanswered(self, num_samples: int) -> FloatArray:
        """The forces of samples with output 0, up to a factor: those of equal multipliers, shape (n, K)."""
        return self.forces(np.ones(len(self.samples)), num_samples)

    def by_class(self, multipliers: FloatArray, num_samples: int) -> FloatArray:
        """The multipliers as a table (n, K) with 0 for the own class; of one output (n,)."""
        if self.directions.shape[1] == 1:
            return multipliers
        table = np.zeros((num_samples, self.directions.shape[1]))
        table[self.samples, self.rivals] = multipliers
        return table

    def carrying(self, table: FloatArray, share: float) -> IndexArray:
        """The pairs whose multiplier in a table of `by_class` exceeds a share of the largest."""
        values = table if table.ndim == 1 else table[self.samples, self.rivals]
        return np.flatnonzero(values > share * np.max(values, initial=0.0))


@dataclass(frozen=True, eq=False)
class UnitNetwork:
    """The direction of a network: (w, v) of norm 1, the weights of the neurons counted, and b in the same units.

    Parameters
    ----------
    w, v, b
        Shapes (num_neurons, d), (num_neurons, K), (K,); b is 0 where there is none.
    weight
        Multiplicities.
    sizes
        |(w_j, v_j)|, shape (num_neurons,).
    """

    w: FloatArray
    v: FloatArray
    b: FloatArray
    weight: FloatArray
    sizes: FloatArray

    @classmethod
    def of(cls, network: Network) -> UnitNetwork:
        """At theta / |theta|, b / |theta|^2."""
        sizes = np.sqrt(network.squared_output_weights() + np.sum(network.w**2, axis=1))
        largest = float(sizes.max())
        if largest == 0.0:
            raise InvalidInputError("`network` must have a neuron that is not zero; the zero network has no direction.")
        total = largest * float(np.sqrt(network.weight @ (sizes / largest) ** 2))
        bias = np.zeros(network.num_outputs)
        if network.b is not None and np.any(network.b):
            with np.errstate(over="ignore"):
                bias = network.b * np.exp(-2.0 * network.log_scale) / total**2
        return cls(network.w / total, network.v / total, bias, network.weight, sizes / total)


@dataclass(frozen=True, eq=False)
class PairGradients:
    """The gradients of the margins of all pairs, never written out.

    Parameters
    ----------
    network
        At norm 1.
    X
        Samples (n, d).
    pairs
        Whose margins.
    slopes
        eta, shape (num_neurons, n).
    bias_unit
        What a component of the gradient along b counts for; 0 where b is absent or fixed.
    walls
        Neurons with an orthonormal basis of the samples on whose boundaries they stand: there the slopes are free, and
        what lies along these samples is left out. None of them: the slopes count as they are.
    pressed
        Neurons with the samples (z, d) outside `X` on whose boundaries they stand and that push them back as hard as it
        takes: w_j = sum_k eta_jk <f_k, v_j> x_k - sum_b mu_b x_b with any mu_b >= 0.
    """

    network: UnitNetwork
    X: FloatArray
    pairs: Pairs
    slopes: FloatArray
    bias_unit: float
    walls: tuple[tuple[int, FloatArray], ...] = ()
    pressed: tuple[tuple[int, FloatArray], ...] = ()

    def with_slopes(self, slopes: FloatArray) -> PairGradients:
        """With other slopes at the kinks, all of which count."""
        return replace(self, slopes=slopes, walls=())

    def off_walls(self, kinks: BoolArray) -> PairGradients:
        """Without what lies along the samples on whose boundaries a neuron stands (`kinks`, (num_neurons, n))."""
        held = [(int(j), orthonormal_rows(self.X[kinks[j]])) for j in np.flatnonzero(kinks.any(axis=1))]
        return replace(self, walls=tuple(held))

    @cached_property
    def _held(self) -> tuple[tuple[int, FloatArray], ...]:
        """Neurons with an orthonormal basis of all that they cannot move along."""
        rows: dict[int, list[FloatArray]] = {}
        for j, found in (*self.walls, *self.pressed):
            rows.setdefault(j, []).append(found)
        return tuple((j, orthonormal_rows(np.vstack(found))) for j, found in rows.items())

    @cached_property
    def activated(self) -> FloatArray:
        """eta <w_j, x_k>, shape (num_neurons, n)."""
        return np.asarray(self.slopes * (self.network.w @ self.X.T))

    def targets(self, margins: FloatArray) -> FloatArray:
        """<theta, grad> of every pair, by Euler's identity twice the margin without the bias."""
        return 2.0 * (margins - self.pairs.directions @ self.network.b)

    def gram(self, some: IndexArray) -> FloatArray:
        """<grad, grad> of some pairs, b included in its unit."""
        k, u, network = self.pairs.samples[some], self.pairs.directions[some], self.network
        levers = np.sqrt(network.weight)[:, None] * (network.v @ u.T) * self.slopes[:, k]
        heights = np.sqrt(network.weight)[:, None] * self.activated[:, k]
        of_outputs = heights.T @ heights + self.bias_unit**2
        found = (self.X[k] @ self.X[k].T) * (levers.T @ levers) + of_outputs * (u @ u.T)
        for j, basis in self._held:
            along = levers[j] * (basis @ self.X[k].T)
            found -= along.T @ along
        return np.asarray(found)

    def left(self, multipliers: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """What the multipliers leave of w, of v, and along b."""
        forces, network = self.pairs.forces(multipliers, len(self.X)), self.network
        left_w = network.w - (self.slopes * (network.v @ forces.T)) @ self.X
        for j, basis in self.walls:
            left_w[j] -= (basis @ left_w[j]) @ basis
        walls = dict(self.walls)
        for j, rows in self.pressed:
            across = rows - (rows @ walls[j].T) @ walls[j] if j in walls else rows
            count, tolerance = len(rows), ROUNDING * float(np.linalg.norm(network.w[j]))
            left_w[j], _ = box_minimum_norm(left_w[j], across, np.zeros(count), np.full(count, np.inf), tolerance)
        return left_w, network.v - self.activated @ forces, -self.bias_unit * np.sum(forces, axis=0)

    def residual(self, multipliers: FloatArray) -> float:
        """|theta - sum lambda grad|, of a network of norm 1."""
        left_w, left_v, left_b = self.left(multipliers)
        squares = self.network.weight @ (np.sum(left_w**2, axis=1) + np.sum(left_v**2, axis=1))
        return float(np.sqrt(squares + left_b @ left_b))

    def along(self, multipliers: FloatArray) -> FloatArray:
        """<what is left, grad> of every pair."""
        left_w, left_v, left_b = self.left(multipliers)
        weight = self.network.weight[:, None]
        rows = (self.slopes * (left_w @ self.X.T)).T @ (weight * self.network.v)
        rows += self.activated.T @ (weight * left_v) + self.bias_unit * left_b
        return np.asarray(np.einsum("pc,pc->p", rows[self.pairs.samples], self.pairs.directions))

    def lengths(self) -> FloatArray:
        """|grad| of every pair, 1 where that is 0."""
        k, u, network = self.pairs.samples, self.pairs.directions, self.network
        levers = np.einsum("jp,jp,j->p", (network.v @ u.T) ** 2, self.slopes[:, k] ** 2, network.weight)
        heights = (network.weight @ self.activated**2)[k] + self.bias_unit**2
        squares = np.sum(self.X[k] ** 2, axis=1) * levers + heights * np.sum(u**2, axis=1)
        return np.where(squares > 0.0, np.sqrt(squares), 1.0)
