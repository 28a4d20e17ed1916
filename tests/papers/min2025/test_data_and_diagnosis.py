"""The sets of min2025, what `diagnose` says of several classes, and the scheme that draws neurons of samples."""

from __future__ import annotations

import numpy as np
import pytest

from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.errors import InvalidInputError
from reluflow.network import initialization_named
from reluflow.papers.min2025 import starts
from reluflow.papers.min2025.alignments import Alignments
from reluflow.papers.min2025.class_geometry import ClassGeometry
from reluflow.theory.check import check
from reluflow.theory.diagnosis import diagnose
from reluflow.theory.verdict import VerdictKind


@pytest.mark.parametrize(
    ("name", "separable", "printed"),
    [("a", True, False), ("b", True, False), ("c", True, True), ("d", True, False), ("ce1", True, True),
     ("ce2", True, True)],
)  # fmt: skip
def test_what_diagnose_says(name, separable, printed):
    found = diagnose(load(f"min2025-{name}"))
    assert found["orthogonally-separable-classes"].holds is separable
    assert found["min2025-data-condition"].holds is printed
    allowed = {theorem.key: theorem.applicable for theorem in found.theorems}
    assert allowed["min2025:thm1"] is True
    assert not any(applicable for key, applicable in allowed.items() if not key.startswith("min2025"))


def test_the_printed_condition_of_c_and_ce1():
    assert diagnose(load("min2025-c"))["min2025-data-condition"].margin == pytest.approx(3 - 2.6186, abs=5e-5)
    assert diagnose(load("min2025-ce1"))["min2025-data-condition"].margin == pytest.approx(3 - 2.125, abs=1e-12)


def test_an_assumption_of_one_output_says_so_of_several():
    """`DatasetFacts` refused several outputs, so that nothing could be diagnosed of them."""
    found = diagnose(load("min2025-a"))
    assert found["lyu-a5"].holds is None
    assert found["lyu-a5"].detail.startswith("stated for one output, got 3")
    assert found["orthogonally-separable"].holds is True


def test_numbers_to_fit_are_no_classes():
    (found,) = [c for c in diagnose(load("three-points")).conditions if c.key == "orthogonally-separable-classes"]
    assert found.is_for_other_labels


def test_two_classes_are_as_in_the_binary_papers():
    found = diagnose(load("phuong-toy"))
    strict, classes = found["orthogonally-separable-strict"], found["orthogonally-separable-classes"]
    assert classes.holds is strict.holds is True
    assert classes.margin == pytest.approx(strict.margin, rel=1e-12)


@pytest.mark.parametrize("key", ["boursier2024:thm1", "min2024:thm1", "phuong2021:thm1", "lyu2021:thm3.1"])
def test_a_result_of_one_output_is_not_applicable_to_several(key):
    verdict = check(key, starts.golden_a())
    assert verdict.kind is VerdictKind.NOT_APPLICABLE
    assert "one-output" in verdict.failing_hypotheses


def test_hidden_biases_by_the_samples_with_a_constant():
    """mu_d X_min^2 > 1 suffices: the samples of set a, three times as long, with their bias."""
    data = load("min2025-a")
    assert diagnose(data)["min2025-hidden-bias"].holds is False
    longer = data.replace(X=3.0 * data.X)
    geometry = ClassGeometry.of(longer)
    assert geometry.mu_d * geometry.norms.min() ** 2 > 1.0
    assert diagnose(longer)["min2025-hidden-bias"].holds is True
    augmented = diagnose(longer.with_bias())["orthogonally-separable-classes"]
    assert augmented.margin == pytest.approx(diagnose(longer)["min2025-hidden-bias"].margin, rel=1e-12)


@pytest.mark.parametrize("name", ["a", "b", "c", "d"])
def test_class_pairs_are_an_exclusive_start_of_every_class(name):
    data = load(f"min2025-{name}")
    network = initialization_named("class-pairs")(data, width=data.num_outputs, scale=1.0, rng=3)
    found = Alignments.of(network, ClassGeometry.of(data))
    np.testing.assert_allclose(np.linalg.norm(network.w, axis=1), np.linalg.norm(network.v, axis=1), rtol=1e-14)
    assert found.full_classes.tolist() == list(range(data.num_outputs))
    assert np.all(found.exclusive_start().max(axis=1) > 0.0)


def test_class_pairs_of_two_labels_and_of_none():
    data = load("phuong-toy")
    network = initialization_named("class-pairs")(data, width=4, scale=1.0, rng=0)
    assert sorted(network.a.tolist()) == [-1.0, -1.0, 1.0, 1.0]
    assert all(any(np.allclose(w, x / np.linalg.norm(x)) for x in data.X) for w in network.w)
    with pytest.raises(InvalidInputError, match="needs classes, got numbers to fit"):
        initialization_named("class-pairs")(Dataset(np.eye(2), [0.3, 0.4]), width=2, scale=1.0, rng=0)


def test_the_command_line_gives_the_loss_that_the_labels_mean(capsys):
    """`check min2025:prop3` gave its own example the square loss, which refuses classes."""
    from reluflow.cli.main import run

    for words, said in (
        (["check", "min2025:lemma11"], "Verdict: holds"),
        (["check", "min2025:lemma6", "phuong-toy"], "loss fails (the loss is logistic)"),
    ):
        with pytest.raises(SystemExit) as end:
            run(words)
        assert end.value.code == 0
        assert said in capsys.readouterr().out
