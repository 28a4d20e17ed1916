"""A gradient that is small beside the forces is not always one that they leave: kinds in spite of how samples lie."""

import numpy as np
import pytest

from reluflow.certificates import hidden_forces
from reluflow.certificates.certify import Kind, certify
from reluflow.certificates.hidden_forces import unanswered_share
from reluflow.data.dataset import Dataset
from reluflow.losses import SquareLoss
from reluflow.network.network import Network

LARGE, SIDES = np.array([1000.0, 2000.0, 3000.0, 4000.0]), np.array([1.0, -1.0, 1.0, -1.0])
LABELS = np.array([1.0, 0.5, 1.2, 0.7])
PAIRS = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])


def linear(slope):
    """One neuron for <slope, x> where that is positive, and one for where it is not."""
    size = np.sqrt(np.linalg.norm(slope))
    return Network([slope / size, -slope / size], [size, -size])


def rotation(angle):
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


@pytest.mark.parametrize("angle", [0.3, 0.7, 2.0])
@pytest.mark.parametrize("small", [1e-3, 1e-5, 1e-7])
def test_a_direction_in_which_samples_hardly_differ_is_not_overlooked(angle, small):
    """The best line along the long direction was a "global minimum", proved, with four times the least loss."""
    turned = rotation(angle)
    dataset = Dataset(np.column_stack([LARGE, small * SIDES]) @ turned.T, LABELS)
    slope = turned @ [LARGE @ LABELS / (LARGE @ LARGE), 0.0]
    certificate = certify(linear(slope), dataset, SquareLoss())
    assert certificate.kind is Kind.NOT_STATIONARY
    if certificate.residuals["stationarity"] <= 1e-6:
        both = np.column_stack([LARGE, SIDES])
        line = both @ np.linalg.lstsq(both, LABELS, rcond=None)[0]
        least = SquareLoss().total(line, LABELS) / certificate.residuals["loss"]
        assert 0.4 * (1.0 - least) <= certificate.residuals["hidden_decrease"] <= 1.0 - least + 1e-6


def test_a_minimum_of_samples_that_hardly_differ_is_still_one():
    turned = rotation(0.7)
    dataset = Dataset(np.column_stack([LARGE, 1e-3 * SIDES]) @ turned.T, LABELS)
    slope = np.linalg.lstsq(dataset.X, LABELS, rcond=None)[0]
    certificate = certify(linear(slope), dataset, SquareLoss())
    assert certificate.kind is Kind.LOCAL_MINIMUM
    assert certificate.is_proved


def test_a_neuron_held_on_a_wall_is_asked_along_it_only():
    """Off the wall it would answer a sixth of the forces, if the sample there did not hold it."""
    dataset = Dataset([[1.0, 1.0], [1.0, -0.5], [0.0, 1.0]], [1.2, 0.8, -0.6])
    certificate = certify(Network([[1.0, 0.0]], [1.0]), dataset, SquareLoss())
    assert certificate.kind is Kind.LOCAL_MINIMUM
    assert certificate.is_proved


@pytest.mark.parametrize("length", [1.0, 1e-4, 1e-7, 1e-12])
def test_a_short_sample_that_is_not_fitted_is_no_global_minimum(length):
    """At 1e-7 no network "of any width" had a smaller loss; one with a neuron (-1, -1) / 2e-7 has none at all."""
    dataset = Dataset([[1.0, 0.0], [0.0, 1.0], [length, -3.0 * length]], [1.0, 1.0, 1.0])
    certificate = certify(Network([[1.0, 1.0]], [1.0]), dataset, SquareLoss())
    assert certificate.kind is not Kind.GLOBAL_MINIMUM
    fitting = Network([[1.0, 1.0], [-0.5 / length, -0.5 / length]], [1.0, 1.0])
    assert SquareLoss().total(fitting.outputs(dataset.X), dataset.y) < 1e-20


def test_labels_that_contradict_each_other_have_a_global_minimum():
    certificate = certify(Network([[1.0, 0.0]], [1.5]), Dataset([[1.0, 0.0], [1.0, 0.0]], [1.0, 2.0]), SquareLoss())
    assert certificate.kind is Kind.GLOBAL_MINIMUM
    X, labels = np.vstack([PAIRS, -PAIRS]), np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    slope = np.linalg.lstsq(X, labels, rcond=None)[0]  # odd functions of two-layer networks without bias are linear
    certificate = certify(linear(slope), Dataset(X, labels), SquareLoss())
    assert certificate.kind is Kind.GLOBAL_MINIMUM
    assert certificate.residuals["loss"] > 0.01


@pytest.mark.parametrize("leak", [0.0, 0.3, 1.0])
def test_what_networks_can_answer_is_what_many_neurons_span(leak):
    """Outputs of thousands of random neurons, by their singular values, against lines and columns."""
    rng = np.random.default_rng(0)
    X = np.vstack([PAIRS, -PAIRS, 2.0 * PAIRS[:1], [[0.3, -0.2]]])
    heights = X @ rng.standard_normal((2, 3000))
    left, singular, _ = np.linalg.svd(np.maximum(heights, leak * heights), full_matrices=False)
    span = left[:, singular > 1e-9 * singular[0]]
    forces = rng.standard_normal(len(X))
    unanswered = forces - span @ (span.T @ forces)
    dataset = Dataset(X, np.ones(len(X)))
    assert unanswered_share(dataset, unanswered, np.ones(len(X)), leak) <= 1e-12
    assert unanswered_share(dataset, span @ (span.T @ forces), np.ones(len(X)), leak) > 0.05
    assert np.linalg.norm(unanswered) > 0.1


def test_more_than_is_looked_into_is_left_open(monkeypatch):
    monkeypatch.setattr(hidden_forces, "_MOST_WORK", 1)
    certificate = certify(Network([[1.0, 0.0]], [1.5]), Dataset([[1.0, 0.0], [1.0, 0.0]], [1.0, 2.0]), SquareLoss())
    assert certificate.kind is Kind.GLOBAL_MINIMUM
    assert not certificate.is_proved
    assert "not looked into" in certificate.open_points[0]
