"""Rows of plain values: what results show of themselves in notebooks, and what a data frame is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from reluflow.errors import MissingExtraError

Row = Mapping[str, Any]

MOST_ROWS = 30


class RowsToFrame:
    """What a result with `table()`, one row per thing, shares with the others: it gives a data frame."""

    def table(self) -> list[dict[str, Any]]:
        """One row per thing."""
        raise NotImplementedError

    def to_frame(self) -> Any:
        """The rows as a pandas data frame; needs the extra `tables`."""
        try:
            import pandas
        except ImportError as error:
            raise MissingExtraError(
                "A data frame needs pandas, which is not installed: pip install 'reluflow[tables]'."
            ) from error
        return pandas.DataFrame(self.table())


def html_table(summary: str, rows: Sequence[Row]) -> str:
    """A summary and, below it, a table with one line per row, for a notebook.

    >>> html_table("one row", [{"name": "a < b", "value": 0.5}])
    '<p>one row</p><table><tr><th>name</th><th>value</th></tr><tr><td>a &lt; b</td><td>0.5</td></tr></table>'
    """
    if not rows:
        return f"<p>{escape(summary)}</p>"
    names = list(rows[0])
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    lines = "".join(
        f"<tr>{''.join(f'<td>{escape(shown(row[name]))}</td>' for name in names)}</tr>" for row in rows[:MOST_ROWS]
    )
    more = f"<p>and {len(rows) - MOST_ROWS} more</p>" if len(rows) > MOST_ROWS else ""
    return f"<p>{escape(summary)}</p><table><tr>{head}</tr>{lines}</table>{more}"


def shown(value: Any) -> str:
    """A value in a few letters.

    >>> shown(None), shown(1 / 3), shown((1.0, 2.0)), shown(True)
    ('', '0.333333', '(1, 2)', 'True')
    """
    if value is None:
        return ""
    if isinstance(value, bool | str | int):
        return str(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {shown(item)}" for name, item in value.items())
    items = [shown(item) for item in list(value)[:6]]
    return "(" + ", ".join(items) + (", ...)" if len(value) > 6 else ")")
