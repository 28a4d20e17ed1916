"""Two dense layers, as other packages keep them, as one of our networks: h(x) = sum_j v_j s(<w_j, x> + c_j) + b.

A hidden bias c is one more coordinate of w, met by the constant coordinate 1 of the data. An output bias b stays one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError
from reluflow.network.network import Network


@dataclass(frozen=True, eq=False)
class TwoLayers:
    """The parameters of a network with one hidden layer and K outputs.

    Parameters
    ----------
    w
        Hidden weights, shape (num_neurons, d).
    hidden_bias
        Shape (num_neurons,), or None.
    v
        Output weights, shape (num_neurons, K).
    output_bias
        Shape (K,), or None.
    """

    w: FloatArray
    hidden_bias: FloatArray | None
    v: FloatArray
    output_bias: FloatArray | None

    def network(self, *, leak: float = 0.0) -> Network:
        """The network, with the hidden bias as its last coordinate."""
        w = self.w if self.hidden_bias is None else np.column_stack([self.w, self.hidden_bias])
        return Network(w, v=self.v, b=self.output_bias, leak=leak)


def two_layers_of(arrays: Mapping[str, Any], source: str) -> TwoLayers:
    """Find the two layers among named arrays: `NAME.weight` (out, in) or `NAME.kernel` (in, out), with `NAME.bias`.

    >>> layers = two_layers_of({"0.weight": [[1.0, 2.0]], "0.bias": [3.0], "2.weight": [[4.0]]}, "state")
    >>> layers.network().w, layers.v
    (array([[1., 2., 3.]]), array([[4.]]))
    """
    found = {name: _real(values, name, source) for name, values in arrays.items()}
    matrices = {
        name: np.ascontiguousarray(values.T) if _last(name) == "kernel" else values
        for name, values in found.items()
        if values.ndim == 2 and _last(name) != "bias"
    }
    if len(matrices) != 2:
        raise InvalidInputError(
            f"`{source}` must hold the weights of two dense layers, got {len(matrices)} matrices among "
            f"{', '.join(found) or 'nothing'}; only networks with one hidden layer are understood."
        )
    first, second = _in_order(matrices, source)
    biases = {name: values.ravel() for name, values in found.items() if name not in matrices}
    hidden = _bias_of(first, biases, matrices[first].shape[0])
    output = _bias_of(second, biases, matrices[second].shape[0])
    if biases:
        raise InvalidInputError(
            f"`{source}` must hold two dense layers and nothing else, got also {', '.join(sorted(biases))}."
        )
    return TwoLayers(matrices[first], hidden, np.ascontiguousarray(matrices[second].T), output)


def from_arrays(
    w: ArrayLike,
    a: ArrayLike,
    *,
    hidden_bias: ArrayLike | None = None,
    output_bias: ArrayLike | None = None,
    leak: float = 0.0,
) -> Network:
    """A network from arrays: w (num_neurons, d), a (num_neurons,) or (K, num_neurons), biases if there are any."""
    weights = _real(w, "w", "arrays")
    outputs = np.atleast_2d(_real(a, "a", "arrays"))
    hidden = None if hidden_bias is None else _real(hidden_bias, "hidden_bias", "arrays").ravel()
    is_column = outputs.shape == (len(weights), 1) and len(weights) != 1
    outputs = outputs.T if is_column else outputs
    fits = weights.ndim == 2 and outputs.shape[1] == weights.shape[0]
    if not fits or (hidden is not None and hidden.shape != weights.shape[:1]):
        raise InvalidInputError(
            f"`w` must have shape (num_neurons, d), `a` and `hidden_bias` one number per neuron, got "
            f"{weights.shape}, {np.shape(a)} and {None if hidden is None else hidden.shape}."
        )
    bias = None if output_bias is None else _real(output_bias, "output_bias", "arrays").ravel()
    return TwoLayers(weights, hidden, outputs.T, bias).network(leak=leak)


def _in_order(matrices: dict[str, FloatArray], source: str) -> tuple[str, str]:
    """The hidden layer and the output layer: the one whose inputs are the other's outputs, a single output first."""
    names = sorted(matrices, key=_natural)
    orders = [
        (one, two)
        for one, two in ((names[0], names[1]), (names[1], names[0]))
        if matrices[two].shape[1] == matrices[one].shape[0]
    ]
    if not orders:
        shapes = " and ".join(f"{name} {matrices[name].shape}" for name in names)
        raise InvalidInputError(f"`{source}` must hold two layers that fit together, got {shapes}.")
    return min(orders, key=lambda order: matrices[order[1]].shape[0] != 1)


def _bias_of(name: str, biases: dict[str, FloatArray], size: int) -> FloatArray | None:
    """Take the bias that belongs to a weight out of `biases`."""
    stem, dot, _ = name.rpartition(".")
    key = f"{stem}{dot}bias"
    if key not in biases:
        return None
    if biases[key].shape != (size,):
        raise InvalidInputError(f"`{key}` must hold {size} numbers, one per row of `{name}`, got {biases[key].shape}.")
    return biases.pop(key)


def _real(values: Any, name: str, source: str) -> FloatArray:
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.double().numpy() if hasattr(values, "double") else values.numpy()
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"`{source}` must hold numbers in {name}: {error}.") from error
    if array.ndim > 2:
        raise InvalidInputError(f"`{source}` must hold dense layers only, got {name} of shape {array.shape}.")
    if not np.all(np.isfinite(array)):
        raise InvalidInputError(f"`{source}` must hold finite numbers, got another in {name}.")
    return array


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _natural(name: str) -> list[tuple[int, int, str]]:
    """Sort key by which layer 10 comes after layer 2."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", name) if part]
