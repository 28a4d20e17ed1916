"""Teacher, student and the hypotheses of the flow: read off the samples, and refused where they are broken."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from papers.lee2022.neurons import neuron_problem
from reluflow.errors import InvalidInputError
from reluflow.papers.lee2022.teacher_and_student import start, student, teacher
from reluflow.papers.lee2022.theorems.population_model import sample_p_values
from reluflow.theory.check import check, example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import own_problem


@pytest.mark.parametrize("q", [0, 1, 3])
def test_teacher_and_student_are_recovered_from_the_samples(q):
    evidence = Evidence(neuron_problem(q, 0.5, 2.0, teacher=1.4), parameters={"q": q})
    assert teacher(evidence).norm == pytest.approx(1.4, rel=1e-12)
    assert teacher(evidence).outputs(evidence.dataset.X) == pytest.approx(evidence.dataset.y, abs=1e-12)
    assert start(evidence).phi == pytest.approx(2.0, abs=1e-12)
    assert start(evidence).magnitude == pytest.approx(0.7, rel=1e-14)
    assert student(evidence).v == pytest.approx(np.full(q, 0.7), rel=1e-14)


def test_the_registered_student_is_not_parallel_to_the_registered_teacher():
    """Regression: with one seed for both the student used to be the teacher's own first draw, so phi_0 was pi."""
    theorem = theorem_named("lee2022:thm3.8")
    problem = example_problem(theorem, "lee-single-neuron:n=300,d=6")
    neuron = start(Evidence(problem, parameters={"q": 2.0}))
    assert 0.1 < neuron.gap < 3.0


def test_a_fraction_of_a_layer_is_refused():
    theorem = theorem_named("lee2022:thm3.8")
    with pytest.raises(InvalidInputError, match=r"whole number of scalar layers, got 1\.5"):
        check(theorem, own_problem(theorem), q=1.5)


def test_an_unbalanced_scalar_layer_is_named():
    theorem = theorem_named("lee2022:thm3.9")
    problem = own_problem(theorem)
    verdict = check(theorem, replace(problem, network=problem.network.replace(a=2.0 * problem.network.a)), q=1)
    assert verdict.failing_hypotheses == ("single-neuron",)


def test_gaussian_samples_are_accepted_and_others_refused():
    """Level 1e-4: of 200 Gaussian samples of many shapes none is refused; four other laws all are."""
    rng = np.random.default_rng(4)
    for n, d in ((3, 2), (20, 5), (200, 3), (400, 30)):
        for _ in range(50):
            assert min(sample_p_values(rng.standard_normal((n, d))).values()) > 1e-4 / 4
    n, d = 400, 4
    gaussian = rng.standard_normal((n, d))
    correlated = gaussian.copy()
    correlated[:, 1] = 0.6 * gaussian[:, 0] + 0.8 * gaussian[:, 1]
    for X in (gaussian + 0.5, 1.3 * gaussian, correlated, np.sqrt(3.0) * rng.uniform(-1.0, 1.0, (n, d))):
        assert min(sample_p_values(X).values()) < 1e-4 / 4


def test_three_points_that_no_neuron_labels():
    verdict = check(theorem_named("lee2022:thm3.2"), example_problem(theorem_named("lee2022:thm3.2"), "three-points"))
    assert verdict.kind is VerdictKind.NOT_APPLICABLE
    assert "lee-realizable" in verdict.failing_hypotheses
