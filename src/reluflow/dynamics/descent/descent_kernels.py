"""Machine-code kernels of plain gradient descent: one pass over the neurons per iteration.

The neurons are the columns of blocks (d + 1, BLOCK), input weights first, output weight last, so that the same
operation on neighbouring neurons fills a vector register. Every sum over neurons is a sum by halves inside a block,
then over the blocks in order: the numbers do not depend on how many cores work.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import prange

from reluflow.arrays import FloatArray, FloatCube, FloatMatrix, FloatVector
from reluflow.compilation.kernel import kernel
from reluflow.geometry.boundary.minimum_norm import box_minimum_norm
from reluflow.geometry.boundary.tolerance import ROUNDING
from reluflow.losses.compiled import CompiledLoss, apply

SMALLEST_LOSS = 1e-290  # below, forces lose digits and rates overflow: a loss-scaled run ends there
BLOCK = 512  # a power of two, for the sum by halves; a block and its work space fit the first-level cache


class Descent(NamedTuple):
    """What one iteration depends on besides the neurons; n samples in dimension d, m neurons."""

    samples: FloatMatrix  # (n, d)
    labels: FloatVector  # (n,)
    weights: FloatMatrix  # (num_blocks, BLOCK) multiplicity of each neuron
    sample_weight: float  # c
    leak: float
    slope_at_zero: float  # nan: the minimum-norm element
    lr: float
    loss_threshold: float  # the rate is lr threshold / L once L is below; 0: never
    trains_output_layer: bool
    weight_decay: float  # lambda: every step also shrinks what is trained by the factor 1 - rate lambda


@kernel()
def objective(outputs: FloatVector, descent: Descent, loss: CompiledLoss) -> float:
    """L = c sum_k l(h_k, y_k)."""
    total = 0.0
    for k in range(outputs.shape[0]):
        total += apply(loss.value, outputs[k], descent.labels[k])
    return descent.sample_weight * total


@kernel()
def write_forces(outputs: FloatVector, descent: Descent, loss: CompiledLoss, forces: FloatVector) -> None:
    """r_k = -c dl/dh(h_k, y_k), into `forces`."""
    for k in range(outputs.shape[0]):
        forces[k] = descent.sample_weight * apply(loss.force, outputs[k], descent.labels[k])


@kernel()
def learning_rate(outputs: FloatVector, descent: Descent, loss: CompiledLoss) -> float:
    """The rate of this iteration: lr, divided by L / threshold once L is below the threshold; 0 once L has gone."""
    if descent.loss_threshold == 0.0:
        return descent.lr
    height = objective(outputs, descent, loss)
    if height >= descent.loss_threshold:
        return descent.lr
    return descent.lr * (descent.loss_threshold / height) if height > SMALLEST_LOSS else 0.0


@kernel(entry=True)
def minimum_norm_pull(
    w: FloatVector, forces: FloatVector, samples: FloatMatrix, leak: float, pull: FloatVector
) -> None:
    """D of one neuron, shortest over the slopes in [leak, 1] of the samples with <w, x_k> = 0, into `pull`."""
    n, d = samples.shape
    pull[:] = 0.0
    rows = np.empty((n, d))
    count, scale = 0, 0.0
    for k in range(n):
        along, size = 0.0, 0.0
        for i in range(d):
            along += w[i] * samples[k, i]
            size += samples[k, i] ** 2
        scale += abs(forces[k]) * np.sqrt(size)
        slope = 1.0 if along > 0.0 else leak
        for i in range(d):
            if along == 0.0:
                rows[count, i] = forces[k] * samples[k, i]
            else:
                pull[i] += slope * forces[k] * samples[k, i]
        if along == 0.0:
            count += 1
    ends = np.full(count, leak), np.ones(count)
    shortest, _slopes = box_minimum_norm(pull.copy(), rows[:count].copy(), ends[0], ends[1], ROUNDING * scale)
    for i in range(d):
        pull[i] = shortest[i]


@kernel()
def _sum_by_halves(values: FloatVector) -> float:
    """Sum of BLOCK values, overwritten."""
    half = BLOCK // 2
    while half > 0:
        for j in range(half):
            values[j] += values[j + half]
        half //= 2
    return float(values[0])


@kernel()
def _write_products(block: FloatMatrix, sample: FloatVector, size: int, along: FloatVector) -> None:
    """<w_j, x> for the neurons of a block; the plane has its own loop, which reads and writes less."""
    if sample.shape[0] == 2:
        x, y, row, other = sample[0], sample[1], block[0], block[1]
        for j in range(size):
            along[j] = row[j] * x + other[j] * y
        return
    x, row = sample[0], block[0]
    for j in range(size):
        along[j] = row[j] * x
    for i in range(1, sample.shape[0]):
        x, row = sample[i], block[i]
        for j in range(size):
            along[j] += row[j] * x


@kernel()
def _add_pulls(along: FloatVector, sample: FloatVector, size: int, work: FloatMatrix) -> None:
    """Add `along` times the sample to the pulls."""
    if sample.shape[0] == 2:
        x, y, row, other = sample[0], sample[1], work[0], work[1]
        for j in range(size):
            row[j] += along[j] * x
            other[j] += along[j] * y
        return
    for i in range(sample.shape[0]):
        x, row = sample[i], work[i]
        for j in range(size):
            row[j] += along[j] * x


@kernel()
def move_block(
    block: FloatMatrix, size: int, forces: FloatVector, rate: float, descent: Descent, work: FloatMatrix
) -> None:
    """One simultaneous step of (w, a) for the first `size` columns; `work` is (d + 2, BLOCK)."""
    n, d = descent.samples.shape
    leak, at_zero = descent.leak, descent.slope_at_zero
    along, change = work[d], work[d + 1]
    work[:d] = 0.0
    for k in range(n):
        _write_products(block, descent.samples[k], size, along)
        on, off, between = forces[k], leak * forces[k], at_zero * forces[k]
        for j in range(size):
            z = along[j]
            along[j] = on if z > 0.0 else (off if z < 0.0 else between)
        _add_pulls(along, descent.samples[k], size, work)
    if np.isnan(at_zero):
        _shorten_pulls(block, size, forces, descent, work)
    change[:size] = 0.0
    output_row, kept = block[d], 1.0 - rate * descent.weight_decay
    for i in range(d):
        pull, row = work[i], block[i]
        for j in range(size):
            weight = row[j]
            change[j] += weight * pull[j]
            row[j] = kept * weight + rate * (output_row[j] * pull[j])
    if descent.trains_output_layer:
        for j in range(size):
            output_row[j] = kept * output_row[j] + rate * change[j]


@kernel()
def _shorten_pulls(block: FloatMatrix, size: int, forces: FloatVector, descent: Descent, work: FloatMatrix) -> None:
    """Replace the pulls that are nan, those of neurons on a boundary, by the minimum-norm elements."""
    d = descent.samples.shape[1]
    pull = np.empty(d)
    for j in range(size):
        if np.isnan(work[0, j]):
            minimum_norm_pull(block[:d, j].copy(), forces, descent.samples, descent.leak, pull)
            work[:d, j] = pull


@kernel()
def write_block_outputs(
    block: FloatMatrix, size: int, weights: FloatVector, descent: Descent, work: FloatMatrix, outputs: FloatVector
) -> None:
    """The share of the first `size` columns of `block` in h(x_k), into `outputs`."""
    n, d = descent.samples.shape
    along, output_row, leak = work[0], block[d], descent.leak
    for k in range(n):
        _write_products(block, descent.samples[k], size, along)
        for j in range(size):
            z = along[j]
            along[j] = weights[j] * output_row[j] * (z if z > 0.0 else leak * z)
        along[size:] = 0.0
        outputs[k] = _sum_by_halves(along)


@kernel()
def _sum_blocks(partial: FloatMatrix, outputs: FloatVector) -> None:
    outputs[:] = 0.0
    for b in range(partial.shape[0]):
        for k in range(outputs.shape[0]):
            outputs[k] += partial[b, k]


@kernel(entry=True)
def outputs_of_blocks(blocks: FloatCube, num_neurons: int, descent: Descent) -> FloatArray:
    """h(x_k), shape (n,)."""
    partial = np.empty((blocks.shape[0], descent.samples.shape[0]))
    work = np.empty((blocks.shape[1] + 1, BLOCK))
    for b in range(blocks.shape[0]):
        size = min(BLOCK, num_neurons - b * BLOCK)
        write_block_outputs(blocks[b], size, descent.weights[b], descent, work, partial[b])
    outputs = np.empty(descent.samples.shape[0])
    _sum_blocks(partial, outputs)
    return outputs


@kernel(entry=True)
def descend(
    blocks: FloatCube,
    outputs: FloatVector,
    clock: FloatVector,
    num_neurons: int,
    num_iterations: int,
    descent: Descent,
    loss: CompiledLoss,
) -> None:
    """Take iterations in place, fewer if the rate vanishes.

    `outputs` are those of the neurons on entry and on exit; `clock` is (iteration, time).
    """
    partial = np.empty((blocks.shape[0], descent.samples.shape[0]))
    forces = np.empty(descent.samples.shape[0])
    work = np.empty((blocks.shape[1] + 1, BLOCK))
    for _ in range(num_iterations):
        rate = learning_rate(outputs, descent, loss)
        if rate == 0.0:
            return
        write_forces(outputs, descent, loss, forces)
        for b in range(blocks.shape[0]):
            size = min(BLOCK, num_neurons - b * BLOCK)
            move_block(blocks[b], size, forces, rate, descent, work)
            write_block_outputs(blocks[b], size, descent.weights[b], descent, work, partial[b])
        _sum_blocks(partial, outputs)
        tick(clock, rate, descent)


@kernel(entry=True, parallel=True)
def descend_on_all_cores(
    blocks: FloatCube,
    outputs: FloatVector,
    clock: FloatVector,
    num_neurons: int,
    num_iterations: int,
    descent: Descent,
    loss: CompiledLoss,
) -> None:
    """`descend` with the blocks shared among the cores: the same numbers, bit for bit."""
    partial = np.empty((blocks.shape[0], descent.samples.shape[0]))
    forces = np.empty(descent.samples.shape[0])
    for _ in range(num_iterations):
        rate = learning_rate(outputs, descent, loss)
        if rate == 0.0:
            return
        write_forces(outputs, descent, loss, forces)
        for b in prange(blocks.shape[0]):
            work = np.empty((blocks.shape[1] + 1, BLOCK))
            size = min(BLOCK, num_neurons - b * BLOCK)
            move_block(blocks[b], size, forces, rate, descent, work)
            write_block_outputs(blocks[b], size, descent.weights[b], descent, work, partial[b])
        _sum_blocks(partial, outputs)
        tick(clock, rate, descent)


@kernel()
def tick(clock: FloatVector, rate: float, descent: Descent) -> None:
    """Count one iteration; the time is lr * iteration exactly unless the rate varies."""
    clock[0] += 1.0
    clock[1] = clock[1] + rate if descent.loss_threshold > 0.0 else descent.lr * clock[0]
