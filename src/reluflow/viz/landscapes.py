"""Loss landscapes of one neuron in the plane, as surfaces above and as maps below, with paths of the flow in red."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError
from reluflow.viz.style import BLACK, CONE_DASHES, DARK, GREY, SEQUENTIAL, figure_style, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


PATH = "#D62728"  # red, as in the sketches of the paper
PATH_DASHES: dict[str, Any] = {"plain": "solid", "branch": (0, (4, 1.5)), "stay": (0, (1.2, 1.2))}
VIEW = {"elev": 24.0, "azim": -68.0}


@dataclass(frozen=True, eq=False)
class FlowPath:
    """One solution of the flow.

    Parameters
    ----------
    points
        Weights along it, shape (k, 2).
    heights
        The loss along it, shape (k,).
    kind
        "plain", or where the flow is not unique "branch" or "stay", each with its own dashes.
    label
        For the legend; empty for none.
    """

    points: FloatArray
    heights: FloatArray
    kind: str = "plain"
    label: str = ""


@dataclass(frozen=True, eq=False)
class Landscape:
    """The loss over a plane of weights and paths on it.

    Parameters
    ----------
    title
        Above the surface.
    x, y
        Ticks of the grid.
    heights
        The loss there, shape (len(y), len(x)).
    paths
        Drawn on the surface and on the map.
    boundary
        Place on the horizontal axis of the activation boundary, a vertical line.
    note
        Under the map's title.
    """

    title: str
    x: ArrayLike
    y: ArrayLike
    heights: FloatArray
    paths: Sequence[FlowPath]
    boundary: float = 0.0
    note: str = ""


def plot_landscapes(landscapes: Sequence[Landscape], *, x_label: str = "$w_1$", y_label: str = "$w_2$") -> Figure:
    """Draw surfaces in a row and their maps under them.

    References
    ----------
    Lyu et al. (2021), Fig. 3 [lyu2021].
    """
    if not landscapes:
        raise InvalidInputError("`landscapes` must hold one or more, got none.")
    with figure_style():
        figure = new_figure(3.3 * len(landscapes), 6.0)
        columns = len(landscapes)
        entries: dict[str, Any] = {}
        for place, landscape in enumerate(landscapes):
            left = (place + 0.02) / columns
            surface: Any = figure.add_axes((left, 0.49, 0.94 / columns, 0.47), projection="3d", computed_zorder=False)
            _draw_surface(surface, landscape, x_label, y_label)
            axes = figure.add_axes(((place + 0.18) / columns, 0.13, 0.74 / columns, 0.31))
            _draw_map(axes, landscape)
            axes.set_xlabel(x_label)
            axes.set_ylabel(y_label)
            handles, labels = axes.get_legend_handles_labels()
            entries |= dict(zip(labels, handles, strict=True))
        figure.legend(entries.values(), entries, loc="lower center", ncols=len(entries), fontsize=8.0)
    return figure


def _draw_surface(axes: Any, landscape: Landscape, x_label: str, y_label: str) -> None:
    x, y = np.meshgrid(np.asarray(landscape.x), np.asarray(landscape.y))
    spread = float(np.ptp(landscape.heights))
    axes.plot_surface(
        x, y, landscape.heights, cmap=SEQUENTIAL, alpha=0.85, rcount=60, ccount=60, linewidth=0.0, zorder=1
    )
    ticks = np.asarray(landscape.y)
    column = int(np.argmin(np.abs(np.asarray(landscape.x) - landscape.boundary)))
    crease = landscape.heights[:, column] + 0.004 * spread
    axes.plot(np.full(len(ticks), landscape.boundary), ticks, crease, color=BLACK, linewidth=1.1, zorder=2)
    for path in landscape.paths:
        lifted = path.heights + 0.008 * spread  # a line in the surface would be cut by it
        axes.plot(*path.points.T, lifted, color=PATH, linestyle=PATH_DASHES[path.kind], linewidth=1.8, zorder=3)
    axes.view_init(**VIEW)
    axes.set_ylim(ticks[-1], ticks[0])  # the lower end in front, where the edge shows the profile across the boundary
    axes.set_zlim(landscape.heights.min(), landscape.heights.max())
    axes.set_box_aspect((1.0, 1.0, 0.6), zoom=1.0)
    axes.set_title(landscape.title, y=0.98)
    axes.set_xlabel(x_label, labelpad=-5)
    axes.set_ylabel(y_label, labelpad=-3)
    axes.set_zlabel("loss", labelpad=-7)
    axes.tick_params(labelsize=6.0, pad=-3)
    axes.locator_params(nbins=4)
    axes.set_zticklabels([])  # only the shape matters


def _draw_map(axes: Axes, landscape: Landscape) -> None:
    x, y = np.asarray(landscape.x), np.asarray(landscape.y)
    axes.contourf(x, y, landscape.heights, levels=18, cmap=SEQUENTIAL, alpha=0.55, zorder=0)
    axes.axvline(
        landscape.boundary,
        color=DARK,
        linewidth=1.1,
        linestyle=CONE_DASHES,
        zorder=2,
        label=r"boundary $\langle w, x_1\rangle = 0$",
    )
    for path in landscape.paths:
        axes.plot(
            *path.points.T,
            color=PATH,
            linestyle=PATH_DASHES[path.kind],
            linewidth=1.7,
            zorder=3,
            label=path.label or "_path",
        )
        _draw_arrow(axes, path)
        axes.scatter(path.points[:1, 0], path.points[:1, 1], s=12, color=PATH, zorder=4)
    axes.set_xlim(x[0], x[-1])
    axes.set_ylim(y[0], y[-1])
    axes.set_title(landscape.note, fontsize=8.0, color=GREY)


def _draw_arrow(axes: Axes, path: FlowPath) -> None:
    """An arrowhead at the end of a path."""
    if len(path.points) < 2:
        return
    start, end = path.points[-2], path.points[-1]
    style = {"arrowstyle": "-|>", "color": PATH, "linewidth": 1.2, "shrinkA": 0.0, "shrinkB": 0.0}
    axes.annotate("", xy=tuple(end), xytext=tuple(start), arrowprops=style, zorder=4)
