"""How nearly a trained network is a KKT point: its best multipliers and what they leave."""

import numpy as np
import pytest
from scipy.optimize import nnls

from reluflow.certificates.approximate_kkt import approximate_kkt
from reluflow.certificates.certify import Kind, certify
from reluflow.certificates.kkt import kkt_certificate
from reluflow.certificates.pattern_margin import max_margin_in_patterns
from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.errors import InvalidInputError
from reluflow.losses import LogisticLoss
from reluflow.network.network import Network


def gradients(network, dataset):
    """grad q_i as columns, by the definition."""
    columns = []
    for x, y in zip(dataset.X, dataset.y, strict=True):
        z = network.w @ x
        slope = np.where(z > 0, 1.0, network.leak)
        columns.append(y * np.concatenate([(network.a * slope)[:, None] * x, (slope * z)[:, None]], axis=1).ravel())
    return np.array(columns).T


def trained(rng, *, width=12, leak=0.1):
    """Nearly the limit of a run, shaken: all samples right, the margin within some per cent of the best."""
    data = load("phuong-toy")
    start = Network(rng.standard_normal((width, 2)), rng.choice([-1.0, 1.0], width), leak=leak)
    solved = max_margin_in_patterns(start, data)
    shaken = solved.replace(w=solved.w + 0.02 * rng.standard_normal((width, 2)))
    return shaken, data


def test_multipliers_are_those_of_non_negative_least_squares(rng):
    network, data = trained(rng)
    found = approximate_kkt(network, data)
    theta = np.column_stack([network.w, network.a]).ravel()
    multipliers, left = nnls(gradients(network, data), theta)
    assert found.residual == pytest.approx(left / np.linalg.norm(theta), rel=1e-6)
    np.testing.assert_allclose(gradients(network, data) @ (found.multipliers - multipliers), 0.0, atol=1e-7)


def test_epsilon_and_delta_are_those_of_the_definition(rng):
    network, data = trained(rng)
    found = approximate_kkt(network, data)
    q = data.y * network.outputs(data.X)
    scaled = network.scaled(-0.5 * np.log(q.min())).materialized()
    theta = np.column_stack([scaled.w, scaled.a]).ravel()
    left = theta - gradients(scaled, data) @ found.multipliers
    assert found.epsilon == pytest.approx(np.linalg.norm(left), rel=1e-9)
    assert found.delta == pytest.approx(np.max(found.multipliers * (q / q.min() - 1.0)), rel=1e-9)
    assert found.norm == pytest.approx(np.linalg.norm(theta), rel=1e-12)


def test_a_trained_network_gets_multipliers_and_an_epsilon(rng):
    """It was told that it "misses KKT by 1 of its norm" with every multiplier 0, for no two margins are equal."""
    network, data = trained(rng)
    assert kkt_certificate(network, data).residual > 0.3
    certificate = certify(network, data, LogisticLoss())
    assert certificate.kind is Kind.NOT_STATIONARY
    assert np.any(certificate.multipliers > 0)
    assert certificate.residuals["kkt"] < 0.2
    assert certificate.residuals["epsilon"] > 0
    assert any("(epsilon, delta)-KKT point" in reason for reason in certificate.reasons)


def test_scale_does_not_matter(rng):
    network, data = trained(rng)
    one, two = approximate_kkt(network, data), approximate_kkt(network.scaled(3.0), data)
    assert one.epsilon == pytest.approx(two.epsilon, rel=1e-9)
    np.testing.assert_allclose(one.multipliers, two.multipliers, atol=1e-9)


def test_needs_a_classifier():
    with pytest.raises(InvalidInputError, match="classify every sample"):
        approximate_kkt(Network([[1.0, 0.0]], [1.0]), Dataset([[1.0, 0.0], [-1.0, 0.0]], [1, -1]))


def test_samples_that_come_in_by_and_by_give_the_same(rng, monkeypatch):
    """With 12,665 images all products of gradients took 8 GB; now a thousand samples are inside at once, here four."""
    X = rng.standard_normal((40, 6)) + 0.3
    network = Network(rng.standard_normal((12, 6)), rng.choice([-1.0, 1.0], 12), leak=0.1)
    data = Dataset(X, np.sign(network.outputs(X)))
    whole = approximate_kkt(network, data)
    multipliers, _ = nnls(gradients(network, data), np.column_stack([network.w, network.a]).ravel())
    monkeypatch.setattr("reluflow.certificates.approximate_kkt._MOST_INSIDE", 4)
    found = approximate_kkt(network, data)
    assert np.count_nonzero(multipliers) > 4
    assert found.residual == pytest.approx(whole.residual, rel=1e-9)
    np.testing.assert_allclose(found.multipliers, multipliers, atol=1e-9)
