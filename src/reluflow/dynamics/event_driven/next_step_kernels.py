"""Machine-code kernels that take the next step: of a length that meets the tolerance, with a look at what it meets.

A call from Python takes some 4 microseconds whatever it does, as long as a small step itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reluflow.arrays import FloatArray, FloatCube, FloatMatrix, FloatVector, IntVector
from reluflow.compilation.kernel import kernel
from reluflow.dynamics.event_driven.crossing_kernels import scan_columns, stays_clear
from reluflow.dynamics.event_driven.grouped_neurons_kernels import ColumnTable, Members
from reluflow.dynamics.event_driven.step_kernels import dense_polynomial, have_drifted, take_step
from reluflow.dynamics.event_driven.tuning import GROW, SAFETY, SHRINK
from reluflow.dynamics.shared.flow_kernels import Layout, reading_of, velocity

Reading = tuple[FloatArray, FloatArray, float, float, float]


class Stages(NamedTuple):
    """Room for the stages of a step; stage 0 holds the slopes at its start, stage 12 those at its end."""

    slopes: FloatCube  # (16, C, d + 1)
    rates: FloatVector  # (16,) dt/ds


class StepPlan(NamedTuple):
    """How long the next step should be."""

    length: float  # in rescaled time
    planned: float  # what the tolerance allows; longer where a requested time cuts this step
    shortest: float  # a shorter one does not move the clock
    time_left: float  # until the requested time, in units of the rate at the start
    tolerance: float
    log_rate: float
    must_look: bool  # for events in any case, as where neurons slide


class TakenStep(NamedTuple):
    """A step that met the tolerance."""

    length: float
    elapsed: float  # in units of the rate at its start
    log_rate_end: float
    planned: float  # length of the step after it
    num_attempts: int


class MetWalls(NamedTuple):
    """The polynomials of a step, and the neuron columns that come to a wall in it."""

    dense: FloatCube  # (8, C, d + 1)
    clock: FloatVector  # (8,)
    columns: IntVector
    walls: IntVector
    thetas: FloatVector


@kernel()
def accepted_step(
    columns: FloatMatrix, end: FloatMatrix, stages: Stages, plan: StepPlan, layout: Layout, table: ColumnTable
) -> tuple[bool, TakenStep]:
    """Shorten the step until it meets the tolerance; whether it does before it no longer moves the clock."""
    length, planned, num_attempts = plan.length, plan.planned, 0
    while True:
        error, elapsed, log_rate_end = take_step(
            columns,
            stages.slopes,
            stages.rates,
            length,
            plan.log_rate,
            layout,
            end,
            table.invariants,
            plan.tolerance,
        )
        num_attempts += 1
        ratio = error / plan.tolerance
        if ratio <= 1.0:
            break
        length *= max(SHRINK, SAFETY * ratio ** (-1.0 / 8.0)) if np.isfinite(ratio) else SHRINK
        if length <= plan.shortest:
            return False, TakenStep(length, elapsed, log_rate_end, planned, num_attempts)
        planned = length
    growth = min(GROW, SAFETY * max(ratio, 1e-12) ** (-1.0 / 8.0))
    planned = max(min(length, planned), length * growth)
    return True, TakenStep(length, elapsed, log_rate_end, planned, num_attempts)


@kernel()
def look_ahead(
    columns: FloatMatrix,
    end: FloatMatrix,
    stages: Stages,
    plan: StepPlan,
    step: TakenStep,
    layout: Layout,
    table: ColumnTable,
    members: Members,
) -> tuple[bool, bool, Reading, MetWalls]:
    """Whether nothing happens within a step that was taken; then whether columns have drifted, and what is read there.

    Else its polynomials and the neuron columns that come to a wall.
    """
    slopes, rates = stages.slopes, stages.rates
    nothing, nobody = np.empty(0), np.empty(0, dtype=np.int64)
    if (
        not plan.must_look
        and not step.elapsed > plan.time_left * (1.0 + 1e-14)
        and stays_clear(columns, slopes, step.length, layout, table.watch, members)
    ):
        slopes[0] = slopes[12]
        rates[0] = 1.0
        met = MetWalls(np.empty((0, 0, 0)), nothing, nobody, nobody, nothing)
        return True, have_drifted(end, table.neurons), reading_of(end, layout), met
    dense, clock = dense_polynomial(
        columns, end, slopes, rates, step.length, step.elapsed, plan.log_rate, layout
    )
    thetas, walls = scan_columns(dense, layout, table.watch)
    found = np.flatnonzero(thetas <= 1.0)
    met = MetWalls(dense, clock, found, walls[found], thetas[found])
    return False, False, (nothing, np.empty((0, 0)), 0.0, 0.0, 0.0), met


@kernel()
def next_step(
    columns: FloatMatrix,
    end: FloatMatrix,
    stages: Stages,
    plan: StepPlan,
    layout: Layout,
    table: ColumnTable,
    members: Members,
) -> tuple[bool, TakenStep, bool, bool, Reading, MetWalls]:
    """`accepted_step`, and `look_ahead` within it."""
    is_accepted, step = accepted_step(columns, end, stages, plan, layout, table)
    if not is_accepted:
        nothing, nobody = np.empty(0), np.empty(0, dtype=np.int64)
        met = MetWalls(np.empty((0, 0, 0)), nothing, nobody, nobody, nothing)
        return False, step, False, False, (nothing, np.empty((0, 0)), 0.0, 0.0, 0.0), met
    is_clear, has_drifted, reading, met = look_ahead(columns, end, stages, plan, step, layout, table, members)
    return True, step, is_clear, has_drifted, reading, met


@kernel()
def read_columns(
    columns: FloatMatrix,
    stages: Stages,
    layout: Layout,
    table: ColumnTable,
    log_rate: float,
    has_slopes: bool,
    may_drift: bool,
) -> tuple[bool, float, Reading]:
    """Whether columns have drifted, where they may; else ln R and what is read there, the slopes written if unknown."""
    if may_drift and have_drifted(columns, table.neurons):
        return True, log_rate, (np.empty(0), np.empty((0, 0)), 0.0, 0.0, 0.0)
    if not has_slopes:
        _, log_rate = velocity(columns, layout, 0.0, stages.slopes[0])
        stages.rates[0] = 1.0
    return False, log_rate, reading_of(columns, layout)
