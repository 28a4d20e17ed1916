"""Props. 9, 11, 12, 25 to 27, Cors. 10 and 15, Remark 38(i): the contract, and second ways to their numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forging import (
    ALL,
    Forgeries,
    Forgery,
    rotation,
    scaled_losses,
    scaled_neurons,
    turned,
    with_record,
)
from reluflow.dynamics.descent.gradient_descent import GradientDescent
from reluflow.papers.chistikov2023.theorems.bundle import Bundle
from reluflow.papers.chistikov2023.theorems.norms_of_interpolators import Interpolators
from reluflow.papers.chistikov2023.theorems.points_of_s import (
    PointsOfS,
    least_cosine_with_pull,
    printed_cosine_with_pull,
)
from reluflow.papers.chistikov2023.theorems.polar_form import NUM_NODES, squared_speed
from reluflow.papers.chistikov2023.theorems.scene import scene
from reluflow.papers.chistikov2023.theorems.yardstick_laws import MovedNeurons, RandomYardsticks
from reluflow.theory.check import check, example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.gather import gather
from reluflow.theory.registry import theorem_named
from theorem_cases import TheoremCase, contract, own_problem


def _wide_angles(key):
    """Labels of three-points are those of no neuron within 45 degrees."""
    return lambda: example_problem(theorem_named(key), "three-points")


def _unbalanced():
    problem = own_problem(theorem_named("chistikov2023:prop1"))
    return replace(problem, network=problem.network.replace(a=1.1 * problem.network.a))


LATE_EDGE = (NUM_NODES + 1) * 28  # the state at the end of a late stretch, which is no node of it


def interpolators_scaled(evidence: Evidence, factor: float) -> Evidence:
    return with_record(evidence, a=factor * evidence.recorded(Interpolators).a)


def opposite_samples(evidence: Evidence) -> Evidence:
    """Two samples that cancel each other's pull."""
    found = evidence.recorded(MovedNeurons)
    X = found.X.copy()
    X[1] = -X[0] * found.y[0] / found.y[1]
    return with_record(evidence, X=X)


def along_one_of_two_orthogonal(evidence: Evidence) -> Evidence:
    """Orthogonal samples, and at the start every neuron along the first of them."""
    found = evidence.recorded(MovedNeurons)
    w = found.w.copy()
    w[0] = np.linalg.norm(found.w[0], axis=1)[:, None] * np.eye(2)[0]
    return with_record(evidence, X=np.eye(2), w=w)


def moved_shorter(evidence: Evidence, shift: float) -> Evidence:
    """The neurons at the last time shorter by a factor."""
    logs = evidence.recorded(MovedNeurons).log_norms.copy()
    logs[-1] -= shift
    return with_record(evidence, log_norms=logs)


def turned_at_crossings(evidence: Evidence) -> Evidence:
    """Neurons a little aside of the wall that they meet."""
    found = evidence.recorded(MovedNeurons)
    w = found.w.copy()
    for step in np.flatnonzero(found.meets[:, 0] >= 0):
        w[step, found.meets[step, 0]] = w[step, found.meets[step, 0]] @ rotation(1e-6, 2).T
    return with_record(evidence, w=w)


def negative_along_gamma(evidence: Evidence) -> Evidence:
    """At the start every neuron of J_- along gamma."""
    found = evidence.recorded(MovedNeurons)
    w, gamma = found.w.copy(), found.y @ found.X
    lengths = np.linalg.norm(w[0], axis=1)[:, None]
    w[0] = np.where(found.signs[:, None] < 0, lengths * gamma / np.linalg.norm(gamma), w[0])
    return with_record(evidence, w=w)


def two_at_once(evidence: Evidence) -> Evidence:
    """The first yardstick with two crossings has both at one time."""
    paths = list(evidence.recorded(RandomYardsticks).paths)
    first = next(k for k, path in enumerate(paths) if len(path.times) > 2)
    times = paths[first].times.copy()
    times[2] = times[1]
    paths[first] = replace(paths[first], times=times)
    return with_record(evidence, paths=tuple(paths))


def points_reflected(evidence: Evidence) -> Evidence:
    return with_record(evidence, V=-evidence.recorded(PointsOfS).V)


def points_aside(evidence: Evidence) -> Evidence:
    """Points 51 degrees from the teacher, before all samples."""
    found = evidence.recorded(PointsOfS)
    aside = rotation(0.9, 2) @ evidence.facts.least_squares
    return with_record(evidence, V=np.tile(0.1 * aside, (len(found.V), 1)))


FORGERIES: Forgeries = {
    ("remark38i", "fits"): Forgery(lambda e: interpolators_scaled(e, 1.001)),
    ("remark38i", "norm"): Forgery(lambda e: interpolators_scaled(e, 0.9), also=("fits",)),
    ("remark38i", "root"): Forgery(lambda e: interpolators_scaled(e, 0.5), also=("fits", "norm")),
    ("prop9", "fall"): Forgery(lambda e: scaled_losses(e, 1.01, at=ALL)),
    ("cor10", "norm"): Forgery(lambda e: scaled_neurons(e, 1.001, at=LATE_EDGE)),
    ("cor10", "direction"): Forgery(lambda e: turned(e, 0.01, at=LATE_EDGE)),
    ("prop11", "pull"): Forgery(opposite_samples, also=("length",)),
    ("prop11", "towards"): Forgery(lambda e: with_record(e, y=-e.recorded(MovedNeurons).y)),
    ("prop11", "not-along"): Forgery(along_one_of_two_orthogonal),
    ("prop11", "length"): Forgery(lambda e: moved_shorter(e, 9.0)),
    ("prop12", "continuous"): Forgery(turned_at_crossings),
    ("prop12", "rises"): Forgery(lambda e: moved_shorter(e, 1.0)),
    ("prop12", "negative-start"): Forgery(negative_along_gamma),
    ("cor15", "alone"): Forgery(two_at_once),
    ("prop25", "ball"): Forgery(points_reflected),
    ("prop26", "cosine"): Forgery(points_reflected),
    ("prop27", "samples"): Forgery(points_reflected, also=("teacher",)),
    ("prop27", "teacher"): Forgery(points_aside),
}

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


test_holds_and_forged_evidence_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


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
