"""The computation of Table 1: every size and seed, on the paper's data and on their symmetrised version."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import partial

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.papers.lyu2021.figures.gaussian_run import SIZES, SVMComparison, Training, one_row
from reluflow.papers.workbench import Workbench


@dataclass(frozen=True)
class Settings:
    """Sizes and seeds of the paper's data and of their symmetrised version, which is trained longer for a few sizes."""

    training: Training
    seeds: tuple[int, ...]
    symmetric_seeds: tuple[int, ...]
    long_sizes: tuple[int, ...]  # symmetrised, with the first of the seeds
    long_iterations: int
    sizes: tuple[int, ...] = SIZES
    symmetric_sizes: tuple[int, ...] = SIZES


@dataclass(frozen=True, eq=False)
class SVMComparisons:
    """The fields of `SVMComparison` for many runs, each an array of shape (sizes, seeds)."""

    net_error: FloatArray
    svm_error: FloatArray
    agreement: FloatArray
    cosine: FloatArray
    even: FloatArray
    margin_ratio: FloatArray
    squared_norm: FloatArray
    train_errors: FloatArray


@dataclass(frozen=True, eq=False)
class GaussianTable:
    """The runs of Table 1.

    Parameters
    ----------
    plain
        On the paper's data.
    symmetric
        On their symmetrised version.
    long
        On that version with more iterations and one seed.
    """

    plain: SVMComparisons
    symmetric: SVMComparisons
    long: SVMComparisons


def compute(settings: Settings, workbench: Workbench) -> GaussianTable:
    """One piece for each size and seed."""
    longer = replace(settings.training, iterations=settings.long_iterations)
    plain = [("plain", n, seed, settings.training) for n in settings.sizes for seed in settings.seeds]
    symmetric = [
        ("symmetrised", n, seed, settings.training)
        for n in settings.symmetric_sizes
        for seed in settings.symmetric_seeds
    ]
    long = [("symmetrised", n, settings.symmetric_seeds[0], longer) for n in settings.long_sizes]
    cases = [*plain, *symmetric, *long]
    rows = []
    for count, (kind, n, seed, training) in enumerate(cases):
        workbench.progress(count / len(cases), f"n = {n}, seed {seed}, {kind}, {training.iterations:,} iterations")
        function = partial(one_row, training, n, seed, kind == "symmetrised")
        rows.append(workbench.piece(f"{kind}-{n}-{seed}", SVMComparison, function, settings=training))
    last = len(plain) + len(symmetric)
    return GaussianTable(
        plain=_stacked(rows[: len(plain)], len(settings.seeds)),
        symmetric=_stacked(rows[len(plain) : last], len(settings.symmetric_seeds)),
        long=_stacked(rows[last:], 1),
    )


def _stacked(rows: list[SVMComparison], num_seeds: int) -> SVMComparisons:
    """Runs in the order of their sizes, the seeds of a size side by side."""
    shape = (len(rows) // num_seeds, num_seeds)
    columns = {
        field.name: np.array([getattr(row, field.name) for row in rows], dtype=np.float64).reshape(shape)
        for field in fields(SVMComparisons)
    }
    return SVMComparisons(**columns)
