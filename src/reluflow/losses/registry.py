"""The losses by name, as the command line and files of trajectories know them."""

from __future__ import annotations

from reluflow.errors import InvalidInputError
from reluflow.losses.exponential import ExponentialLoss
from reluflow.losses.logistic import LogisticLoss
from reluflow.losses.loss import AbstractLoss, Reduction
from reluflow.losses.softmax import SoftmaxLoss
from reluflow.losses.square import SquareLoss

LOSSES: dict[str, type[AbstractLoss]] = {
    loss.name: loss for loss in (SquareLoss, LogisticLoss, ExponentialLoss, SoftmaxLoss)
}


def register_loss(loss: type[AbstractLoss]) -> type[AbstractLoss]:
    """Make a loss of one's own known by its name; usable as a decorator."""
    if LOSSES.setdefault(loss.name, loss) is not loss:
        raise InvalidInputError(f"`{loss.name}` must be a new name, got that of {LOSSES[loss.name].__name__}.")
    return loss


def loss_named(name: str, *, reduction: Reduction = "mean", factor: float = 1.0) -> AbstractLoss:
    """The loss called `name`: square, logistic, exponential, softmax, or one that was registered.

    >>> loss_named("logistic", reduction="sum", factor=2.0)
    LogisticLoss(reduction='sum', factor=2.0)
    """
    if name not in LOSSES:
        raise InvalidInputError(f"`loss` must be one of {', '.join(LOSSES)}, got {name!r}.")
    return LOSSES[name](reduction=reduction, factor=factor)
