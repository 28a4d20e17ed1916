"""Assumptions A.1 to A.9, Definitions 6.1 and H.1, and theorems on problems they do not speak of."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from reluflow.certificates.network_margin import network_margin
from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.dynamics.problem import TrainingProblem
from reluflow.losses import loss_named
from reluflow.network import initialization_named
from reluflow.theory.check import check
from reluflow.theory.diagnosis import assumptions, diagnose
from reluflow.theory.elsewhere import Elsewhere
from reluflow.theory.evidence import Evidence
from reluflow.theory.registry import results_of, theorem_named
from reluflow.theory.theorem import Theorem

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("name", "leak", "key", "holds"),
    [
        ("lyu-hinted", 0.5, "hinted", True),
        ("lyu-counterexample", 0.1, "hinted", False),
        ("lyu-hinted", 0.5, "principal-direction", True),
        ("lyu-symmetric", 0.5, "principal-direction", False),
        ("lyu-middle", 0.5, "lyu-a2", True),
        ("lyu-ridge", 0.5, "lyu-a2", False),
        ("lyu-middle", 0.5, "lyu-a3", True),
        ("lyu-symmetric", 0.5, "lyu-a3", False),
        ("lyu-counterexample", 0.1, "lyu-a5", True),
        ("lyu-symmetric", 0.5, "lyu-a5", False),
        ("lyu-counterexample", 0.1, "lyu-a5-star", False),
        ("lyu-counterexample-sharp", 0.5, "lyu-a5-star", True),
        ("lyu-counterexample", 0.1, "non-branching", True),
        ("lyu-hinted", 0.5, "non-branching", None),
        ("lyu-counterexample", 0.1, "lyu-a8", False),
        ("lyu-counterexample", 0.1, "lyu-a9", False),
        ("lyu-orthogonal", 0.0, "orthogonally-separable", True),
        ("lyu-hinted", 0.5, "orthogonally-separable", False),
    ],
)
def test_assumptions(name, leak, key, holds):
    assert diagnose(load(name), leak=leak)[key].holds is holds


def test_of_equal_lengths_neither_a3_nor_a8_holds():
    """On standardised data of balanced classes A.8 held by 7.8e-16, which is rounding."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    data = Dataset(X, np.where(np.arange(40) < 20, 1.0, -1.0)).centered()
    found = diagnose(data)
    for key in ("lyu-a3", "lyu-a8"):
        assert (found[key].holds, found[key].margin) == (False, 0.0), found[key]
    assert "up to rounding" in found["lyu-a3"].detail


def test_flipping_the_labels_exchanges_a3_and_a8_a5_and_a9():
    data = load("lyu-counterexample-sharp")
    ours, theirs = diagnose(data, leak=0.5), diagnose(data.replace(y=-data.y), leak=0.5)
    for one, two in (("lyu-a3", "lyu-a8"), ("lyu-a5-star", "lyu-a9")):
        assert ours[one].margin == pytest.approx(theirs[two].margin, rel=1e-9)


@pytest.mark.parametrize(
    ("name", "leak", "plus", "minus", "value", "repaired"),
    [
        ("lyu-counterexample", 0.1, 6.007, 3.912, 0.0707, 4.572),
        ("lyu-counterexample-mild", 0.5, None, None, None, 0.814),
    ],
)
def test_numbers_of_erratum_e4(name, leak, plus, minus, value, repaired):
    facts = Evidence(_problem(name, "logistic", leak, 2)).facts
    assert facts.against_positive.threshold == pytest.approx(0.5, abs=1e-12)
    assert facts.against_positive.dual_multipliers == pytest.approx(repaired, abs=5e-4)
    if plus is not None:
        assert np.linalg.norm(facts.leaky_mean(1)) == pytest.approx(plus, abs=5e-4)
        assert np.linalg.norm(facts.leaky_mean(-1)) == pytest.approx(minus, abs=5e-4)
        assert facts.against_positive.any_multipliers == pytest.approx(value, abs=5e-5)
        assert facts.leaky.positive.w == pytest.approx([1.0, 0.0], abs=1e-9)
        assert facts.leaky.positive.separator.multipliers == pytest.approx([1 / 11, 10 / 11, 0.0], abs=1e-9)


def test_v_star_of_the_sharp_instance():
    facts = Evidence(_problem("lyu-counterexample-sharp", "logistic", 0.5, 2)).facts
    assert facts.against_positive.dual_multipliers == pytest.approx(0.332, abs=5e-4)


def test_numbers_of_the_middle_instance():
    """A.2 slack 0.1586 and |mu^+| - |mu^-| = 0.812."""
    found = diagnose(load("lyu-middle"), leak=0.5)
    assert found["lyu-a2"].margin == pytest.approx(0.1586, abs=5e-5)
    assert found["lyu-a3"].margin == pytest.approx(0.812, abs=5e-4)


@pytest.mark.parametrize("name", ["lyu-hinted", "lyu-counterexample", "lyu-middle"])
def test_erratum_e5_a9_as_printed_never_holds(name):
    """A.9 for a_k <= 0: the best negative neuron itself has margin gamma^-/2 on S^-, so nothing is below it."""
    facts = Evidence(_problem(name, "logistic", 0.5, 2)).facts
    side = facts.leaky.negative
    printed = network_margin(facts.dataset.subset(side.closest), 0.5, signs=(-1,))
    assert printed.margin >= 0.5 * side.margin * (1.0 - 1e-9)


def test_erratum_e8_the_second_definition_is_that_of_the_other_sign():
    """With x_i^- defined as x_i^+ once more mu^+ and mu^- would be equal and A.3 empty."""
    facts = Evidence(_problem("lyu-middle", "logistic", 0.5, 2)).facts
    X, y = facts.dataset.X, facts.dataset.y
    assert facts.leaky.positive.rows == pytest.approx(np.where(y > 0, 1.0, 0.5)[:, None] * y[:, None] * X)
    assert facts.leaky.negative.rows == pytest.approx(np.where(y > 0, 0.5, 1.0)[:, None] * y[:, None] * X)


@pytest.mark.parametrize("width", [1, 3])
def test_erratum_e11_the_good_event_has_probability_one_minus_two_to_the_minus_m(width):
    """Over the balanced draw; 2000 draws, four standard deviations."""
    rng, data, draws = np.random.default_rng(0), load("lyu-hinted"), 2000
    draw = initialization_named("lyu-balanced")
    good = np.mean([np.any(draw(data, width=width, scale="1e-3", rng=rng, leak=0.5).a > 0.0) for _ in range(draws)])
    chance = 1.0 - 0.5**width
    assert abs(good - chance) < 4.0 * np.sqrt(chance * (1.0 - chance) / draws)


def test_erratum_e11_the_gaussian_draw_is_not_balanced():
    data = load("lyu-counterexample-sharp")
    network = initialization_named("lyu-gaussian")(data, width=4, scale="1e-9", rng=np.random.default_rng(0), leak=0.5)
    verdict = check(theorem_named("lyu2021:thmA.7"), TrainingProblem(data, loss_named("logistic"), network))
    assert verdict.failing_hypotheses[0] == "balanced"


def _problem(name, loss, leak, width):
    data = load(name)
    network = initialization_named("unbalanced")(
        data, width=width, scale="1e-3", rng=np.random.default_rng(0), leak=leak
    )
    return TrainingProblem(data, loss_named(loss), network)


@pytest.mark.parametrize(
    ("name", "loss", "leak", "width"),
    [
        ("three-points", "square", 0.0, 4),
        ("three-points", "square", 0.5, 4),
        ("lyu-symmetric", "logistic", 0.5, 4),
        ("lyu-symmetric", "logistic", 0.0, 2),
        ("lyu-orthogonal", "exponential", 0.3, 1),
        ("random-labels", "logistic", 0.5, 3),
        ("lyu-ridge", "logistic", 1.0, 3),
        ("min-correlated", "logistic", 0.0, 3),
        ("lyu-middle", "square", 0.5, 2),
    ],
)
def test_every_theorem_has_an_answer_to_any_problem(name, loss, leak, width):
    """Regression labels, too many cones, no separator, leak 0 or 1: nothing raises."""
    problem = _problem(name, loss, leak, width)
    for theorem in results_of("lyu2021"):
        if isinstance(theorem, Theorem):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                theorem.preliminary(Evidence(problem, parameters=theorem.parameter_values({})))


def test_every_named_result_is_there_once():
    keys = [result.key for result in results_of("lyu2021")]
    assert len(keys) == len(set(keys))
    wanted = (Path(__file__).parent / "results_general.txt").read_text(encoding="utf-8").split()
    assert set(wanted) <= set(keys)


def test_rows_point_somewhere():
    keys, conditions = [result.key for result in results_of("lyu2021")], [a.key for a in assumptions()]
    for row in results_of("lyu2021"):
        if not isinstance(row, Elsewhere):
            continue
        if row.status == "condition":
            assert row.where in conditions
        elif row.status == "part":
            assert row.where in keys
        elif row.status in ("definition", "ours"):
            module, _, name = row.where.rpartition(".")
            assert hasattr(__import__(module, fromlist=[name]), name)
        else:
            assert row.status == "left out"
            assert row.note
