"""The quadratic program of one step uphill of a classifier with several outputs, bundle by bundle.

See `class_ascent` for what a bundle and a step are. The program is solved in its multipliers, one for each constraint:
what they pull a bundle to is found by the Schur complement of its curvature, K equations.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.budget import count
from reluflow.certificates.backends.active_set_kernel import nonnegative_least_squares

_OPERATIONS_A_PRODUCT = 0.5  # of a program's matrix, and what is made around it, of BLAS on one core


class BundleGradients(NamedTuple):
    """The gradients of a program's constraints along one bundle.

    Along w constraint i has `levers[i]` times its sample across the `basis` (z, d) of the boundaries that the bundle
    stands on, along v the row i of `along_v` (R, K).
    """

    levers: FloatArray
    basis: FloatArray
    along_v: FloatArray


class BundleCurvature(NamedTuple):
    """The quadratic part of a bundle, [a I, -D; -D^T, a I], solved with by its Schur complement."""

    pull: FloatArray  # D, shape (d, K)
    size: float  # a
    inverse: FloatArray  # of a I - D^T D / a

    @classmethod
    def of(cls, pull: FloatArray, damping: float) -> BundleCurvature:
        squares, vectors = np.linalg.eigh(pull.T @ pull)
        size = max(1.0 + damping, float(np.sqrt(max(squares[-1], 0.0))) + 0.5 * damping)
        return cls(pull, size, (vectors / (size - squares / size)) @ vectors.T)

    def solve(self, along_w: FloatArray, along_v: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The step along w and v that a vector asks for."""
        found = (along_v + along_w @ self.pull / self.size) @ self.inverse
        return (along_w + found @ self.pull.T) / self.size, found


class StepProgram:
    """The quadratic program of a step: constraints of pairs, then of guarded boundaries, with a sample each, (R, d)."""

    def __init__(
        self,
        samples: FloatArray,
        gradients: list[BundleGradients],
        models: list[BundleCurvature],
        w: FloatArray,
        v: FloatArray,
    ) -> None:
        self._samples, self._gradients, self._models, self._w, self._v = samples, gradients, models, w, v
        number, d = samples.shape
        count(_OPERATIONS_A_PRODUCT * number**2 * (d + sum(len(one.basis) + v.shape[1] for one in gradients)))
        products = samples @ samples.T
        gram, self._along = np.zeros((number, number)), np.zeros(number)
        for g, (one, model) in enumerate(zip(gradients, models, strict=True)):
            along = one.levers[:, None] * (samples @ one.basis.T)
            turned = one.along_v + one.levers[:, None] * (samples @ model.pull) / model.size
            gram += (np.outer(one.levers, one.levers) * products - along @ along.T) / model.size
            gram += turned @ model.inverse @ turned.T
            back_w, back_v = model.solve(w[g], v[g])
            self._along += one.levers * (samples @ back_w) + one.along_v @ back_v
        self._sizes = np.sqrt(np.maximum(np.diag(gram), 0.0))
        self._sizes[self._sizes == 0.0] = 1.0
        self._gram = np.ascontiguousarray(gram / np.outer(self._sizes, self._sizes))

    def solve(self, values: FloatArray, start: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The step along w and v and the multipliers, for constraints that are at `values` above their bounds now."""
        target = (self._along - values) / self._sizes
        found, _, _ = nonnegative_least_squares(self._gram, target, start * self._sizes, 1e-14, 1e-13, 20 * len(target))
        multipliers = found / self._sizes
        step_w, step_v = np.zeros_like(self._w), np.zeros_like(self._v)
        for g, (one, model) in enumerate(zip(self._gradients, self._models, strict=True)):
            pulled = (multipliers * one.levers) @ self._samples
            pulled -= (one.basis @ pulled) @ one.basis
            step_w[g], step_v[g] = model.solve(pulled - self._w[g], multipliers @ one.along_v - self._v[g])
        return step_w, step_v, multipliers

    def slopes(self, step_w: FloatArray, step_v: FloatArray) -> FloatArray:
        """By how much a step moves every constraint to first order."""
        parts = [
            one.levers * (self._samples @ w) + one.along_v @ v
            for one, w, v in zip(self._gradients, step_w, step_v, strict=True)
        ]
        return np.asarray(np.sum(parts, axis=0))
