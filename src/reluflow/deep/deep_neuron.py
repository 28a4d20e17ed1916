"""DeepNeuron: one ReLU neuron under q scalar layers, the model of Lee, Sim & Ye."""

from __future__ import annotations

from typing import Any

import numpy as np

from reluflow.deep.backend import equinox, jax, jnp
from reluflow.errors import InvalidInputError


class DeepNeuron(equinox.Module):
    """f(x) = v_1 s(v_2 s(... v_q s(<w, x>))), and s(<w, x>) for q = 0.

    Parameters
    ----------
    w
        Input weight, shape (d,).
    v
        Scalar layers v_1, ..., v_q, shape (q,); any sign, unlike in the population flow.

    References
    ----------
    Lee et al. (2022), Sec. 2 [lee2022].

    Examples
    --------
    >>> float(DeepNeuron(np.array([1.0, 2.0]), np.array([0.5, 3.0]))(np.array([1.0, 1.0])))
    4.5
    """

    w: Any
    v: Any

    def __check_init__(self) -> None:
        if np.ndim(self.w) != 1 or np.ndim(self.v) != 1:
            raise InvalidInputError(
                f"`w` and `v` must be vectors, got shapes {np.shape(self.w)} and {np.shape(self.v)}."
            )

    def __call__(self, x: Any) -> Any:
        value = jax.nn.relu(jnp.vdot(self.w, x))
        for k in reversed(range(self.v.shape[0])):
            value = self.v[k] * jax.nn.relu(value)
        return value
