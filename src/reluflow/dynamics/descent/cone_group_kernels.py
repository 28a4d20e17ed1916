"""Machine-code kernels of cone groups: neurons that share an activation pattern, and those that walk by themselves.

A cone keeps the product `frame` of the linear maps its neurons went through, its neurons in the coordinates of the
frame, and their second moments there. Neurons are filed by the path after which they must be looked at again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reluflow.arrays import BoolMatrix, BoolVector, FloatCube, FloatMatrix, FloatVector, IntMatrix, IntVector
from reluflow.compilation.kernel import kernel
from reluflow.dynamics.descent.descent_kernels import BLOCK, Descent

NUM_BINS = 256  # due times of a cone's neurons, sorted into bins of the path; the last list holds what is due later
LONGEST_PATH = 0.5  # a frame's condition number stays below e^(2 * 0.5)
SHORTEST_PATH = 2.56e-11  # bins of 1e-13: finer than rounding lets the path be known
ITERATIONS_PER_BIN = 8.0
PATH_MARGIN = 1e-11  # subtracted from the distance to a boundary for the rounding of distances and paths

WALKERS, CONES, IS_FULL, SWEEPS = 0, 1, 2, 3  # entries of `counters`


class Groups(NamedTuple):
    """Neurons and cones; m neurons in dimension d, room for C cones of n samples."""

    neurons: FloatMatrix  # (m, d + 1) in the frame of the cone; out of date while walking
    home: IntVector  # (m,) cone, or -1 while walking
    following: IntVector  # (m,) next neuron in the same list, or -1
    walkers: IntVector  # (m,) the first counters[WALKERS] are neurons that walk
    walking: FloatCube  # (num_blocks, d + 1, BLOCK) these neurons as they are, as plain descent keeps them
    walking_weights: FloatMatrix  # (num_blocks, BLOCK)
    counters: IntVector  # (4,)
    lengths: FloatVector  # (n,) |x_k|
    is_on: BoolMatrix  # (C, n) the pattern of each cone
    slopes: FloatMatrix  # (C, n)
    is_inert: BoolVector  # (C,) no slope: nothing moves and nothing is output
    population: IntVector  # (C,)
    frames: FloatCube  # (C, d + 1, d + 1) frame minus identity, so that small changes keep their digits
    returns: FloatCube  # (C, d + 1, d + 1) identity minus inverse frame, where `inverted_at` is the current sweep
    inverted_at: IntVector  # (C,)
    moments: FloatCube  # (C, d + 1, d + 1) sum of weight c c^T over the cone's neurons in the frame
    path: FloatVector  # (C,) sum of lr |D| since the frame was the identity
    bin_width: FloatVector  # (C,)
    cursor: IntVector  # (C,) first bin not yet looked at
    heads: IntMatrix  # (C, NUM_BINS + 1) first neuron of each list, or -1
    table: IntVector  # hash table of patterns, a power of two: cone or -1


@kernel()
def write_products(neuron: FloatVector, samples: FloatMatrix, products: FloatVector) -> None:
    """<w, x_k> of one neuron."""
    for k in range(samples.shape[0]):
        total = 0.0
        for i in range(samples.shape[1]):
            total += neuron[i] * samples[k, i]
        products[k] = total


@kernel()
def safe_path(neuron: FloatVector, products: FloatVector, lengths: FloatVector) -> float:
    """A path the neuron can go without meeting a boundary.

    After the path s the neuron has moved by at most (e^s - 1)|z|, so <w, x_k> by at most |x_k| times that.
    """
    size = 0.0
    for i in range(neuron.shape[0]):
        size += neuron[i] ** 2
    nearest = np.inf
    for k in range(products.shape[0]):
        if lengths[k] > 0.0:
            nearest = min(nearest, abs(products[k]) / lengths[k])
    if nearest == np.inf or size == 0.0:
        return np.inf
    return float(np.log1p(max(nearest / np.sqrt(size) - PATH_MARGIN, 0.0)))


@kernel()
def slot_of(products: FloatVector, groups: Groups) -> np.int64:
    """Where the pattern of the products stands, or would stand, in the hash table."""
    key = np.uint64(0xCBF29CE484222325)
    for k in range(products.shape[0]):
        key = (key ^ np.uint64(2 if products[k] > 0.0 else 1)) * np.uint64(0x100000001B3)
    slot = np.int64((key ^ (key >> np.uint64(29))) & np.uint64(groups.table.shape[0] - 1))
    while True:
        cone = groups.table[slot]
        if cone < 0 or has_pattern(products, cone, groups):
            return slot
        slot = (slot + 1) & (groups.table.shape[0] - 1)


@kernel()
def has_pattern(products: FloatVector, cone: int, groups: Groups) -> bool:
    """Whether the products have the pattern of the cone."""
    for k in range(products.shape[0]):  # noqa: SIM110 (compiled code has no generators)
        if (products[k] > 0.0) != groups.is_on[cone, k]:
            return False
    return True


@kernel()
def write_pull(slopes: FloatVector, forces: FloatVector, samples: FloatMatrix, pull: FloatVector) -> float:
    """D = sum_k slope_k r_k x_k, into `pull`; returns |D|."""
    pull[:] = 0.0
    for k in range(samples.shape[0]):
        slope = slopes[k] * forces[k]
        for i in range(pull.shape[0]):
            pull[i] += slope * samples[k, i]
    size = 0.0
    for i in range(pull.shape[0]):
        size += pull[i] ** 2
    return float(np.sqrt(size))


@kernel()
def open_cone(slot: int, products: FloatVector, slopes: FloatVector, groups: Groups) -> int:
    """Room for a new pattern; -1 and a flag when there is none left."""
    cone = groups.counters[CONES]
    if cone == groups.population.shape[0]:
        groups.counters[IS_FULL] = 1
        return -1
    groups.counters[CONES] += 1
    groups.table[slot] = cone
    groups.is_on[cone] = products > 0.0
    groups.slopes[cone] = slopes
    groups.is_inert[cone] = np.all(slopes == 0.0)
    reset_frame(cone, groups)
    return int(cone)


@kernel()
def reset_frame(cone: int, groups: Groups) -> None:
    """The identity as frame, no neuron filed."""
    groups.frames[cone] = 0.0
    groups.moments[cone] = 0.0
    groups.path[cone] = 0.0
    groups.cursor[cone] = 0
    groups.bin_width[cone] = LONGEST_PATH / NUM_BINS
    groups.inverted_at[cone] = -1
    groups.heads[cone] = -1


@kernel()
def set_bin_width(cone: int, step: float, groups: Groups) -> None:
    """Bins worth some iterations at the present speed."""
    whole = min(LONGEST_PATH, NUM_BINS * ITERATIONS_PER_BIN * step)
    groups.bin_width[cone] = max(whole, SHORTEST_PATH) / NUM_BINS


@kernel()
def file_neuron(j: int, cone: int, safe_path: float, groups: Groups) -> None:
    """Put a neuron in the list in which it will be looked at in time."""
    due = (groups.path[cone] + safe_path) / groups.bin_width[cone]
    place = int(due) if due < NUM_BINS else NUM_BINS
    groups.following[j] = groups.heads[cone, place]
    groups.heads[cone, place] = j


@kernel()
def weight_of(j: int, descent: Descent) -> float:
    """Multiplicity of a neuron."""
    return float(descent.weights[j // BLOCK, j % BLOCK])


@kernel()
def send_walking(j: int, neuron: FloatVector, descent: Descent, groups: Groups) -> None:
    """Append the neuron, as it is, to the walkers."""
    place = groups.counters[WALKERS]
    groups.counters[WALKERS] += 1
    groups.home[j] = -1
    groups.walkers[place] = j
    groups.walking[place // BLOCK, :, place % BLOCK] = neuron
    groups.walking_weights[place // BLOCK, place % BLOCK] = weight_of(j, descent)


@kernel()
def stop_walking(place: int, groups: Groups) -> None:
    """The last walker takes the place of the one that stops."""
    groups.counters[WALKERS] -= 1
    last = groups.counters[WALKERS]
    groups.walkers[place] = groups.walkers[last]
    groups.walking[place // BLOCK, :, place % BLOCK] = groups.walking[last // BLOCK, :, last % BLOCK]
    groups.walking_weights[place // BLOCK, place % BLOCK] = groups.walking_weights[last // BLOCK, last % BLOCK]


@kernel()
def add_moment(moment: FloatMatrix, neuron: FloatVector, weight: float) -> None:
    """Add weight z z^T."""
    for p in range(neuron.shape[0]):
        for q in range(neuron.shape[0]):
            moment[p, q] += weight * neuron[p] * neuron[q]


@kernel()
def leave_frame(cone: int, j: int, groups: Groups, neuron: FloatVector) -> None:
    """The neuron as it is, into `neuron`."""
    inside = groups.neurons[j]
    for p in range(neuron.shape[0]):
        change = 0.0
        for q in range(neuron.shape[0]):
            change += groups.frames[cone, p, q] * inside[q]
        neuron[p] = inside[p] + change
