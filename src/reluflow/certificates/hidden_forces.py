"""What a small gradient hides: directions in which samples hardly differ, and samples that are short.

A gradient is small beside the forces where these cancel, and also where what they push against is small: a column in
small units, columns that nearly depend on each other, a sample close to zero. Nothing of that is small in the outputs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import BoolArray, FloatArray, SignArray
from reluflow.certificates.stationarity import Stationarity
from reluflow.data.dataset import Dataset
from reluflow.geometry.boundary.walls import Walls
from reluflow.losses import AbstractLoss
from reluflow.network.network import Network, row_norms

_STEPS = 4.0 ** np.arange(-20, 21)  # lengths that are tried; of a square loss one of them wins four ninths of the best
_MOST_WORK = 2e9  # products of numbers in all that is solved for


@dataclass(frozen=True)
class HiddenWay:
    """A neuron whose input weights answer some of the forces.

    Parameters
    ----------
    neuron
        Which.
    answered
        Share of the sum of squares of the forces that a move of its w within its pattern answers.
    share
        Share of itself by which such a move lowers the loss, as tried; it may be 0 where a boundary is close.
    """

    neuron: int
    answered: float
    share: float


class TooLargeError(Exception):
    """More patterns and samples than are looked into."""


def hidden_way(
    network: Network, dataset: Dataset, loss: AbstractLoss, point: Stationarity, least: float
) -> HiddenWay | None:
    """The neuron that lowers the loss most by answering more than a share `least` of the forces; None: there is none.

    The move is the least-squares answer to the forces, so that it does not depend on the units of the inputs. Without a
    share to answer nothing is tried: a long step from a minimum may well end lower.
    """
    X = dataset.X
    products = network.pre_activations(X)
    codes = np.where(point.kinks, 0, np.sign(products)).astype(np.int8)
    size = np.where(network.a != 0.0, np.abs(network.a) * row_norms(network.w), 0.0)
    largest: dict[bytes, int] = {}
    for j in np.flatnonzero(size > 0.0).tolist():
        key = codes[j].tobytes()
        if key not in largest or size[j] > size[largest[key]]:
            largest[key] = j
    if len(largest) * X.size * min(X.shape) > _MOST_WORK:
        raise TooLargeError(f"{len(largest)} patterns on {dataset.n} samples are not looked into.")
    best: HiddenWay | None = None
    factor = float(np.exp(network.log_scale))
    for j in largest.values() if factor > 0.0 and point.loss > 0.0 else ():
        change, answered = _answer(X, codes[j], point.forces, network.leak)
        if answered <= least:
            continue
        move = change / (network.weight[j] * network.a[j] * factor)
        share = max(0.0, 1.0 - _least_loss(network, dataset, loss, j, move) / point.loss)
        if best is None or share > best.share:
            best = HiddenWay(j, answered, share)
    return best


def _answer(X: FloatArray, code: SignArray, forces: FloatArray, leak: float) -> tuple[FloatArray, float]:
    """The change of w, along the walls it stands on, whose outputs in this pattern are nearest to the forces.

    And the share of the forces' squares that they are.
    """
    slopes = np.where(code > 0, 1.0, np.where(code < 0, leak, 0.0))
    basis = np.eye(X.shape[1])
    if np.any(on_wall := code == 0):
        _, singular, rows = np.linalg.svd(X[on_wall])
        rank = int(np.count_nonzero(singular > np.finfo(np.float64).eps * max(X.shape) * singular[0]))
        basis = rows[rank:].T
    levers = slopes[:, None] * (X @ basis)
    found = np.linalg.lstsq(levers, forces, rcond=None)[0]
    answer = levers @ found
    return np.asarray(basis @ found), float(answer @ answer / (forces @ forces)) if np.any(forces) else 0.0


def _least_loss(network: Network, dataset: Dataset, loss: AbstractLoss, neuron: int, move: FloatArray) -> float:
    """The least loss with one neuron's w, its scale included, moved by several lengths."""
    factor = float(np.exp(network.log_scale))
    w, lever, X = network.w[neuron] * factor, network.weight[neuron] * network.a[neuron] * factor, dataset.X
    others = network.outputs(X) - lever * _activated(X @ w, network.leak)
    tried = [loss.total(others + lever * _activated(X @ (w + step * move), network.leak), dataset.y) for step in _STEPS]
    return float(np.nanmin(tried))


def _activated(heights: FloatArray, leak: float) -> FloatArray:
    return np.maximum(heights, leak * heights)


def unanswered_share(dataset: Dataset, forces: FloatArray, label_forces: FloatArray, leak: float) -> float:
    """How much of the forces networks of any width and norm could answer, relative to what the samples ask for.

    Outputs on the samples of a line through the origin may have any even part (with a leak of 1, none), which answers
    sum_k r_k |x_k|, and odd parts that are one linear function of x on all lines, which answers the part of the
    forces in the span of the columns of X. Where both are 0 no network has a smaller loss: it is convex.
    """
    reference = np.maximum(np.abs(forces), np.abs(label_forces))
    shares = [0.0]
    if leak < 1.0:
        walls = Walls.of(dataset.X)
        present: BoolArray = walls.orientation != 0
        even, whole = (
            np.bincount(walls.wall_of_sample[present], (part * walls.length)[present], minlength=len(walls.normals))
            for part in (forces, reference)
        )
        shares.append(float(np.max(np.abs(even[whole > 0.0]) / whole[whole > 0.0], initial=0.0)))
    left, singular, _ = np.linalg.svd(dataset.X, full_matrices=False)
    rank = int(np.count_nonzero(singular > np.finfo(np.float64).eps * max(dataset.X.shape) * singular[0]))
    if (size := float(np.linalg.norm(reference))) > 0.0:
        shares.append(float(np.linalg.norm(left[:, :rank].T @ forces)) / size)
    return max(shares)
