"""Machine-code kernels of the smooth flow: outputs, forces, velocities, the gradient.

The state is a list of columns, each a vector (w, a) of R^(d+1) that belongs to one group; a group is an activation
pattern with its set of sliding walls, and all its columns obey dw = a D, da = <w, D> with one and the same D. A column
is either a neuron itself or, in a group with many neurons, one column of the group's propagator (a frame).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reluflow.arrays import (
    BoolArray,
    BoolVector,
    FloatArray,
    FloatCube,
    FloatMatrix,
    FloatVector,
    IntArray,
    IntVector,
    SignMatrix,
)
from reluflow.compilation.kernel import borrowing_kernel, kernel
from reluflow.losses.compiled import CompiledLoss, apply

LARGEST_LOG_FORCE = float(np.log(1e6))  # ln of a force that is not in the rate, relative to the largest in it


class Layout(NamedTuple):
    """Everything the forces depend on besides the columns; n samples, B walls, G groups, C columns."""

    samples: FloatMatrix  # (n, d)
    labels: FloatVector  # (n,)
    loss: CompiledLoss
    log_weight: float  # ln c
    weight_decay: float  # lambda: w' = a D - lambda w, and so for a
    moves_outputs: bool  # whether a changes at all
    wall_of_sample: IntVector  # (n,)
    slope_plus: FloatVector  # (n,) what a unit force of the sample adds along its wall's normal on the positive side
    slope_minus: FloatVector  # (n,)
    normals: FloatMatrix  # (B, d) unit
    eta: FloatMatrix  # (G, n) slopes; 0 on sliding walls, where the pre-activation is 0
    sides: SignMatrix  # (G, B)
    tangent_starts: IntVector  # (G + 1,) rows of `tangents` of each group
    tangents: FloatMatrix  # orthonormal rows spanning each group's sliding normals
    starts: IntVector  # (G + 1,) columns of each group
    column_group: IntVector  # (C,)
    frame_of_group: IntVector  # (G,) row of `moments`, or -1 where the columns are the neurons
    moments: FloatCube  # (F, d + 1, d + 1) sum of weight c c^T over the coefficients of a frame's neurons
    weights: FloatVector  # (C,) weight e^(2 log norm) of a neuron column
    counted: BoolVector  # (n,) samples in the rate of a fading loss: those on which a group acts


def counted_in_rate(eta: FloatArray, starts: IntArray) -> BoolArray:
    """The samples on which a group that has columns acts; all of them where there are none."""
    acted_on = np.any(eta[np.diff(starts) > 0] != 0.0, axis=0)
    return np.asarray(acted_on if np.any(acted_on) else ~acted_on)


class Forces(NamedTuple):
    """What is worked out on the way from the columns to their velocity, overwritten by the next one."""

    outputs: FloatVector  # (n,)
    relative: FloatVector  # (n,) forces relative to the rate R
    plus: FloatVector  # (B,) the pull along each wall's normal on its positive side
    minus: FloatVector  # (B,)
    pull: FloatMatrix  # (G, d) D of every group
    mean: FloatVector  # (d,)


@kernel()
def make_forces(layout: Layout) -> Forces:
    """Arrays of the right sizes."""
    n, num_walls, d = layout.samples.shape[0], layout.normals.shape[0], layout.normals.shape[1]
    return Forces(
        np.empty(n),
        np.empty(n),
        np.empty(num_walls),
        np.empty(num_walls),
        np.empty((layout.sides.shape[0], d)),
        np.empty(layout.samples.shape[1]),
    )


@borrowing_kernel()
def write_outputs(columns: FloatMatrix, layout: Layout, outputs: FloatVector, mean: FloatVector) -> None:
    """Write h(x_k) into `outputs`; `mean` has d entries and is overwritten."""
    d = layout.samples.shape[1]
    outputs[:] = 0.0
    for g in range(layout.sides.shape[0]):
        first, last = layout.starts[g], layout.starts[g + 1]
        if first == last:
            continue
        frame = layout.frame_of_group[g]
        mean[:] = 0.0
        if frame < 0:
            for c in range(first, last):
                factor = layout.weights[c] * columns[c, d]
                for i in range(d):
                    mean[i] += factor * columns[c, i]
        else:
            for p in range(d + 1):
                factor = 0.0
                for q in range(d + 1):
                    factor += layout.moments[frame, p, q] * columns[first + q, d]
                for i in range(d):
                    mean[i] += factor * columns[first + p, i]
        for k in range(outputs.shape[0]):
            slope = layout.eta[g, k]
            if slope != 0.0:
                total = 0.0
                for i in range(d):
                    total += layout.samples[k, i] * mean[i]
                outputs[k] += slope * total


@kernel(entry=True)
def outputs_of(columns: FloatMatrix, layout: Layout) -> FloatArray:
    """h(x_k), shape (n,), from the columns."""
    outputs = np.empty(layout.samples.shape[0])
    write_outputs(columns, layout, outputs, np.empty(layout.samples.shape[1]))
    return outputs


@borrowing_kernel()
def write_relative_forces(outputs: FloatVector, layout: Layout, forces: FloatVector) -> float:
    """Write the forces relative to R into `forces` and return ln R, as `relative_forces`."""
    n = outputs.shape[0]
    if not layout.loss.fades:
        weight = np.exp(layout.log_weight)
        for k in range(n):
            forces[k] = weight * apply(layout.loss.force, outputs[k], layout.labels[k])
        return 0.0
    largest = -np.inf
    for k in range(n):
        forces[k] = apply(layout.loss.log_force, outputs[k], layout.labels[k])
        if layout.counted[k]:
            largest = max(largest, forces[k])
    total = 0.0
    for k in range(n):
        forces[k] = np.exp(min(forces[k] - largest, LARGEST_LOG_FORCE))
        if layout.counted[k]:
            total += forces[k]
    for k in range(n):
        forces[k] *= layout.labels[k] / total
    return float(layout.log_weight + largest + np.log(total))


@borrowing_kernel()
def stiffness_at(outputs: FloatVector, layout: Layout) -> float:
    """How fast the forces relative to R change with the outputs, at most: `AbstractLoss.stiffness` with its weight."""
    largest = -np.inf
    for k in range(outputs.shape[0]):
        if layout.loss.fades:
            ratio = apply(layout.loss.log_curvature, outputs[k], layout.labels[k])
            ratio -= apply(layout.loss.log_force, outputs[k], layout.labels[k])
        else:
            ratio = apply(layout.loss.curvature, outputs[k], layout.labels[k])
        largest = max(largest, ratio)
    return float(max(1.0, np.exp(largest)) if layout.loss.fades else np.exp(layout.log_weight) * largest)


@kernel()
def relative_forces(outputs: FloatVector, layout: Layout) -> tuple[FloatArray, float]:
    """Forces r_k divided by a positive rate R, and ln R: R = c sum |dl/dh| for a loss whose forces fade, else 1.

    The flow in the rescaled time ds = R dt has these relative forces, which never underflow together. Samples on which
    nothing acts keep their forces for ever while the others fade, so they are left out of R; they still hold neurons
    that slide along their walls, and a force beyond what that takes is cut.
    """
    forces = np.empty(outputs.shape[0])
    log_rate = write_relative_forces(outputs, layout, forces)
    return forces, log_rate


@borrowing_kernel()
def write_wall_forces(forces: FloatVector, layout: Layout, plus: FloatVector, minus: FloatVector) -> None:
    """Write what `wall_forces` returns."""
    plus[:] = 0.0
    minus[:] = 0.0
    for k in range(forces.shape[0]):
        b = layout.wall_of_sample[k]
        plus[b] += layout.slope_plus[k] * forces[k]
        minus[b] += layout.slope_minus[k] * forces[k]


@kernel()
def wall_forces(forces: FloatVector, layout: Layout) -> tuple[FloatArray, FloatArray]:
    """The pull along each wall's normal for a neuron on its positive and on its negative side, shapes (B,)."""
    plus = np.empty(layout.normals.shape[0])
    minus = np.empty(layout.normals.shape[0])
    write_wall_forces(forces, layout, plus, minus)
    return plus, minus


@kernel(entry=True)
def wall_pulls_of(columns: FloatMatrix, layout: Layout) -> tuple[FloatArray, FloatArray]:
    """`wall_forces` where the columns are these."""
    return wall_forces(relative_forces(outputs_of(columns, layout), layout)[0], layout)


@borrowing_kernel()
def add_wall_pulls(g: int, plus: FloatVector, minus: FloatVector, layout: Layout, pull: FloatVector) -> None:
    """Add what the walls that group g does not slide on pull, each on the side it is on."""
    for b in range(plus.shape[0]):
        side = layout.sides[g, b]
        strength = plus[b] if side > 0 else minus[b]
        if side != 0 and strength != 0.0:
            for i in range(pull.shape[0]):
                pull[i] += strength * layout.normals[b, i]


@borrowing_kernel()
def write_group_forces(plus: FloatVector, minus: FloatVector, layout: Layout, pull: FloatMatrix) -> None:
    """Write D of every group, from the pulls of the walls on their two sides."""
    num_groups, d = layout.sides.shape[0], layout.normals.shape[1]
    pull[:, :] = 0.0
    for g in range(num_groups):
        if layout.starts[g] == layout.starts[g + 1]:
            continue
        add_wall_pulls(g, plus, minus, layout, pull[g])
        for _ in range(2):  # twice, so that the normal part is gone to rounding
            for row in range(layout.tangent_starts[g], layout.tangent_starts[g + 1]):
                along = 0.0
                for i in range(d):
                    along += pull[g, i] * layout.tangents[row, i]
                for i in range(d):
                    pull[g, i] -= along * layout.tangents[row, i]


@kernel(entry=True)
def group_forces(forces: FloatVector, layout: Layout) -> FloatArray:
    """D of every group, shape (G, d): the sum over walls, made tangent to the sliding ones."""
    plus, minus = wall_forces(forces, layout)
    pull = np.empty((layout.sides.shape[0], layout.normals.shape[1]))
    write_group_forces(plus, minus, layout, pull)
    return pull


@borrowing_kernel()
def write_pulls(columns: FloatMatrix, layout: Layout, made: Forces) -> float:
    """Write the outputs and all that follows from them up to D of every group; return ln R."""
    write_outputs(columns, layout, made.outputs, made.mean)
    log_rate = write_relative_forces(made.outputs, layout, made.relative)
    write_wall_forces(made.relative, layout, made.plus, made.minus)
    write_group_forces(made.plus, made.minus, layout, made.pull)
    return log_rate


@borrowing_kernel()
def write_velocity(
    columns: FloatMatrix, layout: Layout, log_rate_at_start: float, slope: FloatMatrix, made: Forces
) -> tuple[float, float]:
    """`velocity` without making an array: what it works out on the way goes into `made`."""
    d = layout.samples.shape[1]
    log_rate = write_pulls(columns, layout, made)
    pull = made.pull
    decay = layout.weight_decay * np.exp(-log_rate) if layout.weight_decay > 0.0 else 0.0  # not 0 times infinity
    for c in range(columns.shape[0]):
        g = layout.column_group[c]
        along = 0.0
        for i in range(d):
            slope[c, i] = columns[c, d] * pull[g, i] - decay * columns[c, i]
            along += columns[c, i] * pull[g, i]
        slope[c, d] = along - decay * columns[c, d] if layout.moves_outputs else 0.0
    return np.exp(log_rate_at_start - log_rate), log_rate


@kernel()
def velocity(columns: FloatMatrix, layout: Layout, log_rate_at_start: float, slope: FloatMatrix) -> tuple[float, float]:
    """Write d(columns)/ds into `slope`; return dt/ds in units of its value at the start of the step, and ln R."""
    return write_velocity(columns, layout, log_rate_at_start, slope, make_forces(layout))


@borrowing_kernel()
def write_gradient(columns: FloatMatrix, layout: Layout, pull: FloatMatrix, moments: FloatVector) -> None:
    """Write |grad L|^2, <parameters, -grad L> and |parameters|^2; relative to the rate R, as is D of every group."""
    d = layout.samples.shape[1]
    square, along, size = 0.0, 0.0, 0.0
    for g in range(layout.sides.shape[0]):
        first, last = layout.starts[g], layout.starts[g + 1]
        if first == last:
            continue
        strength = 0.0
        for i in range(d):
            strength += pull[g, i] ** 2
        frame = layout.frame_of_group[g]
        if frame < 0:
            for c in range(first, last):
                weight, a, p = layout.weights[c], columns[c, d], _towards(columns, c, pull, g)
                square += weight * (p * p + a * a * strength)
                along += 2.0 * weight * a * p
                for i in range(d + 1):
                    size += weight * columns[c, i] ** 2
        else:
            for e in range(d + 1):
                towards = _towards(columns, first + e, pull, g)
                for f in range(d + 1):
                    weight, a = layout.moments[frame, e, f], columns[first + e, d]
                    other = _towards(columns, first + f, pull, g)
                    square += weight * (towards * other + a * columns[first + f, d] * strength)
                    along += 2.0 * weight * a * other
                    for i in range(d + 1):
                        size += weight * columns[first + e, i] * columns[first + f, i]
    moments[0], moments[1], moments[2] = square, along, size


@borrowing_kernel()
def _towards(columns: FloatMatrix, c: int, pull: FloatMatrix, g: int) -> float:
    """<w, pull> of a column."""
    total = 0.0
    for i in range(pull.shape[1]):
        total += columns[c, i] * pull[g, i]
    return total
