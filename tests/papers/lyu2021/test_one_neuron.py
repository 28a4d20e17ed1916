"""Lemma A.4, Theorem G.9 and Lemma G.10 through the theorem contract, and the duality by a second way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from forging import (
    Forgeries,
    Forgery,
    with_end,
    with_record,
)
from papers.lyu2021.tampering import of_other_samples, record_scaled, scaled, stretched, turned_network
from reluflow.certificates.kkt import normalized_margin
from reluflow.certificates.network_margin import NetworkMargin
from reluflow.data.registry import load
from reluflow.network import Network
from reluflow.papers.lyu2021.theorems.non_symmetric_limit import side_of
from reluflow.papers.lyu2021.theorems.one_neuron import OneNeuron
from reluflow.theory.check import check, example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.registry import theorem_named
from theorem_cases import TheoremCase, contract

LEMMA_A_4, THEOREM_G_9, LEMMA_G_10 = (theorem_named(f"lyu2021:{name}") for name in ("lemmaA.4", "thmG.9", "lemmaG.10"))


def _other_direction(evidence):
    w = side_of(evidence, 1).w + np.array([0.0, 0.01])
    return Network(w[None] / np.sqrt(2.0), [np.sqrt(0.5)], leak=evidence.leak)


def _backwards(theorem):
    problem = example_problem(theorem)
    return replace(problem, network=problem.network.replace(w=-problem.network.w))


def _negative_end(evidence):
    """The best negative neuron where a positive one should be."""
    end = Network(-side_of(evidence, -1).w[None], [-1.0], leak=evidence.leak, log_scale=3.0)
    return replace(evidence, trajectory=replace(evidence.run, network=end))


def _claims_less(evidence):
    """A bracket whose upper end lies below what negative networks reach."""
    return with_record(evidence, upper=0.05)


def named_neuron_stretched(evidence: Evidence) -> Evidence:
    return with_record(evidence, network=stretched(evidence.recorded(OneNeuron).network))


def longer_neuron_among_others(evidence: Evidence) -> Evidence:
    """Among the others is the stated direction itself, at twice its length."""
    record = evidence.recorded(OneNeuron)
    return with_record(evidence, others=(*record.others, scaled(record.network, 2.0)))


def _turned_maximiser(evidence):
    """The negative network of Lemma G.10 points elsewhere, and has a smaller margin."""
    network = evidence.recorded(NetworkMargin).network
    assert network is not None
    return with_record(evidence, network=turned_network(network, 0.3))


FORGERIES: Forgeries = {
    ("lemmaA.4", "kkt"): Forgery(named_neuron_stretched, also=("margin",)),
    ("lemmaA.4", "margin"): Forgery(named_neuron_stretched, also=("kkt",)),
    ("lemmaA.4", "unique"): Forgery(longer_neuron_among_others),
    ("thmG.9", "margin"): Forgery(lambda e: of_other_samples(e, 0.01), also=("direction",)),
    ("thmG.9", "direction"): Forgery(lambda e: of_other_samples(e, 0.01), also=("margin",)),
    ("thmG.9", "approach"): Forgery(
        lambda e: with_end(e, lambda n: turned_network(n, 0.1)), also=("margin", "direction")
    ),
    ("lemmaG.10", "no-gap"): Forgery(_turned_maximiser),
    ("lemmaG.10", "dual"): Forgery(lambda e: record_scaled(e, "multipliers", 10.0)),
}

CASES = (
    TheoremCase(
        "lyu2021:lemmaA.4",
        forge=lambda evidence: with_record(evidence, network=_other_direction(evidence)),
        failing="leaky",
        inapplicable=lambda: example_problem(LEMMA_A_4, "lyu-orthogonal"),
    ),
    TheoremCase(
        "lyu2021:thmG.9",
        forge=_negative_end,
        failing="ahead",
        inapplicable=lambda: _backwards(THEOREM_G_9),
    ),
    TheoremCase(
        "lyu2021:lemmaG.10",
        forge=_claims_less,
        failing="linearly-separable",
        inapplicable=lambda: example_problem(LEMMA_G_10, load("random-labels").subset(range(40))),
    ),
)


test_holds_and_a_forged_witness_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


def test_erratum_e6_the_best_single_neuron_may_be_negative():
    """Lemma A.4 says global; with the labels flipped the best single neuron has a_1 < 0 and twice the margin."""
    data = load("lyu-hinted")
    verdict = check(LEMMA_A_4, example_problem(LEMMA_A_4, data.replace(y=-data.y)))
    plus, minus = verdict.constants["gamma_plus"], verdict.constants["gamma_minus"]
    assert minus == pytest.approx(2.0 * plus, rel=1e-9)
    assert verdict.constants["width_one_optimum"] == pytest.approx(0.5 * minus)
    w = Evidence(example_problem(LEMMA_A_4, data.replace(y=-data.y))).facts.leaky.negative.w
    assert normalized_margin(Network([-w], [-1.0], leak=0.5), data.replace(y=-data.y)) > 0.5 * plus


@pytest.mark.parametrize("name", ["lyu-hinted", "lyu-counterexample", "lyu-counterexample-sharp", "lyu-middle"])
def test_restricted_margin_by_direct_minimisation(name):
    """Lemma G.10's right side by minimising over multipliers with a grid of directions as the oracle."""
    problem = example_problem(LEMMA_G_10, name)
    value = check(LEMMA_G_10, problem).constants["V"]
    evidence = Evidence(problem)
    closest = evidence.dataset.subset(side_of(evidence, 1).closest)
    units = np.random.default_rng(0).standard_normal((40_000, closest.d))
    if closest.d == 2:
        angles = np.linspace(0.0, 2.0 * np.pi, 40_001)
        units = np.column_stack([np.cos(angles), np.sin(angles)])
    units /= np.linalg.norm(units, axis=1)[:, None]
    products = units @ closest.X.T
    gains = -np.maximum(products, problem.network.leak * products) * closest.y  # (directions, samples)
    shares = np.linspace(0.0, 1.0, 2001)
    assert closest.n == 2
    best = min(0.5 * float(np.max(gains @ np.array([share, 1.0 - share]))) for share in shares)
    assert best == pytest.approx(value, rel=2e-3)


def test_one_neuron_margin_by_a_general_optimiser():
    """w^+ of Lemma A.4 against a direct maximisation of the smallest margin over angles."""
    data = load("lyu-counterexample-sharp")

    def worst(angle):
        w = np.array([np.cos(angle[0]), np.sin(angle[0])])
        return -float(np.min(data.y * np.maximum(data.X @ w, 0.5 * data.X @ w)))

    found = minimize(worst, [0.3], method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-12})
    verdict = check(LEMMA_A_4, example_problem(LEMMA_A_4, data))
    assert -found.fun == pytest.approx(verdict.constants["gamma_plus"], abs=1e-8)
