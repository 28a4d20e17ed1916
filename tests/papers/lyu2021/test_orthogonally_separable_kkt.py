"""Theorem H.2 and Lemma H.3, their corrected factor, and the flow that ends there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forging import (
    ALL,
    Forgeries,
    Forgery,
    with_record,
)
from papers.lyu2021.tampering import Change, scaled, stretched, turned_network
from reluflow.certificates.kkt import normalized_margin
from reluflow.certificates.limits.certified_limit import LimitIdentified, certified_limit
from reluflow.certificates.network_margin import network_margin
from reluflow.data.registry import load
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.train import train
from reluflow.network import Network
from reluflow.papers.lyu2021.theorems.limits import KKTDirections
from reluflow.papers.lyu2021.theorems.orthogonally_separable_kkt import class_vectors, kkt_directions
from reluflow.theory.check import check, example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import TheoremCase, contract

THEOREM_H_2, LEMMA_H_3 = (theorem_named(f"lyu2021:{name}") for name in ("thmH.2", "lemmaH.3"))


def _tilted(evidence):
    first = evidence.record.networks[0]
    return with_record(evidence, networks=(first.replace(w=first.w + 0.05),))


def _leaky():
    problem = example_problem(THEOREM_H_2)
    return replace(problem, network=problem.network.replace(leak=0.1))


def directions_changed(evidence: Evidence, change: Change, *, at: slice = ALL) -> Evidence:
    networks = list(evidence.recorded(KKTDirections).networks)
    for k in range(len(networks))[at]:
        networks[k] = change(networks[k])
    return with_record(evidence, networks=tuple(networks))


FORGERIES: Forgeries = {
    ("thmH.2", "kkt"): Forgery(lambda e: directions_changed(e, stretched), also=("same-function", "global")),
    ("thmH.2", "same-function"): Forgery(lambda e: directions_changed(e, lambda n: scaled(n, 30.0))),
    ("thmH.2", "global"): Forgery(lambda e: directions_changed(e, stretched), also=("kkt", "same-function")),
    ("lemmaH.3", "kkt"): Forgery(
        lambda e: directions_changed(e, lambda n: turned_network(n, 0.7), at=slice(-1, None)), also=("class-vector",)
    ),
    ("lemmaH.3", "balanced"): Forgery(lambda e: directions_changed(e, stretched), also=("kkt", "class-vector")),
    ("lemmaH.3", "class-vector"): Forgery(lambda e: directions_changed(e, lambda n: scaled(n, 30.0))),
}

CASES = (
    TheoremCase("lyu2021:thmH.2", forge=_tilted, failing="relu", inapplicable=_leaky),
    TheoremCase(
        "lyu2021:lemmaH.3",
        forge=_tilted,
        failing="orthogonally-separable",
        inapplicable=lambda: example_problem(LEMMA_H_3, "lyu-symmetric"),
    ),
)


test_holds_and_a_forged_direction_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


def test_the_published_margin():
    vectors = class_vectors(Evidence(example_problem(THEOREM_H_2)))
    assert vectors.margin == pytest.approx(0.206315, abs=5e-7)


def test_erratum_e12_the_printed_norm_and_sign_are_wrong():
    """Without the 2 the margin would be twice the best of all networks; with a plus the negative class is misfit."""
    data = load("lyu-orthogonal")
    vectors = class_vectors(Evidence(example_problem(THEOREM_H_2)))
    best = network_margin(data, 0.0)
    printed = 1.0 / (np.linalg.norm(vectors.positive) + np.linalg.norm(vectors.negative))
    assert printed == pytest.approx(2.0 * best.upper, rel=1e-7)
    added = np.maximum(data.X @ vectors.positive, 0.0) + np.maximum(data.X @ vectors.negative, 0.0)
    assert np.min(data.y * added) < 0.0
    assert np.min(data.y * vectors.outputs(data.X)) == pytest.approx(1.0, abs=1e-9)
    # Lemma H.3 with w_k/a_k turns the negative neurons round
    network = kkt_directions(Evidence(example_problem(LEMMA_H_3))).networks[0]
    k = int(np.argmin(network.a))
    scale = np.sum(network.a[network.a < 0.0] ** 2) / normalized_margin(network, data)
    assert scale * network.w[k] / network.a[k] == pytest.approx(-vectors.negative, rel=1e-9)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_flow_with_neurons_of_both_signs_ends_there(seed):
    problem = example_problem(THEOREM_H_2, seed=seed)
    w = problem.network.w
    problem = replace(problem, network=problem.network.replace(a=np.resize([1.0, -1.0], 6) * np.linalg.norm(w, axis=1)))
    limit = certified_limit(train(problem, EventDrivenFlow(), until=LimitIdentified(), log_horizon=400.0))
    assert limit.is_proof
    assert normalized_margin(limit.network, problem.dataset) == pytest.approx(0.206315349480775, rel=1e-8)


@pytest.mark.parametrize("spec", ["orthogonally-separable:n=6,d=3,mu=0.3", "min-toy", "phuong-toy"])
def test_on_other_orthogonally_separable_sets(spec):
    for theorem in (THEOREM_H_2, LEMMA_H_3):
        verdict = check(theorem, example_problem(theorem, spec))
        assert verdict.kind is VerdictKind.HOLDS, verdict.why


def test_one_class_alone():
    data = load("lyu-orthogonal").subset([0, 1])
    vectors = class_vectors(Evidence(example_problem(THEOREM_H_2, data)))
    assert np.all(vectors.negative == 0.0)
    unit = vectors.positive / np.linalg.norm(vectors.positive)
    assert normalized_margin(Network([unit], [1.0]), data) == pytest.approx(vectors.margin, rel=1e-12)
