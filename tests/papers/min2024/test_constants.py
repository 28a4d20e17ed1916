"""The constants of the proof: the deterministic case to its digits, and every constant a second way."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.min2024.cases import deterministic_problem, drawn_problem
from reluflow.data.dataset import Dataset
from reluflow.dynamics.problem import TrainingProblem
from reluflow.geometry.alignment import align
from reluflow.network import Network
from reluflow.papers.min2024.data import two_points
from reluflow.papers.min2024.theorems.constants import (
    data_constants,
    longest_path,
    longest_path_by_search,
    path_length,
    proof_constants,
    start_norms,
    travelled,
)
from reluflow.papers.min2024.theorems.shared_hypotheses import away_from_the_other_class
from reluflow.theory.evidence import Evidence


@pytest.fixture(scope="module")
def deterministic() -> Evidence:
    return Evidence(deterministic_problem(math.log(1e-6)))


def test_constants_of_the_deterministic_case(deterministic):
    data, constants = data_constants(deterministic), proof_constants(deterministic)
    assert data.mu == pytest.approx(0.766044, abs=5e-7)
    assert constants.zeta_1 == pytest.approx(0.821394, abs=5e-7)
    assert constants.zeta_2 == pytest.approx(0.25, abs=1e-12)
    assert constants.xi == pytest.approx(0.586824, abs=5e-7)
    assert constants.kappa == pytest.approx(0.25, abs=1e-12)
    assert constants.t_1 == pytest.approx(101.370, abs=5e-4)
    assert constants.t_1_sharp == pytest.approx(18.0562, abs=5e-5)
    assert constants.log_bound == pytest.approx(-1623.159, abs=5e-4)
    assert constants.horizon == pytest.approx(0.785816, abs=5e-7)
    assert constants.rate == pytest.approx(math.cos(math.radians(40.0)) ** 2 / 32.0, rel=1e-12)


def test_at_the_bound_the_certified_interval_ends_at_t_1():
    bound = proof_constants(Evidence(deterministic_problem(0.0))).log_bound
    constants = proof_constants(Evidence(deterministic_problem(bound)))
    assert constants.horizon == pytest.approx(constants.t_1, rel=1e-12)


def test_exact_alignment_times_of_the_deterministic_case():
    problem = deterministic_problem(0.0)
    forces = problem.loss.label_forces(problem.dataset.y)
    times = align(problem.dataset.X, forces, problem.network.w, problem.network.a).times
    expected = (0, 0, 0.711237, 0.326356, 0.611370, 0.950063, 0, 0, 0.472531, 0.201998, 0.361961, 0.759327)
    np.testing.assert_allclose(times, expected, atol=5e-7)


def test_constants_by_plain_loops(deterministic):
    X, y = deterministic.dataset.X, deterministic.dataset.y
    cosine = lambda u, v: float(u @ v) / math.sqrt(float(u @ u) * float(v @ v))  # noqa: E731
    mu = min(cosine(y[i] * X[i], y[k] * X[k]) for i in range(4) for k in range(4))
    plus, minus = X[0] + X[1], X[2] + X[3]
    cap = min(min(cosine(plus, y[i] * X[i]) ** 2, cosine(-minus, y[i] * X[i]) ** 2) for i in range(4))
    starts = [
        cosine(w, minus if a > 0 else plus)
        for w, a in zip(deterministic.network.w, deterministic.network.a, strict=True)
    ]
    constants = proof_constants(deterministic)
    assert data_constants(deterministic).mu == pytest.approx(mu, rel=1e-14)
    assert constants.zeta_1 == pytest.approx(cap, rel=1e-14)
    assert constants.zeta_2 == pytest.approx(1.0 - max(starts) ** 2, rel=1e-13)
    assert math.exp(constants.log_first) == pytest.approx(
        constants.kappa * math.sqrt(mu) / (8.0 * math.sqrt(12.0) * 4.0), rel=1e-12
    )


@given(own=st.integers(1, 9), other=st.integers(0, 9))
@settings(deadline=None, max_examples=40)
def test_the_maximal_path_is_the_longest(own, other):
    path = longest_path_by_search(own, other)
    assert travelled(path) == pytest.approx(path_length(own, other), rel=1e-12)
    assert path[-1] in ((own, 0), (0, 0))
    assert all(a[0] <= b[0] and a[1] >= b[1] and a != b for a, b in pairwise(path))


@pytest.mark.parametrize("n_plus", range(1, 13))
def test_the_harmonic_form_is_below_four_log_n(n_plus):
    """Also for n = 2, where the paper's intermediate inequality 2 H_n + 1/2 <= 4 log n is false (erratum E7)."""
    for n_minus in range(13):
        n = n_plus + n_minus
        if n >= 2:
            longest = max(path_length(n_plus, n_minus), path_length(n_minus, n_plus))
            assert longest <= 4.0 * math.log(n)
    assert 4.0 * math.log(2.0) < 2.0 * 1.5 + 0.5


def test_one_sample_needs_the_harmonic_form():
    """Erratum E7: 16 log 1 = 0, yet a negative neuron on a positive sample needs time to die."""
    problem = drawn_problem(Dataset([[1.0, 0.0]], [1.0]))
    constants = proof_constants(Evidence(problem))
    assert constants.t_1 == constants.t_1_harmonic > 0.0
    dying = align(problem.dataset.X, [1.0], [[1.0, 1.0]], [-math.sqrt(2.0)])
    assert 0.0 < dying.times[0] <= constants.t_1


def test_the_printed_order_hides_mu_to_the_minus_two():
    """Erratum E3: t_1 is of order mu^(-5/2), not mu^(-1/2); the sharper bound is mu^(-1/2) up to a logarithm."""
    network = Network(np.eye(2), [1.0, 1.0])
    mus, coarse, sharp = [], [], []
    for angle in (0.1, 0.01, 0.001):
        evidence = Evidence(TrainingProblem(two_points(angle), deterministic_problem(0.0).loss, network))
        constants = proof_constants(evidence)
        mus.append(data_constants(evidence).mu)
        coarse.append(constants.t_1)
        sharp.append(constants.t_1_sharp / math.log(4.0 / constants.kappa))
    slopes = [np.polyfit(np.log(mus), np.log(values), 1)[0] for values in (coarse, sharp)]
    assert slopes[0] == pytest.approx(-2.5, abs=1e-2)
    assert slopes[1] == pytest.approx(-0.5, abs=2e-2)


def test_crossing_time_of_two_points_is_logarithmic_in_mu():
    """A neuron at angle -phi reaches S_+ at log(tan(phi/2)/tan(t/2)) exactly."""
    for t, phi in ((0.1, 0.9), (0.001, 1.4)):
        w = np.array([[math.cos(phi), -math.sin(phi)]])
        times = align(two_points(t).X, [1.0, 1.0], w, [1.0]).times
        assert times[0] == pytest.approx(math.log(math.tan(phi / 2) / math.tan(t / 2)), rel=1e-12)


def test_assumption_2_names_a_neuron_along_the_other_class():
    problem = deterministic_problem(0.0)
    minus = problem.dataset.X[2:].sum(axis=0)
    along = Network([minus, [1.0, 0.3]], [np.linalg.norm(minus), -1.0])
    judged = away_from_the_other_class(Evidence(TrainingProblem(problem.dataset, problem.loss, along)))
    assert judged.holds is False
    assert away_from_the_other_class(Evidence(problem)).holds is True


def test_a_zero_neuron_is_no_smallest_start():
    network = Network([[0.0, 0.0], [3.0, 4.0]], [0.0, 5.0])
    problem = TrainingProblem(deterministic_problem(0.0).dataset, deterministic_problem(0.0).loss, network)
    assert start_norms(Evidence(problem)) == (5.0, 5.0)


def test_a_missing_class_voids_its_half():
    evidence = Evidence(drawn_problem("min-correlated"))
    data = data_constants(evidence)
    assert data.count(-1) == 0
    assert longest_path(data) == pytest.approx(1.5)  # a negative neuron active on both must lose both
    assert proof_constants(evidence).zeta_2 <= 1.0
