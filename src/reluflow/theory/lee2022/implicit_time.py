"""The implicit equation of Theorem 3.8, evaluated as printed (2F1) below the fixed point and by quadrature above it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray

_NUM_POINTS = 24
_AWAY = 1e-5  # relative distance to the fixed point below which time is no longer resolved by u


def printed_antiderivative(q: int, u: ArrayLike, level: float) -> FloatArray:
    """F(u; A) = u^(1-q)/((q-1) A) 2F1(1, (1-q)/(q+1); 2/(q+1); u^(q+1)/A), for q >= 2 and u below the fixed point.

    Notes
    -----
    SciPy's 2F1 is infinite for arguments above 1, so above the fixed point the integral itself is used.

    References
    ----------
    Lee et al. (2022), Thm. 3.8 [lee2022].
    """
    from scipy.special import hyp2f1

    value = np.asarray(u, dtype=np.float64)
    series = hyp2f1(1.0, (1.0 - q) / (q + 1.0), 2.0 / (q + 1.0), value ** (q + 1) / level)
    return np.asarray(value ** (1.0 - q) / ((q - 1) * level) * series)


def travel_time(q: int, initial: float, u: float, level: float) -> float:
    """t = 2 int_u^{u_0} ds/(s^q (s^(q+1) - A)) by adaptive quadrature in log s."""
    from scipy.integrate import quad

    def integrand(log_s: float) -> float:
        s = np.exp(log_s)
        return float(2.0 * s ** (1 - q) / (s ** (q + 1) - level))

    return float(quad(integrand, np.log(u), np.log(initial), epsabs=0.0, epsrel=1e-12, limit=400)[0])


def implicit_error(q: int, initial: float, level: float, curve: FloatArray, times: FloatArray) -> float:
    """Largest relative error of the time the implicit equation gives to points of a comparison curve.

    Points next to the fixed point are left out, where u no longer tells the time.
    """
    fixed = level ** (1.0 / (q + 1))
    seen = np.flatnonzero(
        (times > 0.0) & (np.abs(curve / fixed - 1.0) > _AWAY) & (np.abs(curve / initial - 1.0) > _AWAY)
    )
    if seen.size == 0:
        return 0.0
    chosen = np.unique(seen[np.linspace(0, seen.size - 1, _NUM_POINTS).astype(np.intp)])
    if q >= 2 and initial < fixed:
        found = 2.0 * (printed_antiderivative(q, initial, level) - printed_antiderivative(q, curve[chosen], level))
    else:
        found = np.array([travel_time(q, initial, float(u), level) for u in curve[chosen]])
    return float(np.max(np.abs(found / times[chosen] - 1.0)))
