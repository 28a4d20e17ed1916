"""Labelled points as CSV with the header `x1,...,xd,y` or `x1,...,xd,y1,...,yK`: how datasets are written."""

from __future__ import annotations

import csv
import io
from typing import BinaryIO

import numpy as np

from reluflow.arrays import FloatArray

_ROWS_PER_BLOCK = 4096


def write_csv(
    handle: BinaryIO, samples: FloatArray, labels: FloatArray, classes: tuple[str, ...] | None = None
) -> None:
    """Write the header and one row per sample with 17 significant digits, which gives back every bit.

    Rows of numbers are columns y1, ..., yK; indices of classes are written as their names.
    """
    dimension = samples.shape[1]
    targets = ["y"] if labels.ndim == 1 else [f"y{k}" for k in range(1, labels.shape[1] + 1)]
    names = [*(f"x{k}" for k in range(1, dimension + 1)), *targets]
    handle.write((",".join(names) + "\n").encode())
    if classes is not None:
        words = [_quoted(name) for name in classes]
        cells = ["%.17g"] * dimension
        for row, label in zip(samples.tolist(), labels.tolist(), strict=True):
            handle.write((",".join(cells) % tuple(row) + f",{words[int(label)]}\n").encode())
        return
    row_format = ",".join(["%.17g"] * len(names)) + "\n"
    for start in range(0, len(labels), _ROWS_PER_BLOCK):
        stop = start + _ROWS_PER_BLOCK
        rows = np.column_stack([samples[start:stop], labels[start:stop]])
        handle.write("".join(row_format % tuple(row) for row in rows.tolist()).encode())


def _quoted(name: str) -> str:
    """A cell that holds a name, in quotes where it has a comma, a quote or a line end."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow([name])
    return text.getvalue()
