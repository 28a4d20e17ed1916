"""How weights move: the exact gradient flow, gradient descent and its stochastic form, one loop for all.

What a run is, to be read in this order; each file knows those above it only:

- `problem`, `event`: what is trained; what can happen to a neuron on the way.
- `trajectory`, `phases`: what a run leaves behind, and its outcome.
- `gradient`, `variant`: how large the gradient is; weight decay and a frozen output layer.
- `reading`, `solver`: what can be read off a network in training; the contract of a method.
- `keep`, `stopping`, `checkpoint`: what is recorded, when it ends, how it is resumed: settings, each with a `start`.
- `matrix_threads`, `train`: on how many cores; the one loop.
- `storage`: trajectories in files.

How a run is made: `event_driven/` and `collocation/` with what they have in common in `shared/`, and `descent/`, which
know all of this. Above them:

- `flow_choice`, `branching`: which solver of the flow a problem gets; neurons that go another way when a run is
  computed more exactly.

>>> import numpy as np
>>> from reluflow import SquareLoss, balanced_initialization, load, train
>>> from reluflow.dynamics import EventDrivenFlow, TrainingProblem
>>> data = load("three-points")
>>> network = balanced_initialization(data, width=60, scale=1e-3, rng=np.random.default_rng(0))
>>> trajectory = train(TrainingProblem(data, SquareLoss(), network), EventDrivenFlow())
>>> print(trajectory.outcome, trajectory.predictions.round(6))
stationary [0.689744 0.674359 0.635897]
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
