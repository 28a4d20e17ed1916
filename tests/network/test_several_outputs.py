"""Networks with K outputs and an output bias; K = 1 is the network it always was, bit for bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reluflow.errors import InvalidInputError
from reluflow.network import Network


def a_network(rng, num_outputs, *, bias=False, **fields):
    v, b = rng.normal(size=(6, num_outputs)), rng.normal(size=num_outputs) if bias else None
    return Network(rng.normal(size=(6, 3)), v=v, b=b, leak=0.2, weight=rng.uniform(0.5, 2.0, 6), **fields)


@given(seed=st.integers(0, 1000), num_outputs=st.integers(2, 5), bias=st.booleans())
def test_every_output_is_the_network_of_its_column(seed, num_outputs, bias):
    rng = np.random.default_rng(seed)
    network, X = a_network(rng, num_outputs, bias=bias, log_scale=-0.7), rng.normal(size=(5, 3))
    outputs = network.outputs(X)
    assert outputs.shape == (5, num_outputs)
    for c in range(num_outputs):
        one = network.replace(v=network.v[:, [c]], b=None if network.b is None else network.b[[c]])
        assert np.allclose(outputs[:, c], one.outputs(X), rtol=1e-13, atol=1e-13)
        assert one.outputs(X).shape == (5,)


def test_one_output_has_the_bits_it_had(rng):
    """The outputs of one output are one product of a vector and a matrix; another order of sums rounds differently."""
    network, X = a_network(rng, 1), rng.normal(size=(7, 3))
    z = network.w @ X.T
    assert np.array_equal(network.outputs(X), (network.weight * network.v[:, 0]) @ np.maximum(z, 0.2 * z))
    assert network.a.flags["C_CONTIGUOUS"]
    assert not network.a.flags["WRITEABLE"]
    assert np.shares_memory(network.a, network.v)


def test_the_output_bias_is_in_the_units_of_the_outputs():
    network = Network([[1.0, 0.0]], [2.0], b=5.0, log_scale=-500.0)
    assert np.array_equal(network.outputs([[1.0, 0.0], [3.0, 1.0]]), [5.0, 5.0])
    assert np.array_equal(network.scaled(500.0).outputs([[1.0, 0.0]]), [7.0])
    assert network.scaled(500.0).squared_norm() == 5.0


def test_what_copies_keep(rng):
    network = a_network(rng, 3, bias=True)
    order = rng.permutation(6)
    X = rng.normal(size=(4, 3))
    for copy in (
        network.permuted(order),
        network.scaled(1.0).scaled(-1.0),
        network.scaled(0.3).materialized().scaled(-0.3),
    ):
        assert np.allclose(copy.outputs(X), network.outputs(X), atol=1e-13)
    single = Network([[1.0], [2.0]], [1.0, 2.0], b=[3.0])
    assert np.array_equal(single.replace(a=[5.0, 6.0]).v, [[5.0], [6.0]])
    assert np.array_equal(single.replace(a=[5.0, 6.0]).b, [3.0])
    assert np.allclose(network.balancedness(), (network.v**2).sum(1) - (network.w**2).sum(1))
    assert "num_outputs=3" in repr(network)
    assert "with output bias" in repr(network)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"w": [[1.0]]}, "exactly one of `a`"),
        ({"w": [[1.0]], "a": [1.0], "v": [[1.0]]}, "exactly one of `a`"),
        ({"w": [[1.0]], "a": [[1.0, 2.0]]}, "several outputs are `v`"),
        ({"w": [[1.0]], "v": [[1.0], [2.0]]}, "one row of output weights for each of the 1 neurons"),
        ({"w": [[1.0]], "v": [1.0]}, "one row of output weights"),
        ({"w": [[1.0]], "v": [[1.0, 2.0]], "b": [1.0]}, "for each of the 2 outputs, got shape"),
        ({"w": [[1.0]], "v": [[1.0, 2.0]], "b": 1.0}, "for each of the 2 outputs"),
        ({"w": [[1.0]], "a": [1.0], "b": [np.inf]}, "not finite"),
        ({"w": [[1.0]], "v": [[np.nan, 1.0]]}, "must be finite"),
    ],
)
def test_what_is_no_network_is_refused(fields, words):
    with pytest.raises(InvalidInputError, match=words):
        Network(**fields)


def test_several_outputs_have_no_a(rng):
    with pytest.raises(InvalidInputError, match=r"got 3 outputs; `v` holds them"):
        _ = a_network(rng, 3).a
