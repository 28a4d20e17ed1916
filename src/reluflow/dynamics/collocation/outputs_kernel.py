"""OutputsKernel: how forces on the samples move several outputs, and an output bias.

The kernel of n samples and K outputs is an (n K, n K) matrix, which is never made: it is F F^T with a column of F for
every weight, and products with it go neuron by neuron, at a cost that is linear in n, K and the dimension. For one
output without bias `TangentKernel` makes the (n, n) matrix from X X^T instead.
"""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray, IntArray
from reluflow.dynamics.collocation.tuning import DEPENDENT_SINGULAR_VALUE
from reluflow.geometry.boundary.tolerance import ROUNDING
from reluflow.geometry.boundary.walls import Walls


class OutputsKernel:
    """dh_kc/dt per unit force on output e of sample l, for neurons z = (w, v) with given masses.

    K_(kc)(le) = sum_j mass_j s_jk s_jl (v_jc v_je <x_k, x_l> + [c = e] <w_j, x_k> <w_j, x_l>) + [c = e] bias_rate,
    where for a neuron that slides the samples are replaced by their projections along its walls.

    Parameters
    ----------
    z, mass
        The neurons, shape (m, d + K), and their squared sizes.
    walls, leak, X
        The samples' hyperplanes, the negative slope and the samples.
    heights
        <w_j, normal_b>, shape (m, num_walls).
    moves_outputs
        Whether output weights move; else the second term is not there.
    bias_rate
        How fast the output bias follows the forces; 0 where it is not trained.
    """

    def __init__(
        self,
        z: FloatArray,
        mass: FloatArray,
        walls: Walls,
        leak: float,
        X: FloatArray,
        *,
        heights: FloatArray,
        moves_outputs: bool = True,
        bias_rate: float = 0.0,
    ) -> None:
        w, v = z[:, : X.shape[1]], z[:, X.shape[1] :]
        is_on = np.abs(heights) <= ROUNDING * np.linalg.norm(z, axis=1)[:, None]
        slopes = walls.slopes(np.where(is_on, 0, np.sign(heights)).astype(np.int8), leak)
        self._slopes = slopes * np.sqrt(mass)[:, None]  # (m, n)
        self._inner = self._slopes * (w @ X.T) if moves_outputs else np.zeros((0, len(X)))
        self._X, self._v, self._bias_rate = X, v, bias_rate
        self._bases = {j: _span(walls.normals[is_on[j]]) for j in np.flatnonzero(np.any(is_on, axis=1)).tolist()}

    @property
    def num_factors(self) -> int:
        """Columns of F."""
        num_neurons, num_outputs = self._v.shape
        num_moved = len(self._inner) * num_outputs + (num_outputs if self._bias_rate > 0.0 else 0)
        return int(num_neurons * self._X.shape[1] + num_moved)

    def factors(self, forces: IntArray) -> FloatArray:
        """F with K = F F^T for some of the forces (n K,), shape (len(forces), num_factors)."""
        num_outputs, d = self._v.shape[1], self._X.shape[1]
        samples, outputs = np.divmod(forces, num_outputs)
        X, found = self._X[samples], np.zeros((len(forces), self.num_factors))
        for j, v in enumerate(self._v):
            part = (self._slopes[j, samples] * v[outputs])[:, None] * X
            if j in self._bases:
                part -= (part @ self._bases[j].T) @ self._bases[j]
            found[:, j * d : (j + 1) * d] = part
        column = len(self._v) * d + outputs
        rows = np.arange(len(forces))
        for inner in self._inner:
            found[rows, column] = inner[samples]
            column = column + num_outputs
        if self._bias_rate > 0.0:
            found[rows, column] = np.sqrt(self._bias_rate)
        return found

    def rows(self, forces: IntArray) -> FloatArray:
        """K for some of the forces and all, shape (len(forces), n K).

        Block by block of two outputs: sums over neurons, each (r, n), times <x_k, x_l>, instead of over the d + K times
        as many columns of F. Neurons that slide lose what lies along their walls.
        """
        (n, _), (_, num_outputs) = self._X.shape, self._v.shape
        samples, outputs = np.divmod(forces, num_outputs)
        owners = np.array([j for j, basis in self._bases.items() for _ in basis], dtype=np.intp)
        walls = [self._slopes[j][:, None] * (self._X @ basis.T) for j, basis in self._bases.items()]
        along_walls = np.hstack(walls) if walls else np.zeros((n, 0))
        found = np.zeros((len(forces), n, num_outputs))
        for c in range(num_outputs):
            places = np.flatnonzero(outputs == c)
            chosen = samples[places]
            gram, slopes, sliding = self._X[chosen] @ self._X.T, self._slopes[:, chosen].T, along_walls[chosen]
            for e in range(num_outputs):
                levers = self._v[:, c] * self._v[:, e]
                block = (slopes * levers) @ self._slopes
                block *= gram
                if owners.size:
                    block -= (sliding * levers[owners]) @ along_walls.T
                if c == e:
                    block += self._inner[:, chosen].T @ self._inner + self._bias_rate
                found[places, :, e] = block
        return found.reshape(len(forces), n * num_outputs)

    def diagonal(self) -> FloatArray:
        """K for every force and itself, shape (n K,)."""
        squares = np.einsum("ki,ki->k", self._X, self._X)[None] * np.square(self._slopes)  # (m, n)
        for j, basis in self._bases.items():
            squares[j] -= np.sum(np.square(self._X @ basis.T), axis=1) * np.square(self._slopes[j])
        inner = np.sum(np.square(self._inner), axis=0)[:, None] + self._bias_rate
        return np.asarray((squares.T @ np.square(self._v) + inner).ravel())

    def times(self, forces: FloatArray) -> FloatArray:
        """K times columns of forces, shape (n K, r)."""
        (n, _), num_outputs = self._X.shape, self._v.shape[1]
        columns = forces.reshape(n, num_outputs, -1)
        flat = columns.reshape(n, -1)
        found = np.asarray(self._inner.T @ (self._inner @ flat)).reshape(columns.shape)
        found += self._bias_rate * np.sum(columns, axis=0)
        for j, (slope, v) in enumerate(zip(self._slopes, self._v, strict=True)):
            pull = self._X.T @ (slope[:, None] * np.einsum("kcr,c->kr", columns, v))
            if j in self._bases:
                pull -= self._bases[j].T @ (self._bases[j] @ pull)
            found += (slope[:, None] * (self._X @ pull))[:, None] * v[:, None]
        return np.asarray(found.reshape(forces.shape))


def _span(normals: FloatArray) -> FloatArray:
    """Orthonormal rows that span some normals."""
    basis, strengths, _ = np.linalg.svd(normals.T, full_matrices=False)
    return np.asarray(basis[:, strengths > DEPENDENT_SINGULAR_VALUE].T)
