"""Networks with several outputs and biases in every format, there and back."""

import numpy as np
import pytest

from reluflow.errors import InvalidInputError
from reluflow.network import Network, read_network, write_network

X = np.random.default_rng(3).normal(size=(7, 3))
WITH_BIAS = np.column_stack([X[:, :2], np.ones(7)])


def a_network(num_outputs, *, bias):
    rng = np.random.default_rng(num_outputs)
    b = rng.normal(size=num_outputs) if bias else None
    return Network(rng.normal(size=(5, 3)), v=rng.normal(size=(5, num_outputs)), b=b, weight=rng.uniform(1, 2, 5))


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("num_outputs", [1, 2, 4])
@pytest.mark.parametrize("name", ["net.csv", "net.npz", "net.safetensors"])
def test_our_files_give_every_bit_back(tmp_path, name, num_outputs, bias):
    network = a_network(num_outputs, bias=bias)
    again = read_network(write_network(network, tmp_path / name))
    for field in ("w", "v", "weight"):
        assert np.array_equal(getattr(again, field), getattr(network, field))
    assert (again.b is None) == (network.b is None)
    assert network.b is None or np.array_equal(again.b, network.b)


def test_one_output_may_be_called_v1(tmp_path):
    (tmp_path / "n.csv").write_text("w1,w2,v1,b1\n1,2,3,0.5\n4,5,6,0.5\n")
    network = read_network(tmp_path / "n.csv")
    assert np.array_equal(network.a, [3.0, 6.0])
    assert np.array_equal(network.b, [0.5])
    np.savez(tmp_path / "n.npz", w=np.eye(2), v=[1.0, 2.0], b=0.5)
    assert np.array_equal(read_network(tmp_path / "n.npz").a, [1.0, 2.0])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("w1,v1,v2,b1\n1,2,3,4\n", "must have the header"),
        ("w1,v2\n1,2\n", "must have the header"),
        ("w1,v1,b1\n1,2,3\n1,2,4\n", "same output bias"),
    ],
)
def test_tables_that_are_none_are_refused(tmp_path, content, words):
    (tmp_path / "n.csv").write_text(content)
    with pytest.raises(InvalidInputError, match=words):
        read_network(tmp_path / "n.csv")


def test_archives_that_are_none_are_refused(tmp_path):
    np.savez(tmp_path / "n.npz", w=np.eye(2), v=np.eye(2), a=[1.0, 2.0])
    with pytest.raises(InvalidInputError, match="got both"):
        read_network(tmp_path / "n.npz")
    np.savez(tmp_path / "n.npz", w=np.eye(2), a=np.ones((2, 3)))
    with pytest.raises(InvalidInputError, match="several outputs are `v`"):
        read_network(tmp_path / "n.npz")


@pytest.mark.parametrize("num_outputs", [1, 3])
def test_dense_layers_of_other_packages(num_outputs):
    rng = np.random.default_rng(0)
    hidden, c, outer, b = (
        rng.normal(size=(5, 2)),
        rng.normal(size=5),
        rng.normal(size=(num_outputs, 5)),
        rng.normal(size=num_outputs),
    )
    expected = (np.maximum(X[:, :2] @ hidden.T + c, 0.0) @ outer.T + b).squeeze()
    state = {"0.weight": hidden, "0.bias": c, "2.weight": outer, "2.bias": b}
    flax = {"Dense_0": {"kernel": hidden.T, "bias": c}, "Dense_1": {"kernel": outer.T, "bias": b}}
    for network in (
        Network.from_torch(state),
        Network.from_flax({"params": flax}),
        Network.from_arrays(hidden, outer, hidden_bias=c, output_bias=b),
    ):
        assert network.num_outputs == num_outputs
        np.testing.assert_allclose(network(WITH_BIAS), expected, rtol=1e-13)
    again = Network.from_flax(Network.from_torch(state).to_flax(hidden_bias=True))
    np.testing.assert_allclose(again(WITH_BIAS), expected, rtol=1e-13)


@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")
def test_scikit_learn_with_three_classes(rng):
    from sklearn.neural_network import MLPClassifier

    classes = rng.integers(0, 3, 7)
    model = MLPClassifier(hidden_layer_sizes=(4,), max_iter=5, random_state=0, solver="lbfgs").fit(X[:, :2], classes)
    outputs = Network.from_sklearn(model)(WITH_BIAS)
    chances = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    np.testing.assert_allclose(chances / chances.sum(axis=1, keepdims=True), model.predict_proba(X[:, :2]), rtol=1e-9)


def test_equinox_with_three_outputs():
    eqx = pytest.importorskip("equinox")
    jax = pytest.importorskip("jax")
    model = eqx.nn.MLP(2, 3, 4, 1, key=jax.random.key(0))
    ours = Network.from_equinox(model)(WITH_BIAS)
    np.testing.assert_allclose(ours, jax.vmap(model)(X[:, :2].astype(np.float32)), rtol=1e-4, atol=1e-5)
