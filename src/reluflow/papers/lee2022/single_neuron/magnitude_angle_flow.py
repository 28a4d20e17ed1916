"""Balanced population gradient flow in magnitude and angle, integrated by an eighth-order Runge-Kutta method."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError
from reluflow.papers.lee2022.single_neuron.angle import LARGEST_EXPONENT, deficit_at
from reluflow.papers.lee2022.single_neuron.balanced_neuron import BalancedNeuron
from reluflow.papers.lee2022.single_neuron.balanced_trajectory import BalancedTrajectory, checked_times, linear_tail

# Beyond these two the linear tail is exact to rounding, and explicit steps are held back by stability alone.
_TAIL_RATIO = 1e-8
_TAIL_GAP = 5e-10


def balanced_velocity(q: int, log_ratio: float, psi: float) -> tuple[float, float]:
    """Velocity of (log(v/v*), psi) in the intrinsic time tau = v*^(2q) t/2.

    d log(v/v*)/dtau = -(v/v*)^(q-1) ((v/v*)^(q+1) - 1 + eps),  dpsi/dtau = (v/v*)^(q-1) phi/pi.

    References
    ----------
    Lee et al. (2022), Prop. 3.6, Eqs. (9) and (10) [lee2022].
    """
    speed = math.exp(min((q - 1) * log_ratio, LARGEST_EXPONENT))  # a trial step may lead anywhere
    excess = math.expm1(min((q + 1) * log_ratio, LARGEST_EXPONENT)) + deficit_at(_half_turned(-psi))
    return -speed * excess, speed * _half_turned(psi) / math.pi


def _half_turned(psi: float) -> float:
    """2 arctan(exp psi): phi, and the gap of -psi."""
    return 2.0 * math.atan(math.exp(min(psi, LARGEST_EXPONENT)))


def balanced_flow(start: BalancedNeuron, times: ArrayLike, *, rtol: float = 1e-12) -> BalancedTrajectory:
    """Run the population gradient flow of a balanced neuron.

    Parameters
    ----------
    start
        State at time 0.
    times
        Times to record, non-decreasing.
    rtol
        Relative tolerance of the integrator; the absolute one is a hundredth of it.

    Notes
    -----
    Close to the teacher the linearised equations take over in closed form, so any horizon is reached.

    References
    ----------
    Lee et al. (2022), Props. 3.1 and 3.6 [lee2022].

    Examples
    --------
    >>> run = balanced_flow(BalancedNeuron(0, 0.1, phi=np.pi / 2), [1.0, 5.0])
    >>> run.magnitude.round(10)
    array([0.37254967, 0.91283583])
    """
    if not 1e-13 <= rtol < 1.0:
        raise InvalidInputError(f"`rtol` must lie between 1e-13 and 1, got {rtol:g}.")
    recorded = checked_times(times)
    elapsed = start.clock * recorded
    q = start.q

    def velocity(_: float, state: FloatArray) -> tuple[float, float]:
        return balanced_velocity(q, float(state[0]), float(state[1]))

    def distance_to_tail(_: float, state: FloatArray) -> float:
        return max(abs(float(state[0])) / _TAIL_RATIO, _half_turned(-float(state[1])) / _TAIL_GAP) - 1.0

    initial = np.array([start.log_ratio, start.psi])
    log_ratio, psi = np.empty_like(elapsed), np.empty_like(elapsed)
    reached, tail_state, tail_time = 0, initial, 0.0
    if distance_to_tail(0.0, initial) > 0.0:
        distance_to_tail.terminal = True  # type: ignore[attr-defined]
        horizon = max(float(elapsed[-1]), np.finfo(np.float64).tiny)
        solution = solve_ivp(
            velocity,
            (0.0, horizon),
            initial,
            method="DOP853",
            t_eval=elapsed,
            events=distance_to_tail,
            rtol=rtol,
            atol=0.01 * rtol,
        )
        if not solution.success:
            raise InvalidInputError(
                f"`times` reach beyond what steps in t resolve from this `start` ({solution.message}); "
                "`balanced_orbit(start).at_times(times)` needs no steps."
            )
        reached = solution.y.shape[1]
        log_ratio[:reached], psi[:reached] = solution.y
        if solution.t_events and solution.y_events and solution.t_events[0].size:
            tail_time, tail_state = float(solution.t_events[0][0]), solution.y_events[0][0]
    if reached < elapsed.size:
        log_ratio[reached:], psi[reached:] = linear_tail(
            q, float(tail_state[0]), float(tail_state[1]), elapsed[reached:] - tail_time
        )
    return BalancedTrajectory(start, recorded, log_ratio, psi)
