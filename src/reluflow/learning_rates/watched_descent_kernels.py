"""Machine-code kernels of gradient descent that records which walls its neurons meet.

Descent jumps over a wall, or to and fro across one along which the flow slides. A pair of a neuron and a wall is on a
clear side (1 or -1) or on the wall (0). After a change of sign the pair waits: it has crossed once it is `CLEAR` times
the step that took it across away from the wall; it slides if its sign changes `CHATTER` times before that; it has only
touched the wall if it is clear on its old side again.
"""

from __future__ import annotations

from typing import NamedTuple

from reluflow.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector, SignMatrix, SignVector
from reluflow.compilation.kernel import borrowing_kernel
from reluflow.losses.compiled import CompiledLoss, apply

CLEAR = 3.0
CHATTER = 3
CROSSING, SLIDE_ENTRY, SLIDE_EXIT = 0, 1, 2
RUNNING, LOG_FULL, OVERFLOWED = 0, 1, 2
_LARGEST = 1e70  # of a weight: outputs and their squares are still doubles


class Rules(NamedTuple):
    """What one iteration depends on besides the neurons; n samples in dimension d, B walls."""

    samples: FloatMatrix  # (n, d)
    labels: FloatVector  # (n,)
    normals: FloatMatrix  # (B, d)
    weights: FloatVector  # (m,) multiplicity of each neuron
    sample_weight: float
    leak: float
    lr: float
    momentum: float
    weight_decay: float
    trains_output_layer: bool


class Neurons(NamedTuple):
    """The neurons and their velocities, changed in place."""

    w: FloatMatrix  # (m, d)
    a: FloatVector  # (m,)
    velocity_w: FloatMatrix  # (m, d)
    velocity_a: FloatVector  # (m,)


class DescentWorkspace(NamedTuple):
    """What an iteration writes before it reads it."""

    along: FloatMatrix  # (m, n) <w_j, x_k>
    forces: FloatVector  # (n,)
    pull: FloatVector  # (d,) of one neuron


class Watch(NamedTuple):
    """Where every pair of a neuron and a wall stands, changed in place; all (m, B)."""

    side: SignMatrix  # clear side, or 0 on the wall
    heights: FloatMatrix  # <w, normal> now
    jump: FloatMatrix  # largest step across the wall since the pair has been near it; 0: it is not near it
    first: IntMatrix  # iteration of the first change of sign since then
    last: IntMatrix  # iteration of the last one
    changes: IntMatrix  # how many


class Log(NamedTuple):
    """What has happened: one entry each; `counts[0]` entries."""

    counts: IntVector  # (2,) entries, iterations
    steps: IntVector
    neurons: IntVector
    walls: IntVector
    kinds: SignVector
    sides: SignVector  # of the wall, after it; 0: it slides


@borrowing_kernel()
def _note(log: Log, step: int, neuron: int, wall: int, kind: int, side: int) -> None:
    at = log.counts[0]
    log.steps[at], log.neurons[at], log.walls[at], log.kinds[at], log.sides[at] = step, neuron, wall, kind, side
    log.counts[0] = at + 1


@borrowing_kernel()
def look(watch: Watch, log: Log, j: int, b: int, height: float, step: int) -> None:
    """Take in where a pair stands after an iteration."""
    before = watch.heights[j, b]
    watch.heights[j, b] = height
    side = watch.side[j, b]
    has_changed = (before > 0.0) != (height > 0.0)
    if has_changed:
        if watch.jump[j, b] == 0.0:
            watch.first[j, b], watch.changes[j, b] = step, 0
        watch.jump[j, b] = max(watch.jump[j, b], abs(height - before))
        watch.last[j, b] = step
        watch.changes[j, b] += 1
        if side != 0 and watch.changes[j, b] >= CHATTER:
            watch.side[j, b] = 0
            _note(log, watch.first[j, b], j, b, SLIDE_ENTRY, 0)
    elif watch.jump[j, b] > 0.0 and abs(height) > CLEAR * watch.jump[j, b]:
        now = 1 if height > 0.0 else -1
        if side == 0:
            _note(log, watch.last[j, b], j, b, SLIDE_EXIT, now)
        elif now != side:
            _note(log, watch.last[j, b], j, b, CROSSING, now)
        watch.side[j, b], watch.jump[j, b] = now, 0.0


@borrowing_kernel(entry=True)
def descend_watched(
    neurons: Neurons, rules: Rules, workspace: DescentWorkspace, watch: Watch, log: Log, outputs: FloatVector,
    batches: IntMatrix, first_step: int, num_steps: int, loss: CompiledLoss,
) -> int:  # fmt: skip
    """Take iterations in place; a row of `batches` names the samples of each, no rows mean all of them.

    `outputs` (n,) are those before the last iteration on return. Returns how it ended: `RUNNING`, `LOG_FULL` (before
    an iteration that might not fit), `OVERFLOWED`; the iterations taken are added to `log.counts[1]`.
    """
    n, d = rules.samples.shape
    m, num_walls = neurons.a.shape[0], rules.normals.shape[0]
    along, forces, pull = workspace.along, workspace.forces, workspace.pull
    for turn in range(num_steps):
        if log.counts[0] + m * num_walls > log.steps.shape[0]:
            return LOG_FULL
        for k in range(n):
            outputs[k] = 0.0
        for j in range(m):
            for k in range(n):
                total = 0.0
                for i in range(d):
                    total += neurons.w[j, i] * rules.samples[k, i]
                along[j, k] = total
                outputs[k] += rules.weights[j] * neurons.a[j] * (total if total > 0.0 else rules.leak * total)
        if batches.shape[0] == 0:
            for k in range(n):
                forces[k] = rules.sample_weight * apply(loss.force, outputs[k], rules.labels[k])
        else:
            for k in range(n):
                forces[k] = 0.0
            share = rules.sample_weight * n / batches.shape[1]
            for place in range(batches.shape[1]):
                k = batches[turn, place]
                forces[k] += share * apply(loss.force, outputs[k], rules.labels[k])
        largest = 0.0
        for j in range(m):
            for i in range(d):
                pull[i] = 0.0
            for k in range(n):
                felt = forces[k] if along[j, k] > 0.0 else rules.leak * forces[k]
                for i in range(d):
                    pull[i] += felt * rules.samples[k, i]
            a, change = neurons.a[j], 0.0
            for i in range(d):
                weight = neurons.w[j, i]
                change += weight * pull[i]
                slope = a * pull[i] - rules.weight_decay * weight
                neurons.velocity_w[j, i] = rules.momentum * neurons.velocity_w[j, i] + slope
                neurons.w[j, i] = weight + rules.lr * neurons.velocity_w[j, i]
                largest = max(largest, abs(neurons.w[j, i]))
            if rules.trains_output_layer:
                neurons.velocity_a[j] = rules.momentum * neurons.velocity_a[j] + change - rules.weight_decay * a
                neurons.a[j] = a + rules.lr * neurons.velocity_a[j]
                largest = max(largest, abs(neurons.a[j]))
        log.counts[1] += 1
        if not largest < _LARGEST:
            return OVERFLOWED
        for j in range(m):
            for b in range(num_walls):
                height = 0.0
                for i in range(d):
                    height += neurons.w[j, i] * rules.normals[b, i]
                look(watch, log, j, b, height, first_step + turn + 1)
    return RUNNING
