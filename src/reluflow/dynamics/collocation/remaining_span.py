"""RemainingSpan: coordinates in which few samples, and the neurons that they move, take few numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.collocation.tuning import SMALL_DIMENSION, SPAN_SHARE


@dataclass(frozen=True, eq=False)
class RemainingSpan:
    """The span of some samples, and one coordinate for what each neuron has across it, which no pull of them turns.

    Lengths and inner products of samples and of one neuron with samples are what they were, so that steps are as well.

    Parameters
    ----------
    basis
        Orthonormal rows whose span holds the samples, shape (r, d).
    across
        Unit vectors across it, one for every neuron, shape (m, d); 0 where a neuron has nothing there.
    """

    basis: FloatArray
    across: FloatArray

    @classmethod
    def of(cls, X: FloatArray, w: FloatArray) -> RemainingSpan | None:
        """Of samples (n, d), for neurons (m, d); None where it would save little.

        >>> span = RemainingSpan.of(np.eye(2, 40), np.ones((1, 40)))
        >>> span.of_samples(np.eye(2, 40)).shape
        (2, 3)
        >>> span.outward(span.inward(np.ones((1, 40))))[0, :3].round(12).tolist()
        [1.0, 1.0, 1.0]
        """
        n, d = X.shape
        if d <= SMALL_DIMENSION or n + 1 > SPAN_SHARE * d:
            return None
        basis = np.ascontiguousarray(np.linalg.qr(X.T)[0].T)
        across = w.copy()
        for _ in range(2):  # twice, so that what it has in the span is gone to rounding
            across -= (across @ basis.T) @ basis
        lengths = np.linalg.norm(across, axis=1)[:, None]
        return cls(basis, across / np.where(lengths > 0.0, lengths, 1.0))

    def of_samples(self, X: FloatArray) -> FloatArray:
        """The samples in these coordinates, shape (n, r + 1)."""
        return np.column_stack([X @ self.basis.T, np.zeros(len(X))])

    def inward(self, w: FloatArray) -> FloatArray:
        """Neurons (m, d) in these coordinates, shape (m, r + 1)."""
        return np.column_stack([w @ self.basis.T, np.einsum("ji,ji->j", w, self.across)])

    def outward(self, w: FloatArray) -> FloatArray:
        """Neurons (m, r + 1), or pulls (m, K, r + 1), in the coordinates of the samples."""
        across = self.across if w.ndim == 2 else self.across[:, None]
        return np.asarray(w[..., :-1] @ self.basis + w[..., -1:] * across)

    def seen(self, X: FloatArray) -> SeenSamples:
        """Other samples (n, d), as the neurons see them."""
        return SeenSamples(X @ self.basis.T, self.across @ X.T)


@dataclass(frozen=True, eq=False)
class SeenSamples:
    """Samples outside of a span as neurons see them that are told in it.

    Parameters
    ----------
    within
        What the samples have in the span, shape (n, r).
    across
        What they have along every neuron's way across it, shape (m, n).
    """

    within: FloatArray
    across: FloatArray

    def heights(self, w: FloatArray, which: slice) -> FloatArray:
        """<w_j, x_k> of some neurons in coordinates of the span, shape (len(w), n)."""
        heights = w[:, :-1] @ self.within.T
        heights += w[:, -1:] * self.across[which]
        return np.asarray(heights)

    def heights_along(self, w: FloatArray, neuron: int, sample: int) -> FloatArray:
        """<w, x_k> of one sample at places of one neuron, shape (len(w),)."""
        return np.asarray(w[:, :-1] @ self.within[sample] + w[:, -1] * self.across[neuron, sample])
