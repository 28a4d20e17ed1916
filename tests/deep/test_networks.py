"""The networks themselves: formulas, shapes, gradients against finite differences, laws of the weights."""

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import pytest

from reluflow.data.mnist import mnist_pair
from reluflow.deep import (
    DeepDescent,
    DeepNeuron,
    FullyConnected,
    Residual,
    convolutional_network,
    features,
    gaussian_layers,
    outputs,
    similarities,
    train_deep,
    two_layer,
    uniform_layers,
)
from reluflow.deep.backend import arithmetic, equinox, on_device
from reluflow.deep.evaluation import BLOCK
from reluflow.dynamics.keep import Keep
from reluflow.errors import InvalidInputError
from reluflow.losses import LogisticLoss
from reluflow.network import Network

SMALL = {"kernels": (2, 2, 2, 3, 3, 3), "hidden": 5}


def relu(values):
    return np.maximum(values, 0.0)


def test_fully_connected_formula(rng):
    network = gaussian_layers((3, 4, 4, 1), std=1.0, rng=rng)
    X = rng.standard_normal((7, 3))
    first, second, third = network.weights
    assert outputs(network, X) == pytest.approx((third @ relu(second @ relu(first @ X.T)))[0], rel=1e-13)
    layers = features(network, X)
    assert [layer.shape for layer in layers] == [(7, 4), (7, 4), (7, 1)]
    assert layers[1] == pytest.approx((second @ relu(first @ X.T)).T, rel=1e-13)
    products = similarities(network, X)
    assert len(products) == 4
    assert products[0] == pytest.approx(X @ X.T, rel=1e-13)
    assert products[2] == pytest.approx(layers[1] @ layers[1].T, rel=1e-12)


def test_residual_formula(rng):
    network = uniform_layers((3, 4, 4, 4, 1), scale=2.0, rng=rng, is_residual=True)
    assert isinstance(network, Residual)
    X = rng.standard_normal((7, 3))
    one = network.weights[0] @ X.T
    two = one + network.weights[1] @ relu(one)
    three = two + network.weights[2] @ relu(two)
    assert outputs(network, X) == pytest.approx((network.weights[3] @ relu(three))[0], rel=1e-13)
    assert features(network, X)[2] == pytest.approx(three.T, rel=1e-13)


def test_deep_neuron_formula():
    neuron = DeepNeuron(np.array([1.0, -2.0]), np.array([0.5, 3.0, 2.0]))
    X = np.array([[1.0, 0.0], [0.0, 1.0], [3.0, 1.0]])
    assert outputs(neuron, X) == pytest.approx([3.0, 0.0, 3.0])
    assert outputs(DeepNeuron(np.array([1.0, -2.0]), np.empty(0)), X) == pytest.approx([1.0, 0.0, 1.0])
    assert outputs(DeepNeuron(np.array([1.0, -2.0]), np.array([2.0, -1.0])), X) == pytest.approx([0.0, 0.0, 0.0])
    with pytest.raises(InvalidInputError, match=r"`w` and `v` must be vectors, got shapes \(1, 2\) and \(1,\)"):
        DeepNeuron(np.ones((1, 2)), np.ones(1))


@pytest.mark.parametrize("kind", ["fully connected", "residual"])
def test_gradient_against_finite_differences(kind, rng):
    network = uniform_layers((3, 4, 4, 4, 1), scale=2.0, rng=rng, is_residual=kind == "residual")
    X = rng.standard_normal((6, 3))
    with arithmetic("float64"):
        parameters, structure = equinox.partition(on_device(network, "float64"), equinox.is_inexact_array)
        flat, unflatten = jax.flatten_util.ravel_pytree(parameters)

        @jax.jit
        def loss(values):
            outs = jax.vmap(equinox.combine(unflatten(values), structure))(jnp.asarray(X))
            return jnp.sum(jax.nn.softplus(outs))

        gradient = jax.grad(loss)(flat)
        for _ in range(6):
            direction = jnp.asarray(rng.standard_normal(flat.shape))
            # central differences: error step^2 (1e-12) and rounding 1e-16 / step (1e-10), unless a kink lies between
            step = 1e-6
            slope = (loss(flat + step * direction) - loss(flat - step * direction)) / (2 * step)
            assert float(slope) == pytest.approx(float(gradient @ direction), rel=1e-6, abs=1e-8)


def test_convolutional_shapes(rng):
    network = convolutional_network(rng=rng)
    shapes = [layer.shape for layer in jax.eval_shape(network.features, np.zeros(784, dtype=np.float32))]
    assert shapes == [
        (32, 28, 28),
        (32, 28, 28),
        (32, 14, 14),
        (64, 14, 14),
        (64, 14, 14),
        (64, 7, 7),
        (128,),
        (1,),
    ]
    assert network.dense.weight.shape == (128, 3136)
    arrays = jax.tree.leaves(equinox.filter(network, equinox.is_array))
    assert len(arrays) == 16  # a weight and a bias in each of eight layers
    assert {type(array) for array in arrays} == {np.ndarray}


def test_convolutional_law_of_the_weights():
    """U(+-1/sqrt(fan-in)), the dense weights times 0.05 and the dense biases not."""
    network = convolutional_network(rng=np.random.default_rng(3))
    fan_in = 3 * 3 * 32
    weight = network.convolutions[1].weight
    assert np.max(np.abs(weight)) <= 1 / np.sqrt(fan_in)
    assert np.std(weight) == pytest.approx(1 / np.sqrt(3 * fan_in), rel=0.05)
    assert np.std(network.dense.weight) == pytest.approx(0.05 / np.sqrt(3 * 3136), rel=0.02)
    assert np.std(network.dense.bias) == pytest.approx(1 / np.sqrt(3 * 3136), rel=0.2)
    same = convolutional_network(rng=np.random.default_rng(3))
    assert np.array_equal(same.convolutions[5].weight, network.convolutions[5].weight)


def test_a_convolution_is_a_sum_over_windows(rng):
    network = convolutional_network(rng=rng, precision="float64", **SMALL)
    image = rng.standard_normal((28, 28))
    weight, bias = network.convolutions[0].weight, network.convolutions[0].bias
    padded = np.pad(image, 1)
    window = padded[4:7, 9:12]  # around pixel (4, 9)
    first = features(network, image.reshape(1, -1))[0].reshape(2, 28, 28)
    assert first[1, 4, 9] == pytest.approx(np.sum(window * weight[1, 0]) + bias[1, 0, 0], rel=1e-12)


@pytest.mark.slow
def test_a_small_convolutional_network_learns():
    images = mnist_pair(1, 0, size=64, centred=False)
    network = convolutional_network(rng=np.random.default_rng(0), dense_scale=1.0, kernels=(4,) * 6, hidden=8)
    descent = DeepDescent(lr=1e-2, epochs=15, batch=32, optimizer="adam", precision="float32")
    run = train_deep(network, images, LogisticLoss(), descent, keep=Keep(iterations=[0, 30]))
    assert run.losses[0] == pytest.approx(np.log(2), abs=0.05)
    assert run.losses[-1] < 0.1  # 6e-9 to 0.02 in three seeds
    assert np.mean(np.sign(outputs(run.network, images.X, precision="float32")) == images.y) > 0.95


def test_blocks_change_nothing(rng):
    network = gaussian_layers((3, 4, 1), std=1.0, rng=rng)
    X = rng.standard_normal((BLOCK + 3, 3))
    assert outputs(network, X) == pytest.approx((network.weights[1] @ relu(network.weights[0] @ X.T))[0], abs=1e-13)
    assert features(network, X)[0].shape == (BLOCK + 3, 4)


def test_two_layer_keeps_the_function(rng):
    network = Network(w=rng.standard_normal((5, 3)), a=rng.standard_normal(5), log_scale=-1.0)
    X = rng.standard_normal((4, 3))
    assert outputs(two_layer(network), X) == pytest.approx(network.outputs(X), rel=1e-13)
    with pytest.raises(InvalidInputError, match="`network` must have leak 0"):
        two_layer(Network(w=[[1.0]], a=[1.0], leak=0.1))


def test_laws_of_the_weights():
    uniform = uniform_layers((400, 300, 300, 1), scale=0.05, rng=np.random.default_rng(0), is_residual=True)
    for weight in uniform.weights[:2]:
        assert np.max(np.abs(weight)) <= 0.05 / np.sqrt(weight.shape[1])
        assert np.std(weight) == pytest.approx(0.05 / np.sqrt(3 * weight.shape[1]), rel=0.02)
    gaussian = gaussian_layers((400, 300, 1), std=0.3, rng=np.random.default_rng(0))
    assert isinstance(gaussian, FullyConnected)
    assert np.std(gaussian.weights[0]) == pytest.approx(0.3, rel=0.02)


def test_refusals(rng):
    with pytest.raises(InvalidInputError, match=r"`sizes` must hold the input dimension.* got \(3, 2\)"):
        gaussian_layers((3, 2), std=1.0, rng=rng)
    with pytest.raises(InvalidInputError, match="`std` must be positive and finite, got -1"):
        gaussian_layers((3, 1), std=-1.0, rng=rng)
    with pytest.raises(InvalidInputError, match="`scale` must be positive and finite, got inf"):
        uniform_layers((3, 1), scale=np.inf, rng=rng)
    with pytest.raises(InvalidInputError, match="`sizes` must repeat one hidden width"):
        uniform_layers((3, 4, 5, 1), scale=1.0, rng=rng, is_residual=True)
    with pytest.raises(InvalidInputError, match="`kernels` must hold 6 numbers"):
        convolutional_network(rng=rng, kernels=(1, 2))
    with pytest.raises(InvalidInputError, match="`dense_scale` must be positive"):
        convolutional_network(rng=rng, dense_scale=0.0)
