"""Gradient and RelativePulls: how large the gradient is, and what the samples do to each neuron."""

from __future__ import annotations

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
        cls, square: float, along: float, size: float, log_rate: float, log_scale: float = 0.0
    ) -> Gradient:
        """From |grad L|^2, -<theta, grad L> and |theta|^2, the forces relative to e^log_rate, theta to e^log_scale."""
        if square == 0.0 or size == 0.0:
            return cls(-np.inf, 0.0, log_rate)
        cosine = along / np.sqrt(square) / np.sqrt(size)
        turning = float(np.sqrt(max(0.0, 1.0 - float(cosine) ** 2)))
        return cls(0.5 * float(np.log(square)) + log_rate + log_scale, turning, log_rate)


@dataclass(frozen=True, eq=False)
class RelativePulls:
    """D_j of every neuron relative to a rate, and its logarithm; the rate is 1 for a loss that does not fade.

    Parameters
    ----------
    vectors
        D_j exp(-log_rate), shape (num_neurons, d).
    log_rate
        See `Gradient`.
    """

    vectors: FloatArray
    log_rate: float
