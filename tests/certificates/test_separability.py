"""Separability on raw, badly scaled data: a separator or its absence, verified exactly, or undecided."""

from fractions import Fraction

import numpy as np
import pytest

from reluflow.certificates.hard_margin import Separability, hard_margin
from reluflow.certificates.separability import is_separator, proved_combination


def exact_smallest_product(rows, w):
    return min(sum(Fraction(float(z)) * Fraction(float(v)) for z, v in zip(row, w, strict=True)) for row in rows)


def badly_scaled(rng, n=200, d=8):
    """Separable rows with columns from 1e-4 to 1e4, as raw measurements have."""
    X = rng.standard_normal((n, d))
    X *= np.sign(X @ np.ones(d))[:, None]
    return X[X @ np.ones(d) > 0.05] * np.logspace(-4, 4, d)


def test_breast_cancer_is_separable():
    """`diagnose` said "no separator exists" of the raw breast cancer data; one does, checked in rationals."""
    from sklearn import datasets

    X, y = datasets.load_breast_cancer(return_X_y=True)
    rows = (2.0 * y - 1.0)[:, None] * X
    result = hard_margin(rows)
    assert result.status is Separability.SEPARABLE
    assert exact_smallest_product(rows, result.w) > 0
    assert result.gap < 1e-6
    # `diagnose` counted 569 support samples in R^30: the interior point leaves 1e-15 on every row
    assert np.all((rows @ result.w)[result.support] <= result.margin * (1 + 1e-9))
    assert len(result.support) <= X.shape[1] + 1


def test_badly_scaled_separable_rows(rng):
    rows = badly_scaled(rng)
    result = hard_margin(rows)
    assert result.status is Separability.SEPARABLE
    assert exact_smallest_product(rows, result.w) > 0
    assert 0 < result.margin <= result.upper * (1 + 1e-9)


@pytest.mark.parametrize("d", [2, 5, 20])
def test_badly_scaled_rows_around_the_origin(rng, d):
    """One row turned over: not separable, and the multipliers belong to the rows as given."""
    rows = badly_scaled(rng, d=d)
    rows[0] = -rows[1:4].sum(axis=0)
    result = hard_margin(rows)
    assert result.status is Separability.NOT_SEPARABLE
    lengths = np.linalg.norm(result.multipliers[:, None] * rows, axis=1)
    assert np.linalg.norm(result.multipliers @ rows) <= 1e-12 * lengths.sum()


def test_no_combination_is_proved_of_separable_rows(rng):
    """A forged certificate must fail: however small the margin, nothing vanishes."""
    for gap in (1e-3, 1e-9, 1e-15):
        rows = np.array([[1.0, gap], [-1.0, gap]])
        assert proved_combination(rows) is None
        assert is_separator(rows, np.array([0.0, 1.0]))
        assert hard_margin(rows).status is not Separability.NOT_SEPARABLE


def test_a_product_that_rounds_to_zero_is_decided_exactly():
    rows = np.array([[1.0, -1.0 + 2.0**-53], [1.0, 1.0]])
    assert is_separator(rows, np.array([1.0, 1.0]))
    assert not is_separator(np.array([[1.0, -1.0]]), np.array([1.0, 1.0]))


def test_a_zero_row_is_its_own_certificate():
    assert hard_margin([[1.0, 0.0], [0.0, 0.0]]).status is Separability.NOT_SEPARABLE
