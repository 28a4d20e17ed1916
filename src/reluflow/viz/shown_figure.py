"""ShownFigure: a matplotlib figure that a notebook shows, though it belongs to no window and no global list."""

from __future__ import annotations

import io

import numpy as np
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure


class ShownFigure(Figure):
    """A figure drawn by Agg; notebooks ask it for a picture, which a bare `Figure` only gives once pyplot is loaded."""

    def __init__(self, width: float, height: float) -> None:
        super().__init__(figsize=(width, height), dpi=150)
        FigureCanvasAgg(self)

    def draw(self, renderer: RendererBase) -> None:
        """Draw it, no curve moved to the nearest pixels: a nearly level one would show a step that it does not have."""
        for axes in self.axes:
            for line in axes.lines:
                if line.get_snap() is None and np.size(line.get_xdata()) > 2:
                    line.set_snap(False)
        super().draw(renderer)

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=100)
        return buffer.getvalue()
