"""What a loss is: formulas for l(h, y), its force -dl/dh and its curvature, and how samples are summed.

The objective is L = c * sum_k l(h(x_k), y_k) with c = `factor` (reduction "sum") or `factor`/n (reduction "mean").
The papers differ in c, so it is a visible field of the loss and never a convention.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any, ClassVar, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError, binary_label_error

Reduction = Literal["mean", "sum"]
Formula = Callable[[Any, Any], Any]

SMALLEST_FACTOR, LARGEST_FACTOR = 1e-100, 1e100  # times what data may be, forces keep all their digits


class Formulas(NamedTuple):
    """A loss as functions of one output h and one label y, each stated once.

    Every formula is a plain function that uses NumPy's elementwise functions and nothing else, `np.where` instead of
    `if`; so the same source serves arrays (NumPy), machine code (Numba) and differentiation (JAX). One that does not
    depend on h or y may return a number.
    """

    value: Formula  # l
    force: Formula  # -dl/dh
    curvature: Formula  # d^2 l/dh^2
    log_force: Formula  # ln |dl/dh|, exact where the force itself under- or overflows; -inf where it is 0
    log_curvature: Formula  # ln of the curvature, likewise


def in_namespace(formula: Formula, namespace: Any) -> FunctionType:
    """The same formula with NumPy's functions taken from another module, such as `jax.numpy`."""
    function = cast(FunctionType, formula)
    names = {name: namespace if item is np else item for name, item in function.__globals__.items()}
    return FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)


@dataclass(frozen=True)
class AbstractLoss(ABC):
    """One loss with its reduction over samples.

    Parameters
    ----------
    reduction
        "mean" or "sum" over samples.
    factor
        Multiplies the loss; Min et al. (2024) use twice the logistic loss [min2024].

    Notes
    -----
    A subclass gives `name` and `formulas`. It sets `is_classification` if labels must be -1 or 1, and `fades` if
    besides the force is y exp(log_force), never zero, and vanishes as y h grows: the flow then runs in a rescaled time,
    with forces relative to their sum, and reaches times no double can hold. `docs/adding-a-loss.md` has an example.
    """

    reduction: Reduction = "mean"
    factor: float = 1.0

    name: ClassVar[str]
    is_classification: ClassVar[bool] = False
    fades: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        if own := next((name for name in Formulas._fields if name in vars(cls)), None):
            raise InvalidInputError(
                f"`{cls.__name__}.{own}` must be left as it is, got a method; give the formula in `formulas`, "
                "which the compiled kernels read too."
            )

    def __post_init__(self) -> None:
        if self.reduction not in ("mean", "sum"):
            raise InvalidInputError(f"`reduction` must be 'mean' or 'sum', got {self.reduction!r}.")
        if not (np.isfinite(self.factor) and self.factor > 0):
            raise InvalidInputError(f"`factor` must be positive and finite, got {self.factor}.")
        if not SMALLEST_FACTOR <= self.factor <= LARGEST_FACTOR:
            raise InvalidInputError(
                f"`factor` must lie between {SMALLEST_FACTOR:g} and {LARGEST_FACTOR:g}, so that forces and times stay "
                f"within a double, got {self.factor:g}; to the flow it is only the unit of time."
            )

    @property
    @abstractmethod
    def formulas(self) -> Formulas:
        """The loss itself."""

    def value(self, outputs: ArrayLike, labels: ArrayLike) -> FloatArray:
        """l(h, y), elementwise."""
        return _elementwise(self.formulas.value, outputs, labels)

    def force(self, outputs: ArrayLike, labels: ArrayLike) -> FloatArray:
        """-dl/dh(h, y), elementwise: how hard the sample pulls its output, with sign."""
        return _elementwise(self.formulas.force, outputs, labels)

    def curvature(self, outputs: ArrayLike, labels: ArrayLike) -> FloatArray:
        """d^2 l/dh^2, elementwise."""
        return _elementwise(self.formulas.curvature, outputs, labels)

    def log_force(self, outputs: ArrayLike, labels: ArrayLike) -> FloatArray:
        """ln |dl/dh|, elementwise, exact where the force itself under- or overflows (-inf where it is 0)."""
        return _elementwise(self.formulas.log_force, outputs, labels)

    def log_curvature(self, outputs: ArrayLike, labels: ArrayLike) -> FloatArray:
        """ln of the curvature, elementwise, likewise."""
        return _elementwise(self.formulas.log_curvature, outputs, labels)

    def force_at_zero(self, labels: ArrayLike) -> FloatArray:
        """-dl/dh(0, y), elementwise: the force that rules the alignment phase."""
        return self.force(np.zeros_like(np.asarray(labels, dtype=np.float64)), labels)

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

    def stiffness(self, outputs: ArrayLike, labels: ArrayLike) -> float:
        """How fast the forces change with the outputs, at most.

        The largest curvature; where the forces fade, that of curvature/|force|, their relative change, and at least 1.
        """
        if not self.fades:
            return float(np.max(self.curvature(outputs, labels)))
        ratios = self.log_curvature(outputs, labels) - self.log_force(outputs, labels)
        return max(1.0, float(np.exp(np.max(ratios))))

    def output_scale(self, labels: ArrayLike) -> float:
        """Outputs far below this bend no force at h = 0: the forces there over their stiffness."""
        label = np.asarray(labels, dtype=np.float64)
        stiffness = max(1.0, self.stiffness(np.zeros_like(label), label))
        return 1.0 / stiffness if self.fades else float(np.max(np.abs(self.force_at_zero(label)))) / stiffness

    def check_labels(self, labels: ArrayLike) -> None:
        """Raise if the loss cannot take these labels."""
        values = np.asarray(labels, dtype=np.float64)
        if self.is_classification and not np.all(np.abs(values) == 1.0):
            raise binary_label_error(values)


def _elementwise(formula: Formula, outputs: ArrayLike, labels: ArrayLike) -> FloatArray:
    h, y = np.asarray(outputs, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    with np.errstate(over="ignore", divide="ignore"):  # infinite where the number leaves the range of a double
        result = np.asarray(formula(h, y), dtype=np.float64)
    if result.shape == h.shape and (y.shape == h.shape or y.shape == h.shape[1:]):  # what `broadcast_shapes` would say
        return result
    shape = np.broadcast_shapes(h.shape, y.shape)
    return result if result.shape == shape else np.full(shape, result)
