"""The best neuron under given forces, found without solving for most patterns."""

from __future__ import annotations

import numpy as np
import pytest

from reluflow.certificates.best_neuron import NeuronOracle
from reluflow.geometry.boundary import minimum_norm


@pytest.mark.parametrize("leak", [0.0, 0.2, 0.5, 1.0])
@pytest.mark.parametrize("max_patterns", [40_000, 0])
def test_best_neuron_is_the_best_of_all_patterns(leak, max_patterns):
    """Bounds from one pattern on another skip no pattern that has the largest gain."""
    rng = np.random.default_rng(17)
    num_gaining = 0
    for trial in range(60):
        d, n = int(rng.integers(1, 5)), int(rng.integers(1, 14))
        X = rng.standard_normal((n, d)) + (2.0 if trial % 3 == 0 else 0.0)  # wide, or near one ray
        forces = rng.standard_normal(n) * 10.0 ** rng.uniform(-3.0, 0.0, n)
        if trial % 5 == 0:
            forces = np.abs(forces) * rng.choice([1, -1])  # one side has no pulling sample
        linear = rng.standard_normal(d) if trial % 2 else None
        signs = [(1, -1), (1,), (-1,)][trial % 3]
        oracle = NeuronOracle(X, np.sign(forces), leak, signs=signs, max_patterns=max_patterns)
        all_gains, best = oracle.gains(forces, linear=linear), oracle.best(forces, linear=linear)
        size = 1e-12 * (1.0 + all_gains.upper)
        assert best.upper == pytest.approx(all_gains.upper, abs=size)
        assert best.value == pytest.approx(float(np.max(all_gains.values)), abs=size)
        assert np.linalg.norm(best.vector) == pytest.approx(best.value, abs=size)
        if best.value > 1e-9:
            num_gaining += 1
            u, heights = best.vector / best.value, X @ best.vector / best.value
            reached = np.maximum(heights, leak * heights) @ forces + (0.0 if linear is None else linear @ u)
            assert best.sign in signs
            assert best.sign * reached >= best.value * (1.0 - 1e-8)  # a searched pattern may not be that of D
            assert best.sign * reached <= best.upper * (1.0 + 1e-8)
    assert num_gaining > 30


def test_no_neuron_gains_where_pushing_samples_hold_every_pattern():
    """What rounding leaves of the gain is far below that of the sums."""
    X = np.array([[1.0, 0.0], [1.0, 0.2], [1.0, -0.2]])
    found = NeuronOracle(X, np.array([1.0, -1.0, -1.0]), 0.0, signs=(1,)).best(np.array([1.0, -5.0, -5.0]))
    assert found.value == pytest.approx(0.0, abs=1e-13)
    assert found.upper == pytest.approx(0.0, abs=1e-13)


def test_most_patterns_are_not_solved_for(monkeypatch):
    """On two clouds of four features less than a tenth of the patterns need a solution of their own."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 4)) + 2.0
    forces = np.where(np.arange(60) < 20, 1.0, -0.1) * np.abs(rng.standard_normal(60))
    solved = []
    plain = minimum_norm.minimise.py_func

    def counted(*arguments):
        solved.append(1)
        return plain(*arguments)

    monkeypatch.setattr(minimum_norm, "minimise", counted)
    oracle = NeuronOracle(X, np.sign(forces), 0.0, signs=(1,))
    slopes = oracle.sides[0].slopes
    assert len(slopes) > 1000
    bases, columns = oracle._zonotope(oracle.sides[0], forces, slopes, np.zeros(4))
    middle = np.linalg.norm(bases + 0.5 * columns.sum(axis=0), axis=1)
    found, vector = minimum_norm.longest_of_shortest.py_func(
        bases[np.argsort(-middle)], columns, 0.0, 1.0, oracle._tolerance(forces, np.zeros(4)), 0.0
    )
    assert found >= 0
    assert np.linalg.norm(vector) == pytest.approx(oracle.gains(forces).upper, rel=1e-9)
    assert len(solved) < len(slopes) / 10
