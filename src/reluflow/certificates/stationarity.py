"""Stationary points of a convex loss: how stationary, and whether minimum or saddle.

With forces r and G_r(w) = sum_k r_k phi(<w, x_k>), convexity of the loss in the outputs gives
L(theta') - L(theta) >= -sum_j (a'_j G_r(w'_j) - a_j G_r(w_j)). So a stationary point is a local minimum exactly when no
neuron gains to first order: sign(a_j) G_r does not grow from w_j in any direction, and G_r is flat around w_j where
a_j = 0. Otherwise the growing direction lowers the loss, and is returned after it has been tried. None of this depends
on the size of a neuron, only on the cone it stands in; a neuron of size zero stands in all cones at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from reluflow.arrays import BoolArray, FloatArray, IndexArray
from reluflow.certificates.best_neuron import BestNeuron, NeuronOracle
from reluflow.data.dataset import Dataset
from reluflow.geometry.boundary.minimum_norm import box_minimum_norm
from reluflow.geometry.boundary.tolerance import ROUNDING
from reluflow.losses import AbstractLoss
from reluflow.network.network import Network, row_norms


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
    kinks: BoolArray


@dataclass(frozen=True, eq=False)
class Escape:
    """A change of one neuron that lowers the loss, tried and measured.

    Parameters
    ----------
    neuron
        Index of the neuron that is changed; None for a neuron added to the network.
    w, a
        What is added to its input and output weight, the scale of the network included; of several outputs `a` is the
        change of v, shape (K,).
    predicted_decrease
        From the leading term of the expansion.
    actual_decrease
        Of the objective, computed; always positive.
    """

    neuron: int | None
    w: FloatArray
    a: float | FloatArray
    predicted_decrease: float
    actual_decrease: float


def kinks_of(network: Network, dataset: Dataset, kink_rtol: float) -> BoolArray:
    """Which <w_j, x_k> count as zero, shape (num_neurons, n).

    >>> kinks_of(Network([[1.0, 0.0]], [1.0]), Dataset([[0.0, 1.0], [1.0, 0.0]], [1.0, 2.0]), 1e-9).tolist()
    [[True, False]]
    """
    lengths = np.linalg.norm(dataset.X, axis=1)
    sizes = kink_rtol * row_norms(network.w)[:, None] * lengths
    return np.asarray(np.abs(network.pre_activations(dataset.X)) <= sizes)


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
    sizes = row_norms(network.w)
    kinks = kinks_of(network, dataset, kink_rtol)
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


def best_new_neuron(network: Network, dataset: Dataset, point: Stationarity) -> BestNeuron:
    """The gain of a neuron that could be added: 0 exactly when no network of any width has a smaller loss."""
    oracle = NeuronOracle(dataset.X, np.sign(point.forces), network.leak)
    return oracle.best(point.forces)


@dataclass(frozen=True, eq=False)
class WayDown:
    """What the neurons of a stationary network can still do.

    Parameters
    ----------
    escape
        A change of one neuron that lowers the loss, tried and measured; None where none was found.
    gain
        The largest first-order gain found of any neuron, over `force_scale`.
    bound
        What no neuron's gain exceeds, over `force_scale`: equal to `gain` unless patterns were searched and not
        enumerated.
    at_zero
        Neurons that are not exactly zero but pulled and so light that they are judged as if they were.
    doubtful
        Pairs (neuron, sample) where the answer turns on which side of the sample's boundary the neuron stands, closer
        to it than the tolerance: it gains across the boundary and stands still where its weights put it.
    """

    escape: Escape | None
    gain: float
    bound: float
    at_zero: tuple[int, ...] = ()
    doubtful: tuple[tuple[int, int], ...] = ()


def find_escape(
    network: Network,
    dataset: Dataset,
    loss: AbstractLoss,
    point: Stationarity,
    *,
    gain_rtol: float,
    zero_rtol: float,
    max_trials: int = 8,
) -> WayDown:
    """Look for a neuron that gains to first order, and try it.

    A neuron that is not zero stands in the interior of its activation cone or on the boundaries it touches, whatever
    its size: a dead neuron has an open flat cone around it and is dead at any size. Only (0, 0) is zero. A light neuron
    on which something pulls is no stationary neuron; where it is lighter than `zero_rtol` of the largest, the
    stationary point beside it has a zero there, and that point is judged. `bound` at most `gain_rtol` proves a local
    minimum to that tolerance.
    """
    size, length = row_norms(np.column_stack([network.w, network.a])), row_norms(network.w)
    largest = float(size.max())
    products = network.pre_activations(dataset.X)
    threshold = gain_rtol * point.force_scale
    cache: dict[tuple[bytes, bytes, tuple[int, ...]], tuple[float, float, int, FloatArray]] = {}
    moves: list[_Move] = []
    doubtful: list[tuple[int, int]] = []

    def best_move(j: int, *, without_output: bool, without_input: bool) -> _Move:
        signs: tuple[int, ...] = (1, -1) if without_output else (int(np.sign(network.a[j])),)
        kinks = np.ones(dataset.n, dtype=bool) if without_input else point.kinks[j]
        reach = 1.0 if without_output else abs(network.a[j]) / max(largest, 1e-300)
        if not kinks.any():
            gain = float(np.linalg.norm(point.pulls[j]))
            return _Move(gain * reach, gain, gain, j, signs[0], signs[0] * point.pulls[j], not without_output)
        slopes = np.where(products[j] > 0.0, 1.0, network.leak)
        linear = (slopes * point.forces * ~kinks) @ dataset.X
        key = (kinks.tobytes(), slopes[~kinks].tobytes(), signs)
        if key not in cache:
            cache[key] = _first_order_gain(dataset.X[kinks], point.forces[kinks], linear, network.leak, signs)
        gain, bound, sign, direction = cache[key]
        return _Move(gain * reach, gain, bound, j, sign, direction, not without_output)

    at_zero = []
    for j in range(network.num_neurons):
        move = best_move(j, without_output=bool(network.a[j] == 0.0), without_input=bool(length[j] == 0.0))
        if move.bound > threshold and size[j] > 0.0:
            near = np.flatnonzero(point.kinks[j] & (products[j] != 0.0))
            if near.size and _is_flat(network, dataset, point, j, products[j], threshold):
                doubtful += [(j, int(k)) for k in near]
                continue
            if near.size and _is_flat_beside(network, dataset, point, j, products[j], near, threshold):
                doubtful += [(j, int(k)) for k in near]
            if size[j] <= zero_rtol * largest or abs(network.a[j]) <= zero_rtol * size[j]:
                at_zero.append(j)
                no_input = size[j] <= zero_rtol * largest or length[j] <= zero_rtol * size[j]
                move = best_move(j, without_output=True, without_input=bool(no_input))
        moves.append(move)
    scale = point.force_scale if point.force_scale > 0.0 else np.inf
    gain = max((move.gain for move in moves), default=0.0) / scale
    bound = max((move.bound for move in moves), default=0.0) / scale
    unsure = {neuron for neuron, _ in doubtful}
    candidates = sorted(
        (move for move in moves if move.gain > threshold), key=lambda move: (move.neuron in unsure, -move.reach)
    )
    for move in candidates[:max_trials]:
        unit = move.direction / np.linalg.norm(move.direction)
        escape = _tried(network, dataset, loss, move.neuron, move.sign, unit, move.gain, move.keeps_output)
        if escape is not None:
            doubts = tuple(doubtful) if move.neuron in unsure else ()
            return WayDown(escape, gain, bound, tuple(at_zero), doubts)
    return WayDown(None, gain, bound, tuple(at_zero), tuple(doubtful))


@dataclass(frozen=True, eq=False)
class _Move:
    """What one neuron gains at most to first order, and how."""

    reach: float
    gain: float
    bound: float
    neuron: int
    sign: int
    direction: FloatArray
    keeps_output: bool


def _is_flat(
    network: Network, dataset: Dataset, point: Stationarity, neuron: int, products: FloatArray, threshold: float
) -> bool:
    """Whether nothing pulls on a neuron in the cone that `products` put it in; boundaries are where they are 0."""
    if network.a[neuron] == 0.0:
        return False
    on = products == 0.0
    pull = (np.where(products > 0.0, 1.0, network.leak) * ~on * point.forces) @ dataset.X
    if not on.any():
        return bool(np.linalg.norm(pull) <= threshold)
    sign = (int(np.sign(network.a[neuron])),)
    return _first_order_gain(dataset.X[on], point.forces[on], pull, network.leak, sign)[1] <= threshold


def _is_flat_beside(
    network: Network,
    dataset: Dataset,
    point: Stationarity,
    neuron: int,
    products: FloatArray,
    near: IndexArray,
    threshold: float,
) -> bool:
    """Whether a neuron would stand still on some other sides of the boundaries `near` it."""
    if near.size > 8:
        return False
    for sides in product((1.0, -1.0), repeat=int(near.size)):
        moved = products.copy()
        moved[near] = sides
        if _is_flat(network, dataset, point, neuron, moved, threshold):
            return True
    return False


def try_new_neuron(network: Network, dataset: Dataset, loss: AbstractLoss, best: BestNeuron) -> Escape | None:
    """Add the best neuron and measure what it does to the loss."""
    if best.value == 0.0:
        return None
    direction = best.vector / best.value
    grown = network.replace(
        w=np.vstack([network.w, np.zeros(network.d)]),
        a=np.append(network.a, 0.0),
        weight=np.append(network.weight, 1.0),
    )
    found = _tried(grown, dataset, loss, network.num_neurons, best.sign, direction, best.value, False)
    if found is None:
        return None
    return Escape(None, found.w, found.a, found.predicted_decrease, found.actual_decrease)


def _first_order_gain(
    X: FloatArray, forces: FloatArray, linear: FloatArray, leak: float, signs: tuple[int, ...]
) -> tuple[float, float, int, FloatArray]:
    """The largest of s (<v, linear> + sum_k r_k phi(<v, x_k>)) over unit v, a bound on it, its sign, its direction."""
    best = NeuronOracle(X, np.sign(forces), leak, signs=signs).best(forces, linear=linear)
    return best.value, best.upper, best.sign, best.vector


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
