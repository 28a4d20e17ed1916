"""Theorem 6.2 on the hinted instance, with its printed numbers, and the exact threshold of erratum E6."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forging import (
    Forgeries,
    Forgery,
    scaled_neurons,
    with_end,
    with_record,
)
from papers.lyu2021.tampering import best_claimed, of_other_samples, turned_network
from reluflow.certificates.network_margin import network_margin
from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.stopping import Exhausted
from reluflow.dynamics.train import train
from reluflow.losses import loss_named
from reluflow.network import Network
from reluflow.papers.lyu2021.assumptions import find_hints
from reluflow.papers.lyu2021.hinted_data import hinted as hinted_dataset
from reluflow.papers.lyu2021.theorems.hinted import HintsAndBest
from reluflow.papers.lyu2021.theorems.non_symmetric_limit import losing_share
from reluflow.theory.check import check, example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import TheoremCase, contract

THEOREM_6_2 = theorem_named("lyu2021:thm6.2")

BASE = Dataset([[0.5, 0.3], [0.6, -0.2], [-0.4, 0.1], [-0.5, -0.25]], [1.0, 1.0, -1.0, -1.0])


def _ends_at_the_best_margin(evidence):
    best = network_margin(evidence.dataset, evidence.leak).network
    return replace(evidence, trajectory=replace(evidence.run, network=best.replace(log_scale=4.0)))


def hints_with_larger_eps(evidence: Evidence) -> Evidence:
    hints = evidence.recorded(HintsAndBest).hints
    assert hints is not None
    needed = replace(hints.conditions, eps=1.1 * hints.conditions.eps)
    return with_record(evidence, hints=replace(hints, conditions=needed))


FORGERIES: Forgeries = {
    ("thm6.2", "margin"): Forgery(lambda e: of_other_samples(e, 0.01), also=("one-neuron",)),
    ("thm6.2", "one-neuron"): Forgery(lambda e: of_other_samples(e, 0.01), also=("margin",)),
    ("thm6.2", "approach"): Forgery(
        lambda e: with_end(e, lambda n: turned_network(n, 0.1)), also=("margin", "one-neuron")
    ),
    ("thm6.2", "consequences"): Forgery(hints_with_larger_eps, also=("margin",)),
    ("thm6.2", "optimality"): Forgery(lambda e: best_claimed(e, margin=0.5)),
    ("thm6.2", "late-law"): Forgery(lambda e: scaled_neurons(e, 2.0, sign=-1)),
}

CASES = (
    TheoremCase(
        "lyu2021:thm6.2",
        forge=_ends_at_the_best_margin,
        failing="hinted",
        inapplicable=lambda: example_problem(THEOREM_6_2, "lyu-counterexample-sharp"),
    ),
)


test_holds_and_a_forged_run_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


@pytest.fixture(scope="module")
def verdict():
    return check(THEOREM_6_2, example_problem(THEOREM_6_2), at_own_scale=True)


def test_the_published_instance(verdict):
    """Our instance of Fig. 1 (right): margin 0.0309233 against the best 0.0543784, a ratio of 0.569."""
    constants = verdict.constants
    for name, expected in (
        ("eps", 0.0618466),
        ("K", 0.4),
        ("K_min", 0.182093),
        ("H_0", 19.658271),
        ("H_3", 6.395147),
        ("H", 20.641184),
    ):
        assert constants[name] == pytest.approx(expected, rel=2e-6), name
    assert verdict.conclusion("margin").measured == pytest.approx(0.0309233, abs=5e-8)
    assert verdict.predictions["margin"] == pytest.approx(0.0309233, abs=5e-8)
    assert verdict.conclusion("optimality").measured == pytest.approx(0.0543784 / 0.0309233, rel=5e-6)
    assert verdict.predictions["probability"] == 1.0 - 2.0**-6  # erratum E11: 1 - 2^-m, not 1 - delta


def test_quantities_of_the_instance():
    facts = Evidence(example_problem(THEOREM_6_2)).facts
    assert np.linalg.norm(facts.leaky_mean(1)) == pytest.approx(3.176122, abs=5e-7)
    assert np.linalg.norm(facts.leaky_mean(-1)) == pytest.approx(1.679045, abs=5e-7)
    assert facts.leaky.kappa == pytest.approx(0.471354, abs=5e-7)
    assert facts.against_positive.any_multipliers == pytest.approx(0.0154616, abs=5e-8)
    assert facts.leaky.positive.closest.tolist() == [1, 2]


def test_the_published_course_of_the_margin_and_of_the_negative_share():
    """Signs ++--, scale 1e-4: the margin passes through negative values, the negative share falls like 1/|theta|."""
    rng = np.random.default_rng(0)
    w = rng.standard_normal((4, 2))
    network = Network(w, np.array([1.0, 1.0, -1.0, -1.0]) * np.linalg.norm(w, axis=1), leak=0.5, log_scale=np.log(1e-4))
    problem = TrainingProblem(load("lyu-hinted"), loss_named("logistic"), network)
    run = train(
        problem, EventDrivenFlow(), until=Exhausted(), times=list(np.geomspace(3.0, 1e60, 80)), log_horizon=139.0
    )
    square = np.array([s.network.squared_norm() for s in run.snapshots])
    margins = np.array([np.min(s.outputs * problem.dataset.y) for s in run.snapshots]) / square
    shares = np.array([losing_share(s.network, 1) for s in run.snapshots])
    assert margins[(square > 1.0) & (square < 30.0)].min() < 0.0
    late = square > 200.0
    assert np.all(np.diff(margins[late]) > 0.0)
    assert margins[-1] == pytest.approx(0.030923, abs=3e-6)
    slope = np.polyfit(np.log(square[late]), np.log(shares[late]), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.01)  # leak - 1, in the squared norm


@pytest.mark.parametrize("leak", [0.3, 0.5, 0.7])
def test_the_threshold_of_k_is_exact(leak):
    """Erratum E6: eps/2 is the best margin of all widths for K up to eps sqrt((3 + leak)/(1 - leak)), not beyond."""
    eps = 0.1 * leak
    threshold = eps * np.sqrt((3.0 + leak) / (1.0 - leak))
    ratios = []
    for factor in (0.999, 1.001, 1.5):
        data = hinted_dataset(BASE, H=50.0, K=factor * threshold, eps=eps, leak=leak).dataset
        ratios.append(network_margin(data, leak).upper / (0.5 * eps))
    assert ratios[0] == pytest.approx(1.0, abs=1e-7)
    assert 1.0 + 1e-8 < ratios[1] < 1.001
    assert ratios[2] > 1.05


def test_below_the_threshold_the_theorem_says_that_the_limit_is_the_best():
    conditions = hinted_dataset(BASE, H=1.0, K=0.1, eps=0.06, leak=0.5).conditions
    H = 1.1 * max(conditions.H_0, conditions.H_3)
    data = hinted_dataset(BASE, H=H, K=0.1, eps=0.06, leak=0.5).dataset
    result = check(THEOREM_6_2, example_problem(THEOREM_6_2, data), at_own_scale=True)
    assert result.kind is VerdictKind.HOLDS, result.why
    assert result.conclusion("optimality").measured == pytest.approx(1.0, abs=1e-6)


def test_hints_are_found_again():
    hints = find_hints(Evidence(example_problem(THEOREM_6_2)).facts)
    assert hints is not None
    assert (hints.first, *hints.others) == (0, 1, 2)
    assert hints.separator == pytest.approx([0.970143, -0.242536], abs=5e-7)
    assert find_hints(Evidence(example_problem(THEOREM_6_2, "lyu-counterexample-sharp")).facts) is None
