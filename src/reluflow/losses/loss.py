"""What a loss is: formulas for l(h, y), its force -dl/dh and its curvature, and how samples are summed.

Shapes. Of one output: outputs (n,) or at several moments (P, n), labels (n,), and every answer has the shape of the
outputs. Of K outputs: outputs (..., n, K); labels are numbers (n, K), of which a loss of one output and one number sums
K terms, or classes (n,), of which a coupled loss (`softmax.py`) has formulas of its own. Then a value has shape
(..., n), a force (..., n, K), a curvature (..., n, K, K): one block per sample.

The objective is L = c * sum_k l(h(x_k), y_k) with c = `factor` (reduction "sum") or `factor`/n (reduction "mean").
The papers differ in c, so it is a visible field of the loss and never a convention.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any, ClassVar, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError, binary_label_error, class_label_error, several_class_error
from reluflow.losses.coupled import CoupledFormulas, each_output, each_pair, margins_of_outputs, value_of_outputs

Reduction = Literal["mean", "sum"]
Formula = Callable[[Any, Any], Any]

SMALLEST_FACTOR, LARGEST_FACTOR = 1e-100, 1e100  # times what data may be, forces keep all their digits
_BLOCK_NUMBERS = 2**17  # of outputs at several moments, in one block: 1 MiB, which caches hold


class Formulas(NamedTuple):
    """A loss as functions of one output h and one label y, each stated once; over several outputs they are summed.

    Every formula is a plain function that uses NumPy's elementwise functions and nothing else, `np.where` instead of
    `if`; so the same source serves arrays (NumPy), machine code (Numba) and differentiation (JAX). One that does not
    depend on h or y may return a number.
    """

    value: Formula  # l
    force: Formula  # -dl/dh
    curvature: Formula  # d^2 l/dh^2
    log_force: Formula  # ln |dl/dh|, exact where the force itself under- or overflows; -inf where it is 0
    log_curvature: Formula  # ln of the curvature, likewise


def in_namespace(
    formula: Callable[..., Any], namespace: Any, prepared: Callable[[FunctionType], Any] = lambda function: function
) -> FunctionType:
    """The same formula with NumPy's functions taken from another module, such as `jax.numpy`.

    Functions of its own file that it calls are treated alike, and then `prepared`, for whoever must compile them.
    """
    function = cast(FunctionType, formula)
    names = {name: namespace if item is np else item for name, item in function.__globals__.items()}
    for name in function.__code__.co_names:
        called = names.get(name)
        if isinstance(called, FunctionType) and called.__module__ == function.__module__:
            names[name] = prepared(in_namespace(called, namespace, prepared))
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
    With `CoupledFormulas` labels are classes; the signs of a force that fades are those of `force_signs`.
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
    def formulas(self) -> Formulas | CoupledFormulas:
        """The loss itself."""

    @property
    def is_coupled(self) -> bool:
        """Whether it is a loss of K outputs and a class, instead of one output and one label."""
        return isinstance(self.formulas, CoupledFormulas)

    def value(self, outputs: ArrayLike, labels: ArrayLike) -> FloatArray:
        """l(h, y), elementwise; of K outputs, one number per sample."""
        formulas = self.formulas
        if isinstance(formulas, CoupledFormulas):
            return value_of_outputs(formulas, outputs, labels)
        values = _elementwise(formulas.value, outputs, labels)
        return np.sum(values, axis=-1) if np.ndim(labels) == 2 else values

    def force(self, outputs: ArrayLike, labels: ArrayLike) -> FloatArray:
        """-dl/dh(h, y), elementwise: how hard the sample pulls its output, with sign."""
        formulas = self.formulas
        if isinstance(formulas, CoupledFormulas):
            return each_output(formulas, formulas.force, outputs, labels)
        return _elementwise(formulas.force, outputs, labels)

    def curvature(self, outputs: ArrayLike, labels: ArrayLike) -> FloatArray:
        """d^2 l/dh^2, elementwise; of K outputs, a block (K, K) per sample."""
        formulas = self.formulas
        if isinstance(formulas, CoupledFormulas):
            return each_pair(formulas, formulas.curvature, outputs, labels)
        return _on_diagonals(_elementwise(formulas.curvature, outputs, labels), labels, 0.0)

    def log_force(self, outputs: ArrayLike, labels: ArrayLike) -> FloatArray:
        """ln |dl/dh|, elementwise, exact where the force itself under- or overflows (-inf where it is 0)."""
        formulas = self.formulas
        if isinstance(formulas, CoupledFormulas):
            return each_output(formulas, formulas.log_force, outputs, labels)
        return _elementwise(formulas.log_force, outputs, labels)

    def log_curvature(self, outputs: ArrayLike, labels: ArrayLike) -> FloatArray:
        """ln of the curvature, elementwise, likewise; of K outputs, of the size of every entry of its block."""
        formulas = self.formulas
        if isinstance(formulas, CoupledFormulas):
            return each_pair(formulas, formulas.log_curvature, outputs, labels)
        return _on_diagonals(_elementwise(formulas.log_curvature, outputs, labels), labels, -np.inf)

    def margins(self, outputs: ArrayLike, labels: ArrayLike) -> FloatArray:
        """How far samples are on the right side, shape (..., n): y h, or h_y - h_c of the strongest other class."""
        if self.is_coupled:
            return margins_of_outputs(outputs, labels)
        return np.asarray(np.asarray(outputs, dtype=np.float64) * np.asarray(labels, dtype=np.float64))

    def force_signs(self, labels: ArrayLike, num_outputs: int = 1) -> FloatArray:
        """Signs of the force of a loss that fades: the labels, or of classes 1 for the own output, -1 for the others.

        Shape (n,), or (n, K); of a loss that does not fade signs follow from its outputs.
        """
        label = np.asarray(labels, dtype=np.float64)
        if not self.is_coupled:
            return label
        return np.where(label[:, None] == np.arange(num_outputs), 1.0, -1.0)

    def force_at_zero(self, labels: ArrayLike, num_outputs: int = 1) -> FloatArray:
        """-dl/dh(0, y), elementwise: the force that rules the alignment phase; classes need the number of outputs."""
        label = np.asarray(labels, dtype=np.float64)
        shape = (*label.shape, num_outputs) if self.is_coupled else label.shape
        return self.force(np.zeros(shape), label)

    def sample_weight(self, num_samples: int) -> float:
        """c, the weight of one sample in the objective."""
        return self.factor / num_samples if self.reduction == "mean" else self.factor

    def total(self, outputs: ArrayLike, labels: ArrayLike) -> float:
        """The objective L = c * sum_k l(h_k, y_k)."""
        values = self.value(outputs, labels)
        return float(self.sample_weight(values.size) * np.sum(values))

    def totals(self, outputs: ArrayLike, labels: ArrayLike) -> FloatArray:
        """The objective at several moments, shape (P,), of outputs (P, n) or (P, n, K).

        >>> from reluflow.losses import SquareLoss
        >>> SquareLoss().totals([[0.0, 0.0], [1.0, 3.0]], [1.0, 3.0])
        array([2.5, 0. ])
        """
        moments = np.asarray(outputs, dtype=np.float64)
        blocks = np.array_split(moments, 1 + moments.size // _BLOCK_NUMBERS)
        sums = np.concatenate([np.sum(self.value(block, labels), axis=-1) for block in blocks])
        return np.asarray(self.sample_weight(moments.shape[1]) * sums)

    def forces(self, outputs: ArrayLike, labels: ArrayLike) -> FloatArray:
        """r_k = -c dl/dh(h_k, y_k), shape (n,) or (n, K): the weights of the samples in every neuron's velocity."""
        values = self.force(outputs, labels)
        return self.sample_weight(_num_samples(values, labels, self.is_coupled)) * values

    def label_forces(self, labels: ArrayLike, num_outputs: int = 1) -> FloatArray:
        """r_k at h = 0, shape (n,) or (n, K); classes need the number of outputs."""
        values = self.force_at_zero(labels, num_outputs)
        return self.sample_weight(_num_samples(values, labels, self.is_coupled)) * values

    def stiffness(self, outputs: ArrayLike, labels: ArrayLike) -> float:
        """How fast the forces change with the outputs, at most.

        The largest curvature; where the forces fade, that of curvature/|force|, their relative change, and at least 1.
        Of a block of K outputs, the largest sum of the sizes in a row.
        """
        is_block = np.ndim(labels) == 2 or self.is_coupled
        if not self.fades:
            curvature = self.curvature(outputs, labels)
            return float(np.max(np.sum(np.abs(curvature), axis=-1) if is_block else curvature))
        logs = self.log_curvature(outputs, labels)
        logs = np.logaddexp.reduce(logs, axis=-1) if is_block else logs
        ratios = logs - self.log_force(outputs, labels)
        return max(1.0, float(np.exp(np.max(ratios))))

    def output_scale(self, labels: ArrayLike, num_outputs: int = 1) -> float:
        """Outputs far below this bend no force at h = 0: the forces there over their stiffness."""
        label = np.asarray(labels, dtype=np.float64)
        at_zero = self.force_at_zero(label, num_outputs)
        stiffness = max(1.0, self.stiffness(np.zeros_like(at_zero), label))
        return 1.0 / stiffness if self.fades else float(np.max(np.abs(at_zero))) / stiffness

    def check_labels(self, labels: ArrayLike, classes: Sequence[str] | None = None) -> None:
        """Raise if the loss cannot take these labels: numbers, -1 and 1, or indices of the named `classes`."""
        values = np.asarray(labels, dtype=np.float64)
        if self.is_coupled:
            if classes is None or values.ndim != 1:
                raise class_label_error(values)
        elif classes is not None:
            raise several_class_error(self.name, len(classes), is_classification=self.is_classification)
        elif self.is_classification and values.ndim != 1:
            raise InvalidInputError(
                f"`loss` must take several numbers per sample for labels of shape {values.shape}, got {self.name}, "
                "which takes one label -1 or 1 each; the square loss takes rows of numbers, softmax takes classes."
            )
        elif self.is_classification and not np.all(np.abs(values) == 1.0):
            raise binary_label_error(values)


def _num_samples(values: FloatArray, labels: ArrayLike, is_coupled: bool) -> int:
    """Samples among forces: all of their number, unless they are rows of K."""
    return values.size // values.shape[-1] if is_coupled or np.ndim(labels) == 2 else values.size


def _on_diagonals(values: FloatArray, labels: ArrayLike, elsewhere: float) -> FloatArray:
    """Of several outputs, blocks with these values on their diagonals; of one, the values."""
    if np.ndim(labels) != 2:
        return values
    num_outputs = values.shape[-1]
    return np.where(np.eye(num_outputs, dtype=bool), values[..., None], elsewhere)


def _elementwise(formula: Formula, outputs: ArrayLike, labels: ArrayLike) -> FloatArray:
    h, y = np.asarray(outputs, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    with np.errstate(over="ignore", divide="ignore"):  # infinite where the number leaves the range of a double
        result = np.asarray(formula(h, y), dtype=np.float64)
    if result.shape == h.shape and (y.shape == h.shape or y.shape == h.shape[1:]):  # what `broadcast_shapes` would say
        return result
    if not result.shape and y.shape == h.shape:  # a constant
        return np.full(h.shape, result)
    shape = np.broadcast_shapes(h.shape, y.shape)
    return result if result.shape == shape else np.full(shape, result)
