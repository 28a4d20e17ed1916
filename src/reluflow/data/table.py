"""Table: named columns as a file or a data frame holds them, before anything is decided about them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reluflow.arrays import BoolArray, FloatArray, IntArray
from reluflow.errors import InvalidInputError

Column = NDArray[Any]  # float64 with NaN for what is missing, or objects: words, and None for what is missing

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "<na>", "nat"})
_LONGEST_QUOTE = 60  # characters of a faulty cell or header that a message repeats


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of one length.

    Parameters
    ----------
    names
        One per column, all different.
    columns
        Numbers as float64 with NaN for what is missing; words as objects with None for what is missing.
    source
        What to call it in a sentence: a file, or "the data frame".
    lines
        Line of the file each row stands in; empty where there are no lines.
    remarks
        What the reader took for granted, as sentences without a full stop.
    classes
        Names of the label values 0, 1, ..., where the source gives them apart.
    targets
        The label columns, where the table was made of rows of numbers; otherwise empty.
    """

    names: tuple[str, ...]
    columns: tuple[Column, ...]
    source: str
    lines: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    remarks: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return 0 if not self.columns else int(self.columns[0].shape[0])

    def place(self, row: int, name: str) -> str:
        """Where a cell stands, for a message."""
        where = f"line {self.lines[row]}" if self.lines.size else f"row {row + 1}"
        return f"`{self.source}` {where}, column {name}"

    def column(self, name: str, option: str) -> int:
        """Index of the column called `name`; a unique match in other letter case will do."""
        if name in self.names:
            return self.names.index(name)
        alike = [k for k, other in enumerate(self.names) if other.casefold() == name.casefold()]
        if len(alike) == 1:
            return alike[0]
        raise InvalidInputError(
            f"`{option}` must name a column of `{self.source}`, which has {listed(self.names)}; got {name!r}."
        )

    def without(self, names: Iterable[str]) -> Table:
        """The table less some columns."""
        gone = {self.column(name, "drop") for name in names}
        return self._of([k for k in range(len(self.names)) if k not in gone])

    def _of(self, kept: Sequence[int]) -> Table:
        return Table(
            tuple(self.names[k] for k in kept),
            tuple(self.columns[k] for k in kept),
            self.source, self.lines, self.remarks, self.classes, self.targets,
        )  # fmt: skip

    def rows(self, mask: BoolArray) -> Table:
        """The table with some of its rows."""
        lines = self.lines[mask] if self.lines.size else self.lines
        columns = tuple(column[mask] for column in self.columns)
        return Table(self.names, columns, self.source, lines, self.remarks, self.classes, self.targets)


def is_missing(column: Column) -> BoolArray:
    """Which cells hold nothing."""
    if column.dtype.kind == "f":
        return np.asarray(np.isnan(column))
    return np.array([cell is None for cell in column], dtype=bool)


def column_from_cells(cells: Sequence[str]) -> Column:
    """Numbers where every cell that is there is one, else words.

    >>> column_from_cells(["1", " 2.5", "NA"])
    array([1. , 2.5, nan])
    >>> column_from_cells(["cat", "", "dog"]).tolist()
    ['cat', None, 'dog']
    """
    stripped = [cell.strip() for cell in cells]
    fast = _numbers_at_once(stripped)
    if fast is not None:
        return fast
    numbers = np.empty(len(stripped))
    for k, cell in enumerate(stripped):
        value = number_from(cell)
        if value is None:
            return np.array([None if is_empty(word) else word for word in stripped], dtype=object)
        numbers[k] = value
    return numbers


def column_from_values(values: Sequence[Any]) -> Column:
    """A column from Python objects: numbers as they are, anything else as the words that print it."""
    array = np.asarray(values) if not isinstance(values, np.ndarray) else values
    if array.dtype.kind in "fiub" and array.ndim == 1:
        return array.astype(np.float64)
    return column_from_cells([_cell(value) for value in values])


def _numbers_at_once(cells: Sequence[str]) -> FloatArray | None:
    """All the numbers of a column without a gap in one conversion; None where that will not do."""
    joined = "".join(cells)
    if "_" in joined or not joined.isascii():
        return None
    try:
        return np.array(cells, dtype=np.str_).astype(np.float64)
    except ValueError:
        return None


def number_from(cell: str) -> float | None:
    """The number a cell holds, NaN where it is empty, None where it holds something else."""
    try:
        # Python also reads 1_000 and digits of other scripts as numbers; a table does not.
        return float(cell.replace("_", "?").encode("ascii", "replace"))
    except ValueError:
        return float("nan") if is_empty(cell) else None


def is_empty(cell: str) -> bool:
    """Whether a cell says that nothing is there."""
    return cell.casefold() in MISSING


def unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """The names with a number after those that were there already, and one for those that are empty.

    >>> unique_names(["a", "", "a"])
    ('a', 'column 2', 'a.2')
    """
    seen: set[str] = set()
    result = []
    for place, name in enumerate(names, start=1):
        word = name or f"column {place}"
        count = 2
        while word in seen:
            word, count = f"{name}.{count}", count + 1
        seen.add(word)
        result.append(word)
    return tuple(result)


def listed(names: Sequence[str], most: int = 12) -> str:
    """Names separated by commas, the first few of them."""
    more = f", ... ({len(names)} in all)" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def quoted(text: str) -> str:
    """A cell or a header for a message, cut where it is long."""
    return repr(text if len(text) <= _LONGEST_QUOTE else text[:_LONGEST_QUOTE] + "...")


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and value != value):  # NaN is not equal to itself
        return ""
    if isinstance(value, bool | np.bool_):
        return "1" if value else "0"
    return str(value)
