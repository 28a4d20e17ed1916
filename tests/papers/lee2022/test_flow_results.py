"""The population flow: Propositions 3.1 to 3.6, Theorems 3.2 to 3.9, Eqs. (8) and (11), App. D.1, Sec. 5.2."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from forging import LATER, Forge, Forgeries, Forgery, with_record
from papers.lee2022.neurons import neuron_problem
from papers.lee2022.tampering import Change, plus, recorded, times
from reluflow.arrays import FloatArray
from reluflow.data.dataset import Dataset, Task
from reluflow.errors import InvalidInputError
from reluflow.losses import SquareLoss
from reluflow.network import Network
from reluflow.papers.lee2022.plans import BracketedRun
from reluflow.papers.lee2022.single_neuron import angle_band
from reluflow.papers.lee2022.single_neuron.angle import psi_of_gap
from reluflow.papers.lee2022.teacher_and_student import labelling_vector, start, student, teacher
from reluflow.papers.lee2022.theorems.flow_measures import flow
from reluflow.theory.check import check
from reluflow.theory.evidence import Evidence
from reluflow.theory.gather import gather
from reluflow.theory.registry import theorem_named
from reluflow.theory.verdict import VerdictKind
from theorem_cases import TheoremCase, contract, own_problem


def longer(factor):
    """The recorded magnitude multiplied after time 0."""

    def forge(evidence):
        run = flow(evidence)
        grown = replace(run, log_ratio=run.log_ratio + np.where(run.times > 0.0, np.log(factor), 0.0))
        if isinstance(evidence.record, BracketedRun):
            return with_record(evidence, flow=grown)
        return replace(evidence, record=grown)

    return forge


def slower_angle(evidence):
    """The recorded log tan(phi/2) at its start value for the first half of the run."""
    run = evidence.record
    half = run.psi.size // 2
    return replace(evidence, record=replace(run, psi=np.concatenate([np.full(half, run.psi[0]), run.psi[half:]])))


def hurried_angle(evidence):
    run = evidence.record
    return replace(evidence, record=replace(run, psi=run.psi + np.where(run.times > 0.0, 0.5, 0.0)))


def stretched_vectors(evidence):
    run = evidence.record
    factor = 1.0 + 1e-6 * np.arange(run.times.size)
    return replace(evidence, record=replace(run, w=run.w * factor[:, None]))


def turned_layers(evidence):
    run = evidence.record.flow
    v = run.v.copy()
    v[-1] *= -1.0
    return with_record(evidence, flow=replace(run, v=v))


def wavering(evidence):
    """A magnitude that goes up and down four times."""
    run = evidence.record
    return replace(evidence, record=replace(run, log_ratio=0.7 * np.sin(run.psi)))


def unrealizable(theorem):
    problem = own_problem(theorem)
    y = problem.dataset.y + 0.1
    return replace(problem, dataset=Dataset(problem.dataset.X, y, task=Task.REGRESSION))


def not_gaussian(theorem):
    problem = own_problem(theorem)
    X = np.sign(problem.dataset.X)
    return replace(problem, dataset=Dataset(X, np.maximum(X[:, 0], 0.0), task=Task.REGRESSION))


def aligned(theorem):
    problem = own_problem(theorem)
    w = teacher(Evidence(problem, parameters=theorem.parameter_values({}))).w
    return replace(problem, network=Network([w], [np.linalg.norm(w)]))


def two_neurons(theorem):
    problem = own_problem(theorem)
    return replace(problem, network=Network(np.vstack([problem.network.w] * 2), np.repeat(problem.network.a, 2)))


def without_half(theorem):
    return replace(own_problem(theorem), loss=SquareLoss(factor=2.0))


def case(key, forge, failing, inapplicable):
    theorem = theorem_named(f"lee2022:{key}")
    return TheoremCase(theorem.key, forge=forge, failing=failing, inapplicable=lambda: inapplicable(theorem))


def in_flow(**changes: Change) -> Forge:
    """The same of the flow that a record holds beside other things."""

    def forge(evidence: Evidence) -> Evidence:
        run: Any = getattr(evidence.record, "flow")  # noqa: B009
        changed = replace(run, **{name: change(getattr(run, name)) for name, change in changes.items()})
        return with_record(evidence, flow=changed)

    return forge


def start_with(**changes: Change) -> Change:
    """The start that a run says it had, with other numbers."""
    return lambda neuron: replace(neuron, **{name: change(getattr(neuron, name)) for name, change in changes.items()})


def teacher_times(factor: float) -> dict[str, Change]:
    """The recorded magnitudes, which are multiples of the teacher's, multiplied by way of its own."""
    return {"start": start_with(teacher_magnitude=lambda magnitude: factor * magnitude)}


def turned_back(psi: FloatArray) -> FloatArray:
    """The first angle is the third: it falls at once and grows again."""
    changed = psi.copy()
    changed[0] = psi[2]
    return changed


def teacher_elsewhere(shift: float) -> Forge:
    """The run has the angle to another teacher."""
    return recorded(teacher=lambda teacher: replace(teacher, w=teacher.w + shift))


def between_the_lower_curves(evidence: Evidence) -> Evidence:
    """The angle at one early time is above 2z - (2/3) z^3 and below 2 arctan z, its sharp lower curve."""
    run = flow(evidence)
    curves = [angle_band(start(evidence), run.times, sharp=sharp).lower for sharp in (False, True)]
    psi = run.psi.copy()
    psi[1] = psi_of_gap(0.5 * (max(curves[0][1], 0.0) + curves[1][1]))
    return with_record(evidence, psi=psi)


def lower_curve_bent(evidence: Evidence) -> Evidence:
    """The lower curve of Theorem 3.8 is a hundredth too low in its second half."""
    curves = evidence.recorded(BracketedRun).curves
    lower = times(0.99, at=slice(curves.lower.size // 2, None))(curves.lower)
    return with_record(evidence, curves=replace(curves, lower=lower))


def dependent_coordinates(evidence: Evidence) -> Evidence:
    """Samples whose signs depend on each other by threes, with the teacher's labels.

    The fourth coordinate has the sign of the product of the first two, the fifth that of the first and the third. Any
    two coordinates together are standard Gaussian, so that no test of the hypothesis notices; three are not.
    """
    X = evidence.dataset.X.copy()
    X[:, 3] = np.abs(X[:, 3]) * np.sign(X[:, 0] * X[:, 1])
    X[:, 4] = np.abs(X[:, 4]) * np.sign(X[:, 0] * X[:, 2])
    y = np.maximum(X @ labelling_vector(evidence), 0.0)
    return replace(evidence, problem=replace(evidence.problem, dataset=Dataset(X, y, task=Task.REGRESSION)))


SHARP = {
    "range": Forgery(recorded(**teacher_times(0.1))),
    "lower": Forgery(recorded(times=times(0.1)), also=("sharp-lower",)),
    "upper": Forgery(recorded(psi=times(0.0, at=-1)), also=("sharp-upper",)),
    "sharp-lower": Forgery(between_the_lower_curves),
    "sharp-upper": Forgery(recorded(times=plus(1e-6))),
}


FORGERIES: Forgeries = {
    ("prop3.1", "magnitude"): Forgery(recorded(w=times(0.5))),
    ("prop3.1", "angle"): Forgery(teacher_elsewhere(1e-6), also=("closed-form",)),
    ("prop3.1", "closed-form"): Forgery(teacher_elsewhere(1e-6), also=("angle",)),
    ("prop3.1", "sample-gradient"): Forgery(dependent_coordinates),
    ("thm3.2", "angle"): Forgery(recorded(psi=turned_back)),
    ("thm3.2", "converges"): Forgery(recorded(log_ratio=plus(-1.0))),
    ("thm3.3", "lower"): Forgery(recorded(**teacher_times(0.1))),
    ("thm3.3", "upper"): Forgery(recorded(**teacher_times(10.0))),
    ("eq8", "lower"): Forgery(recorded(**teacher_times(0.1))),
    ("eq8", "early"): Forgery(recorded(log_ratio=lambda r: np.where(np.arange(r.size) == 1, -8.3, r))),
    ("eq8", "late"): Forgery(recorded(**teacher_times(10.0))),
    **{("thm3.4", name): forgery for name, forgery in SHARP.items()},
    ("prop3.5", "positive"): Forgery(in_flow(v=times(-1.0, at=LATER))),
    ("prop3.5", "conserved"): Forgery(in_flow(w=times(0.5))),
    ("prop3.5", "dead"): Forgery(recorded(dead_layers=np.abs)),
    ("prop3.6", "magnitude"): Forgery(recorded(times=times(10.0)), also=("angle",)),
    ("prop3.6", "angle"): Forgery(teacher_elsewhere(-30.0)),
    ("prop3.6", "balanced"): Forgery(recorded(v=plus(1e-6))),
    ("prop3.6", "sample-gradient"): Forgery(dependent_coordinates),
    ("thm3.7", "angle"): Forgery(recorded(psi=turned_back)),
    ("thm3.7", "converges"): Forgery(recorded(log_ratio=plus(-0.01))),
    ("thm3.7", "away-from-0"): Forgery(recorded(**teacher_times(0.1))),
    ("eq11", "direction"): Forgery(recorded(start=start_with(q=lambda q: 10 * q))),
    ("eq11", "threshold"): Forgery(recorded(psi=turned_back)),
    ("eq11", "one-switch"): Forgery(recorded(log_ratio=lambda r: np.where(np.arange(r.size) == r.size // 2, -r, r))),
    ("thm3.8", "lower"): Forgery(in_flow(**teacher_times(0.1))),
    ("thm3.8", "upper"): Forgery(in_flow(**teacher_times(10.0))),
    ("thm3.8", "implicit"): Forgery(lower_curve_bent),
    **{("thm3.9", name): forgery for name, forgery in SHARP.items()},
    ("sec5.2", "phases"): Forgery(recorded(psi=times(-1.0))),
    ("sec5.2", "turning"): Forgery(recorded(**teacher_times(0.1))),
    ("sec5.2", "time"): Forgery(recorded(times=times(0.1))),
    ("appD.1", "inside"): Forgery(recorded(start=start_with(q=lambda q: 0 * q)), also=("nested",)),
    ("appD.1", "nested"): Forgery(recorded(psi=plus(-30.0, at=LATER))),
}

CASES = (
    case("prop3.1", stretched_vectors, "lee-realizable", unrealizable),
    case("thm3.2", slower_angle, "turning-start", aligned),
    case("thm3.3", longer(1.3), "lee-gaussian", not_gaussian),
    case("eq8", longer(1e-6), "single-neuron", two_neurons),
    case("thm3.4", hurried_angle, "half-mean-square", without_half),
    case("prop3.5", turned_layers, "lee-realizable", unrealizable),
    case("prop3.6", stretched_vectors, "single-neuron", two_neurons),
    case("thm3.7", slower_angle, "turning-start", aligned),
    case("eq11", wavering, "lee-gaussian", not_gaussian),
    case("thm3.8", longer(0.7), "lee-realizable", unrealizable),
    case("thm3.9", hurried_angle, "half-mean-square", without_half),
    case("appD.1", wavering, "turning-start", aligned),
    case("sec5.2", wavering, "single-neuron", two_neurons),
)


test_holds_and_forged_evidence_fails, test_names_the_failing_hypothesis = contract(CASES, FORGERIES)


@pytest.mark.parametrize(("q", "ratio", "phi"), [(1, 2.0, 0.4), (2, 0.1, 1.57), (3, 1.0, 2.8), (5, 0.5, 0.9)])
def test_deep_results_hold_from_small_and_large_starts(q, ratio, phi):
    for key in ("thm3.7", "eq11", "thm3.8", "thm3.9"):
        verdict = check(theorem_named(f"lee2022:{key}"), neuron_problem(q, ratio, phi, teacher=1.3), q=q)
        assert verdict.kind is VerdictKind.HOLDS, verdict.why


# Conclusions that could not fail --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def one_layer():
    theorem = theorem_named("lee2022:thm3.4")
    return gather(theorem, own_problem(theorem))


@pytest.mark.parametrize(
    "forge",
    [
        recorded(psi=plus(100.0, at=slice(1, None))),  # aligned at once: the gap below 1e-12 was not looked at
        recorded(psi=lambda psi: np.where(np.arange(psi.size) >= psi.size // 2, psi + 100.0, psi)),
        recorded(psi=plus(np.nan, at=slice(1, None))),
        recorded(psi=lambda psi: np.where(np.arange(psi.size) == psi.size // 2, np.nan, psi)),
        recorded(log_ratio=plus(np.nan, at=slice(1, None))),
    ],
)
def test_angles_that_jump_or_are_no_numbers_do_not_pass(one_layer, forge):
    """Times were left out by what the forged run said of itself, not by what the curves say."""
    assert theorem_named("lee2022:thm3.4").check(forge(one_layer)).kind is VerdictKind.FAILS


def test_a_prediction_of_a_third_of_the_truth_is_noticed():
    """The turn of Section 5.2 was compared from one side, and its time not at all."""
    theorem = theorem_named("lee2022:sec5.2")
    evidence = gather(theorem, own_problem(theorem))
    assert "turning" in theorem.check(recorded(log_ratio=plus(-1.2))(evidence)).failing_conclusions
    assert "time" in theorem.check(recorded(times=times(3.0))(evidence)).failing_conclusions


def test_a_living_layer_does_not_pass_for_a_dead_one():
    theorem = theorem_named("lee2022:prop3.5")
    evidence = gather(theorem, own_problem(theorem))
    forged = with_record(evidence, dead_layers=student(evidence).v)
    assert theorem.check(forged).failing_conclusions == ("dead",)


def test_another_kind_of_run_is_refused():
    theorem = theorem_named("lee2022:thm3.3")
    other = theorem_named("lee2022:prop3.1")
    evidence = gather(other, own_problem(other))
    with pytest.raises(InvalidInputError, match="must be a BalancedTrajectory to judge this result"):
        theorem.check(replace(evidence, parameters=theorem.parameter_values({})))
