"""Lemmas 2, 3, 9 and 10 through the contract, on data that have densities and on forged ones that have not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forging import (
    Forgeries,
    Forgery,
    with_record,
)
from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.dynamics.problem import TrainingProblem
from reluflow.losses import SquareLoss
from reluflow.network import Network
from reluflow.papers.boursier2024.theorems.generic_data import MovedDatasets
from reluflow.theory.check import check, example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import TheoremCase, contract, own_problem

LEMMA_2, LEMMA_3, LEMMA_9, LEMMA_10 = (
    theorem_named(f"boursier2024:{name}") for name in ("lemma2", "lemma3", "lemma9", "lemma10")
)


def _without_half(theorem):
    problem = own_problem(theorem)
    return replace(problem, loss=SquareLoss(factor=2.0))


def _drawn(*datasets):
    return lambda evidence: replace(evidence, record=MovedDatasets(datasets))


NO_EXTREMAL_VECTOR = Dataset([[1.0], [-1.0]], [0.0, 0.0])  # nothing pulls
LEMMAS = (LEMMA_2, LEMMA_3, LEMMA_9, LEMMA_10)


def without_labels(evidence: Evidence) -> Evidence:
    """One of the moved datasets has no label but 0."""
    *others, last = evidence.recorded(MovedDatasets).datasets
    return with_record(evidence, datasets=(*others, Dataset(last.X, 0.0 * last.y)))


def orthogonal_samples(evidence: Evidence) -> Evidence:
    """Data that no density gives (erratum E13)."""
    return with_record(evidence, datasets=(load("orthogonal-triple"),))


FORGERIES: Forgeries = {
    ("lemma2", "generic"): Forgery(without_labels),
    ("lemma3", "exists"): Forgery(without_labels),
    ("lemma9", "positive"): Forgery(orthogonal_samples),
    ("lemma10", "positive"): Forgery(orthogonal_samples),
}

CASES = (
    TheoremCase(
        "boursier2024:lemma2",
        forge=_drawn(load("orthogonal-triple")),
        failing="boursier-a1",
        inapplicable=lambda: _without_half(LEMMA_2),
    ),
    TheoremCase(
        "boursier2024:lemma3",
        forge=_drawn(load("three-points"), NO_EXTREMAL_VECTOR),
        failing="boursier-a1",
        inapplicable=lambda: _without_half(LEMMA_3),
    ),
    TheoremCase(
        "boursier2024:lemma9",
        forge=_drawn(load("orthogonal-triple")),
        failing="boursier-a1",
        inapplicable=lambda: _without_half(LEMMA_9),
    ),
    TheoremCase(
        "boursier2024:lemma10",
        forge=_drawn(load("orthogonal-triple")),
        failing="boursier-a1",
        inapplicable=lambda: _without_half(LEMMA_10),
    ),
)


test_holds_and_a_forged_run_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


@pytest.mark.parametrize("theorem", LEMMAS, ids=lambda theorem: theorem.key)
@pytest.mark.parametrize("leak", [0.0, 0.3])
def test_orthogonal_data_are_generic_as_soon_as_they_are_moved(theorem, leak):
    """E13's data break Lemmas 2, 9, 10; any density around them mends it, with ReLU and with a leak."""
    problem = example_problem(theorem, "orthogonal-triple")
    network = Network(problem.network.w, problem.network.a, leak=leak)
    verdict = check(theorem, TrainingProblem(problem.dataset, problem.loss, network), spread=0.1)
    assert verdict.kind is VerdictKind.HOLDS, verdict.why
    if leak == 0.0:
        assert verdict.constants["delta_0_of_dataset"] == 0.0
        assert verdict.constants["alpha_min_of_dataset"] == 0.0
        assert verdict.constants["margin_of_dataset"] < 0.0


def test_same_seed_same_datasets():
    verdicts = [check(LEMMA_2, example_problem(LEMMA_2)) for _ in range(2)]
    assert verdicts[0].conclusion("generic").measured == verdicts[1].conclusion("generic").measured
