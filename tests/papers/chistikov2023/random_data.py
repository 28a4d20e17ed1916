"""Random datasets of the kinds that the results of Chistikov, Englert & Lazic (2023) speak of."""

from __future__ import annotations

import numpy as np

from reluflow.papers.chistikov2023.data import taught
from scanning import Draw


def _within(rng: np.random.Generator, n: int, d: int, largest: float) -> Draw:
    """Samples of lengths between 0.5 and 2 within so many degrees of a random teacher."""
    teacher = rng.standard_normal(d)
    teacher /= np.linalg.norm(teacher)
    across = rng.standard_normal((n, d))
    across -= np.outer(across @ teacher, teacher)
    across /= np.linalg.norm(across, axis=1)[:, None]
    angles = np.radians(largest) * rng.uniform(0.05, 1.0, (n, 1))
    X = rng.uniform(0.5, 2.0, (n, 1)) * (np.cos(angles) * teacher + np.sin(angles) * across)
    return Draw(taught(X, teacher, name="drawn", provenance="drawn for a test"), width=4)


def plane(rng: np.random.Generator) -> Draw:
    """Two to four samples in the plane within 45 degrees of the teacher."""
    return _within(rng, int(rng.integers(2, 5)), 2, 44.5)


def two_in_the_plane(rng: np.random.Generator) -> Draw:
    """Two samples in the plane, for which the paper's scale is within reach."""
    return _within(rng, 2, 2, 44.5)


def space(rng: np.random.Generator) -> Draw:
    """Three or four samples in space."""
    return _within(rng, int(rng.integers(3, 5)), 3, 44.5)


def as_many_as_dimensions(rng: np.random.Generator) -> Draw:
    """n = d up to 4, as in Theorem 8."""
    d = int(rng.integers(2, 5))
    return _within(rng, d, d, 44.5)


def wider(rng: np.random.Generator) -> Draw:
    """Samples up to 80 degrees from the teacher, beyond most results."""
    return _within(rng, 3, 3, 80.0)


KINDS = (two_in_the_plane, plane, space, as_many_as_dimensions, wider)
