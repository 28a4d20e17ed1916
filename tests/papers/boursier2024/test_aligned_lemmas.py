"""Lemmas 4 and 15 through the theorem contract, at the scale the corrected Theorem 1 asks for."""

from __future__ import annotations

import numpy as np
import pytest

from forging import (
    Forgeries,
    Forgery,
    in_reverse,
    scaled_clock,
    scaled_neurons,
)
from papers.boursier2024.tampering import everywhere, last_neuron_tiny_at_first
from reluflow.papers.boursier2024.theorems.aligned_lemmas import misalignment
from reluflow.papers.boursier2024.theorems.neuron_states import log_lambda as log_scale_of
from reluflow.papers.boursier2024.theorems.phase_clock import phase_clock
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

LEMMA_15, LEMMA_4 = (theorem_named(f"boursier2024:{name}") for name in ("lemma15", "lemma4"))


def _turn(angle):
    return [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]


def _turned_later(evidence):
    return with_each_network(evidence, lambda k, network: network.rotated(_turn(0.7 * (k > 0))))


FORGERIES: Forgeries = {
    ("lemma4", "aligned"): Forgery(in_reverse),
    ("lemma4", "exponent"): Forgery(lambda e: everywhere(e, lambda o: scaled_clock(o, 2.0))),
    ("lemma4", "growth"): Forgery(last_neuron_tiny_at_first),
    ("lemma4", "negative"): Forgery(lambda e: scaled_neurons(e, 2.0, sign=-1)),
    ("lemma4", "resting"): Forgery(lambda e: scaled_neurons(e, 0.5, sign=1)),
    ("lemma15", "projections"): Forgery(in_reverse),
}

CASES = (
    TheoremCase(
        "boursier2024:lemma4",
        forge=_turned_later,
        failing="boursier-a4",
        inapplicable=lambda: example_problem(LEMMA_4, "orthogonal-triple"),
    ),
    TheoremCase(
        "boursier2024:lemma15",
        forge=_turned_later,
        failing="boursier-a4",
        inapplicable=lambda: example_problem(LEMMA_15, "orthogonal-triple"),
    ),
)


test_holds_and_a_forged_run_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


@pytest.fixture(scope="module")
def evidence():
    return gather(LEMMA_4, own_problem(LEMMA_4))


def test_the_exponent_is_twice_the_claimed_one(evidence):
    assert LEMMA_4.check(evidence).conclusion("exponent").measured == pytest.approx(0.5, abs=1e-3)


def test_the_scale_is_the_one_erratum_E2_asks_for(evidence):
    verdict = LEMMA_4.check(evidence)
    assert verdict.constants["log_lambda"] < verdict.constants["log_threshold"] < -1000.0
    assert verdict.conclusion("aligned").bound < -7.0  # so that the bound itself says something


def test_a_larger_scale_is_measured_but_not_covered():
    verdict = check(LEMMA_4, example_problem(LEMMA_4))
    assert verdict.kind is VerdictKind.NOT_APPLICABLE
    assert verdict.failing_hypotheses == ("scale",)
    assert verdict.conclusion("growth").holds


def test_growth_shrinkage_and_rest_are_noticed_when_forged(evidence):
    sets = phase_clock(evidence).states[0].sets
    factors = {"growth": (sets.positive, 1e-40), "negative": (sets.negative, 1.1), "resting": (sets.resting, 1.1)}
    for name, (members, factor) in factors.items():
        forged = with_each_network(
            evidence, lambda k, n, m=members, f=factor: n.replace(a=np.where(m, f * n.a, n.a)) if k > 0 else n
        )
        assert name in LEMMA_4.check(forged).failing_conclusions
    flipped = with_each_network(evidence, lambda k, n: n.replace(a=np.where(sets.negative, -n.a, n.a)) if k > 3 else n)
    assert "negative" in LEMMA_4.check(flipped).failing_conclusions


def test_misalignment_is_the_difference_where_that_has_digits(evidence):
    state = phase_clock(evidence).states[1]
    wbar = state.directions[state.sets.positive]
    direct = state.constants.pull_norm - wbar @ state.constants.pull_at_zero
    assert misalignment(state) == pytest.approx(float(direct.max()), abs=1e-14)
    assert log_scale_of(evidence.network) < -1400.0
