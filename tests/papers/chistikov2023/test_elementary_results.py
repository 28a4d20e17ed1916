"""Props. 9, 11, 12, 25 to 27, Cors. 10 and 15, Remark 38(i): the contract, and second ways to their numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from reluflow.dynamics.descent.gradient_descent import GradientDescent
from reluflow.papers.chistikov2023.theorems.bundle import Bundle
from reluflow.papers.chistikov2023.theorems.points_of_s import (
    PointsOfS,
    least_cosine_with_pull,
    printed_cosine_with_pull,
)
from reluflow.papers.chistikov2023.theorems.polar_form import squared_speed
from reluflow.papers.chistikov2023.theorems.scene import scene
from reluflow.papers.chistikov2023.theorems.yardstick_laws import MovedNeurons
from reluflow.theory.check import check, example_problem
from reluflow.theory.gather import gather
from reluflow.theory.registry import theorem_named
from theorem_cases import TheoremCase, contract, own_problem


def _wide_angles(key):
    """Labels of three-points are those of no neuron within 45 degrees."""
    return lambda: example_problem(theorem_named(key), "three-points")


def _unbalanced():
    problem = own_problem(theorem_named("chistikov2023:prop1"))
    return replace(problem, network=problem.network.replace(a=1.1 * problem.network.a))


CASES = (
    *(TheoremCase(f"chistikov2023:{key}", failing="balanced", inapplicable=_unbalanced) for key in ("prop9", "cor10")),
    *(
        TheoremCase(key, failing="correlated-teacher", inapplicable=_wide_angles(key))
        for key in (
            "chistikov2023:prop11",
            "chistikov2023:prop12",
            "chistikov2023:cor15",
            "chistikov2023:prop25",
            "chistikov2023:prop26",
            "chistikov2023:prop27",
            "chistikov2023:remark38i",
        )
    ),
)


test_holds_and_forged_evidence_fails, test_names_the_failing_hypothesis = contract(CASES)


def test_the_squared_speed_is_that_of_the_gradient():
    """Held against central differences of the loss in every weight."""
    theorem = theorem_named("chistikov2023:prop9")
    evidence = gather(theorem, own_problem(theorem))
    for state in evidence.run.snapshots[5::60]:
        network, X, step = state.network.materialized(), evidence.dataset.X, 1e-6
        w, a, total = network.w, network.a, 0.0
        for j in range(len(a)):
            for k in range(w.shape[1] + 1):
                moved = []
                for sign in (1.0, -1.0):
                    other_w, other_a = w.copy(), a.copy()
                    if k < w.shape[1]:
                        other_w[j, k] += sign * step
                    else:
                        other_a[j] += sign * step
                    outputs = network.replace(w=other_w, a=other_a).outputs(X)
                    moved.append(evidence.problem.loss.total(outputs, evidence.dataset.y))
                total += ((moved[0] - moved[1]) / (2.0 * step)) ** 2
        assert squared_speed(evidence, state) == pytest.approx(total, rel=1e-3, abs=1e-12)


def test_points_of_S_lie_in_every_part_and_in_S():
    theorem = theorem_named("chistikov2023:prop27")
    problem = example_problem(theorem, "chistikov-minimal")
    verdict = check(theorem, problem, at_own_scale=True)
    assert verdict.kind == "holds", verdict.why
    assert min(verdict.constants["points_in_each_part"]) > 50
    evidence = theorem.recorded(gather(theorem, problem))
    here = scene(evidence)
    for V, part in zip(evidence.recorded(PointsOfS).V, evidence.recorded(PointsOfS).parts, strict=True):
        point = Bundle(here, 0.0, 0.0, V, np.zeros(3), 0.0)
        assert point.part == part
        assert point.slack(0.0) > 0.0


def test_erratum_E4_the_provable_constant_is_smaller_by_less_than_the_root_of_2():
    theorem = theorem_named("chistikov2023:prop26")
    for name in ("chistikov-plane", "chistikov-minimal", "chistikov-not-minimal"):
        evidence = gather(theorem, example_problem(theorem, name))
        quotient = printed_cosine_with_pull(evidence) / least_cosine_with_pull(evidence)
        assert 1.0 <= quotient < np.sqrt(2.0)


def test_the_moved_neurons_stand_on_the_wall_where_they_meet_a_sample():
    theorem = theorem_named("chistikov2023:prop12")
    found = theorem.recorded(gather(theorem, own_problem(theorem))).recorded(MovedNeurons)
    assert np.sum(found.meets[:, 0] >= 0) >= 2
    assert np.all(np.diff(found.times) > 0.0)


def test_descent_follows_up_to_the_order_of_its_step():
    theorem = theorem_named("chistikov2023:prop1")
    problem = example_problem(theorem)
    problem = replace(problem, network=problem.network.scaled(4.0))
    verdict = check(theorem, problem, solver=GradientDescent(lr=0.01, iterations=100_000))
    assert verdict.kind == "holds", verdict.why
    assert verdict.hypothesis("descent-follows").holds
