"""Pairs of samples in blocks against the full Gram matrix, and honesty past the budget."""

import numpy as np
import pytest

from reluflow.geometry import pairs


@pytest.mark.parametrize("block", [3, 7, 2048])
def test_blocks_agree_with_the_full_matrix(monkeypatch, rng, block):
    monkeypatch.setattr(pairs, "_BLOCK", block)
    X, y = rng.standard_normal((23, 4)), rng.choice([-1.0, 1.0], 23)
    summary = pairs.pair_summary(X, y)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    cosines, same = unit @ unit.T, np.equal.outer(y, y)
    off = ~np.eye(23, dtype=bool)
    assert summary.is_complete
    assert summary.min_same_class == pytest.approx(cosines[same & off].min(), rel=1e-12)
    assert summary.max_cross_class == pytest.approx(cosines[~same].max(), rel=1e-12)
    z = X * y[:, None]
    assert np.allclose(summary.negative_sums, np.maximum(-(z @ z.T), 0).sum(axis=1), rtol=1e-12)
    assert summary.mu == pytest.approx((unit * y[:, None] @ (unit * y[:, None]).T).min(), rel=1e-12)


def test_one_class_has_no_cross_pairs():
    summary = pairs.pair_summary(np.array([[1.0, 0.0], [0.6, 0.8]]), np.ones(2))
    assert summary.max_cross_class == -np.inf
    assert summary.mu == pytest.approx(0.6)


def test_past_the_budget_only_a_bound_is_claimed(monkeypatch, rng):
    monkeypatch.setattr(pairs, "PAIR_BUDGET", 1e5)
    X, y = np.abs(rng.standard_normal((500, 3))), np.ones(500)
    summary = pairs.pair_summary(X, y)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    assert not summary.is_complete
    assert summary.negative_sums.size == 0
    assert summary.min_same_class >= (unit @ unit.T).min() - 1e-12
