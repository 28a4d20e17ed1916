"""Machine code compiled before the tests, half of it on either core: each worker of pytest would compile all of it.

In a fresh clone that took both cores two minutes.
"""

import subprocess
import sys

_PROBLEM = """
import numpy as np
from reluflow import CollocationFlow, EventDrivenFlow, GradientDescent, SquareLoss, TrainingProblem
from reluflow import align, balanced_initialization, extremal_vectors, load, train
from reluflow.dynamics import GroupedGradientDescent

data = load("three-points")
network = balanced_initialization(data, width=20, scale=1e-3, rng=np.random.default_rng(0))
problem = TrainingProblem(data, SquareLoss(), network)
"""
HALVES = (
    """
train(problem, CollocationFlow(), until=5.0)
train(problem, GradientDescent(1e-2, 10))
""",
    """
train(problem, EventDrivenFlow(), until=5.0)
train(problem, GroupedGradientDescent(1e-2, 10))
extremal_vectors(data, SquareLoss())
align(data.X, data.y, network.w, network.a)
""",
)


def compile_all() -> None:
    """Run both halves at once and wait for them; what fails here fails in the tests, which say more."""
    for process in [subprocess.Popen([sys.executable, "-c", _PROBLEM + half]) for half in HALVES]:
        process.wait()
