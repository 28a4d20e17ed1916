"""Forces of a classifier of infinite norm, against the definition: the shortest sum of margin gradients."""

import numpy as np
import pytest
from scipy.optimize import minimize

from reluflow.certificates.steepest_ascent import steepest_multipliers
from reluflow.data.dataset import Dataset
from reluflow.network.network import Network


def even_margins(seed: int, leak: float) -> tuple[Network, Dataset]:
    """A network whose margins are all 1: samples of random directions at the lengths that make them so."""
    rng = np.random.default_rng(seed)
    network = Network(rng.standard_normal((6, 4)), rng.standard_normal(6), leak=leak)
    X = rng.standard_normal((5, 4))
    outputs = network.outputs(X)
    return network, Dataset(X / np.abs(outputs)[:, None], np.sign(outputs))


@pytest.mark.parametrize("leak", [0.0, 0.2])
@pytest.mark.parametrize("seed", range(6))
def test_they_make_the_shortest_of_all_mixed_gradients(seed, leak):
    network, dataset = even_margins(seed, leak)
    slopes = np.where(network.w @ dataset.X.T > 0.0, 1.0, leak)
    of_w = dataset.y[:, None, None] * (slopes * network.a[:, None]).T[:, :, None] * dataset.X[:, None, :]
    of_a = dataset.y[:, None] * (slopes * (network.w @ dataset.X.T)).T
    gradients = np.hstack([of_w.reshape(dataset.n, -1), of_a])
    best = minimize(
        lambda shares: np.sum((shares @ gradients) ** 2),
        np.full(dataset.n, 1.0 / dataset.n),
        jac=lambda shares: 2.0 * gradients @ (shares @ gradients),
        bounds=[(0.0, None)] * dataset.n,
        constraints={"type": "eq", "fun": lambda shares: np.sum(shares) - 1.0},
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    found = steepest_multipliers(network, dataset, close=1e-6)
    np.testing.assert_allclose(found, best.x / np.max(best.x), atol=2e-6)  # measured: 7e-7


def test_what_is_normal_to_the_boundaries_a_neuron_stands_on_does_not_count():
    """A neuron between two samples it is pushed off by one of: it slides, whatever that sample's own force."""
    dataset = Dataset([[1.0, 0.0], [1.0, 1.0], [0.0, -1.0]], [1.0, 1.0, -1.0])
    network = Network([[1.0, 0.0], [0.0, -1.0]], [1.0, -1.0])  # the first stands on the boundary of the third
    found = steepest_multipliers(network, dataset, close=1e-6)
    # tangent to it, the gradients of the first two samples are the same: which of them pulls does not matter, and the
    # two neurons are pulled apart, each by one unit
    assert found[0] + found[1] == pytest.approx(found[2])
