"""Neurons in a plane at several moments of a run, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from reluflow.arrays import FloatArray, IntArray
from reluflow.errors import InvalidInputError
from reluflow.viz.class_regions import MOST_NAMED, short_name
from reluflow.viz.style import DARK, GREY, LIGHT, NEGATIVE, POSITIVE, class_look, figure_style, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


HOLE = 0.35  # radius of the inner circle, on which neurons of norm 0 stand, in units of the outer one


def plot_neuron_frames(
    places: Sequence[FloatArray],
    signs: Sequence[FloatArray],
    titles: Sequence[str],
    *,
    sample_directions: FloatArray,
    plane: str,
    pushes: Sequence[IntArray] | None = None,
    names: Sequence[str] = (),
) -> Figure:
    """Draw neurons at several moments: direction as the angle, size as the distance from the inner circle.

    Parameters
    ----------
    places
        For each moment, coordinates in the plane, shape (m, 2), scaled so that the largest norm of the run is 1.
    signs
        For each moment, the signs of $a_j$.
    titles
        For each moment, its name.
    sample_directions
        Unit directions of the samples in the plane, shape (k, 2).
    plane
        Which plane it is, in words.
    pushes, names
        Of several outputs, for each moment the one that each neuron pushes most, in place of the signs, and the names
        of all.

    Returns
    -------
    Figure
        A matplotlib figure; `save_figure` writes it.

    Examples
    --------
    >>> import numpy as np
    >>> places, signs = np.array([[1.0, 0.0], [0.0, 0.5]]), np.array([1.0, -1.0])
    >>> figure = plot_neuron_frames(
    ...     [places, places], [signs, signs], ["start", "end"], sample_directions=np.eye(2), plane="the inputs")
    >>> len(figure.axes)
    2
    """
    if not len(places) == len(signs) == len(titles) > 0:
        raise InvalidInputError("`places`, `signs` and `titles` must have one entry per moment.")
    columns = min(3, len(places))
    rows = -(-len(places) // columns)
    with figure_style():
        from matplotlib.lines import Line2D

        figure = new_figure(2.3 * columns, 2.45 * rows + 0.75)
        height = 2.45 * rows + 0.75
        for k, (at, sign, title) in enumerate(zip(places, signs, titles, strict=True)):
            left = (k % columns) / columns
            bottom = 1.0 - (k // columns + 1) * 2.45 / height
            axes = figure.add_axes((left + 0.01, bottom, 1.0 / columns - 0.02, 2.15 / height))
            axes.set_aspect("equal")
            axes.axis("off")
            circle = np.linspace(0, 2 * np.pi, 181)
            for radius, colour in ((HOLE, DARK), (1.0, LIGHT)):
                axes.plot(radius * np.cos(circle), radius * np.sin(circle), color=colour, linewidth=0.7, zorder=1)
            for direction in sample_directions:
                axes.plot(*np.outer(direction, [1.0, 1.08]), color=GREY, linewidth=1.2, zorder=1)
            drawn = on_the_disc(at)
            fills, edges = _colours(sign, None if pushes is None else pushes[k])
            axes.scatter(  # all at once, in the neurons' own order, so that neither sign lies on top
                drawn[:, 0],
                drawn[:, 1],
                s=14,
                facecolors=fills,
                edgecolors=edges,
                linewidths=0.8,
                zorder=3,
            )
            axes.set_xlim(-1.15, 1.15)
            axes.set_ylim(-1.15, 1.15)
            axes.set_title(title, fontsize=8, pad=2)
        signed = [
            Line2D([], [], linestyle="", marker="o", markersize=4, color=POSITIVE, label="$a_j > 0$"),
            Line2D(
                [],
                [],
                linestyle="",
                marker="o",
                markersize=4,
                markerfacecolor="white",
                color=NEGATIVE,
                label="$a_j < 0$",
            ),
        ]
        pushing = [
            Line2D([], [], linestyle="", marker="o", markersize=4, color=class_look(c)[0], label=short_name(name))
            for c, name in enumerate(names[:MOST_NAMED])
        ]
        directions = Line2D([], [], color=GREY, linewidth=1.2, label="samples' directions")
        entries = [*(signed if pushes is None else pushing), directions]
        figure.legend(
            handles=entries,
            loc="lower center",
            ncols=max(3, min(len(entries), 2 * columns)),
            bbox_to_anchor=(0.5, 0.11 / height * 2.4),
        )
        figure.text(0.5, 0.08 / height, plane, ha="center", fontsize=8, color=DARK)
    return figure


def _colours(signs: FloatArray, pushes: IntArray | None) -> tuple[list[str], list[str]]:
    """Fill and rim of neurons: open for a negative output weight, else the colour of the output they push most."""
    if pushes is not None:
        colours = [class_look(int(c))[0] for c in pushes]
        return colours, colours
    return list(np.where(signs > 0, POSITIVE, "#FFFFFF")), list(np.where(signs > 0, POSITIVE, NEGATIVE))


def on_the_disc(places: FloatArray) -> FloatArray:
    """Move neurons outwards, so that one of norm 0 stands on the inner circle and one of norm 1 on the outer."""
    norms = np.hypot(places[:, 0], places[:, 1])
    safe = np.maximum(norms, np.finfo(float).tiny)
    return np.asarray(places / safe[:, None] * (HOLE + (1.0 - HOLE) * norms)[:, None])
