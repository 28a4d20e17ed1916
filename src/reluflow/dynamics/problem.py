"""TrainingProblem: a dataset, a loss and the network training starts from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.data import Dataset, as_dataset
from reluflow.errors import InvalidInputError
from reluflow.losses import AbstractLoss, loss_named
from reluflow.network import Network


@dataclass(frozen=True, eq=False)
class TrainingProblem:
    """What is trained: minimise L(network) = c sum_k l(h(x_k), y_k) from a given network.

    Parameters
    ----------
    dataset
        n samples in dimension d; anything `as_dataset` takes.
    loss
        Loss and reduction, or the name of a loss, as "square"; classification losses want labels -1 and 1.
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
        if isinstance(self.loss, str):
            object.__setattr__(self, "loss", loss_named(self.loss))
        if not isinstance(self.loss, AbstractLoss):
            raise InvalidInputError(
                f"`loss` must be a loss such as SquareLoss() or its name, got {type(self.loss).__name__}."
            )
        if not isinstance(self.dataset, Dataset):
            object.__setattr__(self, "dataset", as_dataset(self.dataset))
        if not isinstance(self.network, Network):
            raise InvalidInputError(
                f"`network` must be a Network, got {type(self.network).__name__}; Network.from_torch and its like read "
                "others'."
            )
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
