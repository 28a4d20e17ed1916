"""Constants of App. D.1: published-setting values, a second computation by scipy, and erratum E5."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import lsq_linear, nnls

from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.dynamics.problem import TrainingProblem
from reluflow.geometry.cones import activation_cones
from reluflow.geometry.thresholds import alignment_constants
from reluflow.losses import LogisticLoss, SquareLoss
from reluflow.network import Network
from reluflow.papers.boursier2024.theorems.alignment_regime import (
    constants_of,
    settling_time,
    tau_of,
)
from reluflow.papers.boursier2024.theorems.early_alignment import log_c_with_saddles
from reluflow.theory.evidence import Evidence


@pytest.fixture(scope="module")
def three_points():
    return alignment_constants(load("three-points"), SquareLoss())


def test_values_on_the_three_points(three_points):
    assert three_points.d_max == pytest.approx(0.7149689, abs=5e-8)
    assert three_points.d_min == pytest.approx(0.2687419, abs=5e-8)
    assert three_points.alpha_min_plus == pytest.approx(0.7286902, abs=5e-8)
    assert three_points.alpha_min_minus == 1.0
    assert three_points.delta_0 == pytest.approx(0.6294763, abs=5e-8)
    assert three_points.mean_square == pytest.approx(1.2760417, abs=5e-8)


def test_thresholds_on_the_three_points(three_points):
    assert three_points.lambda_base(1.0) == pytest.approx(0.01397869, abs=5e-9)
    assert three_points.lambda_base(0.1) == pytest.approx(5.26515e-4, abs=5e-10)
    stars = [math.exp(three_points.log_lambda_star(eps, 1.0)) for eps in (0.1, 0.25, 0.33)]
    assert stars[0] == pytest.approx(0.06933, abs=5e-6)
    assert stars[1] == pytest.approx(0.01398, abs=5e-6)
    assert stars[2] == pytest.approx(0.001874, abs=5e-7)
    assert math.exp(three_points.log_lambda_star(0.15, 1.0)) == pytest.approx(0.047, abs=5e-4)
    assert three_points.t2_bound(1.0) == pytest.approx(74.57, abs=5e-3)
    assert round(three_points.log_lambda_corrected(0.1, 1.0)) == -533
    assert round(three_points.log_lambda_corrected(0.25, 1.0)) == -213
    assert math.exp(three_points.log_c(1.0)) == pytest.approx(1.545e24, rel=5e-4)


def test_constants_37_and_40_from_their_formulas(three_points):
    """Eqs. (37) and (40) written out as the paper prints them."""
    D, d, S, alpha = three_points.d_max, three_points.d_min, three_points.mean_square, three_points.alpha_min
    last = math.sqrt(2 * D * S)
    middle = math.exp(math.sqrt(2 * S / (D * math.e**2)))
    for alpha_0 in (1.0, 0.5):
        least = min(alpha, alpha_0)
        c = 4 * D / least**2 * math.exp(4 * D**2 / (d**2 * least**2)) * middle + last
        assert three_points.log_c(alpha_0) == pytest.approx(math.log(c), rel=1e-13)
    c = D * math.exp(2 * D**2 / (d**2 * alpha**2)) * middle + last
    assert log_c_with_saddles(three_points) == pytest.approx(math.log(c), rel=1e-13)


def test_times_of_an_alignment_phase():
    """tau = -eps ln(lambda)/D_max; Theorem 3's bound on t_2 is half of Theorem 1's with alpha_0 = 1."""
    problem = TrainingProblem(load("three-points"), SquareLoss(), Network([[3.0, 4.0]], [1.0], log_scale=-20.0))
    evidence = Evidence(problem, parameters={"eps": 0.1, "alpha_0": 0.3})
    constants = constants_of(evidence)
    assert tau_of(evidence) == pytest.approx(0.1 * 20.0 / 0.7149689, rel=1e-6)
    assert settling_time(constants, evidence) == pytest.approx(4 * constants.d_max / (constants.d_min * 0.3) ** 2)
    wanted = 2 * constants.d_max / (constants.d_min * constants.alpha_min) ** 2
    assert settling_time(constants, evidence, saddles=True) == pytest.approx(wanted)


def _shortest(X, forces, u, leak):
    zeros = u == 0
    D = (np.where(u > 0, 1.0, leak) * forces * ~zeros) @ X
    if not np.any(zeros):
        return D, np.zeros(0)
    columns = (forces[zeros, None] * X[zeros]).T
    eta = lsq_linear(columns, -D, bounds=(leak, 1.0), method="bvls", tol=1e-15).x
    return D + columns @ eta, eta


def _largest_cosine(X, u, D):
    """max of cos(w, D) over the closed cone of u if positive, else 0: D projected on the cone, by its dual."""
    zeros = u == 0
    generators = np.vstack([-u[~zeros, None] * X[~zeros], X[zeros], -X[zeros]])  # of the polar cone
    weights, _ = nnls(generators.T, D, maxiter=1000)
    return float(np.linalg.norm(D - generators.T @ weights) / np.linalg.norm(D))


def _by_scipy(dataset, loss, leak, *, printed_25=False):
    """D_max, D_min, delta_0, alpha_min,+, alpha_min,- by bounded least squares and projections, cone by cone."""
    X, forces = dataset.X, loss.label_forces(dataset.y)
    lengths = np.linalg.norm(X, axis=1)
    speeds, delta, plus, minus = [], [np.inf], [0.0], [0.0]
    for u in activation_cones(X).patterns:
        D, eta = _shortest(X, forces, u, leak)
        speed = np.linalg.norm(D)
        if speed < 1e-9:
            continue
        speeds.append(speed)
        products = X @ D
        signs = np.where(np.abs(products) < 1e-9 * speed * lengths, 0, np.sign(products))
        is_own, is_opposite = np.array_equal(signs, u), np.array_equal(signs, -u)
        if is_own or is_opposite:
            zeros = u == 0
            delta.append(np.min(np.abs(products[~zeros]) / lengths[~zeros]))
            if np.any(zeros):
                singular = np.linalg.svd(forces[zeros, None] * X[zeros], compute_uv=False)[-1]
                delta.append(singular * np.min(np.minimum(eta - leak, 1.0 - eta)))
        if not is_own:
            plus.append(_largest_cosine(X, u, D))
        if not (is_own if printed_25 else is_opposite):
            minus.append(_largest_cosine(X, u, -D))
    sines = [math.sqrt(max(1.0 - max(cosines) ** 2, 0.0)) for cosines in (plus, minus)]
    return max(speeds), min(speeds), min(delta), *sines


@pytest.mark.parametrize("leak", [0.0, 0.3])
@pytest.mark.parametrize(("seed", "n", "d"), [(0, 3, 2), (1, 4, 2), (2, 3, 3), (3, 4, 3), (4, 2, 4)])
def test_constants_agree_with_projections_cone_by_cone(seed, n, d, leak):
    rng = np.random.default_rng(seed)
    dataset = Dataset(rng.standard_normal((n, d)), rng.standard_normal(n))
    found = alignment_constants(dataset, SquareLoss(), leak=leak)
    wanted = _by_scipy(dataset, SquareLoss(), leak)
    ours = (found.d_max, found.d_min, found.delta_0, found.alpha_min_plus, found.alpha_min_minus)
    assert ours == pytest.approx(wanted, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("name", ["phuong-toy", "min-toy", "lyu-counterexample"])
def test_erratum_e5_alpha_min_minus_as_printed_is_zero(name):
    """With the constraint of Eq. (24) repeated in Eq. (25), cones that hold -D_u count, and the sine there is 0."""
    dataset = load(name)
    assert np.any(dataset.y < 0)
    printed = _by_scipy(dataset, LogisticLoss(), 0.0, printed_25=True)[-1]
    corrected = _by_scipy(dataset, LogisticLoss(), 0.0)[-1]
    assert printed < 1e-7
    assert corrected > 0.1
    assert alignment_constants(dataset, LogisticLoss()).alpha_min_minus == pytest.approx(corrected, rel=1e-7)


def test_largest_pull_is_in_an_open_cone():
    """D_max is attained on cones of full dimension: lower ones only shorten."""
    dataset = load("random-labels:n=5,d=3", seed=0)
    forces = SquareLoss().label_forces(dataset.y)
    cones = activation_cones(dataset.X, open_only=True)
    largest = max(np.linalg.norm(_shortest(dataset.X, forces, u, 0.0)[0]) for u in cones.patterns)
    assert alignment_constants(dataset, SquareLoss()).d_max == pytest.approx(largest, rel=1e-12)
