"""The point sets of Phuong & Lampert (2021); the direct sampler against plain rejection."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import ks_2samp

from reluflow.errors import InvalidInputError
from reluflow.papers.phuong2021 import data as published


def is_orthogonally_separable(samples: np.ndarray, labels: np.ndarray) -> bool:
    gram = samples @ samples.T
    same = np.equal.outer(labels, labels)
    return bool(np.all(gram[same] > 0) and np.all(gram[~same] <= 0))


def by_rejection(rng: np.random.Generator, draws: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """The paper's own recipe."""
    samples = rng.standard_normal((draws, d))
    kept = samples @ np.tile([1.0, -1.0], d // 2) >= 0
    positive, negative = np.all(samples > 0, axis=1) & kept, np.all(samples < 0, axis=1) & kept
    return samples[positive | negative], np.where(positive, 1.0, -1.0)[positive | negative]


def test_direct_sampler_meets_the_filter() -> None:
    dataset = published.filtered_orthants(np.random.default_rng(0))
    assert (dataset.n, dataset.d) == (500, 20)
    assert np.all(dataset.y[:, None] * dataset.X > 0)
    assert np.all(dataset.X @ np.tile([1.0, -1.0], 10) >= 0)
    assert is_orthogonally_separable(dataset.X, dataset.y)
    assert 200 < np.sum(dataset.y > 0) < 300


def test_direct_sampler_has_the_law_of_rejection() -> None:
    draws, d = 1_600_000, 4
    samples, labels = by_rejection(np.random.default_rng(1), draws, d)
    assert len(labels) / draws == pytest.approx(2.0**-d, abs=6e-4)  # three standard errors
    direct = published.filtered_orthants(np.random.default_rng(2), n=len(labels), d=d)
    assert np.mean(direct.y) == pytest.approx(np.mean(labels), abs=0.015)
    alternating = np.tile([1.0, -1.0], d // 2)
    for label in (-1.0, 1.0):
        ours, theirs = direct.X[direct.y == label], samples[labels == label]
        columns = [(ours[:, k], theirs[:, k]) for k in range(d)]
        columns += [(ours @ alternating, theirs @ alternating), (ours[:, 0] * ours[:, 1], theirs[:, 0] * theirs[:, 1])]
        for a, b in columns:
            assert ks_2samp(a, b).pvalue > 1e-4
        np.testing.assert_allclose(ours.T @ ours / len(ours), theirs.T @ theirs / len(theirs), atol=0.04)


def test_toy_has_its_closed_form_margins() -> None:
    dataset = published.phuong_toy()
    assert is_orthogonally_separable(dataset.X, dataset.y)
    for label, expected, norm in (
        (1.0, np.array([1, 1]) / 3, 0.4714045208),
        (-1.0, -np.array([11, 14]) / 29, 0.6139480626),
    ):
        mine = dataset.X[dataset.y == label]
        constraint = {"type": "ineq", "fun": lambda w, mine=mine: mine @ w - 1}
        found = minimize(lambda w: w @ w, mine.sum(axis=0), constraints=[constraint], tol=1e-14).x
        np.testing.assert_allclose(found, expected, atol=1e-7)
        assert np.linalg.norm(expected) == pytest.approx(norm, abs=5e-11)
        np.testing.assert_allclose(mine @ expected, 1.0, atol=1e-14)  # both samples support, so they span the plane


def test_dead_cone_holds_120_degrees() -> None:
    dataset = published.phuong_dead_cone()
    assert is_orthogonally_separable(dataset.X, dataset.y)
    direction = np.array([np.cos(np.deg2rad(120)), np.sin(np.deg2rad(120))])
    assert np.all(dataset.X @ direction < 0)


def test_refusals() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(InvalidInputError, match="`d` must be even and at least 2, got 3"):
        published.filtered_orthants(rng, d=3)
    with pytest.raises(InvalidInputError, match="`n` must be at least 1, got 0"):
        published.filtered_orthants(rng, n=0)
