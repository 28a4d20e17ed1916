"""The public names: each loads its own module and no other."""

import inspect
import re
import subprocess
import sys
import types
import warnings
from pathlib import Path

import numpy as np
import pytest

import reluflow

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("name", [name for name in reluflow.__all__ if name != "__version__"])
def test_every_name_loads(name):
    assert getattr(reluflow, name) is not None
    assert name in dir(reluflow)


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="No reluflow attribute train_faster"):
        reluflow.train_faster  # noqa: B018


def test_study_is_a_package_with_a_function_of_the_same_name():
    from reluflow.study import Study, study

    assert isinstance(study(reluflow.load("three-points"), width=20, seeds=0, theorems=()), Study)


def test_study_and_sweep_are_functions_however_their_packages_were_imported():
    """They were callable modules, whose class was replaced at import."""
    import reluflow.study.sentences
    import reluflow.sweep.table

    for function in (reluflow.study, reluflow.sweep):
        assert inspect.isfunction(function)
    assert sys.modules["reluflow.study"].__class__ is types.ModuleType
    data = reluflow.load("three-points")
    settings = {"width": 20, "seeds": 0, "theorems": ()}
    of_samples, of_dataset = reluflow.study(data.X, data.y, **settings), reluflow.study(data, **settings)
    assert of_samples.verdict() == of_dataset.verdict()


def test_every_name_is_in_the_reference():
    """`docs/api.md` lists them, and each gets a page of its own; `tests/docs` checks what stands on these."""
    listed = set(re.findall(r"^- `reluflow\..*\.(\w+)`$", (ROOT / "docs" / "api.md").read_text(), flags=re.MULTILINE))
    assert {name for name in reluflow.__all__ if name != "__version__"} - listed == set()


def test_training_needs_neither_click_nor_rich_nor_matplotlib():
    code = (
        "import sys\n"
        "for name in ('click', 'typer', 'rich', 'matplotlib', 'matplotlib.pyplot'): sys.modules[name] = None\n"
        "import reluflow\n"
        "experiment = reluflow.Experiment('three-points', width=5, until=1)\n"
        "problem = experiment.problem()\n"
        "solver = experiment.solver_for(problem)\n"
        "print(reluflow.train(problem, solver, until=experiment.rule_for(problem)).outcome.code)\n"
        "print(reluflow.align(problem).counts['open'], reluflow.certify(problem).kind)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.split() == ["horizon", "0", "not-stationary"]


def test_the_forms_of_version_0_2_work_and_say_the_new_one():
    data, loss = reluflow.load("min-toy"), reluflow.LogisticLoss()
    network = reluflow.balanced_initialization(data, width=4, scale=1, rng=np.random.default_rng(0))
    problem = reluflow.TrainingProblem(data, loss, network)
    forces = loss.label_forces(data.y)
    old_and_new = [
        (lambda: reluflow.align(data.X, forces, network.w, network.a).times, lambda: reluflow.align(problem).times,
         r"`align\(X, forces, w, a\)` is now `align\(problem\)`; the old form goes with version 0.4."),
        (lambda: reluflow.extremal_vectors(data, loss).vectors, lambda: reluflow.extremal_vectors(problem).vectors,
         r"is now `extremal_vectors\(problem\)`"),
        (lambda: reluflow.certify(network, data, loss).multipliers, lambda: reluflow.certify(problem).multipliers,
         r"is now `certify\(problem\)`"),
        (lambda: reluflow.network_margin(data, 0.0).margin, lambda: reluflow.network_margin(problem).margin,
         r"is now `network_margin\(problem\)`"),
        (lambda: reluflow.whereabouts(network, data, loss, flow=False).loss,
         lambda: reluflow.assess(problem, flow=False).loss, r"is now `assess\(problem\)`"),
        (lambda: reluflow.study(data, "logistic", width=3, seeds=0, theorems=()).verdict(),
         lambda: reluflow.study(data, loss="logistic", width=3, seeds=0, theorems=()).verdict(),
         r"is now `study\(data, loss=...\)`"),
    ]  # fmt: skip
    for old, new, words in old_and_new:
        with pytest.warns(DeprecationWarning, match=words):
            before = old()
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)
            after = new()
        np.testing.assert_array_equal(before, after)
    with pytest.raises(TypeError, match="takes the data, the loss and the leak from the problem, got leak"):
        reluflow.align(problem, leak=0.5)
    from reluflow.sweep import Case

    with pytest.warns(DeprecationWarning, match="is now `reluflow.Experiment"):
        case = Case("three-points", width=7)
    assert case == reluflow.Experiment("three-points", width=7)


def test_five_lines_for_a_dataset_of_ones_own():
    data = reluflow.Dataset([[1.0, 0.2], [0.8, 1.0], [-1.0, -0.4]], [1, 1, -1])
    assert reluflow.linear_separator(data).separable
    assert reluflow.diagnose(data)["linearly-separable"].holds is True


@pytest.mark.parametrize("name", [name for name in reluflow.__all__ if name != "__version__"])
def test_every_name_has_an_example_that_runs(name):
    """Doctests are collected from all of `src`, so an example in the docstring is one that runs."""
    assert ">>>" in (getattr(reluflow, name).__doc__ or "")


def test_results_show_themselves_as_text_as_html_and_as_rows():
    data = reluflow.load("three-points")
    network = reluflow.balanced_initialization(data, width=10, scale=1e-3, rng=np.random.default_rng(0))
    problem = reluflow.TrainingProblem(data, reluflow.SquareLoss(), network)
    trajectory = reluflow.train(problem, reluflow.EventDrivenFlow())
    limit = reluflow.certified_limit(trajectory)
    lemma = reluflow.theorem_named("boursier2024:lemma1")
    shown = {
        "Diagnosis(three-points: ": reluflow.diagnose(data),
        "ExtremalVectors(1 maximum, longest |D| = 0.714969)": reluflow.extremal_vectors(problem),
        "Alignment(10 neurons: ": reluflow.align(problem),
        "Trajectory(stationary": trajectory,
        "Certificate(local-minimum": limit.certificate,
        "Verdict(boursier2024:lemma1, holds": reluflow.check(lemma, problem),
    }
    for opening, result in shown.items():
        assert repr(result).startswith(opening)
        assert len(repr(result)) < 600
        rows = result.table()
        assert rows
        assert all(list(row) == list(rows[0]) for row in rows)
        assert result._repr_html_().count("<tr>") == min(len(rows), 30) + 1
    assert repr(limit).startswith("CertifiedLimit(local-minimum, proved: ")
    assert limit._repr_html_().startswith("<p>CertifiedLimit")
    assert trajectory.to_xarray().sizes["neuron"] == 10
    assert repr(reluflow.linear_separator(reluflow.load("min-toy"))).startswith("HardMargin(margin=0.64630")
    assert repr(reluflow.network_margin(reluflow.Experiment("min-toy").problem())).startswith("NetworkMargin(0.205862")
