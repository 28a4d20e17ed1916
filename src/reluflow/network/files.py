"""Networks as CSV files: header `w1,...,wd,a` and an optional `weight`."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from reluflow.errors import InvalidInputError
from reluflow.network.network import Network


def read_network(path: str | Path, *, leak: float = 0.0) -> Network:
    """Read neurons from a CSV file, one per row.

    Parameters
    ----------
    path
        File with header `w1,...,wd,a` or `w1,...,wd,a,weight`.
    leak
        Negative slope of the activation; the file does not carry it.
    """
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as stream:
            rows = [row for row in csv.reader(stream) if row]
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"`{path}` cannot be read as a CSV of neurons: {error}.") from error
    if not rows:
        raise InvalidInputError(f"`{path}` is empty; a file of neurons has the header w1,...,wd,a.")
    header = [cell.strip() for cell in rows[0]]
    has_weight = header[-1:] == ["weight"]
    d = len(header) - (2 if has_weight else 1)
    expected = [f"w{i + 1}" for i in range(d)] + ["a"] + (["weight"] if has_weight else [])
    if d < 1 or header != expected:
        raise InvalidInputError(
            f"`{path}` must have the header w1,...,wd,a with an optional weight, got {','.join(header)}."
        )
    if len(rows) == 1:
        raise InvalidInputError(f"`{path}` holds a header and no neuron.")
    values = np.empty((len(rows) - 1, len(header)))
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(header):
            raise InvalidInputError(f"`{path}` line {number} has {len(row)} cells where the header has {len(header)}.")
        try:
            values[number - 2] = [float(cell) for cell in row]
        except ValueError as error:
            raise InvalidInputError(f"`{path}` line {number} must hold numbers: {error}.") from error
    return Network(values[:, :d], values[:, d], leak=leak, weight=values[:, d + 1] if has_weight else None)


def write_network(network: Network, path: str | Path) -> None:
    """Write the neurons, scale included, with 17 significant digits, so that reading gives the same numbers."""
    real = network.materialized() if network.log_scale else network
    header = [f"w{i + 1}" for i in range(real.d)] + ["a", "weight"]
    with Path(path).open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(header)
        for w, a, weight in zip(real.w, real.a, real.weight, strict=True):
            writer.writerow([f"{value:.17g}" for value in (*w, a, weight)])
