"""The network: homogeneity, moments, scale kept apart, permutation and rotation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reluflow.errors import InvalidInputError
from reluflow.network import Network, cone_moments


def random_network(seed, *, width=7, d=3, leak=0.3):
    rng = np.random.default_rng(seed)
    return Network(
        rng.standard_normal((width, d)), rng.standard_normal(width), leak=leak, weight=rng.uniform(0.5, 2, width)
    )


def outputs_by_hand(network, X):
    result = np.zeros(len(X))
    for w, a, weight in zip(network.w, network.a, network.weight, strict=True):
        for k, x in enumerate(X):
            z = float(np.dot(w, x)) * np.exp(network.log_scale)
            result[k] += weight * a * np.exp(network.log_scale) * (z if z > 0 else network.leak * z)
    return result


@given(seed=st.integers(0, 10_000), leak=st.sampled_from([0.0, 0.3, 1.0]), log_scale=st.floats(-5, 5))
def test_outputs_against_a_plain_loop(seed, leak, log_scale):
    network = random_network(seed, leak=leak).replace(log_scale=log_scale)
    X = np.random.default_rng(seed + 1).standard_normal((5, 3))
    assert np.allclose(network(X), outputs_by_hand(network, X), rtol=1e-12, atol=1e-12 * np.exp(2 * log_scale))


@given(seed=st.integers(0, 10_000), factor=st.floats(-30.0, 30.0))
def test_two_homogeneous_in_the_neurons(seed, factor):
    network = random_network(seed)
    X = np.random.default_rng(seed + 1).standard_normal((5, 3))
    assert np.allclose(network.scaled(factor)(X), np.exp(2 * factor) * network(X), rtol=1e-12)


@given(seed=st.integers(0, 10_000), factor=st.floats(0.01, 100.0))
def test_one_homogeneous_in_the_inputs(seed, factor):
    network = random_network(seed)
    X = np.random.default_rng(seed + 1).standard_normal((5, 3))
    assert np.allclose(network(factor * X), factor * network(X), rtol=1e-12)


@given(seed=st.integers(0, 10_000))
def test_permutation_and_rotation(seed):
    network = random_network(seed)
    rng = np.random.default_rng(seed + 1)
    X = rng.standard_normal((5, 3))
    rotation, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    assert np.allclose(network.permuted(rng.permutation(7))(X), network(X), rtol=1e-12, atol=1e-13)
    assert np.allclose(network.rotated(rotation)(X @ rotation.T), network(X), rtol=1e-10, atol=1e-12)


@given(seed=st.integers(0, 10_000), leak=st.sampled_from([0.0, 0.3]))
def test_moments_carry_the_outputs(seed, leak):
    network = random_network(seed, width=40, leak=leak)
    X = np.random.default_rng(seed + 1).standard_normal((4, 3))
    moments = cone_moments(network, X)
    assert np.allclose(moments.shape_outputs(X, leak), network.shape_outputs(X), rtol=1e-10, atol=1e-12)
    assert np.array_equal(moments.patterns[moments.cone_of_neuron], network.patterns(X))
    z = np.hstack([network.w, network.a[:, None]])
    assert np.allclose(moments.moments.sum(axis=0), (z * network.weight[:, None]).T @ z)


def test_scale_outside_the_range_of_a_double_is_legal():
    network = random_network(0).replace(log_scale=-400 * np.log(10))
    X = np.eye(3)
    assert np.all(network(X) == 0.0)
    assert np.array_equal(network.shape_outputs(X), random_network(0).shape_outputs(X))
    with pytest.raises(InvalidInputError, match="do not fit a double"):
        network.materialized()


def test_materialized_network_computes_the_same():
    network = random_network(3).replace(log_scale=-7.0)
    assert np.allclose(network.materialized()(np.eye(3)), network(np.eye(3)), rtol=1e-13)


def test_refusals_say_what_came_and_the_way_out():
    with pytest.raises(InvalidInputError, match="`w` must have shape"):
        Network([1.0, 2.0], [1.0])
    with pytest.raises(InvalidInputError, match="one output weight for each of the 2 neurons"):
        Network([[1.0], [2.0]], [1.0])
    with pytest.raises(InvalidInputError, match="`leak` must lie in"):
        Network([[1.0]], [1.0], leak=1.5)
    with pytest.raises(InvalidInputError, match="positive number per neuron"):
        Network([[1.0]], [1.0], weight=[0.0])
    with pytest.raises(InvalidInputError, match="finite"):
        Network([[np.nan]], [1.0])
    with pytest.raises(InvalidInputError, match=r"dataset.with_bias"):
        Network([[1.0, 2.0]], [1.0])([[1.0]])


def test_arrays_are_read_only():
    network = random_network(0)
    with pytest.raises(ValueError, match="read-only"):
        network.w[0, 0] = 1.0
