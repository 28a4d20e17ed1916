"""The front door: every name opens its room, and only that room."""

import numpy as np
import pytest

import reluflow


@pytest.mark.parametrize("name", [name for name in reluflow.__all__ if name != "__version__"])
def test_every_name_opens(name):
    assert getattr(reluflow, name) is not None
    assert name in dir(reluflow)


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'train_faster'"):
        reluflow.train_faster  # noqa: B018


def test_study_is_a_room_whose_function_carries_its_name():
    from reluflow.study import Study, study

    assert isinstance(study(reluflow.load("three-points"), width=20, seeds=0, theorems=()), Study)


def test_study_is_a_room_that_can_be_called():
    import reluflow.study.sentences

    data = reluflow.load("three-points")
    settings = {"width": 20, "seeds": 0, "theorems": ()}
    of_samples, of_dataset = reluflow.study(data.X, data.y, **settings), reluflow.study(data, **settings)
    assert isinstance(of_samples, reluflow.study.Study)
    assert of_samples.verdict() == of_dataset.verdict() == reluflow.study.study(data, **settings).verdict()
    assert reluflow.study.sentences.__name__ == "reluflow.study.sentences"


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
    forces = reluflow.SquareLoss().label_forces(data.y)
    lemma = reluflow.theorem_named("boursier2024:lemma1")
    shown = {
        "Diagnosis(three-points: ": reluflow.diagnose(data),
        "ExtremalVectors(1 maximum, longest |D| = 0.714969)": reluflow.extremal_vectors(data, reluflow.SquareLoss()),
        "Alignment(10 neurons: ": reluflow.align(data.X, forces, network.w, network.a),
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
    assert repr(reluflow.network_margin(reluflow.load("min-toy"))).startswith("NetworkMargin(0.205862")
