"""Section 5: the spread of neurons, the nature of the limit, and unbalanced starts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forging import (
    Forgeries,
    Forgery,
    with_end,
)
from papers.boursier2024.tampering import negative_end_turned, other_end, other_ends, some_scaled
from reluflow.data.registry import load
from reluflow.losses import SquareLoss
from reluflow.network import Network
from reluflow.papers.boursier2024.theorems.omnidirectionality import nature_of_limit, omnidirectionality
from reluflow.papers.boursier2024.theorems.residual_forecast import plateau
from reluflow.papers.boursier2024.theorems.spurious_hypotheses import SMALLER
from reluflow.theory.check import check, example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.gather import gather
from reluflow.theory.registry import theorem_named
from theorem_cases import TheoremCase, contract, own_problem

NATURE, OMNIDIRECTIONALITY, UNBALANCED = (
    theorem_named(f"boursier2024:{name}") for name in ("sec5-nature", "sec5-omnidirectional", "sec5-unbalanced")
)


def _end(evidence, network):
    return replace(evidence, trajectory=replace(evidence.run, network=network))


def _without_a_neuron(evidence):
    network = evidence.run.network
    is_first = np.arange(network.num_neurons) == 0
    return _end(
        evidence, network.replace(a=np.where(is_first, 0.0, network.a), w=np.where(is_first[:, None], 0.0, network.w))
    )


def _with_an_escapee(evidence):
    network = evidence.run.network
    forecast = omnidirectionality(network, evidence.dataset, evidence.loss).forecast
    grown = network.replace(
        w=np.vstack([network.w, 1e-9 * forecast.directions[0] + [1e-12, 0.0]]),
        a=np.append(network.a, 1e-9),
        weight=np.append(network.weight, 1.0),
    )
    return _end(evidence, grown)


def signs_of_the_start(evidence: Evidence) -> Evidence:
    """At the end every output weight has the sign it started with."""
    return with_end(evidence, lambda n: n.replace(a=np.abs(n.a) * np.sign(evidence.network.a)))


FORGERIES: Forgeries = {
    ("sec5-nature", "nature"): Forgery(negative_end_turned),
    ("sec5-nature", "dominated"): Forgery(lambda e: with_end(e, lambda n: some_scaled(n, -1, 1e-40))),
    ("sec5-omnidirectional", "lost"): Forgery(negative_end_turned),
    ("sec5-omnidirectional", "trapped"): Forgery(lambda e: other_ends(e, 1.3, SMALLER)),
    ("sec5-unbalanced", "global-minimum"): Forgery(lambda e: other_end(e, 1.05)),
    ("sec5-unbalanced", "flips"): Forgery(signs_of_the_start, also=("global-minimum",)),
}

CASES = (
    TheoremCase(
        "boursier2024:sec5-nature",
        forge=_without_a_neuron,
        failing="boursier-a5",
        inapplicable=lambda: example_problem(NATURE, "three-points"),
    ),
    TheoremCase(
        "boursier2024:sec5-omnidirectional",
        forge=_with_an_escapee,
        failing="boursier-a5",
        inapplicable=lambda: example_problem(OMNIDIRECTIONALITY, "three-points"),
    ),
    TheoremCase(
        "boursier2024:sec5-unbalanced",
        forge=lambda evidence: _end(evidence, plateau(evidence)[0].network),
        failing="unbalanced",
        inapplicable=lambda: own_problem(OMNIDIRECTIONALITY),
    ),
)


test_holds_and_a_forged_run_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


@pytest.fixture(scope="module")
def three_points():
    """The run of the paper's own data, which no hypothesis covers."""
    problem = example_problem(OMNIDIRECTIONALITY, "three-points")
    return gather(OMNIDIRECTIONALITY, replace(problem, network=problem.network.scaled(-10.0)))


def test_two_occupied_cones_are_left_and_the_escapes_are_empty(three_points):
    spread = omnidirectionality(three_points.run.network, three_points.dataset, three_points.loss)
    for sign in (1, -1):
        assert all(min(u) > 0 or max(u) <= 0 for u in spread.occupied[sign])
    np.testing.assert_allclose(np.sort(spread.forecast.angles), [26.565, 206.565], atol=5e-4)
    assert spread.is_trapped
    assert spread.largest_gaps[1] > 136.0  # more than either cone is wide


def test_a_fresh_network_is_not_trapped():
    data = load("three-points")
    spread = omnidirectionality(_ring(), data, SquareLoss())
    assert not spread.is_trapped
    assert spread.is_reached.all()
    assert spread.largest_gaps[1] == pytest.approx(5.0)
    assert sum(spread.occupied[1].values()) == 72
    assert len(spread.occupied[1]) == 6


def _ring():
    angles = np.radians(np.arange(1.0, 361.0, 5.0))
    w = 1e-6 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return Network(np.vstack([w, w]), np.repeat([1e-6, -1e-6], len(w)))


def test_gaps_beyond_the_plane_are_not_numbers():
    data = load("orthogonal-triple")
    spread = omnidirectionality(Network(np.eye(3), [1.0, 1.0, -1.0]), data, SquareLoss())
    assert np.isnan(spread.largest_gaps[1])


def test_a_zero_neuron_makes_the_limit_a_saddle(three_points):
    network, data = three_points.run.network, three_points.dataset
    is_zero, escape, gain = nature_of_limit(network, data, SquareLoss())
    assert (is_zero, escape) == (False, None)
    assert gain < 1e-9
    with_zero = network.replace(
        w=np.vstack([network.w, [0.0, 0.0]]), a=np.append(network.a, 0.0), weight=np.append(network.weight, 1.0)
    )
    is_zero, escape, gain = nature_of_limit(with_zero, data, SquareLoss())
    assert is_zero
    assert escape is not None
    assert escape.neuron == network.num_neurons
    assert escape.actual_decrease > 0.0
    angle = np.degrees(np.arctan2(escape.w[1], escape.w[0])) % 180.0
    assert angle == pytest.approx(26.565, abs=5e-4)
    force_scale = np.abs((data.y - network.outputs(data.X)) / 3) @ np.linalg.norm(data.X, axis=1)
    zero_force_scale = data.y @ np.linalg.norm(data.X, axis=1) / 3
    assert gain * max(force_scale, zero_force_scale) == pytest.approx(0.03058, abs=5e-6)


def test_an_unbalanced_start_at_a_tiny_scale_is_trapped_at_a_fixed_width():
    """The claim of Section 5 needs width: with 100 neurons at scale e^-30 all have aligned before the line is left."""
    problem = example_problem(UNBALANCED)
    problem = replace(problem, network=problem.network.scaled(-23.0))
    verdict = check(UNBALANCED, problem)
    assert verdict.failing_hypotheses == ("omnidirectional",)
    assert verdict.conclusion("global-minimum").holds is False
    assert verdict.conclusion("flips").holds
