"""Lemmas 1 and 3: neurons are sorted into two sectors or die, and stay there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forging import (
    ALL,
    Forgeries,
    Forgery,
    in_reverse,
    scaled_neurons,
    turned,
)
from reluflow.data.dataset import Dataset
from reluflow.papers.phuong2021.theorems.sorting import sorting_time
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

LEMMA_1 = theorem_named("phuong2021:lemma1")
LEMMA_3 = theorem_named("phuong2021:lemma3")


def unbalanced(theorem):
    problem = own_problem(theorem)
    return replace(problem, network=problem.network.replace(a=1.1 * problem.network.a))


def flat_support():
    """One sample per class: its support spans a line only."""
    return example_problem(LEMMA_3, Dataset([[1.0, 0.2], [-1.0, 0.1]], [1, -1]))


def turn_last(evidence):
    """A neuron leaves its sector in the last snapshot."""
    last = len(evidence.run.snapshots) - 1
    return with_each_network(evidence, lambda k, n: n if k < last else n.replace(w=-n.w))


FORGERIES: Forgeries = {
    ("lemma1", "sorted"): Forgery(lambda e: turned(e, 0.02, at=ALL)),
    ("lemma1", "dead-stay"): Forgery(lambda e: scaled_neurons(e, 2.0, sign=-1)),
    ("lemma3", "absorbed"): Forgery(in_reverse),
}

CASES = (
    TheoremCase(
        "phuong2021:lemma1",
        forge=lambda evidence: with_each_network(evidence, lambda k, n: n.replace(w=np.roll(n.w, 1, axis=0))),
        failing="balanced",
        inapplicable=lambda: unbalanced(LEMMA_1),
    ),
    TheoremCase("phuong2021:lemma3", forge=turn_last, failing="support-spans", inapplicable=flat_support),
)


test_holds_and_forged_evidence_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


def test_a_dead_neuron_that_moves_is_noticed():
    evidence = gather(LEMMA_1, own_problem(LEMMA_1))
    drifting = with_each_network(evidence, lambda k, n: n.replace(w=n.w * (1.0 + 1e-9 * k), a=n.a * (1.0 + 1e-9 * k)))
    assert LEMMA_1.check(drifting).failing_conclusions == ("dead-stay",)


def test_a_scale_that_is_not_small_is_out_of_the_regime():
    """At scale 1 outputs are large before the frozen limit has sorted the neurons."""
    problem = example_problem(LEMMA_1)
    verdict = check(LEMMA_1, replace(problem, network=problem.network.scaled(-problem.network.log_scale)))
    assert verdict.kind is VerdictKind.NOT_APPLICABLE
    assert verdict.failing_hypotheses == ("small-scale",)


def test_the_scale_asked_for_meets_the_regime_with_room():
    evidence = gather(LEMMA_1, own_problem(LEMMA_1))
    at = next(s for s in evidence.run.snapshots if s.time == sorting_time(evidence))
    assert 0.0 < np.max(np.abs(at.outputs)) <= 0.1 * 1e-2


@pytest.mark.parametrize("name", ["phuong-toy", "orthogonally-separable:n=7,d=3,mu=0.1"])
def test_lemma_1_on_more_data(name):
    verdict = check(LEMMA_1, example_problem(LEMMA_1, name), at_own_scale=True)
    assert verdict.kind is VerdictKind.HOLDS, verdict.why


def test_lemma_1_beyond_orthogonal_separability():
    """The lemma is about any data; here some extremal sectors have samples on their boundary."""
    data = Dataset([[1.0, 0.0], [-0.5, 1.0], [0.3, -1.0]], [1, 1, -1])
    verdict = check(LEMMA_1, example_problem(LEMMA_1, data), at_own_scale=True)
    assert verdict.kind is VerdictKind.HOLDS, verdict.why
