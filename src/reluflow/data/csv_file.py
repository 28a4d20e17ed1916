"""Labelled points as CSV with the header `x1,...,xd,y`: the form in which datasets are written."""

from __future__ import annotations

from typing import BinaryIO

import numpy as np

from reluflow.arrays import FloatArray

_ROWS_PER_BLOCK = 4096


def write_csv(handle: BinaryIO, samples: FloatArray, labels: FloatArray) -> None:
    """Write the header and one row per sample with 17 significant digits, which gives back every bit."""
    dimension = samples.shape[1]
    names = [*(f"x{k}" for k in range(1, dimension + 1)), "y"]
    handle.write((",".join(names) + "\n").encode())
    row_format = ",".join(["%.17g"] * (dimension + 1)) + "\n"
    for start in range(0, labels.size, _ROWS_PER_BLOCK):
        stop = start + _ROWS_PER_BLOCK
        rows = np.column_stack([samples[start:stop], labels[start:stop]])
        handle.write("".join(row_format % tuple(row) for row in rows.tolist()).encode())
