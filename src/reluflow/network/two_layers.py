"""Two dense layers, as other packages keep them, as one of our networks: h(x) = sum_j a_j s(<w_j, x> + b_j) + c.

A hidden bias is one more coordinate of w, met by the constant coordinate 1 of the data. An output bias c is no part of
our networks: it is refused, or carried by a neuron that is active on every sample.
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
from reluflow.network.network import Network, OutputBias


@dataclass(frozen=True, eq=False)
class TwoLayers:
    """The parameters of a network with one hidden layer and one output.

    Parameters
    ----------
    w
        Hidden weights, shape (num_neurons, d).
    hidden_bias
        Shape (num_neurons,), or None.
    a
        Output weights, shape (num_neurons,).
    output_bias
        A number, 0 where there is none.
    """

    w: FloatArray
    hidden_bias: FloatArray | None
    a: FloatArray
    output_bias: float

    def network(self, source: str, *, leak: float = 0.0, output_bias: OutputBias = "refuse") -> Network:
        """The network, with the hidden bias as its last coordinate."""
        if output_bias not in ("refuse", "neuron"):
            raise InvalidInputError(f"`output_bias` must be 'refuse' or 'neuron', got {output_bias!r}.")
        w = self.w if self.hidden_bias is None else np.column_stack([self.w, self.hidden_bias])
        a = self.a
        if self.output_bias:
            if output_bias == "refuse":
                raise InvalidInputError(
                    f"`{source}` has the output bias {self.output_bias:.6g}, which networks sum_j a_j s(<w_j, x>) do "
                    "not have; train without it, or carry it as a neuron that is always active "
                    '(`output_bias="neuron"`, `--output-bias neuron`).'
                )
            if self.hidden_bias is None:
                raise InvalidInputError(
                    f"`{source}` has an output bias and no hidden bias: no constant coordinate lets a neuron carry "
                    "it; train without the output bias."
                )
            size = np.sqrt(abs(self.output_bias))  # balanced, as a neuron of the flow from a small start would be
            w = np.vstack([w, np.append(np.zeros(w.shape[1] - 1), size)])
            a = np.append(a, np.copysign(size, self.output_bias))
        return Network(w, a, leak=leak)


def two_layers_of(arrays: Mapping[str, Any], source: str) -> TwoLayers:
    """Find the two layers among named arrays: `NAME.weight` (out, in) or `NAME.kernel` (in, out), with `NAME.bias`.

    >>> layers = two_layers_of({"0.weight": [[1.0, 2.0]], "0.bias": [3.0], "2.weight": [[4.0]]}, "state")
    >>> layers.network("state").w, layers.a
    (array([[1., 2., 3.]]), array([4.]))
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
    if matrices[second].shape[0] != 1:
        raise InvalidInputError(
            f"`{source}` must have one output, got {matrices[second].shape[0]}; for two classes, the difference of two "
            "logits is one output: `Network.from_arrays(w, a=A[1] - A[0])`."
        )
    return TwoLayers(matrices[first], hidden, matrices[second][0], 0.0 if output is None else float(output[0]))


def from_arrays(
    w: ArrayLike,
    a: ArrayLike,
    *,
    hidden_bias: ArrayLike | None = None,
    output_bias: float = 0.0,
    leak: float = 0.0,
    carry: OutputBias = "refuse",
) -> Network:
    """A network from arrays: w (num_neurons, d), a (num_neurons,) or (1, num_neurons), biases if there are any."""
    weights = _real(w, "w", "arrays")
    outputs = _real(a, "a", "arrays").ravel()
    bias = None if hidden_bias is None else _real(hidden_bias, "hidden_bias", "arrays").ravel()
    if weights.ndim != 2 or outputs.shape != weights.shape[:1] or (bias is not None and bias.shape != outputs.shape):
        raise InvalidInputError(
            f"`w` must have shape (num_neurons, d), `a` and `hidden_bias` one number per neuron, got "
            f"{weights.shape}, {outputs.shape} and {None if bias is None else bias.shape}."
        )
    return TwoLayers(weights, bias, outputs, float(output_bias)).network("arrays", leak=leak, output_bias=carry)


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
