"""Lemma G.8, Theorem G.11 with the improving perturbation of erratum E4, and the extended embedding."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forging import (
    ALL,
    Forgeries,
    Forgery,
    in_reverse,
    in_sweep,
    scaled_neurons,
    scaled_output_weights,
    with_record,
)
from papers.lyu2021.tampering import Change, in_all_runs, scaled, second_half, stretched
from reluflow.certificates.kkt import kkt_certificate
from reluflow.data.registry import load
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.stopping import AtTime
from reluflow.dynamics.train import train
from reluflow.errors import InvalidInputError
from reluflow.losses import loss_named
from reluflow.network import Network
from reluflow.papers.lyu2021.theorems.early_constants import correct_cone
from reluflow.papers.lyu2021.theorems.growth_in_the_cone import stacked
from reluflow.papers.lyu2021.theorems.local_maximum import MaximiserAndNeighbours
from reluflow.papers.lyu2021.theorems.one_sign_takes_over import extended_embedding
from reluflow.papers.lyu2021.theorems.unit_ball import m_norm
from reluflow.theory.check import check, example_problem
from reluflow.theory.diagnosis import assumption_named
from reluflow.theory.evidence import Evidence
from reluflow.theory.gather import gather
from reluflow.theory.hypotheses import assumed
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import (
    TheoremCase,
    contract,
    own_problem,
    with_each_network,
)

LEMMA_G_8, THEOREM_G_11 = (theorem_named(f"lyu2021:{name}") for name in ("lemmaG.8", "thmG.11"))


def _all_negative(theorem):
    problem = example_problem(theorem)
    return replace(problem, network=problem.network.replace(a=-np.abs(problem.network.a)))


def _losers_linger(evidence):
    """At the smallest scale the negative neurons are nine times as large as they were."""
    *others, smallest = evidence.other_scales
    forged = with_each_network(smallest, lambda k, n: n.replace(w=np.where(n.a[:, None] < 0.0, 9.0 * n.w, n.w)))
    return replace(evidence, other_scales=(*others, forged))


def centre_changed(evidence: Evidence, change: Change) -> Evidence:
    return with_record(evidence, network=change(evidence.recorded(MaximiserAndNeighbours).network))


def neighbours_changed(evidence: Evidence, change: Change) -> Evidence:
    neighbours = evidence.recorded(MaximiserAndNeighbours).neighbours
    return with_record(evidence, neighbours=tuple(change(network) for network in neighbours))


FORGERIES: Forgeries = {
    ("lemmaG.8", "losers"): Forgery(lambda e: in_sweep(e, lambda r: scaled_neurons(r, 9.0, at=ALL, sign=-1), at=-1)),
    ("lemmaG.8", "winners"): Forgery(lambda e: in_sweep(e, lambda r: scaled_output_weights(r, 0.5, at=ALL), at=0)),
    ("lemmaG.8", "embedding"): Forgery(lambda e: in_all_runs(e, in_reverse), also=("non-zero",)),
    ("lemmaG.8", "non-zero"): Forgery(lambda e: in_all_runs(e, lambda r: scaled_neurons(r, 0.001, at=second_half(r)))),
    ("thmG.11", "local-maximum"): Forgery(lambda e: centre_changed(e, stretched), also=("same-function",)),
    ("thmG.11", "same-function"): Forgery(lambda e: neighbours_changed(e, lambda n: scaled(n, 30.0))),
}

CASES = (
    TheoremCase(
        "lyu2021:lemmaG.8",
        forge=_losers_linger,
        failing="some-positive",
        inapplicable=lambda: _all_negative(LEMMA_G_8),
    ),
    TheoremCase(
        "lyu2021:thmG.11",
        forge=lambda evidence: with_record(
            evidence, network=Network([[0.65, 0.27]] * 6, np.full(6, 0.3), leak=evidence.leak)
        ),
        failing="lyu-a5-star",
        inapplicable=lambda: example_problem(THEOREM_G_11, "lyu-counterexample"),
    ),
)


test_holds_and_a_forgery_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


@pytest.mark.parametrize(("name", "gain"), [("lyu-counterexample", 0.05), ("lyu-counterexample-mild", 0.003)])
def test_erratum_e4_with_a5_alone_a_nearby_network_is_better(name, gain):
    """A.5 holds, A.5* fails: among networks of the same signs within 0.05 some have a margin above gamma^+/2."""
    printed = replace(
        THEOREM_G_11,
        hypotheses=tuple(
            assumed(assumption_named("lyu-a5")) if h.name == "lyu-a5-star" else h for h in THEOREM_G_11.hypotheses
        ),
    )
    verdict = check(printed, example_problem(printed, name))
    assert verdict.kind is VerdictKind.FAILS
    assert verdict.failing_conclusions == ("local-maximum",)
    assert verdict.conclusion("local-maximum").measured > gain


@pytest.mark.parametrize("name", ["lyu-hinted", "lyu-middle"])
def test_the_one_neuron_network_is_a_local_maximum_elsewhere_too(name):
    problem = example_problem(THEOREM_G_11, name, seed=1)
    assert check(THEOREM_G_11, problem).kind is VerdictKind.HOLDS


def test_the_limit_of_small_scales_is_the_flow_of_one_neuron():
    """Lemma G.8, Eqs. (67), (68): a single neuron from r b (mu-bar^+, 1), r = 1e-6, against sigma = 1e-11."""
    own = own_problem(LEMMA_G_8)
    evidence = gather(LEMMA_G_8, replace(own, network=own.network.scaled(-np.log(1e3))))
    smallest = evidence.other_scales[-1]
    cone, m = correct_cone(smallest), smallest.network.num_neurons
    start = stacked(smallest.run.snapshots[0].network, cone)
    sigma = np.exp(smallest.network.log_scale) * np.sqrt(cone.factor)
    positive = smallest.network.a > 0.0
    unit = cone.mean(1.0) / np.linalg.norm(cone.mean(1.0))
    b = (start[positive, :-1] @ unit + start[positive, -1]) / (2.0 * np.sqrt(m) * sigma)
    size, r = np.linalg.norm(b), 1e-6
    single = Network(size * unit[None], [size], leak=0.5, log_scale=np.log(r) - 0.5 * np.log(cone.factor))
    time = np.log(1.0 / r) / cone.growth(1)
    run = train(
        TrainingProblem(smallest.dataset, smallest.loss, single), EventDrivenFlow(), until=AtTime(time), times=[time]
    )
    one = stacked(run.snapshots[-1].network, cone)[0]
    predicted = (b / size)[:, None] * one
    found = stacked(smallest.run.snapshots[2].network, cone)[positive]
    assert m_norm(found - predicted) < 0.02 * m_norm(predicted)  # negative neurons are still sigma^0.2 = 1/60


def test_the_embedding_keeps_function_norm_and_flow():
    data = load("lyu-counterexample-sharp")
    two = Network([[0.3, 0.1], [0.0, 0.0]], [np.hypot(0.3, 0.1), 0.0], leak=0.5)
    many = extended_embedding(two, [0.2, 0.0, 0.5, 0.1])
    assert many.outputs(data.X) == pytest.approx(two.outputs(data.X), rel=1e-14)
    assert many.squared_norm() == pytest.approx(two.squared_norm(), rel=1e-14)
    ends = []
    for network in (two, many):
        problem = TrainingProblem(data, loss_named("logistic"), network)
        ends.append(
            train(problem, EventDrivenFlow(), until=AtTime(5.0), times=[5.0]).snapshots[-1].network.materialized()
        )
    again = extended_embedding(ends[0], [0.2, 0.0, 0.5, 0.1])
    assert np.allclose(again.w, ends[1].w, atol=1e-9)
    assert np.allclose(again.a, ends[1].a, atol=1e-9)


def test_an_embedded_kkt_direction_is_a_kkt_direction():
    data = load("lyu-counterexample-sharp")
    two = Network([[np.sqrt(0.5), 0.0], [0.0, 0.0]], [np.sqrt(0.5), 0.0], leak=0.5)
    assert kkt_certificate(extended_embedding(two, [1.0, 2.0, 0.0]), data).residual < 1e-9


def test_an_incompatible_vector_is_refused():
    two = Network([[1.0], [-1.0]], [1.0, -1.0])
    with pytest.raises(InvalidInputError, match="`b` must have a negative entry, got none"):
        extended_embedding(two, [1.0, 0.0])
    with pytest.raises(InvalidInputError, match="in this order"):
        extended_embedding(two.permuted([1, 0]), [1.0, -1.0])
