"""Gradient and RelativePulls: how large the gradient is, and what the samples do to each neuron."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray


@dataclass(frozen=True)
class Gradient:
    """Size of grad L and its angle with the parameters.

    Parameters
    ----------
    log_norm
        ln |grad L|, finite where the gradient underflows; -inf where it is 0.
    turning
        Sine of the angle between the parameters and -grad L: how far the direction of the parameters turns while
        their norm grows by a factor e. It tends to 0 as a network tends to a KKT direction of its margin problem.
    log_rate
        ln of the total force c sum |dl/dh| for a loss whose forces fade for ever; 0 for any other.
    """

    log_norm: float
    turning: float
    log_rate: float = 0.0

    @property
    def norm(self) -> float:
        """|grad L|."""
        return float(np.exp(self.log_norm))

    @classmethod
    def from_moments(
        cls,
        square: float,
        along: float,
        size: float,
        log_rate: float,
        log_scale: float = 0.0,
        bias_square: float = 0.0,
    ) -> Gradient:
        """From |grad L|^2, -<theta, grad L> and |theta|^2, the forces relative to e^log_rate, theta to e^log_scale.

        Those are of the neurons; `bias_square` is the square of the gradient of an output bias, relative to e^log_rate,
        which has no part in the turning: outputs grow like the square of the neurons, and a bias is left behind.
        """
        if square == 0.0 or size == 0.0:
            log_bias = 0.5 * float(np.log(bias_square)) + log_rate if bias_square > 0.0 else -np.inf
            return cls(log_bias, 0.0, log_rate)
        cosine = along / _root(square) / _root(size)
        turning = math.sqrt(max(0.0, 1.0 - cosine**2))
        log_norm = 0.5 * float(np.log(square)) + log_rate + log_scale
        if bias_square > 0.0:
            log_norm = 0.5 * float(np.logaddexp(2.0 * log_norm, np.log(bias_square) + 2.0 * log_rate))
        return cls(log_norm, turning, log_rate)


def _root(square: float) -> float:
    """A square root without NumPy, which takes a microsecond for a number; rounding may have left less than 0."""
    return math.sqrt(square) if square >= 0.0 else math.nan


@dataclass(frozen=True, eq=False)
class RelativePulls:
    """D_j of every neuron relative to a rate, and its logarithm; the rate is 1 for a loss that does not fade.

    Parameters
    ----------
    vectors
        D_j exp(-log_rate), shape (num_neurons, d), or (num_neurons, K, d) for K outputs.
    log_rate
        See `Gradient`.
    """

    vectors: FloatArray
    log_rate: float

    @property
    def by_output(self) -> FloatArray:
        """The same with an axis for the outputs, shape (num_neurons, K, d)."""
        return self.vectors if self.vectors.ndim == 3 else self.vectors[:, None]
