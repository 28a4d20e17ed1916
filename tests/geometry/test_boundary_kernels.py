"""The minimum-norm choice on several hyperplanes against a bounded least-squares solver."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from reluflow.geometry.boundary_kernels import minimum_norm


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
        strength, bound, D = low.copy(), np.full(count, -1), np.zeros(d)
        scratch = np.zeros(count + 1, np.int64), np.zeros(count + d), np.zeros((d + 1, d)), np.zeros((d + 1, d + 1))
        members = np.arange(count)
        assert minimum_norm(normals, base, members, count, low, high, strength, bound, 1e-12, D, *scratch)
        expected = lsq_linear(normals.T, -base, bounds=(low, high), method="bvls", tol=1e-14)
        assert np.allclose(D, base + normals.T @ expected.x, atol=1e-9)
        assert np.allclose(D, base + normals.T @ strength, atol=1e-12)
        assert np.all((strength >= low) & (strength <= high))
        at_bound += int(np.sum(bound != 0))
        inside += int(np.sum(bound == 0))
    assert min(at_bound, inside) > 50
