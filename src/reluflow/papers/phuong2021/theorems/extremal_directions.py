"""The extremal directions of orthogonally separable data: Lemmas 2, A.1 and A.2 [phuong2021]."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from reluflow.arrays import FloatArray, SignArray
from reluflow.geometry.alignment import DEAD as END_DEAD
from reluflow.geometry.alignment import MAXIMUM, MINIMUM, align
from reluflow.geometry.landscape import alignment_potential
from reluflow.papers.phuong2021.paper import EXAMPLE, SETTING
from reluflow.papers.phuong2021.theorems.sectors import (
    Sign,
    aggregate,
    extremal_sector,
    pulling_gradient,
    sector_of,
    strict_extrema,
)
from reluflow.theory.comparison import Comparison, Level, at_most, judgement, none_of, require
from reluflow.theory.evidence import Evidence
from reluflow.theory.hypotheses import RELU, assumed
from reluflow.theory.measures import Quantities
from reluflow.theory.separability import ORTHOGONALLY_SEPARABLE
from reluflow.theory.theorem import Conclusion, Hypothesis, Parameter, Reference, Theorem

ROUNDING = 1e-12  # relative; the identities below were met to 3e-16 on every registered dataset tried


def _unit(vector: FloatArray) -> FloatArray:
    return np.asarray(vector / np.linalg.norm(vector))


def _both_classes(evidence: Evidence) -> Comparison:
    counts = [int(np.sum(evidence.dataset.y == label)) for label in (1, -1)]
    detail = f"{counts[0]} positive and {counts[1]} negative samples"
    return judgement(min(counts) > 0, float(min(counts)), detail)


BOTH_CLASSES = Hypothesis("both-classes", "both classes have samples", _both_classes)

# Lemma 2 --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class StatedExtrema:
    """The two directions D_+/|D_+| and D_-/|D_-| and their sectors, as Lemma 2 states them."""

    directions: tuple[FloatArray, FloatArray]
    sectors: tuple[SignArray, SignArray]


_SIGNS: tuple[Sign, Sign] = (1, -1)


def _stated_extrema(evidence: Evidence) -> StatedExtrema:
    plus, minus = (_direction(evidence, sign) for sign in _SIGNS)
    return StatedExtrema((plus, minus), (extremal_sector(evidence.dataset, 1), extremal_sector(evidence.dataset, -1)))


def _direction(evidence: Evidence, sign: Sign) -> FloatArray:
    """D_+/|D_+| or D_-/|D_-|."""
    return _unit(aggregate(evidence, sign))


def _potential(evidence: Evidence, sign: Sign) -> float:
    forces = evidence.loss.label_forces(evidence.dataset.y)
    return float(alignment_potential(_direction(evidence, sign), evidence.dataset.X, forces))


def _one_extremum(evidence: Evidence, sign: Sign) -> Comparison:
    """Number and place of the strict local maxima (minima) by enumeration of all cones."""
    require(evidence.facts.has_affordable_cones, "the cones are too many to enumerate")
    found = strict_extrema(evidence.facts.extremal, sign)
    if len(found) != 1:
        return none_of(max(abs(len(found) - 1), 1), detail=f"{len(found)} extremal directions instead of one")
    stated = evidence.recorded(StatedExtrema).directions[_SIGNS.index(sign)]
    distance = float(np.linalg.norm(found[0] - stated))
    return at_most(distance, ROUNDING, detail=f"one, at distance {distance:.2g} from the aggregate of its class")


def _sectors(evidence: Evidence) -> Comparison:
    """Entries of Eqs. (13), (14) that differ from the signs of X D."""
    differ = 0
    for sign, stated in zip(_SIGNS, evidence.recorded(StatedExtrema).sectors, strict=True):
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
    for direction, end in zip(evidence.recorded(StatedExtrema).directions, (MAXIMUM, MINIMUM), strict=True):
        there = np.linalg.norm(outcome.directions - direction, axis=1) <= 1e-9
        elsewhere &= ~((outcome.ends == end) & there)
    num_dead = int(np.sum(outcome.ends == END_DEAD))
    return none_of(
        int(np.sum(elsewhere)),
        total=num_starts,
        detail=f"{int(np.sum(elsewhere))} of {num_starts} starts end elsewhere, {num_dead} are dead",
    )


LEMMA_2 = Theorem(
    "phuong2021:lemma2",
    Reference("phuong2021", "Lemma 2"),
    "$G$ has exactly one strict local maximum and one strict local minimum on the sphere, along the aggregates "
    "$D_+$ and $D_-$ of the two classes, in the sectors of Eqs. (13) and (14).",
    hypotheses=(RELU, BOTH_CLASSES, assumed(ORTHOGONALLY_SEPARABLE)),
    conclusions=(
        Conclusion("one-maximum", "one positive extremal direction, $D_+/|D_+|$", partial(_one_extremum, sign=1)),
        Conclusion("one-minimum", "one negative extremal direction, $D_-/|D_-|$", partial(_one_extremum, sign=-1)),
        Conclusion("sectors", "their sectors are Eqs. (13) and (14)", _sectors, Level.EXACT),
        Conclusion("ascent", "every start ends at one of them or in the dead cone", _ascent, Level.EXACT),
    ),
    constants=Quantities(
        {
            "direction_plus": partial(_direction, sign=1),
            "potential_plus": partial(_potential, sign=1),
            "direction_minus": partial(_direction, sign=-1),
            "potential_minus": partial(_potential, sign=-1),
        }
    ),
    parameters=(Parameter("starts", 400, "random directions carried to their end", low=1.0),),
    record=_stated_extrema,
    setting=SETTING,
    example=EXAMPLE,
    erratum=r"P3, P4: the proof's two steps fail where $G \le 0$; with the explicit directions the statement stands.",
    departs="The explicit directions and the absence of zeros under the span assumption (P5) are not in the paper.",
)

# Lemma A.1 ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ExtremalDirections:
    """Every strict extremum of G on the sphere, one unit vector a row; none where they are too many to enumerate."""

    vectors: FloatArray


def _enumerated(evidence: Evidence) -> ExtremalDirections:
    if not evidence.facts.has_affordable_cones:
        return ExtremalDirections(np.empty((0, evidence.dataset.d)))
    return ExtremalDirections(np.vstack([strict_extrema(evidence.facts.extremal, sign) for sign in _SIGNS]))


def _extremal_is_eigen(evidence: Evidence) -> Comparison:
    """Largest |g(w) - G(w) w| over the extremal directions, relative to the total force."""
    X, forces = evidence.dataset.X, evidence.loss.label_forces(evidence.dataset.y)
    found = require(evidence.recorded(ExtremalDirections).vectors, "no extremal direction is known")
    size = float(np.sum(np.abs(forces) * np.linalg.norm(X, axis=1)))
    residuals = [
        float(np.linalg.norm(pulling_gradient(w, X, forces) - float(alignment_potential(w, X, forces)) * w))
        for w in found
    ]
    return at_most(max(residuals) / size, ROUNDING, detail=f"{max(residuals):.2g} over {len(found)} directions")


LEMMA_A_1 = Theorem(
    "phuong2021:lemmaA.1",
    Reference("phuong2021", "Lemma A.1"),
    "An extremal direction $w$ satisfies $g(w) = C w$ with $C = G(w)$; the condition is necessary only.",
    hypotheses=(RELU,),
    conclusions=(Conclusion("eigen", "$|g(w) - G(w) w|$ vanishes", _extremal_is_eigen, Level.EXACT),),
    record=_enumerated,
    setting=SETTING,
    example=EXAMPLE,
    erratum=r"P10: the proof writes the sector for the vector; $C = G(w)$, because $\langle w, g(w)\rangle = G(w)$.",
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


@dataclass(frozen=True)
class Displacements:
    """Those the identity is tried on."""

    cases: tuple[Displacement, ...]


def _displacements(evidence: Evidence) -> Displacements:
    """Random ones; in every third case w lies on the hyperplane of a sample."""
    rng = np.random.default_rng(0)
    X = evidence.dataset.X
    cases = []
    for k in range(int(evidence.parameter("cases"))):
        w, v = rng.standard_normal((2, evidence.dataset.d))
        if k % 3 == 0 and evidence.dataset.d > 1:
            x = X[rng.integers(evidence.dataset.n)]
            for _ in range(2):  # once more, for of a w nearly along x the first leaves little but rounding
                w = w - (w @ x) / (x @ x) * x
        w, v = _unit(w), _unit(v)
        cases.append(Displacement(w, v, float(rng.uniform(0.0, 1.0)) * largest_step(w, v, X)))
    return Displacements(tuple(cases))


def _expansion(evidence: Evidence) -> Comparison:
    """Largest difference of the two sides of Lemma A.2, relative to the total force."""
    X, forces = evidence.dataset.X, evidence.loss.label_forces(evidence.dataset.y)
    worst = 0.0
    for case in evidence.recorded(Displacements).cases:
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


LEMMA_A_2 = Theorem(
    "phuong2021:lemmaA.2",
    Reference("phuong2021", "Lemma A.2"),
    r"For $0 \le \varepsilon \le \varepsilon_{\max}$, $G((w + \varepsilon v)/|w + \varepsilon v|) = (G(w) + "
    r"\varepsilon \sum_i r_i \langle v, x_i\rangle)/|w + \varepsilon v|$, the sum over the samples active at "
    r"$w + \varepsilon v$.",
    hypotheses=(RELU,),
    conclusions=(Conclusion("expansion", "the two sides agree to rounding", _expansion, Level.EXACT),),
    parameters=(Parameter("cases", 300, r"random $(w, v, \varepsilon)$", low=0.0),),
    record=_displacements,
    setting=SETTING,
    example=EXAMPLE,
    erratum="P9: the proof refers to Eq. (47) and means Eq. (39).",
)
