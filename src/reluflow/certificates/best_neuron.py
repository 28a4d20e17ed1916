"""The neuron that gains most under given forces: max over signs s and unit u of s sum_i r_i phi(<u, x_i>).

Samples with s r_i > 0 pull, the others push. The pushing part is concave in u, so for fixed slopes of the pulling
samples the best u comes from a bounded least-squares problem: the value is the length of the shortest

    sum_pulling |r_i| slope_i x_i  -  sum_pushing |r_i| c_i x_i,     c_i in [leak, 1],

and only the activation patterns of the *pulling* samples have to be enumerated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from reluflow.arrays import BoolArray, FloatArray, IndexArray
from reluflow.budget import count
from reluflow.geometry.arrangement import num_cells
from reluflow.geometry.boundary.minimum_norm import longest_of_shortest, shortest_over_bases
from reluflow.geometry.boundary.tolerance import ROUNDING
from reluflow.geometry.cones import activation_cones

MAX_PATTERNS = 40_000
_OPERATIONS_A_CALL, _OPERATIONS_A_PRODUCT, _OPERATIONS_A_ROUND = 2e5, 20.0, 4e4  # of 1e9 a second


@dataclass(frozen=True, eq=False)
class PullingSide:
    """One output sign: which samples pull such a neuron up, and the slopes they can have.

    Parameters
    ----------
    sign
        Output sign s of the neuron.
    pulling, pushing
        Indices of the samples with s r_i > 0, and of the others; samples equal to zero are in neither.
    slopes
        One row per realisable activation pattern of the pulling samples, entries 1 or leak.
    is_complete
        Whether `slopes` holds every pattern; otherwise it grows by local search and values are lower bounds.
    is_acute
        Whether no two pulling samples form an obtuse angle; looked at only where the patterns are not complete.
    """

    sign: int
    pulling: IndexArray
    pushing: IndexArray
    slopes: FloatArray
    is_complete: bool
    is_acute: bool = False


@dataclass(frozen=True, eq=False)
class Gains:
    """The gain |D| and the vector D of the best neuron for each sign and each pattern of its pulling samples.

    Parameters
    ----------
    sides
        Index into the oracle's sides, shape (k,).
    rows
        Row of `slopes` of that side, shape (k,).
    vectors
        D, shape (k, d): the best unit neuron is D/|D|.
    values
        |D|, shape (k,): exact where the pattern is that of D, a lower bound on the true gain otherwise.
    upper
        A number no neuron's gain exceeds: the largest value when every pattern was tried, else a relaxation.
    is_exact
        Whether every pattern was tried.
    """

    sides: IndexArray
    rows: IndexArray
    vectors: FloatArray
    values: FloatArray
    upper: float
    is_exact: bool


@dataclass(frozen=True, eq=False)
class BestNeuron:
    """The neuron of the largest gain over all signs and patterns held.

    Parameters
    ----------
    sign
        Of its output weight.
    vector
        D, shape (d,): the neuron is D/|D|; 0 where none gains anything.
    value
        |D|, its gain: a lower bound on it where patterns were searched.
    upper
        A number no neuron's gain exceeds: `value` when every pattern was tried, else a relaxation.
    """

    sign: int
    vector: FloatArray
    value: float
    upper: float


class NeuronOracle:
    """Best neurons for any forces whose signs are those of `force_signs`.

    Parameters
    ----------
    X
        Samples as rows.
    force_signs
        Sign of the force on each sample; forces of the other sign are refused by their use, zero is allowed.
    leak
        Negative slope.
    signs
        Output signs the neuron may have.
    max_patterns
        Above this many patterns on one side, local search replaces enumeration.
    """

    def __init__(
        self,
        X: FloatArray,
        force_signs: FloatArray,
        leak: float,
        *,
        signs: tuple[int, ...] = (1, -1),
        max_patterns: int = MAX_PATTERNS,
    ) -> None:
        self.X = np.ascontiguousarray(X, dtype=np.float64)
        self.leak = float(leak)
        self.searches_acute = False  # on acute sides the pattern "all on" is tried alone first; often it is enough
        present = np.any(self.X != 0.0, axis=1)
        self.sides = [
            _pulling_side(self.X, sign, sign * force_signs > 0.0, present, self.leak, max_patterns) for sign in signs
        ]

    @property
    def is_exact(self) -> bool:
        """Whether every pattern of every side is held."""
        return all(side.is_complete for side in self.sides)

    def gains(self, forces: FloatArray, *, linear: FloatArray | None = None) -> Gains:
        """Gains of the best neuron of every side and pattern under these forces.

        With `linear`, of shape (d,), the gain is s (<u, linear> + sum_i r_i phi(<u, x_i>)).
        """
        constant = np.zeros(self.X.shape[1]) if linear is None else linear
        if not self.is_exact:
            self._search(forces, constant)
        sides, rows, vectors, upper = [], [], [], 0.0
        for index, side in enumerate(self.sides):
            bases, columns = self._zonotope(side, forces, side.slopes, constant)
            found = shortest_over_bases(bases, columns, self.leak, 1.0, self._tolerance(forces, constant))
            count(_OPERATIONS_A_CALL + _OPERATIONS_A_PRODUCT * len(bases) * self.X.size)
            vectors.append(found)
            sides.append(np.full(len(found), index))
            rows.append(np.arange(len(found)))
            best = float(np.max(np.linalg.norm(found, axis=1)))
            upper = max(upper, best if side.is_complete else self._relaxation(side, forces, constant))
        stacked = np.concatenate(vectors)
        values = np.linalg.norm(stacked, axis=1)
        return Gains(np.concatenate(sides), np.concatenate(rows), stacked, values, upper, self.is_exact)

    def best(self, forces: FloatArray, *, linear: FloatArray | None = None) -> BestNeuron:
        """The largest of `gains`, without solving for the patterns that are seen to have a smaller one."""
        constant = np.zeros(self.X.shape[1]) if linear is None else linear
        if not self.is_exact:
            self._search(forces, constant)
        best, relaxed = BestNeuron(self.sides[0].sign, np.zeros(self.X.shape[1]), 0.0, 0.0), 0.0
        for side in self.sides:
            bases, columns = self._zonotope(side, forces, side.slopes, constant)
            middle = bases + 0.5 * (self.leak + 1.0) * columns.sum(axis=0)
            count(_OPERATIONS_A_CALL + _OPERATIONS_A_PRODUCT * len(bases) * self.X.size)
            likely_first = np.argsort(-np.linalg.norm(middle, axis=1))
            found, vector = longest_of_shortest(
                bases[likely_first], columns, self.leak, 1.0, self._tolerance(forces, constant), best.value
            )
            if found >= 0:
                length = float(np.linalg.norm(vector))
                best = BestNeuron(side.sign, vector, length, length)
            if not side.is_complete:
                relaxed = max(relaxed, self._relaxation(side, forces, constant))
        return replace(best, upper=max(best.value, relaxed))

    def _zonotope(
        self, side: PullingSide, forces: FloatArray, slopes: FloatArray, linear: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        weight = np.abs(forces)
        bases = side.sign * linear + (slopes * weight[side.pulling]) @ self.X[side.pulling]
        columns = -weight[side.pushing, None] * self.X[side.pushing]
        return np.ascontiguousarray(bases), np.ascontiguousarray(columns)

    def _tolerance(self, forces: FloatArray, linear: FloatArray) -> float:
        """What is rounding in a sum of all pulls."""
        return ROUNDING * float(np.linalg.norm(linear) + np.abs(forces) @ np.linalg.norm(self.X, axis=1))

    def _relaxation(self, side: PullingSide, forces: FloatArray, linear: FloatArray) -> float:
        """A bound without enumeration, the smallest of up to three.

        The pushing samples add at most leak |r_i| |x_i| each. The pulling ones add at most |r_i| |x_i| each; and if
        no two of them form an obtuse angle, at most |sum |r_i| x_i| together, since then any slopes below 1 shorten
        the sum. Or, with phi(z) = (1+leak)/2 z + (1-leak)/2 |z|, the linear parts add up and the pulling |z| terms are
        at most sqrt(sum |r_i|) sqrt(largest eigenvalue of sum |r_i| x_i x_i^T) by Cauchy-Schwarz.
        """
        weight, rows = np.abs(forces[side.pulling]), self.X[side.pulling]
        lengths = np.linalg.norm(self.X, axis=1)
        push = self.leak * float(np.abs(forces[side.pushing]) @ lengths[side.pushing])
        base = float(np.linalg.norm(linear)) + push
        straight = float(np.linalg.norm(linear + 0.5 * (1.0 + self.leak) * (forces @ self.X)))
        spread = float(np.linalg.norm(np.sqrt(weight)[:, None] * rows, 2)) * float(np.sqrt(weight.sum()))
        bounds = [base + float(weight @ lengths[side.pulling]), straight + 0.5 * (1.0 - self.leak) * spread]
        if side.is_acute:
            bounds.append(base + float(np.linalg.norm(weight @ rows)))
        return min(bounds)

    def _search(self, forces: FloatArray, linear: FloatArray, *, num_starts: int = 60, max_rounds: int = 50) -> None:
        """Add the patterns that a monotone ascent (convex part linearised, the rest exact) ends in."""
        rng = np.random.default_rng(0)
        for index, side in enumerate(self.sides):
            if side.is_complete or (side.is_acute and not self.searches_acute):
                continue
            rows = self.X[side.pulling]
            starts = np.vstack(
                [rng.standard_normal((num_starts, rows.shape[1])), side.sign * (linear + forces @ self.X)]
            )
            ended = []
            for start in starts:
                slopes, value = np.where(rows @ start > 0.0, 1.0, self.leak), -np.inf
                for _ in range(max_rounds):
                    bases, columns = self._zonotope(side, forces, slopes[None], linear)
                    vector = shortest_over_bases(bases, columns, self.leak, 1.0, self._tolerance(forces, linear))[0]
                    count(_OPERATIONS_A_ROUND + 3.0 * self.X.size)
                    length = float(np.linalg.norm(vector))
                    if length <= value * (1.0 + 1e-12):
                        break
                    value, slopes = length, np.where(rows @ vector > 0.0, 1.0, self.leak)
                ended.append(slopes)
            known = np.unique(np.vstack([side.slopes, *ended]), axis=0)
            self.sides[index] = replace(side, slopes=known)


def _pulling_side(
    X: FloatArray, sign: int, is_pulling: BoolArray, present: BoolArray, leak: float, max_patterns: int
) -> PullingSide:
    pulling, pushing = np.flatnonzero(is_pulling & present), np.flatnonzero(~is_pulling & present)
    if pulling.size == 0:
        return PullingSide(sign, pulling, pushing, np.ones((1, 0)), True)
    rows = X[pulling]
    rank = int(np.linalg.matrix_rank(rows))
    if leak == 1.0:
        return PullingSide(sign, pulling, pushing, np.ones((1, pulling.size)), True)
    if num_cells(pulling.size, rank) > max_patterns:
        is_acute = bool(np.all(rows @ rows.T >= 0.0))
        return PullingSide(sign, pulling, pushing, np.ones((1, pulling.size)), False, is_acute)
    cones = activation_cones(rows, open_only=True, max_cones=max_patterns)
    return PullingSide(sign, pulling, pushing, np.where(cones.patterns > 0, 1.0, leak), True)
