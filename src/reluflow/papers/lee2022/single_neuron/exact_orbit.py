"""The balanced flow by quadrature alone: an oracle that shares nothing with any integrator.

Along an orbit the magnitude obeys a Bernoulli equation in the angle, so v(phi) is one integral and t(phi) another.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray, IndexArray
from reluflow.errors import InvalidInputError
from reluflow.papers.lee2022.single_neuron.angle import phi_of_psi, psi_of_phi
from reluflow.papers.lee2022.single_neuron.balanced_neuron import BalancedNeuron
from reluflow.papers.lee2022.single_neuron.balanced_trajectory import BalancedTrajectory, checked_times, linear_tail

_LEGENDRE = np.polynomial.legendre.leggauss(12)
_NODES, _WEIGHTS = 0.5 * (1.0 + _LEGENDRE[0]), 0.5 * _LEGENDRE[1]  # on [0, 1]
# phi(psi) is analytic within pi/2 of the real axis: 12 nodes on panels of 1/2 leave an error below 1e-20.
_PANEL = 0.5
_TAIL_PSI = 40.0
_TAIL_RATIO = 1e-12


@dataclass(frozen=True, eq=False)
class BalancedOrbit:
    """The curve of one balanced neuron from its start to the teacher.

    With U = (phi v*/v)^(q+1), dU/dpsi = (q+1)(pi phi^q - U tanh psi), which has the solution
    U(psi) = U_0 (cosh psi_0/cosh psi)^(q+1) + (q+1) pi int phi(s)^q (cosh s/cosh psi)^(q+1) ds, and
    t = (2 pi/v*^(2q)) int dpsi / (phi (v/v*)^(q-1)). Both integrals run from psi_0 to psi.

    Parameters
    ----------
    start
        The neuron at time 0.
    offset
        Panel edges as psi - psi_0, shape (num_panels + 1,).
    log_power
        log U at the edges.
    elapsed
        Intrinsic time v*^(2q) t/2 at the edges.

    References
    ----------
    Lee et al. (2022), Prop. 3.6 [lee2022]; the integrals are ours.
    """

    start: BalancedNeuron
    offset: FloatArray
    log_power: FloatArray
    elapsed: FloatArray

    def at_psi(self, psi: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """log(v/v*) and time t when psi = log tan(phi/2) takes the given values, none below the start's."""
        values = np.atleast_1d(np.asarray(psi, dtype=np.float64))
        offset = values - self.start.psi
        if np.any(offset < 0):
            raise InvalidInputError(
                f"`psi` must be at least that of the start, {self.start.psi:g}: the angle only grows."
            )
        if np.any(offset > self.offset[-1] * (1.0 + 1e-14)):
            last = self.start.psi + self.offset[-1]
            raise InvalidInputError(
                f"`psi` must be at most {last:g}, where the orbit has arrived, got {values.max():g}."
            )
        panel = np.clip(np.searchsorted(self.offset, offset, side="right") - 1, 0, self.offset.size - 2)
        log_ratio, elapsed = self._within(panel, np.asarray(offset))
        return log_ratio, np.asarray(elapsed / self.start.clock)

    def at_phi(self, phi: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Magnitude v and time t when phi takes the given values.

        >>> v, t = balanced_orbit(BalancedNeuron(2, 0.1, phi=np.pi / 2)).at_phi(0.75 * np.pi)
        >>> float(t[0].round(10)), float(v[0].round(10))
        (20.9693693309, 0.2111583998)
        """
        log_ratio, time = self.at_psi(psi_of_phi(phi))
        return np.asarray(self.start.teacher_magnitude * np.exp(log_ratio)), time

    def at_times(self, times: ArrayLike) -> BalancedTrajectory:
        """The flow at the given times, by inverting t(psi)."""
        recorded = checked_times(times)
        target = self.start.clock * recorded
        offset, log_ratio = np.empty_like(target), np.empty_like(target)
        inside = target <= self.elapsed[-1]
        offset[inside], log_ratio[inside] = self._invert(target[inside])
        late = target[~inside] - self.elapsed[-1]
        last = self.start.psi + self.offset[-1]
        end_ratio = float(np.log(phi_of_psi(last)) - self.log_power[-1] / (self.start.q + 1))
        log_ratio[~inside], late_psi = linear_tail(self.start.q, end_ratio, last, late)
        offset[~inside] = late_psi - self.start.psi
        return BalancedTrajectory(self.start, recorded, log_ratio, self.start.psi + offset)

    def _within(self, panel: IndexArray, offset: FloatArray) -> tuple[FloatArray, FloatArray]:
        """log(v/v*) and intrinsic time at offsets that lie in the given panels."""
        psi_0, q = self.start.psi, self.start.q
        begin = self.offset[panel], self.log_power[panel]
        log_power = _log_power_at(q, psi_0, begin[0], offset[:, None], begin[1])[:, 0]
        elapsed = _time_until(q, psi_0, begin[0], offset, begin[1])
        log_ratio = np.log(phi_of_psi(psi_0 + offset)) - log_power / (q + 1)
        return np.asarray(log_ratio), np.asarray(self.elapsed[panel] + elapsed)

    def _invert(self, target: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Offsets and log(v/v*) at intrinsic times within the panels, by Newton steps kept inside a bracket."""
        panel = np.clip(np.searchsorted(self.elapsed, target, side="right") - 1, 0, self.offset.size - 2)
        low, high = self.offset[panel], self.offset[panel + 1]
        span = self.elapsed[panel + 1] - self.elapsed[panel]
        offset = low + (high - low) * (target - self.elapsed[panel]) / span
        for _ in range(60):
            log_ratio, elapsed = self._within(panel, offset)
            short = elapsed < target
            low, high = np.where(short, offset, low), np.where(short, high, offset)
            rate = np.exp((self.start.q - 1) * log_ratio) * phi_of_psi(self.start.psi + offset) / np.pi
            proposal = offset + (target - elapsed) * rate
            proposal = np.where((proposal >= low) & (proposal <= high), proposal, 0.5 * (low + high))
            settled = np.abs(proposal - offset) <= 2.0 * np.spacing(np.abs(offset) + 1e-3 * (high - low))
            settled |= np.abs(target - elapsed) <= 2.0 * np.spacing(target)  # the time itself is rounded
            offset = proposal
            if np.all(settled):
                break
        return offset, self._within(panel, offset)[0]


def balanced_orbit(start: BalancedNeuron) -> BalancedOrbit:
    """Lay out the panels of an orbit from its start until it has arrived at the teacher.

    A panel is never longer than the distance to the zero of U behind it, which a start far above the teacher
    brings very close.
    """
    q, psi_0 = start.q, start.psi
    offset = [0.0]
    log_power = [(q + 1) * (np.log(start.phi) - start.log_ratio)]
    while True:
        psi = psi_0 + offset[-1]
        log_phi = float(np.log(phi_of_psi(psi)))
        if psi >= _TAIL_PSI and abs(log_phi - log_power[-1] / (q + 1)) <= _TAIL_RATIO:
            break
        log_distance = log_power[-1] - np.log((q + 1) * np.pi) - q * log_phi
        width = _PANEL * min(1.0, 2.0 * np.exp(min(log_distance, 0.0)))
        offset.append(offset[-1] + width)
        power = _log_power_at(q, psi_0, np.array(offset[-2:-1]), np.array([offset[-1:]]), np.array(log_power[-1:]))
        log_power.append(float(power[0, 0]))
    edges, powers = np.array(offset), np.array(log_power)
    steps = _time_until(q, psi_0, edges[:-1], edges[1:], powers[:-1])
    return BalancedOrbit(start, edges, powers, np.concatenate([[0.0], np.cumsum(steps)]))


def _time_until(q: int, psi_0: float, left: FloatArray, right: FloatArray, log_power: FloatArray) -> FloatArray:
    """Intrinsic time from the offsets `left` to `right`, from log U at `left`; all (num,)."""
    width = right - left
    middle = left[:, None] + width[:, None] * _NODES  # (num, nodes)
    phi = phi_of_psi(psi_0 + middle)
    log_ratio = np.log(phi) - _log_power_at(q, psi_0, left, middle, log_power) / (q + 1)
    return np.asarray(width * ((np.pi / phi * np.exp((1 - q) * log_ratio)) @ _WEIGHTS))


def _log_power_at(q: int, psi_0: float, left: FloatArray, target: FloatArray, log_power: FloatArray) -> FloatArray:
    """log U at `target` (num, k) from its value at `left` (num,), by the integral of the class docstring."""
    width = target - left[:, None]
    inner = left[:, None, None] + width[:, :, None] * _NODES  # (num, k, nodes)
    log_cosh_target = _log_cosh(psi_0 + target)
    growth = np.exp((q + 1) * (_log_cosh(psi_0 + inner) - log_cosh_target[:, :, None]))
    gained = (q + 1) * np.pi * width * ((phi_of_psi(psi_0 + inner) ** q * growth) @ _WEIGHTS)
    kept = log_power[:, None] + (q + 1) * (_log_cosh(psi_0 + left)[:, None] - log_cosh_target)
    with np.errstate(divide="ignore"):
        return np.asarray(np.logaddexp(kept, np.log(gained)))


def _log_cosh(psi: FloatArray) -> FloatArray:
    """log cosh, up to the constant log 2, without overflow."""
    size = np.abs(psi)
    return np.asarray(size + np.log1p(np.exp(-2.0 * size)))
