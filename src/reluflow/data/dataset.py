"""Dataset: n labelled points in R^d, the input of every other package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError, binary_label_error, class_label_error

LARGEST, SMALLEST = 1e100, 1e-100  # of a coordinate: squares, and sums and products of a few, stay within a double


class Task(StrEnum):
    """What the labels mean."""

    CLASSIFICATION = "classification"
    REGRESSION = "regression"


@dataclass(frozen=True, eq=False)
class Dataset:
    """n samples with their labels; read-only, so it can be shared without fear.

    Labels are of one of four kinds: numbers to fit, two classes -1 and 1, rows of K numbers to fit (vector
    regression), or indices of K named classes (softmax).

    Parameters
    ----------
    X
        Samples as rows, shape (n, d), finite.
    y
        Labels, finite: shape (n,), in {-1, 1} when `task` is classification; or rows of numbers, shape (n, K); or with
        `classes` the index of each sample's class, 0 to K - 1, shape (n,).
    task
        Classification or regression; by default classification exactly when every label is -1 or 1 or a class.
    classes
        Names of the classes in the order of the outputs, at least two; None where labels are numbers or -1 and 1.
    name
        What to call it in tables and figures.
    provenance
        Where it comes from: a paper and its locator, a sampler and its seed, or a file.

    Examples
    --------
    >>> dataset = Dataset([[-0.75], [-0.5], [0.125]], [1.1, 0.1, 0.8], name="three points").with_bias()
    >>> dataset
    Dataset('three points', n=3, d=2, regression)
    >>> dataset.X[0]
    array([-0.75,  1.  ])
    >>> Dataset([[1.0], [2.0], [3.0]], [0, 2, 1], classes=("cat", "dog", "hen")).num_outputs
    3
    """

    X: FloatArray
    y: FloatArray
    task: Task
    classes: tuple[str, ...] | None
    name: str
    provenance: str

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        task: Task | str | None = None,
        classes: Sequence[str] | None = None,
        name: str = "unnamed",
        provenance: str = "given by the caller",
    ) -> None:
        samples, labels = _as_floats(X, "X"), _as_floats(y, "y")
        labels = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
        if samples.ndim != 2 or samples.shape[0] == 0 or samples.shape[1] == 0:
            raise InvalidInputError(
                f"`X` must have shape (n, d) with n and d at least 1, got {samples.shape}; one row is one sample."
            )
        if labels.shape[:1] != (samples.shape[0],) or labels.ndim > 2 or 0 in labels.shape:
            raise InvalidInputError(
                f"`y` must hold one label for each of the {samples.shape[0]} rows of `X`, got shape {labels.shape}."
            )
        for array, label in ((samples, "X"), (labels, "y")):
            bad = np.argwhere(~np.isfinite(array))
            if bad.size:
                place = ", ".join(str(int(i)) for i in bad[0])
                raise InvalidInputError(
                    f"`{label}` must be finite, got {array[tuple(bad[0])]} at [{place}]; remove or fill that sample."
                )
        names = None if classes is None else _checked_classes(classes, labels)
        is_binary = names is None and labels.ndim == 1 and bool(np.all(np.abs(labels) == 1.0))
        if task is None:
            chosen = Task.REGRESSION if names is None and not is_binary else Task.CLASSIFICATION
        else:
            chosen = _as_task(task)
        if chosen is Task.CLASSIFICATION and names is None and not is_binary:
            raise binary_label_error(labels) if labels.ndim == 1 else class_label_error(labels)
        if chosen is Task.REGRESSION and names is not None:
            raise InvalidInputError(
                f"`task` must be classification for labels with {len(names)} `classes`, got regression; without "
                "`classes` the labels are numbers to fit."
            )
        samples.setflags(write=False)
        labels.setflags(write=False)
        for field, value in (
            ("X", samples),
            ("y", labels),
            ("task", chosen),
            ("classes", names),
            ("name", name),
            ("provenance", provenance),
        ):
            object.__setattr__(self, field, value)

    @property
    def n(self) -> int:
        """Number of samples."""
        return int(self.X.shape[0])

    @property
    def d(self) -> int:
        """Dimension of a sample."""
        return int(self.X.shape[1])

    @property
    def is_binary(self) -> bool:
        """Whether every label is -1 or 1, so that a classification loss makes sense."""
        return self.classes is None and self.y.ndim == 1 and bool(np.all(np.abs(self.y) == 1.0))

    @property
    def num_outputs(self) -> int:
        """K, the outputs that a network for these labels has: one per class or per column of `y`, else 1."""
        if self.classes is not None:
            return len(self.classes)
        return 1 if self.y.ndim == 1 else int(self.y.shape[1])

    @property
    def default_loss(self) -> str:
        """Name of the loss that these labels mean where none is named: logistic, softmax or square."""
        if self.classes is not None:
            return "softmax"
        return "logistic" if self.is_binary else "square"

    def zero_outputs(self) -> FloatArray:
        """Outputs of the zero network on the samples: shape (n,), or (n, K) for several outputs."""
        return np.zeros(self.n if self.num_outputs == 1 else (self.n, self.num_outputs))

    def refuse_several_outputs(self, who: str, *, instead: str = "") -> None:
        """Raise where there are several outputs, for whoever knows one only; `instead` names what knows several."""
        if self.num_outputs > 1:
            labels = f"{self.num_outputs} classes" if self.classes is not None else f"{self.num_outputs} columns of `y`"
            if instead:
                raise InvalidInputError(
                    f"`dataset` must have one output for {who}, got {labels}; {instead} takes several."
                )
            way = "`dataset.one_against_rest(CLASS)` (`--labels CLASS`) sets one class against the rest"
            raise InvalidInputError(
                f"`dataset` must have one output for {who}, which is open for several, got {labels}; "
                f"{way if self.classes is not None else '`dataset.target(k)` (`--target NAME`) keeps one column'}."
            )

    def __repr__(self) -> str:
        several = "" if self.num_outputs == 1 else f", {self.num_outputs} outputs"
        return f"Dataset({self.name!r}, n={self.n}, d={self.d}, {self.task}{several})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Dataset):
            return NotImplemented
        is_alike = self.task == other.task and self.classes == other.classes
        return is_alike and np.array_equal(self.X, other.X) and np.array_equal(self.y, other.y)

    __hash__ = None  # type: ignore[assignment]  # equal by value and holding arrays, so not hashable

    @property
    def num_repeated(self) -> int:
        """How many rows repeat an earlier one; with the same label they are a weight, else two terms of the loss.

        >>> Dataset([[1.0], [2.0], [1.0]], [1.0, -1.0, -1.0]).num_repeated
        1
        """
        return self.n - len(np.unique(self.X + 0.0, axis=0))  # + 0.0 makes -0.0 and 0.0 the same

    def check_samples(self) -> None:
        """Raise if a sample is zero, or too large or small to be squared: the door check for data from outside."""
        zero = np.flatnonzero(~np.any(self.X, axis=1))
        if zero.size:
            raise InvalidInputError(
                f"`X` must hold no zero sample, got one in row {zero[0] + 1}: it has no direction and moves no neuron; "
                "remove it, or append the constant coordinate 1 (`bias=True`, `--bias`)."
            )
        for name, values in (("X", self.X), ("y", self.y)):
            largest = float(np.max(np.abs(values)))
            if largest > LARGEST:
                raise InvalidInputError(
                    f"`{name}` must hold numbers of at most {LARGEST:g}, whose squares a double still holds, got "
                    f"{largest:g}; take another unit, or `standardise` (`--standardise`)."
                )
        smallest = float(np.min(np.max(np.abs(self.X), axis=1)))
        if smallest < SMALLEST:
            raise InvalidInputError(
                f"`X` must hold samples of at least {SMALLEST:g}, whose squares a double still holds, got one of "
                f"{smallest:g}; take another unit, or `standardise` (`--standardise`)."
            )

    def replace(self, **changes: Any) -> Dataset:
        """Copy with some of X, y, task, name, provenance changed, validated again."""
        return replace(self, **changes)

    def with_bias(self, value: float = 1.0) -> Dataset:
        """Append a constant coordinate, which turns a homogeneous network into one with a hidden bias."""
        column = np.full((self.n, 1), float(value))
        return self.replace(X=np.hstack([self.X, column]), provenance=f"{self.provenance}; bias coordinate {value:g}")

    def centered(self) -> Dataset:
        """Subtract the mean sample."""
        return self.replace(X=self.X - self.X.mean(axis=0), provenance=f"{self.provenance}; centred")

    def standardised(self) -> Dataset:
        """Give every coordinate that is not constant mean 0 and variance 1; constant ones stay as they are.

        >>> Dataset([[1.0, 5.0], [3.0, 5.0]], [0.5, 1.5]).standardised().X.tolist()
        [[-1.0, 5.0], [1.0, 5.0]]
        """
        _, exponent = np.frexp(np.max(np.abs(self.X), axis=0))
        unit = np.ldexp(self.X, -exponent)  # first, so that squares neither over- nor underflow
        centred = unit - unit.mean(axis=0)
        spread = np.sqrt(np.mean(np.square(centred), axis=0))
        # values equal up to rounding are constant: their differences are noise, not data
        is_constant = (np.ptp(self.X, axis=0) == 0.0) | (spread <= 4.0 * np.finfo(float).eps)
        scaled = np.where(is_constant, self.X, centred / np.where(is_constant, 1.0, spread))
        return self.replace(X=scaled, provenance=f"{self.provenance}; standardised")

    def rotated(self, rotation: ArrayLike) -> Dataset:
        """Apply an orthogonal matrix to every sample: x -> Q x."""
        matrix = _as_floats(rotation, "rotation")
        if matrix.shape != (self.d, self.d) or not np.allclose(matrix @ matrix.T, np.eye(self.d), atol=1e-10):
            raise InvalidInputError(
                f"`rotation` must be an orthogonal matrix of shape ({self.d}, {self.d}), got shape {matrix.shape}."
            )
        return self.replace(X=self.X @ matrix.T, provenance=f"{self.provenance}; rotated")

    def scaled(self, factor: float) -> Dataset:
        """Multiply every sample by a positive number."""
        if not factor > 0 or not np.isfinite(factor):
            raise InvalidInputError(f"`factor` must be positive and finite, got {factor}.")
        return self.replace(X=self.X * factor, provenance=f"{self.provenance}; samples times {factor:g}")

    def with_class_indices(self) -> Dataset:
        """Labels as indices of classes, for the softmax loss: -1 and 1 become 0 and 1, other numbers 0, 1, ... by size.

        >>> Dataset([[1.0], [2.0]], [1.0, -1.0]).with_class_indices().y
        array([1., 0.])
        """
        if self.classes is not None:
            return self
        if self.y.ndim == 2:
            raise class_label_error(self.y)
        values = np.array([-1.0, 1.0]) if self.is_binary else np.unique(self.y)
        index = np.searchsorted(values, self.y)
        names = tuple(f"{value:g}" for value in values)
        names = names if len(set(names)) == len(names) else tuple(repr(float(value)) for value in values)
        return self.replace(y=index, task=Task.CLASSIFICATION, classes=names)

    def with_one_hot_targets(self) -> Dataset:
        """Classes as rows of 0s with a 1, shape (n, K): numbers for the square loss to fit."""
        self._refuse_without_classes()
        rows = (self.y[:, None] == np.arange(self.num_outputs)).astype(np.float64)
        return self.replace(y=rows, task=Task.REGRESSION, classes=None, provenance=f"{self.provenance}; one-hot")

    def one_against_rest(self, name: str) -> Dataset:
        """Labels 1 for one class and -1 for all others.

        >>> Dataset([[1.0], [2.0], [3.0]], [0, 2, 1], classes=("cat", "dog", "hen")).one_against_rest("dog").y
        array([-1., -1.,  1.])
        """
        names = self._refuse_without_classes()
        if name not in names:
            raise InvalidInputError(f"`name` must be one of the classes {', '.join(names)}, got {name!r}.")
        y = np.where(self.y == names.index(name), 1.0, -1.0)
        return self.replace(y=y, classes=None, provenance=f"{self.provenance}; {name} (+1) against the rest (-1)")

    def target(self, column: int) -> Dataset:
        """One column of rows of numbers, as the numbers to fit."""
        if self.y.ndim != 2 or not 0 <= column < self.y.shape[1]:
            raise InvalidInputError(f"`column` must be a column of `y`, which has shape {self.y.shape}, got {column}.")
        return self.replace(y=self.y[:, column], task=Task.REGRESSION)

    def _refuse_without_classes(self) -> tuple[str, ...]:
        if self.classes is None:
            raise InvalidInputError(
                "`dataset` must have classes, got other labels; `dataset.with_class_indices()` gives it some."
            )
        return self.classes

    def with_flipped_labels(self) -> Dataset:
        """Change the sign of every label."""
        if self.classes is not None:
            raise InvalidInputError(f"`dataset` must have labels with a sign to flip, got {len(self.classes)} classes.")
        return self.replace(y=-self.y, provenance=f"{self.provenance}; labels flipped")

    def permuted(self, order: ArrayLike) -> Dataset:
        """Reorder the samples."""
        index = np.asarray(order, dtype=np.intp)
        if not np.array_equal(np.sort(index), np.arange(self.n)):
            raise InvalidInputError(f"`order` must be a permutation of 0..{self.n - 1}.")
        return self.replace(X=self.X[index], y=self.y[index])

    def subset(self, index: ArrayLike) -> Dataset:
        """Keep the samples named by an index array or a mask."""
        return self.replace(X=self.X[np.asarray(index)], y=self.y[np.asarray(index)])

    def symmetrized(self) -> Dataset:
        """Add (-x, -y) for every (x, y): the augmentation of Lyu et al. (2021), Assumption 4.1 [lyu2021]."""
        if self.classes is not None:
            raise InvalidInputError(f"`dataset` must have labels with a sign to flip, got {len(self.classes)} classes.")
        return self.replace(
            X=np.vstack([self.X, -self.X]),
            y=np.concatenate([self.y, -self.y]),
            provenance=f"{self.provenance}; symmetrised",
        )


def _checked_classes(classes: Sequence[str], labels: FloatArray) -> tuple[str, ...]:
    """The names of the classes, for labels that are their indices."""
    names = tuple(map(str, classes))
    if isinstance(classes, str) or len(names) < 2 or len(set(names)) != len(names):
        raise InvalidInputError(f"`classes` must name at least two different classes, got {classes!r}.")
    if labels.ndim != 1 or not np.all(np.isin(labels, np.arange(len(names)))):
        came = (
            f"shape {labels.shape}" if labels.ndim != 1 else f"{labels[~np.isin(labels, np.arange(len(names)))][0]:g}"
        )
        raise InvalidInputError(
            f"`y` must hold one index 0, ..., {len(names) - 1} of the {len(names)} `classes` per sample, got {came}."
        )
    return names


def _as_task(task: Task | str) -> Task:
    try:
        return Task(task)
    except ValueError:
        raise InvalidInputError(f"`task` must be 'classification' or 'regression', got {task!r}.") from None


def _as_floats(values: ArrayLike, name: str) -> FloatArray:
    """A fresh C-ordered float64 copy, refusing what is not numeric."""
    try:
        return np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"`{name}` must be an array of numbers: {error}.") from error
