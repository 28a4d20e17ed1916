"""Lemmas G.1 and G.2, and the half-angle of erratum E15."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from forging import (
    Forgeries,
    Forgery,
    with_record,
)
from reluflow.data.dataset import Dataset
from reluflow.papers.lyu2021.theorems.early_constants import CorrectCone, correct_cone
from reluflow.papers.lyu2021.theorems.entering_the_cone import PrincipalDirection, principal_tangents
from reluflow.theory.check import check, example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import TheoremCase, contract

LEMMA_G_1, LEMMA_G_2 = (theorem_named(f"lyu2021:{name}") for name in ("lemmaG.1", "lemmaG.2"))


def principal_changed(evidence: Evidence, change: Callable[[np.ndarray], np.ndarray]) -> Evidence:
    return with_record(evidence, w=change(evidence.recorded(PrincipalDirection).w))


def k_of_a_flipped_label(evidence: Evidence) -> Evidence:
    """K is that of samples of which the last has the other label, which its own elements then misclassify."""
    cone = evidence.recorded(PrincipalDirection).cone
    flipped = np.where(np.arange(len(cone.rows)) == len(cone.rows) - 1, -1.0, 1.0)
    return with_record(evidence, cone=replace(cone, rows=flipped[:, None] * cone.rows))


def cone_changed(evidence: Evidence, **changes: Callable[[np.ndarray], np.ndarray]) -> Evidence:
    cone = evidence.recorded(CorrectCone)
    return with_record(evidence, **{name: change(getattr(cone, name)) for name, change in changes.items()})


FORGERIES: Forgeries = {
    ("lemmaG.1", "inequality"): Forgery(lambda e: principal_changed(e, lambda w: 10.0 * w)),
    ("lemmaG.1", "angle"): Forgery(lambda e: principal_changed(e, lambda w: -w), also=("inequality",)),
    ("lemmaG.1", "a2"): Forgery(k_of_a_flipped_label),
    ("lemmaG.2", "minimum"): Forgery(lambda e: cone_changed(e, extremes=lambda x: np.ones_like(x))),
    ("lemmaG.2", "equivalence"): Forgery(lambda e: cone_changed(e, rows=lambda z: 0.0 * z)),
}

CASES = (
    TheoremCase(
        "lyu2021:lemmaG.1",
        forge=lambda evidence: with_record(evidence, w=np.array([0.6, 0.8])),
        failing="principal-direction",
        inapplicable=lambda: example_problem(LEMMA_G_1, "lyu-ridge"),
    ),
    TheoremCase(
        "lyu2021:lemmaG.2",
        forge=lambda evidence: with_record(evidence, leak=0.0),
        failing="leaky",
        inapplicable=lambda: example_problem(LEMMA_G_2, "lyu-orthogonal"),
    ),
)


test_holds_and_a_forged_witness_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


def test_a1_implies_a2_on_random_data():
    rng = np.random.default_rng(0)
    kinds = []
    for _ in range(60):
        X = np.column_stack([rng.uniform(0.5, 3.0, 5), rng.normal(0.0, 0.3, (5, 2))])
        y = np.where(rng.random(5) < 0.5, -1.0, 1.0)
        verdict = check(LEMMA_G_1, example_problem(LEMMA_G_1, Dataset(y[:, None] * X, y)))
        kinds.append(verdict.kind)
        assert verdict.kind is not VerdictKind.FAILS, verdict.why
    assert kinds.count(VerdictKind.HOLDS) > 10
    assert kinds.count(VerdictKind.HOLDS) < 60


def test_erratum_e15_a2_does_not_imply_a1():
    """The paper calls A.1 the weaker assumption; here A.2 holds and no direction satisfies A.1."""
    data = Dataset([[1.0, 1.0], [1.0, -0.95], [2.0, 0.9]], [1.0, 1.0, 1.0])
    evidence = Evidence(example_problem(LEMMA_G_2, data))
    assert check(LEMMA_G_2, evidence.problem).constants["delta"] > 0.0
    best = -np.inf
    for angle in np.linspace(0.0, 2.0 * np.pi, 3601):
        w = np.array([np.cos(angle), np.sin(angle)])
        left, right = principal_tangents(evidence, w)
        best = max(best, right - left)
    assert best < 0.0


def test_erratum_e15_the_half_angle_as_printed_is_too_small():
    """K lies within arctan(left) < arctan(gamma/max|P x|) of w*, but not within the printed arcsin(gamma/max|x|)."""
    evidence = Evidence(example_problem(LEMMA_G_1))
    w = evidence.facts.separator.w
    left, right = principal_tangents(evidence, w)
    cone = correct_cone(evidence)
    vertices = np.where(cone.extremes, 1.0, cone.leak) @ cone.rows
    widest = np.max(np.arccos(np.clip(vertices @ w / np.linalg.norm(vertices, axis=1), -1.0, 1.0)))
    assert widest <= np.arctan(left) < np.arctan(right)
    printed = np.arcsin(np.min(evidence.dataset.y * (evidence.dataset.X @ w)) / np.max(evidence.facts.norms))
    assert widest > 10.0 * printed


@pytest.mark.parametrize("name", ["lyu-ridge", "lyu-symmetric", "lyu-middle", "lyu-counterexample-mild"])
def test_the_equivalence_where_a2_fails_and_where_it_holds(name):
    assert check(LEMMA_G_2, example_problem(LEMMA_G_2, name)).kind is VerdictKind.HOLDS
