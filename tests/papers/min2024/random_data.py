"""Random datasets of the kinds that the results of Min et al. (2024) speak of."""

from __future__ import annotations

import numpy as np

from reluflow.data.dataset import Dataset
from scanning import Draw


def _signed(rng: np.random.Generator, rows: np.ndarray) -> Dataset:
    """The rows with random labels, both among them where there are two, each row turned around by its label."""
    y = np.where(rng.random(len(rows)) < 0.5, 1.0, -1.0)
    y[:2] = (1.0, -1.0)[: len(y[:2])]
    return Dataset(y[:, None] * rows, y)


def correlated_plane(rng: np.random.Generator) -> Draw:
    """Assumption 1 in the plane: signed samples within a quarter turn, of lengths up to three times each other."""
    n = int(rng.integers(2, 7))
    angles = rng.uniform(0.0, rng.uniform(0.2, 1.5), n) + rng.uniform(0.0, 2.0 * np.pi)
    rows = rng.uniform(0.5, 1.5, (n, 1)) * np.column_stack([np.cos(angles), np.sin(angles)])
    return Draw(_signed(rng, rows), width=int(rng.integers(4, 12)))


def correlated_space(rng: np.random.Generator) -> Draw:
    """Assumption 1 in three to five dimensions: signed samples in one orthant."""
    n, d = int(rng.integers(2, 6)), int(rng.integers(3, 6))
    return Draw(_signed(rng, np.abs(rng.standard_normal((n, d))) + 0.1), width=int(rng.integers(4, 12)))


def unequal_classes(rng: np.random.Generator) -> Draw:
    """Assumption 1 with one class of longer samples, which fits long before the other."""
    n = int(rng.integers(3, 6))
    drawn = _signed(rng, np.abs(rng.standard_normal((n, 3))) + 0.1)
    return Draw(Dataset(drawn.X * np.where(drawn.y > 0.0, rng.uniform(1.5, 4.0), 1.0)[:, None], drawn.y), width=9)


def one_class(rng: np.random.Generator) -> Draw:
    """Positive labels alone."""
    n = int(rng.integers(1, 5))
    return Draw(Dataset(np.abs(rng.standard_normal((n, 2))) + 0.1, np.ones(n)), width=6)


def separable(rng: np.random.Generator) -> Draw:
    """Linearly separable, mostly without Assumption 1."""
    X = rng.standard_normal((int(rng.integers(3, 6)), 2))
    y = np.where(X @ rng.standard_normal(2) > 0.0, 1.0, -1.0)
    return Draw(Dataset(X, y), width=6)


def lone_sample(rng: np.random.Generator) -> Draw:
    """The sample (1, 0) of the two counterexamples, with either label."""
    return Draw(Dataset([[1.0, 0.0]], [rng.choice([-1.0, 1.0])]), width=int(rng.integers(1, 6)))


KINDS = (correlated_plane, correlated_space, unequal_classes, one_class, separable)
ONLY = {"appE.3": (lone_sample,), "appE.4": (lone_sample,)}
