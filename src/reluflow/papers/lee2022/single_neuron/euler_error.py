"""How far Euler's method is from a flow that reads g(e^(-c t)): Theorem 4.1 and its corrected leading term."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError

ScalarFunction = Callable[[FloatArray], FloatArray]


def euler_prediction(
    function: ScalarFunction, slope: ScalarFunction, steps: ArrayLike, *, rate: float, step_size: float
) -> FloatArray:
    """Value of Euler's method after T steps on the flow w(t) = g(e^(-c t)), up to O(eta^2) uniformly in T.

    w(T) = g(x) + (c eta/2) x g'(x) log(g'(x)/g'(1)), x = (1 - c eta)^T.

    Parameters
    ----------
    function, slope
        g and g', vectorised, g' without a zero on [0, 1].
    steps
        T.
    rate, step_size
        c and eta, c eta < 1.

    References
    ----------
    Lee et al. (2022), Thm. 4.1, erratum E4 [lee2022]; the leading term is ours.
    """
    _check(rate, step_size)
    x = np.asarray(np.exp(np.asarray(steps, dtype=np.float64) * np.log1p(-rate * step_size)))
    bend = np.log(slope(x) / slope(np.ones(1)))
    return np.asarray(function(x) + 0.5 * rate * step_size * x * slope(x) * bend)


def printed_euler_bound(*, rate: float, step_size: float, curvature: float) -> float:
    """The error constant c eta M_3/(2 (2 - c eta)) that Theorem 4.1 prints; it is not a bound (erratum E4).

    Parameters
    ----------
    rate, step_size
        c and eta.
    curvature
        M_3, a bound on |g''|.

    References
    ----------
    Lee et al. (2022), Thm. 4.1 [lee2022].
    """
    _check(rate, step_size)
    return rate * step_size * curvature / (2.0 * (2.0 - rate * step_size))


def _check(rate: float, step_size: float) -> None:
    if not (rate > 0 and step_size > 0 and rate * step_size < 1):
        raise InvalidInputError(f"`rate` times `step_size` must lie between 0 and 1, got {rate * step_size:g}.")
