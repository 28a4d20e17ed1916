"""Problems whose student and teacher are a chosen balanced neuron."""

from __future__ import annotations

import numpy as np

from reluflow.data.dataset import Dataset, Task
from reluflow.dynamics.problem import TrainingProblem
from reluflow.losses import SquareLoss
from reluflow.network import Network

_X = np.random.default_rng(12).standard_normal((400, 4))


def neuron_problem(q, ratio, phi, *, teacher=1.0):
    """Gaussian samples labelled by a teacher of magnitude `teacher`, and a student of `ratio` times it at angle phi."""
    along, across = np.array([0.6, 0.0, 0.8, 0.0]), np.array([0.0, 1.0, 0.0, 0.0])
    labels = teacher ** (q + 1) * np.maximum(_X @ along, 0.0)
    w = ratio * teacher * (-np.cos(phi) * along + np.sin(phi) * across)
    return TrainingProblem(
        Dataset(_X, labels, task=Task.REGRESSION), SquareLoss(), Network([w], [float(np.linalg.norm(w))])
    )
