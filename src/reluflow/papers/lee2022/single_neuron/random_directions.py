"""Angle between two random directions: why phi_0 is close to pi/2 in high dimension."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import beta

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError


def cosine_tail(d: int, threshold: ArrayLike) -> FloatArray:
    """P(cos > threshold) for the angle of two independent spherical Gaussians in R^d, exactly.

    (1 + cos)/2 follows the Beta law with both parameters (d - 1)/2.

    References
    ----------
    Lee et al. (2022), Prop. C.1 [lee2022]; the exact law replaces its bound.

    Examples
    --------
    >>> cosine_tail(3, [0.0, 0.5]).round(12)  # uniform in R^3, by Archimedes
    array([0.5 , 0.25])
    """
    if d < 2:
        raise InvalidInputError(f"`d` must be at least 2, got {d}.")
    half = 0.5 * (d - 1)
    return np.asarray(beta.sf(0.5 * (1.0 + np.asarray(threshold, dtype=np.float64)), half, half), dtype=np.float64)


def cosine_tail_bound(d: int, threshold: ArrayLike) -> FloatArray:
    """Bound 2 exp(-d threshold^2/2) on P(|cos| > threshold), threshold >= 0.

    The paper states it for the one-sided event, where the factor 2 is not needed (erratum E8).

    References
    ----------
    Lee et al. (2022), Prop. C.1 [lee2022].
    """
    return np.asarray(2.0 * np.exp(-0.5 * d * np.square(np.asarray(threshold, dtype=np.float64))))


def printed_intermediate_bound(d: int, threshold: ArrayLike) -> FloatArray:
    """(1 - threshold^2)^(d/2), the paper's step on the way, false for small d and large threshold (erratum E8).

    References
    ----------
    Lee et al. (2022), Prop. C.1, proof [lee2022].
    """
    return np.asarray((1.0 - np.square(np.asarray(threshold, dtype=np.float64))) ** (0.5 * d))
