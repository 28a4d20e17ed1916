"""Networks beyond two layers, trained through JAX: deep neurons, fully connected, residual and convolutional nets.

>>> import numpy as np
>>> from reluflow import SquareLoss
>>> from reluflow.data import Dataset
>>> from reluflow.deep import DeepDescent, gaussian_layers, train_deep
>>> dataset = Dataset([[1.0, 0.5], [-0.5, 1.0]], [0.5, 1.0])
>>> network = gaussian_layers((2, 8, 8, 1), std=0.5, rng=np.random.default_rng(0))
>>> trajectory = train_deep(network, dataset, SquareLoss(), DeepDescent(lr=0.1, iterations=500))
>>> print(trajectory.outcome, trajectory.losses[-1] < 1e-9)
finished True

Needs the extra `deep` (JAX, Equinox and Optax); each name loads its file when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
