"""Yardsticks by the paper's recursion against `geometry.align`, and the constants delta, Delta, T_0."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from forging import (
    LATER,
    Forgeries,
    Forgery,
    shifted_log_scale,
    with_record,
)
from papers.chistikov2023.tampering import one_neuron, teacher_scaled
from reluflow.geometry.alignment import END_NAMES, AlignedState, align, align_until
from reluflow.papers.chistikov2023 import data
from reluflow.papers.chistikov2023.theorems.delta_bounds import Yardsticks
from reluflow.papers.chistikov2023.theorems.scene import Scene
from reluflow.papers.chistikov2023.theorems.yardsticks import Yardstick, yardstick
from reluflow.theory.check import check, example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.registry import theorem_named
from theorem_cases import TheoremCase, contract, own_problem

PLANE = (
    np.array([(-1, 0.6), (0.6, -0.5), (0.2, 0.3), (0.5, 0.4), (-0.8, 0.6), (-1, -1), (-0.5, -0.9)]),
    np.array([1.0, 1.0, 1.0, -1.0, -1.0, 1.0, -1.0]),
)


def wide_angles(key):
    """Labels of three-points are those of no neuron within 45 degrees."""
    return lambda: example_problem(theorem_named(key), "three-points")


def unbalanced():
    problem = own_problem(theorem_named("chistikov2023:prop1"))
    return replace(problem, network=problem.network.replace(a=1.1 * problem.network.a))


def _case(name):
    key = f"chistikov2023:{name}"
    return TheoremCase(key, failing="correlated-teacher", inapplicable=wide_angles(key))


def one_unbalanced(evidence: Evidence) -> Evidence:
    return one_neuron(evidence, lambda n: n.replace(a=1.1 * n.a), 0, at=LATER)


def first_crossing(evidence: Evidence, *, other_sample: int = 0, later: float = 1.0) -> Evidence:
    """The first crossing of the vanishing-scale flow is with another sample, or at another time."""
    events = evidence.recorded(AlignedState).events
    samples, times = events.samples.copy(), events.times.copy()
    samples[0] += other_sample
    times[0] *= later
    return with_record(evidence, events=replace(events, samples=samples, times=times))


def crossings_at_once(evidence: Evidence) -> Evidence:
    events = evidence.recorded(AlignedState).events
    return with_record(evidence, events=replace(events, times=0.0 * events.times))


def aligned_the_other_way(evidence: Evidence) -> Evidence:
    w = evidence.recorded(AlignedState).w.copy()
    w[0] *= -1.0
    return with_record(evidence, w=w)


def aligned_longer(evidence: Evidence) -> Evidence:
    log_norms = evidence.recorded(AlignedState).log_norms.copy()
    log_norms[0] += 0.01
    return with_record(evidence, log_norms=log_norms)


def yardsticks_changed(evidence: Evidence, change: Callable[[Yardstick], Yardstick]) -> Evidence:
    paths = evidence.recorded(Yardsticks).paths
    return with_record(evidence, paths={j: change(path) for j, path in paths.items()})


FORGERIES: Forgeries = {
    ("prop1", "balance"): Forgery(one_unbalanced),
    ("prop1", "floor"): Forgery(lambda e: shifted_log_scale(e, -40.0)),
    ("prop2", "one-way"): Forgery(lambda e: first_crossing(e, other_sample=5)),
    ("prop2", "one-at-a-time"): Forgery(crossings_at_once),
    ("prop14", "order"): Forgery(lambda e: first_crossing(e, other_sample=1)),
    ("prop14", "times"): Forgery(lambda e: first_crossing(e, later=1.001)),
    ("prop14", "direction"): Forgery(aligned_the_other_way),
    ("prop14", "norm"): Forgery(aligned_longer),
    ("prop16", "gamma"): Forgery(lambda e: teacher_scaled(e, 1.01)),
    ("prop17", "pulls"): Forgery(lambda e: yardsticks_changed(e, lambda p: replace(p, speeds=1e-3 * p.speeds))),
    ("prop17", "positive"): Forgery(lambda e: yardsticks_changed(e, lambda p: replace(p, ends=1e-3 * p.ends))),
    ("prop17", "negative"): Forgery(lambda e: yardsticks_changed(e, lambda p: replace(p, starts=1e-3 * p.starts))),
    ("prop17", "last"): Forgery(
        lambda e: yardsticks_changed(e, lambda p: replace(p, times=1e4 * p.times)), also=("approach",)
    ),
    ("prop17", "approach"): Forgery(
        lambda e: yardsticks_changed(e, lambda p: replace(p, directions=1e-3 * p.directions))
    ),
    ("prop18", "early"): Forgery(lambda e: with_record(e, log_scale=-1.0)),
}

CASES = (
    TheoremCase("chistikov2023:prop1", failing="balanced", inapplicable=unbalanced),
    *(_case(name) for name in ("prop2", "prop14", "prop16", "prop17", "prop18")),
)


test_holds_and_forged_evidence_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


def plane_scene(log_scale=-10.0):
    samples = data.plane()
    return Scene(samples.X, samples.y, np.array([0.8, 0.6]), *PLANE, np.ones(7), log_scale)


def test_numbers_of_the_plane_by_an_independent_computation():
    """Worked out apart from this code, with the recursion and with the flow, to ten digits."""
    here = plane_scene()
    assert here.positive.tolist() == [0, 1, 2]
    assert here.negative.tolist() == [3, 4]
    assert here.speed == pytest.approx(1.5308443567, abs=1e-10)
    assert here.eta == pytest.approx([1.58097878, 0.17235455], abs=1e-8)
    assert here.yardsticks[3].samples.tolist() == [1, 2, 0]
    assert here.yardsticks[3].times[1:] == pytest.approx([1.332631334587, 1.472043713558, 4.290276020609], abs=1e-11)
    assert here.alignment_time == pytest.approx(5.290276020609, abs=1e-11)
    terms = [0.98489, 0.57746, 0.84221, 0.41516, 0.35544, 0.36056, 0.12189, 0.19329, 0.12189, 0.05547, 0.0427617]
    assert here.delta_terms == pytest.approx(terms, abs=6e-6)
    assert here.Delta == pytest.approx(1.8027756, abs=1e-7)
    assert -here.largest_log_scale(0.25) / np.log(10.0) == pytest.approx(6_425_293.3, abs=0.1)
    assert np.exp(here.log_growths) == pytest.approx([0.3746918853, 0.2301654402, 0.3593944014], abs=1e-10)
    assert here.limit_norms == pytest.approx([0.6597603575, 0.4052770799, 0.6328244300], abs=1e-10)


@pytest.mark.parametrize("seed", range(12))
def test_the_recursion_is_the_alignment_of_geometry(seed):
    """Random correlated data in 2 to 5 dimensions: order, times, direction and norm; J+ ends at a maximum, J- dies."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 6))
    n = d + int(rng.integers(0, 4))
    teacher = np.eye(d)[0]
    sideways = rng.standard_normal((n, d))
    X = teacher + 0.6 * sideways / np.linalg.norm(sideways, axis=1)[:, None] * rng.uniform(0.2, 1.0, (n, 1))
    y, z, signs = X @ teacher, rng.standard_normal((20, d)), rng.choice([-1.0, 1.0], 20)
    a = signs * np.linalg.norm(z, axis=1)
    active = np.flatnonzero(np.any(z @ X.T > 0.0, axis=1))
    ends = align(X, y / n, z[active], a[active])
    assert {END_NAMES[e] for e, s in zip(ends.ends, signs[active], strict=True) if s > 0} <= {"maximum"}
    assert {END_NAMES[e] for e, s in zip(ends.ends, signs[active], strict=True) if s < 0} <= {"dead"}
    for j in active:
        path = yardstick(X, y, z[j], int(signs[j]))
        time = float(path.times[-1]) + 0.5
        state = align_until(X, y / n, z[j : j + 1], a[j : j + 1], time)
        assert state.events.samples.tolist() == path.samples.tolist()
        assert state.events.times == pytest.approx(path.times[1:], rel=1e-10)
        assert state.w[0] / np.linalg.norm(state.w[0]) == pytest.approx(path.direction_at(time), abs=1e-9)
        log_norm = float(state.log_norms[0] + np.log(np.linalg.norm(state.w[0])))
        assert log_norm == pytest.approx(path.log_norm_at(time), abs=1e-9)


def test_the_split_of_scale_and_shape_does_not_matter():
    """w = lambda z: a draw ten times as large at a tenth of the scale gives the same delta and the same verdict."""
    theorem = theorem_named("chistikov2023:prop18")
    problem = own_problem(theorem)
    network = problem.network.replace(
        w=10.0 * problem.network.w, a=10.0 * problem.network.a, log_scale=problem.network.log_scale - np.log(10.0)
    )
    first, second = check(theorem, problem), check(theorem, replace(problem, network=network))
    assert first.constants["delta"] == pytest.approx(second.constants["delta"], rel=1e-12)
    assert first.constants["log_scale"] == pytest.approx(second.constants["log_scale"], rel=1e-12)
    assert first.kind == second.kind == "holds"


@pytest.mark.parametrize(
    ("name", "failing"),
    [
        ("chistikov-simplex", "chistikov-a1iii"),
        ("chistikov-fan", "chistikov-a1iii"),
        ("lee-flat-minimum", "correlated-teacher"),
    ],
)
def test_data_that_break_an_assumption(name, failing):
    """Example 37 breaks Assumption 1(iii) (erratum E6)."""
    theorem = theorem_named("chistikov2023:prop17")
    assert failing in check(theorem, example_problem(theorem, name)).failing_hypotheses


def test_a_start_without_positive_neurons_is_refused():
    theorem = theorem_named("chistikov2023:prop17")
    problem = own_problem(theorem)
    verdict = check(theorem, replace(problem, network=problem.network.replace(a=-np.abs(problem.network.a))))
    assert "chistikov-a1ii" in verdict.failing_hypotheses
