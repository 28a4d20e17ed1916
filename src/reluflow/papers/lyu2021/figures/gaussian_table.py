"""The computation of Table 1: every size and seed, on the paper's data and on their symmetrised version."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from reluflow.experiments.store import Results
from reluflow.experiments.workbench import Workbench
from reluflow.papers.lyu2021.figures.gaussian_run import SIZES, Training, one_row

MEASURED = ("net_error", "svm_error", "agreement", "cosine", "even", "margin_ratio", "squared_norm", "train_errors")


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


def compute(settings: Settings, workbench: Workbench) -> Results:
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
        rows.append(workbench.piece(f"{kind}-{n}-{seed}", function, settings=training))
    results: Results = {}
    for name in MEASURED:
        values = np.array([row[name] for row in rows], dtype=np.float64)
        results[name] = values[: len(plain)].reshape(len(settings.sizes), len(settings.seeds))
        results[f"symmetric_{name}"] = values[len(plain) : len(plain) + len(symmetric)].reshape(
            len(settings.symmetric_sizes), len(settings.symmetric_seeds)
        )
        results[f"long_{name}"] = values[len(plain) + len(symmetric) :]
    return results
