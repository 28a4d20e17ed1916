"""Multipliers by least squares against the linear program, where both apply."""

import numpy as np
import pytest

from reluflow import Dataset, LogisticLoss, TrainingProblem, balanced_initialization, train
from reluflow.certificates import kkt
from reluflow.certificates.kkt import kkt_certificate
from reluflow.certificates.limits.certified_limit import LimitIdentified, certified_limit
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.network.network import Network


@pytest.mark.parametrize("leak", [0.0, 0.3])
def test_the_program_and_least_squares_find_the_same(leak, monkeypatch):
    """Measured: 2e-16 of the largest apart, with three kinks."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((8, 3))
    data = Dataset(X, np.sign(X @ rng.standard_normal(3)))
    network = balanced_initialization(data, width=6, scale=1e-2, rng=rng, leak=leak)
    run = train(TrainingProblem(data, LogisticLoss(), network), EventDrivenFlow(), until=LimitIdentified())
    limit = certified_limit(run).network
    ours = kkt_certificate(limit, data)
    assert ours.residual < 1e-9
    assert ours.is_unique
    real = kkt.least_squares_multipliers
    monkeypatch.setattr(kkt, "least_squares_multipliers", lambda *args: _refused(real(*args)))
    theirs = kkt_certificate(limit, data)
    assert np.allclose(ours.multipliers, theirs.multipliers, rtol=0, atol=1e-9 * ours.multipliers.max())
    assert np.allclose(ours.slopes, theirs.slopes, rtol=0, atol=1e-6)


def _refused(found):
    from dataclasses import replace

    return replace(found, is_unique=False)


def test_negative_multipliers_are_refused():
    """Three samples at one margin: least squares would pull the far one with a negative weight; none is allowed."""
    data = Dataset([[1.0, 0.0], [1.0, 1.0], [1.0, -0.2]], [1, 1, 1])
    network = Network(w=[[1.0, 0.0]], a=[1.0])
    certificate = kkt_certificate(network, data)
    assert np.all(certificate.multipliers >= 0.0)
    left = network.w[0] / np.sqrt(2) - certificate.multipliers @ data.X / np.sqrt(2)
    assert certificate.residual >= np.linalg.norm(left) - 1e-12
