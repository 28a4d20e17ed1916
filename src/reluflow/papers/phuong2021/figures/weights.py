"""What the figures of Phuong & Lampert (2021) share: the data of Sec. 5, its training, and pictures of weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.one_class import one_class_vectors
from reluflow.data.dataset import Dataset
from reluflow.papers.phuong2021.data import filtered_orthants

NUM_SAMPLES = 500
DIMENSION = 20
WIDTH = 100
LR = 0.1
BATCH = 50
EPOCHS = 500
SCALE = 0.05
CLOSE = 0.9  # the correlation that most neurons exceed
BINS = np.linspace(-1.0, 1.0, 41)  # of the histograms of correlations


@dataclass(frozen=True, eq=False)
class MaxMarginDirections:
    """w_+ and w_- as unit vectors, and how many dimensions the support samples of each class span."""

    positive: FloatArray
    negative: FloatArray
    ranks: tuple[int, int]


def orthants(seed: int, *, n: int = NUM_SAMPLES) -> Dataset:
    """The data of Figs 1 and 2: Gaussian points of two opposite orthants of R^20, on one side of (1, -1, ..., -1)."""
    return filtered_orthants(np.random.default_rng(seed), n=n, d=DIMENSION)


def max_margin_directions(data: Dataset) -> MaxMarginDirections:
    """The directions that Theorem 1 predicts for neurons with positive and negative output weight."""
    vectors = one_class_vectors(data)
    assert vectors.positive is not None, "a fair coin of hundreds of samples gave one class only"
    assert vectors.negative is not None, "a fair coin of hundreds of samples gave one class only"
    return MaxMarginDirections(
        vectors.positive.w / vectors.positive.norm,
        vectors.negative.w / vectors.negative.norm,
        (vectors.positive.support_rank, vectors.negative.support_rank),
    )


def cosines(rows: FloatArray, direction: FloatArray) -> FloatArray:
    """Cosine of every row with one direction."""
    return np.asarray(rows @ direction / (np.linalg.norm(rows, axis=1) * np.linalg.norm(direction)))


def two_directions(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The two directions that rows gather around, shape (2, d), and every row's cosine with the nearer one.

    Spherical 2-means that weighs a row by its length, started from the longest row and the row least like it.
    """
    longest = rows[np.argmax(np.linalg.norm(rows, axis=1))]
    centres = np.array([longest, rows[np.argmin(rows @ longest)]])
    for _ in range(100):
        nearer = np.argmax(rows @ (centres / np.linalg.norm(centres, axis=1, keepdims=True)).T, axis=1)
        moved = np.array([rows[nearer == k].sum(axis=0) if np.any(nearer == k) else centres[k] for k in range(2)])
        if np.array_equal(moved, centres):
            break
        centres = moved
    centres = centres / np.linalg.norm(centres, axis=1, keepdims=True)
    return centres, np.max([cosines(rows, centre) for centre in centres], axis=0)


def weight_of(rows: FloatArray, values: FloatArray) -> float:
    """Mean of a value per row, weighted by the squared lengths of the rows."""
    return float(np.average(values, weights=np.sum(rows**2, axis=1)))


def histogram(values: FloatArray) -> FloatArray:
    """Numbers of values in `BINS`."""
    return np.histogram(np.clip(values, -1.0, 1.0), BINS)[0].astype(np.float64)
