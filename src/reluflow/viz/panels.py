"""Curves in a grid of panels, described as data: what most figures of papers are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from reluflow.errors import InvalidInputError
from reluflow.viz.style import (
    BLACK,
    BLUE,
    BROWN,
    DARK,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    figure_style,
    new_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Transform

# Colour, dashes and marker change together, so that a curve is known by any one of them.
LOOKS: tuple[tuple[str, Any, str], ...] = (
    (BLUE, "-", "o"),
    (VERMILLION, (0, (5, 2)), "s"),
    (GREEN, (0, (4, 1.5, 1, 1.5)), "^"),
    (PURPLE, (0, (1, 1.2)), "D"),
    (ORANGE, (0, (8, 2)), "v"),
    (SKY, (0, (3, 1, 1, 1, 1, 1)), "P"),
    (BROWN, (0, (2, 2)), "X"),
    (BLACK, (0, (6, 1, 1, 1)), "*"),
)
_BELOW_LABELS = 0.42  # inches from an axis to what stands below its numbers and its name
BLACK_DOT = 100  # a look beside these, for the one point that a paper marks so

Scale = Literal["linear", "log", "symlog"]
LegendPlace = Literal["best", "below", "upper right", "upper left", "lower left", "lower right", "upper center", ""]


@dataclass(frozen=True, eq=False)
class Curve:
    """Numbers y over x.

    Parameters
    ----------
    x, y
        Same length; a nan breaks the line.
    label
        For the legend; empty for none. Equal labels share one row.
    look
        Index into `LOOKS`: colour, dashes and marker.
    kind
        "line", "marked" (a line with a marker at every point), "points", "steps" or "bars".
    low, high
        Edges of a band around the curve, such as quantiles.
    is_faint
        Thin and pale: one of many.
    """

    x: ArrayLike
    y: ArrayLike
    label: str = ""
    look: int = 0
    kind: Literal["line", "marked", "points", "steps", "bars"] = "line"
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    is_faint: bool = False


@dataclass(frozen=True)
class Guide:
    """A reference line across the panel: horizontal at a `value` of y, or vertical at one of x."""

    value: float
    label: str = ""
    is_vertical: bool = False
    look: int | None = None


@dataclass(frozen=True, eq=False)
class Panel:
    """One pair of axes.

    Parameters
    ----------
    title, x_label, y_label
        Mathematics between dollar signs is typeset.
    curves, levels
        What is drawn.
    x_scale, y_scale
        Linear, logarithmic, or logarithmic on both sides of a linear middle.
    x_limits, y_limits
        By default what the curves need.
    legend
        Where it stands: inside as matplotlib names places, "below" the axes, or empty for none. Panels without labels
        have none.
    note
        A few words in the lower left corner.
    """

    title: str
    x_label: str
    y_label: str
    curves: Sequence[Curve]
    levels: Sequence[Guide] = ()
    x_scale: Scale = "linear"
    y_scale: Scale = "linear"
    x_limits: tuple[float, float] | None = None
    y_limits: tuple[float, float] | None = None
    legend: LegendPlace = "best"
    note: str = ""


def plot_panels(
    panels: Sequence[Panel], *, columns: int = 2, title: str = "", panel_size: tuple[float, float] = (3.5, 2.7)
) -> Figure:
    """Draw panels row by row.

    Parameters
    ----------
    panels
        At least one.
    columns
        Panels in a row.
    title
        Above all.
    panel_size
        Width and height of one panel in inches.
    """
    if not panels or columns < 1:
        raise InvalidInputError(
            f"`panels` must hold one or more and `columns` be at least 1, got {len(panels)}, {columns}."
        )
    across = min(columns, len(panels))
    rows = math.ceil(len(panels) / across)
    with figure_style():
        figure = new_figure(panel_size[0] * across, panel_size[1] * rows + (0.35 if title else 0.0))
        figure.set_layout_engine("constrained")
        for place, panel in enumerate(panels, start=1):
            draw_panel(figure.add_subplot(rows, across, place), panel)
        if title:
            figure.suptitle(title, fontsize=10.5)
    return figure


def draw_panel(axes: Axes, panel: Panel) -> None:
    """Draw one panel into axes; call it inside `figure_style`."""
    if panel.x_scale == "log":
        axes.set_xscale("log", nonpositive="mask")  # clipped, the time 0 would be drawn as a flat piece that is no data
    else:
        axes.set_xscale(panel.x_scale)
    axes.set_yscale(panel.y_scale)
    for level in panel.levels:
        _draw_level(axes, level)
    for number, curve in enumerate(panel.curves, start=1):
        _draw_curve(axes, curve, f"curve-{number}")
    axes.set_title(panel.title)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    if panel.x_limits is not None:
        axes.set_xlim(*panel.x_limits)
    if panel.y_limits is not None:
        axes.set_ylim(*panel.y_limits)
    if panel.note:
        axes.text(0.02, 0.03, panel.note, transform=axes.transAxes, fontsize=7.5, color=DARK)
    handles, labels = axes.get_legend_handles_labels()
    rows = dict(zip(labels, handles, strict=True))
    if panel.legend != "" and rows:
        handles, labels = list(rows.values()), list(rows)
        if panel.legend == "below":
            axes.legend(
                handles,
                labels,
                loc="upper center",
                bbox_to_anchor=(0.5, 0.0),
                bbox_transform=_lowered(axes, _BELOW_LABELS),
                ncols=2,
                fontsize=7.5,
            )
        else:
            axes.legend(handles, labels, loc=panel.legend, fontsize=7.5)


def _lowered(axes: Axes, inches: float) -> Transform:
    """Fractions of the axes moved down by as much in small panels as in large ones."""
    from matplotlib.transforms import ScaledTranslation

    figure = axes.get_figure(root=True)
    assert figure is not None
    return axes.transAxes + ScaledTranslation(0.0, -inches, figure.dpi_scale_trans)


def _draw_curve(axes: Axes, curve: Curve, name: str) -> None:
    x, y = np.asarray(curve.x, dtype=np.float64), np.asarray(curve.y, dtype=np.float64)
    if x.shape != y.shape or x.ndim != 1:
        raise InvalidInputError(f"`x` and `y` of a curve must be vectors of one length, got {x.shape} and {y.shape}.")
    colour, dashes, marker = (BLACK, "-", "o") if curve.look == BLACK_DOT else LOOKS[curve.look % len(LOOKS)]
    label = curve.label or f"_{name}"  # a leading underscore keeps it out of the legend
    if curve.kind == "bars":
        width = 0.8 * float(np.min(np.diff(np.unique(x)), initial=np.inf)) if len(np.unique(x)) > 1 else 0.8
        axes.bar(x, y, width=width, color=colour, alpha=0.75, label=label, gid=name)
        return
    alpha = 0.35 if curve.is_faint else 1.0
    size = 0.7 if curve.is_faint else 1.4
    if curve.low is not None and curve.high is not None:
        axes.fill_between(x, np.asarray(curve.low), np.asarray(curve.high), color=colour, alpha=0.18, linewidth=0.0)
    if curve.kind == "points":
        axes.scatter(
            x, y, s=10 if curve.is_faint else 20, marker=marker, color=colour, alpha=alpha, label=label, gid=name
        )
        return
    axes.plot(
        x,
        y,
        color=colour,
        linestyle=dashes,
        linewidth=size,
        alpha=alpha,
        marker=marker if curve.kind == "marked" else "",
        markersize=4.0,
        drawstyle="steps-post" if curve.kind == "steps" else "default",
        label=label,
        gid=name,
    )


def _draw_level(axes: Axes, level: Guide) -> None:
    colour = GREY if level.look is None else LOOKS[level.look % len(LOOKS)][0]
    draw = axes.axvline if level.is_vertical else axes.axhline
    draw(level.value, color=colour, linewidth=0.9, linestyle=(0, (3, 3)), zorder=1, label=level.label or "_level")
