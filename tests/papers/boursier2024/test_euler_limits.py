"""Appendix E.1: descent with ever smaller steps leaves a boundary on which Condition 2 would keep the neuron."""

from __future__ import annotations

import numpy as np
import pytest

from forging import Forgeries, Forgery, in_companion, with_networks, with_record
from reluflow.data.dataset import Dataset
from reluflow.dynamics.problem import TrainingProblem
from reluflow.losses import SquareLoss
from reluflow.network import Network
from reluflow.papers.boursier2024.theorems.euler_limits import (
    NUM_STEPS,
    EulerDescents,
    stable_until,
)
from reluflow.theory.check import check, example_problem
from reluflow.theory.evidence import Evidence
from reluflow.theory.gather import gather
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import TheoremCase, contract

THEOREM = theorem_named("boursier2024:appE.1")


def _with_paths(evidence, change):
    """What each descent recorded changed: a function of its times after every step and its distances."""
    evidence = THEOREM.recorded(evidence)
    record = evidence.recorded(EulerDescents)
    paths = [
        change(step * np.arange(len(path)), path) for step, path in zip(record.steps, record.distances, strict=True)
    ]
    return with_record(evidence, distances=tuple(paths))


def _on_one_side(evidence):
    return _with_paths(evidence, lambda times, path: np.abs(path))


def _wide(evidence):
    """Three steps to either side while the hyperplane attracts."""
    end = stable_until(evidence)
    return _with_paths(evidence, lambda times, path: np.where(times <= end, 3.0 * path, path))


def _back(evidence):
    """Descents that have come back to within a hundredth at the end."""
    return _with_paths(evidence, lambda times, path: np.where(times == times[-1], 0.01 * path, path))


def _ends_elsewhere(evidence):
    """All descents end where none of the two solutions that leave does, whatever the step."""
    return _with_paths(evidence, lambda times, path: np.where(times == times[-1], 0.02, path))


def _lopsided(evidence):
    """The pair's second neuron shrunk in the last state, so that x and its mirror image pull differently."""
    shrink = np.array([1.0, 1.0 - 1e-6])
    return in_companion(evidence, "staying", lambda o: with_networks(o, lambda n: n.replace(a=n.a * shrink)))


FORGERIES: Forgeries = {
    ("appE.1", "stays"): Forgery(_lopsided),
    ("appE.1", "bounces"): Forgery(_on_one_side),
    ("appE.1", "close"): Forgery(_wide),
    ("appE.1", "escapes"): Forgery(_back, also=("limit",)),
    ("appE.1", "limit"): Forgery(_ends_elsewhere),
}

CASES = (
    TheoremCase(
        "boursier2024:appE.1", failing="mirrored", inapplicable=lambda: example_problem(THEOREM, "three-points")
    ),
)

test_holds_and_a_forged_run_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


@pytest.fixture(scope="module")
def evidence() -> Evidence:
    return THEOREM.recorded(gather(THEOREM, example_problem(THEOREM)))


def test_the_difference_to_the_flow_that_leaves_is_of_the_order_of_the_step(evidence):
    """Relative differences 0.0639, 0.0307, 0.0151, 0.0075 or so: halved with the step, on either side."""
    record, leaving = evidence.recorded(EulerDescents), evidence.companions["leaving"]
    departure = abs(leaving.snapshots[-1].network.materialized().w[2, 0])
    misses = np.array([abs(abs(path[-1]) - departure) for path in record.distances])
    assert misses / record.steps == pytest.approx(np.full(4, misses[-1] / record.steps[-1]), rel=0.2)
    assert len(record.distances[0]) == NUM_STEPS[0] + 1


def test_the_staying_flow_never_leaves_and_the_leaving_one_does_when_the_forces_turn(evidence):
    events = evidence.companions["leaving"].events
    assert len(events) == 1
    assert stable_until(evidence) <= events.times[0] <= stable_until(evidence) + 8.0 / 48.0


def test_it_holds_for_another_mirrored_pair():
    """The start is made from the samples: another size, dimension and other labels."""
    data = Dataset([[0.0, 1.5, 0.0], [0.0, -1.5, 0.0], [0.8, 0.0, 0.3]], [0.7, 0.7, 1.2])
    verdict = check(THEOREM, TrainingProblem(data, SquareLoss(), Network(np.ones((3, 3)), np.ones(3))))
    assert verdict.kind is VerdictKind.HOLDS


def test_a_time_too_short_for_the_force_to_turn_is_not_applicable():
    verdict = check(THEOREM, example_problem(THEOREM), until=0.5)
    assert verdict.kind is VerdictKind.NOT_APPLICABLE
    assert verdict.failing_hypotheses == ("becomes-unstable",)
