"""The best direction in given patterns from a guess, against the cone program, which needs none."""

import numpy as np
import pytest

from reluflow import Dataset
from reluflow.certificates import pattern_margin
from reluflow.certificates.kkt import kkt_certificate
from reluflow.certificates.pattern_active_set import PatternProgram, solve_active_set
from reluflow.certificates.pattern_margin import max_margin_in_patterns, max_margin_nearby
from reluflow.network.network import Network


def classifier(seed: int, *, leak: float = 0.0) -> tuple[Network, Dataset]:
    """Twelve samples on two sides of a line, and six neurons each of which sees all samples of its sign."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((12, 4))
    normal = np.array([1.0, 0.5, -0.5, 0.2])
    y = np.sign(X @ normal)
    X += 0.3 * y[:, None] * normal
    signs = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    w = signs[:, None] * normal + 0.6 * rng.standard_normal((6, 4))
    return Network(w, signs * np.linalg.norm(w, axis=1), leak=leak), Dataset(X, y)


def margin_in_patterns(solved: Network, network: Network, data: Dataset) -> float:
    """The margin of a solution, with the slopes of the network that it was solved for, over its length."""
    groups = pattern_margin._Groups.of(network, data)
    shared = groups.vectors(solved.replace(w=np.where(solved.a[:, None] == 0.0, 0.0, solved.w)))
    margins = groups.program(network, data, None).margins(shared)
    return float(np.min(margins)) / float(np.sum(np.linalg.norm(shared, axis=1)))


@pytest.mark.parametrize("leak", [0.0, 0.2])
def test_agrees_with_the_cone_program(leak, monkeypatch):
    """Two ways to one number; even from multipliers that are all equal a third of them are found."""
    monkeypatch.setattr(pattern_margin, "_NEGLIGIBLE", ())  # the cone program alone
    found = 0
    for seed in range(40):
        network, data = classifier(seed, leak=leak)
        if not np.all(network.outputs(data.X) * data.y > 0.0):
            continue
        near = max_margin_nearby(network, data, np.ones(data.n))
        if near is None:
            continue
        found += 1
        rough = max_margin_in_patterns(network, data)
        assert near.squared_norm() == pytest.approx(1.0, rel=1e-12)
        best = margin_in_patterns(near, network, data)
        assert margin_in_patterns(rough, network, data) == pytest.approx(best, rel=1e-9)  # measured 2e-11
    assert found >= 7


def test_meets_the_conditions_to_rounding():
    network, data = classifier(1)
    near = max_margin_nearby(network, data, np.ones(data.n))
    assert near is not None
    assert kkt_certificate(near, data).residual < 1e-12


def test_a_guess_that_leads_nowhere_is_none():
    """No vector with any length, no multiplier."""
    network, data = classifier(0)
    assert max_margin_nearby(network, data, np.zeros(data.n)) is None
    nothing = PatternProgram(data.X, data.y, np.ones(1), np.ones((1, data.n)), np.zeros((0, 4)), np.zeros(0), 0.0)
    assert solve_active_set(nothing, np.zeros((1, 4)), np.ones(data.n), negligible=1e-3) is None


def test_a_wall_holds_back_a_vector():
    """Alone (0, 1) would be best; a wall at (-1, 1) of the other sign turns it to where it is not active on it."""
    data, wall = Dataset([[0.0, 1.0]], [1.0]), Dataset([[-1.0, 1.0]], [-1.0])
    network = Network([[2.0, 1.0]], [np.sqrt(5.0)])
    near = max_margin_nearby(network, data, np.ones(1), walls=wall)
    assert near is not None
    assert np.allclose(near.w[0] / np.linalg.norm(near.w[0]), np.array([1.0, 1.0]) / np.sqrt(2.0), atol=1e-12)
    assert kkt_certificate(near, data, walls=wall).residual < 1e-12
