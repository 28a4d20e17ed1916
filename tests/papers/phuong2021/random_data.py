"""Random datasets of the kinds that the results of Phuong & Lampert (2021) speak of."""

from __future__ import annotations

import numpy as np

from reluflow.data.dataset import Dataset
from scanning import Draw


def _opposite_orthants(rng: np.random.Generator, d: int, n: int) -> Draw:
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return Draw(Dataset(y[:, None] * (np.abs(rng.standard_normal((n, d))) + 0.02), y), width=8)


def plane(rng: np.random.Generator) -> Draw:
    """Classes in opposite quadrants of the plane."""
    return _opposite_orthants(rng, 2, int(rng.integers(4, 8)))


def spanning(rng: np.random.Generator) -> Draw:
    """Classes in opposite quadrants, each with its support near both axes, so that it spans the plane."""
    angles = np.concatenate([rng.uniform(0.03, 0.35, 2), rng.uniform(1.2, 1.54, 2)])
    lengths, y = rng.uniform(0.8, 1.6, (4, 1)), np.array([1.0, -1.0, 1.0, -1.0])
    return Draw(Dataset(y[:, None] * lengths * np.column_stack([np.cos(angles), np.sin(angles)]), y), width=8)


def space(rng: np.random.Generator) -> Draw:
    """Classes in opposite orthants of space."""
    return _opposite_orthants(rng, 3, int(rng.integers(6, 10)))


def few_samples(rng: np.random.Generator) -> Draw:
    """Too few samples for their support to span."""
    return _opposite_orthants(rng, 3, 3)


def with_a_dead_cone(rng: np.random.Generator) -> Draw:
    """Classes whose cones leave room for a neuron that is active on no sample."""
    half = rng.uniform(0.05, 0.6)
    angles = np.concatenate([rng.uniform(-half, half, 3), np.pi / 2 + half + np.pi / 2 * rng.uniform(0.05, 0.3, 3)])
    y = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    X = rng.uniform(0.5, 2.0, (6, 1)) * np.column_stack([np.cos(angles), np.sin(angles)])
    return Draw(Dataset(X, y), width=8)


def separable(rng: np.random.Generator) -> Draw:
    """Linearly separable, not orthogonally."""
    X = rng.standard_normal((5, 2))
    y = np.where(X @ rng.standard_normal(2) > 0.0, 1.0, -1.0)
    return Draw(Dataset(X, y), width=8)


KINDS = (plane, spanning, space, few_samples, with_a_dead_cone, separable)
