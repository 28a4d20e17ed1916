"""The one-layer neuron (q = 0) in closed form: no integral and no step anywhere."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import BoolArray
from reluflow.errors import InvalidInputError
from reluflow.papers.lee2022.single_neuron.balanced_neuron import BalancedNeuron
from reluflow.papers.lee2022.single_neuron.balanced_trajectory import BalancedTrajectory, checked_times


def one_layer_flow(start: BalancedNeuron, times: ArrayLike) -> BalancedTrajectory:
    """The population flow for q = 0, explicit in time.

    The product |w| sin(phi)/phi decays as c e^(-t/2), c its value at the start, and
    cot phi(t) = cot phi_0 - (v*/(pi c)) (e^(t/2) - 1).

    Notes
    -----
    Evaluated with e^(-t/2) cot phi, which stays bounded, so no time is too long.

    References
    ----------
    Lee et al. (2022), Prop. 3.1 [lee2022]; the solution is ours.

    Examples
    --------
    >>> run = one_layer_flow(BalancedNeuron(0, 1.0, phi=np.pi / 2), [1.0, 5.0])
    >>> run.phi.round(10), run.magnitude.round(10)
    (array([1.88444983, 2.9646129 ]), array([0.76496194, 0.87994969]))
    """
    _check_one_layer(start)
    recorded = checked_times(times)
    tangent = np.sinh(start.psi)  # -cot phi_0
    constant = _invariant(start)
    decay = np.exp(-0.5 * recorded)
    slope = tangent * decay - start.teacher_magnitude / (np.pi * constant) * np.expm1(-0.5 * recorded)
    size = np.hypot(decay, slope)
    with np.errstate(divide="ignore", over="ignore"):
        near = np.arcsinh(np.where(np.abs(slope) < decay, slope, 0.0) / np.maximum(decay, np.finfo(np.float64).tiny))
    far = np.copysign(np.log(np.abs(slope) + size) + 0.5 * recorded, slope)
    psi = np.where(np.abs(slope) < decay, near, far)
    phi = np.arctan2(decay, -slope)
    log_ratio = np.log(constant / start.teacher_magnitude * phi * size)
    return BalancedTrajectory(start, recorded, np.asarray(log_ratio), np.asarray(psi))


def one_layer_tail_constant(start: BalancedNeuron) -> float:
    """C in |w(t)| - v* ~ -C e^(-t/2), for q = 0: C = v* + |w_0| (pi cos phi_0 + sin phi_0)/phi_0.

    Its sign decides from which side the magnitude arrives; erratum E11 rests on it.

    References
    ----------
    Lee et al. (2022), Thm. 3.2 [lee2022]; the constant is ours.
    """
    _check_one_layer(start)
    phi = start.phi
    return float(start.teacher_magnitude + start.magnitude * (np.pi * np.cos(phi) + np.sin(phi)) / phi)


def vanishing_start_upper_bound_holds_late(phi: ArrayLike) -> BoolArray:
    """Whether the upper half of Eq. (8), |w(t)| < (1 - e^(-t/2)) v*, holds at large t, for whatever |w_0| > 0.

    It does exactly when pi cos phi_0 + sin phi_0 > 0, that is phi_0 < pi - arctan pi (107.66 degrees); near t = 0 it
    is false for every start.

    References
    ----------
    Lee et al. (2022), Eq. (8), erratum E2 [lee2022].
    """
    angle = np.asarray(phi, dtype=np.float64)
    return np.asarray(np.pi * np.cos(angle) + np.sin(angle) > 0)


def _invariant(start: BalancedNeuron) -> float:
    """c = |w_0| sin(phi_0)/phi_0."""
    return float(start.magnitude / (np.cosh(start.psi) * start.phi))


def _check_one_layer(start: BalancedNeuron) -> None:
    if start.q != 0:
        raise InvalidInputError(f"`start` must have q = 0 here, got q = {start.q}; `balanced_orbit` takes any q.")
