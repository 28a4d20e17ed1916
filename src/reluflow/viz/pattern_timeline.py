"""Which samples activate one neuron over time: a row per sample, dark while it is active, a mark at each change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from reluflow.errors import InvalidInputError
from reluflow.viz.style import DARK, GREY, LIGHT, NEGATIVE, POSITIVE

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class PatternTimeline:
    """The activation pattern of one neuron.

    Parameters
    ----------
    title
        Above it.
    labels
        Signs of the samples' labels, shape (n,).
    start
        Which samples activate the neuron at time 0, shape (n,).
    changes
        Times and samples of the changes, in order: pairs (t, index).
    end
        Where the time axis ends.
    x_label
        Under the time axis.
    note
        A few words under the title's right end, such as the cone the neuron ends in.
    """

    title: str
    labels: ArrayLike
    start: ArrayLike
    changes: Sequence[tuple[float, int]]
    end: float
    x_label: str = "time $t$"
    note: str = ""

    def draw(self, axes: Axes) -> None:
        """Positive samples above, negative ones below."""
        signs = np.sign(np.asarray(self.labels, dtype=np.float64))
        active = np.array(self.start, dtype=bool)
        if active.shape != signs.shape:
            raise InvalidInputError(f"`start` must have the shape of `labels`, got {active.shape} and {signs.shape}.")
        n = len(signs)
        order = [*np.flatnonzero(signs < 0)[::-1], *np.flatnonzero(signs > 0)[::-1]]
        height = {int(sample): row for row, sample in enumerate(order)}
        edges = [0.0, *(time for time, _ in self.changes), self.end]
        for place, (left, right) in enumerate(pairwise(edges)):
            for sample in range(n):
                colour = POSITIVE if signs[sample] > 0 else NEGATIVE
                is_on = bool(active[sample])
                axes.plot(
                    [left, right],
                    [height[sample]] * 2,
                    color=colour if is_on else LIGHT,
                    linewidth=5.0 if is_on else 1.2,
                    solid_capstyle="butt",
                    zorder=2 if is_on else 1,
                )
            if place < len(self.changes):
                sample = self.changes[place][1]
                active[sample] = ~active[sample]
                axes.axvline(right, color=GREY, linewidth=0.5, zorder=0.5)
                axes.plot(
                    right,
                    height[sample],
                    marker="o",
                    markersize=6.5,
                    markerfacecolor="white",
                    color=POSITIVE if signs[sample] > 0 else NEGATIVE,
                    zorder=3,
                )
        axes.set_yticks(range(n), [f"${'+' if signs[k] > 0 else '-'}\\ x_{{{k + 1}}}$" for k in order], fontsize=8)
        axes.set_ylim(-0.7, n - 0.3)
        axes.set_xlim(0.0, self.end)
        axes.set_xlabel(self.x_label)
        axes.set_title(self.title)
        if self.note:
            axes.text(1.0, 1.0, self.note, transform=axes.transAxes, ha="right", va="bottom", fontsize=8, color=DARK)
