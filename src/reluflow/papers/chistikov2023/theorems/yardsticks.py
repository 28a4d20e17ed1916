"""Yardsticks: one neuron of the vanishing-scale flow by the recursion of Prop. 14, in angles and closed form.

This is a second way to the numbers of `geometry.align`, which moves by Lorentz boosts: here a stage is one turn of the
neuron towards (or away from) gamma_I, and the next sample and its time come from two sines.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray, IndexArray


@dataclass(frozen=True, eq=False)
class Yardstick:
    """alpha_j: d alpha/dt = s |alpha| gamma_I, I the samples inside its half-space, from alpha = z.

    Parameters
    ----------
    sign
        s, the sign of the output weight.
    samples
        i^1, ..., i^k: gained one after the other where s = 1, lost where s = -1, shape (k,).
    times
        tau^0 = 0, tau^1, ..., tau^k, shape (k + 1,).
    directions
        Unit alpha at these times, shape (k + 1, d).
    log_norms
        ln |alpha| at these times, shape (k + 1,).
    inside
        The samples inside during stage l, one row per stage, shape (k + 1, n); the last stage has no end.
    speeds
        |gamma_I| of each stage, shape (k + 1,); 0 after a death.
    starts, ends
        Angle of alpha and gamma_I where a stage starts (k + 1,) and ends (k,).
    pulls
        Unit gamma_I of each stage, shape (k + 1, d); 0 after a death.

    References
    ----------
    Chistikov et al. (2023), Prop. 2, Props. 13 and 14 [chistikov2023].
    """

    sign: int
    samples: IndexArray
    times: FloatArray
    directions: FloatArray
    log_norms: FloatArray
    inside: FloatArray
    speeds: FloatArray
    starts: FloatArray
    ends: FloatArray
    pulls: FloatArray

    @property
    def lengths(self) -> FloatArray:
        """How long each finished stage lasts, shape (k,)."""
        return np.diff(self.times)

    @property
    def log_growth(self) -> float:
        """ln R, R = lim |alpha(t)| exp(-|gamma| t); for a positive neuron, which ends with all samples inside."""
        along = 0.5 * (1.0 + np.cos(self.starts[-1]))
        return float(self.log_norms[-1] + np.log(along) - self.speeds[-1] * self.times[-1])

    def stage_at(self, time: float) -> int:
        """Number of crossings before `time`."""
        return int(np.searchsorted(self.times, time, side="left") - 1) if time > 0.0 else 0

    def log_norm_at(self, time: float) -> float:
        """ln |alpha| at a time (Prop. 13)."""
        stage = self.stage_at(time)
        clock = self.speeds[stage] * (time - self.times[stage])
        return float(self.log_norms[stage]) + _log_stretch(self.sign, self.starts[stage], clock)

    def direction_at(self, time: float) -> FloatArray:
        """Unit alpha at a time (Prop. 14(vi), (x))."""
        stage = self.stage_at(time)
        angle = _turned(self.sign, self.starts[stage], self.speeds[stage] * (time - self.times[stage]))
        return _between(self.directions[stage], self.pulls[stage], self.starts[stage], angle)


def _log_stretch(sign: int, start: float, clock: float) -> float:
    """ln of |alpha| after `clock` = |gamma_I| t over |alpha| before: 1/2 (1 + s c) e^clock + 1/2 (1 - s c) e^-clock."""
    forward, back = (np.cos(0.5 * start), np.sin(0.5 * start))[::sign]
    return float(clock + np.log(forward**2 + back**2 * np.exp(-2.0 * clock)))


def _turned(sign: int, start: float, clock: float) -> float:
    """The angle after `clock`: artanh cos = -ln tan(angle/2) grows by s clock."""
    return float(2.0 * np.arctan(np.tan(0.5 * start) * np.exp(-sign * clock)))


def _between(direction: FloatArray, pull: FloatArray, start: float, angle: float) -> FloatArray:
    """Unit vector of the plane of `direction` and `pull` under `angle` with `pull`."""
    if np.sin(start) == 0.0:
        return direction
    return np.asarray((np.sin(angle) * direction + np.sin(start - angle) * pull) / np.sin(start))


def _angle(first: FloatArray, second: FloatArray) -> float:
    return float(2.0 * np.arctan2(np.linalg.norm(first - second), np.linalg.norm(first + second)))


def yardstick(X: FloatArray, y: FloatArray, z: FloatArray, sign: int) -> Yardstick:
    """The yardstick of one neuron z with output sign +-1, for samples in the rows of X within 45 degrees of a teacher.

    >>> X = np.array([[1.0, 0.2], [0.4, 0.9], [1.0, 1.5]])
    >>> found = yardstick(X, X @ [0.8, 0.6], np.array([-1.0, 0.6]), 1)
    >>> found.samples.tolist(), np.round(found.times[1:], 12).tolist()
    ([2, 0], [0.170363615, 0.860401460716])
    """
    unit = X / np.linalg.norm(X, axis=1)[:, None]
    log_norm, direction = float(np.log(np.linalg.norm(z))), z / np.linalg.norm(z)
    is_inside = X @ z > 0.0
    waiting = list(np.flatnonzero(is_inside == (sign < 0)))  # to gain for s = 1, to lose for s = -1
    time = 0.0
    samples: list[int] = []
    times, directions, log_norms, inside = [0.0], [direction], [log_norm], [is_inside.copy()]
    speeds: list[float] = []
    starts: list[float] = []
    ends: list[float] = []
    pulls: list[FloatArray] = []
    while True:
        gamma = (is_inside * y) @ X / len(y)
        speed = float(np.linalg.norm(gamma))
        pull = gamma / speed if speed > 0.0 else gamma
        start = _angle(direction, pull) if speed > 0.0 else 0.5 * np.pi
        speeds.append(speed)
        starts.append(start)
        pulls.append(pull)
        if not waiting or speed == 0.0:
            break
        # -<alpha, x>/<gamma, x> for a sample to gain, its negative for one to lose (Prop. 14(i)): the first to be met
        ratios = -(unit[waiting] @ direction) / (unit[waiting] @ pull)
        nearest = int(np.argmin(sign * ratios))
        # sin(start - end)/sin(end) = ratio, so cot(end) = (ratio + cos(start))/sin(start) (Prop. 14(ii))
        end = float(np.arctan2(np.sin(start), ratios[nearest] + np.cos(start)))
        clock = sign * (np.log(np.tan(0.5 * start)) - np.log(np.tan(0.5 * end)))
        log_norm += _log_stretch(sign, start, clock)
        direction = _between(direction, pull, start, end)
        direction = direction / np.linalg.norm(direction)
        time += clock / speed
        sample = int(waiting.pop(nearest))
        is_inside[sample] = sign > 0
        samples.append(sample)
        times.append(time)
        directions.append(direction)
        log_norms.append(log_norm)
        ends.append(end)
        inside.append(is_inside.copy())
    return Yardstick(
        sign,
        np.array(samples, dtype=np.intp),
        np.array(times),
        np.array(directions),
        np.array(log_norms),
        np.array(inside, dtype=np.float64),
        np.array(speeds),
        np.array(starts),
        np.array(ends),
        np.array(pulls),
    )


def alignment_time(paths: Iterable[Yardstick]) -> float:
    """T_0 = max tau_j^{n_j} + 1."""
    return max((float(path.times[-1]) for path in paths), default=0.0) + 1.0
