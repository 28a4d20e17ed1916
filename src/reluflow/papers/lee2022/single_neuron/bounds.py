"""Bounds on magnitude and angle along the population flow, from any balanced start or restart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError
from reluflow.papers.lee2022.single_neuron.balanced_neuron import BalancedNeuron
from reluflow.papers.lee2022.single_neuron.balanced_trajectory import BalancedTrajectory, checked_times
from reluflow.papers.lee2022.single_neuron.comparison import comparison_solution, printed_upper_curve


@dataclass(frozen=True, eq=False)
class Band:
    """Lower and upper curve of one bound, on the same grid."""

    lower: FloatArray
    upper: FloatArray

    def slack(self, values: ArrayLike) -> FloatArray:
        """Distance of the values to the nearer curve; negative where the band is left."""
        value = np.asarray(values, dtype=np.float64)
        return np.asarray(np.minimum(value - self.lower, self.upper - value))

    def log_slack(self, values: ArrayLike) -> FloatArray:
        """The same in logarithms, for magnitudes and gaps; a lower curve at or below 0 binds nothing."""
        logs = np.log(np.asarray(values, dtype=np.float64))
        binding = self.lower > 0
        below = np.where(binding, logs - np.log(np.where(binding, self.lower, 1.0)), np.inf)
        return np.asarray(np.minimum(below, np.log(self.upper) - logs))


@dataclass(frozen=True)
class MagnitudeRange:
    """r < v(t) < R for all t > 0, the hypothesis of the angle bounds."""

    smallest: float
    largest: float

    def __post_init__(self) -> None:
        if not 0 < self.smallest <= self.largest < np.inf:
            raise InvalidInputError(
                f"`smallest` and `largest` must satisfy 0 < r <= R, got {self.smallest} and {self.largest}."
            )


def magnitude_range(start: BalancedNeuron) -> MagnitudeRange:
    """r and R that hold for the whole flow: r = min(v_0, threshold), R = max(v_0, v*).

    References
    ----------
    Lee et al. (2022), Thms. 3.3 and 3.8 [lee2022]; that they serve Thms. 3.4 and 3.9 is ours.
    """
    return MagnitudeRange(
        min(start.magnitude, start.threshold),
        max(start.magnitude, start.teacher_magnitude),
    )


def published_magnitude_range(start: BalancedNeuron, size: Literal["small", "medium", "large"]) -> MagnitudeRange:
    """The r and R with which the paper draws small, medium and large starts in Fig. 1.

    They hold only where the start allows: r = |w_0| needs |w_0| at most the threshold, and r = |w*|/2 fails for
    starts that are nearly antiparallel.

    References
    ----------
    Lee et al. (2022), App. D.3 [lee2022].
    """
    v, target = start.magnitude, start.teacher_magnitude
    ranges = {
        "small": (v, target),
        "medium": (0.5 * target, max(v, target)),
        "large": (0.5 * target, v),
    }
    if size not in ranges:
        raise InvalidInputError(f"`size` must be 'small', 'medium' or 'large', got {size!r}.")
    return MagnitudeRange(*ranges[size])


def magnitude_band(start: BalancedNeuron, times: ArrayLike, *, printed: bool = False) -> Band:
    """Bounds on v(t): solutions of the comparison equation at the levels V (1 - eps_0) and V.

    Equality holds at t = 0, strict inequality later (erratum E18).

    Parameters
    ----------
    start
        State from which t is counted; a later state gives the rebuilt bounds of App. D.1.
    times
        Non-decreasing times.
    printed
        The upper curve of Theorem 3.8 as printed, which fails (erratum E1); it differs for q >= 2 only.

    References
    ----------
    Lee et al. (2022), Thm. 3.3 (q = 0), Thm. 3.8 (q >= 1) [lee2022].

    Examples
    --------
    >>> band = magnitude_band(BalancedNeuron(1, 0.1, phi=np.pi / 2), [0.0, 5.0])
    >>> band.lower.round(6), band.upper.round(6)
    (array([0.1     , 0.209139]), array([0.1     , 0.774506]))
    """
    level = start.teacher_power
    lower = comparison_solution(start.q, start.magnitude, level * start.overlap, times)
    if printed and start.q >= 2:
        upper = printed_upper_curve(start.q, start.magnitude, start.deficit, level, times)
    else:
        upper = comparison_solution(start.q, start.magnitude, level, times)
    return Band(lower, upper)


def vanishing_start_band(start: BalancedNeuron, times: ArrayLike) -> Band:
    """Eq. (8), meant for |w_0| near 0 and q = 0: (1 - eps_0)(1 - e^(-t/2)) v* and (1 - e^(-t/2)) v*.

    The lower half always holds. The upper half is false near t = 0 for every start, and for ever when
    phi_0 >= pi - arctan pi (erratum E2).

    References
    ----------
    Lee et al. (2022), Eq. (8) [lee2022].
    """
    if start.q != 0:
        raise InvalidInputError(f"`start` must have q = 0 for Eq. (8), got q = {start.q}.")
    upper = np.asarray(-start.teacher_magnitude * np.expm1(-0.5 * checked_times(times)))
    return Band(np.asarray(start.overlap * upper), upper)


def rebuilt_magnitude_band(trajectory: BalancedTrajectory, index: int) -> Band:
    """Magnitude bounds from the state at one recorded time, on the recorded times from there on.

    Later bands lie inside earlier ones.

    References
    ----------
    Lee et al. (2022), App. D.1, Fig. 3 [lee2022].
    """
    first = range(trajectory.times.size)[index]
    return magnitude_band(trajectory.state(first), trajectory.times[first:] - trajectory.times[first])


def angle_rates(start: BalancedNeuron, magnitudes: MagnitudeRange | None = None) -> tuple[float, float]:
    """c_lo and c_up, the slowest and fastest exponential rate of the gap.

    c_lo = (phi_0/(2 pi)) V r^(q-1) and c_up = V R^(q-1)/2; for q = 0 the roles of r and R are exchanged.

    References
    ----------
    Lee et al. (2022), Thms. 3.4 and 3.9 [lee2022].
    """
    limits = magnitude_range(start) if magnitudes is None else magnitudes
    ends = (limits.smallest ** (start.q - 1), limits.largest ** (start.q - 1))
    slow = start.phi / (2.0 * np.pi) * start.teacher_power * min(ends)
    return float(slow), float(0.5 * start.teacher_power * max(ends))


def angle_band(
    start: BalancedNeuron, times: ArrayLike, *, magnitudes: MagnitudeRange | None = None, sharp: bool = False
) -> Band:
    """Bounds on the gap pi - phi(t).

    With y = cot(phi_0/2), 2 y e^(-c_up t) - (2/3) y^3 e^(-3 c_up t) < pi - phi < 2 y e^(-c_lo t).

    Parameters
    ----------
    start, times
        As in `magnitude_band`.
    magnitudes
        r and R; by default the ones that always hold.
    sharp
        2 arctan(y e^(-c t)) on both sides, what the proof has before its last relaxation.

    References
    ----------
    Lee et al. (2022), Thm. 3.4 (q = 0), Thm. 3.9 (q >= 1) [lee2022].
    """
    slow, fast = angle_rates(start, magnitudes)
    time = checked_times(times)
    return gap_band(start.half_cotangent, np.exp(-slow * time), np.exp(-fast * time), sharp=sharp)


def gap_band(
    half_cotangent: float, slow: FloatArray, fast: FloatArray, *, fast_cubed: FloatArray | None = None, sharp: bool
) -> Band:
    """The band on the gap from the decay factors of its two sides; flow and descent share it."""
    if sharp:
        return Band(2.0 * np.arctan(half_cotangent * fast), 2.0 * np.arctan(half_cotangent * slow))
    cube = fast**3 if fast_cubed is None else fast_cubed
    lower = 2.0 * half_cotangent * fast - (2.0 / 3.0) * half_cotangent**3 * cube
    return Band(np.asarray(lower), np.asarray(2.0 * half_cotangent * slow))
