"""Population gradient flow of all parameters (w, v_1, ..., v_q), balanced or not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError
from reluflow.papers.lee2022.single_neuron.angle import gap_between, overlap
from reluflow.papers.lee2022.single_neuron.balanced_trajectory import checked_times
from reluflow.papers.lee2022.single_neuron.population import NeuronParameters


@dataclass(frozen=True, eq=False)
class ParameterTrajectory:
    """All parameters at recorded times: `w` (num_times, d), `v` (num_times, q)."""

    times: FloatArray
    w: FloatArray
    v: FloatArray
    teacher: NeuronParameters

    @property
    def magnitude(self) -> FloatArray:
        """|w(t)|."""
        return np.asarray(np.linalg.norm(self.w, axis=1))

    @property
    def gap(self) -> FloatArray:
        """Angle to the teacher."""
        return gap_between(self.w.T, self.teacher.w)

    @property
    def balance(self) -> FloatArray:
        """v_k^2 - |w|^2, shape (num_times, q): conserved by the flow."""
        return np.asarray(np.square(self.v) - np.square(self.magnitude)[:, None])


def parameter_flow(
    start: NeuronParameters, teacher: NeuronParameters, times: ArrayLike, *, rtol: float = 1e-11
) -> ParameterTrajectory:
    """Run the population flow of every parameter from any positive start.

    The input weight never leaves the span of itself and the teacher, so the state is its two components there and
    the scalar layers.

    Parameters
    ----------
    start, teacher
        Parameters of equal dimension; the scalar layers need not be balanced.
    times
        Times to record, non-decreasing.
    rtol
        Relative tolerance; the absolute one is a hundredth of it, in units of the smaller of |w_0| and |w*|.

    Notes
    -----
    Explicit steps: a horizon of many thousand relaxation times is slow. Balanced starts have `balanced_orbit`.

    References
    ----------
    Lee et al. (2022), Eq. (2), Props. 3.5 and 3.6 [lee2022].
    """
    if start.w.shape != teacher.w.shape:
        raise InvalidInputError(
            f"`start` and `teacher` must have one dimension, got {start.w.size} and {teacher.w.size}."
        )
    if not 1e-13 <= rtol < 1.0:
        raise InvalidInputError(f"`rtol` must lie between 1e-13 and 1, got {rtol:g}.")
    recorded = checked_times(times)
    along = teacher.w / teacher.norm
    parallel = float(along @ start.w)
    rest = start.w - parallel * along
    perpendicular = float(np.linalg.norm(rest))
    across = rest / perpendicular if perpendicular > 0 else np.zeros_like(rest)
    target_gain = teacher.product * teacher.norm

    def velocity(_: float, state: FloatArray) -> FloatArray:
        norm = np.hypot(state[0], state[1])  # not a Python number: the square of a large one would raise
        phi = float(np.arctan2(state[1], -state[0]))
        product = np.prod(state[2:])
        stretch = -0.5 * product**2 + 0.5 * product * target_gain * state[1] / (np.pi * norm**2)
        slope = 0.5 * norm * (target_gain * float(overlap(phi)) - product * norm)
        moved = np.empty_like(state)
        moved[0] = stretch * state[0] + 0.5 * product * target_gain * phi / np.pi
        moved[1] = stretch * state[1]
        moved[2:] = product / state[2:] * slope
        return moved

    # a trial step far too long may overflow; the integrator then rejects it, so a warning would mislead
    with np.errstate(over="ignore", invalid="ignore"):
        solution = solve_ivp(
            velocity,
            (0.0, max(float(recorded[-1]), np.finfo(np.float64).tiny)),
            np.concatenate([[parallel, perpendicular], start.v]),
            method="DOP853",
            t_eval=recorded,
            rtol=rtol,
            atol=0.01 * rtol * min(start.norm, teacher.norm),
        )
    if not solution.success:
        raise InvalidInputError(f"`times` reach beyond what steps in t resolve ({solution.message}); loosen `rtol`.")
    w = solution.y[0][:, None] * along + solution.y[1][:, None] * across
    return ParameterTrajectory(recorded, w, np.ascontiguousarray(solution.y[2:].T), teacher)
