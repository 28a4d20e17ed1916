"""Phase diagrams: a measured quantity over two settings as a heat map, with its boundary and what a theory says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError
from reluflow.viz.style import BLACK, SEQUENTIAL, VERMILLION, figure_style, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

AxisScale = Literal["linear", "log"]

_NOTHING = "#E4E4E4"
_MOST_TICKS = 6  # values that can each have their own tick


@dataclass(frozen=True)
class Zone:
    """Where a theorem speaks: between two values of x, from the bottom of the map to the top, and the words for it."""

    low: float
    high: float
    label: str


@dataclass(frozen=True)
class Threshold:
    """A line a theory draws through the map: y over x."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    label: str


@dataclass(frozen=True, eq=False)
class PhaseMap:
    """One map.

    Parameters
    ----------
    title, x_label, y_label, bar_label
        Words.
    x, y
        The values of the two settings, in order.
    values
        Measured quantity, shape (len(y), len(x)); nan where there is none.
    x_scale, y_scale
        Linear or logarithmic.
    limits
        Values at the two ends of the colours; by default those that occur.
    level
        The boundary is drawn where the quantity passes this level; None for none.
    zones, thresholds
        What a theory says.
    x_names, y_names
        What stands at the values, where these are only places; empty for the values themselves.
    """

    title: str
    x_label: str
    y_label: str
    bar_label: str
    x: Sequence[float]
    y: Sequence[float]
    values: ArrayLike
    x_scale: AxisScale = "linear"
    y_scale: AxisScale = "linear"
    limits: tuple[float, float] | None = None
    level: float | None = 0.5
    zones: Sequence[Zone] = ()
    thresholds: Sequence[Threshold] = ()
    x_names: Sequence[str] = ()
    y_names: Sequence[str] = ()


def plot_phase_maps(
    maps: Sequence[PhaseMap], *, columns: int = 2, title: str = "", size: tuple[float, float] = (4.4, 3.4)
) -> Figure:
    """Draw maps side by side: small multiples where there are several."""
    if not maps:
        raise InvalidInputError("`maps` must hold at least one, got none.")
    across = min(columns, len(maps))
    rows = math.ceil(len(maps) / across)
    with figure_style():
        figure = new_figure(size[0] * across, size[1] * rows + (0.35 if title else 0.0))
        figure.set_layout_engine("constrained")
        for place, one in enumerate(maps, start=1):
            _draw(figure.add_subplot(rows, across, place), one)
        if title:
            figure.suptitle(title, fontsize=10.5)
    return figure


def cell_edges(values: Sequence[float], scale: AxisScale) -> FloatArray:
    """Edges of cells around values in order, half-way between neighbours on the axis as drawn.

    >>> cell_edges([1.0, 2.0, 4.0], "linear").tolist()
    [0.5, 1.5, 3.0, 5.0]
    >>> cell_edges([0.01, 1.0], "log").round(3).tolist()
    [0.001, 0.1, 10.0]
    """
    at = np.asarray(values, dtype=np.float64)
    if scale == "log":
        return np.asarray(np.exp(cell_edges(np.log(at).tolist(), "linear")))
    if at.size == 1:
        return np.array([at[0] - 0.5, at[0] + 0.5])
    middles = 0.5 * (at[1:] + at[:-1])
    return np.concatenate([[2 * at[0] - middles[0]], middles, [2 * at[-1] - middles[-1]]])


def _draw(axes: Axes, one: PhaseMap) -> None:
    values = np.asarray(one.values, dtype=np.float64)
    if values.shape != (len(one.y), len(one.x)):
        raise InvalidInputError(f"`values` must have shape {(len(one.y), len(one.x))}, got {values.shape}.")
    known = values[np.isfinite(values)]
    low, high = one.limits or ((float(known.min()), float(known.max())) if known.size else (0.0, 1.0))
    axes.set_xscale(one.x_scale)
    axes.set_yscale(one.y_scale)
    x_edges, y_edges = cell_edges(one.x, one.x_scale), cell_edges(one.y, one.y_scale)
    axes.set_facecolor(_NOTHING)
    mesh = axes.pcolormesh(x_edges, y_edges, np.ma.masked_invalid(values), cmap=SEQUENTIAL, vmin=low, vmax=high)
    if one.level is not None and min(values.shape) > 1 and known.size and known.min() < one.level < known.max():
        lines = axes.contour(one.x, one.y, values, levels=[one.level], colors=[BLACK], linewidths=1.6)
        axes.plot([], [], color=BLACK, linewidth=1.6, label=f"measured boundary ({one.level:g})")
        lines.set_gid("boundary")
    for zone in one.zones:
        axes.axvspan(zone.low, zone.high, facecolor="none", edgecolor=VERMILLION, hatch="//", linewidth=1.2)
        axes.plot([], [], color=VERMILLION, linewidth=4, alpha=0.6, label=zone.label)
    for threshold in one.thresholds:
        axes.plot(threshold.x, threshold.y, color=VERMILLION, linestyle=(0, (5, 2)), label=threshold.label)
    axes.set_xlim(x_edges[0], x_edges[-1])
    axes.set_ylim(y_edges[0], y_edges[-1])
    if np.isnan(values).any():
        axes.plot([], [], color=_NOTHING, linewidth=6, label="no result that decides")
    if one.x_names or len(one.x) <= _MOST_TICKS:
        axes.set_xticks(one.x, one.x_names or [f"{value:g}" for value in one.x])
        axes.set_xticks([], minor=True)
    if one.y_names or len(one.y) <= _MOST_TICKS:
        axes.set_yticks(one.y, one.y_names or [f"{value:g}" for value in one.y])
        axes.set_yticks([], minor=True)
    axes.set_title(one.title)
    axes.set_xlabel(one.x_label)
    axes.set_ylabel(one.y_label)
    figure = axes.get_figure()
    assert figure is not None, "the axes belong to no figure"
    bar = figure.colorbar(mesh, ax=axes, shrink=0.85, pad=0.02)
    bar.set_label(one.bar_label)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=1, fontsize=7.5)
