"""TrainingProblem: a dataset, a loss and the network training starts from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.data import Dataset
from reluflow.errors import InvalidInputError
from reluflow.losses import AbstractLoss
from reluflow.network import Network


@dataclass(frozen=True, eq=False)
class TrainingProblem:
    """What is trained: minimise L(network) = c sum_k l(h(x_k), y_k) from a given network.

    Parameters
    ----------
    dataset
        n samples in dimension d.
    loss
        Loss and reduction; classification losses want labels -1 and 1.
    network
        The network at time 0, with its leak and its scale.

    Examples
    --------
    >>> from reluflow.losses import SquareLoss
    >>> dataset = Dataset([[1.0, 0.0]], [2.0])
    >>> TrainingProblem(dataset, SquareLoss(), Network(w=[[1.0, 1.0]], a=[1.0])).initial_loss
    0.5
    """

    dataset: Dataset
    loss: AbstractLoss
    network: Network

    def __post_init__(self) -> None:
        if self.network.d != self.dataset.d:
            raise InvalidInputError(
                f"`network` expects inputs of dimension {self.network.d} but `dataset` has dimension {self.dataset.d}; "
                "`dataset.with_bias()` adds the constant coordinate."
            )
        self.loss.check_labels(self.dataset.y)
        if not np.any(self.dataset.X):
            raise InvalidInputError(
                "`dataset` must hold a sample that is not zero, got none: zero samples move no neuron; "
                "`dataset.with_bias()` adds the constant coordinate."
            )

    @property
    def initial_loss(self) -> float:
        """L at time 0."""
        return self.loss.total(self.network.outputs(self.dataset.X), self.dataset.y)
