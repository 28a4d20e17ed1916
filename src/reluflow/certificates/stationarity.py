"""Stationary points of a convex loss: how stationary, and whether minimum or saddle.

With forces r and G_r(w) = sum_k r_k phi(<w, x_k>), convexity of the loss in the outputs gives
L(theta') - L(theta) >= -sum_j (a'_j G_r(w'_j) - a_j G_r(w_j)). So a stationary point is a local minimum exactly when no
neuron gains to first order: sign(a_j) G_r does not grow from w_j in any direction, and G_r is flat around w_j where
a_j = 0. Otherwise the growing direction lowers the loss, and is returned after it has been tried.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reluflow.arrays import FloatArray
from reluflow.certificates.best_neuron import Gains, NeuronOracle
from reluflow.data.dataset import Dataset
from reluflow.geometry.boundary.minimum_norm import box_minimum_norm
from reluflow.geometry.boundary.tolerance import ROUNDING
from reluflow.losses import AbstractLoss
from reluflow.network.network import Network


@dataclass(frozen=True, eq=False)
class Stationarity:
    """How far zero is from the Clarke subdifferential of the loss at a network.

    Parameters
    ----------
    residual
        sqrt(sum_j weight_j (a_j^2 |D_j|^2 + <w_j, D_j>^2)) / (|theta| force_scale), without the network's own scale.
    loss
        The objective.
    forces
        r_k = -c dl/dh, shape (n,).
    force_scale
        The larger of sum_k |r_k| |x_k| at this network and at output zero.
    pulls
        D_j, the shortest subgradient of G_r at each neuron, shape (num_neurons, d).
    kinks
        Which <w_j, x_k> count as zero, shape (num_neurons, n).
    """

    residual: float
    loss: float
    forces: FloatArray
    force_scale: float
    pulls: FloatArray
    kinks: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Escape:
    """A change of one neuron that lowers the loss, tried and measured.

    Parameters
    ----------
    neuron
        Index of the neuron that is changed; None for a neuron added to the network.
    w, a
        What is added to its input and output weight, the scale of the network included.
    predicted_decrease
        From the leading term of the expansion.
    actual_decrease
        Of the objective, computed; always positive.
    """

    neuron: int | None
    w: FloatArray
    a: float
    predicted_decrease: float
    actual_decrease: float


def stationarity(network: Network, dataset: Dataset, loss: AbstractLoss, *, kink_rtol: float = 1e-9) -> Stationarity:
    """Distance of zero to the subdifferential, neuron by neuron, slopes at kinks chosen to make it smallest.

    References
    ----------
    Boursier & Flammarion (2024), Eq. (6) [boursier2024].
    """
    X, leak = dataset.X, network.leak
    outputs = network.outputs(X)
    forces = loss.forces(outputs, dataset.y)
    products = network.pre_activations(X)
    lengths = np.linalg.norm(X, axis=1)
    sizes = np.linalg.norm(network.w, axis=1)
    kinks = np.abs(products) <= kink_rtol * sizes[:, None] * lengths
    pulls = (np.where(products > 0.0, 1.0, leak) * ~kinks * forces) @ X
    columns = forces[:, None] * X
    tolerance = ROUNDING * float(np.abs(forces) @ lengths)
    for j in np.flatnonzero(kinks.any(axis=1)):
        count = int(np.sum(kinks[j]))
        pulls[j], _ = box_minimum_norm(pulls[j], columns[kinks[j]], np.full(count, leak), np.ones(count), tolerance)
    force_scale = float(max(np.abs(forces) @ lengths, np.abs(loss.label_forces(dataset.y)) @ lengths))
    along = np.einsum("jd,jd->j", network.w, pulls)
    squared = network.weight @ (network.a**2 * np.sum(pulls**2, axis=1) + along**2)
    norm_squared = float(network.weight @ (network.a**2 + sizes**2))
    scale = np.sqrt(norm_squared) * force_scale
    residual = float(np.sqrt(squared) / scale) if scale > 0.0 else 0.0
    return Stationarity(residual, loss.total(outputs, dataset.y), forces, force_scale, pulls, kinks)


def best_new_neuron(network: Network, dataset: Dataset, point: Stationarity) -> Gains:
    """The gain of a neuron that could be added: 0 exactly when no network of any width has a smaller loss."""
    oracle = NeuronOracle(dataset.X, np.sign(point.forces), network.leak)
    return oracle.gains(point.forces)


def find_escape(
    network: Network,
    dataset: Dataset,
    loss: AbstractLoss,
    point: Stationarity,
    *,
    gain_rtol: float,
    zero_rtol: float,
    max_trials: int = 8,
) -> tuple[Escape | None, float]:
    """A verified escape from a stationary network, and the largest gain any of its neurons has, over `force_scale`.

    No escape and a gain at most `gain_rtol` prove a local minimum to that tolerance; no escape and a larger gain
    means that the trial steps did not confirm the prediction.
    """
    size = np.sqrt(network.a**2 + np.sum(network.w**2, axis=1))
    largest = float(size.max())
    is_zero = size <= zero_rtol * largest
    no_output = np.abs(network.a) <= zero_rtol * size
    no_input = np.linalg.norm(network.w, axis=1) <= zero_rtol * size
    cache: dict[tuple[bytes, bytes, tuple[int, ...]], tuple[float, int, FloatArray]] = {}
    moves: list[tuple[float, float, int, int, FloatArray]] = []
    for j in range(network.num_neurons):
        signs: tuple[int, ...] = (1, -1) if is_zero[j] or no_output[j] else (int(np.sign(network.a[j])),)
        kinks = np.ones(dataset.n, dtype=bool) if is_zero[j] or no_input[j] else point.kinks[j]
        if not kinks.any():
            gain, sign, direction = float(np.linalg.norm(point.pulls[j])), signs[0], signs[0] * point.pulls[j]
        else:
            slopes = np.where(network.w[j] @ dataset.X.T > 0.0, 1.0, network.leak)
            linear = (slopes * point.forces * ~kinks) @ dataset.X
            key = (kinks.tobytes(), slopes[~kinks].tobytes(), signs)
            if key not in cache:
                cache[key] = _first_order_gain(dataset.X[kinks], point.forces[kinks], linear, network.leak, signs)
            gain, sign, direction = cache[key]
        reach = 1.0 if is_zero[j] or no_output[j] else abs(network.a[j]) / max(largest, 1e-300)
        moves.append((gain * reach, gain, j, sign, direction))
    worst = max(move[1] for move in moves) / point.force_scale if point.force_scale > 0.0 else 0.0
    candidates = sorted((m for m in moves if m[1] > gain_rtol * point.force_scale), key=lambda m: -m[0])
    for _, gain, j, sign, direction in candidates[:max_trials]:
        keeps_output = not (is_zero[j] or no_output[j])
        escape = _tried(network, dataset, loss, j, sign, direction / np.linalg.norm(direction), gain, keeps_output)
        if escape is not None:
            return escape, worst
    return None, worst


def try_new_neuron(network: Network, dataset: Dataset, loss: AbstractLoss, gains: Gains) -> Escape | None:
    """Add the best neuron and measure what it does to the loss."""
    best = int(np.argmax(gains.values))
    if gains.values[best] == 0.0:
        return None
    direction = gains.vectors[best] / gains.values[best]
    sign = 1 if gains.sides[best] == 0 else -1
    grown = network.replace(
        w=np.vstack([network.w, np.zeros(network.d)]),
        a=np.append(network.a, 0.0),
        weight=np.append(network.weight, 1.0),
    )
    found = _tried(grown, dataset, loss, network.num_neurons, sign, direction, float(gains.values[best]), False)
    if found is None:
        return None
    return Escape(None, found.w, found.a, found.predicted_decrease, found.actual_decrease)


def _first_order_gain(
    X: FloatArray, forces: FloatArray, linear: FloatArray, leak: float, signs: tuple[int, ...]
) -> tuple[float, int, FloatArray]:
    """The largest of s (<v, linear> + sum_k r_k phi(<v, x_k>)) over unit v, its sign and its direction."""
    gains = NeuronOracle(X, np.sign(forces), leak, signs=signs).gains(forces, linear=linear)
    best = int(np.argmax(gains.values))
    return float(gains.values[best]), signs[int(gains.sides[best])], gains.vectors[best]


def _tried(
    network: Network,
    dataset: Dataset,
    loss: AbstractLoss,
    neuron: int,
    sign: int,
    direction: FloatArray,
    gain: float,
    keeps_output: bool,
) -> Escape | None:
    """Steps of several lengths along the predicted direction; the one that lowers the loss most, if any does."""
    factor = float(np.exp(network.log_scale))
    w, a = network.w * factor, network.a * factor
    before = loss.total(network.replace(w=w, a=a, log_scale=0.0).outputs(dataset.X), dataset.y)
    size = float(np.sqrt(np.max(a**2 + np.sum(w**2, axis=1)))) or 1.0
    best: Escape | None = None
    for exponent in range(9):
        for ratio in (0.0,) if keeps_output else (1.0, 0.1, 0.01):
            step = size * 10.0**-exponent
            change = sign * ratio * step
            moved_w, moved_a = w.copy(), a.copy()
            moved_w[neuron] += step * direction
            moved_a[neuron] += change
            after = loss.total(network.replace(w=moved_w, a=moved_a, log_scale=0.0).outputs(dataset.X), dataset.y)
            predicted = float(network.weight[neuron]) * step * gain * (abs(a[neuron]) if keeps_output else abs(change))
            if before - after > 1e-14 * before and (best is None or before - after > best.actual_decrease):
                best = Escape(neuron, step * direction, change, predicted, before - after)
    return best
