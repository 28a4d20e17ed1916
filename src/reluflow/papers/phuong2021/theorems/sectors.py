"""Sectors of weight space and the two extremal ones: Definitions 1 and 2 [phuong2021]."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray, IntArray, SignArray
from reluflow.data.dataset import Dataset
from reluflow.geometry.activation_pattern import activation_pattern
from reluflow.geometry.extremal import ExtremalVectors
from reluflow.network import Network
from reluflow.theory.elsewhere import definition
from reluflow.theory.evidence import Evidence

Sign = Literal[1, -1]

ON_BOUNDARY = 1e-9  # relative inner products below this count as 0: sliding neurons are on it to rounding

DEAD, LEFT = 0, 2  # codes of neurons that are in no extremal sector: those on which nothing acts, and the rest


def aggregate(evidence: Evidence, sign: Sign) -> FloatArray:
    """D_+ (sign 1) or D_- (sign -1): the sum of |r_k| x_k over one class, r_k the force at output 0, shape (d,).

    Its unit vector is the extremal direction; with the summed logistic loss it is half the sum of the class.
    """
    forces = evidence.loss.label_forces(evidence.dataset.y)
    members = evidence.dataset.y == sign
    return np.asarray(np.abs(forces[members]) @ evidence.dataset.X[members])


def extremal_sector(dataset: Dataset, sign: Sign, *, atol: float = 1e-12) -> SignArray:
    """sigma^+ of Eq. (13) or sigma^- of Eq. (14): the signs of the extremal direction's inner products, shape (n,).

    1 on the class itself; on the other class -1, or 0 for a sample that is orthogonal to the whole class, which the
    span assumption excludes (erratum P5). Cosines below `atol` count as 0.

    References
    ----------
    Phuong & Lampert (2021), Lemma 2, Eqs. (13) and (14) [phuong2021].

    Examples
    --------
    >>> extremal_sector(Dataset([[2, 1], [1, 2], [-2, -0.5], [-0.6, -1.6]], [1, 1, -1, -1]), 1)
    array([ 1,  1, -1, -1], dtype=int8)
    """
    unit = dataset.X / np.linalg.norm(dataset.X, axis=1)[:, None]
    members = dataset.y == sign
    opposed = np.min(unit @ unit[members].T, axis=1, initial=0.0) < -atol  # of no member none is
    return np.where(members, 1, np.where(opposed, -1, 0)).astype(np.int8)


def sector_of(w: ArrayLike, X: ArrayLike) -> SignArray:
    """Definition 1: the sector of each weight vector, in {-1, 0, 1}^n; weight space, not input space (erratum P12)."""
    return activation_pattern(w, X, rtol=ON_BOUNDARY)


def strict_extrema(extremal: ExtremalVectors, sign: Sign) -> FloatArray:
    """Definition 2: the unit strict local maxima (sign 1) or minima (sign -1) of G on the sphere, shape (k, d)."""
    kind = "maximum" if sign == 1 else "minimum"
    rows = [k for k, name in enumerate(extremal.kinds) if name == kind]
    return np.asarray(extremal.vectors[rows] * (extremal.sides[rows] / extremal.norms[rows])[:, None])


def groups(network: Network, X: FloatArray, positive: SignArray, negative: SignArray) -> IntArray:
    """J_+ (1), J_- (-1), dead (0) or none of these (2) for each neuron, shape (num_neurons,).

    Parameters
    ----------
    network
        Its patterns decide, whatever its scale.
    X
        Samples.
    positive, negative
        The positive and negative extremal sectors, shapes (k, n).
    """
    patterns = sector_of(network.w, X)
    code = np.full(network.num_neurons, LEFT)
    code[np.all(patterns <= 0, axis=1)] = DEAD
    for sign, sectors in ((1, positive), (-1, negative)):
        is_there = np.any(np.all(patterns[:, None, :] == sectors[None], axis=2), axis=1)
        code[is_there & (np.sign(network.a) == sign)] = sign
    return code


def two_groups(network: Network, dataset: Dataset) -> IntArray:
    """The same for orthogonally separable data, whose two sectors are explicit."""
    positive, negative = extremal_sector(dataset, 1), extremal_sector(dataset, -1)
    return groups(network, dataset.X, positive[None], negative[None])


def pulling_gradient(w: FloatArray, X: FloatArray, forces: FloatArray) -> FloatArray:
    """g(w) = sum over active samples of r_i P_w x_i, P_w the projector off the samples with <w, x_i> = 0.

    References
    ----------
    Phuong & Lampert (2021), Lemma A.1 [phuong2021].
    """
    sector = sector_of(w, X)
    pull = forces[sector > 0] @ X[sector > 0]
    on_boundary = X[sector == 0]
    if on_boundary.size == 0:
        return np.asarray(pull)
    _, lengths, rows = np.linalg.svd(on_boundary, full_matrices=False)
    spanned = rows[lengths > 1e-12 * lengths[0]]
    return np.asarray(pull - spanned.T @ (spanned @ pull))


DEF_1 = definition(
    "phuong2021:def1",
    "Definition 1",
    sector_of,
    r"the sector of $w$, the signs of $\langle w, x_i\rangle$; a subset of weight space, not of input space "
    r"(erratum P12)",
)
DEF_2 = definition(
    "phuong2021:def2",
    "Definition 2",
    strict_extrema,
    "extremal directions: strict local maxima and minima of $G$ on the unit sphere",
)
