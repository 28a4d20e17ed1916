"""The largest modes of a tangent kernel, by subspace iteration."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reluflow.arrays import FloatArray
from reluflow.dynamics.collocation.tuning import FEWEST_MODES, SHARPENED, SHARPENED_AGAIN
from reluflow.threads import product


class ModesSearch:
    """Which subspace to iterate on next, until its weakest mode is weak enough or it has log_rescaling too large.

    Parameters
    ----------
    n
        Size of the symmetric kernel.
    smallest
        Eigenvalues down to this are wanted.
    guess
        Modes of an earlier kernel, shape (n, r), or None.
    dtype
        Precision of the kernel.

    Attributes
    ----------
    basis
        The subspace, shape (n, r).
    goes_on
        Whether it is to be sharpened again.
    found
        Modes and eigenvalues, largest first; None: too many, or not yet.
    """

    def __init__(self, n: int, smallest: float, guess: FloatArray | None, dtype: np.dtype[Any]) -> None:
        self._smallest, self._rng = smallest, np.random.default_rng(0)
        self.basis: NDArray[Any] = np.zeros((n, 0), dtype) if guess is None else guess.astype(dtype)
        self.found: tuple[FloatArray, FloatArray] | None = None
        self._widen(FEWEST_MODES if guess is None else guess.shape[1])

    def learn(self, values: NDArray[Any], basis: NDArray[Any]) -> None:
        """Take the eigenvalues within the sharpened subspace, smallest first, and their vectors, largest first."""
        self.basis = basis
        if values[0] <= self._smallest:
            self.found, self.goes_on = (basis.astype(np.float64), values[::-1].astype(np.float64)), False
        else:
            self._widen(2 * basis.shape[1])

    def _widen(self, rank: int) -> None:
        n, has = self.basis.shape
        self.goes_on = rank <= n // 3
        if self.goes_on and has < rank:
            more = self._rng.standard_normal((n, rank - has)).astype(self.basis.dtype)
            self.basis = np.hstack([self.basis, more])


def largest_modes(
    kernel: NDArray[Any], smallest: float, guess: FloatArray | None
) -> tuple[FloatArray, FloatArray] | None:
    """Eigenvectors and eigenvalues of a symmetric kernel down to `smallest`; None if they are too many.

    `guess` is what an earlier kernel had.
    """
    search = ModesSearch(len(kernel), smallest, guess, kernel.dtype)
    num_sharpened = SHARPENED if guess is None else SHARPENED_AGAIN
    while search.goes_on:
        basis = search.basis
        for _ in range(num_sharpened):
            basis, _ = np.linalg.qr(product(kernel, basis, np.empty_like(basis)))
        values, vectors = np.linalg.eigh(basis.T @ product(kernel, basis, np.empty_like(basis)))
        search.learn(values, basis @ vectors[:, ::-1])
        num_sharpened = SHARPENED
    return search.found
