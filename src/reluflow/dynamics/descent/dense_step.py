"""One step of descent by matrix products: any number of outputs, with or without an output bias."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.descent.descent_kernels import Descent, minimum_norm_pull
from reluflow.network import Network


class Weights(NamedTuple):
    """What descent moves: w (num_neurons, d), v (num_neurons, K) or for one output a (num_neurons,), and b (K,)."""

    w: FloatArray
    v: FloatArray
    b: FloatArray | None

    @classmethod
    def of(cls, network: Network) -> Weights:
        """The weights of a network whose scale is multiplied in."""
        return cls(network.w, network.a if network.num_outputs == 1 else network.v, network.b)

    def network(self, like: Network) -> Network:
        """A network with these weights, and the leak and the multiplicities of another."""
        return like.replace(w=self.w, v=self.v[:, None] if self.v.ndim == 1 else self.v, b=self.b)

    def outputs(self, products: FloatArray, network: Network) -> FloatArray:
        """h(x_k) from the products <w_j, x_k>, shape (num_neurons, n)."""
        activations = np.maximum(products, network.leak * products)
        if self.v.ndim == 1:
            outputs = np.asarray((network.weight * self.v) @ activations)
        else:
            outputs = np.asarray(activations.T @ (network.weight[:, None] * self.v))
        return outputs if self.b is None else outputs + self.b


def dense_step(
    weights: Weights,
    products: FloatArray,
    forces: FloatArray,
    samples: FloatArray,
    rate: float,
    descent: Descent,
    *,
    moves_bias: bool,
) -> Weights:
    """One simultaneous step from the products <w_j, x_k>, shape (num_neurons, n), and forces (n,) or (n, K)."""
    w, v, b = weights
    kept = 1.0 - rate * descent.weight_decay
    if forces.ndim == 1:
        pulls = _pulls(w, products, forces, samples, descent)
        moved_w, moved_v = kept * w + rate * (v[:, None] * pulls), v
        if descent.trains_output_layer:
            moved_v = kept * v + rate * np.einsum("jd,jd->j", w, pulls)
    else:
        moved_w, moved_v = kept * w + rate * _pulls(w, products, v @ forces.T, samples, descent), v
        if descent.trains_output_layer:
            moved_v = kept * v + rate * (np.maximum(products, descent.leak * products) @ forces)
    moved_b = b + rate * np.sum(forces, axis=0) if b is not None and moves_bias else b
    return Weights(moved_w, moved_v, moved_b)


def _pulls(
    w: FloatArray, products: FloatArray, forces: FloatArray, samples: FloatArray, descent: Descent
) -> FloatArray:
    """sum_k slope_jk f_k x_k, shape (num_neurons, d), of forces that are the same for all neurons, or <f_k, v_j>."""
    pulls = (np.where(products > 0, 1.0, descent.leak) * forces) @ samples
    if descent.slope_at_zero != descent.leak:
        for j in np.flatnonzero(np.any(products == 0, axis=1)):
            own = forces if forces.ndim == 1 else forces[j]
            if np.isnan(descent.slope_at_zero):
                minimum_norm_pull(w[j], own, samples, descent.leak, pulls[j])
            else:
                pulls[j] += (descent.slope_at_zero - descent.leak) * (own * (products[j] == 0)) @ samples
    return pulls
