"""Classifiers over a plane: coloured outputs, decision boundaries of several functions, and the samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError
from reluflow.viz.one_input import draw_classes
from reluflow.viz.style import BLACK, DARK, NEGATIVE, ORANGE, POSITIVE, SEQUENTIAL, VERMILLION, figure_style, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patheffects import AbstractPathEffect


# Colour and dashes change together, so that a boundary is known by either.
BOUNDARY_LOOKS: dict[str, tuple[str, Any, float]] = {
    "black": (BLACK, "solid", 1.7),
    "orange": (ORANGE, (0, (6, 1.6)), 2.0),
    "red": (VERMILLION, (0, (5, 1.5)), 1.6),
    "white": ("white", (0, (1.2, 1.6)), 1.5),
}
NUM_LEVELS = 14


@dataclass(frozen=True, eq=False)
class DecisionBoundary:
    """Where a function vanishes.

    Parameters
    ----------
    values
        The function on the grid of its plane, shape (len(y), len(x)).
    label
        For the legend.
    look
        One of `BOUNDARY_LOOKS`.
    """

    values: FloatArray
    label: str
    look: str = "black"


@dataclass(frozen=True, eq=False)
class DecisionPlane:
    """One pair of axes.

    Parameters
    ----------
    title, x_label, y_label
        Mathematics between dollar signs is typeset.
    x, y
        Ticks of the grid along the two axes.
    points, labels
        Samples in the coordinates of the plane, shape (n, 2), and their classes -1 and 1; those outside the grid are
        shown by an arrow at its edge, which says only in which direction they lie.
    outputs
        A function on the grid, drawn in colours, lighter where it is higher; None for a white plane.
    boundaries
        Drawn on top, in order.
    crosses
        Indices of samples drawn as crosses.
    """

    title: str
    x: ArrayLike
    y: ArrayLike
    points: FloatArray
    labels: FloatArray
    outputs: FloatArray | None = None
    boundaries: Sequence[DecisionBoundary] = ()
    crosses: Sequence[int] = ()
    x_label: str = "$x_1$"
    y_label: str = "$x_2$"

    def draw(self, axes: Axes) -> None:
        """Draw into empty axes, inside `figure_style`."""
        from matplotlib.ticker import MaxNLocator

        x, y = np.asarray(self.x, dtype=np.float64), np.asarray(self.y, dtype=np.float64)
        if self.outputs is not None:
            levels = MaxNLocator(nbins=NUM_LEVELS).tick_values(self.outputs.min(), self.outputs.max())
            axes.contourf(x, y, self.outputs, levels=levels, cmap=SEQUENTIAL, zorder=0)
            axes.contour(x, y, self.outputs, levels=levels, colors="white", linewidths=0.3, alpha=0.5, zorder=1)
        for number, boundary in enumerate(self.boundaries, start=1):
            colour, dashes, width = BOUNDARY_LOOKS[boundary.look]
            if np.min(boundary.values) < 0.0 < np.max(boundary.values):
                lines = axes.contour(x, y, boundary.values, levels=[0.0], colors=colour, linewidths=width, zorder=3)
                lines.set_linestyle([dashes])
                lines.set_path_effects(_rim(colour, width))
                lines.set_gid(f"boundary-{number}")
            (row,) = axes.plot([], [], color=colour, linestyle=dashes, linewidth=width, label=boundary.label)
            row.set_path_effects(_rim(colour, width))
        self._draw_samples(axes, (x[0], x[-1], y[0], y[-1]))
        axes.set_xlim(x[0], x[-1])
        axes.set_ylim(y[0], y[-1])
        axes.set_title(self.title)
        axes.set_xlabel(self.x_label)
        axes.set_ylabel(self.y_label)
        axes.locator_params(nbins=6)

    def _draw_samples(self, axes: Axes, window: tuple[float, float, float, float]) -> None:
        left, right, bottom, top = window
        points = self.points
        is_inside = (points[:, 0] >= left) & (points[:, 0] <= right) & (points[:, 1] >= bottom) & (points[:, 1] <= top)
        is_cross = np.isin(np.arange(len(points)), np.asarray(self.crosses, dtype=np.int64))
        plain = is_inside & ~is_cross
        draw_classes(axes, points[plain], self.labels[plain])
        for sign, colour in ((1.0, POSITIVE), (-1.0, NEGATIVE)):
            crosses = points[is_inside & is_cross & (self.labels == sign)]
            if len(crosses):
                axes.scatter(
                    crosses[:, 0],
                    crosses[:, 1],
                    s=48,
                    marker="x",
                    color=colour,
                    linewidths=2.0,
                    zorder=4,
                    label=f"extra sample, y = {sign:+.0f}".replace("-", "−"),
                )
            for index in np.flatnonzero(~is_inside & (self.labels == sign)):
                start, end = _towards(points[index], window)
                arrow = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.6, "shrinkA": 0.0, "shrinkB": 0.0}
                axes.annotate("", xy=end, xytext=start, arrowprops=arrow, zorder=5)
                axes.plot([], [], color=colour, marker=">", linewidth=1.6, markevery=[1], label="lies further out")
                if is_cross[index]:
                    axes.scatter(*start, s=48, marker="x", color=colour, linewidths=2.0, zorder=5)


def plot_decision_planes(
    planes: Sequence[DecisionPlane], *, columns: int = 3, title: str = "", plane_size: tuple[float, float] = (3.0, 2.8)
) -> Figure:
    """Draw planes row by row with one legend below them.

    Parameters
    ----------
    planes
        At least one.
    columns
        Planes in a row.
    title
        Above all.
    plane_size
        Width and height of one plane in inches.

    References
    ----------
    Lyu et al. (2021), Figs 1, 2 and 4 [lyu2021].
    """
    if not planes or columns < 1:
        raise InvalidInputError(
            f"`planes` must hold one or more and `columns` be at least 1, got {len(planes)}, {columns}."
        )
    across = min(columns, len(planes))
    rows = math.ceil(len(planes) / across)
    with figure_style():
        figure = new_figure(plane_size[0] * across, plane_size[1] * rows + 0.45 + (0.3 if title else 0.0))
        figure.set_layout_engine("constrained")
        entries: dict[str, Any] = {}
        for place, plane in enumerate(planes, start=1):
            axes = figure.add_subplot(rows, across, place)
            plane.draw(axes)
            handles, labels = axes.get_legend_handles_labels()
            entries |= dict(zip(labels, handles, strict=True))
        figure.legend(
            entries.values(), entries, loc="outside lower center", ncols=min(len(entries), 2 * across), fontsize=8.0
        )
        if title:
            figure.suptitle(title, fontsize=10.5)
    return figure


def _rim(colour: str, width: float) -> list[AbstractPathEffect]:
    """A white line has a dark rim, in the plane and in the legend alike."""
    from matplotlib.patheffects import Normal, withStroke

    return [withStroke(linewidth=width + 1.2, foreground=DARK)] if colour == "white" else [Normal()]


def _towards(
    place: FloatArray, window: tuple[float, float, float, float]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Ends of a short arrow inside the window that points from its centre to a place outside."""
    left, right, bottom, top = window
    centre, half = np.array([left + right, bottom + top]) / 2, np.array([right - left, top - bottom]) / 2
    ray = np.asarray(place) - centre
    edge = ray / np.max(np.abs(ray) / half)
    start, end = centre + 0.80 * edge, centre + 0.98 * edge
    return (float(start[0]), float(start[1])), (float(end[0]), float(end[1]))
