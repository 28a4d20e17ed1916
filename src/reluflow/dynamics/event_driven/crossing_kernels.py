"""Machine-code kernels that find who crosses a wall within a step, and when a slide ends.

A pre-activation along a step is a polynomial in Bernstein form, whose first root is found whatever its shape; so
nothing is missed, double crossings included.
"""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray, FloatCube, FloatMatrix, FloatVector, IntArray, IntMatrix, IntVector, SignVector
from reluflow.bernstein_kernels import NO_ROOT, first_root
from reluflow.compilation.kernel import borrowing_kernel, kernel
from reluflow.dynamics.event_driven.grouped_neurons_kernels import Members
from reluflow.dynamics.event_driven.step_kernels import write_columns_at
from reluflow.dynamics.shared.flow_kernels import (
    Layout,
    add_wall_pulls,
    make_forces,
    wall_forces,
    write_group_forces,
    write_outputs,
    write_relative_forces,
    write_wall_forces,
)
from reluflow.geometry.boundary.tolerance import ROUNDING


@kernel()
def meet_walls(
    dense: FloatCube,
    layout: Layout,
    output_signs: SignVector,
    met_columns: IntVector,
    met_walls: IntVector,
    met_thetas: FloatVector,
) -> int:
    """Write the neuron columns that come to a wall within a step, with the wall and the fraction; return how many.

    Wall B stands for a = 0 and is looked at where `output_signs` is not 0.
    """
    width = dense.shape[2]
    d, num_walls = width - 1, layout.normals.shape[0]
    count = 0
    polynomial = np.empty(8)
    for g in range(layout.sides.shape[0]):
        if layout.frame_of_group[g] >= 0:
            continue
        for c in range(layout.starts[g], layout.starts[g + 1]):
            size = 0.0
            if layout.moves_outputs:
                for i in range(width):
                    size += dense[0, c, i] ** 2
            else:  # a frozen a may be of any size beside w
                for i in range(d):
                    size += max(dense[0, c, i] ** 2, dense[7, c, i] ** 2)
            tolerance = ROUNDING * np.sqrt(size)
            first, first_wall = NO_ROOT, -1
            for b in range(num_walls + 1):
                side = output_signs[c] if b == num_walls else layout.sides[g, b]
                if side == 0:
                    continue
                for p in range(8):
                    total = 0.0
                    if b == num_walls:
                        total = dense[p, c, d]
                    else:
                        for i in range(d):
                            total += layout.normals[b, i] * dense[p, c, i]
                    polynomial[p] = side * total
                theta = first_root(polynomial, tolerance)
                if theta < first:
                    first, first_wall = theta, b
            if first <= 1.0:
                met_columns[count], met_walls[count], met_thetas[count] = c, first_wall, first
                count += 1
    return count


@borrowing_kernel()
def write_wall_rows(coefficients: FloatCube, first: int, normals: FloatMatrix, rows: FloatCube) -> None:
    """For one frame, write the row vectors whose product with a neuron's coefficients is its pre-activation.

    `rows` has shape (B + 1, 8, d + 1): one Bernstein polynomial per wall; the last wall is a = 0.
    """
    num_walls, d = normals.shape
    for p in range(8):
        for e in range(d + 1):
            for b in range(num_walls):
                total = 0.0
                for i in range(d):
                    total += normals[b, i] * coefficients[p, first + e, i]
                rows[b, p, e] = total
            rows[num_walls, p, e] = coefficients[p, first + e, d]


@borrowing_kernel()
def write_reach(rows: FloatCube, reach: FloatVector) -> float:
    """How far pre-activations of a neuron with coefficients of norm 1 can move in the step, per wall; the largest."""
    largest = 0.0
    for b in range(rows.shape[0]):
        reach[b] = 0.0
        for p in range(1, 8):
            total = 0.0
            for e in range(rows.shape[2]):
                total += (rows[b, p, e] - rows[b, 0, e]) ** 2
            reach[b] = max(reach[b], np.sqrt(total))
        largest = max(largest, reach[b])
    return largest


@borrowing_kernel()
def _is_due(j: int, members: Members, growth: FloatVector) -> bool:
    """Whether a neuron must be looked at in this step; none is where its group stands still."""
    g = members.group[j]
    return bool(growth[g] > 0.0 and members.expiry[j] <= members.path[g] + growth[g])


@borrowing_kernel()
def list_due(members: Members, growth: FloatVector, due: IntVector) -> int:
    """Write the neurons that must be looked at in this step; return how many."""
    count = 0
    for j in range(members.group.shape[0]):
        if _is_due(j, members, growth):
            due[count] = j
            count += 1
    return count


@borrowing_kernel()
def is_anyone_due(members: Members, growth: FloatVector) -> bool:
    """Whether there is one."""
    for j in range(members.group.shape[0]):  # noqa: SIM110 (compiled code has no generators)
        if _is_due(j, members, growth):
            return True
    return False


@kernel()
def scan_frames(
    coefficients: FloatCube, layout: Layout, members: Members
) -> tuple[FloatArray, IntArray, IntArray, IntArray, FloatArray]:
    """First crossings of the neurons in frames, looking only at those whose slack may be used up.

    Returns the growth of `path` in this step, the neurons looked at, and the crossers with their walls and fractions
    of the step.
    """
    group, shapes = members.group, members.shapes
    num_groups, num_walls = layout.sides.shape
    width = coefficients.shape[2]
    growth = np.zeros(num_groups)
    reach = np.zeros((num_groups, num_walls + 1))
    rows = np.zeros((num_groups, num_walls + 1, 8, width))
    for g in range(num_groups):
        if layout.frame_of_group[g] >= 0:
            write_wall_rows(coefficients, layout.starts[g], layout.normals, rows[g])
            growth[g] = write_reach(rows[g], reach[g])
    looked = np.empty(group.shape[0], dtype=np.int64)
    num_looked = list_due(members, growth, looked)
    crossers = np.empty(num_looked, dtype=np.int64)
    walls = np.empty(num_looked, dtype=np.int64)
    thetas = np.empty(num_looked)
    num_crossers = 0
    polynomial = np.empty(8)
    for index in range(num_looked):
        j = looked[index]
        g = group[j]
        size = 0.0
        for e in range(width):
            size += shapes[j, e] ** 2
        size = np.sqrt(size)
        tolerance = ROUNDING * size
        best, wall = NO_ROOT, -1
        for b in range(num_walls + 1):
            side = layout.sides[g, b] if b < num_walls else members.output_sign[j] * members.can_change_sign[j]
            if side == 0:
                continue
            start = 0.0
            for e in range(width):
                start += rows[g, b, 0, e] * shapes[j, e]
            if side * start > reach[g, b] * size:
                continue
            for p in range(8):
                total = 0.0
                for e in range(width):
                    total += rows[g, b, p, e] * shapes[j, e]
                polynomial[p] = side * total
            theta = first_root(polynomial, tolerance)
            if theta < best:
                best, wall = theta, b
        if best <= 1.0:
            crossers[num_crossers] = j
            walls[num_crossers] = wall
            thetas[num_crossers] = best
            num_crossers += 1
    return growth, looked[:num_looked], crossers[:num_crossers], walls[:num_crossers], thetas[:num_crossers]


@kernel()
def refresh_expiry(looked: IntVector, columns: FloatMatrix, layout: Layout, members: Members) -> None:
    """Reset the slack of the neurons in `looked` from their pre-activations now, in place."""
    shapes = members.shapes
    num_walls, d = layout.normals.shape
    z = np.empty(d + 1)
    for index in range(looked.shape[0]):
        j = looked[index]
        g = members.group[j]
        if layout.frame_of_group[g] < 0:
            continue
        first = layout.starts[g]
        size = 0.0
        for i in range(d + 1):
            total = 0.0
            for e in range(d + 1):
                total += columns[first + e, i] * shapes[j, e]
            z[i] = total
            size += shapes[j, i] ** 2
        slack = abs(z[d]) if members.can_change_sign[j] and members.output_sign[j] != 0 else np.inf
        for b in range(num_walls):
            if layout.sides[g, b] != 0:
                total = 0.0
                for i in range(d):
                    total += layout.normals[b, i] * z[i]
                slack = min(slack, abs(total))
        members.expiry[j] = members.path[g] + slack / np.sqrt(size) if size > 0.0 else np.inf


@kernel()
def slide_margins(
    forces: FloatVector,
    layout: Layout,
    pairs: IntMatrix,
    solvers: FloatMatrix,
    orientation: FloatVector,
    margins: FloatMatrix,
) -> None:
    """Write how far each sliding pull is from either end of its interval, shape (num_pairs, 2).

    `pairs` lists (group, wall); `solvers` the matching rows of the pseudo-inverse that turn the pull of the other
    walls into the pull q along this one; entry 0 is the distance to the positive side's pull, entry 1 to the
    negative side's, both positive while the neuron slides (`orientation` is the sign of plus - minus).
    """
    d = layout.normals.shape[1]
    plus, minus = wall_forces(forces, layout)
    pull = np.empty(d)
    for row in range(pairs.shape[0]):
        g, wall = pairs[row, 0], pairs[row, 1]
        pull[:] = 0.0
        add_wall_pulls(g, plus, minus, layout, pull)
        q = 0.0
        for i in range(d):
            q -= solvers[row, i] * pull[i]
        margins[row, 0] = orientation[row] * (plus[wall] - q)
        margins[row, 1] = orientation[row] * (q - minus[wall])


@kernel(entry=True)
def slide_margins_at(
    coefficients: FloatCube,
    thetas: FloatVector,
    layout: Layout,
    pairs: IntMatrix,
    solvers: FloatMatrix,
    orientation: FloatVector,
) -> FloatArray:
    """`slide_margins` at some fractions of the step, shape (num_thetas, num_pairs, 2)."""
    margins = np.empty((thetas.shape[0], pairs.shape[0], 2))
    made, columns = make_forces(layout), np.empty((coefficients.shape[1], coefficients.shape[2]))
    for node in range(thetas.shape[0]):
        write_columns_at(coefficients, 0, thetas[node], columns)
        write_outputs(columns, layout, made.outputs, made.mean)
        write_relative_forces(made.outputs, layout, made.relative)
        slide_margins(made.relative, layout, pairs, solvers, orientation, margins[node])
    return margins


@kernel(entry=True)
def first_slide_exit(coefficients: FloatCube, scale: FloatVector) -> tuple[float, int, int]:
    """The first root of the margins of sliding pairs, (9, num_pairs, 2) in Bernstein form: fraction, pair, side.

    A margin within 1e-13 of `scale`, one number per pair, is zero.
    """
    best, pair, side = NO_ROOT, -1, 0
    polynomial = np.empty(coefficients.shape[0])
    for row in range(coefficients.shape[1]):
        for column in range(2):
            for b in range(polynomial.shape[0]):
                polynomial[b] = coefficients[b, row, column]
            theta = first_root(polynomial, 1e-13 * scale[row])
            if theta < best:
                best, pair, side = theta, row, 1 - 2 * column
    return best, pair, side


@kernel()
def pulls_at(coefficients: FloatCube, thetas: FloatVector, layout: Layout) -> tuple[FloatArray, FloatArray]:
    """D of every group, shape (num_thetas, G, d), and the jumps of the walls, (num_thetas, B), along the step."""
    pulls = np.empty((thetas.shape[0], layout.sides.shape[0], layout.normals.shape[1]))
    jumps = np.empty((thetas.shape[0], layout.normals.shape[0]))
    made, columns = make_forces(layout), np.empty((coefficients.shape[1], coefficients.shape[2]))
    for node in range(thetas.shape[0]):
        write_columns_at(coefficients, 0, thetas[node], columns)
        write_outputs(columns, layout, made.outputs, made.mean)
        write_relative_forces(made.outputs, layout, made.relative)
        write_wall_forces(made.relative, layout, made.plus, made.minus)
        write_group_forces(made.plus, made.minus, layout, pulls[node])
        for b in range(jumps.shape[1]):
            jumps[node, b] = made.plus[b] - made.minus[b]
    return pulls, jumps


@kernel()
def may_cross(
    columns: FloatMatrix,
    slopes: FloatCube,
    step: float,
    layout: Layout,
    output_signs: SignVector,
    members: Members,
) -> tuple[bool, FloatArray]:
    """Whether some neuron can reach a wall within the step, and how far those in frames can have moved, (G,).

    A cheap bound, twice the largest stage slope; it spares the dense polynomial where that would find nothing.
    """
    num_columns, width = columns.shape
    d, num_walls = width - 1, layout.normals.shape[0]
    reach = np.zeros(layout.sides.shape[0])
    has_frames = False
    for c in range(num_columns):
        fastest = 0.0
        for s in range(13):
            speed = 0.0
            for i in range(width):
                speed += slopes[s, c, i] ** 2
            fastest = max(fastest, speed)
        moved = 2.0 * step * np.sqrt(fastest)
        g = layout.column_group[c]
        if layout.frame_of_group[g] >= 0:
            reach[g] += moved**2
            has_frames = True
            continue
        if output_signs[c] != 0 and abs(columns[c, d]) <= moved:
            return True, reach
        for b in range(num_walls):
            if layout.sides[g, b] != 0:
                height = 0.0
                for i in range(d):
                    height += layout.normals[b, i] * columns[c, i]
                if layout.sides[g, b] * height <= moved and moved > 0.0:
                    return True, reach
    for g in range(reach.shape[0]):
        reach[g] = np.sqrt(reach[g])
    return has_frames and is_anyone_due(members, reach), reach


@kernel()
def stays_clear(
    columns: FloatMatrix, slopes: FloatCube, step: float, layout: Layout, output_signs: SignVector, members: Members
) -> bool:
    """Whether no neuron can come to a wall within the step (see `may_cross`), which is then written off their slack."""
    can_cross, reach = may_cross(columns, slopes, step, layout, output_signs, members)
    if not can_cross:
        for g in range(reach.shape[0]):
            members.path[g] += reach[g]
    return not can_cross
