"""Grouping of copies, opposites and zero samples, and the vector of a sliding neuron."""

from __future__ import annotations

import numpy as np
import pytest

from reluflow.geometry.boundary.walls import PulledWalls, Walls


def test_copies_opposites_and_zeros_are_grouped():
    X = np.array([[1.0, 2.0], [0.0, 0.0], [-3.0, -6.0], [2.0, -1.0], [0.1, 0.2]])
    pulled = PulledWalls.of(X, [1.0, 5.0, 2.0, -1.0, 10.0], 0.25)
    assert pulled.walls.wall_of_sample[[0, 2, 3, 4]].tolist() == [0, 0, 1, 0]
    assert pulled.walls.orientation.tolist() == [1, 0, -1, 1, 1]
    assert pulled.walls.num_samples.tolist() == [3, 1]
    assert pulled.walls.first_sample.tolist() == [0, 3]
    assert pulled.walls.slopes(np.array([1, -1], dtype=np.int8), 0.1).tolist() == [1.0, 0.0, 0.1, 0.1, 1.0]
    root = np.sqrt(5.0)
    assert pulled.plus == pytest.approx([root * (1.0 - 0.25 * 6.0 + 1.0), -root])
    assert pulled.minus == pytest.approx([root * (0.25 - 6.0 + 0.25), -0.25 * root])
    assert pulled.walls.patterns(np.array([[1, -1], [-1, 0]], dtype=np.int8)).tolist() == [
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
    assert np.allclose(PulledWalls.of(X, forces, leak).vectors_at(directions), (slopes * forces) @ X, atol=1e-14)


def test_sliding_vector_is_the_projection():
    rng = np.random.default_rng(7)
    X, forces = rng.normal(size=(5, 4)), rng.normal(size=5)
    pulled = PulledWalls.of(X, forces, 0.0)
    D = pulled.vector(np.array([0, 1, -1, 0, 1], dtype=np.int8))
    assert np.allclose(X[[0, 3]] @ D, 0.0, atol=1e-14)
    rest = forces[1] * X[1] + forces[4] * X[4]
    coefficients = np.linalg.lstsq(X[[0, 3]].T, rest - D, rcond=None)[0]
    assert np.allclose(X[[0, 3]].T @ coefficients, rest - D, atol=1e-14)


def test_odd_forces_leave_no_kink():
    pulled = PulledWalls.of([[1.0, 1.0], [-1.0, -1.0], [1.0, 0.0]], [0.7, -0.7, 1.0], 0.3)
    assert pulled.has_kink.tolist() == [False, True]


def test_nearly_parallel_samples_are_two_walls():
    assert len(Walls.of(np.array([[1.0, 0.0], [1.0, 1e-9]])).normals) == 2


def test_tiny_and_huge_samples_keep_their_walls():
    """Squares of 1e-200 underflow, which once left such a sample without a wall in the flow."""
    walls = Walls.of([[1e-200, 1e-200], [-3e200, -3e200], [1.0, 0.0]])
    assert walls.wall_of_sample.tolist() == [0, 0, 1]
    assert walls.orientation.tolist() == [1, -1, 1]
    assert walls.length == pytest.approx([2**0.5 * 1e-200, 3 * 2**0.5 * 1e200, 1.0], rel=1e-15)


def test_multiples_of_any_sample_share_its_wall(rng):
    """A coordinate of 1/4 to rounding once decided the sign of a line, so that a multiple could miss it."""
    for _ in range(200):
        x = np.append(rng.standard_normal(3), 0.0)
        x[3] = np.linalg.norm(x) / np.sqrt(15.0)  # its share of the unit vector is 1/4
        multiples = np.outer(rng.choice([-1.0, 1.0], 5) * rng.uniform(0.1, 10.0, 5), x)
        assert len(Walls.of(multiples).normals) == 1
