"""The largest singular values of a weight matrix, beside those it started with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from reluflow.viz.style import BLUE, GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class SingularValues:
    """Singular values as dots over their index, as Phuong & Lampert draw them [phuong2021].

    Parameters
    ----------
    title
        Which matrix.
    values
        Largest first; all are drawn.
    start_norm
        Largest singular value before training, a dashed line: what training left alone stays below it.
    """

    title: str
    values: ArrayLike
    start_norm: float | None = None

    def draw(self, axes: Axes) -> None:
        """Dots, and the level of the start."""
        values = np.asarray(self.values, dtype=np.float64)
        index = np.arange(1, len(values) + 1)
        axes.vlines(index, 0.0, values, color=BLUE, linewidth=0.8, alpha=0.5)
        axes.plot(index, values, linestyle="", marker="o", markersize=5.0, color=BLUE, gid="singular-values")
        if self.start_norm is not None:
            axes.axhline(
                self.start_norm, color=GREY, linewidth=0.9, linestyle=(0, (3, 3)), label="largest before training"
            )
            axes.legend(loc="upper right", fontsize=7.5)
        axes.set_ylim(0.0, 1.1 * float(values.max(initial=0.0)) or 1.0)
        axes.set_xticks(index)
        axes.set_title(self.title)
        axes.set_xlabel("index $i$")
        axes.set_ylabel("singular value $s_i$")
