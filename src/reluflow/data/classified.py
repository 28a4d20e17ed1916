"""Which samples the outputs of a network classify as they are labelled."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.data.dataset import Dataset


def wrongly_classified(data: Dataset, outputs: FloatArray) -> BoolArray:
    """Which samples do not have an output of the sign of their label, or the largest alone at their class.

    >>> wrongly_classified(Dataset([[1.0], [2.0]], [0, 1], classes=("a", "b")), np.array([[2.0, 1.0], [1.0, 1.0]]))
    array([False,  True])
    """
    if data.classes is None:
        return np.asarray(data.y * outputs <= 0.0)
    own = data.y.astype(np.intp)[:, None]
    rivals = np.where(np.arange(data.num_outputs) == own, -np.inf, outputs)
    return np.asarray(np.take_along_axis(outputs, own, axis=1)[:, 0] <= np.max(rivals, axis=1))
