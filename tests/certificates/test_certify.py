"""Minima, saddles and escapes on the three points of Boursier & Flammarion, and on small problems."""

import numpy as np
import pytest

from reluflow.certificates.certify import Kind, certify
from reluflow.certificates.stationarity import stationarity
from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError
from reluflow.losses import LogisticLoss, SquareLoss
from reluflow.network.network import Network

THREE_POINTS = Dataset([[-0.75, 1], [-0.5, 1], [0.125, 1]], [1.1, 0.1, 0.8])  # Boursier & Flammarion (2024), App. B.1
LEAST_SQUARES = np.linalg.lstsq(THREE_POINTS.X, THREE_POINTS.y, rcond=None)[0]


def least_squares_network(extra_w=(), extra_a=(), **fields):
    """One balanced all-on neuron that fits the line, and others."""
    size = np.sqrt(np.linalg.norm(LEAST_SQUARES))
    w = np.vstack([LEAST_SQUARES / size, *np.reshape(extra_w, (-1, 2))])
    return Network(w, np.concatenate([[size], extra_a]), **fields)


def decrease(network, escape, dataset, loss):
    """What the escape does to the loss, recomputed."""
    network = network.materialized()
    before = loss.total(network.outputs(dataset.X), dataset.y)
    if escape.neuron is None:
        w, a = np.vstack([network.w, escape.w]), np.append(network.a, escape.a)
        weight = np.append(network.weight, 1.0)
    else:
        w, a, weight = network.w.copy(), network.a.copy(), network.weight
        w[escape.neuron] += escape.w
        a[escape.neuron] += escape.a
    after = loss.total(network.replace(w=w, a=a, weight=weight).outputs(dataset.X), dataset.y)
    return before - after


def test_zero_neuron_makes_a_saddle():
    network = least_squares_network([[0.0, 0.0]], [0.0])
    certificate = certify(network, THREE_POINTS, SquareLoss())
    assert certificate.kind is Kind.SADDLE
    assert certificate.residuals["loss"] == pytest.approx(0.0875214, abs=5e-8)
    escape = certificate.escape
    assert escape.neuron == 1
    assert escape.actual_decrease > 0
    assert decrease(network, escape, THREE_POINTS, SquareLoss()) == pytest.approx(escape.actual_decrease, rel=1e-9)
    # the rays at 26.565 and 206.565 degrees, gain .03058 (digest, golden numbers)
    assert np.degrees(np.arctan2(escape.w[1], escape.w[0])) % 180 == pytest.approx(26.565, abs=1e-3)
    scale = stationarity(network, THREE_POINTS, SquareLoss()).force_scale
    assert certificate.residuals["new_neuron_gain"] * scale == pytest.approx(0.03058, abs=5e-6)


@pytest.mark.parametrize(
    ("w", "a"),
    [
        ([], []),
        ([[0.0, -1.0]], [-0.3]),  # a dead neuron
        ([[0.0, -1.0]], [0.0]),  # dead, output weight zero: nothing pulls on it
        ([[-0.3, 0.2]], [0.0]),  # all on, output weight zero: the residual is orthogonal to it
        ([[0.0, 0.0]], [-1.0]),  # input weight zero: a negative neuron can only hurt
    ],
)
def test_spurious_local_minimum(w, a):
    network = least_squares_network(w, a)
    certificate = certify(network, THREE_POINTS, SquareLoss())
    assert certificate.kind is Kind.LOCAL_MINIMUM
    assert certificate.residuals["loss"] == pytest.approx(0.0875214, abs=5e-8)
    assert certificate.escape.neuron is None
    measured = decrease(network, certificate.escape, THREE_POINTS, SquareLoss())
    assert measured == pytest.approx(certificate.escape.actual_decrease, rel=1e-9)
    rng = np.random.default_rng(0)
    before = SquareLoss().total(network.outputs(THREE_POINTS.X), THREE_POINTS.y)
    for size in (1e-2, 1e-3, 1e-4):  # a local minimum is one in every direction
        for _ in range(300):
            moved = network.replace(
                w=network.w + size * rng.standard_normal(network.w.shape),
                a=network.a + size * rng.standard_normal(network.a.shape),
            )
            assert SquareLoss().total(moved.outputs(THREE_POINTS.X), THREE_POINTS.y) >= before - 1e-15


def test_input_weight_zero_with_a_gaining_output():
    """Stationary, since slopes are free at zero, yet moving the input weight lowers the loss at once."""
    network = least_squares_network([[0.0, 0.0]], [1.0])
    certificate = certify(network, THREE_POINTS, SquareLoss())
    assert certificate.residuals["stationarity"] <= 1e-12
    assert certificate.kind is Kind.SADDLE
    assert certificate.escape.neuron == 1
    assert decrease(network, certificate.escape, THREE_POINTS, SquareLoss()) > 0


def test_output_weight_zero_with_a_pull_across():
    """D = (0, 1) is orthogonal to w = (1, 0): stationary, and lower when both weights of the neuron move."""
    dataset = Dataset([[1.0, 1.0], [1.0, -1.0]], [1.0, -1.0])
    network = Network([[1.0, 0.0]], [0.0])
    certificate = certify(network, dataset, SquareLoss())
    assert certificate.residuals["stationarity"] <= 1e-12
    assert certificate.kind is Kind.SADDLE
    assert decrease(network, certificate.escape, dataset, SquareLoss()) > 0


def test_ridge_neuron_is_a_saddle():
    """Stationary in Clarke's sense only: the kink opens upwards for the neuron's sign, so both sides lead down."""
    dataset = Dataset([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], [1.0, 1.0, 1.0])
    network = Network([[0.0, 1.0]], [1.0])
    certificate = certify(network, dataset, SquareLoss())
    assert certificate.residuals["stationarity"] <= 1e-12
    assert certificate.kind is Kind.SADDLE
    assert decrease(network, certificate.escape, dataset, SquareLoss()) > 0


def test_valley_neuron_is_a_local_minimum():
    """The same with a kink that opens downwards: the neuron is held on the boundary."""
    dataset = Dataset([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], [-1.0, -1.0, 1.0])
    certificate = certify(Network([[0.0, 1.0]], [1.0]), dataset, SquareLoss())
    assert certificate.kind is Kind.LOCAL_MINIMUM
    assert certificate.escape.a < 0  # a negative neuron would fit the other two


def test_interpolation_is_a_global_minimum():
    rng = np.random.default_rng(1)
    w = rng.standard_normal((40, 2))
    features = np.maximum(THREE_POINTS.X @ w.T, 0)
    a = np.linalg.lstsq(features, THREE_POINTS.y, rcond=None)[0]
    assert certify(Network(w, a), THREE_POINTS, SquareLoss()).kind is Kind.GLOBAL_MINIMUM


def test_contradicting_labels_are_fitted_as_well_as_can_be():
    """Loss positive, yet no neuron gains: a global minimum among all widths."""
    dataset = Dataset([[1.0, 0.0], [1.0, 0.0]], [1.0, 0.0])
    certificate = certify(Network([[1.0, 0.0]], [0.5]), dataset, SquareLoss())
    assert certificate.kind is Kind.GLOBAL_MINIMUM
    assert certificate.residuals["loss"] == pytest.approx(0.125 / 1)
    assert "no network of any width" in certificate.reasons[0]


def test_moving_off_is_not_stationary():
    network = least_squares_network()
    assert certify(network.replace(a=network.a * 1.001), THREE_POINTS, SquareLoss()).kind is Kind.NOT_STATIONARY
    assert certify(network.scaled(0.01), THREE_POINTS, SquareLoss()).kind is Kind.NOT_STATIONARY


def test_weights_and_scale_are_respected():
    network = least_squares_network()
    halves = Network(network.w / np.sqrt(2), network.a / np.sqrt(2), weight=[2.0])
    shrunk = Network(network.w * np.exp(20.0), network.a * np.exp(20.0), log_scale=-20.0)
    for other in (halves, shrunk):
        certificate = certify(other, THREE_POINTS, SquareLoss())
        assert certificate.kind is Kind.LOCAL_MINIMUM
        assert certificate.residuals["loss"] == pytest.approx(0.0875214, abs=5e-8)


def test_zero_network_is_a_saddle_at_any_scale():
    for log_scale in (0.0, -900.0):
        network = Network(np.zeros((3, 2)), np.zeros(3), log_scale=log_scale)
        certificate = certify(network, THREE_POINTS, SquareLoss())
        assert certificate.kind is Kind.SADDLE
        direction = certificate.escape.w / np.linalg.norm(certificate.escape.w)
        assert np.degrees(np.arctan2(direction[1], direction[0])) == pytest.approx(111.1813, abs=1e-4)


def test_dead_classifier_is_no_direction():
    """No sample is classified: the point itself is judged, and it is a local minimum that training cannot leave."""
    dataset = Dataset([[1.0, 0.2], [0.8, -0.1]], [1, 1])
    certificate = certify(Network([[-1.0, 0.0]], [1.0]), dataset, LogisticLoss())
    assert certificate.kind is Kind.LOCAL_MINIMUM
    assert certificate.margin == 0
    assert certificate.escape.neuron is None


def test_stationarity_is_the_gradient_where_there_is_one():
    """Against central differences of the loss."""
    rng = np.random.default_rng(4)
    dataset = Dataset(rng.standard_normal((6, 3)), rng.standard_normal(6))
    network = Network(rng.standard_normal((4, 3)), rng.standard_normal(4), leak=0.2, weight=[1, 2, 1, 3])
    loss, step = SquareLoss(), 1e-6
    point = stationarity(network, dataset, loss)
    squared = 0.0
    for j in range(4):
        for k in range(4):
            values = []
            for sign in (1, -1):
                w, a = network.w.copy(), network.a.copy()
                if k < 3:
                    w[j, k] += sign * step
                else:
                    a[j] += sign * step
                values.append(loss.total(network.replace(w=w, a=a).outputs(dataset.X), dataset.y))
            squared += ((values[0] - values[1]) / (2 * step)) ** 2 / network.weight[j]
    norm = np.sqrt(network.squared_norm())
    assert point.residual == pytest.approx(np.sqrt(squared) / (norm * point.force_scale), rel=1e-7)


def test_refusals():
    with pytest.raises(InvalidInputError, match="with_bias"):
        certify(Network([[1.0]], [1.0]), THREE_POINTS, SquareLoss())
    with pytest.raises(InvalidInputError, match="labels -1 and 1"):
        certify(least_squares_network(), THREE_POINTS, LogisticLoss())
