"""Remarks 1, 2, 4, Example 1 and the elementary inequalities."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from forging import (
    ALL,
    Forgeries,
    Forgery,
    in_companion,
    in_reverse,
    scaled_neurons,
    turned,
    with_record,
)
from forging import with_networks as with_other_networks
from papers.boursier2024.tampering import shifted
from reluflow.data.registry import load
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.stopping import AtTime
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import Outcome
from reluflow.losses import SquareLoss
from reluflow.network import Network, balanced_initialization, dominated_initialization
from reluflow.papers.boursier2024.theorems.elementary_inequalities import Arguments
from reluflow.theory.check import check, example_problem
from reluflow.theory.gather import gather
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import (
    TheoremCase,
    contract,
    own_problem,
    with_each_network,
)

EXAMPLE_1, REMARK_1, REMARK_4, REMARK_2 = (
    theorem_named(f"boursier2024:{name}") for name in ("example1", "remark1", "remark4", "remark2")
)


def _one_point(theorem=None):
    """Example 1: (x, y) = (1, 1), w(0) = 0, a > 0."""
    return TrainingProblem(load("one-point"), SquareLoss(), Network(w=[[0.0]], a=[1.0], log_scale=np.log(1e-3)))


def _aligned_at_once(evidence):
    """Positive neurons of the open cone of D* show up on D* itself from the second snapshot on."""
    D = evidence.facts.extremal.vectors[0] / evidence.facts.extremal.norms[0]

    def change(k, network):
        is_there = np.all(network.patterns(evidence.dataset.X) > 0, axis=1) & (k > 0)
        on_ray = np.abs(network.a)[:, None] * D
        return network.replace(w=np.where(is_there[:, None], on_ray, network.w))

    return with_each_network(evidence, change)


def _dominated(theorem):
    problem = own_problem(theorem)
    drawn = dominated_initialization(problem.dataset, width=30, scale=1.0, rng=np.random.default_rng(0))
    return replace(problem, network=drawn.replace(log_scale=problem.network.log_scale))


FORGERIES: Forgeries = {
    ("remark1", "slow"): Forgery(lambda e: turned(e, 0.02, at=ALL)),
    ("remark2", "never-zero"): Forgery(lambda e: scaled_neurons(e, 0.5, sign=1)),
    ("appD.7", "tanh"): Forgery(lambda e: with_record(e, touching=0.1)),
    ("appD.7", "root"): Forgery(lambda e: with_record(e, for_root=-e.recorded(Arguments).for_root)),
    ("appD.7", "entropy"): Forgery(lambda e: with_record(e, maximiser=0.9 * e.recorded(Arguments).maximiser)),
    ("remark4", "positive"): Forgery(lambda e: turned(e, 0.02, at=ALL)),
    ("example1", "stays"): Forgery(lambda e: in_companion(e, "staying", lambda o: shifted(o, w=1e-6))),
    ("example1", "leaves"): Forgery(lambda e: in_companion(e, "leaving", in_reverse)),
    ("example1", "later"): Forgery(lambda e: in_companion(e, "later", in_reverse)),
}

CASES = (
    TheoremCase(
        "boursier2024:remark1",
        forge=_aligned_at_once,
        failing="small-scale",
        inapplicable=lambda: replace(own_problem(REMARK_1), network=own_problem(REMARK_1).network.scaled(10.0)),
    ),
    TheoremCase(
        "boursier2024:remark2",
        forge=lambda evidence: with_each_network(
            evidence, lambda k, network: network.replace(w=network.w * 0.5 ** (k == 3))
        ),
        failing="balanced",
        inapplicable=lambda: _dominated(REMARK_2),
    ),
    TheoremCase(
        "boursier2024:remark4",
        forge=lambda evidence: with_each_network(
            evidence, lambda k, network: network.replace(a=np.where(k == 5, -1.0, 1.0) * network.a)
        ),
        failing="general-position",
        inapplicable=lambda: example_problem(REMARK_4, "orthogonal-triple"),
    ),
    TheoremCase(
        "boursier2024:example1",
        forge=lambda evidence: in_companion(
            evidence,
            "staying",
            lambda run: with_other_networks(run, lambda network: network.replace(w=network.w + 1e-6)),
        ),
        failing="one-sample",
        inapplicable=lambda: example_problem(EXAMPLE_1, "three-points"),
    ),
    TheoremCase(
        "boursier2024:appD.7",
        universal="inequalities between functions of one variable",
    ),
)


test_holds_and_a_forged_run_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


@pytest.mark.parametrize(("ridge", "leaves"), [("stay", False), ("negative", False), ("positive", True)])
def test_example_1_each_policy_is_one_of_the_solutions(ridge, leaves):
    """Non-uniqueness is a choice of the user: stay for ever, or leave at once along w = a_0 sinh(t)."""
    run = train(_one_point(), EventDrivenFlow(ridge=ridge), until=AtTime(2.0), times=[0.0, 1.0, 2.0])
    assert run.outcome is Outcome.HORIZON
    w = np.array([s.network.w[0, 0] * np.exp(s.network.log_scale) for s in run.snapshots])
    wanted = 1e-3 * np.sinh([0.0, 1.0, 2.0]) * leaves
    assert w == pytest.approx(wanted, rel=2e-5)  # the output, about 1e-5 at the end, slows it down


def test_example_1_without_a_policy_the_run_stops():
    run = train(_one_point(), EventDrivenFlow(), until=AtTime(2.0), times=[0.0, 1.0])
    assert run.outcome is Outcome.RIDGE
    assert run.time == 0.0


def test_example_1_is_measured_on_two_runs_from_one_start():
    """By default every neuron of the draw started off 0, so that the example was not applicable to its own data."""
    theorem = EXAMPLE_1
    evidence = gather(theorem, example_problem(theorem))
    assert theorem.check(evidence).kind is VerdictKind.HOLDS
    staying, leaving = evidence.companions["staying"], evidence.companions["leaving"]
    assert staying.problem.network is leaving.problem.network
    swapped = replace(evidence, companions={"staying": leaving, "leaving": staying})
    assert theorem.check(swapped).failing_conclusions == ("stays", "leaves")


def test_remark_1_fraction_excluded_vanishes_with_alpha_0():
    """On the three points only negative neurons start against D; the excluded fraction falls like alpha_0."""
    data = load("three-points")
    network = balanced_initialization(data, width=2000, scale=1e-2, rng=np.random.default_rng(0))
    problem = TrainingProblem(data, SquareLoss(), network)
    light = replace(REMARK_1, plan=lambda evidence: None)
    fractions = [
        check(light, problem, alpha_0=alpha_0).constants["fraction_excluded"] for alpha_0 in (1.0, 0.5, 0.1, 0.01, 1e-4)
    ]
    assert fractions[0] == pytest.approx(0.5, abs=0.05)
    assert all(later < earlier for earlier, later in pairwise(fractions))
    # the directions within asin(alpha_0) of D*, in its cone, over the 224 living degrees, half of the neurons
    assert fractions[2] == pytest.approx(0.5 * 2 * np.degrees(np.arcsin(0.1)) / 223.995, abs=0.01)
    assert fractions[-1] == 0.0


def test_remark_1_a_neuron_exactly_opposite_is_no_generic_start():
    """w = -a D: no alpha_0 > 0 covers it, and it never turns; a draw with a density has none."""
    D = np.array([-0.775, 2.0]) / 3.0
    network = Network([D / np.linalg.norm(D), [0.0, 1.0]], [-1.0, 1.0], log_scale=-10.0)
    verdict = check(REMARK_1, TrainingProblem(load("three-points"), SquareLoss(), network))
    assert verdict.kind is VerdictKind.NOT_APPLICABLE
    assert verdict.failing_hypotheses == ("generic-start",)


def test_remark_1_waiting_time_is_that_of_the_run():
    """One neuron close to the repelling direction follows |D| tanh(|D| (t - wait)), wait = artanh(cos)/|D|."""
    data = load("three-points")
    D = np.array([-0.7750, 2.0]) / 3.0
    angle = np.arctan2(D[1], D[0]) + 0.01
    w = np.array([[np.cos(angle), np.sin(angle)]])
    problem = TrainingProblem(data, SquareLoss(), Network(w, [-1.0], log_scale=-60.0))
    verdict = check(REMARK_1, problem)
    wait = verdict.constants["longest_wait"]
    assert wait == pytest.approx(np.arctanh(np.cos(0.01)) / np.linalg.norm(D), rel=1e-9)
    times = np.array([0.5, 0.9]) * wait
    run = train(problem, EventDrivenFlow(), until=AtTime(wait), times=times.tolist())
    measured = [float(s.network.w[0] @ D / s.network.a[0]) for s in run.snapshots]
    speed = np.linalg.norm(D)
    assert measured == pytest.approx(speed * np.tanh(speed * (times - wait)), rel=1e-9)


def test_remark_4_the_sum_can_fall_where_the_alignment_cannot():
    """|D| + <w/a, D> falls for negative neurons, whose |D| drops from cone to cone, while <w/a, D> rises."""
    problem = example_problem(REMARK_4)
    network = problem.network.scaled(-300.0)
    verdict = check(REMARK_4, replace(problem, network=network))
    assert verdict.kind is VerdictKind.HOLDS, verdict.why
    assert verdict.constants["neurons_with_falling_sum"] > 0
