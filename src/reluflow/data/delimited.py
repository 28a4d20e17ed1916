"""Delimited text as people have it: comma, semicolon, tab or spaces, decimal comma, quotes, gzip, an index column."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from reluflow.data.table import Table, column_from_cells, is_empty, number_from, quoted, unique_names
from reluflow.errors import InvalidInputError

SUFFIXES = (".csv", ".tsv", ".txt", ".dat", ".data")

_DELIMITERS = (",", ";", "\t")
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?|[+-]?\d+,([eE][+-]?\d+)?")
_INDEX_NAMES = frozenset({"", "index", "id", "row", "unnamed: 0", "level_0"})
_FIRST_LINES = 20  # lines looked at to find the delimiter


@dataclass(frozen=True)
class _Layout:
    """What the first lines say about a file."""

    delimiter: str | None  # None: runs of spaces
    has_header: bool
    has_decimal_comma: bool


def read_delimited(path: Path) -> Table:
    """Read a table; its first line is the header unless it holds numbers, and words only that come again below it.

    A byte order mark, Windows line endings, blank lines and spaces around cells are accepted; so are quoted cells, a
    decimal comma where the delimiter is another character, and an index column, which is left out.

    Raises
    ------
    InvalidInputError
        Naming the file and the line of the first row that has not as many cells as the others.
    """
    text = _text(path)
    numbered = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    if not numbered:
        raise InvalidInputError(f"`{path}` must hold a header and one sample per line, got an empty file.")
    layout = _layout(path, [line for _, line in numbered[:_FIRST_LINES]])
    rows = _rows(path, text, layout)
    header = rows[0][1] if layout.has_header else []
    body = rows[1:] if layout.has_header else rows
    if not body:
        raise InvalidInputError(
            f"`{path}` must hold at least one row under its header, got none; write one sample per line."
        )
    return _table(path, header, body, layout)


def _text(path: Path) -> str:
    content = path.read_bytes()
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise InvalidInputError(f"`{path}` must be a whole gzip file: {error}.") from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"`{path}` must be UTF-8 text, got the byte 0x{error.object[error.start]:02x} which is not; "
            "save it again as CSV (UTF-8)."
        ) from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _layout(path: Path, lines: Sequence[str]) -> _Layout:
    name = path.name.casefold().removesuffix(".gz")
    wanted: tuple[str, ...] = ("\t",) if name.endswith(".tsv") and "\t" in lines[0] else _DELIMITERS
    delimiter = max(wanted, key=lambda sign: (_agreement(lines, sign), -wanted.index(sign)))
    if _agreement(lines, delimiter) == 0:
        is_spaced = len(lines[0].split()) > 1 and '"' not in lines[0]
        delimiter_or_none = None if is_spaced else ","
    else:
        delimiter_or_none = delimiter
    cells = [cell for line in lines for cell in _split(line, delimiter_or_none)]
    has_decimal_comma = delimiter_or_none != "," and any(_DECIMAL_COMMA.fullmatch(cell) for cell in cells)
    rows = [[_point(cell, has_decimal_comma) for cell in _split(line, delimiter_or_none)] for line in lines]
    return _Layout(delimiter_or_none, not _is_data(rows), has_decimal_comma)


def _is_data(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row is one of the others: numbers over numbers, and a word where the same word comes again."""
    first, *others = rows
    if not any(number_from(cell) is not None and not is_empty(cell) for cell in first):
        return False
    words = [k for k, cell in enumerate(first) if number_from(cell) is None]
    return all(any(len(row) > k and row[k] == first[k] for row in others) for k in words)


def _agreement(lines: Sequence[str], delimiter: str) -> int:
    """Cells per line if every line has as many (the first may lack one, over an index), else the fewest; 0 for one."""
    counts = [len(_split(line, delimiter)) for line in lines]
    if min(counts) < 2 and not (len(counts) > 1 and min(counts[1:]) >= 2):
        return 0
    return min(counts) * (100 if len(set(counts[1:] or counts)) == 1 else 1)


def _split(line: str, delimiter: str | None) -> list[str]:
    if delimiter is None:
        return line.split()
    if '"' not in line:
        return [cell.strip() for cell in line.split(delimiter)]
    return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])]


def _rows(path: Path, text: str, layout: _Layout) -> list[tuple[int, list[str]]]:
    """Line number and cells of every row that is not blank; quoted cells may hold line breaks."""
    if layout.delimiter is None:
        return [(number, line.split()) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    if '"' not in text:
        sign = layout.delimiter
        return [
            (number, [cell.strip() for cell in line.split(sign)])
            for number, line in enumerate(text.split("\n"), start=1)
            if line.strip()
        ]
    reader = csv.reader(io.StringIO(text), delimiter=layout.delimiter, skipinitialspace=True)
    rows: list[tuple[int, list[str]]] = []
    line = 1
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append((line, [cell.strip() for cell in row]))
            line = reader.line_num + 1
    except csv.Error as error:
        raise InvalidInputError(f"`{path}` line {line} cannot be read: {error}.") from error
    return rows


def _table(path: Path, header: list[str], body: list[tuple[int, list[str]]], layout: _Layout) -> Table:
    width = len(body[0][1])
    remarks: list[str] = []
    if layout.has_header:
        if width == len(header) + 1 and all(len(cells) == width for _, cells in islice(body, _FIRST_LINES)):
            header = ["", *header]  # R writes row names without a name of their own
        width = len(header)
    else:
        header = [*(f"x{k}" for k in range(1, width)), "y"]
        remarks.append("there is no header, so the last column is the label")
    for number, cells in body:
        if len(cells) != width:
            expected = "one for each name in the header" if layout.has_header else "as many as the first row"
            raise InvalidInputError(
                f"`{path}` line {number} must hold {width} cells, {expected}, got {len(cells)}"
                f" ({quoted(' '.join(cells))})."
            )
    by_column = [list(cells) for cells in zip(*(cells for _, cells in body), strict=True)]
    columns = [
        column_from_cells([_point(cell, layout.has_decimal_comma) for cell in cells])
        if layout.has_decimal_comma
        else column_from_cells(cells)
        for cells in by_column
    ]
    table = Table(
        unique_names(header),
        tuple(columns),
        str(path),
        np.array([number for number, _ in body], dtype=np.int64),
        tuple(remarks),
    )
    return _without_index(table, header) if layout.has_header else table


def _without_index(table: Table, header: list[str]) -> Table:
    """Leave out a first column that only counts the rows, or that has no name and holds a word for each."""
    if len(header) < 3 or header[0].casefold() not in _INDEX_NAMES:
        return table
    first = table.columns[0]
    if first.dtype.kind == "f":
        steps = np.diff(first)
        counts = first[0] in (0.0, 1.0) and bool(np.all(steps == 1.0))
        if not counts and header[0] not in ("", "Unnamed: 0"):
            return table
    elif header[0] not in ("", "Unnamed: 0"):
        return table
    shown = header[0] or "without a name"
    rest = table.without([table.names[0]])
    return Table(
        rest.names, rest.columns, rest.source, rest.lines, (*rest.remarks, f"the index column {shown} is left out")
    )


def _point(cell: str, has_decimal_comma: bool) -> str:
    return cell.replace(",", ".") if has_decimal_comma and _DECIMAL_COMMA.fullmatch(cell) else cell
