"""Lemmas 11 to 14: the contract, the budget's sharpness, and erratum E14."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from forging import (
    Forgeries,
    Forgery,
    in_reverse,
    with_record,
)
from papers.boursier2024.tampering import with_vectors
from reluflow.data.dataset import Dataset
from reluflow.dynamics.problem import TrainingProblem
from reluflow.losses import SquareLoss
from reluflow.network import Network
from reluflow.papers.boursier2024.theorems import critical_cones as cones
from reluflow.papers.boursier2024.theorems.alignment_regime import constants_of
from reluflow.papers.boursier2024.theorems.critical_cones import SmallOutputs
from reluflow.theory.check import check, example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import TheoremCase, contract, with_each_network

LEMMA_11, LEMMA_14, LEMMA_12, LEMMA_13 = (
    theorem_named(f"boursier2024:{name}") for name in ("lemma11", "lemma14", "lemma12", "lemma13")
)


def _outputs_times(factor):
    """Outputs beyond the budget."""

    def forge(evidence):
        outputs = cones.random_outputs(evidence, keep_signs=False)
        return replace(evidence, record=cones.SmallOutputs(factor * outputs))

    return forge


def _one_neuron_turns_round(evidence):
    last = len(evidence.run.snapshots) - 1
    return with_each_network(evidence, lambda k, network: network.replace(w=-network.w) if k == last else network)


def beyond_the_budget(evidence: Evidence) -> Evidence:
    outputs = evidence.recorded(SmallOutputs).outputs
    assert outputs is not None
    return with_record(evidence, outputs=10.0 * outputs)


FORGERIES: Forgeries = {
    ("lemma11", "sides"): Forgery(beyond_the_budget),
    ("lemma12", "one-sign"): Forgery(beyond_the_budget),
    ("lemma13", "frozen"): Forgery(in_reverse),
    ("lemma14", "quantised"): Forgery(lambda e: with_vectors(e, lambda v: replace(v, sides=-v.sides))),
}

CASES = (
    TheoremCase(
        "boursier2024:lemma11",
        forge=_outputs_times(20.0),
        failing="general-position",
        inapplicable=lambda: example_problem(LEMMA_11, "orthogonal-triple"),
    ),
    TheoremCase(
        "boursier2024:lemma12",
        forge=_outputs_times(40.0),
        failing="no-saddle",
        inapplicable=lambda: example_problem(LEMMA_12, "relu-teacher:n=2,d=4"),
    ),
    TheoremCase(
        "boursier2024:lemma13",
        forge=_one_neuron_turns_round,
        failing="no-saddle",
        inapplicable=lambda: example_problem(LEMMA_13, "relu-teacher:n=2,d=4"),
    ),
    TheoremCase(
        "boursier2024:lemma14",
        forge=lambda evidence: with_record(
            evidence, vectors=replace(evidence.facts.extremal, sides=-evidence.facts.extremal.sides)
        ),
        failing="general-position",
        inapplicable=lambda: example_problem(LEMMA_14, "orthogonal-triple"),
    ),
)


test_holds_and_a_forged_run_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


def _problem(seed, n, d, leak=0.0):
    rng = np.random.default_rng(seed)
    dataset = Dataset(rng.standard_normal((n, d)), rng.standard_normal(n))
    return TrainingProblem(dataset, SquareLoss(), Network(np.eye(d), np.ones(d), leak=leak, log_scale=-10.0))


@settings(max_examples=12)
@given(seed=st.integers(0, 10_000), n=st.integers(2, 4), d=st.integers(2, 3), leak=st.sampled_from([0.0, 0.3]))
def test_stability_and_quantisation_hold_on_random_data(seed, n, d, leak):
    problem = _problem(seed, n, d, leak)
    for theorem in (LEMMA_11, LEMMA_14):
        verdict = check(theorem, problem, **({"draws": 4.0} if theorem.parameters else {}))
        assert verdict.kind is VerdictKind.HOLDS, verdict.why


@settings(max_examples=12)
@given(seed=st.integers(0, 10_000), n=st.integers(2, 4), leak=st.sampled_from([0.0, 0.3]))
def test_lemma_12_holds_in_the_plane(seed, n, leak):
    """There is no saddle of either kind in the plane, so Lemma 12 always applies, if only to no critical cone."""
    verdict = check(LEMMA_12, _problem(seed, n, 2, leak), draws=4.0)
    is_empty = verdict.conclusion("one-sign").is_empty
    assert verdict.kind is (VerdictKind.INCONCLUSIVE if is_empty else VerdictKind.HOLDS), verdict.why


def test_lemma_11_budget_cannot_be_dropped():
    """Outputs of twenty times the budget take an extremal vector out of its cone."""
    problem = example_problem(LEMMA_11)
    evidence = Evidence(problem, parameters=LEMMA_11.parameter_values({}))
    outputs = cones.random_outputs(evidence, keep_signs=False)
    verdicts = {
        factor: LEMMA_11.check(replace(evidence, record=cones.SmallOutputs(factor * outputs))).kind
        for factor in (1.0, 20.0)
    }
    assert verdicts == {1.0: VerdictKind.HOLDS, 20.0: VerdictKind.FAILS}
    budget = np.abs(outputs) @ evidence.facts.norms * problem.loss.sample_weight(problem.dataset.n)
    assert np.max(budget) < constants_of(evidence).delta_0


def test_erratum_e14_saddles_on_the_dead_cone_break_lemma_12_as_printed():
    """Mixed labels, ReLU, d = 3: no extremal vector is a saddle, yet around a face with D_u = 0 both signs occur."""
    problem = example_problem(LEMMA_12, "random-labels:n=3,d=3")
    corrected = check(LEMMA_12, problem)
    assert corrected.kind is VerdictKind.NOT_APPLICABLE
    assert corrected.failing_hypotheses == ("no-dead-saddle",)
    kept = tuple(h for h in LEMMA_12.hypotheses if h.name != "no-dead-saddle")
    printed = check(replace(LEMMA_12, hypotheses=kept), problem)
    assert all(h.holds for h in printed.hypotheses)
    assert printed.failing_conclusions == ("one-sign",)
    assert printed.conclusion("one-sign").measured > 1e-3


def test_dual_vectors_are_dual():
    X = np.random.default_rng(0).standard_normal((2, 4))
    assert np.allclose(cones.dual_vectors(X) @ X.T, np.eye(2), atol=1e-14)


def test_normal_slopes_decide_every_direction_across_the_cone():
    """<v, D_{u(v)}> for random v orthogonal to the cone lies between the extremes of the finite list, scaled by v."""
    problem = _problem(5, 4, 3)
    evidence = Evidence(problem, parameters={"draws": 2.0})
    table = cones.cone_table(evidence)
    rng = np.random.default_rng(1)
    checked = 0
    for pattern in table.patterns[(table.sides != 0) & (np.sum(table.patterns == 0, axis=1) == 1)]:
        zeros = pattern == 0
        slopes = cones.normal_slopes(evidence, pattern, np.zeros(4))
        for _ in range(5):
            v = rng.standard_normal() * problem.dataset.X[zeros][0]
            around = np.where(zeros, np.sign(problem.dataset.X @ v), pattern).astype(np.int8)
            value = v @ cones._bent(evidence, around[None], np.zeros(4))[0]
            size = np.abs(problem.dataset.X[zeros] @ v)[0]
            assert np.min(np.abs(slopes * size - value)) < 1e-12
            checked += 1
    assert checked > 0
