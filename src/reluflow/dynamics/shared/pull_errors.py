"""By how much the pulls of walls may be off: a pull smaller than that has no sign, and decides nothing."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.problem import TrainingProblem
from reluflow.geometry.boundary.walls import Walls

GIVEN_OUTPUTS = 16.0 * float(np.finfo(np.float64).eps)  # relative error of the outputs of neurons as they are given


def pull_errors(problem: TrainingProblem, walls: Walls, outputs: FloatArray, output_error: float) -> FloatArray:
    """By how much the pull of each wall may be off, shape (num_walls,), for an error of the outputs.

    A force r = -c dl/dh is off by c l'' times the error of its output. Near a fit it is the difference of an output and
    a label of size 1, and below that error not even its sign is known. Forces that fade are e^(-yh) and never change
    their sign, whatever the error.

    Parameters
    ----------
    problem
        Loss and labels.
    walls
        The hyperplanes of its samples.
    outputs
        h(x_k) now, shape (n,) or (n, K).
    output_error
        Their error relative to the largest output or label.

    Examples
    --------
    >>> from reluflow import Dataset, Network, SquareLoss
    >>> data = Dataset([[2.0, 0.0], [0.0, 1.0]], [1.0, -4.0])
    >>> problem = TrainingProblem(data, SquareLoss(reduction="sum"), Network([[1.0, 0.0]], [1.0]))
    >>> pull_errors(problem, Walls.of(data.X), np.zeros(2), 1e-10)
    array([8.e-10, 4.e-10])
    """
    loss, labels = problem.loss, np.asarray(problem.dataset.y)
    if loss.fades:
        return np.zeros(len(walls.normals))
    size = max(float(np.max(np.abs(outputs))), float(np.max(np.abs(labels))))
    curvatures = loss.curvature(outputs, labels)
    if curvatures.ndim > 1:
        curvatures = np.max(curvatures.reshape(len(curvatures), -1), axis=1)
    errors = loss.sample_weight(len(labels)) * curvatures * (output_error * size)
    found = np.bincount(walls.wall_of_sample, weights=errors * walls.length, minlength=len(walls.normals))
    return np.asarray(found[: len(walls.normals)], dtype=np.float64)
