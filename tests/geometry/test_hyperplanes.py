"""Grouping of copies, opposites and zero samples, and the vector of a sliding neuron."""

from __future__ import annotations

import numpy as np
import pytest

from reluflow.geometry.hyperplanes import Hyperplanes


def test_copies_opposites_and_zeros_are_grouped():
    X = np.array([[1.0, 2.0], [0.0, 0.0], [-3.0, -6.0], [2.0, -1.0], [0.1, 0.2]])
    planes = Hyperplanes.of(X, [1.0, 5.0, 2.0, -1.0, 10.0], 0.25)
    assert planes.index.tolist() == [0, -1, 0, 1, 0]
    assert planes.orientation.tolist() == [1, 0, -1, 1, 1]
    assert planes.members.tolist() == [3, 1]
    root = np.sqrt(5.0)
    assert planes.plus == pytest.approx([root * (1.0 - 0.25 * 6.0 + 1.0), -root])
    assert planes.minus == pytest.approx([root * (0.25 - 6.0 + 0.25), -0.25 * root])
    assert planes.patterns(np.array([[1, -1], [-1, 0]], dtype=np.int8)).tolist() == [
        [1, 0, -1, -1, 1],
        [-1, 0, 1, 0, -1],
    ]


@pytest.mark.parametrize("leak", [0.0, 0.4])
def test_vectors_are_sums_over_samples(leak):
    rng = np.random.default_rng(6)
    X, forces = np.vstack([rng.normal(size=(5, 3)), np.zeros((1, 3))]), rng.normal(size=6)
    X[4] = -2.0 * X[0]
    directions = rng.normal(size=(30, 3))
    slopes = np.where(directions @ X.T > 0, 1.0, leak)
    assert np.allclose(Hyperplanes.of(X, forces, leak).vectors_at(directions), (slopes * forces) @ X, atol=1e-14)


def test_sliding_vector_is_the_projection():
    rng = np.random.default_rng(7)
    X, forces = rng.normal(size=(5, 4)), rng.normal(size=5)
    planes = Hyperplanes.of(X, forces, 0.0)
    D = planes.vector(np.array([0, 1, -1, 0, 1], dtype=np.int8))
    assert np.allclose(X[[0, 3]] @ D, 0.0, atol=1e-14)
    rest = forces[1] * X[1] + forces[4] * X[4]
    coefficients = np.linalg.lstsq(X[[0, 3]].T, rest - D, rcond=None)[0]
    assert np.allclose(X[[0, 3]].T @ coefficients, rest - D, atol=1e-14)


def test_odd_forces_leave_no_kink():
    planes = Hyperplanes.of([[1.0, 1.0], [-1.0, -1.0], [1.0, 0.0]], [0.7, -0.7, 1.0], 0.3)
    assert planes.has_kink.tolist() == [False, True]
