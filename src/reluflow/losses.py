"""Losses l(h, y): value, force -dl/dh, curvature, and how samples are summed.

The objective is L = c * sum_k l(h(x_k), y_k) with c = `factor` (reduction "sum") or `factor`/n (reduction "mean").
The papers differ in c, so it is a visible field of the loss and never a convention.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError, binary_label_error

Reduction = Literal["mean", "sum"]


@dataclass(frozen=True)
class AbstractLoss(ABC):
    """One loss with its reduction over samples.

    Parameters
    ----------
    reduction
        "mean" or "sum" over samples.
    factor
        Multiplies the loss; Min et al. (2024) use twice the logistic loss [min2024].
    """

    reduction: Reduction = "mean"
    factor: float = 1.0

    name: ClassVar[str]
    is_classification: ClassVar[bool]

    def __post_init__(self) -> None:
        if self.reduction not in ("mean", "sum"):
            raise InvalidInputError(f"`reduction` must be 'mean' or 'sum', got {self.reduction!r}.")
        if not (np.isfinite(self.factor) and self.factor > 0):
            raise InvalidInputError(f"`factor` must be positive and finite, got {self.factor}.")

    @abstractmethod
    def value(self, outputs: ArrayLike, labels: ArrayLike) -> FloatArray:
        """l(h, y), elementwise."""

    @abstractmethod
    def force(self, outputs: ArrayLike, labels: ArrayLike) -> FloatArray:
        """-dl/dh(h, y), elementwise: how hard the sample pulls its output, with sign."""

    @abstractmethod
    def curvature(self, outputs: ArrayLike, labels: ArrayLike) -> FloatArray:
        """d^2 l/dh^2, elementwise."""

    @abstractmethod
    def log_force(self, outputs: ArrayLike, labels: ArrayLike) -> FloatArray:
        """ln |dl/dh|, elementwise, exact where the force itself under- or overflows (-inf where it is 0)."""

    def force_at_zero(self, labels: ArrayLike) -> FloatArray:
        """-dl/dh(0, y), elementwise: the force that rules the alignment phase."""
        label = np.asarray(labels, dtype=np.float64)
        return self.force(np.zeros_like(label), label)

    def sample_weight(self, num_samples: int) -> float:
        """c, the weight of one sample in the objective."""
        return self.factor / num_samples if self.reduction == "mean" else self.factor

    def total(self, outputs: ArrayLike, labels: ArrayLike) -> float:
        """The objective L = c * sum_k l(h_k, y_k)."""
        values = self.value(outputs, labels)
        return float(self.sample_weight(values.size) * np.sum(values))

    def forces(self, outputs: ArrayLike, labels: ArrayLike) -> FloatArray:
        """r_k = -c dl/dh(h_k, y_k), shape (n,): the weights of the samples in every neuron's velocity."""
        values = self.force(outputs, labels)
        return self.sample_weight(values.size) * values

    def label_forces(self, labels: ArrayLike) -> FloatArray:
        """r_k at h = 0, shape (n,)."""
        values = self.force_at_zero(labels)
        return self.sample_weight(values.size) * values

    def check_labels(self, labels: ArrayLike) -> None:
        """Raise if the loss cannot take these labels."""
        values = np.asarray(labels, dtype=np.float64)
        if self.is_classification and not np.all(np.abs(values) == 1.0):
            raise binary_label_error(values)


@dataclass(frozen=True)
class SquareLoss(AbstractLoss):
    """l(h, y) = (h - y)^2 / 2, so that the force is the residual y - h.

    Boursier & Flammarion (2024), Eq. (10) [boursier2024]; their Sec. 2 offers (h - y)^2, which breaks their own
    Assumption 1 (erratum E1).

    >>> SquareLoss().total([0.0, 0.0], [1.0, 3.0])
    2.5
    """

    name: ClassVar[str] = "square"
    is_classification: ClassVar[bool] = False

    def value(self, outputs: ArrayLike, labels: ArrayLike) -> FloatArray:
        return 0.5 * np.square(self.force(outputs, labels))

    def force(self, outputs: ArrayLike, labels: ArrayLike) -> FloatArray:
        return np.asarray(labels, dtype=np.float64) - np.asarray(outputs, dtype=np.float64)

    def curvature(self, outputs: ArrayLike, labels: ArrayLike) -> FloatArray:
        return np.ones_like(self.force(outputs, labels))

    def log_force(self, outputs: ArrayLike, labels: ArrayLike) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.log(np.abs(self.force(outputs, labels)))


@dataclass(frozen=True)
class LogisticLoss(AbstractLoss):
    """l(h, y) = ln(1 + exp(-y h)) for labels -1 and 1.

    >>> LogisticLoss(reduction="sum").label_forces([1.0, -1.0])
    array([ 0.5, -0.5])
    """

    name: ClassVar[str] = "logistic"
    is_classification: ClassVar[bool] = True

    def value(self, outputs: ArrayLike, labels: ArrayLike) -> FloatArray:
        return np.logaddexp(0.0, -_margins(outputs, labels))

    def force(self, outputs: ArrayLike, labels: ArrayLike) -> FloatArray:
        margins = _margins(outputs, labels)
        small = np.exp(-np.abs(margins))
        return np.asarray(labels, dtype=np.float64) * np.where(margins > 0, small, 1.0) / (1.0 + small)

    def curvature(self, outputs: ArrayLike, labels: ArrayLike) -> FloatArray:
        small = np.exp(-np.abs(_margins(outputs, labels)))
        return small / np.square(1.0 + small)

    def log_force(self, outputs: ArrayLike, labels: ArrayLike) -> FloatArray:
        return -np.logaddexp(0.0, _margins(outputs, labels))


@dataclass(frozen=True)
class ExponentialLoss(AbstractLoss):
    """l(h, y) = exp(-y h) for labels -1 and 1; infinite once the value leaves the range of a double.

    >>> ExponentialLoss().total([0.0, 0.0], [1.0, -1.0])
    1.0
    """

    name: ClassVar[str] = "exponential"
    is_classification: ClassVar[bool] = True

    def value(self, outputs: ArrayLike, labels: ArrayLike) -> FloatArray:
        with np.errstate(over="ignore"):
            return np.exp(-_margins(outputs, labels))

    def force(self, outputs: ArrayLike, labels: ArrayLike) -> FloatArray:
        return np.asarray(labels, dtype=np.float64) * self.value(outputs, labels)

    def curvature(self, outputs: ArrayLike, labels: ArrayLike) -> FloatArray:
        return self.value(outputs, labels)

    def log_force(self, outputs: ArrayLike, labels: ArrayLike) -> FloatArray:
        return -_margins(outputs, labels)


LOSSES: dict[str, type[AbstractLoss]] = {loss.name: loss for loss in (SquareLoss, LogisticLoss, ExponentialLoss)}


def loss_named(name: str, *, reduction: Reduction = "mean", factor: float = 1.0) -> AbstractLoss:
    """The loss called `name`: square, logistic or exponential.

    >>> loss_named("logistic", reduction="sum", factor=2.0)
    LogisticLoss(reduction='sum', factor=2.0)
    """
    if name not in LOSSES:
        raise InvalidInputError(f"`loss` must be one of {', '.join(LOSSES)}, got {name!r}.")
    return LOSSES[name](reduction=reduction, factor=factor)


def _margins(outputs: ArrayLike, labels: ArrayLike) -> FloatArray:
    """y h, elementwise."""
    return np.asarray(labels, dtype=np.float64) * np.asarray(outputs, dtype=np.float64)
