"""The motion of the neurons as plain arrays, for the pictures of the report and the moving picture."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from reluflow.arrays import FloatArray, IntArray
from reluflow.data.dataset import Dataset
from reluflow.network.network import Network
from reluflow.study.flow_summary import FlowSummary
from reluflow.study.neuron_groups import neuron_groups

MOST_SAMPLES = 40  # sample directions drawn at most


@dataclass(frozen=True, eq=False)
class Motion:
    """Neurons in a plane over time.

    Parameters
    ----------
    times, log_times, losses
        Of the frames, shape (T,).
    places
        Coordinates in the plane, shape (T, m, 2), scaled so that the largest |w| of the run is 1.
    signs
        Signs of a_j, shape (T, m).
    log_norms
        ln |w_j|, shape (T, m).
    angles
        Angle of w_j with its own final direction in degrees, shape (T, m).
    samples
        Unit directions of the samples in the plane, shape (k, 2).
    plane
        Which plane it is, in words.
    pushes
        Of several outputs, the one that each neuron pushes most, shape (T, m): of classes the largest entry of v_j, of
        numbers the largest in size; None for one output.
    names
        Of these outputs.
    """

    times: FloatArray
    log_times: FloatArray
    losses: FloatArray
    places: FloatArray
    signs: FloatArray
    log_norms: FloatArray
    angles: FloatArray
    samples: FloatArray
    plane: str
    pushes: IntArray | None = None
    names: tuple[str, ...] = ()


@lru_cache(maxsize=1)  # a report asks again whenever it grows
def motion_of(summary: FlowSummary) -> Motion:
    """The frames of a run in the plane itself, or in the plane that holds most of the final weights."""
    dataset = summary.trajectory.problem.dataset
    frames = summary.frames
    shapes = np.stack([frame.network.w for frame in frames])  # (T, m, d)
    norms = np.linalg.norm(shapes, axis=2)
    units = shapes / np.maximum(norms, np.finfo(float).tiny)[:, :, None]
    with np.errstate(divide="ignore"):
        log_norms = np.log(norms) + np.array([frame.network.log_scale for frame in frames])[:, None]
    sizes = np.maximum(np.exp(log_norms - float(log_norms.max())), 1e-9)  # a direction is kept at any size
    basis, plane = _plane(summary)
    cosines = np.clip(np.sum(units * units[-1], axis=2), -1.0, 1.0)
    directions = dataset.X @ basis
    lengths = np.linalg.norm(directions, axis=1)
    samples = directions[lengths > 0] / lengths[lengths > 0, None]
    return Motion(
        np.array([frame.time for frame in frames]),
        np.array([frame.log_time for frame in frames]),
        np.array([frame.loss for frame in frames]),
        (units @ basis) * sizes[:, :, None],
        np.stack([_signs(frame.network) for frame in frames]),
        log_norms,
        np.degrees(np.arccos(cosines)),
        samples[:MOST_SAMPLES],
        plane,
        None if dataset.num_outputs == 1 else np.stack([pushed_output(f.network, dataset) for f in frames]),
        output_names(dataset),
    )


def _signs(network: Network) -> FloatArray:
    """Of a_j; of several outputs all 1, since there the output that is pushed most distinguishes neurons."""
    return np.sign(network.a) if network.num_outputs == 1 else np.ones(network.num_neurons)


def pushed_output(network: Network, dataset: Dataset) -> IntArray:
    """The output that each neuron pushes most: of classes the largest entry of v_j, of numbers the largest in size."""
    pushes = network.v if dataset.classes is not None else np.abs(network.v)
    return np.asarray(np.argmax(pushes, axis=1), dtype=np.int64)


def output_names(dataset: Dataset) -> tuple[str, ...]:
    """The classes, or y1, y2, ... of rows of numbers; none for one output."""
    if dataset.classes is not None:
        return dataset.classes
    return () if dataset.num_outputs == 1 else tuple(f"y{c + 1}" for c in range(dataset.num_outputs))


def captions_of(motion: Motion) -> list[str]:
    """Time and loss of each frame in words."""
    return [
        f"{f't = {t:.5g}' if np.isfinite(t) else f'ln t = {log_t:.5g}'}, loss {loss:.5g}"
        for t, log_t, loss in zip(motion.times, motion.log_times, motion.losses, strict=True)
    ]


def _plane(summary: FlowSummary) -> tuple[FloatArray, str]:
    """An orthonormal basis of the plane shown, shape (d, 2), and its name."""
    network = summary.limit.network
    d = network.d
    if d == 1:
        return np.array([[1.0, 0.0]]), "input weight along the horizontal axis"
    if d == 2:
        return np.eye(2), "plane of the input weights: w1 to the right, w2 upwards"
    bundles = [g for g in neuron_groups(network, summary.trajectory.problem.dataset) if g.direction is not None]
    heavy = np.concatenate([g.neurons for g in bundles]) if bundles else np.arange(network.num_neurons)
    heights = np.abs(network.a) if network.num_outputs == 1 else np.linalg.norm(network.v, axis=1)
    rows = network.w[heavy] * np.sqrt(heights[heavy] * network.weight[heavy])[:, None]
    _, _, right = np.linalg.svd(rows, full_matrices=True)
    return right[:2].T, f"plane of the two largest singular directions of the final weights, of {d}"


def picked_frames(summary: FlowSummary, motion: Motion) -> list[tuple[int, str]]:
    """Up to six moments that show the run: start, end of each phase, end."""
    picked: list[tuple[int, str]] = [(0, "start, t = 0")]
    for phase in summary.trajectory.phases:
        if phase.name == "plateau" or not phase.end < motion.times[-1]:
            continue
        index = int(np.searchsorted(motion.times, phase.end))
        if index < len(motion.times) - 1 and index not in [k for k, _ in picked]:
            picked.append((index, f"end of {phase.name}, t = {motion.times[index]:.4g}"))
    last = len(motion.times) - 1
    end = f"t = {motion.times[-1]:.4g}" if np.isfinite(motion.times[-1]) else f"ln t = {motion.log_times[-1]:.4g}"
    return [*picked[:5], (last, f"end, {end}")]
