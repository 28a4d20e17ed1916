"""The comparison equation u' = -u^q (u^(q+1) - A)/2 that brackets the magnitude from both sides.

For q >= 2 its time is an elementary function of u (partial fractions over the roots of unity), so neither an
integrator nor a hypergeometric function is needed: `scipy.special.hyp2f1` is infinite above the fixed point and
wrong close to it for q = 2, 5, 6.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError
from reluflow.papers.lee2022.single_neuron.balanced_neuron import checked_layers
from reluflow.papers.lee2022.single_neuron.balanced_trajectory import checked_times

# Above this multiple of the fixed point the partial fractions cancel and the series in 1/u converges fast.
_SERIES_FROM = 1.5
_SERIES_TERMS = 40


def comparison_solution(q: int, initial: float, level: float, times: ArrayLike) -> FloatArray:
    """u(t) of u' = -u^q (u^(q+1) - A)/2 with u(0) = `initial` and A = `level`.

    Explicit for q = 0 and q = 1; for q >= 2 the elementary time function is inverted.

    Parameters
    ----------
    q
        Number of scalar layers.
    initial
        u(0) > 0.
    level
        A > 0; the fixed point is A^(1/(q+1)).
    times
        Non-decreasing times from 0 on.

    References
    ----------
    Lee et al. (2022), Thms. 3.3 and 3.8, errata E1 and E3 [lee2022].

    Examples
    --------
    >>> comparison_solution(2, 0.1, 1.0, [0.0, 10.0, 30.0]).round(6)
    array([0.1     , 0.199404, 1.      ])
    """
    layers, time = checked_layers(q), checked_times(times)
    _check_positive(initial, level)
    if layers == 0:
        decay = np.exp(-0.5 * time)
        return np.asarray(initial * decay + level * -np.expm1(-0.5 * time))
    if layers == 1:
        return two_layer_comparison(initial, level, -level * time)
    fixed = level ** (1.0 / (layers + 1))
    target = scaled_time(layers, initial / fixed) - 0.5 * fixed ** (2 * layers) * time
    return np.asarray(fixed * _invert(layers, initial / fixed, target))


def two_layer_comparison(initial: float, level: float, log_decay: FloatArray) -> FloatArray:
    """u for q = 1, u^2 = A/(1 - (1 - A/u_0^2) x), where x = e^(-A t) for the flow and (1 - A eta)^T for descent.

    It takes log x, because 1 - x cancels where A t is small.

    References
    ----------
    Lee et al. (2022), Thms. 3.8 and A.3 [lee2022].
    """
    # 1 - (1 - A/u_0^2) x = (1 - x) + (A/u_0^2) x keeps its digits where u_0 is small.
    return np.asarray(np.sqrt(level / (-np.expm1(log_decay) + (level / initial**2) * np.exp(log_decay))))


def scaled_time(q: int, u: ArrayLike) -> FloatArray:
    """H(u) for q >= 2: the unit-level equation u' = -u^q (u^(q+1) - 1) needs the time H(u_0) - H(u).

    H(u) = u^(1-q)/(q-1) + (1/p) sum_k Re(r_k^2 log(u - r_k)), p = q + 1, r_k the p-th roots of unity; it tends to 0
    at infinity, where it equals -sum_n u^(-2q-np)/(2q + np), and it holds on both sides of the fixed point 1.

    References
    ----------
    Lee et al. (2022), Thm. 3.8, where it stands as a 2F1 [lee2022]; the elementary form is ours.
    """
    value = np.asarray(u, dtype=np.float64)
    if q < 2:
        raise InvalidInputError(f"`q` must be at least 2 here, got {q}; smaller q are explicit in time.")
    with np.errstate(divide="ignore"):
        singular = np.log(np.abs(np.expm1(np.log(value))))
    return _regular_time(q, value) + np.where(value < _SERIES_FROM, singular / (q + 1), 0.0)


def printed_upper_curve(q: int, initial: float, deficit: float, level: float, times: ArrayLike) -> FloatArray:
    """The upper bound of Theorem 3.8 for q >= 2 exactly as printed, with eps_0 in the term of v_0.

    It solves F(u; V) = F(v_0; V (1 - eps_0)) - t/2, so it does not start at v_0 and is not a bound; kept to show that.

    Parameters
    ----------
    q, initial, times
        As in `comparison_solution`; `initial` below the fixed point of the smaller level.
    deficit
        eps_0.
    level
        V = v*^(q+1).

    References
    ----------
    Lee et al. (2022), Thm. 3.8, erratum E1 [lee2022].
    """
    time = checked_times(times)
    _check_positive(initial, level)
    low = level * (1.0 - deficit)
    low_fixed, fixed = low ** (1.0 / (q + 1)), level ** (1.0 / (q + 1))
    if not initial < low_fixed:
        raise InvalidInputError(
            f"`initial` must be below {low_fixed:.6g} for the printed form (complex above), got {initial:g}."
        )
    origin = _constant_at_zero(q)
    constant = (float(scaled_time(q, initial / low_fixed)) - origin) * low_fixed ** (-2 * q)
    target = (constant - 0.5 * time) * fixed ** (2 * q) + origin
    return np.asarray(fixed * _invert(q, 1e-3 * initial / fixed, target))


def inflection(q: int, level: float) -> float:
    """The value (q A/(2q+1))^(1/(q+1)) below which u is convex while it grows; 0 for q = 0.

    References
    ----------
    Lee et al. (2022), App. D.1, which calls all bounds convex: erratum E10 [lee2022].
    """
    return float((q * level / (2 * q + 1)) ** (1.0 / (q + 1)))


def escape_time(q: int, initial: float, level: float) -> float:
    """Time 2 v_0^(1-q)/((q-1) A) that a small start needs to leave the origin, q >= 2.

    References
    ----------
    Lee et al. (2022), Thm. 3.8 [lee2022]; the limit of its 2F1.
    """
    if q < 2:
        raise InvalidInputError(f"`q` must be at least 2 for a polynomial escape time, got {q}.")
    _check_positive(initial, level)
    return float(2.0 * initial ** (1 - q) / ((q - 1) * level))


def _regular_time(q: int, value: FloatArray) -> FloatArray:
    """H without its singular term log|u - 1|/(q+1); above `_SERIES_FROM` the whole of H by its series."""
    value = np.asarray(value)
    power = q + 1
    regular = np.empty_like(value)
    is_inside = value < _SERIES_FROM
    inside, inverse = value[is_inside], 1.0 / value[~is_inside]
    roots = np.exp(2j * np.pi * np.arange(1, power) / power)
    logs = np.log(inside[:, None] - roots)
    regular[is_inside] = inside ** (1.0 - q) / (q - 1) + np.real(logs @ np.square(roots)) / power
    ratio, series = inverse**power, np.zeros_like(inverse)
    for n in range(_SERIES_TERMS, -1, -1):
        series = series * ratio - 1.0 / (2 * q + n * power)
    regular[~is_inside] = series * inverse ** (2 * q)
    return regular


def _constant_at_zero(q: int) -> float:
    """Limit of H(u) - u^(1-q)/(q-1) at u = 0; the paper's F is H less this."""
    power = q + 1
    roots = np.exp(2j * np.pi * np.arange(1, power) / power)
    return float(np.real(np.log(-roots) @ np.square(roots)) / power)


def _invert(q: int, side: float, target: FloatArray) -> FloatArray:
    """u with H(u) = target, on the side of the fixed point 1 where `side` lies; target at most H(side).

    The unknown is log|log u|, in which H is monotone and the approach to the fixed point is a straight line.
    """
    if side == 1.0:
        return np.ones_like(target)
    sign = 1.0 if side > 1.0 else -1.0
    high = np.full_like(target, np.log(np.abs(np.log(side))))
    low = np.minimum(high, (q + 1) * (target - float(scaled_time(q, side))) + high - 50.0)

    def time_at(position: FloatArray) -> FloatArray:
        log_u = sign * np.exp(position)
        u = np.exp(log_u)
        # log|u - 1| from the position itself, which resolves distances far below the spacing of doubles at 1
        quotient = np.where(np.abs(log_u) < 1e-8, 1.0, np.expm1(log_u) / np.where(log_u == 0.0, 1.0, log_u))
        singular = np.where(u < _SERIES_FROM, (position + np.log(np.abs(quotient))) / (q + 1), 0.0)
        return _regular_time(q, u) + singular

    for _ in range(110):
        middle = 0.5 * (low + high)
        later = time_at(middle) < target
        low, high = np.where(later, middle, low), np.where(later, high, middle)
        if np.all(high - low <= 2.0 * np.spacing(np.abs(middle))):
            break
    return np.asarray(np.exp(sign * np.exp(0.5 * (low + high))))


def _check_positive(initial: float, level: float) -> None:
    for name, value in (("initial", initial), ("level", level)):
        if not (np.isfinite(value) and value > 0):
            raise InvalidInputError(f"`{name}` must be positive and finite, got {value}.")
