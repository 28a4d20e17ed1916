"""The same network on the same samples, in columns of like size.

Whether a network is stationary does not depend on the units its inputs are measured in, but a residual does: beside a
column of size 1000 the force along one of size 0.001 is lost, though it may be what fits the labels. So columns of very
different sizes are divided by powers of two, and input weights multiplied by them: every product <w_j, x_k> keeps all
its digits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.stationarity import Escape
from reluflow.data.dataset import Dataset
from reluflow.network.network import Network

UNEVEN = 128.0  # sizes of columns that differ by less are left as they are


@dataclass(frozen=True, eq=False)
class EvenColumns:
    """A network and its samples in other units of the inputs.

    Parameters
    ----------
    network, dataset
        The same outputs: X / `units`, w * `units`.
    units
        Powers of two, shape (d,).
    """

    network: Network
    dataset: Dataset
    units: FloatArray

    def brought_back(self, escape: Escape | None) -> Escape | None:
        """A way down in the units the caller uses."""
        return None if escape is None else replace(escape, w=escape.w / self.units)


def even_columns(network: Network, dataset: Dataset) -> EvenColumns:
    """Bring the columns to like size, and the input weights as a whole to the size they had.

    >>> even = even_columns(Network([[1.0, 0.0]], [1.0]), Dataset([[1024.0, 0.25], [512.0, -0.25]], [1.0, 2.0]))
    >>> even.dataset.X.tolist(), even.network.w.tolist()
    ([[1024.0, 1024.0], [512.0, -1024.0]], [[1.0, 0.0]])
    """
    sizes = np.max(np.abs(dataset.X), axis=0)
    present = sizes > 0.0
    units = np.ones(dataset.d)
    if present.any() and sizes[present].max() > UNEVEN * sizes[present].min():
        units[present] = np.exp2(np.round(np.log2(sizes[present])))
        before, after = np.linalg.norm(network.w), np.linalg.norm(network.w * units)
        if after > 0.0:
            units *= np.exp2(np.round(np.log2(before / after)))
        else:
            units /= units[present].max()
    if np.all(units == 1.0):
        return EvenColumns(network, dataset, units)
    return EvenColumns(network.replace(w=network.w * units), dataset.replace(X=dataset.X / units), units)
