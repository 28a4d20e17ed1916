"""A table as a figure: headings, rules and right-aligned columns, as papers print them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from reluflow.errors import InvalidInputError
from reluflow.viz.style import BLACK, DARK, GREY, figure_style, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROW, PAD, LETTER = 0.21, 0.16, 0.072  # inches: of a row, between columns, of a letter


def plot_results_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, title: str = "", note: str = ""
) -> Figure:
    """Draw a table.

    Parameters
    ----------
    headings
        One per column; a line break makes a heading of two lines.
    rows
        Words in the order of the headings.
    title, note
        Above and below the table.
    """
    if not headings or any(len(row) != len(headings) for row in rows):
        raise InvalidInputError(f"`rows` must each hold {len(headings)} words, one per heading, at least one.")
    columns = [[*heading.split("\n"), *(row[k] for row in rows)] for k, heading in enumerate(headings)]
    widths = [2 * PAD + LETTER * max(map(len, column)) for column in columns]
    lines = max(heading.count("\n") + 1 for heading in headings)
    notes = note.split("\n") if note else []
    top, bottom = 0.15 + (0.25 if title else 0.0), 0.15 + 0.17 * len(notes)
    width = sum(widths) + 0.2
    height = top + ROW * (lines + len(rows)) + 0.2 + bottom
    with figure_style():
        from matplotlib.lines import Line2D

        figure = new_figure(width, height)

        def write(x: float, y: float, words: str, **options: Any) -> None:
            options = {"fontsize": 8.5, "ha": "right", "va": "center", "color": DARK, **options}
            figure.text(x / width, y / height, words, **options)

        def rule(y: float, thickness: float) -> None:
            ends = [0.1 / width, 1.0 - 0.1 / width]
            figure.add_artist(Line2D(ends, [y / height] * 2, color=BLACK, linewidth=thickness))

        if title:
            write(width / 2, height - 0.18, title, fontsize=10.0, ha="center")
        y = height - top
        rule(y, 1.1)
        under_headings = y - ROW * lines - 0.08
        rule(under_headings, 0.6)
        x = 0.1
        for column_width, heading, column in zip(widths, headings, zip(*rows, strict=True), strict=True):
            x += column_width
            parts = heading.split("\n")
            for number, words in enumerate(reversed(parts)):
                write(x - PAD, under_headings + 0.04 + ROW * (number + 0.5), words, fontsize=8.0, weight="bold")
            for number, words in enumerate(column):
                write(x - PAD, under_headings - 0.04 - ROW * (number + 0.5), words)
        rule(under_headings - 0.08 - ROW * len(rows), 1.1)
        for number, words in enumerate(notes):
            write(0.12, bottom - 0.12 - 0.17 * number, words, fontsize=7.5, ha="left", color=GREY)
    return figure
