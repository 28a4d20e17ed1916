"""Putting names beside points so that they do not cover each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray

# Where a name may stand, as multiples of its own half size from the point: beside first, then above, then the corners.
_PLACES = ((1, 0), (-1, 0), (0, 1), (0, -1), (0.8, 0.8), (-0.8, 0.8), (0.8, -0.8), (-0.8, -0.8))


def label_offsets(
    points: ArrayLike,
    *,
    width: float,
    height: float,
    clearance: float,
    obstacles: ArrayLike | None = None,
) -> FloatArray:
    """Offsets from each point to the centre of its label, chosen one after the other to cover least.

    Parameters
    ----------
    points
        Shape (k, 2), in the unit of the other lengths, such as printer's points.
    width, height
        Size of every label.
    clearance
        Distance kept between a point and its own label.
    obstacles
        Other points that labels should leave free, shape (q, 2).

    Examples
    --------
    >>> label_offsets([[0.0, 0.0], [12.0, 0.0]], width=14.0, height=8.0, clearance=3.0).tolist()
    [[-10.0, 0.0], [10.0, 0.0]]
    """
    centres = np.asarray(points, dtype=np.float64).reshape(-1, 2)
    others = np.empty((0, 2)) if obstacles is None else np.asarray(obstacles, dtype=np.float64).reshape(-1, 2)
    marks = np.vstack([centres, others])
    size = np.array([width, height])
    reaches = np.array(_PLACES) * (size / 2 + clearance)
    placed = np.empty((0, 2))
    offsets = np.zeros_like(centres)
    for index, centre in enumerate(centres):
        candidates = centre + reaches
        on_labels = np.prod(np.maximum(size - np.abs(candidates[:, None] - placed), 0.0), axis=2).sum(axis=1)
        room = np.maximum(size / 2 + clearance - np.abs(candidates[:, None] - np.delete(marks, index, axis=0)), 0.0)
        best = int(np.argmin(on_labels + np.prod(room, axis=2).sum(axis=1)))  # the first of equals
        offsets[index] = reaches[best]
        placed = np.vstack([placed, candidates[best]])
    return offsets
