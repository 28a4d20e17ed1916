"""The kind of a point does not depend on the units of its inputs."""

import numpy as np
import pytest

from reluflow.certificates.certify import Kind, certify
from reluflow.certificates.even_columns import even_columns
from reluflow.data.dataset import Dataset
from reluflow.losses import SquareLoss
from reluflow.network.network import Network

LARGE, SIDES = np.array([1000.0, 2000.0, 3000.0, 4000.0]), np.array([1.0, -1.0, 1.0, -1.0])
LABELS = np.array([1.0, 0.5, 1.2, 0.7])
THREE_POINTS = Dataset([[-0.75, 1], [-0.5, 1], [0.125, 1]], [1.1, 0.1, 0.8])  # Boursier & Flammarion (2024), App. B.1
UNITS = [(1.0, 1.0), (1e4, 1e-4), (1e-7, 1.0), (1e5, 1e-9)]


def on_one_line(slope):
    """One neuron that computes x -> <slope, x> where that is positive."""
    size = np.sqrt(np.linalg.norm(slope))
    return Network([slope / size], [size])


@pytest.mark.parametrize("small", [1e-1, 1e-3, 1e-5, 1e-7])
def test_a_small_column_that_fits_the_labels_is_not_overlooked(small):
    """A fit by the large column alone was a "global minimum", proved; a line through both has a quarter of its loss."""
    dataset = Dataset(np.column_stack([LARGE, small * SIDES]), LABELS)
    fit = LARGE @ LABELS / (LARGE @ LARGE)
    certificate = certify(on_one_line(np.array([fit, 0.0])), dataset, SquareLoss())
    assert certificate.kind is Kind.NOT_STATIONARY
    best = np.linalg.lstsq(dataset.X * [1.0, 1.0 / small], LABELS, rcond=None)[0] * [1.0, 1.0 / small]
    line = SquareLoss().total(dataset.X @ best, LABELS)
    assert line < 0.25 * certificate.residuals["loss"]


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize(
    ("light", "kind"),
    [((0.0, -1e-3, 1e-3), Kind.LOCAL_MINIMUM), ((0.0, 0.0, 0.0), Kind.SADDLE), ((0.0, -1.0, 0.0), Kind.LOCAL_MINIMUM)],
)
def test_a_kind_is_the_same_in_all_units(units, light, kind):
    line = on_one_line(np.linalg.lstsq(THREE_POINTS.X, THREE_POINTS.y, rcond=None)[0])
    network = Network(np.vstack([line.w, light[:2]]) / units, np.append(line.a, light[2]))
    certificate = certify(network, THREE_POINTS.replace(X=THREE_POINTS.X * units), SquareLoss())
    assert certificate.kind is kind
    assert certificate.is_proved


@pytest.mark.parametrize("units", UNITS)
def test_a_way_down_is_one_in_the_units_given(units):
    line = on_one_line(np.linalg.lstsq(THREE_POINTS.X, THREE_POINTS.y, rcond=None)[0])
    network = Network(np.vstack([line.w / units, [0.0, 0.0]]), np.append(line.a, 0.0))
    dataset = THREE_POINTS.replace(X=THREE_POINTS.X * units)
    escape = certify(network, dataset, SquareLoss()).escape
    change = np.array([[0.0, 0.0], escape.w]), np.array([0.0, escape.a])
    moved = network.replace(w=network.w + change[0], a=network.a + change[1])
    before, after = (SquareLoss().total(net.outputs(dataset.X), dataset.y) for net in (network, moved))
    assert before - after == pytest.approx(escape.actual_decrease, rel=1e-6)
    assert after < before


def test_columns_of_like_size_are_left_as_they_are():
    network = Network([[1.0, 2.0]], [1.0])
    even = even_columns(network, THREE_POINTS)
    assert even.network is network
    assert even.dataset is THREE_POINTS
    uneven = THREE_POINTS.replace(X=THREE_POINTS.X * [1.0, 1e-6])
    even = even_columns(network, uneven)
    assert even.network.outputs(even.dataset.X).tolist() == network.outputs(uneven.X).tolist()
