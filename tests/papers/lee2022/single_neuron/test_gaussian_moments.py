"""Lemma 2.1, Propositions B.1 and B.2: closed forms against quadrature, draws and a counterexample."""

import numpy as np
import pytest

from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError
from reluflow.papers.lee2022.data import flat_minimum
from reluflow.papers.lee2022.single_neuron.gaussian_moments import (
    active_curvature,
    half_space_moment,
    relu_kernel,
    spherical_speed,
    two_half_space_moment,
)

ANGLES = (0.2, 1.0, np.pi / 2, 2.5, 3.0)


def plane_pair(theta):
    return np.array([1.0, 0.0]), np.array([np.cos(theta), np.sin(theta)])


def sector_quadrature(theta, integrand):
    """Mean over the plane of integrand(direction) |x|^2 on the sector where both half-spaces meet."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    low, high = theta - np.pi / 2, np.pi / 2
    angle = 0.5 * (low + high) + 0.5 * (high - low) * nodes
    direction = np.stack([np.cos(angle), np.sin(angle)])
    return 2.0 / (2.0 * np.pi) * 0.5 * (high - low) * np.tensordot(integrand(direction), weights, axes=(-1, 0))


@pytest.mark.parametrize("theta", ANGLES)
def test_two_half_space_moment_by_polar_quadrature(theta):
    u, v = plane_pair(theta)
    expected = sector_quadrature(theta, lambda x: x[:, None, :] * x[None, :, :])
    np.testing.assert_allclose(two_half_space_moment(2.0 * u, 0.3 * v), expected, atol=1e-14)


@pytest.mark.parametrize("theta", ANGLES)
def test_two_half_space_moment_equals_the_printed_formula(theta, rng):
    basis = np.linalg.qr(rng.standard_normal((4, 2)))[0]
    u, v = (basis @ vector for vector in plane_pair(theta))
    bracket = -np.cos(theta) * (np.outer(u, u) + np.outer(v, v)) + np.outer(u, v) + np.outer(v, u)
    printed = 0.5 * (1 - theta / np.pi) * np.eye(4) + bracket / (2 * np.pi * np.sin(theta))
    moment = two_half_space_moment(u, v)
    np.testing.assert_allclose(moment, printed, atol=2e-15)
    spread = np.sin(theta)
    eigenvalues = np.sort([np.pi - theta - spread, np.pi - theta, np.pi - theta, np.pi - theta + spread]) / (2 * np.pi)
    np.testing.assert_allclose(np.linalg.eigvalsh(moment), eigenvalues, atol=2e-15)
    assert eigenvalues[-1] <= 0.5


@pytest.mark.parametrize("theta", ANGLES)
def test_relu_kernel_by_polar_quadrature_and_by_the_matrix(theta):
    u, v = plane_pair(theta)
    expected = sector_quadrature(theta, lambda x: (u @ x) * (v @ x))
    assert relu_kernel(u, 3.0 * v) == pytest.approx(3.0 * float(expected), abs=2e-14)
    assert relu_kernel(u, v) == pytest.approx(u @ two_half_space_moment(u, v) @ v, abs=1e-15)


def test_moments_by_monte_carlo(rng):
    u, v = np.array([1.0, 0.0, 0.0]), np.array([0.6, 0.8, 0.0])
    x = rng.standard_normal((400_000, 3))
    both = x[(x @ u > 0) & (x @ v > 0)]
    np.testing.assert_allclose(both.T @ both / len(x), two_half_space_moment(u, v), atol=6e-3)
    half = x[x @ u > 0]
    np.testing.assert_allclose(half.T @ half / len(x), half_space_moment(3), atol=6e-3)


def test_uniform_sphere_rescales_the_moments(rng):
    d = 5
    x = rng.standard_normal((400_000, d))
    x /= np.linalg.norm(x, axis=1)[:, None]
    u, v = np.eye(d)[0], np.eye(d)[1] - 0.5 * np.eye(d)[0]
    both = x[(x @ u > 0) & (x @ v > 0)]
    np.testing.assert_allclose(both.T @ both / len(x), spherical_speed(d) * two_half_space_moment(u, v), atol=1.5e-3)
    assert spherical_speed(d, mean_squared_norm=d) == 1.0


def test_erratum_e7_full_rank_covariance_does_not_give_a_unique_minimum():
    dataset, teacher = flat_minimum(), np.array([1.0, 0.0])
    np.testing.assert_allclose(dataset.X.mean(axis=0), 0.0, atol=1e-16)
    assert np.linalg.matrix_rank(dataset.X.T @ dataset.X) == 2
    for s in (-0.5, -0.1, 0.3, 0.5):
        assert np.array_equal(np.maximum(dataset.X @ np.array([1.0, s]), 0.0), dataset.y)
    assert np.any(np.maximum(dataset.X @ np.array([1.0, 0.6]), 0.0) != dataset.y)
    assert active_curvature(dataset, teacher) == pytest.approx(0.0, abs=1e-16)
    symmetric = Dataset(np.vstack([dataset.X, -dataset.X]), np.zeros(6))
    assert active_curvature(symmetric, teacher) > 0.05


def test_refusals():
    with pytest.raises(InvalidInputError, match="must not be parallel"):
        two_half_space_moment([1.0, 0.0], [2.0, 0.0])
    with pytest.raises(InvalidInputError, match="other than 0"):
        relu_kernel([0.0, 0.0], [2.0, 0.0])
    with pytest.raises(InvalidInputError, match="`d` must be at least 1"):
        half_space_moment(0)
