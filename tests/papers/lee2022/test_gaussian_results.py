"""Lemma 2.1, Propositions B.1, B.2 and C.1: expectations, uniqueness, random directions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forging import Forgeries, Forgery, with_record
from papers.lee2022.tampering import Change, plus, recorded, times
from reluflow.data.dataset import Dataset, Task
from reluflow.papers.lee2022.single_neuron import (
    printed_intermediate_bound,
    relu_kernel,
    two_half_space_moment,
)
from reluflow.papers.lee2022.single_neuron.random_directions import cosine_tail, cosine_tail_bound
from reluflow.papers.lee2022.teacher_and_student import teacher
from reluflow.papers.lee2022.theorems.gaussian_moments import (
    ActiveArc,
    ArcAndSamples,
    planar_squares,
    quadrature_moment,
)
from reluflow.papers.lee2022.theorems.unique_minimum import FitsAndProbes, perfect_fits
from reluflow.theory.check import check, example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.gather import gather
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import TheoremCase, contract, own_problem

PROP_B_2 = theorem_named("lee2022:propB.2")


def not_gaussian(key):
    problem = own_problem(theorem_named(key))
    X = np.sign(problem.dataset.X)
    return replace(problem, dataset=Dataset(X, np.maximum(X[:, 0], 0.0), task=Task.REGRESSION))


def one_dimension():
    return example_problem(theorem_named("lee2022:propC.1"), "one-point")


def a_probe_at_a_fit(evidence: Evidence) -> Evidence:
    """One of the points around the teacher is the teacher itself, where the loss vanishes."""
    own = teacher(evidence).product * teacher(evidence).w
    return with_record(evidence, probes=np.vstack([evidence.recorded(FitsAndProbes).probes, own]))


def arc_changed(evidence: Evidence, **changes: Change) -> Evidence:
    """Other nodes or weights on the arc where both neurons are active."""
    arc = evidence.recorded(ArcAndSamples).arc
    other = replace(arc, **{name: change(getattr(arc, name)) for name, change in changes.items()})
    return with_record(evidence, arc=other)


FORGERIES: Forgeries = {
    ("lemma2.1", "matrix"): Forgery(lambda e: arc_changed(e, angles=plus(1e-8))),
    ("lemma2.1", "kernel"): Forgery(lambda e: arc_changed(e, angles=plus(1e-3)), also=("matrix",)),
    ("lemma2.1", "eigenvalues"): Forgery(
        lambda e: arc_changed(e, weights=times(1.0 + 1e-6)), also=("matrix", "kernel")
    ),
    ("lemma2.1", "sample"): Forgery(recorded(samples=times(2.0))),
    ("propB.1", "speed"): Forgery(recorded(squares=plus(1e-6))),
    ("propB.1", "sample"): Forgery(recorded(samples=times(2.0))),
    ("propB.2", "unique"): Forgery(recorded(fits=times(10.0))),
    ("propB.2", "growth"): Forgery(a_probe_at_a_fit),
    ("propC.1", "two-sided"): Forgery(recorded(cosines=lambda c: -(np.abs(c) ** 0.01)), also=("draws",)),
    ("propC.1", "one-sided"): Forgery(recorded(cosines=lambda c: np.abs(c) ** 0.01), also=("two-sided", "draws")),
    ("propC.1", "draws"): Forgery(recorded(cosines=np.abs)),
}

CASES = (
    TheoremCase(
        "lee2022:lemma2.1",
        forge=lambda evidence: with_record(evidence, arc=ActiveArc.at(0.0)),
        failing="lee-gaussian",
        inapplicable=lambda: not_gaussian("lee2022:lemma2.1"),
    ),
    TheoremCase(
        "lee2022:propB.1",
        forge=lambda evidence: with_record(evidence, squares=np.full(20, 0.5)),
        failing="lee-gaussian",
        inapplicable=lambda: not_gaussian("lee2022:propB.1"),
    ),
    TheoremCase(
        "lee2022:propB.2",
        forge=lambda evidence: with_record(evidence, fits=perfect_fits(evidence) + 1e-3),
        failing="lee-unique-minimum",
        inapplicable=lambda: example_problem(PROP_B_2, "lee-flat-minimum"),
    ),
    TheoremCase(
        "lee2022:propC.1",
        forge=lambda evidence: with_record(evidence, cosines=np.ones(20_000)),
        failing="dimension",
        inapplicable=one_dimension,
    ),
)


test_holds_and_forged_evidence_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


@pytest.mark.parametrize("theta", [0.2, 1.0, np.pi / 2, 2.5, 3.0])
def test_moments_by_quadrature_and_by_drawing(theta):
    """The closed form against quadrature to rounding and against 200,000 draws, for the published angles."""
    u, v = np.array([1.0, 0.0, 0.0]), np.array([np.cos(theta), np.sin(theta), 0.0])
    exact = two_half_space_moment(u, v)
    assert np.max(np.abs(exact - quadrature_moment(u, v, ActiveArc.at(theta)))) < 1e-14
    X = np.random.default_rng(1).standard_normal((200_000, 3))
    both = (X @ u > 0) & (X @ v > 0)
    assert np.max(np.abs((X * both[:, None]).T @ X / len(X) - exact)) < 6.0 * np.sqrt(3.0 / len(X))
    kernel = np.mean(np.maximum(X @ u, 0.0) * np.maximum(X @ v, 0.0))
    assert relu_kernel(u, v) == pytest.approx(kernel, abs=6.0 * np.sqrt(3.0 / len(X)))


@pytest.mark.parametrize("d", [3, 4, 7, 50])
def test_sphere_factor(d):
    squares, weights = planar_squares(d)
    assert weights @ squares / weights.sum() == pytest.approx(2.0 / d, rel=1e-12)


def test_full_rank_covariance_and_zero_mean_do_not_make_the_minimum_unique():
    """Erratum E7: three points with both, on which every (1, s), |s| <= 1/2, has zero loss."""
    problem = example_problem(PROP_B_2, "lee-flat-minimum")
    X, y = problem.dataset.X, problem.dataset.y
    assert np.linalg.norm(X.mean(axis=0)) < 1e-15
    assert np.linalg.eigvalsh(X.T @ X / 3.0)[0] > 0.4
    for s in (-0.5, 0.0, 0.3, 0.5):
        assert np.maximum(X @ [1.0, s], 0.0) == pytest.approx(y, abs=1e-15)
    fits = perfect_fits(Evidence(problem, parameters={}))
    assert np.ptp(fits[:, 1]) == pytest.approx(1.0, abs=1e-9)
    verdict = check(PROP_B_2, problem)
    assert verdict.kind is VerdictKind.NOT_APPLICABLE
    assert PROP_B_2.conclusions[1].measure(PROP_B_2.recorded(Evidence(problem))).holds is False


def test_the_intermediate_step_of_proposition_c_1_fails_for_small_d():
    """Erratum E8: (1 - eps^2)^(d/2) is below the probability for small d and large eps; the exponential is not."""
    eps = np.linspace(0.02, 0.98, 60)
    broken = [(d, e) for d in range(2, 31) for e in eps if cosine_tail(d, e) > printed_intermediate_bound(d, e)]
    assert broken
    assert max(d for d, _ in broken) <= 10
    for d in range(2, 31):
        assert np.all(cosine_tail(d, eps) <= 0.5 * cosine_tail_bound(d, eps))


def test_lemma_2_1_in_high_dimension():
    theorem = theorem_named("lee2022:lemma2.1")
    evidence = gather(theorem, example_problem(theorem, "lee-single-neuron:n=1000,d=40,layers=0"))
    verdict = theorem.check(evidence)
    assert verdict.kind is VerdictKind.HOLDS, verdict.why
