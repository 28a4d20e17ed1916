"""A matrix as a heat map with a colour bar, blocks marked off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from reluflow.errors import InvalidInputError
from reluflow.viz.style import BLACK, DIVERGING

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class HeatMap:
    """A square matrix whose zero has the middle colour.

    Parameters
    ----------
    title
        Above it.
    matrix
        Shape (n, n).
    blocks
        Names of consecutive blocks of rows with their lengths, such as the images of one digit.
    bar_label
        Beside the colour bar.
    quantile
        The colours end at this quantile of the absolute values, so that a few large ones do not wash out the rest.
    """

    title: str
    matrix: ArrayLike
    blocks: Sequence[tuple[str, int]] = ()
    bar_label: str = ""
    quantile: float = 0.98

    def draw(self, axes: Axes) -> None:
        """Draw into empty axes."""
        matrix = np.asarray(self.matrix, dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise InvalidInputError(f"`matrix` must be square, got shape {matrix.shape}.")
        reach = float(np.quantile(np.abs(matrix), self.quantile)) or 1.0
        image = axes.imshow(matrix, cmap=DIVERGING, vmin=-reach, vmax=reach, interpolation="nearest")
        axes.set_title(self.title)
        ends = np.cumsum([length for _, length in self.blocks])
        starts = ends - np.array([length for _, length in self.blocks])
        for edge in ends[:-1]:
            axes.axhline(edge - 0.5, color=BLACK, linewidth=0.8)
            axes.axvline(edge - 0.5, color=BLACK, linewidth=0.8)
        if self.blocks:
            middles, names = 0.5 * (starts + ends) - 0.5, [name for name, _ in self.blocks]
            axes.set_xticks(middles, names)
            axes.set_yticks(middles, names, rotation=90, va="center")
            axes.tick_params(length=0)
        figure = axes.get_figure()
        assert figure is not None, "the axes belong to no figure"
        bar = figure.colorbar(image, ax=axes, shrink=0.8, pad=0.02)
        bar.set_label(self.bar_label)
        bar.ax.tick_params(labelsize=7)
