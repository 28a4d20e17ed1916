"""Certificates of networks with several outputs or an output bias: closed forms, one output embedded, forgeries."""

import numpy as np
import pytest

import reluflow
from reluflow import (
    CollocationFlow,
    Dataset,
    GradientDescent,
    LogisticLoss,
    Network,
    SoftmaxLoss,
    SquareLoss,
    TrainingProblem,
    train,
)  # fmt: skip
from reluflow.certificates.certificate import Kind
from reluflow.certificates.certify import certify
from reluflow.certificates.limits.certified_limit import certified_limit
from reluflow.certificates.limits.directions import direction_distance, unit_norm
from reluflow.certificates.pair_gradients import PairGradients, Pairs, UnitNetwork
from reluflow.certificates.pair_kkt import pair_kkt
from reluflow.errors import InvalidInputError

THREE_POINTS = reluflow.load("three-points")
TURN = np.array([0.6, -0.8])


def least_squares_network():
    """The spurious local minimum of the three points: one neuron that is the least-squares line."""
    slope = np.linalg.lstsq(THREE_POINTS.X, THREE_POINTS.y, rcond=None)[0]
    size = np.sqrt(np.linalg.norm(slope))
    return Network([slope / size], [size])


def in_two_outputs(network, dataset):
    """The same problem along a unit vector of R^2."""
    rows = dataset.y[:, None] * TURN
    return network.replace(a=None, v=network.v * TURN), dataset.replace(y=rows, task="regression")


@pytest.mark.parametrize("make", ["embedded", "fixed bias", "trained bias"])
@pytest.mark.parametrize("case", ["local", "saddle", "not stationary", "zero"])
def test_one_output_is_judged_as_it_is_alone(make, case):
    network = least_squares_network()
    if case == "saddle":
        network = network.replace(w=np.vstack([network.w, [0.0, 0.0]]), a=[*network.a, 0.0], weight=None)
    elif case == "not stationary":
        network = network.replace(a=network.a * 1.1)
    elif case == "zero":
        network = Network(np.zeros((2, 2)), np.zeros(2))
    expected = certify(network, THREE_POINTS, SquareLoss())
    if make == "embedded":
        found = certify(*in_two_outputs(network, THREE_POINTS), SquareLoss())
    else:
        # the last coordinate is constant, so that a trained bias of 0 has no force of its own at a least-squares fit
        biased = network.replace(b=[0.0])
        found = certify(biased, THREE_POINTS, SquareLoss(), trains_output_bias=make == "trained bias")
        if (make, case) == ("trained bias", "zero"):
            assert found.kind is Kind.NOT_STATIONARY
            return
    assert found.kind is expected.kind
    assert found.residuals["stationarity"] == pytest.approx(expected.residuals["stationarity"], rel=1e-6, abs=1e-14)
    if expected.escape is not None:
        assert found.escape.neuron == expected.escape.neuron
        assert found.escape.actual_decrease > 0.0


def test_the_neuron_that_leads_down_lowers_the_loss():
    network, data = in_two_outputs(Network(np.zeros((2, 2)), np.zeros(2)), THREE_POINTS)
    found = certify(network, data, SquareLoss())
    w, v = network.w.copy(), network.v.copy()
    w[found.escape.neuron] += found.escape.w
    v[found.escape.neuron] += found.escape.a
    losses = [SquareLoss().total(net.outputs(data.X), data.y) for net in (network, network.replace(w=w, v=v))]
    assert losses[0] - losses[1] == pytest.approx(found.escape.actual_decrease, rel=1e-12)


def test_two_labels_at_one_point_make_a_global_minimum_that_fits_neither():
    data = Dataset([[1.0], [1.0]], [[1.0, 0.0], [0.0, 1.0]])
    assert certify(Network([[1.0]], v=[[0.5, 0.5]]), data, SquareLoss()).kind is Kind.GLOBAL_MINIMUM
    forged = certify(Network([[1.0]], v=[[0.5, 0.5001]]), data, SquareLoss())
    assert forged.kind is Kind.NOT_STATIONARY


def test_a_fit_is_a_global_minimum():
    data = Dataset(np.eye(2), [[2.0, -1.0], [0.5, 3.0]])
    assert certify(Network(np.eye(2), v=data.y), data, SquareLoss()).kind is Kind.GLOBAL_MINIMUM


def test_singular_pairs_of_a_linear_network_of_width_one():
    """Below the largest singular value a pair is a saddle; at the largest what is left needs second derivatives."""
    data = Dataset(np.eye(2), [[2.0, 0.0], [0.0, 1.0]])
    second = certify(Network([[0.0, 1.0]], v=[[0.0, 1.0]], leak=1.0), data, SquareLoss())
    assert second.kind is Kind.SADDLE
    side = np.sqrt(2.0)
    first = certify(Network([[side, 0.0]], v=[[side, 0.0]], leak=1.0), data, SquareLoss())
    assert first.kind is Kind.STATIONARY
    assert not first.is_proved
    assert "second derivatives" in first.open_points[-1]


def max_margin_pair():
    """The max-margin network of one sample on each side, its output a / sqrt(2) times (-1, 1)."""
    data = Dataset([[2.0, 0.0], [-1.0, 0.0]], [1.0, -1.0])
    network = Network([[1.0, 0.0], [-np.sqrt(2.0), 0.0]], [1.0, -np.sqrt(2.0)])
    return network, data


def test_two_classes_have_the_kkt_direction_of_one_output():
    network, data = max_margin_pair()
    alone = certify(network, data, LogisticLoss())
    pair = network.replace(a=None, v=network.v * np.array([-1.0, 1.0]) / np.sqrt(2.0))
    found = certify(pair, data.with_class_indices(), SoftmaxLoss())
    assert alone.kind in (Kind.MAX_MARGIN, Kind.KKT_DIRECTION)
    assert found.kind is Kind.KKT_DIRECTION
    assert found.margin == pytest.approx(np.sqrt(2.0) * alone.margin, rel=1e-12)
    assert found.multipliers.shape == (2, 2)
    assert found.multipliers[0, 1] == found.multipliers[1, 0] == 0.0
    assert found.multipliers[0, 0] == pytest.approx(alone.multipliers[0] / np.sqrt(2.0), rel=1e-9)


@pytest.mark.parametrize("num_classes", [3, 4])
def test_one_neuron_per_class_on_orthogonal_samples(num_classes):
    """By symmetry each sample's neuron has v along e_c - 1/K and all margins are alike."""
    data = Dataset(np.eye(num_classes), np.arange(num_classes), classes=[f"c{k}" for k in range(num_classes)])
    v = np.eye(num_classes) - 1.0 / num_classes
    network = Network(np.eye(num_classes) * np.linalg.norm(v[0]), v=v)
    found = certify(network, data, SoftmaxLoss())
    assert found.kind is Kind.KKT_DIRECTION
    assert found.is_proved
    assert np.allclose(found.multipliers, found.multipliers[0, 1] * (1.0 - np.eye(num_classes)), rtol=1e-8)
    scaled = certify(network.scaled(30.0), data, SoftmaxLoss())
    assert scaled.margin == pytest.approx(found.margin, rel=1e-12)


def test_a_forged_network_or_multiplier_is_refused():
    data = Dataset(np.eye(3), np.arange(3), classes=("a", "b", "c"))
    v = np.eye(3) - 1.0 / 3.0
    network = Network(np.eye(3) * np.linalg.norm(v[0]), v=v)
    moved = network.w.copy()
    moved[0, 1] += 1e-3
    for forged in (network.replace(w=moved), network.replace(v=v + 1e-3 * np.eye(3)[[1, 1, 2]])):
        found = certify(forged, data, SoftmaxLoss())
        assert found.kind is Kind.NOT_STATIONARY
        assert found.residuals["kkt"] > 1e-5
        assert found.residuals["epsilon"] > 1e-5
    pairs, unit = Pairs.of(data), UnitNetwork.of(network)
    gradients = PairGradients(unit, data.X, pairs, np.where(unit.w @ data.X.T > 0.0, 1.0, 0.0), 0.0)
    true = pair_kkt(network, data).multipliers[pairs.samples, pairs.rivals]
    assert gradients.residual(true) < 1e-12
    assert gradients.residual(true * np.array([1.01, 1, 1, 1, 1, 1])) > 1e-4


class TestOutputBias:
    """The line with slope 1 and bias -2 separates 1 and 3 with margin 1 and the least norm."""

    DATA = Dataset([[1.0, 0.0], [3.0, 0.0]], [-1.0, 1.0])
    NETWORK = Network([[1.0, 0.0]], [1.0], b=[-2.0])

    def test_the_affine_separator_is_a_kkt_direction(self):
        found = certify(self.NETWORK, self.DATA, LogisticLoss())
        assert found.kind is Kind.KKT_DIRECTION
        assert found.margin == pytest.approx(0.5)
        assert found.multipliers == pytest.approx([0.5, 0.5])
        assert found.residuals["kkt"] < 1e-9

    def test_another_bias_is_refused(self):
        found = certify(self.NETWORK.replace(b=[-1.9]), self.DATA, LogisticLoss())
        assert found.kind is Kind.NOT_STATIONARY

    def test_a_fixed_bias_is_nothing_beside_weights_that_grow(self):
        found = certify(self.NETWORK, self.DATA, LogisticLoss(), trains_output_bias=False)
        assert found.kind is Kind.NOT_STATIONARY

    def test_least_squares_with_a_bias(self):
        data = Dataset([[1.0], [2.0], [4.0]], [1.0, 3.0, 2.0])
        slope, bias = np.polyfit(data.X[:, 0], data.y, 1)
        size = np.sqrt(slope)
        network = Network([[size]], [size], b=[bias])
        assert certify(network, data, SquareLoss()).residuals["stationarity"] < 1e-12
        off = certify(network.replace(b=[bias + 0.1]), data, SquareLoss())
        assert off.kind is Kind.NOT_STATIONARY
        assert off.residuals["bias"] > 1e-3


def test_samples_that_no_neuron_sees_are_ignored():
    data = Dataset([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [0, 1, 2], classes=("a", "b", "c"))
    v = np.array([[2.0, -1.0, -1.0], [-1.0, 2.0, -1.0]]) / 3.0
    network = Network(np.eye(2) * np.linalg.norm(v[0]), v=v)
    found = certify(network, data, SoftmaxLoss())
    assert found.kind is Kind.PARTIAL_DIRECTION
    assert found.ignored == (2,)
    assert found.residuals["loss_at_infinity"] == pytest.approx(np.log(3.0) / 3.0)
    assert found.multipliers.shape == (3, 3)
    assert not np.any(found.multipliers[2])


def test_kinks_are_explained_by_slopes():
    """A neuron on a sample's boundary is held by a slope between leak and 1, and a network off it is not KKT."""
    data = Dataset([[1.0, 0.3], [1.0, -0.3], [-1.0, 0.0]], [0, 0, 1], classes=("a", "b"))
    v = np.array([[1.0, -1.0], [-1.0, 1.0]]) / np.sqrt(2.0)
    network = Network([[1.0, 0.0], [-1.0, 0.0]], v=v)
    assert certify(network, data, SoftmaxLoss()).kind is Kind.KKT_DIRECTION


def test_a_trained_network_is_nearly_kkt():
    rng = np.random.default_rng(0)
    data = Dataset(
        rng.normal(size=(9, 3)) + 4.0 * np.eye(3)[np.arange(9) % 3], np.arange(9) % 3, classes=("a", "b", "c")
    )
    start = reluflow.balanced_initialization(data, width=12, scale=0.3, rng=0, output_bias=True)
    problem = TrainingProblem(data, SoftmaxLoss(), start)
    residuals = []
    for iterations in (100, 4000):
        run = GradientDescent(lr=0.02, iterations=iterations, loss_scaled=True).start(problem)
        run.iterate_to(iterations)
        found = certify(run.network(), data, SoftmaxLoss())
        assert found.kind is Kind.NOT_STATIONARY
        assert {"epsilon", "delta"} <= set(found.residuals)
        assert np.all(found.multipliers >= 0.0)
        residuals.append(found.residuals["kkt"])
    assert residuals[1] < 0.5 * residuals[0]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda net, data: certify(net.replace(v=net.v[:, :2]), data, SoftmaxLoss()), "3 outputs that `dataset`"),
        (lambda net, data: certify(net, data, LogisticLoss()), "one_against_rest"),
        (
            lambda net, data: reluflow.network_margin(TrainingProblem(data, SoftmaxLoss(), net)),
            "one class against the rest|classification loss|-1 and 1",
        ),
        (lambda net, data: reluflow.minimum_norm_network(data), "one class against the rest"),
        (lambda net, data: reluflow.kkt_certificate(net, data), "one class against the rest|-1 and 1"),
        (lambda net, data: reluflow.linear_separator(data), "one class against the rest|-1 and 1"),
    ],
)
def test_what_is_open_or_does_not_fit_is_refused(call, words):
    data = Dataset(np.eye(3), np.arange(3), classes=("a", "b", "c"))
    with pytest.raises(InvalidInputError, match=words):
        call(Network(np.eye(3), v=np.eye(3)), data)


@pytest.mark.parametrize("num_outputs", [1, 3])
def test_the_limit_of_a_classifier_with_a_trained_bias_is_that_of_its_neurons(num_outputs):
    """The last state was judged with a free bias, whose condition the flow does not tend to: residuals stayed at 0.05.

    The bias grows like the logarithm of the squared norm, so that the direction tends to a KKT point without it.
    """
    X = np.array([[1.0, 0.2], [0.3, 1.0], [-1.0, -0.4]])
    v = np.eye(3) - 1.0 / 3.0 if num_outputs == 3 else np.array([[1.0], [1.0], [-1.0]])
    data = Dataset(X, [0, 1, 2], classes=("a", "b", "c")) if num_outputs == 3 else Dataset(X, [1, 1, -1])
    w = np.linalg.norm(v, axis=1, keepdims=True) * X / np.linalg.norm(X, axis=1, keepdims=True)
    network = Network(w=0.5 * w, v=0.5 * v, b=np.zeros(num_outputs))
    problem = TrainingProblem(data, "softmax" if num_outputs == 3 else "logistic", network)
    run = train(problem, CollocationFlow(rtol=1e-8))
    assert run.outcome.code == "direction-converged"
    limit = certified_limit(run)
    assert limit.network.b is None
    assert limit.certificate.residuals["kkt"] < 1e-9
    assert not limit.is_proof
    assert pair_kkt(run.network, data).residual > 0.02
    assert "it is left out" in limit.reason


def test_the_direction_solved_for_is_the_one_that_the_run_closes_in_on():
    """The direction comes near like a power of 1/log t; a later state of the same run must be nearer to what is solved.

    The multipliers are compared with the forces of the run, which know nothing of the quadratic programs.
    """
    X = np.array([[2.0, 0.1], [1.5, -0.2], [-0.1, 2.0], [0.2, 1.7], [-2.0, -1.8], [-1.5, -2.0]])
    data = Dataset(X, [0, 0, 1, 1, 2, 2], classes=("ant", "bee", "cow"))
    network = reluflow.balanced_initialization(data, width=8, scale=1e-2, rng=np.random.default_rng(1))
    run = train(TrainingProblem(data, "softmax", network), CollocationFlow(rtol=1e-7), times=[1e6, 1e12])
    limit = certified_limit(run)
    assert limit.certificate.kind is Kind.KKT_DIRECTION
    assert limit.certificate.residuals["kkt"] < 1e-9
    distances = [direction_distance(unit_norm(shot.network), limit.network) for shot in (*run.snapshots, run.end)]
    assert distances[0] > distances[1] > distances[2]
    assert distances[2] == pytest.approx(limit.distance)
    table = limit.certificate.multipliers
    assert table.shape == (6, 3)
    assert np.all(table[np.arange(6), data.y.astype(int)] == 0.0)
    forces = np.exp(SoftmaxLoss().log_force(run.snapshots[1].outputs, data.y))
    share = forces / forces.sum()
    assert np.all(table.sum(axis=1)[share.max(axis=1) < 1e-6] < 1e-6 * table.sum())
