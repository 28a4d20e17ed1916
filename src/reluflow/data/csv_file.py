"""Labelled points as CSV with the header `x1,...,xd,y`: a fast reader that names the line and column of a fault."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, TextIO

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError

_ROWS_PER_BLOCK = 4096
_LONGEST_QUOTE = 60  # characters of a faulty cell or header that a message repeats


def read_csv(path: Path) -> FloatArray:
    """Read the table under the header, shape (n, d + 1), the labels in its last column.

    A byte order mark, Windows line endings, blank lines and spaces around numbers are accepted. Rows are streamed, so
    the memory needed is a small multiple of the table itself.

    Raises
    ------
    InvalidInputError
        Naming the file, line and column of the first thing that is not a finite number in its place.
    """
    with _opened(path) as handle:
        names = _read_header(path, handle)
        lines = (line for line in handle if not line.isspace())
        first = next(lines, None)
        if first is None:
            raise InvalidInputError(
                f"`{path}` must hold at least one row under its header, got none; write one sample per line."
            )
        try:
            table = _load(chain([first], lines))
        except UnicodeDecodeError:
            raise
        except ValueError as error:
            _refuse_first_fault(path)
            raise InvalidInputError(f"`{path}` must hold numbers only: {str(error).rstrip('.')}.") from error
    if table.shape[1] != len(names) or not np.all(np.isfinite(table)):
        _refuse_first_fault(path)
    return table


def write_csv(handle: BinaryIO, samples: FloatArray, labels: FloatArray) -> None:
    """Write the header and one row per sample with 17 significant digits, which gives back every bit."""
    dimension = samples.shape[1]
    handle.write((",".join(_column_names(dimension)) + "\n").encode())
    row_format = ",".join(["%.17g"] * (dimension + 1)) + "\n"
    for start in range(0, labels.size, _ROWS_PER_BLOCK):
        stop = start + _ROWS_PER_BLOCK
        rows = np.column_stack([samples[start:stop], labels[start:stop]])
        handle.write("".join(row_format % tuple(row) for row in rows.tolist()).encode())


def _column_names(dimension: int) -> list[str]:
    return [*(f"x{k}" for k in range(1, dimension + 1)), "y"]


@contextmanager
def _opened(path: Path) -> Iterator[TextIO]:
    """The file as text, with everything that can go wrong while reading it put into one sentence."""
    try:
        with path.open(encoding="utf-8-sig") as handle:
            yield handle
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"`{path}` must be UTF-8 text, got the byte 0x{error.object[error.start]:02x} which is not; "
            "save it again as CSV (UTF-8)."
        ) from error


def _read_header(path: Path, handle: TextIO) -> list[str]:
    header = handle.readline()
    if not header:
        raise InvalidInputError(f"`{path}` must start with the header `x1,...,xd,y`, got an empty file.")
    names = [name.strip() for name in header.split(",")]
    expected = _column_names(len(names) - 1)
    if len(names) < 2 or names != expected:
        column = next((k for k, pair in enumerate(zip(names, expected, strict=True)) if pair[0] != pair[1]), 0)
        wanted = expected[column] if len(names) > 1 else "x1"
        raise InvalidInputError(
            f"`{path}` line 1 must be the header `x1,...,xd,y`, got {_quoted(header.strip())} "
            f"(column {column + 1} should read `{wanted}`)."
        )
    return names


def _refuse_first_fault(path: Path) -> None:
    """Read again and raise for the first row that is not as many finite numbers as the header has names.

    Blocks of rows that read well are passed over, so that only the faulty block is looked at cell by cell.
    """
    with _opened(path) as handle:
        names = _read_header(path, handle)
        rows = ((number, line) for number, line in enumerate(handle, start=2) if not line.isspace())
        while block := list(islice(rows, _ROWS_PER_BLOCK)):
            if not _is_sound([line for _, line in block], len(names)):
                for number, line in block:
                    _check_row(path, number, names, line)


def _is_sound(lines: list[str], num_columns: int) -> bool:
    try:
        table = _load(lines)
    except ValueError:
        return False
    return table.shape[1] == num_columns and bool(np.all(np.isfinite(table)))


def _load(lines: Iterable[str]) -> FloatArray:
    return np.loadtxt(lines, delimiter=",", dtype=np.float64, comments=None, ndmin=2)


def _check_row(path: Path, line_number: int, names: list[str], line: str) -> None:
    cells = [cell.strip() for cell in line.split(",")]
    if len(cells) != len(names):
        raise InvalidInputError(
            f"`{path}` line {line_number} must hold {len(names)} numbers, one for each name in the header, "
            f"got {len(cells)}."
        )
    for name, cell in zip(names, cells, strict=True):
        _check_cell(path, line_number, name, cell)


def _check_cell(path: Path, line_number: int, name: str, cell: str) -> None:
    place = f"`{path}` line {line_number}, column {name}"
    try:
        # Python also reads 1_000 and digits of other scripts as numbers; the fast reader, like most, does not.
        value = float(cell.replace("_", "?").encode("ascii", "replace"))
    except ValueError:
        came = _quoted(cell) if cell else "an empty cell"
        raise InvalidInputError(f"{place} must be a number, got {came}.") from None
    if not np.isfinite(value):
        raise InvalidInputError(f"{place} must be finite, got {_quoted(cell)}; remove or fill that sample.")


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_QUOTE else text[:_LONGEST_QUOTE] + "...")
