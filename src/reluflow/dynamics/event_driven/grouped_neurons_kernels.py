"""Machine-code kernels over the neurons of a group; tall thin products that a threaded BLAS would only slow down."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reluflow.arrays import (
    BoolVector,
    FloatArray,
    FloatCube,
    FloatMatrix,
    FloatVector,
    IntArray,
    IntCube,
    IntMatrix,
    IntVector,
    SignVector,
)
from reluflow.compilation.kernel import borrowing_kernel, kernel
from reluflow.dynamics.event_driven.tuning import LARGE_FRAME
from reluflow.dynamics.shared.flow_kernels import Layout

OFF_UNIT_NORM = 0.5  # of a squared norm


class Members(NamedTuple):
    """The neurons as the kernels see and change them; m neurons, G groups."""

    group: IntVector  # (m,)
    shapes: FloatMatrix  # (m, d + 1)
    mass: FloatVector  # (m,) weight e^(2 log norm)
    output_sign: SignVector  # (m,)
    can_change_sign: BoolVector  # (m,)
    expiry: FloatVector  # (m,) a neuron need not be looked at before the path of its group exceeds this
    path: FloatVector  # (G,) how far pre-activations can have moved since the frame of a group was last reset
    moment_trace: FloatVector  # (G,) the largest trace that the moment of a frame has had


class Neighbours(NamedTuple):
    """The groups beside each group; G groups, B walls."""

    beyond: IntMatrix  # (G, B) the one on the other side of a wall, or -1
    upon: IntCube  # (G, B, 2) those that slide on it with a < 0 and a > 0, or -1


class ColumnTable(NamedTuple):
    """What the columns are, each."""

    neurons: IntVector  # (C,) the neuron, or -1 in a frame
    invariants: FloatVector  # (C,) a^2 - |w|^2 of a neuron
    watch: SignVector  # (C,) sign of a where it may change, else 0


@borrowing_kernel()
def write_moment(
    g: int, row: int, shapes: FloatMatrix, mass: FloatVector, group: IntVector, moments: FloatCube
) -> None:
    """Write sum of mass c c^T over the neurons of group g into a row of `moments`."""
    width = shapes.shape[1]
    for p in range(width):
        for q in range(width):
            moments[row, p, q] = 0.0
    for j in range(group.shape[0]):
        if group[j] == g:
            for p in range(width):
                factor = mass[j] * shapes[j, p]
                for q in range(p + 1):
                    moments[row, p, q] += factor * shapes[j, q]
    for p in range(width):
        for q in range(p):
            moments[row, q, p] = moments[row, p, q]


@borrowing_kernel()
def _trace(moments: FloatCube, row: int) -> float:
    """Of one moment."""
    total = 0.0
    for p in range(moments.shape[1]):
        total += moments[row, p, p]
    return total


@borrowing_kernel()
def renew_moments(layout: Layout, members: Members) -> None:
    """After single neurons have moved between frames: sum anew where little is left, as differences lose digits."""
    for g in range(layout.frame_of_group.shape[0]):
        row = layout.frame_of_group[g]
        if row < 0:
            continue
        trace, largest = _trace(layout.moments, row), members.moment_trace[g]
        if trace < 0.1 * largest:
            write_moment(g, row, members.shapes, members.mass, members.group, layout.moments)
            largest = _trace(layout.moments, row)
        members.moment_trace[g] = max(trace, largest)


@kernel(entry=True)
def write_back(
    columns: FloatMatrix,
    starts: IntVector,
    column_neurons: IntVector,
    frame_of_group: IntVector,
    frames: FloatCube,
    shapes: FloatMatrix,
) -> None:
    """Write columns into the frames and the neurons that they are."""
    for g in range(frame_of_group.shape[0]):
        row = frame_of_group[g]
        for c in range(starts[g], starts[g + 1]):
            for i in range(columns.shape[1]):
                if row >= 0:
                    frames[row, c - starts[g], i] = columns[c, i]
                else:
                    shapes[column_neurons[c], i] = columns[c, i]


NO_CHANGE, RESET, BEGIN, END = range(4)  # of a frame


@kernel(entry=True)
def frame_changes(
    counts: IntVector, frame_of_group: IntVector, frames: FloatCube, are_wanted: bool, is_wide: bool, frame_from: int
) -> tuple[bool, IntArray]:
    """What is to become of the frame of every group, and whether anything is.

    Groups of more than `frame_from` times d + 1 neurons get one, in a wide network every group; one that has grown is
    taken into its neurons.
    """
    width = frames.shape[1]
    changes = np.zeros(counts.shape[0], dtype=np.int64)
    are_any = False
    for g in range(counts.shape[0]):
        row = frame_of_group[g]
        wants = are_wanted and (is_wide or counts[g] > (1 if row >= 0 else frame_from) * width)
        if row < 0:
            changes[g] = BEGIN if wants else NO_CHANGE
        elif not wants:
            changes[g] = END
        else:
            size = 0.0
            for p in range(width):
                for i in range(width):
                    size += frames[row, p, i] ** 2
            changes[g] = RESET if size > LARGE_FRAME else NO_CHANGE
        are_any |= changes[g] != NO_CHANGE
    return are_any, changes


@kernel(entry=True)
def through_frames(
    shapes: FloatMatrix, group: IntVector, neurons: IntVector, frames: FloatCube, frame_of_group: IntVector
) -> FloatArray:
    """Rows (w, a) of some neurons: their coefficients times the frame of their group, where it has one."""
    width = shapes.shape[1]
    z = np.empty((neurons.shape[0], width))
    for index in range(neurons.shape[0]):
        j = neurons[index]
        row = frame_of_group[group[j]]
        for i in range(width):
            if row < 0:
                z[index, i] = shapes[j, i]
            else:
                total = 0.0
                for e in range(width):
                    total += shapes[j, e] * frames[row, e, i]
                z[index, i] = total
    return z


@kernel(entry=True)
def heights_of(z: FloatMatrix, normals: FloatMatrix) -> FloatArray:
    """<w, normal> for every neuron and wall, shape (m, B)."""
    num_walls, d = normals.shape
    heights = np.empty((z.shape[0], num_walls))
    for j in range(z.shape[0]):
        for b in range(num_walls):
            total = 0.0
            for i in range(d):
                total += z[j, i] * normals[b, i]
            heights[j, b] = total
    return heights


@kernel()
def through_columns(neurons: IntVector, columns: FloatMatrix, layout: Layout, members: Members) -> FloatArray:
    """Rows (w, a) of some neurons of groups with frames, whose frames are as `columns` has them."""
    width = columns.shape[1]
    z = np.empty((neurons.shape[0], width))
    for index in range(neurons.shape[0]):
        j = neurons[index]
        first = layout.starts[members.group[j]]
        for i in range(width):
            total = 0.0
            for e in range(width):
                total += members.shapes[j, e] * columns[first + e, i]
            z[index, i] = total
    return z


class Gathered(NamedTuple):
    """The columns of all groups in order; G groups, C columns."""

    starts: IntVector  # (G + 1,) columns of each group
    column_group: IntVector  # (C,)
    columns: FloatMatrix  # (C, d + 1)
    weights: FloatVector  # (C,) mass of the neuron, 0 in a frame
    table: ColumnTable


@borrowing_kernel(entry=True)
def write_missing_moments(
    members: Members, frame_of_group: IntVector, moments: FloatCube, has_moment: BoolVector
) -> None:
    """Write the moments of frames that are not known, and that they are."""
    for g in range(frame_of_group.shape[0]):
        row = frame_of_group[g]
        if row >= 0 and not has_moment[row]:
            write_moment(g, row, members.shapes, members.mass, members.group, moments)
            has_moment[row] = True


@kernel(entry=True)
def gather(
    members: Members, invariant: FloatVector, counts: IntVector, frame_of_group: IntVector, frames: FloatCube
) -> tuple[bool, Gathered]:
    """One column for each neuron of a group without a frame, and the rows of each frame.

    And whether a neuron column is off norm 1 and is to be renormalised first.
    """
    num_groups, width = counts.shape[0], members.shapes.shape[1]
    starts = np.zeros(num_groups + 1, dtype=np.int64)
    for g in range(num_groups):
        starts[g + 1] = starts[g] + (width if frame_of_group[g] >= 0 else counts[g])
    num_columns = starts[num_groups]
    column_group = np.empty(num_columns, dtype=np.int64)
    column_neurons = np.full(num_columns, -1, dtype=np.int64)
    columns = np.zeros((num_columns, width))
    weights = np.zeros(num_columns)
    invariants = np.zeros(num_columns)
    watch = np.zeros(num_columns, dtype=np.int8)
    for g in range(num_groups):
        for c in range(starts[g], starts[g + 1]):
            column_group[c] = g
            if frame_of_group[g] >= 0:
                for i in range(width):
                    columns[c, i] = frames[frame_of_group[g], c - starts[g], i]
    place = starts[:num_groups].copy()
    has_far = False
    for j in range(members.group.shape[0]):
        g = members.group[j]
        if frame_of_group[g] >= 0:
            continue
        c = place[g]
        place[g] += 1
        column_neurons[c] = j
        weights[c] = members.mass[j]
        invariants[c] = invariant[j]
        if members.can_change_sign[j]:
            watch[c] = members.output_sign[j]
        size = 0.0
        for i in range(width):
            columns[c, i] = members.shapes[j, i]
            size += members.shapes[j, i] ** 2
        has_far |= abs(size - 1.0) > OFF_UNIT_NORM
    table = ColumnTable(column_neurons, invariants, watch)
    return has_far, Gathered(starts, column_group, columns, weights, table)


@kernel(entry=True)
def off_unit_norm(members: Members, frame_of_group: IntVector) -> IntArray:
    """The neurons outside frames whose squared norm is off 1."""
    found = np.empty(members.group.shape[0], dtype=np.int64)
    count = 0
    for j in range(members.group.shape[0]):
        if frame_of_group[members.group[j]] >= 0:
            continue
        size = 0.0
        for i in range(members.shapes.shape[1]):
            size += members.shapes[j, i] ** 2
        if abs(size - 1.0) > OFF_UNIT_NORM:
            found[count] = j
            count += 1
    return found[:count].copy()
