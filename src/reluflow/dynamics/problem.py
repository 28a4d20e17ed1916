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

    With weight decay lambda the objective is L + (lambda/2) sum_j weight_j (|w_j|^2 + a_j^2), whose flow is
    dw_j/dt = a_j D_j - lambda w_j, da_j/dt = <w_j, D_j> - lambda a_j. With a frozen output layer only the w_j move, and
    the penalty counts them alone.

    Parameters
    ----------
    dataset
        n samples in dimension d; anything `as_dataset` takes.
    loss
        Loss and reduction, or the name of a loss, as "square"; classification losses want labels -1 and 1.
    network
        The network at time 0, with its leak and its scale.
    weight_decay
        lambda, at least 0.
    trains_output_layer
        Whether the output weights move; else they stay as they are.

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
    weight_decay: float = 0.0
    trains_output_layer: bool = True

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
        if not (np.isfinite(self.weight_decay) and self.weight_decay >= 0.0):
            raise InvalidInputError(f"`weight_decay` must be finite and at least 0, got {self.weight_decay}.")
        self.loss.check_labels(self.dataset.y)
        if not np.any(self.dataset.X):
            raise InvalidInputError(
                "`dataset` must hold a sample that is not zero, got none: zero samples move no neuron; "
                "`dataset.with_bias()` adds the constant coordinate."
            )

    @property
    def is_plain(self) -> bool:
        """Whether all weights move and nothing but the loss moves them, as in the papers."""
        return self.weight_decay == 0.0 and self.trains_output_layer

    @property
    def variant(self) -> str:
        """What is not plain about it, in words; empty where all is.

        >>> network = Network(w=[[1.0]], a=[1.0])
        >>> TrainingProblem(Dataset([[1.0]], [2.0]), "square", network, weight_decay=0.1).variant
        'weight decay 0.1'
        """
        words = [f"weight decay {self.weight_decay:g}"] if self.weight_decay else []
        return " and ".join(words if self.trains_output_layer else [*words, "a frozen output layer"])

    def penalty(self, network: Network) -> float:
        """(lambda/2) sum_j weight_j |z_j|^2 over what is trained, lambda the weight decay."""
        if self.weight_decay == 0.0:
            return 0.0
        squares = np.einsum("jd,jd->j", network.w, network.w)
        squares = squares + np.square(network.a) if self.trains_output_layer else squares
        return float(0.5 * self.weight_decay * np.exp(2.0 * network.log_scale) * np.sum(network.weight * squares))

    def objective(self, network: Network) -> float:
        """What the flow lowers: the loss and the penalty of a network."""
        return self.loss.total(network.outputs(self.dataset.X), self.dataset.y) + self.penalty(network)

    def refuse_variant(self, who: str, way_out: str) -> None:
        """Raise where the problem is not plain, for whoever can only do that."""
        if not self.is_plain:
            raise InvalidInputError(f"`problem` must be without {self.variant} for {who}; {way_out}")

    @property
    def initial_loss(self) -> float:
        """L at time 0."""
        return self.loss.total(self.network.outputs(self.dataset.X), self.dataset.y)
