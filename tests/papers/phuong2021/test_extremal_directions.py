"""Definitions 1 and 2, Lemmas 2, A.1 and A.2: the extremal directions of orthogonally separable data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forging import (
    Forgeries,
    Forgery,
    rotation,
    with_record,
)
from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.dynamics.problem import TrainingProblem
from reluflow.geometry.landscape import alignment_potential
from reluflow.losses import LogisticLoss
from reluflow.papers.phuong2021.theorems.extremal_directions import Displacements, ExtremalDirections, StatedExtrema
from reluflow.papers.phuong2021.theorems.sectors import aggregate, extremal_sector, sector_of, strict_extrema
from reluflow.theory.check import check, example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import TheoremCase, contract, own_problem

LEMMA_2 = theorem_named("phuong2021:lemma2")


def not_orthogonally_separable():
    return example_problem(LEMMA_2, Dataset([[1.0, 0.0], [-0.5, 1.0], [0.3, -1.0]], [1, 1, -1]))


def leaky(key):
    problem = own_problem(theorem_named(key))
    return replace(problem, network=problem.network.replace(leak=0.2))


def stated_direction_turned(evidence: Evidence, index: int) -> Evidence:
    """The stated maximum or minimum lies elsewhere."""
    directions = list(evidence.recorded(StatedExtrema).directions)
    directions[index] = rotation(0.1, evidence.dataset.d) @ directions[index]
    return with_record(evidence, directions=tuple(directions))


def stated_sector_mirrored(evidence: Evidence) -> Evidence:
    positive, negative = evidence.recorded(StatedExtrema).sectors
    return with_record(evidence, sectors=(-positive, negative))


def directions_off_the_extrema(evidence: Evidence) -> Evidence:
    vectors = evidence.recorded(ExtremalDirections).vectors
    return with_record(evidence, vectors=vectors @ rotation(0.1, evidence.dataset.d).T)


def steps_beyond_the_boundary(evidence: Evidence) -> Evidence:
    """Lemma A.2 speaks of steps up to eps_max, after which a sample changes its side."""
    cases = evidence.recorded(Displacements).cases
    return with_record(evidence, cases=tuple(replace(case, step=8.0 * case.step) for case in cases))


FORGERIES: Forgeries = {
    ("lemma2", "one-maximum"): Forgery(lambda e: stated_direction_turned(e, 0), also=("ascent",)),
    ("lemma2", "one-minimum"): Forgery(lambda e: stated_direction_turned(e, 1), also=("ascent",)),
    ("lemma2", "sectors"): Forgery(stated_sector_mirrored),
    ("lemma2", "ascent"): Forgery(lambda e: stated_direction_turned(e, 0), also=("one-maximum",)),
    ("lemmaA.1", "eigen"): Forgery(directions_off_the_extrema),
    ("lemmaA.2", "expansion"): Forgery(steps_beyond_the_boundary),
}

CASES = (
    TheoremCase(
        "phuong2021:lemma2",
        failing="orthogonally-separable",
        inapplicable=not_orthogonally_separable,
    ),
    TheoremCase(
        "phuong2021:lemmaA.1",
        failing="relu",
        inapplicable=lambda: leaky("phuong2021:lemmaA.1"),
    ),
    TheoremCase(
        "phuong2021:lemmaA.2",
        failing="relu",
        inapplicable=lambda: leaky("phuong2021:lemmaA.2"),
    ),
)


test_holds_and_forged_evidence_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


@pytest.mark.parametrize("name", ["phuong-toy", "phuong-dead-cone", "orthogonally-separable:n=7,d=3,mu=0.1"])
def test_lemma_2_holds_on_more_data(name):
    verdict = check(LEMMA_2, example_problem(LEMMA_2, name))
    assert verdict.kind is VerdictKind.HOLDS, verdict.why


@pytest.mark.parametrize("name", ["phuong-toy", "orthogonally-separable:n=7,d=3,mu=0.1", "three-points"])
def test_lemma_a_2_needs_no_separability(name):
    lemma = theorem_named("phuong2021:lemmaA.2")
    data = load(name)
    labels = np.where(data.y > 0, 1.0, -1.0)
    verdict = check(lemma, example_problem(lemma, Dataset(data.X, labels)))
    assert verdict.kind is VerdictKind.HOLDS, verdict.why


def test_toy_directions_and_potentials():
    """D_+ along (1, 1), D_- along -(2.6, 2.1), G = half the length of the class's sum: the closed-form toy."""
    verdict = check(LEMMA_2, example_problem(LEMMA_2))
    assert verdict.constants["direction_plus"] == pytest.approx(np.array([1.0, 1.0]) / np.sqrt(2.0), abs=1e-15)
    assert verdict.constants["direction_minus"] == pytest.approx(-np.array([2.6, 2.1]) / np.hypot(2.6, 2.1), abs=1e-15)
    assert verdict.constants["potential_plus"] == pytest.approx(0.5 * np.hypot(3.0, 3.0), rel=1e-14)
    assert verdict.constants["potential_minus"] == pytest.approx(-0.5 * np.hypot(2.6, 2.1), rel=1e-14)


def test_a_zero_in_the_sector_needs_exactly_orthogonal_classes():
    """Erratum P5: the 0 of Eq. (13) occurs for orthogonal classes, which the span assumption excludes."""
    data = Dataset([[1.0, 0.1, 0.0], [1.0, -0.1, 0.0], [0.0, 0.0, 1.0]], [1, 1, -1])
    assert extremal_sector(data, 1).tolist() == [1, 1, 0]
    problem = TrainingProblem(data, LogisticLoss(reduction="sum"), example_problem(LEMMA_2, data).network)
    evidence = Evidence(problem)
    assert sector_of(aggregate(evidence, 1), data.X).tolist() == [1, 1, 0]
    verdict = check(LEMMA_2, problem)
    assert verdict.conclusion("ascent").holds


def test_definition_2_wants_strict_extrema():
    """The enumeration's maxima are local maxima of G indeed: no random neighbour is higher."""
    evidence = Evidence(example_problem(LEMMA_2))
    X, forces = evidence.dataset.X, evidence.loss.label_forces(evidence.dataset.y)
    rng = np.random.default_rng(0)
    for sign in (1, -1):
        (peak,) = strict_extrema(evidence.facts.extremal, sign)
        near = peak + 0.05 * rng.standard_normal((500, 2))
        near /= np.linalg.norm(near, axis=1)[:, None]
        assert np.all(sign * alignment_potential(near, X, forces) < sign * alignment_potential(peak, X, forces))


def test_printed_step_of_lemma_2_fails_where_the_potential_is_not_positive():
    """Erratum P3: for x_+ = e_1, x_- = e_2 and w = (-a, b), moving along x_+ lowers G; the statement still stands."""
    X, forces = np.eye(2), np.array([0.5, -0.5])
    w = np.array([-0.2, np.sqrt(1.0 - 0.04)])
    moved = w + 0.1 * np.array([1.0, 0.0])
    moved /= np.linalg.norm(moved)
    assert alignment_potential(moved, X, forces) < alignment_potential(w, X, forces) < 0.0
    verdict = check(LEMMA_2, example_problem(LEMMA_2, Dataset(X, [1, -1])))
    assert verdict.kind is VerdictKind.HOLDS, verdict.why


def test_separable_data_need_not_lie_in_opposite_orthants():
    """Erratum P6: twelve unit vectors on a cone of half-angle 44 degrees have positive products, yet fit no orthant."""
    angles = np.arange(12) * np.pi / 6.0
    half = np.deg2rad(44.0)
    ring = np.column_stack([np.sin(half) * np.cos(angles), np.sin(half) * np.sin(angles), np.full(12, np.cos(half))])
    assert (ring @ ring.T).min() == pytest.approx(np.cos(2.0 * half), abs=1e-12)
    assert (ring @ ring.T).min() > 0.03
    # an orthant's axis is at most arccos sqrt(2/3) = 35.26 degrees from its faces
    assert half > np.arccos(np.sqrt(2.0 / 3.0))
    data = Dataset(np.vstack([ring, -ring]), np.repeat([1.0, -1.0], 12))
    assert check(LEMMA_2, example_problem(LEMMA_2, data)).kind is VerdictKind.HOLDS
