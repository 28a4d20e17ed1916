"""The extremal directions: Lemma 2, and Lemmas A.1 and A.2 on the potential G [phuong2021]."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.geometry.alignment import DEAD, MAXIMUM, MINIMUM, align
from reluflow.geometry.landscape import alignment_potential
from reluflow.theory.condition import Judgement
from reluflow.theory.evidence import Evidence
from reluflow.theory.hypotheses import data_assumption, relu_activation
from reluflow.theory.measurement import Level, Measurement, at_most, missing, none_of
from reluflow.theory.phuong2021.sectors import Sign, aggregate, extremal_sector, sector_of, strict_extrema
from reluflow.theory.stating import conclusion, hypothesis, theorems_of
from reluflow.theory.theorem import Conclusion, Constants, Parameter, Setting

SETTING = Setting(loss="logistic", reduction="sum", init="sphere", width=8, scale="1e-4")
ROUNDING = 1e-12  # relative; the identities below were met to 3e-16 on every registered dataset tried


def _unit(vector: FloatArray) -> FloatArray:
    return np.asarray(vector / np.linalg.norm(vector))


@hypothesis("both-classes", "both classes have samples")
def _both_classes(evidence: Evidence) -> Judgement:
    counts = [int(np.sum(evidence.dataset.y == label)) for label in (1, -1)]
    detail = f"{counts[0]} positive and {counts[1]} negative samples"
    return Judgement(min(counts) > 0, float(min(counts)), detail)


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


def _one_extremum(evidence: Evidence, sign: Sign) -> Measurement:
    """Number and place of the strict local maxima (minima) by enumeration of all cones."""
    if not evidence.facts.has_affordable_cones:
        return missing("the cones are too many to enumerate")
    found = strict_extrema(evidence.facts.extremal, sign)
    if len(found) != 1:
        return none_of(max(abs(len(found) - 1), 1), detail=f"{len(found)} extremal directions instead of one")
    distance = float(np.linalg.norm(found[0] - _direction(evidence, sign)))
    return at_most(distance, ROUNDING, detail=f"one, at distance {distance:.2g} from the aggregate of its class")


_SIGNS: tuple[Sign, Sign] = (1, -1)


@conclusion("sectors", "their sectors are Eqs. (13) and (14)", Level.EXACT)
def _sectors(evidence: Evidence) -> Measurement:
    """Entries of Eqs. (13), (14) that differ from the signs of X D."""
    differ = 0
    for sign in _SIGNS:
        stated = evidence.witness(f"sector {sign}", partial(extremal_sector, evidence.dataset, sign))
        differ += int(np.sum(stated != sector_of(aggregate(evidence, sign), evidence.dataset.X)))
    return none_of(differ, total=2 * evidence.dataset.n)


@conclusion("ascent", "every start ends at one of them or in the dead cone", Level.EXACT)
def _ascent(evidence: Evidence) -> Measurement:
    """Random directions carried along the frozen flow: ends other than D_+, D_- and the dead cone."""
    num_starts = int(evidence.parameter("starts"))
    rng = np.random.default_rng(0)
    w = rng.standard_normal((num_starts, evidence.dataset.d))
    a = np.where(np.arange(num_starts) % 2, -1.0, 1.0) * np.linalg.norm(w, axis=1)
    outcome = align(evidence.dataset.X, evidence.loss.label_forces(evidence.dataset.y), w, a)
    elsewhere = outcome.ends != DEAD
    for direction, end in ((_direction(evidence, 1), MAXIMUM), (_direction(evidence, -1), MINIMUM)):
        there = np.linalg.norm(outcome.directions - direction, axis=1) <= 1e-9
        elsewhere &= ~((outcome.ends == end) & there)
    num_dead = int(np.sum(outcome.ends == DEAD))
    return none_of(
        int(np.sum(elsewhere)),
        total=num_starts,
        detail=f"{int(np.sum(elsewhere))} of {num_starts} starts end elsewhere, {num_dead} are dead",
    )


def _lemma_2_constants(evidence: Evidence) -> Constants:
    X, forces = evidence.dataset.X, evidence.loss.label_forces(evidence.dataset.y)
    constants: dict[str, object] = {}
    for direction, name in ((_direction(evidence, 1), "plus"), (_direction(evidence, -1), "minus")):
        constants[f"direction_{name}"] = direction.tolist()
        constants[f"potential_{name}"] = float(alignment_potential(direction, X, forces))
    return constants


_theorem = theorems_of("phuong2021", setting=SETTING, example="phuong-toy")

LEMMA_2 = _theorem(
    "lemma2",
    "G has exactly one strict local maximum and one strict local minimum on the sphere, along the aggregates D_+ "
    "and D_- of the two classes, in the sectors of Eqs. (13) and (14).",
    hypotheses=(relu_activation, _both_classes, data_assumption("orthogonally-separable")),
    conclusions=(
        Conclusion("one-maximum", "one positive extremal direction, D_+/|D_+|", lambda e: _one_extremum(e, 1)),
        Conclusion("one-minimum", "one negative extremal direction, D_-/|D_-|", lambda e: _one_extremum(e, -1)),
        _sectors,
        _ascent,
    ),
    constants=_lemma_2_constants,
    parameters=(Parameter("starts", 400, "random directions carried to their end", low=1.0),),
    erratum="P3, P4: the proof's two steps fail where G <= 0; with the explicit directions the statement stands.",
    departs="The explicit directions and the absence of zeros under the span assumption (P5) are not in the paper.",
)


# Lemma A.1 ------------------------------------------------------------------------------------------------------------


@conclusion("eigen", "|g(w) - G(w) w| vanishes", Level.EXACT)
def _extremal_is_eigen(evidence: Evidence) -> Measurement:
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


LEMMA_A_1 = _theorem(
    "lemmaA.1",
    "An extremal direction w satisfies g(w) = C w with C = G(w); the condition is necessary only.",
    hypotheses=(relu_activation,),
    conclusions=(_extremal_is_eigen,),
    erratum="P10: the proof writes the sector for the vector; C = G(w), because <w, g(w)> = G(w).",
)


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


@conclusion("expansion", "the two sides agree to rounding", Level.EXACT)
def _expansion(evidence: Evidence) -> Measurement:
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


LEMMA_A_2 = _theorem(
    "lemmaA.2",
    "For 0 <= eps <= eps_max, G((w + eps v)/|w + eps v|) = [G(w) + eps sum of r_i <v, x_i> over the samples active "
    "at w + eps v]/|w + eps v|.",
    hypotheses=(relu_activation,),
    conclusions=(_expansion,),
    parameters=(Parameter("cases", 300, "random (w, v, eps)", low=0.0),),
    erratum="P9: the proof refers to Eq. (47) and means Eq. (39).",
)
