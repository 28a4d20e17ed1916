"""The one-class vectors of Phuong & Lampert and the one-sign margins of Lyu et al."""

import numpy as np
import pytest

from reluflow.certificates.one_class import leaky_margins, one_class_vectors
from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError


def test_toy_oracle():
    """The four points of the digest of Phuong & Lampert, Sec. 4.6, to their printed digits."""
    dataset = Dataset([[2, 1], [1, 2], [-2, -0.5], [-0.6, -1.6]], [1, 1, -1, -1])
    vectors = one_class_vectors(dataset)
    np.testing.assert_allclose(vectors.positive.w, [1 / 3, 1 / 3], atol=1e-14)
    np.testing.assert_allclose(vectors.positive.multipliers, [1 / 9, 1 / 9, 0, 0], atol=1e-14)
    np.testing.assert_allclose(vectors.negative.w, [-11 / 29, -14 / 29], atol=1e-14)
    np.testing.assert_allclose(vectors.negative.multipliers, [0, 0, 0.10939358, 0.26753864], atol=5e-9)
    assert vectors.positive.norm == pytest.approx(0.4714045208, abs=5e-11)
    assert vectors.negative.norm == pytest.approx(0.6139480626, abs=5e-11)
    assert vectors.positive.support_spans
    assert vectors.negative.support_spans


def test_vector_is_a_combination_and_feasible():
    rng = np.random.default_rng(0)
    X = np.abs(rng.standard_normal((60, 5))) * np.repeat([1, -1], 30)[:, None]
    dataset = Dataset(X, np.repeat([1, -1], 30))
    vectors = one_class_vectors(dataset)
    for vector, label in ((vectors.positive, 1), (vectors.negative, -1)):
        np.testing.assert_allclose(dataset.X.T @ vector.multipliers, vector.w, atol=1e-12)
        margins = dataset.X[dataset.y == label] @ vector.w
        assert margins.min() == pytest.approx(1, abs=1e-11)
        np.testing.assert_allclose(vector.multipliers * (dataset.X @ vector.w - 1), 0, atol=1e-11)
        assert set(vector.support) <= set(np.flatnonzero(dataset.y == label))


def test_a_missing_class_and_an_impossible_one():
    vectors = one_class_vectors(Dataset([[1.0, 0.0], [-1.0, 0.0]], [1, 1]))
    assert vectors.negative is None
    assert not vectors.positive.feasible
    assert not vectors.positive.support_spans
    np.testing.assert_allclose(vectors.positive.separator.multipliers, [0.5, 0.5])


def test_support_that_does_not_span():
    vectors = one_class_vectors(Dataset([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]], [1, -1]))
    assert vectors.positive.support_rank == 1
    assert not vectors.positive.support_spans


def hinted():
    """Lyu et al. (2021), Def. 6.1, with the constants of the digest's anchor."""
    X = np.array([[0.5, 0.3], [0.6, -0.2], [-0.4, 0.1], [-0.5, -0.25]])
    w, p, margin = np.array([4, -1]) / np.sqrt(17), np.array([1, 4]) / np.sqrt(17), 0.41231056256176607
    eps, H, K = 0.3 * 0.5 * margin, 20.641184, 0.4
    return Dataset(np.vstack([H * w, eps * w + K * p, eps * w - K * p, X]), [1, 1, 1, 1, 1, -1, -1])


def test_hinted_dataset():
    margins = leaky_margins(hinted(), 0.5)
    assert np.linalg.norm(margins.positive.mean) == pytest.approx(3.176122, abs=5e-7)
    assert np.linalg.norm(margins.negative.mean) == pytest.approx(1.679045, abs=5e-7)
    assert margins.kappa == pytest.approx(0.471354, abs=5e-7)
    np.testing.assert_allclose(margins.positive.w, np.array([4, -1]) / np.sqrt(17), atol=1e-9)
    assert margins.positive.margin == pytest.approx(0.0618466, abs=5e-8)
    assert set(margins.positive.closest) == {1, 2}


def test_label_flip_exchanges_the_signs():
    """Thm A.10 is Thm A.7 with labels flipped: mu^+ becomes -mu^-, w^+ becomes -w^-."""
    dataset = hinted()
    margins, flipped = leaky_margins(dataset, 0.3), leaky_margins(dataset.with_flipped_labels(), 0.3)
    np.testing.assert_allclose(flipped.positive.mean, -margins.negative.mean)
    np.testing.assert_allclose(flipped.negative.w, -margins.positive.w, atol=1e-9)
    assert flipped.positive.margin == pytest.approx(margins.negative.margin)


def test_refusals():
    with pytest.raises(InvalidInputError, match="`leak` must lie in"):
        leaky_margins(Dataset([[1.0]], [1]), 1.5)
    with pytest.raises(InvalidInputError, match="labels -1 and 1"):
        one_class_vectors(Dataset([[1.0]], [0.3]))
