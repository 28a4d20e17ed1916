"""Machine-code kernels of gradient descent in cone-compressed form: the iterates of plain descent, many at a time.

Inside a cone one iteration is one linear map I + lr [[0, D], [D^T, 0]] for all its neurons, weight decay lambda taking
lr lambda off its diagonal. A neuron is looked at only when the path sum lr (|D| + lambda) its cone has gone since the
last look might have carried it across a boundary; near a boundary it *walks*: it leaves the cone and is stepped by
itself, by the kernels of plain descent.
"""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray, FloatMatrix, FloatVector
from reluflow.compilation.kernel import kernel
from reluflow.dynamics.descent.cone_group_kernels import (
    CONES,
    IS_FULL,
    ITERATIONS_PER_BIN,
    NUM_BINS,
    SHORTEST_PATH,
    SWEEPS,
    WALKERS,
    Groups,
    add_moment,
    file_neuron,
    has_pattern,
    leave_frame,
    open_cone,
    reset_frame,
    safe_path,
    send_walking,
    set_bin_width,
    slot_of,
    stop_walking,
    weight_of,
    write_products,
    write_pull,
)
from reluflow.dynamics.descent.descent_kernels import (
    BLOCK,
    Descent,
    learning_rate,
    move_block,
    tick,
    write_block_outputs,
    write_forces,
)
from reluflow.losses.compiled import CompiledLoss

SETTLE_EVERY = 16  # iterations between two attempts to bring walkers home


@kernel()
def _look_at_due(cone: int, descent: Descent, groups: Groups, neuron: FloatVector, products: FloatVector) -> None:
    """Look at the neurons that might have met a boundary; those that are near one, or across, walk."""
    while groups.cursor[cone] < NUM_BINS and groups.cursor[cone] * groups.bin_width[cone] < groups.path[cone]:
        j = groups.heads[cone, groups.cursor[cone]]
        groups.heads[cone, groups.cursor[cone]] = -1
        groups.cursor[cone] += 1
        while j >= 0:
            following = groups.following[j]
            leave_frame(cone, j, groups, neuron)
            write_products(neuron, descent.samples, products)
            free = safe_path(neuron, products, groups.lengths)
            if free >= 2.0 * groups.bin_width[cone] and has_pattern(products, cone, groups):
                file_neuron(j, cone, free, groups)
            else:
                add_moment(groups.moments[cone], groups.neurons[j], -weight_of(j, descent))
                groups.population[cone] -= 1
                send_walking(j, neuron, descent, groups)
            j = following
    if groups.population[cone] == 0:
        reset_frame(cone, groups)


@kernel()
def _renew_frame(
    cone: int, step: float, descent: Descent, groups: Groups, neuron: FloatVector, products: FloatVector
) -> None:
    """Write the cone's neurons as they are, and start again from the identity; look at every neuron on the way."""
    members = np.empty(groups.population[cone], dtype=np.int64)
    count = 0
    for place in range(NUM_BINS + 1):
        j = groups.heads[cone, place]
        while j >= 0:
            members[count] = j
            count += 1
            j = groups.following[j]
    for j in members:
        leave_frame(cone, j, groups, neuron)
        groups.neurons[j] = neuron
    reset_frame(cone, groups)
    set_bin_width(cone, step, groups)
    part = np.zeros_like(groups.moments[cone])
    for index in range(count):
        j = members[index]
        row = groups.neurons[j]
        write_products(row, descent.samples, products)
        free = safe_path(row, products, groups.lengths)
        if free >= 2.0 * groups.bin_width[cone] and has_pattern(products, cone, groups):
            file_neuron(j, cone, free, groups)
            add_moment(part, row, weight_of(j, descent))
        else:
            groups.population[cone] -= 1
            send_walking(j, row, descent, groups)
        if index % 512 == 511 or index == count - 1:  # sums of sums, so that rounding does not grow with the width
            groups.moments[cone] += part
            part[:] = 0.0


@kernel()
def _go_home(j: int, cone: int, neuron: FloatVector, descent: Descent, groups: Groups) -> None:
    """Write the neuron in the frame of its cone and add it to the moments."""
    if groups.path[cone] > 0.0:
        if groups.inverted_at[cone] != groups.counters[SWEEPS]:
            frame = groups.frames[cone]
            groups.returns[cone] = np.linalg.solve(np.eye(neuron.shape[0]) + frame, frame)
            groups.inverted_at[cone] = groups.counters[SWEEPS]
        for p in range(neuron.shape[0]):
            change = 0.0
            for q in range(neuron.shape[0]):
                change += groups.returns[cone, p, q] * neuron[q]
            groups.neurons[j, p] = neuron[p] - change
    else:
        groups.neurons[j] = neuron
    groups.home[j] = cone
    groups.population[cone] += 1
    add_moment(groups.moments[cone], groups.neurons[j], weight_of(j, descent))


@kernel()
def _settle(rate: float, forces: FloatVector, descent: Descent, groups: Groups) -> None:
    """Bring home the walkers that are far enough from every boundary."""
    n, d = descent.samples.shape
    products, slopes, pull, neuron = np.empty(n), np.empty(n), np.empty(d), np.empty(d + 1)
    groups.counters[SWEEPS] += 1
    place = 0
    while place < groups.counters[WALKERS]:
        neuron[:] = groups.walking[place // BLOCK, :, place % BLOCK]
        place += 1
        write_products(neuron, descent.samples, products)
        free = safe_path(neuron, products, groups.lengths)
        if free == 0.0:
            continue
        for k in range(n):
            slopes[k] = 1.0 if products[k] > 0.0 else descent.leak
        step = rate * (write_pull(slopes, forces, descent.samples, pull) + descent.weight_decay)
        if free < 2.0 * ITERATIONS_PER_BIN * step:
            continue
        slot = slot_of(products, groups)
        cone = groups.table[slot] if groups.table[slot] >= 0 else open_cone(int(slot), products, slopes, groups)
        if cone < 0:
            continue
        if descent.weight_decay > 0.0:
            groups.is_inert[cone] = False  # nothing pulls there, and yet its neurons shrink
        if groups.population[cone] == 0:
            set_bin_width(cone, step, groups)
        if groups.is_inert[cone] or free >= 2.0 * groups.bin_width[cone]:
            place -= 1
            j = groups.walkers[place]
            _go_home(j, cone, neuron, descent, groups)
            file_neuron(j, cone, free, groups)
            stop_walking(place, groups)


@kernel()
def _write_outputs(descent: Descent, groups: Groups, outputs: FloatVector, work: FloatMatrix) -> None:
    """h(x_k): from the moments of the cones, and from the walkers one by one."""
    n, d = descent.samples.shape
    outputs[:] = 0.0
    mean, inside, share = np.empty(d), np.empty(d + 1), np.empty(n)
    for cone in range(groups.counters[CONES]):
        if groups.population[cone] == 0 or groups.is_inert[cone]:
            continue
        for p in range(d + 1):
            inside[p] = groups.moments[cone, p, d]
            for q in range(d + 1):
                inside[p] += groups.moments[cone, p, q] * groups.frames[cone, d, q]
        for i in range(d):
            mean[i] = inside[i]
            for p in range(d + 1):
                mean[i] += groups.frames[cone, i, p] * inside[p]
        for k in range(n):
            total = 0.0
            for i in range(d):
                total += descent.samples[k, i] * mean[i]
            outputs[k] += groups.slopes[cone, k] * total
    for b in range((groups.counters[WALKERS] + BLOCK - 1) // BLOCK):
        size = min(BLOCK, groups.counters[WALKERS] - b * BLOCK)
        write_block_outputs(groups.walking[b], size, groups.walking_weights[b], descent, work, share)
        for k in range(n):
            outputs[k] += share[k]


@kernel()
def _move_frame(frame: FloatMatrix, pull: FloatVector, rate: float, descent: Descent) -> None:
    """One iteration of the columns of the frame, each as a neuron (w, a); `frame` is frame minus identity."""
    d, lost = pull.shape[0], rate * descent.weight_decay
    for q in range(d + 1):
        output_weight = frame[d, q] + (1.0 if q == d else 0.0)
        along = pull[q] if q < d else 0.0
        for i in range(d):
            along += frame[i, q] * pull[i]
            frame[i, q] += rate * (output_weight * pull[i]) - lost * (frame[i, q] + (1.0 if q == i else 0.0))
        if descent.trains_output_layer:
            frame[d, q] += rate * along - lost * output_weight


@kernel(entry=True)
def descend_in_groups(
    groups: Groups, outputs: FloatVector, clock: FloatVector, num_iterations: int, descent: Descent, loss: CompiledLoss
) -> None:
    """Take iterations in place, fewer if the rate vanishes or there is no room for another cone.

    `outputs` are those of the neurons on entry and on exit; `clock` is (iteration, time).
    """
    n, d = descent.samples.shape
    forces, products = np.empty(n), np.empty(n)
    pull, neuron, work = np.empty(d), np.empty(d + 1), np.empty((d + 2, BLOCK))
    for done in range(num_iterations):
        rate = learning_rate(outputs, descent, loss)
        if rate == 0.0:
            return
        write_forces(outputs, descent, loss, forces)
        if not np.all(np.isfinite(forces)):  # overflow: nothing that follows is a number
            outputs[:] = np.nan
            clock[0] += num_iterations - done
            return
        if np.int64(clock[0]) % SETTLE_EVERY == 0 and groups.counters[WALKERS] > 0:
            _settle(rate, forces, descent, groups)
            if groups.counters[IS_FULL]:
                return
        for b in range((groups.counters[WALKERS] + BLOCK - 1) // BLOCK):
            size = min(BLOCK, groups.counters[WALKERS] - b * BLOCK)
            move_block(groups.walking[b], size, forces, rate, descent, work)
        for cone in range(groups.counters[CONES]):
            if groups.population[cone] == 0 or groups.is_inert[cone]:
                continue
            step = rate * (write_pull(groups.slopes[cone], forces, descent.samples, pull) + descent.weight_decay)
            _move_frame(groups.frames[cone], pull, rate, descent)
            groups.path[cone] += step
            width = groups.bin_width[cone]
            is_spent = groups.path[cone] >= NUM_BINS * width
            is_coarse = width > 8.0 * ITERATIONS_PER_BIN * step and NUM_BINS * width > 2.0 * SHORTEST_PATH
            if is_spent or is_coarse:
                _renew_frame(cone, step, descent, groups, neuron, products)
            else:
                _look_at_due(cone, descent, groups, neuron, products)
        _write_outputs(descent, groups, outputs, work)
        tick(clock, rate, descent)


@kernel(entry=True)
def place_in_table(groups: Groups) -> None:
    """Fill the empty hash table with the cones in use."""
    for cone in range(groups.counters[CONES]):
        slot = slot_of(np.where(groups.is_on[cone], 1.0, -1.0), groups)
        groups.table[slot] = cone


@kernel(entry=True)
def neurons_as_they_are(groups: Groups) -> FloatArray:
    """All neurons (w, a), shape (m, d + 1), out of their frames."""
    neurons = groups.neurons.copy()
    for j in range(neurons.shape[0]):
        if groups.home[j] >= 0:
            leave_frame(groups.home[j], j, groups, neurons[j])
    for place in range(groups.counters[WALKERS]):
        neurons[groups.walkers[place]] = groups.walking[place // BLOCK, :, place % BLOCK]
    return neurons
