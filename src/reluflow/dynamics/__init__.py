"""How weights move: the exact gradient flow, gradient descent and its stochastic form, one loop for all.

>>> import numpy as np
>>> from reluflow import SquareLoss, balanced_initialization, load, train
>>> from reluflow.dynamics import EventDrivenFlow, TrainingProblem
>>> data = load("three-points")
>>> network = balanced_initialization(data, width=60, scale=1e-3, rng=np.random.default_rng(0))
>>> trajectory = train(TrainingProblem(data, SquareLoss(), network), EventDrivenFlow())
>>> print(trajectory.outcome, trajectory.predictions.round(6))
stationary [0.689744 0.674359 0.635897]
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reluflow.dynamics.checkpoint import Checkpoint as Checkpoint
    from reluflow.dynamics.descent.gradient_descent import GradientDescent as GradientDescent
    from reluflow.dynamics.descent.grouped_descent import GroupedGradientDescent as GroupedGradientDescent
    from reluflow.dynamics.descent.stochastic_gradient_descent import (
        StochasticGradientDescent as StochasticGradientDescent,
    )
    from reluflow.dynamics.flow.event_driven import EventDrivenFlow as EventDrivenFlow
    from reluflow.dynamics.problem import TrainingProblem as TrainingProblem
    from reluflow.dynamics.stopping import Aligned as Aligned
    from reluflow.dynamics.stopping import AtTime as AtTime
    from reluflow.dynamics.stopping import DirectionConverged as DirectionConverged
    from reluflow.dynamics.stopping import Exhausted as Exhausted
    from reluflow.dynamics.stopping import Stationary as Stationary
    from reluflow.dynamics.storage import load_trajectory as load_trajectory
    from reluflow.dynamics.storage import save_trajectory as save_trajectory
    from reluflow.dynamics.trajectory import Outcome as Outcome
    from reluflow.dynamics.trajectory import Trajectory as Trajectory

_HOMES = {
    "Aligned": "stopping",
    "AtTime": "stopping",
    "Checkpoint": "checkpoint",
    "DirectionConverged": "stopping",
    "EventDrivenFlow": "flow.event_driven",
    "Exhausted": "stopping",
    "GradientDescent": "descent.gradient_descent",
    "GroupedGradientDescent": "descent.grouped_descent",
    "Outcome": "trajectory",
    "Stationary": "stopping",
    "StochasticGradientDescent": "descent.stochastic_gradient_descent",
    "Trajectory": "trajectory",
    "TrainingProblem": "problem",
    "load_trajectory": "storage",
    "save_trajectory": "storage",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'reluflow.dynamics' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"reluflow.dynamics.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
