"""Phases of the magnitude: whether it falls before it rises, when it turns, and how low it gets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from reluflow.errors import InvalidInputError
from reluflow.papers.lee2022.single_neuron.angle import arc_excess, deficit, gap_of_psi, phi_of_psi
from reluflow.papers.lee2022.single_neuron.balanced_neuron import BalancedNeuron
from reluflow.papers.lee2022.single_neuron.balanced_trajectory import BalancedTrajectory
from reluflow.papers.lee2022.single_neuron.exact_orbit import balanced_orbit
from reluflow.papers.lee2022.single_neuron.one_layer import one_layer_tail_constant

_RESOLVED_DEFICIT = 1e-12


@dataclass(frozen=True)
class TurningPoint:
    """The minimum of the magnitude along a run.

    Parameters
    ----------
    time
        When dv/dt changes sign.
    neuron
        The state there; its magnitude equals its `threshold`.
    """

    time: float
    neuron: BalancedNeuron


def has_two_phases(start: BalancedNeuron) -> bool:
    """Whether the magnitude decreases first and increases later.

    It must start above the threshold of Eq. (11), and arrive at v* from below. For q >= 1 the second always happens;
    for q = 0 it happens if and only if phi_0 v*/|w_0| + pi cos phi_0 + sin phi_0 > 0.

    References
    ----------
    Lee et al. (2022), Sec. 5.2, conjecture on large norms, erratum E11 [lee2022].

    Examples
    --------
    >>> has_two_phases(BalancedNeuron(0, 2.0, phi=2.6)), has_two_phases(BalancedNeuron(1, 2.0, phi=2.6))
    (False, True)
    """
    if np.expm1((start.q + 1) * start.log_ratio) + start.deficit <= 0:
        return False
    return start.q > 0 or one_layer_tail_constant(start) > 0


def turning_point(start: BalancedNeuron) -> TurningPoint | None:
    """Where v(t) is smallest inside the run, by quadrature; None when the magnitude is monotone.

    Along the orbit it is the root of v^(q+1) = V (1 - eps(phi)). A nearly aligned start with q = 1 may turn only where
    the deficit is below rounding; that is refused.

    References
    ----------
    Lee et al. (2022), Eq. (11); the time is the open question of App. D.1 [lee2022].

    Examples
    --------
    >>> point = turning_point(BalancedNeuron(0, 1.0, phi=np.pi / 2))
    >>> round(point.neuron.phi, 8), round(point.time, 8), round(point.neuron.magnitude, 8)
    (2.26163098, 1.95174438, 0.70403209)
    """
    if not has_two_phases(start):
        return None
    orbit = balanced_orbit(start)

    def excess(psi: float) -> float:
        log_ratio, _ = orbit.at_psi(psi)
        return float(np.expm1((start.q + 1) * log_ratio[0]) + deficit(gap_of_psi(psi)))

    edges = start.psi + orbit.offset
    at_edges = np.expm1((start.q + 1) * np.log(phi_of_psi(edges)) - orbit.log_power) + deficit(gap_of_psi(edges))
    first = int(np.argmax(at_edges < 0))
    # argmax answers 0 when no edge is below; a minimum whose deficit is lost beside 1 is rounding noise
    if first == 0 or deficit(gap_of_psi(edges[first])) < _RESOLVED_DEFICIT:
        raise InvalidInputError(
            f"`start` turns so late that v* minus its smallest magnitude is below {_RESOLVED_DEFICIT:g} v*, "
            "which doubles do not resolve; `has_two_phases` still answers."
        )
    psi = brentq(excess, edges[first - 1], edges[first], xtol=1e-14, rtol=1e-14)
    return _turning_at(start, float(psi), float(orbit.at_psi(psi)[1][0]))


def one_layer_turning_point(start: BalancedNeuron) -> TurningPoint | None:
    """The turning point for q = 0 from a scalar equation in phi, without any integral.

    With kappa = pi |w_0| sin(phi_0)/(phi_0 v*), the root of
    (phi sin phi + cos phi)/(sin phi - phi cos phi) = 1/kappa + cot phi_0; then
    t = 2 log(1 + kappa (cot phi_0 - cot phi)).

    References
    ----------
    Lee et al. (2022), App. D.1 [lee2022]; the answer is ours.
    """
    if not has_two_phases(start):
        return None
    kappa = np.pi * start.magnitude / (start.teacher_magnitude * start.phi * np.cosh(start.psi))
    cotangent = -np.sinh(start.psi)
    level = 1.0 / kappa + cotangent

    def balance(phi: float) -> float:
        return float(phi * np.sin(phi) + np.cos(phi) - level * arc_excess(phi))

    phi = brentq(balance, start.phi, np.pi, xtol=1e-15, rtol=1e-15)
    time = 2.0 * np.log1p(kappa * (cotangent - 1.0 / np.tan(phi)))
    return _turning_at(start, float(np.log(np.tan(0.5 * phi))), float(time))


def switches(trajectory: BalancedTrajectory) -> list[float]:
    """Recorded times just before the magnitude changes direction, read off the sign of the exact velocity.

    At most one is possible, from falling to rising, because the threshold of Eq. (11) only grows.
    """
    sign = np.sign(trajectory.excess)
    change = np.flatnonzero(sign[:-1] * sign[1:] < 0)
    return [float(time) for time in trajectory.times[change]]


def _turning_at(start: BalancedNeuron, psi: float, time: float) -> TurningPoint:
    there = BalancedNeuron(start.q, 1.0, psi=psi, teacher_magnitude=start.teacher_magnitude)
    return TurningPoint(
        time, BalancedNeuron(start.q, there.threshold, psi=psi, teacher_magnitude=start.teacher_magnitude)
    )
