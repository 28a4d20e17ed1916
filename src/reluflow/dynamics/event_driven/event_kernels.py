"""Machine-code kernel that takes a step which meets walls to its first event, light crossers with it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from reluflow.arrays import FloatArray, FloatCube, FloatMatrix, FloatVector, IntArray, IntVector
from reluflow.bernstein_kernels import first_root, value_at
from reluflow.compilation.kernel import kernel
from reluflow.dynamics.event_driven.carrying_kernels import Arrivals, Course, carry_until_trouble, last_within_budget
from reluflow.dynamics.event_driven.crossing_kernels import pulls_at, refresh_expiry, scan_frames
from reluflow.dynamics.event_driven.grouped_neurons_kernels import (
    ColumnTable,
    Members,
    Neighbours,
    renew_moments,
    through_columns,
)
from reluflow.dynamics.event_driven.next_step_kernels import StateReading, StepSpace, start_from_end
from reluflow.dynamics.event_driven.slides import chebyshev_interpolation
from reluflow.dynamics.event_driven.step_kernels import write_columns_at
from reluflow.dynamics.shared.flow_kernels import Layout, stiffness_at
from reluflow.geometry.boundary.tolerance import ROUNDING

_NODES, _TO_BERNSTEIN = chebyshev_interpolation(4)
AT_ONCE = 1e-15  # fractions of a step that differ by less are one moment


class Way(NamedTuple):
    """What decides where a step ends, besides the walls that it meets."""

    length: float  # of the step in rescaled time
    elapsed: float  # in it, in units of the rate at its start
    time_left: float  # until the requested time
    exit_theta: float  # fraction of the step at which the first slide ends
    longest: float  # norm of a sample
    budget: float  # of the kinks that light crossers may put into the step


class Carried(NamedTuple):
    """Where a step must end for the light crossers, who stands on a wall there, and their events on the way."""

    stop: float
    is_cut: bool  # because of their kinks
    arrivals: Arrivals
    neurons: IntVector
    walls: IntVector
    thetas: FloatVector
    codes: IntVector
    growth: FloatVector  # (G,) how far pre-activations of neurons in frames may have moved within the step
    looked: IntVector  # the neurons in frames whose slack was used up, with those that crossed
    num_evaluations: int


@kernel(entry=True)
def reach_event(
    columns: FloatMatrix,
    end: FloatMatrix,
    num_met: int,
    way: Way,
    reading: StateReading,
    space: StepSpace,
    layout: Layout,
    table: ColumnTable,
    members: Members,
    neighbours: Neighbours,
) -> tuple[float, float, bool, int, int, IntArray, FloatArray]:
    """Cut a step at the first event that matters, light crossers taken along.

    `end` holds the columns at the end of the step, and then those there; `reading` is of its start. Returns the
    fraction of the step, the time elapsed, whether the kinks of light crossers have cut it, the force evaluations, how
    many stand on a wall there, and rows (neuron, wall, code) with their fractions: first of those, whose code is -1,
    then of the events of light crossers on the way. Every array that is returned costs Python 0.65 microseconds.
    """
    stop = min(1.0, way.exit_theta)
    for place in range(num_met):
        stop = min(stop, space.met_thetas[place])
    if value_at(space.clock, stop) > way.time_left * (1.0 + 1e-14):
        if layout.loss.fades:
            stop = first_root(way.time_left - space.clock, 0.0)
        else:
            stop = way.time_left / way.length
    has_frames = layout.moments.shape[0] > 0
    if has_frames:
        carried = carried_through(stop, columns, way, reading, space.dense, layout, members, neighbours)
    else:
        carried = nobody(stop)
    stop, elapsed = carried.stop, way.elapsed
    if stop >= 1.0:
        start_from_end(space)
    else:
        # as the polynomial says, not put back on the quadric: a shift would take neurons across walls unseen
        elapsed = value_at(space.clock, stop)
        write_columns_at(space.dense, 0 * num_met, stop, end)
    if has_frames:
        for g in range(carried.growth.shape[0]):
            members.path[g] += carried.growth[g]
        refresh_expiry(carried.looked, end, layout, members)
    arrivals = all_arrivals(stop, num_met, carried.arrivals, end, space, layout, table)
    num_arrivals, num_passed = arrivals.neurons.shape[0], carried.neurons.shape[0]
    rows = np.full((num_arrivals + num_passed, 3), -1, dtype=np.int64)
    thetas = np.empty(num_arrivals + num_passed)
    for place in range(num_arrivals):
        rows[place, 0], rows[place, 1] = arrivals.neurons[place], arrivals.walls[place]
        thetas[place] = arrivals.thetas[place]
    for place in range(num_passed):
        row = num_arrivals + place
        rows[row, 0], rows[row, 1], rows[row, 2] = carried.neurons[place], carried.walls[place], carried.codes[place]
        thetas[row] = carried.thetas[place]
    return stop, elapsed, carried.is_cut, carried.num_evaluations, num_arrivals, rows, thetas


@njit(inline="always")
def nobody(stop: float) -> Carried:
    """`carried_through` where there are no frames."""
    none, never = np.empty(0, dtype=np.int64), np.empty(0)
    return Carried(stop, False, Arrivals(none, none, never), none, none, never, none, never, none, 0)


@njit(inline="always")
def all_arrivals(
    stop: float,
    num_met: int,
    light: Arrivals,
    here: FloatMatrix,
    space: StepSpace,
    layout: Layout,
    table: ColumnTable,
) -> Arrivals:
    """Which of the columns that a step meets walls with stand on one at its end, and then the light crossers that do.

    Those that are due, and of the later ones those that are there already, to rounding: a neuron parallel to one that
    is due arrives with it.
    """
    num_walls, d = layout.normals.shape
    most = num_met + light.neurons.shape[0]
    neurons, walls, thetas = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64), np.empty(most)
    count = 0
    for place in range(num_met):
        c, wall, theta = space.met_columns[place], space.met_walls[place], space.met_thetas[place]
        is_due = theta <= stop + AT_ONCE
        if not is_due:
            height, size = here[c, d], here[c, d] ** 2 if layout.moves_outputs else 0.0
            if wall < num_walls:
                height = 0.0
                for i in range(d):
                    height += here[c, i] * layout.normals[wall, i]
            for i in range(d):
                size += here[c, i] ** 2
            is_due = abs(height) <= ROUNDING * np.sqrt(size)
        if is_due:
            neurons[count], walls[count], thetas[count] = table.neurons[c], wall, theta
            count += 1
    for place in range(light.neurons.shape[0]):
        neurons[count], walls[count], thetas[count] = light.neurons[place], light.walls[place], light.thetas[place]
        count += 1
    return Arrivals(neurons[:count], walls[:count], thetas[:count])


@kernel()
def arrived_until(latest: float, neurons: IntVector, walls: IntVector, thetas: FloatVector) -> Arrivals:
    """Those that arrive up to the fraction `latest`."""
    size = thetas.shape[0]
    arrived, walls_there, fractions = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64), np.empty(size)
    count = 0
    for place in range(size):
        if thetas[place] <= latest:
            arrived[count], walls_there[count], fractions[count] = neurons[place], walls[place], thetas[place]
            count += 1
    return Arrivals(arrived[:count], walls_there[:count], fractions[:count])


@njit(inline="always")
def carried_through(
    stop: float,
    columns: FloatMatrix,
    way: Way,
    reading: StateReading,
    dense: FloatCube,
    layout: Layout,
    members: Members,
    neighbours: Neighbours,
) -> Carried:
    """Take the light crossers among the neurons in frames through a step that something else ends at `stop`."""
    growth, looked, crossers, walls, thetas = scan_frames(dense, layout, members)
    none, never = np.empty(0, dtype=np.int64), np.empty(0)
    first = np.inf
    for theta in thetas:
        first = min(first, theta)
    if first > stop:
        return Carried(stop, False, Arrivals(none, none, never), none, none, never, none, growth, looked, 0)
    kink_stop = _kink_stop(crossers, thetas, columns, way, reading, layout, members)
    num_before = 0
    for theta in thetas:
        num_before += theta < kink_stop
    is_cut = kink_stop < stop and num_before > 1
    stop = min(stop, kink_stop)
    if first >= stop:
        arrivals = arrived_until(stop + AT_ONCE, crossers, walls, thetas)
        return Carried(stop, is_cut, arrivals, none, none, never, none, growth, looked, 1)
    course = _course(dense, layout, neighbours)
    stop, paths = carry_until_trouble(stop, Arrivals(crossers, walls, thetas), course, layout, members)
    if paths.event_neurons.shape[0] > 0:
        renew_moments(layout, members)
    return Carried(
        stop,
        is_cut,
        arrived_until(stop + AT_ONCE, crossers, paths.walls, paths.thetas),
        paths.event_neurons,
        paths.event_walls,
        paths.event_thetas,
        paths.codes,
        growth,
        np.concatenate((looked, paths.event_neurons)),
        1 + _NODES.shape[0],
    )


@kernel()
def _kink_stop(
    crossers: IntVector,
    thetas: FloatVector,
    columns: FloatMatrix,
    way: Way,
    reading: StateReading,
    layout: Layout,
    members: Members,
) -> float:
    """Where the step must end so that the kinks of the crossers, neglected in it, stay within their budget.

    A neuron of mass M = weight |z|^2 that has crossed for a time u has outputs that differ from the assumed ones by
    at most about M D |x| u, which bends directions by c M D |x|^2 u^2. Where not even two crossers fit, the step
    ends at the first, exactly.
    """
    strongest, stiffness = 0.0, stiffness_at(reading.outputs, layout)
    for g in range(reading.pulls.shape[0]):
        square = 0.0
        for i in range(reading.pulls.shape[1]):
            square += reading.pulls[g, i] ** 2
        strongest = max(strongest, np.sqrt(square))
    z = through_columns(crossers, columns, layout, members)
    effects = np.empty(crossers.shape[0])
    for index in range(crossers.shape[0]):
        square = 0.0
        for i in range(z.shape[1]):
            square += z[index, i] ** 2
        mass = members.mass[crossers[index]] * square
        effects[index] = mass * strongest * way.longest**2 * stiffness * way.length**2
    return last_within_budget(effects, thetas, way.budget)


@kernel()
def _course(dense: FloatCube, layout: Layout, neighbours: Neighbours) -> Course:
    """What the light crossers of a step are carried by: its columns, and polynomials of the pulls along it."""
    directions, jumps_at = pulls_at(dense, _NODES.copy(), layout)  # constants are of another type
    size, num_groups, d = directions.shape
    num_walls = layout.normals.shape[0]
    pulls = np.zeros((num_groups, num_walls, size))
    jumps = np.zeros((num_walls, size))
    for node in range(size):
        for b in range(num_walls):
            for p in range(size):
                jumps[b, p] += _TO_BERNSTEIN[p, node] * jumps_at[node, b]
            for g in range(num_groups):
                pull = 0.0
                for i in range(d):
                    pull += directions[node, g, i] * layout.normals[b, i]
                for p in range(size):
                    pulls[g, b, p] += _TO_BERNSTEIN[p, node] * pull
    is_dead = np.empty(num_groups, dtype=np.bool_)
    for g in range(num_groups):
        is_dead[g] = True
        for b in range(num_walls):
            for p in range(size):
                is_dead[g] &= pulls[g, b, p] == 0.0
    return Course(dense, pulls, jumps, is_dead, neighbours.beyond, neighbours.upon)
