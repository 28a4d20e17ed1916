"""Network: the two-layer (leaky) ReLU network as weighted neurons, and pure functions of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray, IndexArray, SignArray
from reluflow.errors import InvalidInputError

OutputBias = Literal["refuse", "neuron"]  # what to do with an output bias, which our networks do not have


@dataclass(frozen=True, eq=False)
class Network:
    """h(x) = sum_j weight_j a_j s(<w_j, x>) with s(z) = max(z, leak z); no bias, no 1/m.

    The scale is kept apart from the shape: the neurons are exp(`log_scale`) times the stored (w, a), so a network
    at scale 1e-400 is an ordinary object.

    Parameters
    ----------
    w
        Input weights, shape (num_neurons, d).
    a
        Output weights, shape (num_neurons,).
    leak
        Negative slope gamma in [0, 1]; 0 is ReLU.
    weight
        Multiplicity of each neuron, shape (num_neurons,), positive: 1 for a real neuron, a quadrature weight for
        an infinitely wide network.
    log_scale
        Natural logarithm of the factor common to all (w, a).

    Examples
    --------
    >>> network = Network(w=[[1.0, 0.0], [-1.0, 0.0]], a=[1.0, -1.0], leak=0.5)
    >>> network.outputs([[2.0, 5.0], [-2.0, 5.0]])
    array([ 3., -3.])
    """

    w: FloatArray
    a: FloatArray
    leak: float
    weight: FloatArray
    log_scale: float

    def __init__(
        self,
        w: ArrayLike,
        a: ArrayLike,
        *,
        leak: float = 0.0,
        weight: ArrayLike | None = None,
        log_scale: float = 0.0,
    ) -> None:
        input_weights = np.array(w, dtype=np.float64, order="C")
        output_weights = np.array(a, dtype=np.float64)
        if input_weights.ndim != 2 or 0 in input_weights.shape:
            raise InvalidInputError(
                f"`w` must have shape (num_neurons, d), at least (1, 1), got {input_weights.shape}."
            )
        if output_weights.shape != input_weights.shape[:1]:
            raise InvalidInputError(
                f"`a` must hold one output weight for each of the {len(input_weights)} neurons, "
                f"got shape {output_weights.shape}."
            )
        weights = np.ones(len(output_weights)) if weight is None else np.array(weight, dtype=np.float64)
        if weights.shape != output_weights.shape or not np.all(weights > 0):
            raise InvalidInputError("`weight` must hold one positive number per neuron.")
        if not all(np.all(np.isfinite(part)) for part in (input_weights, output_weights, weights)):
            raise InvalidInputError("`w`, `a` and `weight` must be finite.")
        if not np.isfinite(log_scale):
            raise InvalidInputError(f"`log_scale` must be finite, got {log_scale}.")
        for array in (input_weights, output_weights, weights):
            array.setflags(write=False)
        values = (
            ("w", input_weights),
            ("a", output_weights),
            ("leak", checked_leak(leak)),
            ("weight", weights),
            ("log_scale", float(log_scale)),
        )
        for field, value in values:
            object.__setattr__(self, field, value)

    @property
    def num_neurons(self) -> int:
        """Number of stored neurons; with quadrature weights, of nodes."""
        return int(self.w.shape[0])

    @property
    def d(self) -> int:
        """Dimension of an input."""
        return int(self.w.shape[1])

    def __repr__(self) -> str:
        return f"Network(num_neurons={self.num_neurons}, d={self.d}, leak={self.leak:g}, log_scale={self.log_scale:g})"

    def replace(self, **changes: Any) -> Network:
        """Copy with some fields changed, validated again."""
        return replace(self, **changes)

    def materialized(self) -> Network:
        """The same network with log_scale 0; refused where its neurons would under- or overflow."""
        if abs(self.log_scale) > 300.0:
            raise InvalidInputError(
                f"neurons of size e^{self.log_scale:.4g} do not fit a double; keep `log_scale` apart from the shape."
            )
        factor = np.exp(self.log_scale)
        return self.replace(w=self.w * factor, a=self.a * factor, log_scale=0.0)

    def scaled(self, log_factor: float) -> Network:
        """Multiply every (w, a) by `exp(log_factor)`: outputs scale by its square."""
        return self.replace(log_scale=self.log_scale + log_factor)

    def pre_activations(self, X: ArrayLike) -> FloatArray:
        """<w_j, x_k> of the shape, without the scale: (num_neurons, n)."""
        samples = np.asarray(X, dtype=np.float64)
        if samples.ndim != 2 or samples.shape[1] != self.d:
            raise InvalidInputError(
                f"`network` expects inputs of dimension {self.d} but `X` has shape {samples.shape}; "
                "`dataset.with_bias()` adds the constant coordinate."
            )
        return np.asarray(self.w @ samples.T)

    def patterns(self, X: ArrayLike) -> SignArray:
        """Activation patterns sign(<w_j, x_k>): (num_neurons, n), entries -1, 0, 1."""
        return np.sign(self.pre_activations(X)).astype(np.int8)

    def shape_outputs(self, X: ArrayLike) -> FloatArray:
        """Outputs of the shape, shape (n,): h = `exp(2 log_scale)` times this."""
        return np.asarray((self.weight * self.a) @ leaky_relu(self.pre_activations(X), self.leak))

    def outputs(self, X: ArrayLike) -> FloatArray:
        """h(x_k), shape (n,); rounds to 0 when the scale is below the range of a double."""
        return np.asarray(np.exp(2.0 * self.log_scale) * self.shape_outputs(X))

    def __call__(self, X: ArrayLike) -> FloatArray:
        return self.outputs(X)

    def balancedness(self) -> FloatArray:
        """a_j^2 - |w_j|^2 of the shape, shape (num_neurons,): conserved by the flow, up to `exp(2 log_scale)`."""
        return np.asarray(np.square(self.a) - np.einsum("jd,jd->j", self.w, self.w))

    def squared_norm(self) -> float:
        """sum_j weight_j (|w_j|^2 + a_j^2), the scale included."""
        return float(np.exp(2 * self.log_scale) * np.sum(self.weight * (np.square(self.a) + np.sum(self.w**2, axis=1))))

    def rotated(self, rotation: ArrayLike) -> Network:
        """Apply an orthogonal matrix to every input weight: w -> Q w."""
        return self.replace(w=self.w @ np.asarray(rotation, dtype=np.float64).T)

    def permuted(self, order: ArrayLike) -> Network:
        """Reorder the neurons."""
        index = np.asarray(order, dtype=np.intp)
        return self.replace(w=self.w[index], a=self.a[index], weight=self.weight[index])

    @classmethod
    def from_arrays(
        cls,
        w: ArrayLike,
        a: ArrayLike,
        *,
        hidden_bias: ArrayLike | None = None,
        output_bias: float = 0.0,
        leak: float = 0.0,
        carry: OutputBias = "refuse",
    ) -> Network:
        """From arrays, with biases if there are any; see `reluflow.network.two_layers`.

        >>> Network.from_arrays([[1.0, 2.0]], [1.0], hidden_bias=[0.5]).w
        array([[1. , 2. , 0.5]])
        """
        from reluflow.network.two_layers import from_arrays

        return from_arrays(w, a, hidden_bias=hidden_bias, output_bias=output_bias, leak=leak, carry=carry)

    @classmethod
    def from_torch(cls, model: Any, *, leak: float | None = None, output_bias: OutputBias = "refuse") -> Network:
        """From a PyTorch module, a state dict, or a `.pt` or `.safetensors` file, read without PyTorch."""
        from reluflow.network.packages import from_torch

        return from_torch(model, leak=leak, output_bias=output_bias)

    @classmethod
    def from_sklearn(cls, model: Any, *, output_bias: OutputBias = "refuse") -> Network:
        """From a fitted scikit-learn `MLPClassifier` or `MLPRegressor` with one hidden layer."""
        from reluflow.network.packages import from_sklearn

        return from_sklearn(model, output_bias=output_bias)

    @classmethod
    def from_equinox(cls, model: Any, *, leak: float = 0.0, output_bias: OutputBias = "refuse") -> Network:
        """From an Equinox `MLP` of depth 1."""
        from reluflow.network.packages import from_equinox

        return from_equinox(model, leak=leak, output_bias=output_bias)

    @classmethod
    def from_flax(cls, params: Any, *, leak: float = 0.0, output_bias: OutputBias = "refuse") -> Network:
        """From the parameters of two Flax `Dense` layers."""
        from reluflow.network.packages import from_flax

        return from_flax(params, leak=leak, output_bias=output_bias)

    def to_torch_state(self, *, hidden_bias: bool = False) -> dict[str, Any]:
        """A PyTorch state dict for `Sequential(Linear, (Leaky)ReLU, Linear)`; needs PyTorch."""
        from reluflow.network.packages import to_torch_state

        return to_torch_state(self, hidden_bias=hidden_bias)

    def to_numpy(self) -> dict[str, FloatArray]:
        """The arrays w (num_neurons, d) and a (num_neurons,), scale and weights multiplied in."""
        from reluflow.network.packages import to_numpy

        return to_numpy(self)


@dataclass(frozen=True, eq=False)
class ConeMoments:
    """Second moments of the neurons that share an activation pattern.

    Parameters
    ----------
    patterns
        Distinct patterns, shape (num_cones, n).
    cone_of_neuron
        Row of `patterns` for each neuron, shape (num_neurons,).
    moments
        P_u = sum over the cone of weight z z^T with z = (w, a), shape (num_cones, d + 1, d + 1); of the shape,
        without the scale.
    """

    patterns: SignArray
    cone_of_neuron: IndexArray
    moments: FloatArray

    def shape_outputs(self, X: ArrayLike, leak: float) -> FloatArray:
        """h(x_k) of the shape from the moments alone: sum_u eta_k(u) <x_k, (P_u)_{w,a}>."""
        slopes = np.where(self.patterns > 0, 1.0, leak)
        return np.asarray(np.einsum("un,nd,ud->n", slopes, np.asarray(X, dtype=np.float64), self.moments[:, :-1, -1]))


def cone_moments(network: Network, X: ArrayLike) -> ConeMoments:
    """Group the neurons of a network by activation pattern and sum their second moments.

    The flow carries all neurons of one cone by one linear map, so these matrices are the state of a network of any
    width between crossings.
    """
    patterns, cone_of_neuron = np.unique(network.patterns(X), axis=0, return_inverse=True)
    cone_of_neuron = cone_of_neuron.ravel()
    z = np.hstack([network.w, network.a[:, None]])  # (num_neurons, d + 1)
    moments = np.zeros((len(patterns), z.shape[1], z.shape[1]))
    np.add.at(moments, cone_of_neuron, network.weight[:, None, None] * z[:, :, None] * z[:, None, :])
    return ConeMoments(patterns=patterns, cone_of_neuron=cone_of_neuron, moments=moments)


def row_norms(rows: FloatArray) -> FloatArray:
    """Euclidean norms of rows, shape (m,), also where the squares would leave the range of a double.

    >>> row_norms(np.array([[3e-300, 4e-300], [0.0, 0.0]]))
    array([5.e-300, 0.e+000])
    """
    largest = np.max(np.abs(rows), axis=1, initial=0.0)
    safe = np.where(largest > 0.0, largest, 1.0)
    return np.asarray(largest * np.linalg.norm(rows / safe[:, None], axis=1))


def leaky_relu(z: FloatArray, leak: float) -> FloatArray:
    """max(z, leak z), elementwise."""
    return np.maximum(z, leak * z)


def checked_leak(leak: float) -> float:
    """The leak as a float in [0, 1], or a refusal."""
    value = float(leak)
    if not 0.0 <= value <= 1.0:
        raise InvalidInputError(f"`leak` must lie in [0, 1], got {leak}.")
    return value
