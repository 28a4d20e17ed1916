"""The flow's bounds carried over to gradient descent: e^(-c t) becomes (1 - c eta)^T.

They hold up to O(eta) only, except Theorem A.1, which is exact; `descent_tolerance` is the slack to allow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError
from reluflow.papers.lee2022.single_neuron.balanced_neuron import BalancedNeuron
from reluflow.papers.lee2022.single_neuron.bounds import Band, MagnitudeRange, angle_rates, gap_band, magnitude_range
from reluflow.papers.lee2022.single_neuron.comparison import two_layer_comparison
from reluflow.papers.lee2022.single_neuron.exact_orbit import balanced_orbit


def descent_magnitude_band(start: BalancedNeuron, steps: ArrayLike, *, step_size: float) -> Band:
    """Bounds on |w(T)| under gradient descent, for q = 0 and q = 1.

    Parameters
    ----------
    start
        State from which T is counted.
    steps
        T, whole numbers of at least 0.
    step_size
        eta.

    Notes
    -----
    q = 0 is exact for every 0 < eta < 2. For q = 1 the strict inequality is false (erratum E5): the v_k break the lower
    curve at T = 1 already, and descent drifts off balance, so |w| ends above v*.

    References
    ----------
    Lee et al. (2022), Thm. A.1 (q = 0), Thm. A.3 (q = 1) [lee2022].
    """
    count = _checked_steps(steps)
    target, level = start.teacher_magnitude, start.teacher_power
    if start.q == 0:
        log_factor = _log_powers(0.5, step_size, count)
        kept, gained = start.magnitude * np.exp(log_factor), -target * np.expm1(log_factor)
        lower, upper = kept + start.overlap * gained, kept + gained
        return Band(np.asarray(lower), np.asarray(upper))
    if start.q == 1:
        low = start.overlap * level
        return Band(
            two_layer_comparison(start.magnitude, low, _log_powers(low, step_size, count)),
            two_layer_comparison(start.magnitude, level, _log_powers(level, step_size, count)),
        )
    raise InvalidInputError(
        f"`start` must have q = 0 or q = 1: no magnitude bound of descent exists for q = {start.q}."
    )


def descent_angle_band(
    start: BalancedNeuron,
    steps: ArrayLike,
    *,
    step_size: float,
    magnitudes: MagnitudeRange | None = None,
    printed: bool = False,
) -> Band:
    """Bounds on the gap pi - phi(T) under gradient descent.

    Parameters
    ----------
    start, steps, step_size
        As in `descent_magnitude_band`.
    magnitudes
        r and R; by default those of the flow, which descent respects up to O(eta).
    printed
        Write the cubic term with (1 - 3 c eta)^T as printed, instead of the (1 - c eta)^(3T) of the proof
        (erratum E6).

    References
    ----------
    Lee et al. (2022), Thm. A.2 (q = 0), Thm. 4.2 (q >= 1) [lee2022].
    """
    count = _checked_steps(steps)
    slow, fast = angle_rates(start, magnitudes)
    cube = np.exp(_log_powers(3.0 * fast, step_size, count)) if printed else None
    return gap_band(
        start.half_cotangent,
        np.exp(_log_powers(slow, step_size, count)),
        np.exp(_log_powers(fast, step_size, count)),
        fast_cubed=cube,
        sharp=False,
    )


def alignment_steps(
    start: BalancedNeuron, *, tolerance: float, step_size: float, smallest: float | None = None
) -> float:
    """The T beyond which phi(T) > pi - `tolerance`, for q >= 1.

    log((tolerance/2) tan(phi_0/2)) / log(1 - (phi_0/(2 pi)) r^(q-1) V eta); at most 0 means any T.

    Parameters
    ----------
    start, step_size
        As in `descent_magnitude_band`.
    tolerance
        The angle still allowed.
    smallest
        r, a lower bound on |w(T)|; by default the one that always holds for the flow.

    References
    ----------
    Lee et al. (2022), Cor. 4.3 [lee2022].

    Examples
    --------
    >>> round(alignment_steps(BalancedNeuron(1, 0.1, phi=np.pi / 2), tolerance=0.1, step_size=1e-3), 2)
    11981.43
    """
    if start.q == 0:
        raise InvalidInputError("`start` must have q >= 1: Corollary 4.3 is about scalar layers above the neuron.")
    if not 0 < tolerance < np.pi:
        raise InvalidInputError(f"`tolerance` must lie between 0 and pi, got {tolerance}.")
    limits = magnitude_range(start)
    lowest = limits.smallest if smallest is None else smallest
    rate = angle_rates(start, MagnitudeRange(lowest, max(lowest, limits.largest)))[0]
    _check_step(rate, step_size)
    return float((np.log(0.5 * tolerance) + start.psi) / np.log1p(-rate * step_size))


def descent_tolerance(start: BalancedNeuron, step_size: float) -> float:
    """2 eta R^(2q): the relative slack by which descent may miss a bound of the flow.

    References
    ----------
    Lee et al. (2022), Thms. 4.2 and A.1 to A.3, erratum E5 [lee2022].
    """
    return float(2.0 * step_size * magnitude_range(start).largest ** (2 * start.q))


def balance_drift(start: BalancedNeuron) -> float:
    """Integral of v^2 (dphi/dt)^2 over the flow: under descent |w|^2 - v_k^2 tends to eta times this.

    It is positive, so descent ends with |w| above and every v_k below v*.

    Examples
    --------
    >>> round(balance_drift(BalancedNeuron(1, 1.0, phi=np.pi / 2)), 3)
    0.242
    """
    orbit = balanced_orbit(start)
    nodes, weights = np.polynomial.legendre.leggauss(12)
    left, width = orbit.offset[:-1, None], np.diff(orbit.offset)[:, None]
    psi = start.psi + left + 0.5 * width * (1.0 + nodes)
    log_ratio, _ = orbit.at_psi(psi.ravel())
    phi = 2.0 * np.arctan(np.exp(psi))
    # v^2 (dphi/dt)^2 dt = (V/(2 pi)) v^(q+1) phi sin(phi)^2 dpsi, with sin(phi) = 1/cosh(psi)
    integrand = np.exp((start.q + 1) * log_ratio).reshape(psi.shape) * phi / np.square(np.cosh(psi))
    total = float(np.sum(0.5 * width * (integrand @ weights)[:, None]))
    return start.teacher_power**2 / (2.0 * np.pi) * total


def first_step_breaks_lower_bound(start: BalancedNeuron) -> bool:
    """Whether |w(1)| falls below the lower curve of Theorem A.3 at every small enough step size, for q = 1.

    With b = (1 - eps_0)(v*/v_0)^2, it does when 3 (1 - eps_0)^2 (1 - 1/b)^2 > (phi_0 sin phi_0/pi)^2.

    References
    ----------
    Lee et al. (2022), Thm. A.3, erratum E5 [lee2022].
    """
    if start.q != 1:
        raise InvalidInputError(f"`start` must have q = 1, the case of Theorem A.3, got q = {start.q}.")
    ratio = start.overlap * (start.teacher_magnitude / start.magnitude) ** 2
    bend = 3.0 * (start.overlap * (1.0 - 1.0 / ratio)) ** 2
    return bool(bend > (start.phi / (np.pi * np.cosh(start.psi))) ** 2)


def _log_powers(rate: float, step_size: float, steps: FloatArray) -> FloatArray:
    """log (1 - rate eta)^T."""
    _check_step(rate, step_size)
    return np.asarray(steps * np.log1p(-rate * step_size))


def _check_step(rate: float, step_size: float) -> None:
    if not (step_size > 0 and rate * step_size < 1.0):
        raise InvalidInputError(
            f"`step_size` must lie between 0 and {1.0 / rate:.6g} for this bound, got {step_size:g}."
        )


def _checked_steps(steps: ArrayLike) -> FloatArray:
    values = np.atleast_1d(np.asarray(steps, dtype=np.float64))
    if values.ndim != 1 or np.any(values < 0) or np.any(values != np.floor(values)):
        raise InvalidInputError("`steps` must be a vector of whole numbers of at least 0.")
    return values
