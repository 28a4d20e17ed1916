"""When the rank-one limit has the least norm of all interpolators: the number M, its dual, two neurons that beat it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.best_neuron import Gains, NeuronOracle
from reluflow.network import Network
from reluflow.theory.evidence import Evidence, computed_once

NUM_STARTS = 6  # of the search over the cone of three or more vectors
MAX_DIMENSION = 8  # 2^d - 2 sets are searched


@dataclass(frozen=True, eq=False)
class ConePair:
    """p of one cone and q of the opposite one, both unit, with the value cos(p, q) - sin(p, v*).

    `coefficients` are those of p in the dual basis, 0 outside its set K.
    """

    value: float
    p: FloatArray
    q: FloatArray
    coefficients: FloatArray


@dataclass(frozen=True, eq=False)
class Interpolation:
    """n = d unit samples in the rows of X, and the unit teacher; everything depends on directions alone."""

    X: FloatArray
    teacher: FloatArray

    @cached_property
    def dual(self) -> FloatArray:
        """chi_k in the columns: <chi_k, x_i> is 1 for i = k and 0 else, shape (d, d)."""
        return np.asarray(np.linalg.inv(self.X))

    @cached_property
    def multipliers(self) -> FloatArray:
        """l with v* = sum l_i x_i, the only possible dual certificate of the rank-one networks, shape (d,)."""
        return np.asarray(self.dual.T @ self.teacher)

    @cached_property
    def gains(self) -> Gains:
        """Best neurons for the multipliers: a network that fits has sum |a_j w_j| >= 1/(largest gain)."""
        return NeuronOracle(self.X, np.sign(self.multipliers), 0.0).gains(self.multipliers)

    @property
    def is_surely_negative(self) -> bool:
        """Whether <chi_k, chi_l> <= 0 for all k != l, which puts M below 0."""
        gram = self.dual.T @ self.dual
        return bool(np.all(gram[~np.eye(len(gram), dtype=bool)] <= 0.0))

    @property
    def is_exhaustive(self) -> bool:
        """Whether all sets K have at most two members, so that the search below is over intervals."""
        return len(self.teacher) <= 3

    def best_pair(self, coefficients: FloatArray) -> ConePair:
        """The best q for p = sum of coefficients chi_k: the projection of p on the opposite cone."""
        from scipy.optimize import nnls

        p = self.dual @ coefficients
        p, coefficients = p / np.linalg.norm(p), coefficients / np.linalg.norm(p)
        rays = self.dual[:, coefficients == 0.0]
        rays = rays / np.linalg.norm(rays, axis=0)
        weights, _ = nnls(rays, p)
        q = rays @ weights
        if np.linalg.norm(q) < 1e-9:  # p is opposed to the whole cone: its nearest ray
            q = rays[:, int(np.argmax(rays.T @ p))]
        q = q / np.linalg.norm(q)
        across = float(np.linalg.norm(p - self.teacher * (p @ self.teacher)))
        return ConePair(float(p @ q) - across, p, q, coefficients)

    @cached_property
    def best(self) -> ConePair:
        """The pair with the largest value found; `value` is M where `is_exhaustive`, else a lower bound."""
        d = len(self.teacher)
        pairs = [self.best_pair(self._widened((k,), np.ones(1))) for k in range(d)]
        for size in range(2, d):
            for members in combinations(range(d), size):
                pairs.append(self._searched(members))
        return max(pairs, key=lambda pair: pair.value)

    def _widened(self, members: tuple[int, ...], coefficients: FloatArray) -> FloatArray:
        wide = np.zeros(len(self.teacher))
        wide[list(members)] = coefficients / np.linalg.norm(self.dual, axis=0)[list(members)]
        return wide

    def _searched(self, members: tuple[int, ...]) -> ConePair:
        from scipy.optimize import minimize, minimize_scalar

        def pair_at(shares: FloatArray) -> ConePair:
            return self.best_pair(self._widened(members, np.maximum(shares, 1e-12)))

        if len(members) == 2:

            def pair_on(angle: float) -> ConePair:
                return pair_at(np.array([np.cos(angle), np.sin(angle)]))

            grid = np.linspace(1e-9, 0.5 * np.pi - 1e-9, 181)
            values = [pair_on(float(angle)).value for angle in grid]
            k = int(np.argmax(values))
            bracket = (float(grid[max(k - 1, 0)]), float(grid[min(k + 1, 180)]))
            found = minimize_scalar(
                lambda angle: -pair_on(float(angle)).value, bounds=bracket, method="bounded", options={"xatol": 1e-12}
            )
            return max((pair_on(float(found.x)), pair_on(float(grid[k]))), key=lambda pair: pair.value)
        rng = np.random.default_rng(0)
        method: dict[str, Any] = {"method": "Nelder-Mead", "tol": 1e-10}
        starts = rng.normal(size=(NUM_STARTS, len(members)))

        def height(x: FloatArray) -> float:
            return -pair_at(np.exp(x - np.max(x))).value  # only the shares count

        ends = [minimize(height, start, **method).x for start in starts]
        return max((pair_at(np.exp(x - np.max(x))) for x in ends), key=lambda pair: pair.value)

    def two_neurons(self) -> TwoNeurons:
        """The paper's two neurons, where M > 0."""
        pair = self.best
        along = float(pair.p @ self.teacher)
        r = pair.p - pair.q * float(pair.q @ pair.p)
        sine = float(np.linalg.norm(r))
        if along >= 0.0:
            inside = pair.coefficients > 0.0
            most = float(np.min((self.X @ self.teacher)[inside] / pair.coefficients[inside]))
            xi = min(most, along - sine)
            first, sign = self.teacher - xi * pair.p, 1.0
        else:
            xi = -along - sine
            first, sign = self.teacher + xi * pair.p, -1.0
        second = np.sqrt(max(xi, 0.0) / sine) * r
        return TwoNeurons(self, xi, Network([first, second], [1.0, sign * np.sqrt(max(xi, 0.0) * sine)]))


@dataclass(frozen=True, eq=False)
class TwoNeurons:
    """The two neurons of the proof of Theorem 8(ii), which fit with squared norm at most 2 - xi^2."""

    about: Interpolation
    xi: float
    network: Network


@computed_once
def interpolation(evidence: Evidence) -> Interpolation:
    """The dataset's."""
    X, teacher = evidence.dataset.X, evidence.facts.least_squares
    return Interpolation(X / np.linalg.norm(X, axis=1)[:, None], teacher / np.linalg.norm(teacher))
