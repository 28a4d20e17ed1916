"""Machine-code kernels that take the next step: of a length that meets the tolerance, with a look at what it meets.

What a kernel returns as an array costs Python as much as a small kernel, so all arrays are made beforehand.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from reluflow.arrays import FloatCube, FloatMatrix, FloatVector, IntVector
from reluflow.compilation.kernel import borrowing_kernel, kernel
from reluflow.dynamics.event_driven.crossing_kernels import meet_walls, stays_clear
from reluflow.dynamics.event_driven.grouped_neurons_kernels import ColumnTable, Members
from reluflow.dynamics.event_driven.step_kernels import have_drifted, take_step, write_dense
from reluflow.dynamics.event_driven.tuning import GROW, SAFETY, SHRINK
from reluflow.dynamics.shared.flow_kernels import Forces, Layout, write_gradient, write_pulls, write_velocity


class StepSpace(NamedTuple):
    """Room for a step of C columns."""

    slopes: FloatCube  # (16, C, d + 1) of its stages; stage 0 at its start, stage 12 at its end
    rates: FloatVector  # (16,) dt/ds there
    dense: FloatCube  # (8, C, d + 1) Bernstein coefficients of the columns
    clock: FloatVector  # (8,) of the time
    met_columns: IntVector  # the neuron columns that come to a wall in it
    met_walls: IntVector
    met_thetas: FloatVector  # at which fraction of it


def step_space(num_columns: int, width: int) -> StepSpace:
    """Room for a step of so many columns."""
    return StepSpace(
        np.zeros((16, num_columns, width)),
        np.ones(16),
        np.empty((8, num_columns, width)),
        np.empty(8),
        np.empty(num_columns, dtype=np.int64),
        np.empty(num_columns, dtype=np.int64),
        np.empty(num_columns),
    )


class StepPlan(NamedTuple):
    """How long the next step should be."""

    length: float  # in rescaled time
    planned: float  # what the tolerance allows; longer where a requested time cuts this step
    shortest: float  # a shorter one does not move the clock
    time_left: float  # until the requested time, in units of the rate at the start
    tolerance: float
    log_rate: float
    must_look: bool  # for events in any case, as where neurons slide


class TriedStep(NamedTuple):
    """What is known of a step before it is looked at for events."""

    num_attempts: int  # 0: it is still to be tried
    length: float
    planned: float  # the length of the step after it
    elapsed: float  # in units of the rate at its start
    log_rate_end: float


NOT_TRIED = TriedStep(0, 0.0, 0.0, 0.0, 0.0)


class StateReading(NamedTuple):
    """Room for what is read off the columns."""

    outputs: FloatVector  # (n,)
    pulls: FloatMatrix  # (G, d) D of every group
    moments: FloatVector  # (3,) of the gradient, see `write_gradient`


@kernel()
def _forces_of(reading: StateReading, layout: Layout) -> Forces:
    """Room for the forces, of which a reading keeps the outputs and the pulls."""
    num_walls, d = layout.normals.shape
    relative, mean = np.empty(layout.samples.shape[0]), np.empty(d)
    return Forces(reading.outputs, relative, np.empty(num_walls), np.empty(num_walls), reading.pulls, mean)


@borrowing_kernel()
def start_from_end(space: StepSpace) -> None:
    """Where a step ends the next one starts: with the slopes that are known there, in units of the rate there."""
    for c in range(space.slopes.shape[1]):
        for i in range(space.slopes.shape[2]):
            space.slopes[0, c, i] = space.slopes[12, c, i]
    space.rates[0] = 1.0


@njit(inline="always")
def accepted_step(
    columns: FloatMatrix, end: FloatMatrix, space: StepSpace, plan: StepPlan, layout: Layout, table: ColumnTable
) -> tuple[int, float, float, float, float]:
    """Shorten the step until it meets the tolerance.

    Returns how many times it was tried, its length (0 where a shorter one would not move the clock), the length of the
    step after it, the time elapsed in units of the rate at its start, and ln R at its end.
    """
    length, planned, num_attempts = plan.length, plan.planned, 0
    while True:
        error, elapsed, log_rate_end = take_step(
            columns, space.slopes, space.rates, length, plan.log_rate, layout, end, table.invariants, plan.tolerance
        )
        num_attempts += 1
        ratio = error / plan.tolerance
        if ratio <= 1.0:
            break
        length *= max(SHRINK, SAFETY * ratio ** (-1.0 / 8.0)) if np.isfinite(ratio) else SHRINK
        if length <= plan.shortest:
            return num_attempts, 0.0, planned, elapsed, log_rate_end
        planned = length
    growth = min(GROW, SAFETY * max(ratio, 1e-12) ** (-1.0 / 8.0))
    return num_attempts, length, max(min(length, planned), length * growth), elapsed, log_rate_end


@njit(inline="always")
def look_ahead(
    columns: FloatMatrix,
    end: FloatMatrix,
    length: float,
    elapsed: float,
    space: StepSpace,
    plan: StepPlan,
    layout: Layout,
    table: ColumnTable,
    members: Members,
    reading: StateReading,
) -> tuple[bool, bool, int]:
    """Whether nothing can happen within a step; then whether columns have drifted at its end, where they are read.

    Else the polynomials of the step are written, and who meets a wall in it; the last number is how many do.
    """
    if (
        not plan.must_look
        and not elapsed > plan.time_left * (1.0 + 1e-14)
        and stays_clear(columns, space.slopes, length, layout, table.watch, members)
    ):
        start_from_end(space)
        has_drifted = have_drifted(end, table.neurons)
        if not has_drifted:
            write_pulls(end, layout, _forces_of(reading, layout))
            write_gradient(end, layout, reading.pulls, reading.moments)
        return True, has_drifted, 0
    write_dense(
        columns, end, space.slopes, space.rates, length, elapsed, plan.log_rate, layout, space.dense, space.clock
    )
    return (
        False,
        False,
        meet_walls(space.dense, layout, table.watch, space.met_columns, space.met_walls, space.met_thetas),
    )


@kernel(entry=True)
def next_step(
    tried: TriedStep,
    columns: FloatMatrix,
    end: FloatMatrix,
    space: StepSpace,
    plan: StepPlan,
    layout: Layout,
    table: ColumnTable,
    members: Members,
    reading: StateReading,
) -> tuple[int, float, float, float, float, bool, bool, int]:
    """`accepted_step` unless it has been tried, and `look_ahead` within it.

    With weight decay a step that has just been tried is not looked at: its end is to be restored and finished first.
    """
    num_attempts, length, planned = tried.num_attempts, tried.length, tried.planned
    elapsed, log_rate_end = tried.elapsed, tried.log_rate_end
    is_clear, has_drifted, num_met, must_finish = True, False, 0, False
    if num_attempts == 0:
        num_attempts, length, planned, elapsed, log_rate_end = accepted_step(columns, end, space, plan, layout, table)
        must_finish = layout.weight_decay > 0.0
    if length > 0.0 and not must_finish:
        is_clear, has_drifted, num_met = look_ahead(
            columns, end, length, elapsed, space, plan, layout, table, members, reading
        )
    return num_attempts, length, planned, elapsed, log_rate_end, is_clear, has_drifted, num_met


@kernel(entry=True)
def read_columns(
    columns: FloatMatrix,
    space: StepSpace,
    layout: Layout,
    table: ColumnTable,
    log_rate: float,
    has_slopes: bool,
    may_drift: bool,
    reading: StateReading,
) -> tuple[bool, float]:
    """Whether columns have drifted, where they may, and ln R; unless they have, read them, and write unknown slopes."""
    if may_drift and have_drifted(columns, table.neurons):
        return True, log_rate
    if has_slopes:
        write_pulls(columns, layout, _forces_of(reading, layout))
    else:
        log_rate = write_velocity(columns, layout, 0.0, space.slopes[0], _forces_of(reading, layout))[1]
        space.rates[0] = 1.0
    write_gradient(columns, layout, reading.pulls, reading.moments)
    return False, log_rate
