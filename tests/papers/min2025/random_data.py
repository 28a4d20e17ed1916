"""Random datasets of the kinds that the results of Min, Zhu & Vidal (2025) speak of."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatMatrix, IntVector
from reluflow.data.dataset import Dataset
from scanning import Draw


def _of_classes(X: FloatMatrix, labels: IntVector) -> Dataset:
    return Dataset(X, labels, classes=[str(c + 1) for c in range(int(labels.max()) + 1)])


def _simplex(rng: np.random.Generator, num_classes: int, extra: int) -> FloatMatrix:
    """Unit vectors of pairwise cosine -1/(K-1) in K - 1 + `extra` dimensions, turned at random."""
    centred = np.eye(num_classes) - 1.0 / num_classes
    vertices = np.linalg.svd(centred)[2][:-1].T
    vertices /= np.linalg.norm(vertices, axis=1)[:, None]
    rows = np.hstack([vertices, np.zeros((num_classes, extra))])
    return rows @ np.linalg.qr(rng.standard_normal((rows.shape[1], rows.shape[1])))[0]


def _around(rng: np.random.Generator, labels: IntVector, extra: int, spread: float) -> FloatMatrix:
    """Samples around the vertices, nearer by and by until cosines within classes are positive, others negative."""
    centres = _simplex(rng, int(labels.max()) + 1, extra)[labels]
    noise = rng.standard_normal(centres.shape)
    same = labels[:, None] == labels[None, :]
    while True:
        X = centres + spread * noise
        cosines = X @ X.T
        if np.all(cosines[same] > 0.0) and np.all(cosines[~same] < 0.0):
            return X
        spread *= 0.8


def simplex(rng: np.random.Generator) -> Draw:
    """Assumption 1: two to four classes of one to three samples near the vertices of a simplex."""
    num_classes = int(rng.integers(2, 5))
    labels = np.repeat(np.arange(num_classes), rng.integers(1, 4, num_classes))
    return Draw(_of_classes(_around(rng, labels, int(rng.integers(0, 3)), 0.3), labels))


def near_the_edge(rng: np.random.Generator) -> Draw:
    """Assumption 1 narrowly: samples spread as far as it allows, of lengths up to four times each other."""
    num_classes = int(rng.integers(2, 5))
    labels = np.repeat(np.arange(num_classes), rng.integers(2, 5, num_classes))
    X = _around(rng, labels, 2, 1.5)
    return Draw(_of_classes(rng.uniform(0.5, 2.0, (len(X), 1)) * X, labels))


def lopsided(rng: np.random.Generator) -> Draw:
    """Classes of very unequal numbers and lengths."""
    num_classes = int(rng.integers(3, 5))
    sizes = np.array([1, 8, 2, 1])[:num_classes]
    labels = np.repeat(np.arange(num_classes), sizes)
    lengths = np.array([0.2, 1.0, 5.0, 0.5])[:num_classes]
    return Draw(_of_classes(_around(rng, labels, 1, 0.4) * lengths[labels][:, None], labels))


def tight(rng: np.random.Generator) -> Draw:
    """Tight classes of equal numbers and lengths, as the data condition of Proposition 1 asks for."""
    num_classes = int(rng.integers(2, 5))
    labels = np.repeat(np.arange(num_classes), int(rng.integers(1, 4)))
    X = _around(rng, labels, 1, 0.03)
    return Draw(_of_classes(X / np.linalg.norm(X, axis=1)[:, None], labels))


def any_classes(rng: np.random.Generator) -> Draw:
    """Gaussian samples with random labels, mostly without Assumption 1."""
    labels = np.concatenate([np.arange(3), rng.integers(0, 3, 4)])
    return Draw(_of_classes(rng.standard_normal((len(labels), 3)), labels))


def two_labels(rng: np.random.Generator) -> Draw:
    """The binary case: Assumption 1 with labels -1 and 1, in opposite orthants."""
    n, d = int(rng.integers(2, 7)), int(rng.integers(2, 5))
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return Draw(Dataset(y[:, None] * (np.abs(rng.standard_normal((n, d))) + 0.02), y))


def two_labels_near_the_edge(rng: np.random.Generator) -> Draw:
    """The same in the plane, with samples at almost a right angle and of lengths up to ten times each other."""
    y = np.array([1.0, 1.0, -1.0, -1.0])
    angles = np.array(
        [0.0, rng.uniform(1.0, 1.55), np.pi - rng.uniform(0.0, 0.01), np.pi + 1.5 + rng.uniform(0.0, 0.06)]
    )
    X = rng.uniform(0.3, 3.0, (4, 1)) * np.column_stack([np.cos(angles), np.sin(angles)])
    return Draw(Dataset(X, y))


KINDS = (simplex, near_the_edge, lopsided, tight, any_classes)
ONLY = {"sec4.1": (two_labels, two_labels_near_the_edge)}
