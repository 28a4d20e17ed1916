"""Multipliers of a direction by least squares: every neuron's kinks and walls are eliminated on its own."""

from __future__ import annotations

from collections.abc import Mapping
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
    strengths = a[:, None] * fixed * y  # (num_neurons, k)
    outputs = activated[:, active] * y
    gram = gram_of_gradients(X, strengths, outputs, {j: span.basis for j, span in spans.items()})
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
        missed = w - (found * strengths) @ X
        for j, span in spans.items():
            missed[j] = span.off(missed[j])
        left = outputs.T @ (a - outputs @ found) + np.sum(strengths * (missed @ X.T), axis=0)
        found = found + inverse @ left
    others = np.zeros(len(kinks) + len(pressed))
    for j, span in spans.items():
        others[span.columns] = span.solve(w[j] - (found * strengths[j]) @ X)
    largest = float(np.max(np.abs(found))) or 1.0
    return LeastSquaresMultipliers(
        np.maximum(found, 0.0),
        others[: len(kinks)],
        np.maximum(others[len(kinks) :], 0.0),
        is_unique,
        float(min(np.min(found), np.min(others[len(kinks) :], initial=0.0))) / largest,
    )


def gram_of_gradients(
    X: FloatArray, strengths: FloatArray, outputs: FloatArray, bases: Mapping[int, FloatArray]
) -> FloatArray:
    """Inner products of the gradients of k margins, shape (k, k), from few numbers per neuron.

    Parameters
    ----------
    X
        The samples of these margins, shape (k, d).
    strengths, outputs
        What a unit of each multiplier pulls a neuron along its sample, and its output weight, shapes (num_neurons, k).
    bases
        Of some neurons orthonormal rows, across which alone they can move.

    Examples
    --------
    >>> gram_of_gradients(np.eye(2), np.ones((1, 2)), np.zeros((1, 2)), {0: np.array([[1.0, 0.0]])}).tolist()
    [[0.0, 0.0], [0.0, 1.0]]
    """
    gram = outputs.T @ outputs + (strengths.T @ strengths) * (X @ X.T)
    if bases:
        along = np.vstack([(basis @ X.T) * strengths[j] for j, basis in bases.items()])
        gram -= along.T @ along
    return np.asarray(gram)


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

    def off(self, vector: FloatArray) -> FloatArray:
        """A vector without what it has in the span."""
        return vector - (self.basis @ vector) @ self.basis

    def solve(self, vector: FloatArray) -> FloatArray:
        """Strengths of the span's vectors whose sum is nearest to a vector."""
        return np.asarray(np.linalg.lstsq(self.vectors.T, vector, rcond=1e-12)[0], dtype=np.float64)
