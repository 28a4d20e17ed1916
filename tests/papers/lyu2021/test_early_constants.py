"""The constants of Appendix G by independent ways: all corners of the box, cones of generators, long random walks."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.dynamics.problem import TrainingProblem
from reluflow.errors import InvalidInputError
from reluflow.losses import SquareLoss
from reluflow.papers.lyu2021.theorems.early_constants import (
    CorrectCone,
    alignment_constants,
    constants_of,
    correct_cone,
    idealised_state,
    idealised_time,
)
from reluflow.theory.check import example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.registry import theorem_named

LEMMA_G_2 = theorem_named("lyu2021:lemmaG.2")

NAMES = ["lyu-hinted", "lyu-counterexample", "lyu-counterexample-sharp"]


def _evidence(name, seed=0):
    return Evidence(example_problem(LEMMA_G_2, name, seed=seed))


def _corners(cone, leak):
    return np.array(list(product([leak, 1.0], repeat=len(cone.rows))))


@pytest.mark.parametrize("name", NAMES)
def test_delta_over_all_corners_of_the_box(name):
    cone = correct_cone(_evidence(name))
    vectors = _corners(cone, cone.leak) @ cone.rows
    brute = np.min((vectors @ cone.rows.T) / np.linalg.norm(vectors, axis=1)[:, None])
    assert cone.delta == pytest.approx(brute, rel=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 3), st.floats(0.05, 0.95))
def test_delta_on_random_data(seed, d, leak):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((5, d)) + 1.0, np.where(rng.random(5) < 0.5, -1.0, 1.0)
    cone = CorrectCone.of(X, y, leak)
    vectors = _corners(cone, leak) @ cone.rows
    brute = np.min((vectors @ cone.rows.T) / np.linalg.norm(vectors, axis=1)[:, None])
    if brute > 1e-3:  # where positive the ratio is quasi-concave; elsewhere only its sign is meant
        assert cone.delta == pytest.approx(brute, rel=1e-9)
    elif brute < -1e-9:
        assert cone.delta < 0.0


@pytest.mark.parametrize("name", NAMES)
def test_eps_1_is_the_last_one_inside(name):
    """Corners of the box [leak (1 - eps), 1 + eps] classify by 2 delta/3 at eps_1 and not beyond, where eps_1 < 1."""
    cone = correct_cone(_evidence(name))

    def smallest(eps):
        box = np.array(list(product([cone.leak * (1.0 - eps), 1.0 + eps], repeat=len(cone.rows))))
        vectors = box @ cone.rows
        return np.min((vectors @ cone.rows.T) / np.maximum(np.linalg.norm(vectors, axis=1), 1e-300)[:, None])

    assert smallest(cone.eps_1 * (1.0 - 1e-9)) >= 2.0 / 3.0 * cone.delta * (1.0 - 1e-9)
    if cone.eps_1 < 1.0 - 1e-6:
        assert smallest(cone.eps_1 + 1e-3) < 2.0 / 3.0 * cone.delta


@pytest.mark.parametrize("name", NAMES)
def test_h_min_against_random_elements_of_the_box(name):
    cone = correct_cone(_evidence(name))
    eps = 0.5 * min(cone.eps_1, 0.5)
    h_min, rng = cone.shortest_pull(eps), np.random.default_rng(0)
    box = rng.uniform(cone.leak * (1.0 - eps), 1.0 + eps, (20_000, len(cone.rows)))
    box[:5000] = np.where(rng.random((5000, len(cone.rows))) < 0.8, cone.leak * (1.0 - eps), box[:5000])
    lengths = np.linalg.norm(box @ cone.rows, axis=1) / (2.0 * len(cone.rows))
    assert h_min <= lengths.min() + 1e-12
    assert lengths.min() < 1.6 * h_min


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", NAMES)
def test_eps_2_keeps_the_neurons_off_the_perturbed_rays(name, seed):
    """Distance to the cone over all corners of [1 - eps, 1 + eps]^n z_i^+-, by non-negative least squares."""
    evidence = _evidence(name, seed)
    cone, constants = correct_cone(evidence), constants_of(evidence)
    corners = np.array(list(product([1.0 - constants.eps_2, 1.0 + constants.eps_2], repeat=len(cone.rows))))
    for w, a in zip(evidence.network.w, evidence.network.a, strict=True):
        generators = corners @ cone.seen(-np.sign(a))
        _, distance = nnls(generators.T, -np.sign(a) * w)
        assert distance >= 0.5 * constants.ray_distance * (1.0 - 1e-9)


def test_distance_of_the_two_cones():
    """d-bar' >= (delta/6)/(1 + 2 delta/3): no unit vector outside C_(delta/2) is closer to C_(2 delta/3)."""
    cone = correct_cone(_evidence("lyu-counterexample-sharp"))
    angles = np.linspace(0.0, 2.0 * np.pi, 4_001)
    units = np.column_stack([np.cos(angles), np.sin(angles)])
    depths = (units @ cone.rows.T).min(axis=1)
    outside, inside = units[depths < 0.5 * cone.delta], units[depths >= 2.0 / 3.0 * cone.delta]
    cosines = outside @ inside.T
    nearest = np.sqrt(np.maximum(1.0 - np.maximum(cosines.max(axis=1), 0.0) ** 2, 0.0)).min()
    assert nearest >= cone.delta / 6.0 / (1.0 + 2.0 * cone.delta / 3.0)


def test_rescaling_the_samples_rescales_times_and_scales():
    """f_theta(c x) = f_(sqrt c theta)(x): T0 is divided by c and sigma_max by sqrt c."""
    evidence = _evidence("lyu-counterexample-sharp")
    data, network = evidence.dataset, evidence.network
    one = alignment_constants(CorrectCone.of(data.X, data.y, 0.5), network)
    two = alignment_constants(CorrectCone.of(3.0 * data.X, data.y, 0.5), network)
    assert two.time == pytest.approx(one.time / 3.0, rel=1e-9)
    assert two.log_scale == pytest.approx(one.log_scale - 0.5 * np.log(3.0), rel=1e-12)


def test_idealised_time_is_the_time_of_entry():
    evidence = _evidence("lyu-hinted")
    cone = correct_cone(evidence)
    time = idealised_time(evidence, 0.5 * cone.delta)
    for factor, is_inside in ((0.998, False), (1.0, True), (3.0, True)):
        state = idealised_state(evidence, factor * time)
        assert (cone.depths(state.w, state.a).min() >= 0.5 * cone.delta) is np.bool_(is_inside)


def test_a_neuron_on_the_excluded_ray_never_enters():
    evidence = _evidence("lyu-counterexample-sharp")
    cone = correct_cone(evidence)
    w = -cone.mean(-1.0)
    stuck = Evidence(
        type(evidence.problem)(
            evidence.dataset, evidence.loss, evidence.network.replace(w=w[None], a=[np.linalg.norm(w)], weight=[1.0])
        )
    )
    assert constants_of(stuck).ray_distance == pytest.approx(0.0, abs=1e-15)
    assert constants_of(stuck).log_scale == -np.inf
    assert idealised_time(stuck, 0.5 * cone.delta) == np.inf


def test_labels_must_be_signs():
    evidence = Evidence(example_problem(LEMMA_G_2, load("lyu-hinted")))
    regression = Dataset(evidence.dataset.X, np.arange(7.0))
    with pytest.raises(InvalidInputError, match="labels -1 and 1"):
        correct_cone(Evidence(TrainingProblem(regression, SquareLoss(), evidence.network)))
