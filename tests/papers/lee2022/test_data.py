"""The point sets of Lee et al. (2022)."""

import numpy as np
import pytest

from reluflow.errors import InvalidInputError
from reluflow.papers.lee2022 import data as published


@pytest.mark.parametrize(("layers", "std"), [(0, 1.0), (1, 0.5), (2, 0.3)])
def test_single_neuron_labels_and_scale(layers: int, std: float) -> None:
    data = published.single_neuron(np.random.default_rng(0), n=2000, layers=layers)
    norm = np.linalg.norm(data.teacher)
    assert norm == pytest.approx(10 * std, rel=0.25)  # |w*| is about 10 k*: k is a standard deviation
    rows = data.dataset.X[:50]
    by_hand = [norm**layers * max(0.0, float(row @ data.teacher)) for row in rows]
    np.testing.assert_allclose(data.dataset.y[:50], by_hand, rtol=1e-12)
    # E f(x)^2 = |w*|^(2q) |w*|^2 / 2 for a standard Gaussian x.
    assert np.mean(data.dataset.y**2) == pytest.approx(norm ** (2 * layers + 2) / 2, rel=0.2)


def test_single_neuron_with_a_given_scale() -> None:
    small = published.single_neuron(np.random.default_rng(0), n=5, d=3, layers=4, std=0.1)
    large = published.single_neuron(np.random.default_rng(0), n=5, d=3, layers=4, std=1.0)
    np.testing.assert_allclose(10 * small.teacher, large.teacher, rtol=1e-14)
    np.testing.assert_array_equal(small.dataset.X, large.dataset.X)


def test_deep_teacher_is_positively_homogeneous_of_its_depth() -> None:
    one = published.deep_teacher(np.random.default_rng(0), n=20, d=6, width=8, depth=3, std=0.2)
    two = published.deep_teacher(np.random.default_rng(0), n=20, d=6, width=8, depth=3, std=0.4)
    np.testing.assert_allclose(two.y, 2**3 * one.y, rtol=1e-12)
    assert np.any(one.y != 0)
    linear = published.deep_teacher(np.random.default_rng(0), n=20, d=6, depth=1)
    assert np.linalg.matrix_rank(np.column_stack([linear.X, linear.y]), tol=1e-9) == 6


def test_flat_minimum_has_a_segment_of_zero_loss() -> None:
    dataset = published.flat_minimum()
    np.testing.assert_allclose(dataset.X.mean(axis=0), 0.0)
    assert np.linalg.matrix_rank(dataset.X) == 2
    for slope in np.linspace(-0.5, 0.5, 11):
        np.testing.assert_array_equal(np.maximum(dataset.X @ [1.0, slope], 0), dataset.y)
    assert not np.array_equal(np.maximum(dataset.X @ [1.0, 0.51], 0), dataset.y)


def test_refusals() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(InvalidInputError, match="`layers` must be at least 0"):
        published.single_neuron(rng, layers=-1)
    with pytest.raises(InvalidInputError, match="`std` must be given for layers=3"):
        published.single_neuron(rng, layers=3)
    with pytest.raises(InvalidInputError, match="`std` must be positive"):
        published.single_neuron(rng, std=0.0)
    with pytest.raises(InvalidInputError, match="`n` and `d` must be at least 1"):
        published.single_neuron(rng, n=0)
    with pytest.raises(InvalidInputError, match="`width` and `depth` must be at least 1"):
        published.deep_teacher(rng, depth=0)
