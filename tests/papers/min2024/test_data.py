"""The point sets of Min et al. (2024) against their printed or derived constants."""

import numpy as np
import pytest

from reluflow.data import Dataset
from reluflow.errors import InvalidInputError
from reluflow.papers.min2024 import data as published


def smallest_cosine(dataset: Dataset) -> float:
    signed = dataset.y[:, None] * dataset.X / np.linalg.norm(dataset.X, axis=1)[:, None]
    return float((signed @ signed.T).min())


def test_toy() -> None:
    dataset = published.min_toy()
    assert smallest_cosine(dataset) == pytest.approx(0.1736, abs=5e-5)
    np.testing.assert_allclose(np.linalg.norm(dataset.X, axis=1), [1.0, 1.2, 0.7, 0.8])
    # S_dead, the directions active on no sample, spans 240 to 270 degrees.
    angles = np.deg2rad(np.arange(0, 360, 0.25) + 0.125)
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    dead = np.rad2deg(angles[np.all(directions @ dataset.X.T <= 0, axis=1)])
    assert dead.min() == pytest.approx(240, abs=0.13)
    assert dead.max() == pytest.approx(270, abs=0.13)


@pytest.mark.parametrize("angle", [0.1, 0.001, 0.0])
def test_two_points_have_mu_sin_t(angle: float) -> None:
    dataset = published.two_points(angle)
    assert smallest_cosine(dataset) == pytest.approx(np.sin(angle), abs=1e-16)
    np.testing.assert_array_equal(dataset.y, 1.0)


def test_regression_case_constants() -> None:
    dataset = published.regression_case()
    assert smallest_cosine(dataset) == pytest.approx(0.766044, abs=5e-7)
    signed = dataset.y[:, None] * dataset.X
    sums = [dataset.X[dataset.y > 0].sum(axis=0), -dataset.X[dataset.y < 0].sum(axis=0)]
    cap = min(float(((signed @ total) / np.linalg.norm(total)).min() ** 2) for total in sums)
    assert cap == pytest.approx(0.821394, abs=5e-7)


def test_one_sample_and_refusals() -> None:
    for label in (-1.0, 1.0):
        dataset = published.one_sample(label)
        np.testing.assert_array_equal(dataset.X, [[1.0, 0.0]])
        assert dataset.y[0] == label
    assert "E.3" in published.one_sample(-1.0).provenance
    assert "E.4" in published.one_sample(1.0).provenance
    with pytest.raises(InvalidInputError, match="`label` must be -1 or 1, got 0"):
        published.one_sample(0.0)
    with pytest.raises(InvalidInputError, match="`angle` must be in"):
        published.two_points(2.0)
