"""Printing: one JSON object for machines, tables and sentences for people."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.data.dataset import Dataset
from reluflow.formulas import as_unicode
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
        table.add_row(*(Text(as_unicode(str(cell))) for cell in row))
    console = Console()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _WIDTH_OF_A_FILE
    console.print(table)


def print_text(text: str) -> None:
    """Sentences for people, their formulas set."""
    print(as_unicode(text))


def number(value: float | None, digits: int = 6) -> str:
    """A number for a table, or a dash."""
    return "-" if value is None or not math.isfinite(value) else f"{value:.{digits}g}"


def vector(values: Iterable[float], digits: int = 5) -> str:
    """A short vector for a table."""
    items = [f"{value:.{digits}g}" for value in values]
    return "(" + ", ".join(items if len(items) <= 6 else [*items[:5], f"... {len(items)} entries"]) + ")"


def predicted_row(dataset: Dataset, outputs: FloatArray) -> tuple[str, str]:
    """What a network computes on the samples: its outputs, or how many of several classes are right."""
    if dataset.classes is None:
        return "predictions", vector(np.ravel(outputs), 8)
    right = int(np.sum(np.argmax(outputs, axis=1) == dataset.y))
    return "classified", f"{right} of {dataset.n} samples, as one of {', '.join(dataset.classes)}"
