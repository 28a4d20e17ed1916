"""Steps told in the span of few samples: lengths and inner products are what they were."""

import numpy as np
import pytest

from reluflow.dynamics.collocation.remaining_span import RemainingSpan


@pytest.fixture
def drawn(rng):
    """Samples, two of them parallel, and neurons, one within the span of the samples."""
    X, w = rng.standard_normal((9, 40)), rng.standard_normal((5, 40))
    X[8], w[4] = -2.0 * X[0], X[1] - X[2]
    return X, w


def test_lengths_and_products_are_kept(drawn):
    X, w = drawn
    span = RemainingSpan.of(X, w)
    inside = span.inward(w)
    assert inside.shape == (5, 10)
    np.testing.assert_allclose(np.linalg.norm(inside, axis=1), np.linalg.norm(w, axis=1), rtol=1e-14)
    np.testing.assert_allclose(inside @ span.of_samples(X).T, w @ X.T, atol=1e-12)
    np.testing.assert_allclose(span.outward(inside), w, atol=1e-13)
    assert abs(inside[4, -1]) < 1e-13


def test_other_samples_are_seen_from_there_after_pulls_and_growth(drawn, rng):
    X, w = drawn
    span, others = RemainingSpan.of(X, w), rng.standard_normal((20, 40))
    pulls, growth = rng.standard_normal((5, 9)), rng.uniform(0.5, 2.0, (5, 1))
    moved, inside = growth * w + pulls @ X, growth * span.inward(w) + pulls @ span.of_samples(X)
    seen = span.seen(others)
    np.testing.assert_allclose(seen.heights(inside[1:4], slice(1, 4)), moved[1:4] @ others.T, atol=1e-11)
    np.testing.assert_allclose(seen.heights_along(inside[2:3], 2, 7), moved[2:3] @ others[7], atol=1e-11)
    np.testing.assert_allclose(span.outward(inside), moved, atol=1e-12)


def test_there_is_none_where_it_would_save_little(rng):
    w = rng.standard_normal((3, 40))
    assert RemainingSpan.of(rng.standard_normal((35, 40)), w) is None
    assert RemainingSpan.of(rng.standard_normal((2, 10)), w[:, :10]) is None
