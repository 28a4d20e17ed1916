"""LightCrossers: neurons in frames that cross walls within a step without ending it."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.bernstein_kernels import values_at
from reluflow.dynamics.event import EventRecorder
from reluflow.dynamics.event_driven.carrying_kernels import Arrivals, Course, carry_until_trouble, last_within_budget
from reluflow.dynamics.event_driven.crossing_kernels import pulls_at, refresh_expiry, scan_frames
from reluflow.dynamics.event_driven.flow_state import FlowState
from reluflow.dynamics.event_driven.grouped_neurons_kernels import through_columns
from reluflow.dynamics.event_driven.slides import chebyshev_interpolation
from reluflow.dynamics.event_driven.tuning import KINK_SHARE

_NODES, _TO_BERNSTEIN = chebyshev_interpolation(4)


class LightCrossers:
    """Finds the crossers among the neurons of frames and takes the light ones through the step.

    Parameters
    ----------
    state
        The run; crossers change their groups, and their moments in its layout with them.
    recorder
        Where their events are written.
    tolerance
        Tolerance of one step; the kinks that light crossers put into the forces stay well below it.
    """

    def __init__(self, state: FlowState, recorder: EventRecorder, *, tolerance: float) -> None:
        self._state = state
        self._recorder = recorder
        self._budget = KINK_SHARE * tolerance
        self._longest = float(np.max(state.neurons.walls.length, initial=0.0))
        self._evaluations = 0

    def take_evaluations(self) -> int:
        """Force evaluations since this was last asked."""
        taken, self._evaluations = self._evaluations, 0
        return taken

    def carry(
        self, dense: FloatArray, clock: FloatArray, step: float, stop: float, time: float
    ) -> tuple[float, Arrivals, bool]:
        """Take the crossers through the step.

        Returns where it must end, who then stands on a wall, and whether kinks have ended it.

        Parameters
        ----------
        dense, clock
            Its polynomials.
        step, stop, time
            Its length in rescaled time, the fraction at which something else ends it, and the time at its start.
        """
        state = self._state
        neurons, layout = state.neurons, state.layout
        members = neurons.members()
        self._growth, self._looked, crossers, walls, thetas = scan_frames(dense, layout, members)
        first = float(thetas.min(initial=np.inf))
        if first > stop:
            return stop, Arrivals(crossers[:0], walls[:0], thetas[:0]), False
        z = through_columns(crossers, state.columns, layout, members)
        kink_stop = self._kink_stop(neurons.mass[crossers] * np.einsum("ji,ji->j", z, z), thetas, step)
        is_cut = bool(kink_stop < stop and np.count_nonzero(thetas < kink_stop) > 1)
        stop = min(stop, kink_stop)
        if first >= stop:
            due = thetas <= stop + 1e-15
            return stop, Arrivals(crossers[due], walls[due], thetas[due]), is_cut
        pulls, jumps = self._pull_polynomials(dense)
        course = Course(dense, pulls, jumps, ~np.asarray(pulls.any(axis=(1, 2))), neurons.beyond, neurons.upon)
        arrivals = Arrivals(crossers, walls, thetas)
        stop, at, when, ids, event_walls, event_thetas, codes = carry_until_trouble(
            stop, arrivals, course, layout, members
        )
        if ids.size:
            with np.errstate(over="ignore"):
                times = time + values_at(clock, event_thetas) * np.exp(-state.log_rate)
            self._recorder.extend(ids, np.append(neurons.walls.first_sample, -1)[event_walls], times, codes)
            self._looked = np.concatenate([self._looked, ids])
            neurons.touch_moments(ids, layout)
        due = when <= stop + 1e-15
        return stop, Arrivals(crossers[due], at[due], when[due]), is_cut

    def refresh_expiry(self) -> None:
        """After the step: how long each neuron that was looked at need not be looked at again."""
        state, neurons = self._state, self._state.neurons
        neurons.path += self._growth
        refresh_expiry(self._looked, state.columns, state.layout, neurons.members())

    def _kink_stop(self, mass: FloatArray, thetas: FloatArray, step: float) -> float:
        """Where the step must end so that the kinks of the crossers, neglected in it, stay within their budget.

        A neuron of mass M = weight |z|^2 that has crossed for a time u has outputs that differ from the assumed ones by
        at most about M D |x| u, which bends directions by c M D |x|^2 u^2. Where not even two crossers fit, the step
        ends at the first, exactly.
        """
        state = self._state
        strongest = float(np.max(np.linalg.norm(state.group_pulls(), axis=1)))
        self._evaluations += 1
        effects = mass * strongest * self._longest**2 * state.stiffness() * step**2
        return float(last_within_budget(effects, thetas, self._budget))

    def _pull_polynomials(self, dense: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bernstein polynomials over the step of <D_g, normal>, (G, B, 5), and of the jumps, (B, 5)."""
        layout = self._state.layout
        directions, jumps = pulls_at(dense, _NODES, layout)
        pulls = directions @ layout.normals.T  # (5, G, B)
        self._evaluations += len(_NODES)
        coefficients = (_TO_BERNSTEIN @ pulls.reshape(len(_NODES), -1)).reshape(pulls.shape)
        return (
            np.ascontiguousarray(coefficients.transpose(1, 2, 0)),
            np.ascontiguousarray((_TO_BERNSTEIN @ jumps).T),
        )
