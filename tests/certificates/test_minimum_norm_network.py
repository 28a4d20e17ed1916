"""The least norm of an interpolation: closed forms, brute force, symmetries, forgeries, and what certify says of it."""

import numpy as np
import pytest
from scipy.optimize import linprog

from reluflow.certificates.best_neuron import NeuronOracle
from reluflow.certificates.certify import certify
from reluflow.certificates.minimum_norm_network import minimum_norm_network, network_norm
from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError
from reluflow.losses import SquareLoss
from reluflow.network.network import Network


def check(result, dataset, leak=0.0, misfit=0.0):
    """What the bracket claims, recomputed from its network and its multipliers alone."""
    missed = np.linalg.norm(result.network.outputs(dataset.X) - dataset.y)
    assert missed <= misfit + 1e-12 * max(1.0, np.linalg.norm(dataset.y))
    assert network_norm(result.network) == pytest.approx(result.norm, rel=1e-12)
    nu = result.multipliers
    assert result.lower == pytest.approx(nu @ dataset.y - misfit * np.linalg.norm(nu), rel=1e-12)
    assert result.lower <= result.norm * (1 + 1e-12)
    assert NeuronOracle(dataset.X, np.sign(nu), leak).gains(nu).upper <= 1 + 1e-9
    u = np.random.default_rng(0).standard_normal((5000, dataset.d))
    z = u @ dataset.X.T
    gains = np.abs(np.maximum(z, leak * z) @ nu) / np.linalg.norm(u, axis=1)
    assert gains.max() <= 1 + 1e-9


@pytest.mark.parametrize(("n", "d", "seed"), [(1, 1, 0), (3, 3, 1), (4, 6, 2), (6, 6, 3), (8, 8, 4)])
def test_orthogonal_inputs(n, d, seed):
    rng = np.random.default_rng(seed)
    lengths = rng.uniform(0.5, 2.0, n)
    X = np.linalg.qr(rng.standard_normal((d, d)))[0][:n] * lengths[:, None]
    dataset = Dataset(X, rng.standard_normal(n))
    z = dataset.y / lengths
    expected = np.linalg.norm(z[z > 0]) + np.linalg.norm(z[z < 0])
    result = minimum_norm_network(dataset)
    assert result.norm == pytest.approx(expected, rel=1e-8)
    assert result.lower == pytest.approx(expected, rel=1e-8)
    assert result.is_exact
    check(result, dataset)


@pytest.mark.parametrize("leak", [0.0, 0.2, 0.7, 1.0])
def test_in_the_plane_against_a_linear_program_over_many_directions(leak):
    """An independent upper bound: neurons on a fine grid of directions; finer grids only come down to the optimum."""
    rng = np.random.default_rng(7)
    dataset = Dataset(rng.standard_normal((2 if leak == 1.0 else 5, 2)), rng.standard_normal(2 if leak == 1.0 else 5))
    result = minimum_norm_network(dataset, leak)
    check(result, dataset, leak)
    assert result.gap <= 1e-9
    walls = np.arctan2(dataset.X[:, 1], dataset.X[:, 0]) + 0.5 * np.pi  # the best neurons often stand on a boundary
    angles = np.concatenate([np.linspace(0.0, 2 * np.pi, 4001)[:-1], walls, walls + np.pi])
    z = np.column_stack([np.cos(angles), np.sin(angles)]) @ dataset.X.T
    features = np.maximum(z, leak * z).T
    program = linprog(np.ones(2 * len(angles)), A_eq=np.hstack([features, -features]), b_eq=dataset.y, bounds=(0, None))
    assert result.norm <= program.fun * (1 + 1e-9)
    assert program.fun == pytest.approx(result.norm, rel=1e-5)


def test_scaling_of_samples_and_labels():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((6, 3)), rng.standard_normal(6)
    norm = minimum_norm_network(Dataset(X, y)).norm
    assert minimum_norm_network(Dataset(1e4 * X, y)).norm == pytest.approx(1e-4 * norm, rel=1e-8)
    assert minimum_norm_network(Dataset(X, -1e-3 * y)).norm == pytest.approx(1e-3 * norm, rel=1e-8)


def test_thirty_samples_in_three_dimensions_take_few_programs():
    """Columns enter where the dual gains most: of 872 patterns four programs see those it needs."""
    rng = np.random.default_rng(0)
    dataset = Dataset(rng.standard_normal((30, 3)), rng.standard_normal(30))
    result = minimum_norm_network(dataset)
    assert result.is_exact
    assert result.rounds <= 8
    assert result.gap <= 1e-8
    check(result, dataset)


def test_a_misfit_allowed_lowers_the_norm_to_the_closed_form():
    """One sample: the label may be missed by m, so the norm is (y - m)/|x|."""
    result = minimum_norm_network(Dataset([[3.0, 4.0]], [2.0]), misfit=0.5)
    assert result.norm == pytest.approx(0.3, rel=1e-7)
    assert result.lower == pytest.approx(0.3, rel=1e-7)
    assert minimum_norm_network(Dataset([[3.0, 4.0]], [2.0]), misfit=2.5).norm == 0.0
    rng = np.random.default_rng(1)
    dataset = Dataset(rng.standard_normal((6, 2)), rng.standard_normal(6))
    loose = minimum_norm_network(dataset, misfit=0.3)
    check(loose, dataset, misfit=0.3)
    assert loose.norm < minimum_norm_network(dataset).norm


def test_labels_that_no_network_fits_get_their_certificate():
    """Two samples on one ray with labels that are not in proportion."""
    dataset = Dataset([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]], [1.0, 3.0, 0.0])
    result = minimum_norm_network(dataset)
    assert not result.can_fit
    nu = result.multipliers
    z = np.random.default_rng(0).standard_normal((1000, 2)) @ dataset.X.T
    assert np.max(np.abs(np.maximum(z, 0.0) @ nu)) < 1e-9
    assert nu @ dataset.y > 0.05


def test_forged_multipliers_prove_nothing():
    """Multipliers scaled up, or one of them changed, let a neuron gain more than its length: the oracle says so."""
    rng = np.random.default_rng(5)
    dataset = Dataset(rng.standard_normal((5, 2)), rng.standard_normal(5))
    nu = minimum_norm_network(dataset).multipliers
    for forged in (1.001 * nu, nu + 0.1 * np.linalg.norm(nu) * np.eye(5)[0] * np.sign(dataset.y[0])):
        assert NeuronOracle(dataset.X, np.sign(forged), 0.0).gains(forged).upper > 1 + 1e-4


def test_search_gives_a_valid_bound_where_patterns_are_not_enumerated():
    rng = np.random.default_rng(2)
    dataset = Dataset(rng.standard_normal((8, 3)), rng.standard_normal(8))
    exact = minimum_norm_network(dataset)
    searched = minimum_norm_network(dataset, max_patterns=3)
    assert not searched.is_exact
    assert searched.lower <= exact.norm * (1 + 1e-9)
    assert searched.norm >= exact.lower * (1 - 1e-9)


def test_certify_says_how_far_above_the_minimum_a_fit_is():
    dataset = Dataset(np.eye(2), [3.0, 4.0])
    best = Network([[3.0, 4.0]], [1.0])
    found = certify(best, dataset, SquareLoss(), with_norm=True)
    assert found.minimum_norm == pytest.approx(5.0, rel=1e-8)
    assert found.residuals["norm_above_minimum"] == pytest.approx(0.0, abs=1e-8)
    two = certify(Network(np.eye(2), [3.0, 4.0]), dataset, SquareLoss(), with_norm=True)
    assert two.residuals["norm_above_minimum"] == pytest.approx(0.4, rel=1e-8)
    assert "40.000% above" in " ".join(two.reasons)
    assert np.isnan(certify(best, dataset, SquareLoss()).minimum_norm)
    missed = certify(Network([[3.0, 3.0]], [1.0]), dataset, SquareLoss(), with_norm=True)
    assert np.isnan(missed.minimum_norm)


def test_refusals():
    with pytest.raises(InvalidInputError, match="`misfit` must be finite and not negative, got -1"):
        minimum_norm_network(Dataset([[1.0]], [1.0]), misfit=-1.0)
    assert minimum_norm_network(Dataset([[1.0]], [0.0])).norm == 0.0


@pytest.mark.slow
def test_samples_that_nearly_coincide_are_fitted_all_the_same():
    """A cone program without a fit counted as closed, inf - lower <= tol * inf, and the call was refused as bad input.

    Two classes of scikit-learn's iris are such a set: petals of 1.4 cm that differ in the last digit of a sepal.
    """
    rng = np.random.default_rng(3)
    setosa = rng.normal([5.0, 3.4, 1.5, 0.2], [0.3, 0.4, 0.2, 0.1], (50, 4))
    versicolor = rng.normal([5.9, 2.8, 4.3, 1.3], [0.5, 0.3, 0.5, 0.2], (50, 4))
    X, first = np.unique(np.round(np.vstack([setosa, versicolor]), 1), axis=0, return_index=True)
    dataset = Dataset(X, np.where(first < 50, 1.0, -1.0))
    result = minimum_norm_network(dataset, max_seconds=6.0)
    assert result.can_fit
    assert result.misfit <= 1e-8
    assert result.lower <= result.norm


def test_a_bracket_cut_short_is_a_bracket():
    rng = np.random.default_rng(5)
    dataset = Dataset(rng.standard_normal((12, 3)), rng.standard_normal(12))
    whole = minimum_norm_network(dataset)
    cut = minimum_norm_network(dataset, max_rounds=1)
    assert whole.why == ""
    assert cut.lower <= whole.lower * (1 + 1e-9)
    assert whole.norm <= cut.norm * (1 + 1e-9)
    assert cut.why.startswith("1 cone programs were solved") or cut.why == ""


def test_too_many_samples_get_a_lower_bound_alone():
    """Four times 20,000 directions took all the memory there was."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((2100, 3))
    dataset = Dataset(X, np.sign(X[:, 0]))
    result = minimum_norm_network(dataset)
    assert result.can_fit is None
    assert 0.0 < result.lower < np.inf
    assert "no fit is sought of 2,100 samples" in result.why
    u = rng.standard_normal((3000, 3))
    gains = np.abs(np.maximum(u @ X.T, 0.0) @ result.multipliers) / np.linalg.norm(u, axis=1)
    assert gains.max() <= 1.0 + 1e-9
    assert result.multipliers @ dataset.y == pytest.approx(result.lower)
