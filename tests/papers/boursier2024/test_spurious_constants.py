"""Constants of Appendix F: the published numbers, and every minimum found a second way."""

from __future__ import annotations

import numpy as np
import pytest

from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.errors import InvalidInputError
from reluflow.losses import SquareLoss
from reluflow.papers.boursier2024.assumptions import facet_condition
from reluflow.papers.boursier2024.theorems.spurious_constants import (
    active_probability,
    mixed_descent_rate,
    spurious_constants,
)
from reluflow.theory.facts import DatasetFacts


def _facts(spec):
    return DatasetFacts(load(spec), SquareLoss())


def _circle(num=720_001):
    angles = np.linspace(0.0, 2 * np.pi, num)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def test_numbers_of_the_three_points():
    constants = spurious_constants(_facts("three-points"))
    np.testing.assert_allclose(constants.beta_star, [-0.0615385, 0.6435897], atol=5e-8)
    assert constants.beta_norm == pytest.approx(0.6465251, abs=5e-8)
    np.testing.assert_allclose(constants.residuals, [0.4102564, -0.5743590, 0.1641026], atol=5e-8)
    assert constants.loss_star == pytest.approx(0.08752137, abs=5e-9)
    np.testing.assert_allclose([constants.sigma_min, constants.sigma_max], [0.116817, 1.159225], atol=5e-7)
    assert constants.kappa == pytest.approx(3.150, abs=5e-4)
    assert constants.pl_constant == pytest.approx(0.0755248, abs=5e-8)
    assert constants.d_bar(np.linalg.norm([1.1, 0.1, 0.8])) == pytest.approx(0.8894638, abs=5e-8)
    assert constants.alpha_49 == pytest.approx(0.3000, abs=5e-5)
    assert constants.alpha_4 == pytest.approx(0.0555556, abs=5e-8)
    np.testing.assert_allclose(constants.pull_at_zero, [-0.2583333, 0.6666667], atol=5e-8)
    assert constants.mean_square == pytest.approx(1.2760417, abs=5e-8)


def test_assumption_5_fails_on_the_papers_own_points():
    facts = _facts("three-points")
    gaps = 3 * spurious_constants(facts).facet_gaps
    np.testing.assert_allclose(gaps, [1.719 - 2.246, 0.8125 - 1.778], atol=1e-3)
    assert gaps.min() == pytest.approx(facet_condition(facts).margin)


@pytest.mark.parametrize("spec", ["three-points", "three-point-box-worst:eta=0.09", "stewart-digitised"])
def test_eq_49_is_the_minimum_over_the_active_cone(spec):
    facts = _facts(spec)
    w = _circle()
    products = w @ facts.dataset.X.T
    active = w[np.all(products >= 0.0, axis=1)]
    grid = float(np.min(active @ facts.dataset.X.mean(axis=0)))
    assert spurious_constants(facts).alpha_49 == pytest.approx(grid, abs=2e-5)


@pytest.mark.parametrize("spec", ["three-points", "three-point-box-worst:eta=0.09", "three-point-box:eta=0.05"])
def test_eqs_51_and_52_have_closed_forms_for_three_points(spec):
    facts = _facts(spec)
    constants = spurious_constants(facts)
    outer = constants.facets
    rho, lengths = constants.residuals[outer], constants.lengths[outer]
    assert constants.alpha_4 == pytest.approx(np.min(rho * lengths**2) / 3)
    for delta in (0.01, 0.05):
        assert mixed_descent_rate(facts, delta) == pytest.approx(delta / 3 * np.min(rho * lengths))


@pytest.mark.parametrize("delta", [0.02, 0.3])
def test_eq_52_is_the_minimum_over_neurons_across_the_data(delta):
    """On many samples the minimum sits anywhere on an arc; a fine grid finds the same."""
    facts = _facts("stewart-digitised")
    X = facts.dataset.X
    w = _circle(100_001)
    cosines = w @ (X / facts.norms[:, None]).T
    at_facets = cosines[:, facts.active_facets]
    across = np.any(at_facets >= delta, axis=1) & np.any(at_facets <= -delta, axis=1)
    rho = facts.dataset.y - X @ facts.least_squares
    potential = np.maximum(w[across] @ X.T, 0.0) @ rho / len(X)
    assert mixed_descent_rate(facts, delta) == pytest.approx(potential.min(), abs=1e-4)


def test_probability_of_a_positive_active_neuron():
    facts = _facts("three-points")
    assert active_probability(facts) == pytest.approx(0.311, abs=5e-4)
    assert active_probability(facts) == pytest.approx(0.5 * (1 - 136.005 / 360), abs=1e-6)
    w = np.random.default_rng(0).standard_normal((200_000, 2))
    active = np.mean(np.any(w @ facts.dataset.X.T > 0, axis=1))
    assert active_probability(facts) == pytest.approx(active / 2, abs=2e-3)


def test_refusals_name_the_way_out():
    flat = DatasetFacts(Dataset([[1.0, 1.0], [2.0, 2.0]], [1.0, 1.0]), SquareLoss())
    with pytest.raises(InvalidInputError, match="full rank 2"):
        spurious_constants(flat)
    space = DatasetFacts(load("orthogonal-triple"), SquareLoss())
    with pytest.raises(InvalidInputError, match="plane"):
        mixed_descent_rate(space, 0.1)
    with pytest.raises(InvalidInputError, match="plane"):
        active_probability(space)
    with pytest.raises(InvalidInputError, match="`delta`"):
        mixed_descent_rate(_facts("three-points"), 1.5)
