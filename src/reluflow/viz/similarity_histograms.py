"""Distributions drawn as outlines over shared bins: similarities of pairs of samples, cosines of neurons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from reluflow.errors import InvalidInputError
from reluflow.viz.panels import LOOKS
from reluflow.viz.style import GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class SimilarityHistogram:
    """Up to eight distributions of one quantity.

    Parameters
    ----------
    title, x_label
        Which layer, which quantity.
    edges
        Edges of the bins, shape (b + 1,).
    shares
        Share of each distribution in each bin, shape (k, b).
    labels
        Names of the k distributions; empty ones leave the legend out.
    marks
        Numbers marked by a vertical line.
    mark_label
        What these are, for the legend; empty for nothing.
    y_label
        What the height is.
    """

    title: str
    x_label: str
    edges: ArrayLike
    shares: ArrayLike
    labels: Sequence[str]
    marks: Sequence[float] = ()
    y_label: str = "share of pairs"
    mark_label: str = ""

    def __post_init__(self) -> None:
        edges, shares = np.shape(self.edges), np.shape(self.shares)
        if len(shares) != 2 or edges != (shares[1] + 1,) or len(self.labels) != shares[0]:
            raise InvalidInputError(
                f"`shares` must have shape (k, b) with b + 1 `edges` and k `labels`, got {shares}, {edges} and "
                f"{len(self.labels)}."
            )

    def draw(self, axes: Axes) -> None:
        """Filled steps, each with its own line style."""
        edges = np.asarray(self.edges, dtype=np.float64)
        for number, (shares, name) in enumerate(zip(np.asarray(self.shares), self.labels, strict=True)):
            colour, dashes, _ = LOOKS[number % len(LOOKS)]
            look: dict[str, Any] = {"color": colour, "linestyle": dashes, "linewidth": 1.2}
            axes.stairs(shares, edges, label=name or "_", gid=f"histogram-{number + 1}", **look)
            axes.stairs(shares, edges, fill=True, color=colour, alpha=0.15, linewidth=0.0)
        for number, mark in enumerate(self.marks):
            name = "_" if number else self.mark_label or "_"
            axes.axvline(mark, color=GREY, linewidth=0.9, linestyle=(0, (3, 3)), zorder=1, label=name)
        if any((*self.labels, self.mark_label)):
            axes.legend(loc="best", fontsize=7.0)
        axes.set_ylim(bottom=0.0)
        axes.set_title(self.title)
        axes.set_xlabel(self.x_label)
        axes.set_ylabel(self.y_label)
        axes.locator_params(axis="x", nbins=5)
        axes.ticklabel_format(axis="x", scilimits=(-3, 4))
