"""The shared cabinet: small problems with known answers."""

from __future__ import annotations

import numpy as np

from reluflow import SquareLoss, TrainingProblem, load
from reluflow.network import INITIALIZATIONS


def small_problem(spec="three-points", *, width, scale, seed=0, init="balanced", loss=None) -> TrainingProblem:
    """A registered dataset and a network drawn for it.

    Unless told otherwise the three points of Boursier & Flammarion (2024), App. B.1, which end at least squares.
    """
    data = load(spec)
    network = INITIALIZATIONS[init](data, width=width, scale=scale, rng=np.random.default_rng(seed))
    return TrainingProblem(data, loss or SquareLoss(), network)
