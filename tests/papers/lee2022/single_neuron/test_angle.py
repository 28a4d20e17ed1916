"""Angles and the deficit, against exact rational arithmetic and against each other."""

from fractions import Fraction
from math import factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reluflow.errors import InvalidInputError
from reluflow.papers.lee2022.single_neuron.angle import (
    arc_excess,
    deficit,
    gap_between,
    gap_of_psi,
    overlap,
    phi_of_psi,
    psi_of_gap,
    psi_of_phi,
)


@pytest.mark.parametrize("x", [1e-8, 1e-3, 0.01, 0.5, 0.999, 1.001, 2.0, 3.1])
def test_arc_excess_keeps_every_digit(x):
    exact = sum(
        Fraction((-1) ** (k + 1) * 2 * k, factorial(2 * k + 1)) * Fraction(x) ** (2 * k + 1) for k in range(1, 40)
    )
    assert arc_excess(x) == pytest.approx(float(exact), rel=1e-14)


def test_deficit_at_known_angles():
    assert deficit(0.0) == 0.0
    assert deficit(np.pi) == pytest.approx(1.0, abs=1e-15)
    assert deficit(np.pi / 2) == pytest.approx(1 - 1 / np.pi, abs=1e-15)


def test_deficit_near_alignment_follows_its_expansion():
    gap = np.geomspace(1e-12, 1e-4, 20)
    expansion = gap**2 / 2 - gap**3 / (3 * np.pi)
    np.testing.assert_allclose(deficit(gap), expansion, rtol=1e-8)
    np.testing.assert_allclose(deficit(gap[:8]), expansion[:8], rtol=1e-14)


@given(st.floats(1e-3, np.pi - 1e-3))
def test_deficit_and_overlap_sum_to_one(phi):
    assert deficit(np.pi - phi) + overlap(phi) == pytest.approx(1.0, abs=4e-16)


@given(st.floats(-600, 600))
def test_coordinates_invert_each_other(psi):
    phi, gap = phi_of_psi(psi), gap_of_psi(psi)
    assert phi + gap == pytest.approx(np.pi, rel=1e-15)
    back = psi_of_phi(phi) if psi < 0 else psi_of_gap(gap)
    assert back == pytest.approx(psi, rel=1e-13, abs=1e-15)


def test_psi_saturates_without_a_warning():
    assert gap_of_psi(1e4) == 0.0
    assert phi_of_psi(-1e4) == 0.0


def test_gap_between_columns_matches_arccos_away_from_alignment(rng):
    w, teacher = rng.standard_normal((5, 7)), rng.standard_normal(5)
    cosines = teacher @ w / np.linalg.norm(w, axis=0) / np.linalg.norm(teacher)
    np.testing.assert_allclose(gap_between(w, teacher), np.arccos(cosines), rtol=1e-12)


def test_gap_between_resolves_tiny_angles():
    teacher = np.array([0.6, 0.8, 0.0])
    assert gap_between(3.0 * teacher + np.array([0.0, 0.0, 3e-9]), teacher) == pytest.approx(1e-9, rel=1e-6)


def test_gap_between_refuses_other_dimensions():
    with pytest.raises(InvalidInputError, match="dimension of `teacher`"):
        gap_between(np.ones(3), np.ones(2))
