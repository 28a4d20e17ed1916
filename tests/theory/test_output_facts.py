"""Assumptions on data with several classes: each judged beside its definition."""

import numpy as np
import pytest

from reluflow import Dataset, diagnose
from reluflow.geometry.pairs import class_cosines, pair_summary
from reluflow.theory.output_facts import OutputFacts

SIMPLEX = np.array([(2.0, 0.0), (2.0, 0.3), (-1.0, 1.7), (-1.2, 1.9), (-1.0, -1.8), (-1.1, -1.9)])
NAMES = ("a", "b", "c")


def data(X=SIMPLEX, labels=(0, 0, 1, 1, 2, 2)):
    return Dataset(X, labels, classes=NAMES)


def test_separable_classes():
    found = diagnose(data())
    assert found["orthogonally-separable"].holds
    assert found["orthogonally-separable-strict"].holds
    cosines = SIMPLEX @ SIMPLEX.T / np.outer(*2 * [np.linalg.norm(SIMPLEX, axis=1)])
    same = np.kron(np.eye(3), np.ones((2, 2))) > 0
    mu = min(np.min(cosines[same]), -np.max(cosines[~same]))
    assert found["orthogonally-separable-strict"].margin == pytest.approx(mu, abs=1e-14)
    assert found.loss.name == "softmax"


def test_separability_is_that_of_the_worst_class():
    """A class that lies between the two others cannot be cut off by a line through 0, though each of those can."""
    X = np.array([(1.0, 2.0), (1.0, 2.2), (1.0, 0.1), (1.0, -0.1), (1.0, -2.0), (1.0, -2.2)])
    found = diagnose(data(X))
    assert found["linearly-separable"].holds is False
    assert found["linearly-separable"].detail == "not separable from the rest, verified exactly: b"


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.vstack([SIMPLEX[:5], SIMPLEX[4]]), "1 sample repeats an earlier one"),
        (np.vstack([SIMPLEX[:5], 2.0 * SIMPLEX[4]]), "the samples closest to dependent are 5, 6"),
    ],
)
def test_general_position_fails(X, words):
    found = diagnose(data(X))["general-position"]
    assert found.holds is False
    assert words in found.detail


def test_two_classes_agree_with_the_single_output():
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(30, 3)) + 1.0, rng.integers(0, 2, size=30)
    two, one = class_cosines(X, labels.astype(float), 2), pair_summary(X, 2.0 * labels - 1.0)
    assert two.within == pytest.approx(one.min_same_class, abs=1e-14)
    assert two.across == pytest.approx(one.max_cross_class, abs=1e-14)
    softmax, logistic = diagnose(Dataset(X, labels, classes=("n", "p"))), diagnose(Dataset(X, 2.0 * labels - 1.0))
    for key in ("orthogonally-separable", "orthogonally-separable-strict", "linearly-separable"):
        assert softmax[key].holds == logistic[key].holds
        assert softmax[key].margin == pytest.approx(logistic[key].margin, abs=1e-12)


def test_the_rest_is_left_open_with_the_way():
    facts = OutputFacts(data(), diagnose(data()).loss)
    assert facts.without_meaning == (
        "stated for one output, got 3; one class against the rest, `dataset.one_against_rest(CLASS)` or "
        "`--labels CLASS`, answers it"
    )
    found = diagnose(data())
    assert found["boursier-a5"].holds is None
    assert found["boursier-a5"].detail == facts.without_meaning
    of_one_output = [theorem for theorem in found.theorems if not theorem.key.startswith("min2025:")]
    assert all(theorem.applicable is False for theorem in of_one_output)
