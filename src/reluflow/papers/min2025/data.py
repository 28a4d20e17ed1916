"""Point sets for Min, Zhu & Vidal (2025): four orthogonally separable sets of K classes, and two counterexamples."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from reluflow.data.dataset import Dataset, Task
from reluflow.data.registered import RegisteredDataset, SuggestedSettings

_SAMPLES_A = (
    ((3, 0, 1, 0), (2, 1, 0, 1), (2, -1, 0, 1)),
    ((-2, 3, -1, 0), (-2, 2, 0, -1), (-3, 3, 1, 0)),
    ((-2, -3, 0, 0), (-2, -4, 0, -1), (-3, -4, -1, 0)),
)
_SAMPLES_B = (
    ((2, 0, 0, -0.1, -0.2, 0), (0.1, 2, -0.2, 0, 0, -0.1)),
    ((-0.1, 0, 2, 0, -0.1, 0), (0, -0.1, 0.1, 2, 0, -0.2)),
    ((-0.1, -0.1, 0, -0.1, 2, 0), (0, -0.1, -0.1, 0, 0.1, 2)),
)
_SAMPLES_C = (
    ((4, 0, 1, 0), (4, 0, 0, 1)),
    ((-2, 3.6, -0.5, 0), (-2, 3.5, 0, -0.8)),
    ((-2, -3.5, 0, 0.4), (-2, -3.6, -0.6, 0)),
)
_SAMPLES_D = (
    ((3, -1, -1, -1, 0.5), (2, -1, -0.5, -1, 0)),
    ((-1, 3, -1, -1, -0.5), (-1, 2, -1, -1, 0)),
    ((-1, -1, 3, -1, 0.5), (-1, -1, 2, -1, -0.5)),
    ((-1, -1, -1, 2, 0), (-1, -0.5, -1, 3, 0.5)),
)
COSINE_OF_CE2 = -0.36  # between samples of two classes of the second counterexample
SIZES_OF_CE2 = (1, 100, 5)


def _of_classes(samples: ArrayLike, labels: ArrayLike, name: str, what: str) -> Dataset:
    names = [str(c + 1) for c in range(int(np.max(labels)) + 1)]
    return Dataset(samples, labels, classes=names, name=name, provenance=f"{what} Min, Zhu & Vidal (2025) [min2025]")


def _stacked(groups: tuple[tuple[tuple[float, ...], ...], ...], name: str, what: str) -> Dataset:
    labels = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    return _of_classes(np.vstack(groups), labels, name, what)


def example_a() -> Dataset:
    """Three classes in R^4 with margins sqrt 5, 3 and sqrt 13 and max-margin directions in closed form. Ours."""
    return _stacked(_SAMPLES_A, "min2025-a", "three classes of different margins, for Theorem 1 of")


def example_b() -> Dataset:
    """Three classes in R^6 near the edge of Assumption 1: mu_s = 0.049, mu_d = 0.005. Ours."""
    return _stacked(_SAMPLES_B, "min2025-b", "three classes near the edge of Assumption 1 of")


def example_c() -> Dataset:
    """Three classes in R^4 that meet the printed condition of Proposition 1: 2.6186 < 3. Ours."""
    return _stacked(_SAMPLES_C, "min2025-c", "three classes that meet the condition of Proposition 1 of")


def example_d() -> Dataset:
    """Four classes in R^5. Ours."""
    return _stacked(_SAMPLES_D, "min2025-d", "four classes, for Theorem 1 of")


def example_of_two_classes() -> Dataset:
    """The first two classes of set A with labels -1 and 1, for the binary case of Sec. 4.1. Ours."""
    samples, labels = np.vstack(_SAMPLES_A[:2]), np.repeat([-1.0, 1.0], 3)
    what = "two classes, for the binary case of"
    return Dataset(samples, labels, name="min2025-two", provenance=f"{what} Min, Zhu & Vidal (2025) [min2025]")


def first_counterexample() -> Dataset:
    """CE1: (1, 0) against five copies of (-8, 15)/17 and one (-8, -15)/17, on which Proposition 1 as printed is false.

    Every cosine within a class is 1, every one between classes at most -8/17, all lengths are 1.
    """
    directions = np.array([[1.0, 0.0], [-8.0 / 17.0, 15.0 / 17.0], [-8.0 / 17.0, -15.0 / 17.0]])
    labels = np.repeat([0, 1, 2], [1, 5, 1])
    return _of_classes(directions[labels], labels, "min2025-ce1", "first counterexample to Proposition 1 of")


def second_counterexample() -> Dataset:
    """CE2: three unit vectors of pairwise cosine -0.36 with multiplicities 1, 100, 5.

    The sizes of the classes alone decide: with B_c above the sharp threshold a neuron of class 1 still goes to class 2.
    """
    height = np.sqrt((1.0 + 2.0 * COSINE_OF_CE2) / 3.0)
    radius, angles = np.sqrt(1.0 - height**2), 2.0 * np.pi * np.arange(3) / 3.0
    directions = np.column_stack([radius * np.cos(angles), radius * np.sin(angles), np.full(3, height)])
    labels = np.repeat([0, 1, 2], SIZES_OF_CE2)
    return _of_classes(directions[labels], labels, "min2025-ce2", "second counterexample to Proposition 1 of")


_min2025 = partial(
    RegisteredDataset,
    task=Task.CLASSIFICATION,
    paper="min2025",
    settings=SuggestedSettings("softmax", reduction="sum"),
)


DATASETS = (
    _min2025("min2025-a", 9, 4, "three classes of different margins, limits in closed form", example_a),
    _min2025("min2025-b", 6, 6, "three classes near the edge of orthogonal separability", example_b),
    _min2025("min2025-c", 6, 4, "three classes that meet the printed data condition", example_c),
    _min2025("min2025-d", 8, 5, "four classes", example_d),
    _min2025(
        "min2025-two",
        6,
        4,
        "two classes with labels -1 and 1",
        example_of_two_classes,
        settings=SuggestedSettings("logistic", reduction="sum"),
    ),
    _min2025("min2025-ce1", 7, 2, "where Proposition 1 as printed is false", first_counterexample),
    _min2025("min2025-ce2", 106, 3, "where the sizes of the classes decide", second_counterexample),
)
