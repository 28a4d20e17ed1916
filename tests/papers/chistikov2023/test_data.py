"""The data of chistikov2023: labels of one unit neuron, angles as said, draws with every label positive."""

from __future__ import annotations

import numpy as np
import pytest

from reluflow.data.registry import load
from reluflow.errors import InvalidInputError
from reluflow.papers.chistikov2023.data import correlated, fan, minimal, not_minimal, plane, simplex, two_samples


def teacher_of(data):
    return np.linalg.lstsq(data.X, data.y, rcond=None)[0]


def angles(data):
    cosines = data.X @ teacher_of(data) / np.linalg.norm(data.X, axis=1)
    return np.rad2deg(np.arccos(cosines))


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (plane, (25.5600, 29.1676, 19.4400)),
        (two_samples, (37.3493, 16.4293)),
        (minimal, (32.1510, 44.3124, 26.7901)),
        (not_minimal, (43.2101, 39.9458, 40.8130)),
    ],
)
def test_named_sets_have_a_unit_teacher_within_45_degrees(make, expected):
    data = make()
    assert np.linalg.norm(teacher_of(data)) == pytest.approx(1.0, abs=1e-12)
    assert angles(data) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(("xi", "inside"), [(0.57, True), (0.58, False)])
def test_the_simplex_is_within_45_degrees_below_one_over_the_root_of_d_minus_1(xi, inside):
    """The paper's bound sqrt(2(sqrt 2 - 1)/(d - 1)) suffices; 1/sqrt(d - 1) = 0.5774 is exact, d = 4."""
    assert bool(np.max(angles(simplex(d=4, xi=xi))) < 45.0) is inside


@pytest.mark.parametrize("kind", ["centred", "uncentred"])
@pytest.mark.parametrize("d", [4, 16])
def test_draws_have_positive_labels_of_a_unit_teacher(kind, d):
    data = load(f"chistikov-{kind}:d={d}", seed=3)
    assert data.X.shape == (d, d)
    assert np.all(data.y > 0.0)
    assert np.linalg.norm(teacher_of(data)) == pytest.approx(1.0, abs=1e-9)


def test_the_noise_is_that_of_section_8():
    """Mean squared distance to the centre: rho = 1 (centred); the teacher is the centre only there."""
    rng = np.random.default_rng(0)
    draws = [correlated(rng, d=64) for _ in range(20)]
    spread = np.mean([np.mean(np.sum((data.X - teacher_of(data)) ** 2, axis=1)) for data in draws])
    assert spread == pytest.approx(1.0, abs=0.02)
    draws = [correlated(rng, d=64, centred=False) for _ in range(20)]
    spread = np.mean([np.mean(np.sum((data.X - data.X.mean(axis=0)) ** 2, axis=1)) for data in draws])
    assert spread == pytest.approx((np.sqrt(2.0) - 1.0) * 63.0 / 64.0, abs=0.02)


def test_wrong_sizes_are_refused():
    with pytest.raises(InvalidInputError, match="`b` must be at least 11, got 3"):
        fan(b=3.0)
    with pytest.raises(InvalidInputError, match=r"`xi` must lie in \(0, 1\], got 0"):
        simplex(xi=0.0)
    with pytest.raises(InvalidInputError, match="`n` = 400 samples in dimension `d` = 2 all within 90 degrees"):
        correlated(np.random.default_rng(0), d=2, n=400)
