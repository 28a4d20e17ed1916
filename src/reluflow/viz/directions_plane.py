"""Rows of a weight matrix, that is neurons, in the plane of its two largest singular values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from reluflow.viz.style import BLACK, DARK, GREY, LIGHT, NEGATIVE, POSITIVE

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class DirectionsPlane:
    """Neurons as dots, by the sign of their output weight, and directions as rays from the origin.

    Parameters
    ----------
    title
        Which matrix.
    points
        Coordinates of its rows in the plane, shape (m, 2).
    signs
        Sign of each neuron's output weight, shape (m,); None where a layer has none.
    directions
        Pairs of a name, with mathematics between dollar signs, and a vector of the plane, drawn as a ray of the length
        of the largest neuron.
    """

    title: str
    points: ArrayLike
    signs: ArrayLike | None = None
    directions: Sequence[tuple[str, ArrayLike]] = ()

    def draw(self, axes: Axes) -> None:
        """Each axis has its own unit: the second singular value is often far below the first."""
        points = np.asarray(self.points, dtype=np.float64)
        reach = float(np.max(np.linalg.norm(points, axis=1), initial=0.0)) or 1.0
        axes.axhline(0.0, color=LIGHT, linewidth=0.6, zorder=0)
        axes.axvline(0.0, color=LIGHT, linewidth=0.6, zorder=0)
        for number, (name, vector) in enumerate(self.directions):
            place = np.asarray(vector, dtype=np.float64)
            end = reach * place / np.linalg.norm(place)
            dashes = ((0, (5, 2)), (0, (1, 1.2)), "-")[number % 3]
            axes.plot([0.0, end[0]], [0.0, end[1]], color=DARK, linewidth=1.0, linestyle=dashes, label=name)
        signs = np.zeros(len(points)) if self.signs is None else np.sign(np.asarray(self.signs))
        for sign, face, edge, marker, name in (
            (1.0, POSITIVE, POSITIVE, "o", "$a_j > 0$"),
            (-1.0, "none", NEGATIVE, "s", "$a_j < 0$"),
            (0.0, GREY, BLACK, "o", ""),
        ):
            chosen = points[signs == sign]
            if len(chosen):
                axes.scatter(
                    chosen[:, 0],
                    chosen[:, 1],
                    s=14,
                    marker=marker,
                    facecolors=face,
                    edgecolors=edge,
                    linewidths=0.7,
                    alpha=0.85,
                    label=f"{name}: {len(chosen)}" if name else "_rows",
                    zorder=3,
                    gid=f"rows-{int(sign)}",
                )
        axes.margins(0.1, 0.3)
        axes.locator_params(axis="x", nbins=6)
        if self.directions or self.signs is not None:
            axes.legend(loc="best", fontsize=7.0, handlelength=1.6, labelspacing=0.3)
        axes.set_title(self.title)
        axes.set_xlabel("first singular direction")
        axes.set_ylabel("second singular direction")
