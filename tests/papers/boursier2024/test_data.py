"""The point sets of Boursier & Flammarion (2024) against what is known of them."""

import numpy as np
import pytest

from reluflow.data import Dataset, families
from reluflow.errors import InvalidInputError
from reluflow.papers.boursier2024 import data as published


def least_squares(dataset: Dataset) -> np.ndarray:
    return np.linalg.lstsq(dataset.X, dataset.y, rcond=None)[0]


def assumption5(dataset: Dataset, k: int) -> tuple[float, float]:
    """Both sides of Assumption 5 for sample k."""
    gram = dataset.X @ dataset.X.T
    others = np.delete(gram[k], k)
    return dataset.y[k] * gram[k, k], np.linalg.norm(dataset.y) * np.linalg.norm(others)


def test_three_points_golden_numbers() -> None:
    dataset = families.three_points()
    pull = dataset.y @ dataset.X / 3
    np.testing.assert_allclose(pull, [-0.2583333, 0.6666667], atol=5e-8)
    beta = least_squares(dataset)
    np.testing.assert_allclose(beta, [-0.0615385, 0.6435897], atol=5e-8)
    residual = dataset.y - dataset.X @ beta
    np.testing.assert_allclose(residual, [0.4102564, -0.5743590, 0.1641026], atol=5e-8)
    assert np.mean(residual**2) / 2 == pytest.approx(0.08752137, abs=5e-9)
    assert np.mean(np.sum(dataset.X**2, axis=1)) == pytest.approx(1.2760417, abs=5e-8)
    np.testing.assert_allclose(assumption5(dataset, 0), [1.719, 2.246], atol=5e-4)
    np.testing.assert_allclose(assumption5(dataset, 2), [0.8125, 1.778], atol=5e-4)


@pytest.mark.parametrize("eta", [0.01, 1 / 6, 0.5, 1.0])
def test_box_sampler_stays_in_the_box(eta: float) -> None:
    rng = np.random.default_rng(1)
    draws = [published.three_point_box(eta, rng) for _ in range(500)]
    table = np.array([np.column_stack([draw.X, draw.y]) for draw in draws])  # (draws, 3, 3)
    lowest = np.array([[-1, 1, 1], [-eta, 1 - eta, 0], [1 - eta, 1, 1]])
    highest = np.array([[-1 + eta, 1 + eta, 1 + eta], [eta, 1 + eta, eta], [1, 1 + eta, 1 + eta]])
    slack = 1e-15 * (1 + np.abs(lowest))
    assert np.all(table >= lowest - slack)
    assert np.all(table <= highest + slack)
    assert np.all(table[:, 0, 0] > -1)
    assert np.all(table[:, 1, 2] > 0)
    assert np.all(table[:, 2, 0] < 1)
    # A uniform draw reaches within 5 % of both ends in 500 tries but for a chance of about 1e-11 each.
    width = highest - lowest
    assert np.all(table.min(axis=0) < lowest + 0.05 * width)
    assert np.all(table.max(axis=0) > highest - 0.05 * width)


def test_worst_corner_turns_at_the_true_range() -> None:
    """Erratum E3: Assumption 5 holds on the box iff eta < 0.09765, not up to 1/6."""
    left, right = assumption5(published.three_point_box_worst(0.16), 0)
    assert left == pytest.approx(1.7056, abs=5e-5)
    assert right == pytest.approx(2.1125, abs=5e-5)
    for eta, holds in ((0.0976, True), (0.0977, False)):
        dataset = published.three_point_box_worst(eta)
        assert all(left > right for left, right in (assumption5(dataset, k) for k in (0, 2))) is holds


def test_teacher_is_a_sum_of_eight_relus() -> None:
    inputs = np.linspace(-1, 1, 2001)
    kinks = [-1, -0.7, -0.55, -0.4, 0, 0.5, 0.6, 0.7]
    jumps = [7 / 3, -11 / 3, 14 / 3, -35 / 6, 9 / 2, -6, 5, -10 / 3]
    relus = sum(jump * np.maximum(inputs - kink, 0) for kink, jump in zip(kinks, jumps, strict=True))
    np.testing.assert_allclose(published.stewart_teacher(inputs), relus, atol=1e-14)
    with pytest.raises(InvalidInputError, match=r"`inputs` must lie in \[-1, 1\]"):
        published.stewart_teacher([1.01])


def test_stewart_sets() -> None:
    dataset = published.stewart(np.random.default_rng(0), n=40)
    np.testing.assert_array_equal(dataset.y, published.stewart_teacher(dataset.X[:, 0]))
    np.testing.assert_array_equal(dataset.X[:, 1], 1.0)
    digitised = published.stewart_digitised()
    assert digitised.n == 38
    digitised.check_samples()
    # The reference values were computed before the inputs were rounded to three digits, which scatters these means
    # with standard deviations 1.3e-4 and 7e-5 (measured by rounding at random).
    assert np.mean(digitised.y**2) == pytest.approx(0.3508, abs=4e-4)
    residual = digitised.y - digitised.X @ least_squares(digitised)
    assert np.mean(residual**2) == pytest.approx(0.0861546, abs=2e-4)
    pull = digitised.y @ digitised.X / 38
    assert np.linalg.norm(pull) == pytest.approx(0.5157, abs=2e-4)
    assert np.rad2deg(np.arctan2(pull[1], pull[0])) == pytest.approx(86.11, abs=0.02)


def test_small_cases_and_refusals() -> None:
    assert published.one_point() == Dataset([[1.0]], [1.0], task="regression")
    np.testing.assert_array_equal(published.orthogonal_triple().X, np.eye(3))
    for eta in (0.0, -0.1, 1.1, np.nan):
        with pytest.raises(InvalidInputError, match="`eta` must be in"):
            published.three_point_box(eta, np.random.default_rng(0))
        with pytest.raises(InvalidInputError, match="`eta` must be in"):
            published.three_point_box_worst(eta)
    with pytest.raises(InvalidInputError, match="`n` must be at least 1"):
        published.stewart(np.random.default_rng(0), n=0)
