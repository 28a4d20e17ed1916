"""Printing: one JSON object for machines, tables and sentences for people."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Sequence
from typing import Any

from reluflow.plain_values import plain

_WIDTH_OF_A_FILE = 160  # characters a table may take where no terminal says how wide it is


def print_json(result: dict[str, Any]) -> None:
    """Write exactly one JSON object to standard output; numbers that JSON has no word for become null."""
    print(json.dumps(plain(result), allow_nan=False))


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]], *, title: str | None = None) -> None:
    """A table for people: the first column stays whole, the last one wraps."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    for column, name in enumerate(header):
        table.add_column(name, no_wrap=column < len(header) - 1, overflow="fold")
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    console = Console()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _WIDTH_OF_A_FILE
    console.print(table)


def number(value: float | None, digits: int = 6) -> str:
    """A number for a table, or a dash."""
    return "-" if value is None or not math.isfinite(value) else f"{value:.{digits}g}"


def vector(values: Iterable[float], digits: int = 5) -> str:
    """A short vector for a table."""
    items = [f"{value:.{digits}g}" for value in values]
    return "(" + ", ".join(items if len(items) <= 6 else [*items[:5], f"... {len(items)} entries"]) + ")"
