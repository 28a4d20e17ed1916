"""Moments of one run, a row each: the function over one input, and the neurons by direction on two radial axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError
from reluflow.viz.legend import SAMPLE_MARKERS, boundary_entry, sample_entries
from reluflow.viz.one_input import OneInput, one_input
from reluflow.viz.polar import angles_of, draw_cone_boundaries, require_directions, require_plane
from reluflow.viz.style import BLACK, BLUE, DARK, GREY, LIGHT, NEGATIVE, ORANGE, POSITIVE, figure_style, new_figure

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.projections.polar import PolarAxes


HOLE = -0.2  # the radial origin, in units of the outer circle: neurons of norm 0 stand on an inner circle
CROWDED = 2_000  # more stars than this are drawn small
WIDTH, ROW, TOP, FOOT = 10.2, 2.55, 0.5, 0.55  # inches
LEFT, MIDDLE, RIGHT = 0.7, 4.35, 7.25  # inches from the left edge to the three columns


@dataclass(frozen=True, eq=False)
class TrainingMoment:
    """One time of a run.

    Parameters
    ----------
    title
        When this is, in a few words.
    w, a
        The neurons, shapes (m, 2) and (m,).
    outputs
        The network's function on the grid, shape (g,).
    prediction
        Another run's function on the grid at the same time, shape (g,), or None.
    """

    title: str
    w: ArrayLike
    a: ArrayLike
    outputs: ArrayLike
    prediction: ArrayLike | None = None


@dataclass(frozen=True, eq=False)
class Backdrop:
    """What all moments of a run share.

    Parameters
    ----------
    dataset
        One input with a constant coordinate beside it.
    grid
        Inputs where the functions are given, shape (g,).
    reference
        A function to compare with on the grid, shape (g,), dashed.
    output_label, prediction_label, reference_label
        Words for the legend.
    y_limits
        Of the function's axes.
    shows_cones
        Whether to draw the cones' boundaries and the samples' directions; too many of them only darken the picture.
    """

    dataset: Dataset
    grid: ArrayLike
    reference: ArrayLike
    output_label: str
    reference_label: str
    prediction_label: str = ""
    y_limits: tuple[float, float] = (-0.5, 1.5)
    shows_cones: bool = True

    def line(self) -> OneInput:
        """The dataset as labels over a line."""
        require_plane(self.dataset, "The picture of a run")
        require_directions(self.dataset)
        line = one_input(self.dataset)
        if line is None:
            raise InvalidInputError("`dataset` must have one input and a constant coordinate beside it.")
        return line


def plot_training_moments(moments: Sequence[TrainingMoment], backdrop: Backdrop, *, title: str = "") -> Figure:
    """Draw one row per moment, in the convention of Boursier & Flammarion's figures.

    Every neuron is a star at angle atan2(w2, w1) and radius |w|, 0 on the inner circle; filled for a > 0, open for
    a < 0. The outer circle is the largest |w|, written there: of the moment in the middle column, where directions are
    seen, and of all moments in the right one, where growth is.

    References
    ----------
    Boursier & Flammarion (2024), Figs 2 and 3 [boursier2024].
    """
    line = backdrop.line()
    if not moments:
        raise InvalidInputError("`moments` must hold at least one moment, got none.")
    height = TOP + ROW * len(moments) + FOOT
    largest = max(relative_norms(np.asarray(moment.w, dtype=np.float64))[1] for moment in moments)
    with figure_style():
        from matplotlib.projections.polar import PolarAxes

        figure = new_figure(WIDTH, height)
        for row, moment in enumerate(moments):
            bottom = (height - TOP - ROW * (row + 1)) / height
            left = figure.add_axes((LEFT / WIDTH, bottom + 0.42 / height, 3.0 / WIDTH, (ROW - 0.75) / height))
            draw_function(left, moment, backdrop, line)
            left.set_title(moment.title, fontsize=9, parse_math=False)
            if row == len(moments) - 1:
                left.set_xlabel("input $x$")
            for place, radius in ((MIDDLE, None), (RIGHT, largest)):
                box = (place / WIDTH, bottom + 0.24 / height, (ROW - 0.48) / WIDTH, (ROW - 0.48) / height)
                axes = figure.add_axes(box, projection="polar")
                assert isinstance(axes, PolarAxes)
                draw_neurons(axes, moment, backdrop, outer=radius)
                if row == 0:
                    words = "neurons, own radial axis" if radius is None else "neurons, one axis for all"
                    axes.set_title(words, fontsize=9, pad=9)
        figure.legend(
            handles=_entries(moments, backdrop), loc="lower center", bbox_to_anchor=(0.5, 0.0), ncols=4, fontsize=7.5
        )
        if title:
            figure.suptitle(title, fontsize=10, y=1 - 0.09 / height, va="top", parse_math=False)
    return figure


def draw_function(
    axes: Axes, moment: TrainingMoment, backdrop: Backdrop, line: OneInput
) -> tuple[Line2D, Line2D | None]:
    """The reference, the function, the prediction and the samples; gives the two curves that change with time."""
    grid = np.asarray(backdrop.grid)
    axes.plot(grid, np.asarray(backdrop.reference), color=GREY, linestyle=(0, (5, 3)), linewidth=1.3, zorder=2)
    curve = axes.plot(grid, np.asarray(moment.outputs), color=BLUE, linewidth=2.2, zorder=3, gid="function")[0]
    other = None
    if moment.prediction is not None:
        other = axes.plot(
            grid, np.asarray(moment.prediction), color=ORANGE, linestyle=(0, (1, 1.3)), linewidth=1.6, zorder=3.5
        )[0]
    size = 26 if line.dataset.n <= 20 else 9
    axes.scatter(line.inputs, line.dataset.y, s=size, color=BLACK, zorder=4, gid="samples")
    axes.set_xlim(float(grid[0]), float(grid[-1]))
    axes.set_ylim(*backdrop.y_limits)
    axes.locator_params(nbins=5)
    axes.set_ylabel("$h(x)$, $y$")
    return curve, other


def draw_neurons(
    axes: PolarAxes, moment: TrainingMoment, backdrop: Backdrop, *, outer: float | None = None
) -> PathCollection:
    """The neurons of a moment in polar axes, whose outer circle is |w| = `outer`, by default the largest of them."""
    w, a = np.asarray(moment.w, dtype=np.float64), np.asarray(moment.a, dtype=np.float64)
    if w.ndim != 2 or w.shape[1] != 2 or a.shape != w.shape[:1]:
        raise InvalidInputError(f"`w` must have shape (m, 2) and `a` shape (m,), got {w.shape} and {a.shape}.")
    radii, largest = relative_norms(w)
    if outer is not None and outer > 0.0:
        radii, largest = radii * largest / outer, outer
    is_crowded = len(a) > CROWDED
    stars = axes.scatter(  # all at once, in the neurons' own order, so that neither sign lies on top
        angles_of(w),
        radii,
        s=7.0 if is_crowded else 20.0,
        marker="*",
        facecolors=face_colours(a),
        edgecolors=edge_colours(a),
        linewidths=0.35 if is_crowded else 0.6,
        zorder=3,
        rasterized=is_crowded,
        gid="neurons",
    )
    if backdrop.shows_cones:
        draw_cone_boundaries(axes, backdrop.dataset.X, 0.0, 1.06)
        angles = angles_of(backdrop.dataset.X)
        for sign, marker in SAMPLE_MARKERS.items():  # without names, for which there is no room here
            chosen = np.sign(backdrop.dataset.y) == sign
            axes.scatter(
                angles[chosen], np.full(np.sum(chosen), 1.15), s=36, marker=marker, color=BLACK, linewidths=1.5
            )
    axes.set_ylim(0.0, 1.26 if backdrop.shows_cones else 1.06)
    axes.set_rorigin(HOLE)
    axes.set_rticks([0.0, 1.0], labels=["", ""])
    axes.set_xticks(np.radians(np.arange(0, 360, 90)), [f"{degree}°" for degree in range(0, 360, 90)], fontsize=7)
    axes.tick_params(pad=-3)
    axes.grid(color=LIGHT, linewidth=0.6)
    axes.xaxis.grid(visible=False)
    axes.spines["polar"].set_visible(False)
    axes.spines["inner"].set_color(DARK)
    axes.text(
        0.98, 0.0, radius_words(largest), transform=axes.transAxes, fontsize=7, color=DARK, ha="left", va="bottom"
    )
    return stars


def face_colours(a: FloatArray) -> list[str]:
    """Inside of a star: filled for a > 0, white for a < 0."""
    return list(np.where(a > 0, POSITIVE, np.where(a < 0, "#FFFFFF", BLACK)))


def edge_colours(a: FloatArray) -> list[str]:
    """Edge of a star, by the sign of a."""
    return list(np.where(a > 0, POSITIVE, np.where(a < 0, NEGATIVE, BLACK)))


def relative_norms(w: FloatArray) -> tuple[FloatArray, float]:
    """|w| in units of the largest, and the largest.

    >>> relative_norms(np.array([[3.0, 4.0], [0.0, 2.5]]))
    (array([1. , 0.5]), 5.0)
    """
    norms = np.hypot(w[:, 0], w[:, 1])
    largest = float(np.max(norms, initial=0.0))
    return norms / (largest or 1.0), largest


def radius_words(largest: float) -> str:
    """What the outer circle stands for."""
    return f"outer circle:\n$|w|$ = {largest:.2g}"


def _entries(moments: Sequence[TrainingMoment], backdrop: Backdrop) -> list[Artist]:
    from matplotlib.lines import Line2D

    entries: list[Artist] = [Line2D([], [], color=BLUE, linewidth=2.2, label=backdrop.output_label)]
    if any(moment.prediction is not None for moment in moments):
        dots = Line2D([], [], color=ORANGE, linewidth=1.6, label=backdrop.prediction_label)
        dots.set_linestyle((0, (1, 1.3)))
        entries.append(dots)
    dashes = Line2D([], [], color=GREY, linewidth=1.3, label=backdrop.reference_label)
    dashes.set_linestyle((0, (5, 3)))
    entries += [dashes, Line2D([], [], linestyle="", marker="o", markersize=4, color=BLACK, label="samples")]
    for colour, face, words in ((POSITIVE, POSITIVE, "$a > 0$"), (NEGATIVE, "#FFFFFF", "$a < 0$")):
        star = Line2D([], [], linestyle="", marker="*", markersize=8, label=f"neurons, {words}")
        star.set(markerfacecolor=face, markeredgecolor=colour)
        entries.append(star)
    return entries + ([boundary_entry(), *sample_entries(backdrop.dataset)] if backdrop.shows_cones else [])
