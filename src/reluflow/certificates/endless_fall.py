"""Losses that no network attains: samples which a classifier, in the activation patterns it has, can fit ever better.

With fixed patterns the outputs are linear in the vectors a_j w_j, so a loss l(y h) that falls for ever has a minimum
there exactly if no change of the neurons raises some y_k h(x_k) and lowers none. Then the pulls can cancel (Stiemke);
otherwise every network in these patterns can be improved, however small the forces have become.

Several outputs are linear in the matrices sum_j v_j w_j^T of the patterns, and what rises are the margins h_y - h_c
between classes. Neurons of a pattern that are few make matrices of low rank only: then the least loss over all matrices
is a bound that these networks need not come near.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import BoolArray, FloatArray, IndexArray
from reluflow.certificates.backends.highs import most_raised
from reluflow.data.dataset import Dataset
from reluflow.errors import ReluflowError
from reluflow.losses import AbstractLoss
from reluflow.network.network import Network

LARGEST_SIZE = 2_000_000  # samples times coordinates up to which the linear program takes seconds
_RANK = 1e-11  # singular values below this share of the largest are rounding
_RAISED = 0.5  # the program raises a sample by 1 or not at all
_NEWTON_STEPS = 60
_OUT_OF_PLAY = 1e6  # an output so far below the others has probability 0
_FLAT = 1e-13  # a gain of the loss, relative to it, that rounding hides


class UndecidedError(ReluflowError):
    """The program is too large, or its answer did not stand the test."""


@dataclass(frozen=True, eq=False)
class EndlessFall:
    """What a classifier can go on improving for ever.

    Parameters
    ----------
    samples
        Whose margins grow for ever along the fall, counted from 0; no other output changes.
    slope
        How fast the loss falls along it now, for a change that raises each of these margins by about 1 or more.
    loss_at_infinity
        The largest number that no network in these patterns stays below; none attains it.
    """

    samples: IndexArray
    slope: float
    loss_at_infinity: float

    def sentence(self, loss: float, num_samples: int) -> str:
        """What this says of a network of a given loss."""
        named = ", ".join(str(int(k) + 1) for k in self.samples[:10]) + (", ..." if self.samples.size > 10 else "")
        verb = "are" if self.samples.size > 1 else "is"
        left = loss - self.loss_at_infinity
        return (
            "In these activation patterns the loss has no minimum: it decreases towards "
            f"{self.loss_at_infinity:.9g}, {left:.3g} below, without attaining it, while {self.samples.size} of "
            f"{num_samples} samples {verb} fitted ever better ({named})."
        )


def endless_fall(network: Network, dataset: Dataset, loss: AbstractLoss, kinks: BoolArray) -> EndlessFall | None:
    """What a network can improve for ever without leaving its activation patterns; None where there is a minimum.

    Neurons move along the boundaries they stand on (`kinks`, shape (num_neurons, n)) and never off them.

    Raises
    ------
    UndecidedError
        Where the size forbids the test or rounding hides its answer.

    Examples
    --------
    >>> from reluflow.losses import LogisticLoss
    >>> data = Dataset([[1.0, 0.0], [2.0, 0.0], [0.5, 1.0]], [1.0, -1.0, 1.0])
    >>> fall = endless_fall(Network([[1.0, 1.0]], [1.0]), data, LogisticLoss(), np.zeros((1, 3), dtype=bool))
    >>> fall.samples.tolist(), round(fall.loss_at_infinity, 6)
    ([2], 0.427969)
    """
    if network.num_outputs > 1 and dataset.classes is None:
        raise UndecidedError("The test of several outputs is for classes.")
    features = pattern_features(network, dataset, kinks)
    if network.num_outputs > 1:
        return _fall_between_classes(features, network.outputs(dataset.X), dataset, loss)
    rows = dataset.y[:, None] * features
    rises, raised = _all_rises(rows)
    if not rises.any():
        return None
    outputs = network.outputs(dataset.X)
    slope = float(np.abs(loss.forces(outputs, dataset.y))[rises] @ raised)
    stays = ~rises
    weight = loss.sample_weight(dataset.n)
    least = _least_loss(features[stays], outputs[stays], dataset.y[stays], loss) if stays.any() else 0.0
    return EndlessFall(np.flatnonzero(rises), slope, weight * least)


def _all_rises(rows: FloatArray) -> tuple[BoolArray, FloatArray]:
    """Which rows some direction raises while it lowers none, and how far it raises those."""
    direction = most_raised(rows)
    if direction is None:
        raise UndecidedError("The linear program for the patterns found no answer.")
    rises = rows @ direction > _RAISED
    if not rises.any():
        return rises, np.empty(0)
    # the others' rows admit no rise at all: orthogonal to them the direction changes none of their outputs
    others = _orthogonal_to(rows[~rises])
    raised = rows[rises] @ (others @ (others.T @ direction))
    if not np.min(raised) > 0.5 * _RAISED:
        raise UndecidedError("Rounding hides whether the loss has a minimum.")
    return rises, raised


def _fall_between_classes(
    features: FloatArray, outputs: FloatArray, dataset: Dataset, loss: AbstractLoss
) -> EndlessFall | None:
    """The same of classes, for matrices of coordinates (rank, K) with h_k = f_k U."""
    (n, rank), num_outputs = features.shape, dataset.num_outputs
    own = dataset.y.astype(np.intp)
    samples, rivals = np.nonzero(own[:, None] != np.arange(num_outputs))
    if len(samples) * rank * num_outputs > LARGEST_SIZE:
        raise UndecidedError(f"{len(samples)} margins of rank {rank} are too many for the test.")
    rows = np.zeros((len(samples), rank, num_outputs))
    rows[np.arange(len(samples)), :, own[samples]] = features[samples]
    rows[np.arange(len(samples)), :, rivals] = -features[samples]
    rises, raised = _all_rises(rows.reshape(len(samples), -1))
    if not rises.any():
        return None
    shares = np.abs(loss.forces(outputs, dataset.y))[samples, rivals]
    is_rival = np.zeros((n, num_outputs), dtype=bool)
    is_rival[samples[~rises], rivals[~rises]] = True
    stays = np.any(is_rival, axis=1)
    is_rival[np.arange(n), own] = True
    least = 0.0
    if stays.any():
        kept = features[stays], outputs[stays], dataset.y[stays]
        least = _least_loss_of_classes(*kept, loss, is_rival[stays])
    return EndlessFall(np.unique(samples[rises]), float(shares[rises] @ raised), loss.sample_weight(n) * least)


def pattern_features(network: Network, dataset: Dataset, kinks: BoolArray) -> FloatArray:
    """Coordinates f_k in which outputs in the present patterns are linear, h(x_k) = <u, f_k>, shape (n, rank).

    Of several outputs each is, with a u of its own.
    """
    X, leak = dataset.X, network.leak
    is_movable = np.any(network.w != 0.0, axis=1) & np.any(network.v != 0.0, axis=1)
    slopes = np.where(network.pre_activations(X) > 0.0, 1.0, leak)
    slopes[kinks] = np.nan  # the boundary on which a neuron stays
    patterns = np.unique(slopes[is_movable], axis=0)
    if patterns.size * dataset.d > LARGEST_SIZE:
        raise UndecidedError(f"{len(patterns)} activation patterns of {dataset.n} samples are too many for the test.")
    blocks = [np.zeros((dataset.n, 1))]
    for pattern in patterns:
        held = np.isnan(pattern)
        block = np.where(held, 0.0, pattern)[:, None] * X
        blocks.append(block @ _orthogonal_to(X[held]) if held.any() else block)
    columns = np.hstack(blocks)
    lengths = np.linalg.norm(columns, axis=1)[:, None]  # a sample seen by no neuron stays exactly 0
    left, sizes, _ = np.linalg.svd(columns / np.where(lengths > 0.0, lengths, 1.0), full_matrices=False)
    rank = int(np.count_nonzero(sizes > _RANK * sizes[0]))
    return np.asarray(lengths * left[:, :rank] * sizes[:rank])


def _orthogonal_to(normals: FloatArray) -> FloatArray:
    """Orthonormal columns that span what is orthogonal to the rows."""
    if not len(normals):
        return np.eye(normals.shape[1])
    lengths = np.linalg.norm(normals, axis=1)[:, None]
    _, sizes, right = np.linalg.svd(normals / np.where(lengths > 0.0, lengths, 1.0))
    rank = int(np.count_nonzero(sizes > _RANK * max(1.0, sizes[0]))) if sizes.size else 0
    return np.asarray(right[rank:].T)


def _least_loss(features: FloatArray, outputs: FloatArray, labels: FloatArray, loss: AbstractLoss) -> float:
    """The least sum of l(h, y) over outputs h + features u, which is attained: Newton's method with halved steps."""
    h = outputs
    value = float(np.sum(loss.value(h, labels)))
    for _ in range(_NEWTON_STEPS):
        curvature = np.sqrt(loss.curvature(h, labels))
        target = loss.force(h, labels) / np.where(curvature > 0.0, curvature, 1.0)
        step = features @ np.linalg.lstsq(curvature[:, None] * features, target, rcond=None)[0]
        share = 1.0
        while share > 1e-10 and not np.sum(loss.value(h + share * step, labels)) < value:
            share *= 0.5
        lower = float(np.sum(loss.value(h + share * step, labels)))
        if not value - lower > _FLAT * value:
            break
        h, value = h + share * step, lower
    return value


def _least_loss_of_classes(
    features: FloatArray, outputs: FloatArray, labels: FloatArray, loss: AbstractLoss, takes_part: BoolArray
) -> float:
    """The same of classes, where only those that `takes_part` (n, K) says take part in the loss of a sample."""
    (n, rank), num_outputs = features.shape, outputs.shape[1]

    def shares(h: FloatArray) -> FloatArray:
        return np.where(takes_part, h, -_OUT_OF_PLAY)

    h, own = outputs, outputs[np.arange(n), labels.astype(np.intp)]
    h = h - own[:, None]
    value = float(np.sum(loss.value(shares(h), labels)))
    for _ in range(_NEWTON_STEPS):
        values, vectors = np.linalg.eigh(loss.curvature(shares(h), labels))
        is_curved = values > _RANK * values[:, -1:]
        roots = vectors * np.sqrt(np.where(is_curved, values, 0.0))[:, None, :]  # curvature = roots roots^T
        inverses = vectors / np.sqrt(np.where(is_curved, values, np.inf))[:, None, :]
        target = np.einsum("kcr,kc->kr", inverses, loss.force(shares(h), labels))
        matrix = np.einsum("kcr,ki->kric", roots, features).reshape(n * num_outputs, -1)
        found = np.linalg.lstsq(matrix, target.ravel(), rcond=None)[0]
        step, share = features @ found.reshape(rank, num_outputs), 1.0
        while share > 1e-10 and not np.sum(loss.value(shares(h + share * step), labels)) < value:
            share *= 0.5
        lower = float(np.sum(loss.value(shares(h + share * step), labels)))
        if not value - lower > _FLAT * value:
            break
        h, value = h + share * step, lower
    return value
