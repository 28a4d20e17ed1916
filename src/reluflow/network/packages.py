"""Networks from and to other packages, known by their manners: PyTorch, scikit-learn, Equinox, Flax."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError, MissingExtraError
from reluflow.network.network import Network
from reluflow.network.two_layers import TwoLayers, two_layers_of

_SILENT = frozenset({"Identity", "Flatten", "Dropout"})  # layers that do nothing to a vector, or nothing once trained


def from_torch(model: Any, *, leak: float | None = None) -> Network:
    """A network from a PyTorch module `Linear, (Leaky)ReLU, Linear`, from its state dict, or from a file of one.

    Parameters
    ----------
    model
        A module, a mapping of names to tensors, or the path of a `.pt`, `.pth` or `.safetensors` file.
    leak
        Negative slope; by default that of the module's LeakyReLU, 0 for a state dict, which does not know it.

    Notes
    -----
    A module is also evaluated at a few points, and refused where it computes something else than these two layers.
    """
    if isinstance(model, str | Path):
        from reluflow.network.files import read_network

        return read_network(model, leak=leak)
    if isinstance(model, Mapping):
        return two_layers_of(model, "the state dict").network(leak=leak or 0.0)
    if not callable(getattr(model, "state_dict", None)):
        raise InvalidInputError(
            f"`model` must be a PyTorch module, a state dict or the path of one, got {type(model).__name__}."
        )
    slope = _slope_of(model)
    if leak is not None and slope is not None and leak != slope:
        raise InvalidInputError(f"`leak` must be {slope:g}, the slope of the module's activation, got {leak:g}.")
    chosen = leak if leak is not None else slope if slope is not None else 0.0
    layers = two_layers_of(model.state_dict(), "the module")
    network = layers.network(leak=chosen)
    _check_agreement(model, layers, chosen)
    return network


def from_sklearn(model: Any) -> Network:
    """A network from a fitted scikit-learn `MLPClassifier` or `MLPRegressor` with one hidden layer."""
    if not hasattr(model, "coefs_"):
        raise InvalidInputError(f"`model` must be a fitted MLPClassifier or MLPRegressor, got {model!r}.")
    if len(model.coefs_) != 2:
        raise InvalidInputError(f"`model` must have one hidden layer, got {len(model.coefs_) - 1}.")
    if model.activation not in ("relu", "identity"):
        raise InvalidInputError(f"`model` must have activation='relu' (or 'identity'), got {model.activation!r}.")
    arrays = {
        "0.weight": model.coefs_[0].T, "0.bias": model.intercepts_[0],
        "2.weight": model.coefs_[1].T, "2.bias": model.intercepts_[1],
    }  # fmt: skip
    layers = two_layers_of(arrays, "the model")
    return layers.network(leak=1.0 if model.activation == "identity" else 0.0)


def from_equinox(model: Any, *, leak: float = 0.0) -> Network:
    """A network from an Equinox `MLP` of depth 1, whose activation is taken to be the leaky ReLU of slope `leak`."""
    layers = getattr(model, "layers", None)
    if layers is None or len(layers) != 2:
        raise InvalidInputError("`model` must be an Equinox MLP with two layers (depth=1).")
    arrays = {}
    for index, layer in zip((0, 2), layers, strict=True):
        arrays[f"{index}.weight"] = np.atleast_2d(np.asarray(layer.weight))
        if layer.bias is not None:
            arrays[f"{index}.bias"] = np.atleast_1d(np.asarray(layer.bias))
    return two_layers_of(arrays, "the model").network(leak=leak)


def from_flax(params: Mapping[str, Any], *, leak: float = 0.0) -> Network:
    """A network from Flax parameters: two `Dense` layers, each with `kernel` (in, out) and perhaps `bias`."""
    inner = params.get("params", params)
    arrays = {f"{layer}.{name}": np.asarray(values) for layer, held in inner.items() for name, values in held.items()}
    return two_layers_of(arrays, "the parameters").network(leak=leak)


def to_torch_state(network: Network, *, hidden_bias: bool = False) -> dict[str, Any]:
    """A state dict for `Sequential(Linear(d, m), (Leaky)ReLU, Linear(m, K))`, in double precision.

    Its last layer has a bias where the network has one. With `hidden_bias`, the last coordinate of w becomes the bias
    of the first layer. Weighted neurons are multiplied by the square roots of their weights, which changes neither the
    function nor its flow.
    """
    try:
        torch = importlib.import_module("torch")
    except ImportError as error:
        raise MissingExtraError("A state dict needs PyTorch, which is not installed: pip install torch.") from error
    layers = _dense_layers(network, hidden_bias=hidden_bias)
    state = {
        f"{place}.{name}": values for place, layer in zip((0, 2), layers, strict=True) for name, values in layer.items()
    }
    return {name: torch.from_numpy(np.array(values, order="C")) for name, values in state.items()}


def to_flax(network: Network, *, hidden_bias: bool = False) -> dict[str, Any]:
    """Parameters of two Flax `Dense` layers, `kernel` (in, out) and where there is one `bias`, as arrays of doubles.

    `hidden_bias` and weighted neurons are as for `to_torch_state`.
    """
    layers = [
        {"kernel" if name == "weight" else name: values.T for name, values in layer.items()}
        for layer in _dense_layers(network, hidden_bias=hidden_bias)
    ]
    return {"params": {"Dense_0": layers[0], "Dense_1": layers[1]}}


def _dense_layers(network: Network, *, hidden_bias: bool) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
    """The hidden and the output layer, each with `weight` (out, in) and where there is one `bias`."""
    arrays = to_numpy(network)
    w, v = arrays["w"], arrays["a"][:, None] if "a" in arrays else arrays["v"]
    if hidden_bias and w.shape[1] < 2:
        raise InvalidInputError("`hidden_bias` needs a coordinate besides the constant one, got d = 1.")
    first = {"weight": w[:, :-1], "bias": w[:, -1]} if hidden_bias else {"weight": w}
    return first, {"weight": v.T} | ({"bias": arrays["b"]} if "b" in arrays else {})


def to_numpy(network: Network) -> dict[str, Any]:
    """The arrays w (num_neurons, d), a (num_neurons,) or of several outputs v (num_neurons, K), and b if there is one.

    The scale and the neurons' weights are multiplied in.
    """
    real = network.materialized() if network.log_scale else network
    root = np.sqrt(real.weight)
    outputs = {"a": real.a * root} if real.num_outputs == 1 else {"v": real.v * root[:, None]}
    return {"w": real.w * root[:, None]} | outputs | ({} if real.b is None else {"b": np.array(real.b)})


def _slope_of(model: Any) -> float | None:
    """The negative slope of a module's only activation; None where it shows none."""
    slopes = set()
    for part in model.modules() if hasattr(model, "modules") else ():
        name = type(part).__name__
        if name == "ReLU":
            slopes.add(0.0)
        elif name == "LeakyReLU":
            slopes.add(float(part.negative_slope))
        elif name != "Linear" and name not in _SILENT and not list(part.children()):
            raise InvalidInputError(f"`model` must be Linear, (Leaky)ReLU, Linear, got a {name} in it.")
    if len(slopes) > 1:
        raise InvalidInputError("`model` must have one activation, got several.")
    return slopes.pop() if slopes else None


def _check_agreement(model: Any, layers: TwoLayers, leak: float) -> None:
    """Refuse a module whose forward pass is not that of its two layers."""
    torch = sys.modules.get("torch")
    if torch is None or not callable(model):
        return
    points = np.random.default_rng(0).standard_normal((8, layers.w.shape[1]))
    parameter = next(iter(model.parameters()))
    given = torch.from_numpy(points).to(dtype=parameter.dtype, device=parameter.device)
    was_training = bool(getattr(model, "training", False))
    model.eval()
    try:
        with torch.no_grad():
            theirs = model(given).double().cpu().numpy().reshape(len(points), -1)
    finally:
        model.train(was_training)
    hidden = points @ layers.w.T + (0.0 if layers.hidden_bias is None else layers.hidden_bias)
    ours = np.maximum(hidden, leak * hidden) @ layers.v
    ours = ours if layers.output_bias is None else ours + layers.output_bias
    if theirs.shape != ours.shape or not np.allclose(theirs, ours, rtol=1e-2, atol=1e-2 * (1e-30 + np.abs(ours).max())):
        raise InvalidInputError(
            f"`model` must compute a s(W x + b) + c with slope {leak:g}, and gives other outputs at random points; "
            "give `leak`, or build it as Sequential(Linear, ReLU, Linear)."
        )
