"""Paths in a grid of pairs of counts, such as how many samples of either class activate a neuron over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from reluflow.errors import InvalidInputError
from reluflow.viz.panels import LOOKS
from reluflow.viz.style import DARK, GREEN, GREY, LIGHT

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class GridPath:
    """One path: its nodes (k, 2), a name for the legend, its look, and words beside its edges, on either side."""

    nodes: ArrayLike
    label: str = ""
    look: int = 0
    edge_words: Sequence[str] = ()
    is_faint: bool = False
    has_words_left: bool = False


@dataclass(frozen=True, eq=False)
class CountGrid:
    """The grid {0, ..., n_+} x {0, ..., n_-} with paths on it.

    Parameters
    ----------
    title
        Above it.
    num_across, num_up
        Largest counts.
    paths
        Drawn in order.
    links
        Pairs of edges ((a, b), (c, d)): a dotted arrow from the middle of the first to that of the second.
    link_label
        What such an arrow is, for the legend.
    x_label, y_label
        Under and beside it.
    """

    title: str
    num_across: int
    num_up: int
    paths: Sequence[GridPath]
    links: Sequence[tuple[ArrayLike, ArrayLike]] = ()
    link_label: str = ""
    x_label: str = "positive samples that activate the neuron, $k_+$"
    y_label: str = "negative samples, $k_-$"

    def draw(self, axes: Axes) -> None:
        """Grid below, then paths with an arrow on every edge, then links."""
        if self.num_across < 1 or self.num_up < 0:
            raise InvalidInputError(f"`num_across` must be at least 1, got {self.num_across} and {self.num_up}.")
        across, up = np.meshgrid(np.arange(self.num_across + 1), np.arange(self.num_up + 1))
        axes.plot(across.ravel(), up.ravel(), ".", color=LIGHT, markersize=4, zorder=1)
        axes.plot(0, 0, "x", color=GREY, markersize=8, zorder=2)
        axes.annotate(r"$S_{\mathrm{dead}}$", (0, 0), (-0.12, -0.12), ha="right", va="top", fontsize=8, color=GREY)
        axes.annotate(r"$S_+$", (self.num_across, 0), (self.num_across + 0.15, -0.1), va="top", fontsize=9, color=DARK)
        for path in self.paths:
            self._draw_path(axes, path)
        for first, second in self.links:
            begin, end = (np.asarray(edge, dtype=np.float64).mean(axis=0) for edge in (first, second))
            axes.annotate(
                "",
                end,
                begin,
                arrowprops={
                    "arrowstyle": "->",
                    "linestyle": (0, (1, 1.5)),
                    "color": GREEN,
                    "linewidth": 1.1,
                    "connectionstyle": "arc3,rad=0.2",
                    "shrinkA": 2,
                    "shrinkB": 2,
                },
                zorder=5,
            )
        if self.links and self.link_label:
            axes.plot([], [], color=GREEN, linestyle=(0, (1, 1.5)), marker=">", markersize=4, label=self.link_label)
        axes.set_xlim(-0.8, self.num_across + 0.8)
        axes.set_ylim(-0.8, self.num_up + 0.6)
        axes.set_aspect("equal")
        axes.set_xticks(range(self.num_across + 1))
        axes.set_yticks(range(self.num_up + 1))
        axes.set_xlabel(self.x_label)
        axes.set_ylabel(self.y_label)
        axes.set_title(self.title)
        if any(path.label for path in self.paths):
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2)

    def _draw_path(self, axes: Axes, path: GridPath) -> None:
        nodes = np.asarray(path.nodes, dtype=np.float64)
        colour, dashes, marker = LOOKS[path.look]
        if path.is_faint:
            axes.plot(nodes[:, 0], nodes[:, 1], color=LIGHT, linewidth=0.8, zorder=1.5, label=path.label or None)
            return
        axes.plot(
            nodes[:, 0], nodes[:, 1], color=colour, linestyle=dashes, marker=marker, label=path.label or None, zorder=3
        )
        for place, (begin, end) in enumerate(pairwise(nodes)):
            axes.annotate(
                "",
                begin + 0.62 * (end - begin),
                begin + 0.55 * (end - begin),
                arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 1.2},
                zorder=4,
            )
            if place < len(path.edge_words):
                middle, is_flat = 0.5 * (begin + end), begin[1] == end[1]
                side = -1.0 if path.has_words_left else 1.0  # where links arrive there is no room
                offset = (0.0, 0.09 * side) if is_flat else (0.07 * side, 0.0)
                axes.text(
                    middle[0] + offset[0],
                    middle[1] + offset[1],
                    path.edge_words[place],
                    fontsize=6.5,
                    color=colour,
                    ha="center" if is_flat else "left" if side > 0 else "right",
                    va="center" if not is_flat else "bottom" if side > 0 else "top",
                    zorder=6,
                )
