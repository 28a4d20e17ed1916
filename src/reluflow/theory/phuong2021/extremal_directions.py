"""Sectors of weight space (Definitions 1 and 2) and the extremal directions: Lemmas 2, A.1 and A.2 [phuong2021]."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray, IntArray, SignArray
from reluflow.data.dataset import Dataset
from reluflow.geometry.activation_pattern import activation_pattern
from reluflow.geometry.alignment import DEAD as END_DEAD
from reluflow.geometry.alignment import MAXIMUM, MINIMUM, align
from reluflow.geometry.extremal import ExtremalVectors
from reluflow.geometry.landscape import alignment_potential
from reluflow.network import Network
from reluflow.theory.comparison import Comparison, at_most, judgement, missing, none_of, require
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
    opposed = np.min(unit @ unit[members].T, axis=1) < -atol
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


ROUNDING = 1e-12  # relative; the identities below were met to 3e-16 on every registered dataset tried


def _unit(vector: FloatArray) -> FloatArray:
    return np.asarray(vector / np.linalg.norm(vector))


def _both_classes(evidence: Evidence) -> Comparison:
    counts = [int(np.sum(evidence.dataset.y == label)) for label in (1, -1)]
    detail = f"{counts[0]} positive and {counts[1]} negative samples"
    return judgement(min(counts) > 0, float(min(counts)), detail)


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


# Lemma 2 --------------------------------------------------------------------------------------------------------------


def _direction(evidence: Evidence, sign: Sign) -> FloatArray:
    """D_+/|D_+| or D_-/|D_-|, or what is given in its place."""
    return evidence.witness(f"direction {sign}", lambda: _unit(aggregate(evidence, sign)))


def _potential(evidence: Evidence, sign: Sign) -> float:
    forces = evidence.loss.label_forces(evidence.dataset.y)
    return float(alignment_potential(_direction(evidence, sign), evidence.dataset.X, forces))


def _one_extremum(evidence: Evidence, sign: Sign) -> Comparison:
    """Number and place of the strict local maxima (minima) by enumeration of all cones."""
    require(evidence.facts.has_affordable_cones, "the cones are too many to enumerate")
    found = strict_extrema(evidence.facts.extremal, sign)
    if len(found) != 1:
        return none_of(max(abs(len(found) - 1), 1), detail=f"{len(found)} extremal directions instead of one")
    distance = float(np.linalg.norm(found[0] - _direction(evidence, sign)))
    return at_most(distance, ROUNDING, detail=f"one, at distance {distance:.2g} from the aggregate of its class")


_SIGNS: tuple[Sign, Sign] = (1, -1)


def _sectors(evidence: Evidence) -> Comparison:
    """Entries of Eqs. (13), (14) that differ from the signs of X D."""
    differ = 0
    for sign in _SIGNS:
        stated = evidence.witness(f"sector {sign}", partial(extremal_sector, evidence.dataset, sign))
        differ += int(np.sum(stated != sector_of(aggregate(evidence, sign), evidence.dataset.X)))
    return none_of(differ, total=2 * evidence.dataset.n)


def _ascent(evidence: Evidence) -> Comparison:
    """Random directions carried along the frozen flow: ends other than D_+, D_- and the dead cone."""
    num_starts = int(evidence.parameter("starts"))
    rng = np.random.default_rng(0)
    w = rng.standard_normal((num_starts, evidence.dataset.d))
    a = np.where(np.arange(num_starts) % 2, -1.0, 1.0) * np.linalg.norm(w, axis=1)
    outcome = align(evidence.dataset.X, evidence.loss.label_forces(evidence.dataset.y), w, a)
    elsewhere = outcome.ends != END_DEAD
    for direction, end in ((_direction(evidence, 1), MAXIMUM), (_direction(evidence, -1), MINIMUM)):
        there = np.linalg.norm(outcome.directions - direction, axis=1) <= 1e-9
        elsewhere &= ~((outcome.ends == end) & there)
    num_dead = int(np.sum(outcome.ends == END_DEAD))
    return none_of(
        int(np.sum(elsewhere)),
        total=num_starts,
        detail=f"{int(np.sum(elsewhere))} of {num_starts} starts end elsewhere, {num_dead} are dead",
    )


# Lemma A.1 ------------------------------------------------------------------------------------------------------------


def _extremal_is_eigen(evidence: Evidence) -> Comparison:
    """Largest |g(w) - G(w) w| over the extremal directions, relative to the total force."""
    X, forces = evidence.dataset.X, evidence.loss.label_forces(evidence.dataset.y)
    found = evidence.witness(
        "extremal directions",
        lambda: np.vstack([strict_extrema(evidence.facts.extremal, sign) for sign in (1, -1)]),
    )
    if not evidence.facts.has_affordable_cones or len(found) == 0:
        return missing("no extremal direction is known")
    size = float(np.sum(np.abs(forces) * np.linalg.norm(X, axis=1)))
    residuals = [
        float(np.linalg.norm(pulling_gradient(w, X, forces) - float(alignment_potential(w, X, forces)) * w))
        for w in found
    ]
    return at_most(max(residuals) / size, ROUNDING, detail=f"{max(residuals):.2g} over {len(found)} directions")


# Lemma A.2 ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Displacement:
    """A point w of the sphere, a unit direction v and a step along it."""

    w: FloatArray
    v: FloatArray
    step: float


def largest_step(w: FloatArray, v: FloatArray, X: FloatArray) -> float:
    """eps_max: half of the first step at which a strict sign of <w + eps v, x_i> changes; 1 where none does."""
    products, speeds = X @ w, X @ v
    strict = sector_of(w, X) != 0
    falls = strict & (products * speeds < 0)
    return float(0.5 * np.min(-products[falls] / speeds[falls])) if np.any(falls) else 1.0


def _displacements(evidence: Evidence) -> tuple[Displacement, ...]:
    """Random ones; in every third case w lies on the hyperplane of a sample."""
    rng = np.random.default_rng(0)
    X = evidence.dataset.X
    cases = []
    for k in range(int(evidence.parameter("cases"))):
        w, v = rng.standard_normal((2, evidence.dataset.d))
        if k % 3 == 0 and evidence.dataset.d > 1:
            x = X[rng.integers(evidence.dataset.n)]
            w = w - (w @ x) / (x @ x) * x
        w, v = _unit(w), _unit(v)
        cases.append(Displacement(w, v, float(rng.uniform(0.0, 1.0)) * largest_step(w, v, X)))
    return tuple(cases)


def _expansion(evidence: Evidence) -> Comparison:
    """Largest difference of the two sides of Lemma A.2, relative to the total force."""
    X, forces = evidence.dataset.X, evidence.loss.label_forces(evidence.dataset.y)
    worst = 0.0
    for case in evidence.witness("displacements", lambda: _displacements(evidence)):
        moved = case.w + case.step * case.v
        left = float(alignment_potential(_unit(moved), X, forces))
        # a sample on the boundary of w counts where the step takes it, so the sign is read off w and v exactly
        sector = sector_of(case.w, X)
        active = np.where(sector == 0, X @ case.v > 0, sector > 0)
        gained = case.step * float((forces * active) @ (X @ case.v))
        right = (float(alignment_potential(case.w, X, forces)) + gained) / float(np.linalg.norm(moved))
        worst = max(worst, abs(left - right))
    size = float(np.sum(np.abs(forces) * np.linalg.norm(X, axis=1)))
    return at_most(worst / size, ROUNDING, detail=f"largest difference {worst:.2g}")
