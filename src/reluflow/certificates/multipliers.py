"""Multipliers of a direction by least squares: every neuron's kinks and walls are eliminated on its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray, IndexArray
from reluflow.data.dataset import Dataset

_INDEPENDENT = 1e-10  # smallest eigenvalue of a Gram matrix of unit vectors that counts as positive
_SLACK = 1e-9  # a multiplier beyond its bounds by less than this, relative to the largest, is at them
_REFINEMENTS = 3


@dataclass(frozen=True, eq=False)
class LeastSquaresMultipliers:
    """lambda >= 0 on the active samples, nu at the kinks, pressures of walls, and whether no others fit as well."""

    multipliers: FloatArray
    at_kinks: FloatArray
    pressures: FloatArray
    is_unique: bool
    smallest: float  # before it was cut off at 0, relative to the largest

    def obeys(self, places: IndexArray, leak: float) -> bool:
        """Whether all are allowed: not negative, and leak lambda <= nu <= lambda at the kinks of these places."""
        at = self.multipliers[places]
        slack = _SLACK * float(np.max(self.multipliers, initial=0.0))
        inside = (self.at_kinks >= leak * at - slack) & (self.at_kinks <= at + slack)
        return self.smallest >= -_SLACK and bool(np.all(inside))


def least_squares_multipliers(
    w: FloatArray,
    a: FloatArray,
    activated: FloatArray,
    dataset: Dataset,
    active: IndexArray,
    kinks: IndexArray,
    slopes: FloatArray,
    pressed: list[tuple[int, FloatArray]],
) -> LeastSquaresMultipliers:
    """Those that leave the least of theta - sum_i lambda_i grad q_i unexplained, whatever their signs.

    For one neuron the slopes at its kinks and the pressures of its walls are free, so what lies in the span of those
    samples is explained in any case; the multipliers explain what is orthogonal to it.
    """
    X, y = dataset.X[active], dataset.y[active]
    k = active.size
    fixed = slopes[:, active].copy()
    fixed[kinks[:, 0], kinks[:, 1]] = 0.0
    own: dict[int, list[tuple[int, FloatArray]]] = {}
    for column, (j, place) in enumerate(kinks):
        own.setdefault(int(j), []).append((column, a[j] * y[place] * X[place]))
    for column, (j, row) in enumerate(pressed):
        own.setdefault(int(j), []).append((len(kinks) + column, a[j] * row))
    spans = {j: _Span.of(columns) for j, columns in own.items()}
    pulls = (a[:, None] * fixed * y)[:, :, None] * X  # (num_neurons, k, d)
    tangent = pulls.transpose(1, 0, 2).copy()
    for j, span in spans.items():
        tangent[:, j] = span.off(pulls[j])
    tangent = tangent.reshape(k, -1)
    outputs = activated[:, active] * y
    gram = outputs.T @ outputs + tangent @ tangent.T
    lengths = np.sqrt(np.diag(gram))
    if not k or np.min(lengths) == 0.0:
        nothing = np.zeros(k), np.zeros(len(kinks)), np.zeros(len(pressed))
        return LeastSquaresMultipliers(*nothing, False, 0.0)
    values, vectors = np.linalg.eigh(gram / np.outer(lengths, lengths))
    is_unique = bool(values[0] > _INDEPENDENT) and all(span.is_independent for span in spans.values())
    strong = values > _INDEPENDENT
    inverse = (vectors[:, strong] / values[strong]) @ vectors[:, strong].T / np.outer(lengths, lengths)
    found = np.zeros(k)
    for _ in range(_REFINEMENTS):
        left = outputs.T @ (a - outputs @ found) + tangent @ (w - found @ pulls).ravel()
        found = found + inverse @ left
    others = np.zeros(len(kinks) + len(pressed))
    for j, span in spans.items():
        others[span.columns] = span.solve(w[j] - found @ pulls[j])
    largest = float(np.max(np.abs(found))) or 1.0
    return LeastSquaresMultipliers(
        np.maximum(found, 0.0),
        others[: len(kinks)],
        np.maximum(others[len(kinks) :], 0.0),
        is_unique,
        float(min(np.min(found), np.min(others[len(kinks) :], initial=0.0))) / largest,
    )


@dataclass(frozen=True, eq=False)
class _Span:
    """What the kinks and walls of one neuron span: `columns` of the unknowns and their vectors as rows."""

    columns: list[int]
    vectors: FloatArray
    basis: FloatArray
    is_independent: bool

    @classmethod
    def of(cls, columns: list[tuple[int, FloatArray]]) -> _Span:
        vectors = np.array([vector for _, vector in columns])
        unit = vectors / np.linalg.norm(vectors, axis=1)[:, None]
        left, singular, _ = np.linalg.svd(unit.T, full_matrices=False)
        strong = singular > np.sqrt(_INDEPENDENT) * singular[0]
        is_independent = len(columns) <= vectors.shape[1] and bool(singular[-1] ** 2 > _INDEPENDENT)
        return cls([column for column, _ in columns], vectors, left[:, strong].T, is_independent)

    def off(self, rows: FloatArray) -> FloatArray:
        """Rows without what they have in the span."""
        return rows - (rows @ self.basis.T) @ self.basis

    def solve(self, vector: FloatArray) -> FloatArray:
        """Strengths of the span's vectors whose sum is nearest to a vector."""
        return np.asarray(np.linalg.lstsq(self.vectors.T, vector, rcond=1e-12)[0], dtype=np.float64)
