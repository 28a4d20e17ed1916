"""The shortest point of a box image against a bounded least-squares solver and its optimality conditions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from reluflow.geometry.boundary.minimum_norm import box_minimum_norm, make_workspace, minimise, shortest_over_bases


@pytest.mark.parametrize("rank", [1, 2, 3, 5])
def test_minimum_norm_agrees_with_bounded_least_squares(rank):
    rng = np.random.default_rng(rank)
    at_bound = inside = 0
    for _ in range(150):
        d, count = 5, int(rng.integers(1, 8))
        normals = rng.normal(size=(count, rank)) @ rng.normal(size=(rank, d))  # dependent when count > rank
        normals /= np.linalg.norm(normals, axis=1)[:, None]
        base, low = rng.normal(size=d), rng.normal(size=count)
        high = low + rng.uniform(0.1, 3.0, count)
        workspace = make_workspace(count, d)
        workspace.rows[:], workspace.lower[:], workspace.upper[:] = normals, low, high
        assert minimise(base, count, 1e-12, workspace)
        D, strength, ends = workspace.pull, workspace.strengths, workspace.ends
        expected = lsq_linear(normals.T, -base, bounds=(low, high), method="bvls", tol=1e-14)
        assert np.allclose(D, base + normals.T @ expected.x, atol=1e-9)
        assert np.allclose(D, base + normals.T @ strength, atol=1e-12)
        assert np.all((strength >= low) & (strength <= high))
        at_bound += int(np.sum(ends != 0))
        inside += int(np.sum(ends == 0))
    assert min(at_bound, inside) > 50


def test_meets_the_optimality_conditions():
    rng = np.random.default_rng(22)
    for _ in range(200):
        k, r = int(rng.integers(1, 12)), int(rng.integers(1, 6))
        base, rows = rng.standard_normal(r) * 3, rng.standard_normal((k, r))
        lower = rng.standard_normal(k)
        upper = lower + rng.choice([0.0, 1.0, np.inf], k)
        D, z = box_minimum_norm(base, rows, lower, upper, 1e-14)
        np.testing.assert_allclose(base + z @ rows, D, atol=1e-12)
        slopes = rows @ D
        assert np.all((z >= lower) & (z <= upper))
        assert np.all(slopes[z < upper] >= -1e-9)
        assert np.all(slopes[z > lower] <= 1e-9)


def test_rows_of_any_length_are_treated_alike():
    """A row shorter by 1e-9 counts as much as the others as long as its interval is longer by as much."""
    rng = np.random.default_rng(4)
    base, rows = rng.normal(size=4), rng.normal(size=(3, 4))
    lower, upper = -rng.uniform(0.1, 1.0, 3), rng.uniform(0.1, 1.0, 3)
    expected, z = box_minimum_norm(base, rows, lower, upper, 1e-12)
    scale = np.array([1.0, 1e-9, 1e6])
    D, small = box_minimum_norm(base, rows * scale[:, None], lower / scale, upper / scale, 1e-12)
    assert np.allclose(D, expected, atol=1e-12)
    assert np.allclose(small * scale, z, atol=1e-12)


def test_many_bases_are_solved_one_by_one():
    rng = np.random.default_rng(5)
    bases, rows = rng.normal(size=(20, 3)), rng.normal(size=(6, 3))
    found = shortest_over_bases(bases, rows, 0.2, 1.0, 1e-12)
    for base, vector in zip(bases, found, strict=True):
        assert np.array_equal(vector, box_minimum_norm(base, rows, np.full(6, 0.2), np.ones(6), 1e-12)[0])
