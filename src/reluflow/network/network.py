"""Network: the two-layer (leaky) ReLU network as weighted neurons, and pure functions of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray, IndexArray, SignArray
from reluflow.errors import InvalidInputError


@dataclass(frozen=True, eq=False)
class Network:
    r"""A two-layer network, $h(x) = \sum_j \omega_j v_j s(\langle w_j, x\rangle) + b$; no $1/m$.

    Here $s(z) = \max(z, \gamma z)$ with the leak $\gamma$, $v_j$ and $b$ are in $\mathbb{R}^K$, and $\omega_j$ is the
    weight of neuron $j$, 1 unless it is given.

    One class for any number $K$ of outputs. With one output, the networks of the papers, $v_j$ is the number `a[j]`,
    and outputs are numbers, shape (n,); with several they are rows, shape (n, K). The scale is kept apart from the
    shape: the neurons are the exponential of `log_scale` times the stored $(w, v)$, so a network at scale 1e-400 is an
    ordinary object. The output bias is no neuron: it is stored as it is.

    Parameters
    ----------
    w
        Input weights, shape (num_neurons, d).
    a
        Output weights of a network with one output, shape (num_neurons,); in place of `v`.
    v
        Output weights, shape (num_neurons, K); in place of `a`.
    b
        Output bias, shape (K,) or for one output a number, in the units of the outputs; None: the network has none.
    leak
        Negative slope gamma in [0, 1]; 0 is ReLU.
    weight
        Multiplicity of each neuron, shape (num_neurons,), positive: 1 for a real neuron, a quadrature weight for
        an infinitely wide network.
    log_scale
        Natural logarithm of the factor common to all (w, v).

    Examples
    --------
    >>> network = Network(w=[[1.0, 0.0], [-1.0, 0.0]], a=[1.0, -1.0], leak=0.5)
    >>> network.outputs([[2.0, 5.0], [-2.0, 5.0]])
    array([ 3., -3.])
    >>> Network(w=[[1.0, 0.0]], v=[[1.0, 2.0, 3.0]], b=[0.0, 0.0, 1.0]).outputs([[2.0, 5.0]])
    array([[2., 4., 7.]])
    """

    w: FloatArray
    v: FloatArray
    b: FloatArray | None
    leak: float
    weight: FloatArray
    log_scale: float

    def __init__(
        self,
        w: ArrayLike,
        a: ArrayLike | None = None,
        *,
        v: ArrayLike | None = None,
        b: ArrayLike | None = None,
        leak: float = 0.0,
        weight: ArrayLike | None = None,
        log_scale: float = 0.0,
    ) -> None:
        input_weights = np.array(w, dtype=np.float64, order="C")
        if input_weights.ndim != 2 or 0 in input_weights.shape:
            raise InvalidInputError(
                f"`w` must have shape (num_neurons, d), at least (1, 1), got {input_weights.shape}."
            )
        output_weights = _output_weights(a, v, len(input_weights))
        bias = None if b is None else _output_bias(b, output_weights.shape[1])
        weights = np.ones(len(output_weights)) if weight is None else np.array(weight, dtype=np.float64)
        if weights.shape != output_weights.shape[:1] or not np.all(weights > 0):
            raise InvalidInputError("`weight` must hold one positive number per neuron.")
        if not all(np.all(np.isfinite(part)) for part in (input_weights, output_weights, weights)):
            raise InvalidInputError(f"`w`, `{'v' if a is None else 'a'}` and `weight` must be finite.")
        if not np.isfinite(log_scale):
            raise InvalidInputError(f"`log_scale` must be finite, got {log_scale}.")
        for array in (input_weights, output_weights, weights):
            array.setflags(write=False)
        values = (
            ("w", input_weights),
            ("v", output_weights),
            ("b", bias),
            ("leak", checked_leak(leak)),
            ("weight", weights),
            ("log_scale", float(log_scale)),
        )
        for field, value in values:
            object.__setattr__(self, field, value)

    @property
    def a(self) -> FloatArray:
        """Output weights of a network with one output, shape (num_neurons,)."""
        if self.v.shape[1] != 1:
            raise InvalidInputError(
                f"`network` must have one output for its output weights to be the numbers `a`, got {self.num_outputs} "
                f"outputs; `v` holds them, shape {self.v.shape}."
            )
        return self.v[:, 0]

    @property
    def num_outputs(self) -> int:
        """K, the number of outputs."""
        return int(self.v.shape[1])

    @property
    def num_neurons(self) -> int:
        """Number of stored neurons; with quadrature weights, of nodes."""
        return int(self.w.shape[0])

    @property
    def d(self) -> int:
        """Dimension of an input."""
        return int(self.w.shape[1])

    def __repr__(self) -> str:
        outputs = "" if self.num_outputs == 1 else f", num_outputs={self.num_outputs}"
        bias = "" if self.b is None else ", with output bias"
        return (
            f"Network(num_neurons={self.num_neurons}, d={self.d}{outputs}, leak={self.leak:g}, "
            f"log_scale={self.log_scale:g}{bias})"
        )

    def replace(self, **changes: Any) -> Network:
        """Copy with some fields changed, validated again; `a` stands for `v` where there is one output."""
        return replace(self, **({"v": None, **changes} if "a" in changes else changes))

    def materialized(self) -> Network:
        """The same network with log_scale 0; refused where its neurons would under- or overflow."""
        if abs(self.log_scale) > 300.0:
            raise InvalidInputError(
                f"neurons of size e^{self.log_scale:.4g} do not fit a double; keep `log_scale` apart from the shape."
            )
        factor = np.exp(self.log_scale)
        return self.replace(w=self.w * factor, v=self.v * factor, log_scale=0.0)

    def scaled(self, log_factor: float) -> Network:
        """Multiply every (w, v) by `exp(log_factor)`: outputs less the output bias scale by its square."""
        return self.replace(log_scale=self.log_scale + log_factor)

    def pre_activations(self, X: ArrayLike) -> FloatArray:
        r"""$\langle w_j, x_k\rangle$ of the shape, without the scale: (num_neurons, n)."""
        samples = np.asarray(X, dtype=np.float64)
        if samples.ndim != 2 or samples.shape[1] != self.d:
            raise InvalidInputError(
                f"`network` expects inputs of dimension {self.d} but `X` has shape {samples.shape}; "
                "`dataset.with_bias()` adds the constant coordinate."
            )
        return np.asarray(self.w @ samples.T)

    def patterns(self, X: ArrayLike) -> SignArray:
        r"""Activation patterns $\operatorname{sign}(\langle w_j, x_k\rangle)$: (num_neurons, n), entries -1, 0, 1."""
        return np.sign(self.pre_activations(X)).astype(np.int8)

    def shape_outputs(self, X: ArrayLike) -> FloatArray:
        """Outputs of the shape, shape (n,) or (n, K): h = `exp(2 log_scale)` times this, plus b."""
        activations = leaky_relu(self.pre_activations(X), self.leak)
        if self.num_outputs == 1:
            return np.asarray((self.weight * self.a) @ activations)
        return np.asarray(activations.T @ (self.weight[:, None] * self.v))

    def outputs(self, X: ArrayLike) -> FloatArray:
        """$h(x_k)$, shape (n,), or (n, K) of several outputs; rounds to $b$ where the scale underflows."""
        neurons = np.asarray(np.exp(2.0 * self.log_scale) * self.shape_outputs(X))
        return neurons if self.b is None else neurons + self.b

    def __call__(self, X: ArrayLike) -> FloatArray:
        return self.outputs(X)

    def balancedness(self) -> FloatArray:
        """$|v_j|^2 - |w_j|^2$ of the shape, shape (num_neurons,): conserved by the flow, up to `exp(2 log_scale)`."""
        return np.asarray(self.squared_output_weights() - np.einsum("jd,jd->j", self.w, self.w))

    def squared_output_weights(self) -> FloatArray:
        """$|v_j|^2$ of the shape, shape (num_neurons,); $a_j^2$ for one output."""
        return np.square(self.a) if self.num_outputs == 1 else np.einsum("jc,jc->j", self.v, self.v)

    def squared_norm(self) -> float:
        r"""$\sum_j \mathrm{weight}_j (|w_j|^2 + |v_j|^2)$, the scale included, the output bias not."""
        squares = self.squared_output_weights() + np.sum(self.w**2, axis=1)
        return float(np.exp(2 * self.log_scale) * np.sum(self.weight * squares))

    def rotated(self, rotation: ArrayLike) -> Network:
        """Apply an orthogonal matrix to every input weight: w -> Q w."""
        return self.replace(w=self.w @ np.asarray(rotation, dtype=np.float64).T)

    def permuted(self, order: ArrayLike) -> Network:
        """Reorder the neurons."""
        index = np.asarray(order, dtype=np.intp)
        return self.replace(w=self.w[index], v=self.v[index], weight=self.weight[index])

    @classmethod
    def from_arrays(
        cls,
        w: ArrayLike,
        a: ArrayLike,
        *,
        hidden_bias: ArrayLike | None = None,
        output_bias: ArrayLike | None = None,
        leak: float = 0.0,
    ) -> Network:
        """From arrays, of several outputs `a` as (K, num_neurons), with biases if there are any; see `two_layers`.

        >>> Network.from_arrays([[1.0, 2.0]], [1.0], hidden_bias=[0.5]).w
        array([[1. , 2. , 0.5]])
        """
        from reluflow.network.two_layers import from_arrays

        return from_arrays(w, a, hidden_bias=hidden_bias, output_bias=output_bias, leak=leak)

    @classmethod
    def from_torch(cls, model: Any, *, leak: float | None = None) -> Network:
        """From a PyTorch module, a state dict, or a `.pt` or `.safetensors` file, read without PyTorch."""
        from reluflow.network.packages import from_torch

        return from_torch(model, leak=leak)

    @classmethod
    def from_sklearn(cls, model: Any) -> Network:
        """From a fitted scikit-learn `MLPClassifier` or `MLPRegressor` with one hidden layer."""
        from reluflow.network.packages import from_sklearn

        return from_sklearn(model)

    @classmethod
    def from_equinox(cls, model: Any, *, leak: float = 0.0) -> Network:
        """From an Equinox `MLP` of depth 1."""
        from reluflow.network.packages import from_equinox

        return from_equinox(model, leak=leak)

    @classmethod
    def from_flax(cls, params: Any, *, leak: float = 0.0) -> Network:
        """From the parameters of two Flax `Dense` layers."""
        from reluflow.network.packages import from_flax

        return from_flax(params, leak=leak)

    def to_torch_state(self, *, hidden_bias: bool = False) -> dict[str, Any]:
        """A PyTorch state dict for `Sequential(Linear, (Leaky)ReLU, Linear)`; needs PyTorch."""
        from reluflow.network.packages import to_torch_state

        return to_torch_state(self, hidden_bias=hidden_bias)

    def to_flax(self, *, hidden_bias: bool = False) -> dict[str, Any]:
        """The parameters of two Flax `Dense` layers."""
        from reluflow.network.packages import to_flax

        return to_flax(self, hidden_bias=hidden_bias)

    def to_numpy(self) -> dict[str, FloatArray]:
        """The arrays w, a or of several outputs v (num_neurons, K), and b, with scale and weights multiplied in."""
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


def _output_weights(a: ArrayLike | None, v: ArrayLike | None, num_neurons: int) -> FloatArray:
    """The output weights as rows, shape (num_neurons, K), from one of the two ways to give them."""
    if (a is None) == (v is None):
        raise InvalidInputError(
            "exactly one of `a` (one output, shape (num_neurons,)) and `v` (shape (num_neurons, K)) must be given."
        )
    if v is None:
        single = np.array(a, dtype=np.float64, order="C")
        if single.shape != (num_neurons,):
            way = "; several outputs are `v`, shape (num_neurons, K)" if single.ndim == 2 else ""
            raise InvalidInputError(
                f"`a` must hold one output weight for each of the {num_neurons} neurons, got shape {single.shape}{way}."
            )
        return single[:, None]
    rows = np.array(v, dtype=np.float64, order="C")
    if rows.ndim != 2 or rows.shape[0] != num_neurons or rows.shape[1] == 0:
        raise InvalidInputError(
            f"`v` must hold one row of output weights for each of the {num_neurons} neurons, shape ({num_neurons}, K), "
            f"got shape {rows.shape}."
        )
    return rows


def _output_bias(b: ArrayLike, num_outputs: int) -> FloatArray:
    """The output bias, shape (K,), read-only."""
    bias = np.array(b, dtype=np.float64)
    bias = bias[None] if bias.ndim == 0 and num_outputs == 1 else bias
    if bias.shape != (num_outputs,) or not np.all(np.isfinite(bias)):
        raise InvalidInputError(
            f"`b` must hold one finite number for each of the {num_outputs} outputs, got "
            f"{'numbers that are not finite' if bias.shape == (num_outputs,) else f'shape {bias.shape}'}."
        )
    bias.setflags(write=False)
    return bias


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
