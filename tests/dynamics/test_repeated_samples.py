"""Repeated rows are data: one hyperplane, and a term of the loss each. Oracle: the same problem with weights."""

import numpy as np
import pytest

from reluflow.certificates.hard_margin import linear_separator
from reluflow.certificates.limits.certified_limit import certified_limit
from reluflow.certificates.network_margin import network_margin
from reluflow.data import Dataset
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.stopping import AtTime
from reluflow.dynamics.train import train
from reluflow.geometry.alignment import alignment_of
from reluflow.geometry.extremal import extremal_vectors
from reluflow.losses import LogisticLoss, SquareLoss
from reluflow.network import balanced_initialization
from reluflow.theory.diagnosis import diagnose

X = np.array([[1.5, 2.0], [3.0, -4.5], [0.25, 1.0], [-1.0, 0.5]])
Y = np.array([1.0, -0.5, 0.7, 0.3])
ONCE, TWICE = Dataset(X, Y), Dataset(np.vstack([X, X]), np.concatenate([Y + 0.4, Y - 0.4]))
# (h - y - d)^2/2 + (h - y + d)^2/2 = (h - y)^2 + d^2: two copies with other labels are one of weight two
WEIGHTED, SUMMED = SquareLoss(reduction="sum", factor=2.0), SquareLoss(reduction="sum")


@pytest.fixture
def network(rng):
    return balanced_initialization(ONCE, width=20, scale=1e-2, rng=rng)


def test_the_flow_is_that_of_the_weighted_problem(network):
    runs = [
        train(TrainingProblem(data, loss, network), EventDrivenFlow(), until=AtTime(3.0))
        for data, loss in ((ONCE, WEIGHTED), (TWICE, SUMMED))
    ]
    np.testing.assert_allclose(runs[1].network.w, runs[0].network.w, atol=1e-12)
    np.testing.assert_allclose(runs[1].predictions, np.tile(runs[0].predictions, 2), atol=1e-12)
    assert runs[1].loss == pytest.approx(runs[0].loss + 4 * 0.4**2, rel=1e-12)


def test_the_geometry_is_that_of_the_weighted_problem(network):
    once, twice = extremal_vectors(ONCE, WEIGHTED), extremal_vectors(TWICE, SUMMED)
    np.testing.assert_allclose(twice.vectors, once.vectors, atol=1e-14)
    assert twice.kinds == once.kinds
    np.testing.assert_array_equal(twice.patterns, np.tile(once.patterns, (1, 2)))
    ends = [alignment_of(data, loss, network.w, network.a) for data, loss in ((ONCE, WEIGHTED), (TWICE, SUMMED))]
    np.testing.assert_array_equal(ends[0].ends, ends[1].ends)
    np.testing.assert_allclose(ends[0].times, ends[1].times, rtol=1e-12)


def test_margins_do_not_see_a_repetition():
    separable = np.array([[1.5, 2.0], [-3.0, -4.5], [1.25, -0.1], [-1.0, 0.5]])
    labels = np.array([1.0, -1.0, 1.0, -1.0])
    once, twice = Dataset(separable, labels), Dataset(np.vstack([separable, separable[:2]]), [*labels, 1.0, -1.0])
    assert linear_separator(twice).margin == pytest.approx(linear_separator(once).margin, rel=1e-12)
    assert network_margin(twice, 0.0).margin == pytest.approx(network_margin(once, 0.0).margin, rel=1e-9)


def test_contradicting_labels_are_not_separable_and_say_so():
    both = Dataset([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1.0, -1.0, 1.0])
    assert not linear_separator(both).separable
    found = diagnose(both, LogisticLoss())
    assert found["linearly-separable"].holds is False
    assert found["orthogonally-separable"].holds is False
    assert found["general-position"].holds is False


def test_the_certified_end_of_contradicting_labels_is_their_mean(rng):
    """One direction, labels 1 and 0.5 on the same row: least squares fits 0.75, and leaves a loss of (1/4)^2/2."""
    data = Dataset([[2.0, 0.0], [2.0, 0.0]], [1.0, 0.5])
    network = balanced_initialization(data, width=30, scale=1e-2, rng=rng)
    run = train(TrainingProblem(data, SquareLoss(), network), EventDrivenFlow())
    np.testing.assert_allclose(run.predictions, 0.75, atol=1e-9)
    assert run.loss == pytest.approx(0.25**2 / 2, rel=1e-9)
    assert str(certified_limit(run).certificate.kind) == "global-minimum"
