"""How weights move: the exact gradient flow, gradient descent and its stochastic form, one loop for all.

What a run is, to be read in this order; each file knows those above it only:

- `problem`, `event`: what is trained; what can happen to a neuron on the way.
- `trajectory`, `phases`: what a run leaves behind, and its outcome.
- `gradient`, `variant`: how large the gradient is; weight decay and a frozen output layer.
- `reading`, `solver`: what can be read off a network in training; the contract of a method.
- `keep`, `stopping`, `checkpoint`: what is recorded, when it ends, how it is resumed: settings, each with a `start`.
- `matrix_threads`, `train`: on how many cores; the one loop.
- `storage`: trajectories in files.

How a run is made: `flow/` and `descent/`, which know all of this, and of which it knows nothing.

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

from typing import TYPE_CHECKING

from reluflow.lazy import lazy_names

if TYPE_CHECKING:
    from reluflow.dynamics.checkpoint import Checkpoint as Checkpoint
    from reluflow.dynamics.descent.gradient_descent import GradientDescent as GradientDescent
    from reluflow.dynamics.descent.grouped_descent import GroupedGradientDescent as GroupedGradientDescent
    from reluflow.dynamics.descent.stochastic_gradient_descent import (
        StochasticGradientDescent as StochasticGradientDescent,
    )
    from reluflow.dynamics.flow.choice import choose_flow as choose_flow
    from reluflow.dynamics.flow.collocation import CollocationFlow as CollocationFlow
    from reluflow.dynamics.flow.event_driven import EventDrivenFlow as EventDrivenFlow
    from reluflow.dynamics.keep import Keep as Keep
    from reluflow.dynamics.problem import TrainingProblem as TrainingProblem
    from reluflow.dynamics.solver import AbstractRun as AbstractRun
    from reluflow.dynamics.solver import AbstractSolver as AbstractSolver
    from reluflow.dynamics.stopping import AbstractStoppingRule as AbstractStoppingRule
    from reluflow.dynamics.stopping import Aligned as Aligned
    from reluflow.dynamics.stopping import AtTime as AtTime
    from reluflow.dynamics.stopping import DirectionConverged as DirectionConverged
    from reluflow.dynamics.stopping import Exhausted as Exhausted
    from reluflow.dynamics.stopping import LossBelow as LossBelow
    from reluflow.dynamics.stopping import Stationary as Stationary
    from reluflow.dynamics.storage import load_trajectory as load_trajectory
    from reluflow.dynamics.storage import save_trajectory as save_trajectory
    from reluflow.dynamics.trajectory import Law as Law
    from reluflow.dynamics.trajectory import Outcome as Outcome
    from reluflow.dynamics.trajectory import TrainingInterrupted as TrainingInterrupted
    from reluflow.dynamics.trajectory import Trajectory as Trajectory

_HOMES = {
    "Aligned": "stopping",
    "AbstractRun": "solver",
    "AbstractSolver": "solver",
    "AbstractStoppingRule": "stopping",
    "AtTime": "stopping",
    "Checkpoint": "checkpoint",
    "DirectionConverged": "stopping",
    "CollocationFlow": "flow.collocation",
    "EventDrivenFlow": "flow.event_driven",
    "choose_flow": "flow.choice",
    "Exhausted": "stopping",
    "GradientDescent": "descent.gradient_descent",
    "GroupedGradientDescent": "descent.grouped_descent",
    "Keep": "keep",
    "Law": "trajectory",
    "LossBelow": "stopping",
    "Outcome": "trajectory",
    "Stationary": "stopping",
    "StochasticGradientDescent": "descent.stochastic_gradient_descent",
    "TrainingInterrupted": "trajectory",
    "Trajectory": "trajectory",
    "TrainingProblem": "problem",
    "load_trajectory": "storage",
    "save_trajectory": "storage",
}

__all__ = sorted(_HOMES)

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
