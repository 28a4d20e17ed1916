"""Random datasets of the kinds that the results of Boursier & Flammarion (2024) speak of."""

from __future__ import annotations

import numpy as np

from reluflow.data.dataset import Dataset
from scanning import Draw


def _box(rng: np.random.Generator, eta: float) -> Draw:
    """Assumption 3: three points, two at the sides and one low in the middle."""
    X = [
        [-1.0 + eta * rng.uniform(1e-3, 1.0), 1.0 + eta * rng.random()],
        [eta * rng.uniform(-1.0, 1.0), 1.0 + eta * rng.uniform(-1.0, 1.0)],
        [1.0 - eta * rng.uniform(1e-3, 1.0), 1.0 + eta * rng.random()],
    ]
    y = [1.0 + eta * rng.random(), eta * rng.uniform(1e-3, 1.0), 1.0 + eta * rng.random()]
    return Draw(Dataset(X, y), width=12)


def small_box(rng: np.random.Generator) -> Draw:
    """In the box of Assumption 3 with an eta for which Lemma 8 is true."""
    return _box(rng, rng.uniform(0.01, 0.0976))


def printed_box(rng: np.random.Generator) -> Draw:
    """In the box with an eta for which only the printed Lemma 8 speaks."""
    return _box(rng, rng.uniform(0.0977, 1.0 / 6.0))


def acute(rng: np.random.Generator) -> Draw:
    """Assumption 4: acute samples and positive labels, up to three dimensions."""
    d = int(rng.integers(2, 4))
    n = int(rng.integers(d, d + 3))
    X = np.abs(rng.standard_normal((n, d))) + 0.05
    return Draw(Dataset(X, rng.uniform(0.2, 2.0, n)), width=8)


def regression(rng: np.random.Generator) -> Draw:
    """Gaussian samples and labels of both signs, more samples than dimensions."""
    d = int(rng.integers(2, 4))
    n = int(rng.integers(d, d + 3))
    return Draw(Dataset(rng.standard_normal((n, d)), rng.standard_normal(n)), leak=_leak(rng), width=8)


def few_samples(rng: np.random.Generator) -> Draw:
    """Fewer samples than dimensions, so that a whole subspace meets none of them."""
    d = int(rng.integers(3, 5))
    n = int(rng.integers(1, d))
    return Draw(Dataset(rng.standard_normal((n, d)), rng.standard_normal(n)), leak=_leak(rng), width=8)


def one_input(rng: np.random.Generator) -> Draw:
    """Numbers with the constant coordinate, as in the figures."""
    n = int(rng.integers(2, 6))
    X = np.column_stack([rng.uniform(-1.0, 1.0, n), np.ones(n)])
    return Draw(Dataset(X, rng.uniform(-1.0, 1.5, n)), width=10)


def one_sample(rng: np.random.Generator) -> Draw:
    """One sample in one dimension."""
    return Draw(
        Dataset([[rng.choice([-1.0, 1.0]) * rng.uniform(0.3, 2.0)]], [rng.choice([-1.0, 1.0]) * rng.uniform(0.3, 2.0)]),
        width=5,
    )


def mirrored_pair(rng: np.random.Generator) -> Draw:
    """A sample, its mirror image with the same label, and one orthogonal to them."""
    d = int(rng.integers(2, 4))
    x, z = rng.uniform(0.5, 2.0, 2)[:, None] * np.eye(d)[:2]
    label, third = rng.uniform(0.4, 2.0, 2)
    return Draw(Dataset([x, -x, z], [label, label, third]), width=3)


def _leak(rng: np.random.Generator) -> float:
    return float(rng.choice([0.0, 0.3]))


KINDS = (small_box, printed_box, acute, regression, few_samples, one_input)
ONLY = {"example1": (one_sample,), "appE.1": (mirrored_pair,)}
