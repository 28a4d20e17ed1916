"""The forces at a saddle, made exactly stationary for the neurons that stand there."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.geometry.boundary.walls import orthonormal_rows
from reluflow.vanishing_scale.dormant import ON_WALL


def stationary_forces(forces: FloatArray, X: FloatArray, w: FloatArray, leak: float) -> FloatArray:
    """The nearest forces under which no neuron with input weights `w`, shape (m, d), is pulled.

    A run comes to a saddle only to its tolerance. What is left of the pulls must not be taken for a pull on neurons
    that sleep in the same cones, where it is 0; so the forces are projected onto those that cancel there.
    """
    lengths = np.linalg.norm(X, axis=1)
    conditions = []
    for neuron in w:
        heights = X @ neuron
        on = (np.abs(heights) <= ON_WALL * np.linalg.norm(neuron) * lengths) & (lengths > 0.0)
        slopes = np.where(on, 0.0, np.where(heights > 0.0, 1.0, leak))
        rows = (slopes[:, None] * X).T  # (d, n): the pull is rows @ forces
        walls = orthonormal_rows(X[on] / lengths[on, None]) if np.any(on) else np.zeros((0, X.shape[1]))
        conditions.append(rows - walls.T @ (walls @ rows))
    if not conditions:
        return forces
    matrix = np.unique(np.vstack(conditions), axis=0)
    return np.asarray(forces - np.linalg.lstsq(matrix, matrix @ forces, rcond=1e-10)[0])
