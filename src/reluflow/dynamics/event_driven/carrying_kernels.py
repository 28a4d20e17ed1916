"""Machine-code kernel that takes light crossers through a step one by one, on the propagators of the groups they visit.

A neuron too light to bend the forces within a step need not end the step: its path is known from the propagators of
the group it leaves and of the group it enters, so only the neuron itself is touched.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from reluflow.arrays import (
    BoolVector,
    FloatCube,
    FloatMatrix,
    FloatVector,
    IntArray,
    IntCube,
    IntMatrix,
    IntVector,
)
from reluflow.bernstein_kernels import NO_ROOT, first_root, value_at
from reluflow.compilation.kernel import borrowing_kernel, kernel
from reluflow.dynamics.event_driven.grouped_neurons_kernels import Members
from reluflow.dynamics.event_driven.step_kernels import write_columns_at
from reluflow.dynamics.event_driven.tuning import UNCLEAR
from reluflow.dynamics.shared.flow_kernels import Layout
from reluflow.geometry.boundary.events import DEATH, REFRACTION, SIGN_CHANGE, SLIDE_ENTRY
from reluflow.geometry.boundary.tolerance import ROUNDING


class Arrivals(NamedTuple):
    """Neurons that stand on a wall each (wall B: at a = 0), and when they arrived, as fractions of the step."""

    neurons: IntVector
    walls: IntVector
    thetas: FloatVector


class Course(NamedTuple):
    """What a neuron that crosses within a step is carried by; G groups, B walls, C columns."""

    dense: FloatCube  # (8, C, d + 1) the columns along the step, in Bernstein form as the next two
    pulls: FloatCube  # (G, B, 5) <D_g, normal>
    jumps: FloatMatrix  # (B, 5) the jump of the pull across a wall
    is_dead: BoolVector  # (G,) whether nothing pulls there
    pass_to: IntMatrix  # (G, B) the group beyond a wall, -1 where there is none
    slide_to: IntCube  # (G, B, 2) the group on it with a < 0 and a > 0, or -1


@borrowing_kernel()
def _write_coefficients(frame: FloatMatrix, z: FloatVector, residual: FloatVector, solution: FloatVector) -> None:
    """Write the row c with c @ frame = z, for a frame that is a Lorentz transformation up to the error of a step.

    The exact inverse J F^T J serves as approximate one, and its defect is iterated away, so that a neuron put on a wall
    stays on it in the coordinates of its new group.
    """
    width = z.shape[0]
    for i in range(width):
        solution[i] = 0.0
        residual[i] = z[i]
    for _ in range(3):
        for e in range(width):
            total = -frame[e, width - 1] * residual[width - 1]
            for i in range(width - 1):
                total += frame[e, i] * residual[i]
            solution[e] += -total if e == width - 1 else total
        for i in range(width):
            residual[i] = z[i]
            for e in range(width):
                residual[i] -= solution[e] * frame[e, i]


@kernel()
def _restrict(polynomial: FloatVector, theta: float) -> None:
    """Bernstein coefficients over [theta, 1] instead of [0, 1], in place."""
    size = polynomial.shape[0]
    for level in range(size - 1):
        for b in range(size - 1 - level):
            polynomial[b] = (1.0 - theta) * polynomial[b] + theta * polynomial[b + 1]


@kernel()
def _next_crossing(
    shape: FloatVector, g: int, output_sign: int, theta: float, dense: FloatCube, layout: Layout
) -> tuple[float, int]:
    """First crossing after `theta` of a neuron with coefficients `shape` in the frame of group g."""
    num_walls, d = layout.normals.shape
    first = layout.starts[g]
    path = np.zeros((8, d + 1))
    size = 0.0
    for e in range(d + 1):
        size += shape[e] ** 2
        for p in range(8):
            for i in range(d + 1):
                path[p, i] += shape[e] * dense[p, first + e, i]
    tolerance = ROUNDING * np.sqrt(size)
    best, wall = NO_ROOT, -1
    polynomial = np.empty(8)
    for b in range(num_walls + 1):
        side = output_sign if b == num_walls else layout.sides[g, b]
        if side == 0:
            continue
        for p in range(8):
            total = path[p, d]
            if b < num_walls:
                total = 0.0
                for i in range(d):
                    total += layout.normals[b, i] * path[p, i]
            polynomial[p] = side * total
        _restrict(polynomial, theta)
        root = first_root(polynomial, tolerance)
        if root <= 1.0:
            root = theta + (1.0 - theta) * root
            if root < best:
                best, wall = root, b
    return best, wall


class CrosserPaths(NamedTuple):
    """Where k crossers have come within a step, and what they have met on the way."""

    trouble: float  # the first fraction at which one needs exact treatment: an unknown group, an unclear case
    walls: IntVector  # (k,) the wall that each comes to next, or -1, and when
    thetas: FloatVector  # (k,)
    groups: IntVector  # (k,) that each is in, -1 where it has not left its own
    signs: IntVector  # (k,) of a
    shapes: FloatMatrix  # (k, d + 1) its coefficients there
    event_neurons: IntVector
    event_walls: IntVector
    event_thetas: FloatVector
    codes: IntVector


@kernel()
def doubled(values: IntVector) -> IntArray:
    """The values twice, so that there is room for as many again."""
    return np.concatenate((values, values))


@kernel()
def paths_until(stop: float, arrivals: Arrivals, course: Course, layout: Layout, members: Members) -> CrosserPaths:
    """Follow each crosser from group to group until `stop`; nothing is changed."""
    crossers, walls, thetas = arrivals.neurons, arrivals.walls, arrivals.thetas
    dense, pulls, jumps, is_dead = course.dense, course.pulls, course.jumps, course.is_dead
    pass_to, slide_to = course.pass_to, course.slide_to
    group, shapes, output_sign = members.group, members.shapes, members.output_sign
    num_walls, d = layout.normals.shape
    trouble = NO_ROOT
    pending_wall = np.empty(crossers.shape[0], dtype=np.int64)
    pending_theta = np.empty(crossers.shape[0])
    pending_wall[:] = -1
    pending_theta[:] = NO_ROOT
    end_groups = np.empty(crossers.shape[0], dtype=np.int64)
    end_groups[:] = -1
    end_signs = np.zeros(crossers.shape[0], dtype=np.int64)
    end_shapes = np.empty((crossers.shape[0], d + 1))
    capacity = 2 * crossers.shape[0] + 16
    neurons = np.empty(capacity, dtype=np.int64)
    event_walls = np.empty(capacity, dtype=np.int64)
    event_thetas = np.empty(capacity)
    codes = np.empty(capacity, dtype=np.int64)
    count = 0
    z, shape, residual = np.empty(d + 1), np.empty(d + 1), np.empty(d + 1)
    frame = np.empty((d + 1, d + 1))
    for index in range(crossers.shape[0]):
        j = crossers[index]
        g = group[j]
        theta, wall = thetas[index], walls[index]
        sign = output_sign[j]
        for e in range(d + 1):
            shape[e] = shapes[j, e]
        if theta >= stop:
            pending_wall[index], pending_theta[index] = wall, theta
            continue
        moved = False
        rounds = 0
        while theta < stop:
            rounds += 1
            is_sliding = layout.tangent_starts[g + 1] > layout.tangent_starts[g]
            target, code = -1, 0
            if rounds <= 64 and not is_sliding:
                if wall == num_walls:
                    target, code = g, SIGN_CHANGE
                else:
                    side = layout.sides[g, wall]
                    jump = value_at(jumps[wall], theta)
                    here = sign * value_at(pulls[g, wall], theta)
                    there = here - side * sign * jump
                    strength = 0.0
                    for b in range(num_walls):
                        strength = max(strength, abs(pulls[g, b, 0]))
                    strength = max(strength, abs(jump))
                    beyond = pass_to[g, wall]
                    if side * here < -UNCLEAR * strength:
                        if beyond >= 0 and is_dead[beyond]:
                            target, code = beyond, DEATH
                        elif side * there < -UNCLEAR * strength:
                            target, code = beyond, REFRACTION
                        elif side * there > UNCLEAR * strength:
                            target, code = slide_to[g, wall, 1 if sign > 0 else 0], SLIDE_ENTRY
            if target < 0 or layout.frame_of_group[target] < 0:
                trouble = min(trouble, theta)
                break
            if code == SIGN_CHANGE:
                sign = -sign
            else:
                write_columns_at(dense, layout.starts[g], theta, frame)
                for i in range(d + 1):
                    z[i] = 0.0
                    for e in range(d + 1):
                        z[i] += shape[e] * frame[e, i]
                height = 0.0
                for i in range(d):
                    height += layout.normals[wall, i] * z[i]
                for i in range(d):
                    z[i] -= height * layout.normals[wall, i]
                write_columns_at(dense, layout.starts[target], theta, frame)
                _write_coefficients(frame, z, residual, shape)
            if count == neurons.shape[0]:  # room for as many again
                neurons, event_walls, codes = doubled(neurons), doubled(event_walls), doubled(codes)
                event_thetas = np.concatenate((event_thetas, event_thetas))
            neurons[count], event_walls[count], event_thetas[count], codes[count] = j, wall, theta, code
            count += 1
            g = target
            moved = True
            watched = sign if members.can_change_sign[j] else 0
            theta, wall = _next_crossing(shape, g, watched, theta, dense, layout)
        pending_wall[index], pending_theta[index] = wall, theta
        if moved:
            end_groups[index], end_signs[index] = g, sign
            for e in range(d + 1):
                end_shapes[index, e] = shape[e]
    return CrosserPaths(
        trouble,
        pending_wall,
        pending_theta,
        end_groups,
        end_signs,
        end_shapes,
        neurons[:count],
        event_walls[:count],
        event_thetas[:count],
        codes[:count],
    )


@njit(inline="always")
def carry_until_trouble(
    stop: float, arrivals: Arrivals, course: Course, layout: Layout, members: Members
) -> tuple[float, CrosserPaths]:
    """Take the crossers along their paths up to `stop` or the first trouble before it; returns which, and the paths."""
    paths = paths_until(stop, arrivals, course, layout, members)
    if paths.trouble < stop:
        stop = paths.trouble
        paths = paths_until(stop, arrivals, course, layout, members)
    for index in range(arrivals.neurons.shape[0]):
        if paths.groups[index] >= 0:
            _take_to(paths.groups[index], arrivals.neurons[index], paths.shapes[index], layout, members)
            members.output_sign[arrivals.neurons[index]] = paths.signs[index]
    return stop, paths


@borrowing_kernel()
def _take_to(g: int, j: int, shape: FloatVector, layout: Layout, members: Members) -> None:
    """Put neuron j into group g, where it has these coefficients, and what it weighs with it."""
    shapes, mass, moments = members.shapes, members.mass, layout.moments
    before, after = layout.frame_of_group[members.group[j]], layout.frame_of_group[g]
    for p in range(shape.shape[0]):
        for q in range(shape.shape[0]):
            moments[before, p, q] -= mass[j] * shapes[j, p] * shapes[j, q]
            moments[after, p, q] += mass[j] * shape[p] * shape[q]
    for e in range(shape.shape[0]):
        shapes[j, e] = shape[e]
    members.group[j] = g


@kernel()
def summed_block(values: FloatVector, first: int, count: int) -> float:
    """The sum of at most 128 values, added in the order in which NumPy adds them."""
    total = -0.0
    done = 0
    if count >= 8:
        sums = np.empty(8)
        for lane in range(8):
            sums[lane] = values[first + lane]
        done = 8
        while done + 8 <= count:
            for lane in range(8):
                sums[lane] += values[first + done + lane]
            done += 8
        total = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]))
    for i in range(first + done, first + count):
        total += values[i]
    return total


@kernel()
def summed_in_pairs(values: FloatVector) -> float:
    """The sum of all values, added in the order in which NumPy adds them, to the last bit.

    Halves of more than 128 values are summed each on their own: `count` 0 on the stack says that two are to be added.
    """
    if values.shape[0] <= 128:
        return summed_block(values, 0 * values.shape[0], values.shape[0])
    firsts, counts = np.zeros(256, dtype=np.int64), np.zeros(256, dtype=np.int64)
    sums = np.zeros(256)
    counts[0] = values.shape[0]
    height, num_sums = 1, 0
    while height > 0:
        height -= 1
        first, count = firsts[height], counts[height]
        if count == 0:
            num_sums -= 1
            sums[num_sums - 1] += sums[num_sums]
        elif count <= 128:
            sums[num_sums] = summed_block(values, first, count)
            num_sums += 1
        else:
            half = count // 2
            half -= half % 8
            counts[height] = 0
            firsts[height + 1], counts[height + 1] = first + half, count - half
            firsts[height + 2], counts[height + 2] = first, half
            height += 3
    return float(sums[0])


@kernel()
def kink_effect(theta: float, effects: FloatVector, thetas: FloatVector, terms: FloatVector) -> float:
    """What the kinks of the crossers have done at the fraction `theta` of a step; `terms` is room for them."""
    for i in range(thetas.shape[0]):
        late = max(theta - thetas[i], 0.0)
        terms[i] = effects[i] * (late * late)
    return summed_in_pairs(terms)


@kernel()
def last_within_budget(effects: FloatVector, thetas: FloatVector, budget: float) -> float:
    """The fraction of a step up to which kinks at `thetas` stay within a budget; the first where two do not fit."""
    terms = np.empty(thetas.shape[0])
    if kink_effect(1.0, effects, thetas, terms) <= budget:
        return 1.0
    first = np.min(thetas)
    low, high = first, 1.0
    for _ in range(12):
        middle = 0.5 * (low + high)
        if kink_effect(middle, effects, thetas, terms) <= budget:
            low = middle
        else:
            high = middle
    num_before = 0
    for i in range(thetas.shape[0]):
        if thetas[i] < low:
            num_before += 1
    return low if num_before > 1 else first
