"""Random datasets of the kinds that the results of Lyu et al. (2021) speak of."""

from __future__ import annotations

import numpy as np

from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from scanning import Draw

_LEAKS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9)


def _leak(rng: np.random.Generator, *, is_leaky: bool = False) -> float:
    return float(rng.choice(_LEAKS[1:] if is_leaky else _LEAKS))


def _separated(rng: np.random.Generator, n: int, d: int) -> Dataset:
    """Gaussian samples moved a tenth away from a random hyperplane, with both labels where there are two samples."""
    while True:
        X, w = rng.standard_normal((n, d)), rng.standard_normal(d)
        w /= np.linalg.norm(w)
        y = np.where(X @ w > 0.0, 1.0, -1.0)
        if abs(float(np.sum(y))) < n:
            return Dataset(X + 0.1 * y[:, None] * w, y)


def separable(rng: np.random.Generator) -> Draw:
    """Linearly separable, in two to four dimensions."""
    return Draw(_separated(rng, int(rng.integers(3, 7)), int(rng.integers(2, 5))), leak=_leak(rng))


def planar(rng: np.random.Generator) -> Draw:
    """Linearly separable, in the plane."""
    return Draw(_separated(rng, int(rng.integers(2, 7)), 2), leak=_leak(rng))


def around_a_direction(rng: np.random.Generator) -> Draw:
    """Signed samples around one direction, more of them and longer for one label: A.2, and A.3 or A.8, often hold."""
    n, d = int(rng.integers(2, 6)), int(rng.integers(2, 5))
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[:2] = (1.0, -1.0)
    spread = rng.uniform(0.05, 0.6)
    rows = rng.uniform(0.3, 2.0, (n, 1)) * (np.eye(d)[0] + spread * rng.standard_normal((n, d)))
    rows[:, 0] = np.abs(rows[:, 0]) + 0.05
    return Draw(Dataset(y[:, None] * rows, y), leak=_leak(rng, is_leaky=True))


def orthogonally_separable(rng: np.random.Generator) -> Draw:
    """Classes in opposite orthants."""
    n, d = int(rng.integers(2, 6)), int(rng.integers(2, 4))
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return Draw(Dataset(y[:, None] * (np.abs(rng.standard_normal((n, d))) + 0.02), y), leak=_leak(rng))


def symmetric(rng: np.random.Generator) -> Draw:
    """Every sample with its mirror image, of the other label."""
    n, d = int(rng.integers(1, 4)), int(rng.integers(2, 4))
    X, w = rng.standard_normal((n, d)), rng.standard_normal(d)
    w /= np.linalg.norm(w)
    X = np.where((X @ w > 0.0)[:, None], X, -X) + 0.1 * w
    return Draw(Dataset(np.vstack([X, -X]), np.repeat([1.0, -1.0], n)), leak=_leak(rng, is_leaky=True))


def _of_the_paper(rng: np.random.Generator, name: str) -> Draw:
    """A set of the paper whose points depend on the leak, for any leak."""
    leak = float(rng.uniform(0.02, 0.98))
    return Draw(load(f"{name}:leak={leak!r}"), leak=leak)


def six_points(rng: np.random.Generator) -> Draw:
    """The symmetric set of Figure 1."""
    return _of_the_paper(rng, "lyu-symmetric")


def middle_points(rng: np.random.Generator) -> Draw:
    """The middle set of Figure 1."""
    return _of_the_paper(rng, "lyu-middle")


def hinted(rng: np.random.Generator) -> Draw:
    """The hinted set of Figure 1."""
    return _of_the_paper(rng, "lyu-hinted")


KINDS = (separable, planar, around_a_direction, orthogonally_separable, symmetric)
ONLY = {"thm6.2": (hinted,), "appI.1.1": (six_points,), "appI.1.2": (middle_points,)}
