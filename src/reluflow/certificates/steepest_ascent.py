"""The forces of a classifier of infinite norm: those under which its smallest margin rises as steeply as it can.

The larger its outputs, the less of the force of a classifier comes from samples beyond the smallest margin. At infinity
only those of smallest margin are left, and their forces are the multipliers lambda >= 0 whose sum of margin gradients
explains most of the network: any others would leave one of these margins behind. Neurons that stand on boundaries stay
there, so that only what is tangent to them counts.
"""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.backends.active_set_kernel import nonnegative_least_squares
from reluflow.certificates.kkt import normalized
from reluflow.certificates.multipliers import gram_of_gradients
from reluflow.data.dataset import Dataset
from reluflow.geometry.boundary.walls import orthonormal_rows
from reluflow.network.network import Network, row_norms

AT_BOUNDARY = 1e-9  # |cos| of a neuron that stands on the boundary of a sample


def steepest_multipliers(
    network: Network, dataset: Dataset, *, close: float, walls: Dataset | None = None
) -> FloatArray:
    """Multipliers of the steepest ascent of the smallest margin, up to a factor, the largest 1, shape (n,).

    Parameters
    ----------
    network
        Classifies every sample; its scale does not matter.
    dataset
        Samples with labels -1 and 1.
    close
        A margin within this of the smallest, relative, counts as the smallest.
    walls
        Further samples on which no neuron is active; neurons may stand on their boundaries.

    Examples
    --------
    >>> dataset = Dataset([[2.0, 0.0], [-1.0, 0.0], [-3.0, 0.0]], [1, -1, -1])
    >>> network = Network(w=[[2.0, 0.0], [-2.0, 0.0]], a=[1.0, -2.0])  # gradients of squares 20, 8
    >>> steepest_multipliers(network, dataset, close=0.01).round(12)
    array([0.4, 1. , 0. ])
    """
    w, a, _ = normalized(network)
    margins = dataset.y * network.replace(w=w, a=a, log_scale=0.0).outputs(dataset.X)
    smallest = float(np.min(margins))
    chosen = np.flatnonzero(margins <= (1.0 + close) * smallest)
    samples, labels = np.asarray(dataset.X[chosen]), dataset.y[chosen]
    barriers = samples if walls is None else np.vstack([samples, walls.X])
    units = barriers / row_norms(barriers)[:, None]
    heights = w @ barriers.T
    is_standing = np.abs(w @ units.T) <= AT_BOUNDARY * row_norms(w)[:, None]
    bases = {int(j): orthonormal_rows(units[is_standing[j]]) for j in np.flatnonzero(np.any(is_standing, axis=1))}
    heights = heights[:, : chosen.size]
    pulled = np.sqrt(network.weight)[:, None] * labels * np.where(heights > 0.0, 1.0, network.leak)
    gram = gram_of_gradients(samples, pulled * a[:, None], pulled * heights, bases)
    sizes = np.sqrt(np.diag(gram))
    sizes[sizes == 0.0] = 1.0
    scaled = np.ascontiguousarray(gram / np.outer(sizes, sizes))
    target = 2.0 * smallest / sizes  # <theta, grad q_i> = 2 q_i by Euler's identity
    found, _, _ = nonnegative_least_squares(scaled, target, np.zeros(chosen.size), 1e-13, 1e-13, 50 * chosen.size)
    multipliers = np.zeros(dataset.n)
    multipliers[chosen] = np.maximum(found, 0.0) / sizes
    return multipliers / np.max(multipliers)
