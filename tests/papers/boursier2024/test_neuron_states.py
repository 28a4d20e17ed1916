"""What the alignment results read off a network: scale, patterns, pulls, gaps, conditions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reluflow.data.registry import load
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.stopping import AtTime
from reluflow.dynamics.train import train
from reluflow.losses import SquareLoss
from reluflow.network import Network, balanced_initialization, dominated_initialization
from reluflow.papers.boursier2024.theorems import neuron_states
from reluflow.papers.boursier2024.theorems.neuron_states import (
    NeuronStates,
    log_lambda,
    pulls_of,
    satisfies_condition_1,
    satisfies_condition_2,
)


def _states(network, name="three-points"):
    problem = TrainingProblem(load(name), SquareLoss(), network)
    return NeuronStates(problem, 0.0, network, network.outputs(problem.dataset.X))


def test_scale_of_the_ball_initialisation_is_lambda(rng):
    """a_j = +-lambda/sqrt(m): Eq. (5) is an equality."""
    network = dominated_initialization(load("three-points"), width=50, scale="1e-400", rng=rng)
    assert log_lambda(network) == pytest.approx(-400.0 * np.log(10.0), rel=1e-12)


def test_scale_of_the_gaussian_initialisation_is_larger_by_root_two(rng):
    """E|w|^2 = 2 in the plane, so the published experiment has lambda = sqrt(2) 1e-3 in the sense of Eq. (5)."""
    network = balanced_initialization(load("three-points"), width=40_000, scale=1e-3, rng=rng)
    assert np.exp(log_lambda(network)) == pytest.approx(np.sqrt(2.0) * 1e-3, rel=0.02)


@given(seed=st.integers(0, 1000), leak=st.sampled_from([0.0, 0.4]))
def test_alignment_of_positive_neurons_is_the_potential(seed, leak):
    """<w/a, D(w, 0)> a = c sum_k r_k s(<w, x_k>), whatever D does on boundaries."""
    data, rng = load("three-points"), np.random.default_rng(seed)
    network = Network(rng.standard_normal((6, 2)), rng.choice([-2.0, 2.0], 6), leak=leak)
    states = _states(network)
    heights = network.pre_activations(data.X)
    potential = np.maximum(heights, leak * heights) @ SquareLoss().label_forces(data.y)
    assert states.alignments * network.a == pytest.approx(potential, abs=1e-14)


@pytest.mark.parametrize("angle", [1e-1, 1e-4, 1e-7, 1e-10])
def test_small_gaps_keep_their_digits(angle):
    """|D| - <w/a, D> = |D| (1 - cos) for a balanced neuron, also where 1 - cos is below the spacing of doubles."""
    D = np.array([-0.775, 2.0]) / 3.0
    turned = np.arctan2(D[1], D[0]) + angle
    w = np.array([[np.cos(turned), np.sin(turned)]])
    gap = _states(Network(w, np.linalg.norm(w, axis=1))).gaps[0]
    assert gap == pytest.approx(np.linalg.norm(D) * 2 * np.sin(angle / 2) ** 2, rel=1e-5)


def test_gap_of_a_dominated_neuron_counts_its_length():
    D = np.array([-0.775, 2.0]) / 3.0
    gap = _states(Network(D[None] / np.linalg.norm(D), [4.0])).gaps[0]
    assert gap == pytest.approx(0.75 * np.linalg.norm(D), rel=1e-14)


def test_on_a_boundary_the_shortest_pull_counts():
    """A neuron exactly on the hyperplane of the second sample: D is orthogonal to it or an end of its interval."""
    data = load("three-points")
    w = np.array([[data.X[1, 1], -data.X[1, 0]]])
    states = _states(Network(w, [2.0]))
    assert states.patterns[0, 1] == 0
    forces = SquareLoss().label_forces(data.y)
    candidates = [pulls_of(np.where(states.patterns == 0, s, states.patterns), data.X, forces, 0.0)[0] for s in (-1, 1)]
    assert np.linalg.norm(states.pulls[0]) <= min(np.linalg.norm(c) for c in candidates) + 1e-15


def test_patterns_of_neurons_far_below_the_others():
    """Neurons of size 1e-200 beside ordinary ones, sliding ones included, keep their patterns: squares would vanish."""
    data, rng = load("three-points"), np.random.default_rng(0)
    w = np.vstack([rng.standard_normal((5, 2)), [[data.X[0, 1], -data.X[0, 0]]]])
    large, small = _states(Network(w, np.ones(6))), _states(Network(1e-200 * w, np.full(6, 1e-200)))
    assert np.any(large.patterns == 0)
    assert np.array_equal(large.patterns, small.patterns)
    assert np.allclose(large.gaps, small.gaps, rtol=1e-12)


def test_closed_form_of_small_neurons_is_the_run_itself(monkeypatch):
    """With every neuron declared too small for doubles, the closed form gives what the run recorded."""
    data = load("obtuse-pair")
    network = balanced_initialization(data, width=20, scale="1e-60", rng=np.random.default_rng(3))
    problem = TrainingProblem(data, SquareLoss(), network)
    run = train(problem, EventDrivenFlow(), until=AtTime(9.0), times=[0.0, 2.0, 9.0])
    plain = [NeuronStates.at(snapshot, problem) for snapshot in run.snapshots]
    for states in plain:
        assert not np.any(states.shape.is_lost)
        assert len(states.gaps) == 20
    monkeypatch.setattr(neuron_states, "SMALLEST_NEURON", np.inf)
    for states, snapshot in zip(plain, run.snapshots, strict=True):
        closed = NeuronStates.at(snapshot, problem)
        assert not np.any(closed.shape.is_lost)
        assert np.array_equal(closed.patterns, states.patterns)
        assert closed.log_outputs == pytest.approx(states.log_outputs, abs=1e-11)
        assert closed.directions == pytest.approx(states.directions, abs=1e-12)


def test_dead_neurons_have_ended_and_meet_no_strict_condition():
    states = _states(Network([[0.0, -1.0], [0.0, 1.0]], [1.0, 1.0]))
    assert states.is_dead.tolist() == [True, False]
    assert states.is_final.tolist() == [True, True]
    assert satisfies_condition_1(states, 1.0).tolist() == [False, True]


def test_condition_1_opens_as_alpha_0_falls():
    """A negative neuron at angle 0.3 from D* starts at cosine -cos(0.3): it needs alpha_0 < sin(0.3)."""
    D = np.array([-0.775, 2.0])
    angle = np.arctan2(D[1], D[0]) + 0.3
    states = _states(Network([[np.cos(angle), np.sin(angle)]], [-1.0]))
    assert satisfies_condition_1(states, np.sin(0.3) - 1e-6)[0]
    assert not satisfies_condition_1(states, np.sin(0.3) + 1e-6)[0]
    assert not satisfies_condition_2(states)[0]
