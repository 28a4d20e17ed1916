"""Lemmas B.1, A.3 and A.4: one-way activations, the velocity, balance and growth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forging import (
    LATER,
    Forgeries,
    Forgery,
    events_twice,
    scaled_neurons,
    scaled_output_weights,
    scaled_times,
    turned,
)
from reluflow.data.dataset import Dataset
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.train import train
from reluflow.losses import LogisticLoss, SquareLoss
from reluflow.network import Network
from reluflow.papers.phuong2021.theorems.motion import growth_ratio, largest_rate
from reluflow.theory.check import check, example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.gather import gather
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import (
    TheoremCase,
    contract,
    own_problem,
    with_each_network,
)

LEMMA_B_1, LEMMA_A_3, LEMMA_A_4 = (theorem_named(f"phuong2021:lemma{name}") for name in ("B.1", "A.3", "A.4"))


def overlapping_classes():
    return example_problem(LEMMA_B_1, Dataset([[1.0, 0.0], [-0.5, 1.0], [0.3, -1.0]], [1, 1, -1]))


def parallel_samples():
    return example_problem(LEMMA_A_3, Dataset([[1.0, 0.0], [2.0, 0.0], [-1.0, 1.0]], [1, 1, -1]))


def square_loss():
    problem = own_problem(LEMMA_A_4)
    return replace(problem, loss=SquareLoss())


FORGERIES: Forgeries = {
    ("lemmaA.3", "output-weight"): Forgery(
        lambda e: scaled_output_weights(e, 1.05, at=len(e.run.snapshots) // 2, sign=-1)
    ),
    ("lemmaA.3", "input-weight"): Forgery(lambda e: turned(e, 0.7)),
    ("lemmaA.4", "balance"): Forgery(lambda e: scaled_output_weights(e, -1.0, at=LATER, sign=1)),
    ("lemmaA.4", "rate"): Forgery(lambda e: scaled_times(e, 0.01)),
    ("lemmaB.1", "stays-active"): Forgery(lambda e: scaled_output_weights(e, -1.0)),
    ("lemmaB.1", "one-way"): Forgery(lambda e: scaled_neurons(e, 0.5, sign=1)),
    ("lemmaB.1", "one-flip"): Forgery(events_twice),
}

CASES = (
    TheoremCase(
        "phuong2021:lemmaB.1",
        forge=lambda evidence: with_each_network(evidence, lambda k, n: n.replace(w=-n.w if k == 6 else n.w)),
        failing="orthogonally-separable",
        inapplicable=overlapping_classes,
    ),
    TheoremCase(
        "phuong2021:lemmaA.3",
        forge=lambda evidence: with_each_network(evidence, lambda k, n: n.replace(w=n.w * (1.0 + 1e-8 * k), a=n.a)),
        failing="general-position",
        inapplicable=parallel_samples,
    ),
    TheoremCase(
        "phuong2021:lemmaA.4",
        forge=lambda evidence: with_each_network(evidence, lambda k, n: n.replace(a=n.a * (1.0 + 1e-6 * k))),
        failing="loss",
        inapplicable=square_loss,
    ),
)


test_holds_and_forged_evidence_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


@pytest.mark.parametrize("log_factor", [-14.0, 0.0, 1.5])
def test_activations_are_one_way_at_every_scale(log_factor):
    """Stronger than the paper: 0 violations from scale 1e-6 to 5."""
    problem = example_problem(LEMMA_B_1, "orthogonally-separable:n=7,d=3,mu=0.05")
    network = problem.network.scaled(log_factor - problem.network.log_scale)
    verdict = check(LEMMA_B_1, replace(problem, network=network))
    assert verdict.kind is VerdictKind.HOLDS, verdict.why


def test_classes_that_overlap_break_the_monotone_activations():
    """The hypothesis is needed: on overlapping classes some activation moves the wrong way."""
    problem = overlapping_classes()
    evidence = gather(LEMMA_B_1, problem)
    assert LEMMA_B_1.conclusions[1].measure(evidence).holds is False


def test_velocity_of_a_sliding_neuron_is_projected():
    """The positive neuron is pushed onto the negative sample's boundary from both sides and moves along it."""
    data = Dataset([[1.0, 0.3], [0.2, 1.0]], [1, -1])
    network = Network([[0.5, 0.2], [0.3, -1.0]], [np.hypot(0.5, 0.2), -np.hypot(0.3, 1.0)], log_scale=-4.0)
    problem = TrainingProblem(data, LogisticLoss(reduction="sum"), network)
    evidence = gather(LEMMA_A_3, problem)
    assert evidence.run.slides >= 1
    verdict = LEMMA_A_3.check(evidence)
    assert verdict.kind is VerdictKind.HOLDS, verdict.why


def test_printed_growth_rate_is_too_small():
    """Erratum P1: n = 1, y = -1, |x| = 2, a > 0 large shrinks at |d log a^2/dt| = 4 = 2 n B V, twice as printed."""
    data = Dataset([[2.0, 0.0]], [-1.0])
    problem = TrainingProblem(data, LogisticLoss(reduction="sum"), Network([[30.0, 0.0]], [30.0]))
    trajectory = train(problem, EventDrivenFlow(), times=[0.0, 0.01, 0.02])
    evidence = Evidence(problem, trajectory, parameters=LEMMA_A_4.parameter_values({}))
    assert largest_rate(evidence) == 2.0
    printed, corrected = 1.0, 2.0
    assert 2.0 * growth_ratio(evidence) == pytest.approx(2.0, rel=1e-9)
    assert 2.0 * growth_ratio(evidence) > printed
    assert 2.0 * growth_ratio(evidence) <= corrected * (1.0 + 1e-12)
    assert LEMMA_A_4.check(evidence).kind is VerdictKind.HOLDS


def test_a_neuron_that_grows_too_fast_is_noticed():
    evidence = gather(LEMMA_A_4, own_problem(LEMMA_A_4))
    faster = with_each_network(evidence, lambda k, n: n.scaled(20.0 * k))
    assert LEMMA_A_4.check(faster).failing_conclusions == ("rate",)
