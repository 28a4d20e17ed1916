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

from __future__ import annotations

from typing import TYPE_CHECKING

from reluflow.lazy import lazy_names

if TYPE_CHECKING:
    from reluflow.deep.convolutional import ConvolutionalNetwork as ConvolutionalNetwork
    from reluflow.deep.convolutional import convolutional_network as convolutional_network
    from reluflow.deep.deep_neuron import DeepNeuron as DeepNeuron
    from reluflow.deep.descent import DeepDescent as DeepDescent
    from reluflow.deep.evaluation import features as features
    from reluflow.deep.evaluation import outputs as outputs
    from reluflow.deep.evaluation import parameter_norms as parameter_norms
    from reluflow.deep.evaluation import similarities as similarities
    from reluflow.deep.layers import FullyConnected as FullyConnected
    from reluflow.deep.layers import Residual as Residual
    from reluflow.deep.layers import gaussian_layers as gaussian_layers
    from reluflow.deep.layers import two_layer as two_layer
    from reluflow.deep.layers import uniform_layers as uniform_layers
    from reluflow.deep.train import train_deep as train_deep
    from reluflow.deep.trajectory import DeepOutcome as DeepOutcome
    from reluflow.deep.trajectory import DeepTrainingInterrupted as DeepTrainingInterrupted
    from reluflow.deep.trajectory import DeepTrajectory as DeepTrajectory

_HOMES = {
    "ConvolutionalNetwork": "convolutional",
    "DeepDescent": "descent",
    "DeepNeuron": "deep_neuron",
    "DeepOutcome": "trajectory",
    "DeepTrainingInterrupted": "trajectory",
    "DeepTrajectory": "trajectory",
    "FullyConnected": "layers",
    "Residual": "layers",
    "convolutional_network": "convolutional",
    "features": "evaluation",
    "gaussian_layers": "layers",
    "outputs": "evaluation",
    "parameter_norms": "evaluation",
    "similarities": "evaluation",
    "train_deep": "train",
    "two_layer": "layers",
    "uniform_layers": "layers",
}

__all__ = sorted(_HOMES)

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
