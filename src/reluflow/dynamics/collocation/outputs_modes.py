"""The largest modes of the kernel of several outputs, seen through the curvatures of a loss, from products alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from reluflow.arrays import FloatArray, IntArray
from reluflow.dynamics.collocation.curvatures import curved, roots
from reluflow.dynamics.collocation.largest_modes import ModesSearch
from reluflow.dynamics.collocation.outputs_kernel import OutputsKernel
from reluflow.dynamics.collocation.tuning import FEWEST_MODES, LIKELY_MODE, SHARPENED, SHARPENED_AGAIN

if TYPE_CHECKING:
    from reluflow.dynamics.collocation.device_products import DeviceProducts


class OutputsModes(NamedTuple):
    """What was found of a kernel K, for all n K forces; 0 for those on samples that were left out."""

    modes: FloatArray  # (n K, r), with K = modes diag(values) modes^T up to weaker ones
    values: FloatArray  # (r,) eigenvalues, largest first
    likely: FloatArray  # (n K, s) eigenvectors that the search for those of a kernel near this one should start from


def largest_modes_of_outputs(
    kernel: OutputsKernel,
    curvatures: FloatArray,
    smallest: float,
    which: IntArray,
    dtype: np.dtype[Any],
    guess: FloatArray | None,
) -> OutputsModes | None:
    """The largest modes among all forces on some samples; None: too many.

    With C = B B^T, modes U of B^T K B give K B U / values. So K is their sum where outputs bend forces, and nothing
    is divided by a curvature, which may be 0.

    Parameters
    ----------
    kernel, curvatures
        K, which is not made, and C, as numbers (n K,) or as blocks (n, K, K).
    smallest
        Eigenvalues down to this are wanted.
    which
        Those samples.
    dtype
        Precision of the products.
    guess
        `likely` of an earlier kernel, or None.
    """
    num_forces, num_outputs = kernel.num_forces, kernel.num_outputs
    forces = (which[:, None] * num_outputs + np.arange(num_outputs)).ravel()
    root = roots(curvatures[forces if curvatures.ndim == 1 else which]).astype(dtype)
    across = root if root.ndim == 1 else np.swapaxes(root, 1, 2)
    search = ModesSearch(len(forces), smallest, None if guess is None else guess[forces], dtype)
    part, num_sharpened = kernel.among(which, dtype), SHARPENED if guess is None else SHARPENED_AGAIN
    moved = search.basis
    while search.goes_on:
        blocks = part.in_blocks((num_sharpened + 1) * search.basis.shape[1])
        multiplied = part if blocks is None else blocks
        for _ in range(num_sharpened):
            search.basis, _ = np.linalg.qr(curved(across, multiplied.times(curved(root, search.basis))))
        moved = multiplied.times(curved(root, search.basis))
        values, vectors = np.linalg.eigh(search.basis.T @ curved(across, moved))
        moved = moved @ vectors[:, ::-1]
        search.learn(values, search.basis @ vectors[:, ::-1])
        num_sharpened = SHARPENED
    if search.found is None:
        return None
    basis, values = search.found
    num_likely = max(FEWEST_MODES, int(np.sum(values > LIKELY_MODE * smallest)))
    likely, modes = np.zeros((num_forces, min(num_likely, len(values)))), np.zeros((num_forces, len(values)))
    likely[forces] = basis[:, :num_likely]
    modes[forces] = moved / np.maximum(values, np.finfo(np.float64).tiny)
    return OutputsModes(modes, values, likely)


def largest_modes_by_device(
    device: DeviceProducts, kernel: OutputsKernel, curvatures: FloatArray, smallest: float, guess: FloatArray | None
) -> OutputsModes | None:
    """The same among all forces, on an accelerator, whose programs are for one number of modes each."""
    found = device.largest_modes_of_outputs(kernel, roots(curvatures), smallest, guess)
    if found is None:
        return None
    basis, moved, values = found
    return OutputsModes(moved / np.maximum(values, np.finfo(np.float64).tiny), values, basis)
