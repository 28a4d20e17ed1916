from itertools import combinations

import numpy as np
import pytest

from geometry.oracles import three_points
from reluflow.data.dataset import Dataset
from reluflow.geometry.general_position import general_position, smallest_subset_singular_value
from reluflow.losses import SquareLoss


def test_smallest_singular_value_is_over_subsets_of_every_size():
    rng = np.random.default_rng(61)
    for n, d in ((5, 3), (3, 5), (6, 2)):
        X = rng.standard_normal((n, d)) * rng.uniform(0.1, 10, (n, 1))
        unit = X / np.linalg.norm(X, axis=1, keepdims=True)
        values = [
            np.linalg.svd(unit[list(subset)], compute_uv=False)[-1]
            for size in range(1, min(n, d) + 1)
            for subset in combinations(range(n), size)
        ]
        value, subset = smallest_subset_singular_value(X)
        assert value == pytest.approx(min(values), rel=1e-12)
        assert np.linalg.svd(unit[list(subset)], compute_uv=False)[-1] == pytest.approx(value, rel=1e-12)


def test_generic_data_hold_with_a_margin():
    X, y = three_points()
    verdict = general_position(Dataset(X, y), SquareLoss())
    assert verdict.holds
    cosine = np.min(X @ [-0.2583333, 0.6666667] / np.linalg.norm(X, axis=1)) / 0.7149689
    assert verdict.least_subgradient_cosine == pytest.approx(cosine, rel=1e-6)
    angle = np.arctan2(*X[1]) - np.arctan2(*X[0])
    assert verdict.smallest_singular_value == pytest.approx(np.sqrt(1 - np.cos(angle)), rel=1e-9)
    assert verdict.margin == pytest.approx(verdict.smallest_singular_value, abs=2e-10)


def test_orthogonal_data_fail_the_face_condition():
    verdict = general_position(Dataset(np.eye(3), [1.0, 0.7, -0.8]), SquareLoss())
    assert verdict.holds is False
    assert verdict.smallest_singular_value == 1.0
    assert verdict.least_subgradient_cosine == pytest.approx(0.0, abs=1e-12)
    assert verdict.margin <= 0


def test_dependent_and_idle_samples_fail():
    dependent = general_position(Dataset([[1.0, 2.0], [2.0, 4.0], [0.0, 1.0]], [1.0, 2.0, 3.0]), SquareLoss())
    assert dependent.holds is False
    assert "closest to dependent are 1, 2," in dependent.detail
    idle = general_position(Dataset([[1.0, 2.0], [0.0, 1.0]], [1.0, 0.0]), SquareLoss())
    assert idle.holds is False
    assert "sample 2 has no force" in idle.detail


def test_undecided_beyond_the_limits():
    rng = np.random.default_rng(62)
    dataset = Dataset(rng.standard_normal((12, 3)), rng.standard_normal(12))
    for limits in ({"max_subsets": 10}, {"max_cones": 10}):
        verdict = general_position(dataset, SquareLoss(), **limits)
        assert verdict.holds is None
        assert np.isnan(verdict.margin)
        assert "more than 10" in verdict.detail
    assert general_position(dataset, SquareLoss()).holds
