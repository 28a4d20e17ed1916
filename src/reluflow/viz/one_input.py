"""Samples with one real input, with or without a constant coordinate beside it: the view x against y."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.data.dataset import Dataset
from reluflow.viz.style import BLACK, GREY, NEGATIVE, POSITIVE, class_look

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class OneInput:
    """A dataset seen as labels over a line.

    Parameters
    ----------
    dataset
        Dimension 1, or 2 with a constant second coordinate.
    bias
        That constant, or None in dimension 1.
    """

    dataset: Dataset
    bias: float | None

    @property
    def inputs(self) -> FloatArray:
        """The first coordinate, shape (n,)."""
        return np.asarray(self.dataset.X[:, 0])

    def lift(self, inputs: ArrayLike) -> FloatArray:
        """Inputs as rows a network takes, the constant beside them."""
        column = np.asarray(inputs, dtype=np.float64).reshape(-1, 1)
        if self.bias is None:
            return column
        return np.hstack([column, np.full_like(column, self.bias)])

    def least_squares(self) -> FloatArray:
        """beta with <beta, x> closest to the labels, of least norm where there are several, shape (d,)."""
        return np.asarray(np.linalg.lstsq(self.dataset.X, self.dataset.y, rcond=None)[0])

    def range(self) -> tuple[float, float]:
        """[-1, 1], widened to hold every input with a little space beyond the last one."""
        low, high = float(np.min(self.inputs)), float(np.max(self.inputs))
        margin = 0.05 * (high - low)
        return (min(-1.0, low - margin) if low < -1.0 else -1.0), (max(1.0, high + margin) if high > 1.0 else 1.0)

    def draw_samples(self, axes: Axes) -> None:
        """Circles, or squares and circles for the two classes."""
        if self.dataset.num_outputs > 1:
            self._draw_several(axes)
        elif self.dataset.task == "classification":
            draw_classes(axes, np.column_stack([self.inputs, self.dataset.y]), self.dataset.y)
        else:
            axes.scatter(self.inputs, self.dataset.y, s=34, color=BLACK, zorder=4, label="samples", gid="samples")

    def _draw_several(self, axes: Axes) -> None:
        """Of classes, the samples along the height of their index; of rows of numbers, every column with its look."""
        from reluflow.viz.class_regions import draw_several_classes, short_name

        labels, names = self.dataset.y, self.dataset.classes
        if names is not None:
            places = np.column_stack([self.inputs, labels])
            draw_several_classes(axes, places, labels.astype(np.int64), names)
            return
        for c in range(labels.shape[1]):
            colour, marker = class_look(c)
            axes.scatter(
                self.inputs, labels[:, c], s=30, color=colour, marker=marker, zorder=4, label=short_name(f"y{c + 1}"),
                gid=f"samples-{c}",
            )  # fmt: skip

    def draw_least_squares(self, axes: Axes) -> None:
        """The least-squares line over the whole range, dashed; of classes there is none."""
        if self.dataset.num_outputs > 1:
            return
        ends = np.array(self.range())
        axes.plot(
            ends,
            self.lift(ends) @ self.least_squares(),
            color=GREY,
            linestyle=(0, (5, 3)),
            zorder=2,
            label="least squares",
            gid="least-squares",
        )


def one_input(dataset: Dataset) -> OneInput | None:
    """The view of a dataset over a line, or None where it has more than one varying coordinate.

    >>> one_input(Dataset([[0.5, 1.0], [2.0, 1.0]], [1.0, 3.0])).least_squares().round(6)
    array([1.333333, 0.333333])
    """
    if dataset.d == 1:
        return OneInput(dataset, None)
    if dataset.d == 2 and dataset.X[0, 1] != 0.0 and np.all(dataset.X[:, 1] == dataset.X[0, 1]):
        return OneInput(dataset, float(dataset.X[0, 1]))
    return None


def planar_bias(dataset: Dataset) -> float | None:
    """The constant third coordinate of samples in the plane with a bias; None for any others.

    >>> from reluflow.data.dataset import Dataset
    >>> plane = Dataset([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0])
    >>> planar_bias(plane.with_bias()), planar_bias(plane)
    (1.0, None)
    """
    if dataset.d != 3 or dataset.X[0, 2] == 0.0 or not np.all(dataset.X[:, 2] == dataset.X[0, 2]):
        return None
    return float(dataset.X[0, 2])


def draw_classes(axes: Axes, places: FloatArray, labels: FloatArray) -> None:
    """Points of the plane by class: filled circles for +1, open squares for -1."""
    size = 34.0 if len(labels) <= 200 else 12.0
    for sign, colour, marker, is_filled in ((1.0, POSITIVE, "o", True), (-1.0, NEGATIVE, "s", False)):
        chosen = places[labels == sign]
        if len(chosen):
            axes.scatter(
                chosen[:, 0],
                chosen[:, 1],
                s=size,
                marker=marker,
                facecolors=colour if is_filled else "white",
                edgecolors=colour,
                linewidths=1.2 if size > 20 else 0.7,
                zorder=4,
                label=f"y = {sign:+.0f}".replace("-", "−"),
                gid=f"class-{'plus' if sign > 0 else 'minus'}",
            )
