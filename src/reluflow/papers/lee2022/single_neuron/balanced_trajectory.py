"""BalancedTrajectory: magnitude and angle of a balanced neuron at recorded times, in variables that never cancel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError
from reluflow.papers.lee2022.single_neuron.angle import deficit, gap_of_psi, overlap, phi_of_psi
from reluflow.papers.lee2022.single_neuron.balanced_neuron import BalancedNeuron


@dataclass(frozen=True, eq=False)
class BalancedTrajectory:
    """A run of the balanced flow.

    Parameters
    ----------
    start
        Where it began, at time 0.
    times
        Recorded times, shape (num_times,).
    log_ratio
        log(v/v*), shape (num_times,).
    psi
        log tan(phi/2), shape (num_times,).
    """

    start: BalancedNeuron
    times: FloatArray
    log_ratio: FloatArray
    psi: FloatArray

    @property
    def magnitude(self) -> FloatArray:
        """v = |w|."""
        return np.asarray(self.start.teacher_magnitude * np.exp(self.log_ratio))

    @property
    def phi(self) -> FloatArray:
        """Pi minus the angle to the teacher."""
        return phi_of_psi(self.psi)

    @property
    def gap(self) -> FloatArray:
        """Angle to the teacher."""
        return gap_of_psi(self.psi)

    @property
    def deficit(self) -> FloatArray:
        """eps(phi(t))."""
        return deficit(self.gap)

    @property
    def threshold(self) -> FloatArray:
        """v* (1 - eps)^(1/(q+1)): above it the magnitude shrinks (Eq. (11))."""
        return np.asarray(self.start.teacher_magnitude * overlap(self.phi) ** (1.0 / (self.start.q + 1)))

    @property
    def excess(self) -> FloatArray:
        """(v/v*)^(q+1) - (1 - eps), whose sign is minus that of dv/dt.

        Phases must be read off this sign: differences of v itself are rounding noise in the tail.
        """
        return np.asarray(np.expm1((self.start.q + 1) * self.log_ratio) + self.deficit)

    @property
    def loss(self) -> FloatArray:
        """Population loss."""
        gain = np.exp((self.start.q + 1) * self.log_ratio)
        misfit = np.square(np.expm1((self.start.q + 1) * self.log_ratio)) + 2.0 * gain * self.deficit
        return np.asarray(0.25 * self.start.teacher_power**2 * misfit)

    def state(self, index: int) -> BalancedNeuron:
        """The neuron at one recorded time: the start of rebuilt bounds."""
        return BalancedNeuron(
            self.start.q,
            float(self.magnitude[index]),
            psi=float(self.psi[index]),
            teacher_magnitude=self.start.teacher_magnitude,
        )


def checked_times(times: ArrayLike) -> FloatArray:
    """Times as a non-decreasing vector of numbers at least 0, or a refusal."""
    values = np.atleast_1d(np.array(times, dtype=np.float64))
    if values.ndim != 1 or values.size == 0 or not np.all(np.isfinite(values)):
        raise InvalidInputError(f"`times` must be a vector of finite times, got shape {values.shape}.")
    if values[0] < 0 or np.any(np.diff(values) < 0):
        raise InvalidInputError("`times` must start at 0 or later and never decrease.")
    return values


def linear_tail(q: int, log_ratio: float, psi: float, elapsed: FloatArray) -> tuple[FloatArray, FloatArray]:
    """log(v/v*) and psi after the intrinsic time `elapsed` (v*^(2q) t/2), from a state close to the teacher.

    Both equations are solved to first order in log(v/v*) and in the gap, eps = gap^2/2 included, so the error is
    quadratic in the two: below rounding from (1e-8, 1e-9) on. An explicit integrator would crawl here.
    """
    gap = float(gap_of_psi(psi))
    decay = -np.expm1(-elapsed)  # 1 - e^(-elapsed)
    fall = -np.expm1(-(q + 1) * elapsed)
    eps = 0.5 * gap**2
    if q == 1:
        forced = -elapsed * eps * np.exp(-2.0 * elapsed)
    else:
        forced = -eps * (np.exp(-2.0 * elapsed) - np.exp(-(q + 1) * elapsed)) / (q - 1)
    ratio = log_ratio * np.exp(-(q + 1) * elapsed) + forced
    turned = psi + elapsed - (gap / np.pi) * decay + (q - 1) * log_ratio * fall / (q + 1)
    return np.asarray(ratio), np.asarray(turned)
