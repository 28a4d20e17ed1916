"""Figures put together from parts that know how to draw themselves, where panels of curves alone do not do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from reluflow.errors import InvalidInputError
from reluflow.viz.panels import Panel, draw_panel
from reluflow.viz.style import figure_style, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Part(Protocol):
    """Anything that fills one pair of axes; called inside `figure_style`."""

    def draw(self, axes: Axes) -> None:
        """Draw into empty axes."""


@dataclass(frozen=True, eq=False)
class Curves:
    """A panel of curves as a part."""

    panel: Panel

    def draw(self, axes: Axes) -> None:
        """Draw the panel."""
        draw_panel(axes, self.panel)


def plot_parts(
    parts: Sequence[Part], *, columns: int, title: str = "", part_size: tuple[float, float] = (3.3, 2.8)
) -> Figure:
    """Draw parts row by row.

    Parameters
    ----------
    parts
        At least one.
    columns
        Parts in a row.
    title
        Above all.
    part_size
        Width and height of one part in inches.
    """
    if not parts or columns < 1:
        raise InvalidInputError(
            f"`parts` must hold one or more and `columns` be at least 1, got {len(parts)}, {columns}."
        )
    across = min(columns, len(parts))
    rows = math.ceil(len(parts) / across)
    with figure_style():
        figure = new_figure(part_size[0] * across, part_size[1] * rows + (0.35 if title else 0.0))
        figure.set_layout_engine("constrained")
        for place, part in enumerate(parts, start=1):
            part.draw(figure.add_subplot(rows, across, place))
        if title:
            figure.suptitle(title, fontsize=10.5)
    return figure
