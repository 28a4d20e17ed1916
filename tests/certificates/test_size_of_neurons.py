"""The kind of a point does not depend on the size of its neurons: zero is a zero, a dead neuron is dead at any size."""

import numpy as np
import pytest

from reluflow.certificates.certify import Kind, certify
from reluflow.certificates.limits.certified_limit import certified_limit
from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.train import train
from reluflow.losses import LogisticLoss, SquareLoss
from reluflow.network.initialization import balanced_initialization
from reluflow.network.network import Network

THREE_POINTS = Dataset([[-0.75, 1], [-0.5, 1], [0.125, 1]], [1.1, 0.1, 0.8])  # Boursier & Flammarion (2024), App. B.1
LEAST_SQUARES = np.linalg.lstsq(THREE_POINTS.X, THREE_POINTS.y, rcond=None)[0]
SIZES = (1e-3, 1e-9, 1e-14, 1e-100, 1e-200, 1e-300)


def with_neuron(w, a):
    size = np.sqrt(np.linalg.norm(LEAST_SQUARES))
    return Network(np.vstack([LEAST_SQUARES / size, w]), [size, a])


@pytest.mark.parametrize("size", SIZES)
def test_a_dead_neuron_is_dead_at_any_size(size):
    """A neuron below 1e-9 of the largest was taken for zero, and its jump to size 0.33 for a way down: a "saddle".

    It stands in an open cone in which nothing pulls on it. Only at exactly zero is every way open to it.
    """
    certificate = certify(with_neuron([0.0, -size], size), THREE_POINTS, SquareLoss())
    assert certificate.kind is Kind.LOCAL_MINIMUM
    assert certificate.is_proved
    assert "an additional neuron, started at zero, would lower the loss" in certificate.reasons[-1]


def test_at_exactly_zero_it_is_a_saddle():
    certificate = certify(with_neuron([0.0, 0.0], 0.0), THREE_POINTS, SquareLoss())
    assert certificate.kind is Kind.SADDLE
    assert certificate.is_proved
    assert certificate.escape.neuron == 1


@pytest.mark.parametrize("size", [1e-12, 1e-100])
def test_small_moves_of_a_light_dead_neuron_find_no_descent(size):
    """4,000 changes as small as the neuron itself: none lowers the loss, so the point is a local minimum."""
    network = with_neuron([0.0, -size], size)
    loss = SquareLoss()
    before = loss.total(network.outputs(THREE_POINTS.X), THREE_POINTS.y)
    rng = np.random.default_rng(0)
    for _ in range(4000):
        w, a = network.w.copy(), network.a.copy()
        w[1] += 0.5 * size * rng.standard_normal(2)
        if np.any(w[1] @ THREE_POINTS.X.T > 0.0):
            continue  # it has left its cone: not a small change of this neuron
        a[1] += 0.5 * size * rng.standard_normal()
        assert loss.total(network.replace(w=w, a=a).outputs(THREE_POINTS.X), THREE_POINTS.y) >= before


@pytest.mark.parametrize("size", [1e-12, 1e-30])
def test_a_light_neuron_that_is_pulled_stands_for_a_zero(size):
    """It is in no flat cone: the stationary point beside it has a zero there, and that is a saddle, said so."""
    certificate = certify(with_neuron([size, 0.4 * size], size), THREE_POINTS, SquareLoss())
    assert certificate.kind is Kind.SADDLE
    assert "light enough to count as zero" in certificate.reasons[0]


@pytest.mark.parametrize("side", [-1.0, 0.0, 1.0])
def test_a_neuron_on_a_boundary_to_rounding_is_open(side):
    """Dead on one side, pulled on the other, closer to the boundary than 1e-7: no kind is proved of it."""
    dataset = Dataset([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0])
    network = Network([[1.0, -1.0], [-1.0, side * 1e-15]], [1.0, 1.0])
    certificate = certify(network, dataset, SquareLoss())
    if side == 0.0:  # exactly on it: a saddle, since the active side leads down
        assert certificate.kind is Kind.SADDLE
        assert certificate.is_proved
    else:
        assert not certificate.is_proved
        assert "closer to the boundary of sample 2" in certificate.open_points[0]


@pytest.mark.parametrize("scale", ["1e-3", "1e-9", "1e-12", "1e-300", "1e-400"])
def test_three_points_end_at_a_local_minimum_at_every_scale(scale):
    """`train three-points` ended "local-minimum" at scale 1e-6 and "saddle", with proof, at 1e-9 and below."""
    data = load("three-points")
    network = balanced_initialization(data, width=30, scale=scale, rng=np.random.default_rng(0))
    limit = certified_limit(train(TrainingProblem(data, SquareLoss(), network), EventDrivenFlow()))
    assert limit.certificate.kind is Kind.LOCAL_MINIMUM
    assert limit.is_proof
    assert np.all(np.any(limit.network.w != 0.0, axis=1))


def test_a_neuron_that_shrinks_for_ever_ends_at_zero():
    """In d = 1 a neuron of the wrong sign decays and has no other way: its limit is a zero, and a saddle."""
    data = Dataset([[1.0], [-1.0]], [1.0, -1.0])
    network = Network([[1.0], [-0.5]], [1.0, 0.5])
    limit = certified_limit(train(TrainingProblem(data, SquareLoss(), network), EventDrivenFlow()))
    assert limit.certificate.kind is Kind.SADDLE
    assert limit.certificate.residuals["loss"] == pytest.approx(0.25)


def test_forces_that_fade_make_no_minimum():
    """Two contradicting samples keep the total force up while the others' fades: the norm grows for ever."""
    dataset = Dataset([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [1, -1, 1])
    network = Network([[0.0, 5.0, 0.0]], [5.0])
    certificate = certify(network, dataset, LogisticLoss())
    assert certificate.kind is not Kind.LOCAL_MINIMUM
    both = Network([[0.0, 5.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]], [5.0, 1e-9, -1e-9])
    certificate = certify(both, dataset, LogisticLoss())
    assert certificate.kind is Kind.NOT_STATIONARY
    assert "has no minimum: it decreases towards" in certificate.reasons[0]
