"""Lemmas 5 to 9: the cones of well-separated data [min2024].

What is said of all points of a cone is tried on points drawn with a fixed seed, and on the extremal ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.papers.min2024.assumptions import CORRELATED
from reluflow.papers.min2024.paper import EXAMPLE, SETTING
from reluflow.papers.min2024.theorems.constants import DataConstants, data_constants, geometry_constants, least_cosine
from reluflow.papers.min2024.theorems.moving_neurons import DEAD, MINUS, OUTSIDE, PLUS, cones_of
from reluflow.papers.min2024.theorems.shared_hypotheses import BINARY
from reluflow.theory.comparison import (
    Comparison,
    Level,
    at_least,
    at_most,
    equals,
    judgement,
    none_of,
    nothing,
    require,
)
from reluflow.theory.evidence import Evidence
from reluflow.theory.hypotheses import assumed
from reluflow.theory.measures import AtLeast
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem

NUM_DRAWS = 400
ROUNDING = 1e-12
JUST_OUTSIDE = 1e-9  # how far past a closed boundary the extremal point of Lemma 9 is put


def seeded() -> np.random.Generator:
    """A generator with one fixed seed, so that a check gives the same numbers every time."""
    return np.random.default_rng(2024)


def unit_rows(vectors: FloatArray) -> FloatArray:
    """Every row, or the one vector, divided by its norm."""
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


def _codes(data: DataConstants, points: FloatArray) -> FloatArray:
    return np.asarray(cones_of(points @ data.X.T > 0.0, data.y))


# Lemmas 5 and 7: points of K ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ConePoints:
    """Points of K = cone{y_i x_i}: the generators y_i x_i/|x_i|, shape (n, d), and unit points, shape (k, d)."""

    generators: FloatArray
    points: FloatArray


def _cone_points(evidence: Evidence) -> ConePoints:
    """The generators, and among the points also sparse random combinations of them."""
    data, rng = data_constants(evidence), seeded()
    weights = rng.exponential(size=(NUM_DRAWS, data.n)) ** rng.uniform(0.5, 4.0, size=(NUM_DRAWS, 1))
    points = unit_rows(np.vstack([data.unit_signed, weights @ data.unit_signed]))
    return ConePoints(data.unit_signed, points)


def _pairwise_cosine(evidence: Evidence) -> float:
    points = evidence.recorded(ConePoints).points
    return float(np.min(points @ points.T))


def _generators_attain(evidence: Evidence) -> Comparison:
    generators = evidence.recorded(ConePoints).generators
    smallest = min(1.0, float(np.min(generators @ generators.T)))
    return equals(smallest, data_constants(evidence).mu, atol=ROUNDING)


LEMMA_5 = Theorem(
    "min2024:lemma5",
    Reference("min2024", "Lemma 5"),
    r"Any two vectors of $K = \operatorname{cone}\{y_i x_i\}$ have a cosine of at least $\mu$.",
    hypotheses=(assumed(CORRELATED),),
    conclusions=(
        Conclusion(
            "cosine",
            "smallest cosine of drawn points of $K$",
            AtLeast(
                _pairwise_cosine,
                least_cosine,
                allowance=ROUNDING,
                words=r"smallest cosine {measured:.12g} against $\mu$ = {bound:.12g}",
            ),
        ),
        Conclusion("attained", r"the generators attain $\mu$", _generators_attain, Level.EXACT),
    ),
    constants=geometry_constants,
    record=_cone_points,
    setting=SETTING,
    example=EXAMPLE,
)


def _inside_by_mu(evidence: Evidence) -> Comparison:
    data, points = data_constants(evidence), evidence.recorded(ConePoints).points
    smallest = float(np.min(points @ data.unit_signed.T))
    return at_least(
        smallest,
        data.mu,
        allowance=ROUNDING,
        detail=rf"smallest $y_i \langle x_c, x_i\rangle/|x_i|$ is {smallest:.12g}",
    )


def _inside_cones(evidence: Evidence) -> Comparison:
    data, points = data_constants(evidence), evidence.recorded(ConePoints).points
    wrong = sum(int(np.sum(_codes(data, sign * points) != sign)) for sign in data.classes)
    return none_of(wrong, total=2 * len(points))


LEMMA_7 = Theorem(
    "min2024:lemma7",
    Reference("min2024", "Lemma 7"),
    r"$K$ lies in the interior of $S_+$ and $-K$ in that of $S_-$: $y_i \langle x_c, x_i\rangle \ge \mu|x_i|$ for "
    r"unit $x_c$ in $K$.",
    hypotheses=(assumed(CORRELATED),),
    conclusions=(
        Conclusion("depth", r"smallest $y_i \langle x_c, x_i\rangle/|x_i|$", _inside_by_mu),
        Conclusion("inside", r"no point of $\pm K$ is outside its cone", _inside_cones, Level.EXACT),
    ),
    constants=geometry_constants,
    record=_cone_points,
    setting=SETTING,
    example=EXAMPLE,
)


# Lemma 6: convex cones ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ConeMembers:
    """Unit directions in S_+ and in S_-, shape (k, d) each."""

    positive: FloatArray
    negative: FloatArray


def _members(evidence: Evidence) -> ConeMembers:
    return ConeMembers(_members_of(evidence, PLUS), _members_of(evidence, MINUS))


def _members_of(evidence: Evidence, sign: int) -> FloatArray:
    """Directions in S_+ (or S_-): the aggregate of the class and those of a Gaussian draw that lie there."""
    data = data_constants(evidence)
    pool = seeded().standard_normal((NUM_DRAWS, data.X.shape[1]))
    if data.count(sign):
        pool = np.vstack([data.total(sign), pool])
    return np.asarray(unit_rows(pool)[_codes(data, pool) == sign])


def _is_convex(evidence: Evidence) -> Comparison:
    data, rng = data_constants(evidence), seeded()
    outside = []
    drawn = evidence.recorded(ConeMembers)
    for sign, members in ((PLUS, drawn.positive), (MINUS, drawn.negative)):
        if len(members):
            left, right = rng.integers(0, len(members), (2, NUM_DRAWS))
            weights = rng.exponential(size=(2, NUM_DRAWS, 1))
            outside += (_codes(data, weights[0] * members[left] + weights[1] * members[right]) != sign).tolist()
    return none_of(sum(require(outside, "neither $S_+$ nor $S_-$ held a drawn direction")), total=len(outside))


LEMMA_6 = Theorem(
    "min2024:lemma6",
    Reference("min2024", "Lemma 6"),
    "$S_+$ and $S_-$ are convex cones.",
    hypotheses=(BINARY,),
    conclusions=(Conclusion("convex", "no positive combination leaves its cone", _is_convex, Level.EXACT),),
    record=_members,
    setting=SETTING,
    example=EXAMPLE,
)


# Lemma 8: caps --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Caps:
    """Points of the caps {cos(z, x_+-) >= sqrt(1 - zeta)}, by the sign of their class.

    Parameters
    ----------
    inside
        Points of the caps at 0.9999 zeta_1*.
    beyond
        Points of the caps at 1.02 zeta_1*; None where that is no cap.
    """

    inside: Mapping[int, FloatArray]
    beyond: Mapping[int, FloatArray] | None


SMALLER, LARGER = 0.9999, 1.02


def _caps(evidence: Evidence) -> Caps:
    data = data_constants(evidence)
    inside = {sign: _cap_points(data, sign, SMALLER * data.cap) for sign in data.classes}
    beyond = {sign: _cap_points(data, sign, LARGER * data.cap) for sign in data.classes if LARGER * data.cap < 1.0}
    return Caps(inside, beyond if LARGER * data.cap < 1.0 else None)


def _cap_points(data: DataConstants, sign: int, zeta: float) -> FloatArray:
    """Points of the cap cos(z, x_+-) >= sqrt(1 - zeta): on its edge towards every hyperplane, and at random."""
    centre = unit_rows(data.total(sign))
    edge = math.acos(math.sqrt(1.0 - zeta))
    rng = seeded()
    away = np.vstack([-data.unit_signed * sign, rng.standard_normal((NUM_DRAWS, len(centre)))])
    away = away - (away @ centre)[:, None] * centre
    length = np.linalg.norm(away, axis=1)
    away = away[length > 1e-9] / length[length > 1e-9, None]
    angles = np.concatenate([np.full(min(data.n, len(away)), edge), rng.uniform(0.0, edge, max(0, len(away) - data.n))])
    return np.asarray(np.cos(angles)[:, None] * centre + np.sin(angles)[:, None] * away)


def _num_escaped(evidence: Evidence, points: Mapping[int, FloatArray]) -> int:
    data = data_constants(evidence)
    return sum(int(np.sum(_codes(data, points[sign]) != sign)) for sign in data.classes)


def _cap_is_inside(evidence: Evidence) -> Comparison:
    escaped = _num_escaped(evidence, evidence.recorded(Caps).inside)
    return none_of(escaped, detail=rf"{escaped} points of the caps at {SMALLER:g} $\zeta_1^*$ leave their cone")


def _cap_is_sharp(evidence: Evidence) -> Comparison:
    beyond = evidence.recorded(Caps).beyond
    if beyond is None:
        return nothing(r"$\zeta_1^*$ is above 1/1.02, no larger cap to try")
    escaped = _num_escaped(evidence, beyond)
    return at_least(escaped, 1.0, detail=rf"{escaped} points of the caps at $1.02 \zeta_1^*$ leave their cone")


def _cap_at_least(evidence: Evidence) -> Comparison:
    """zeta_1* of the points inside: the largest 1 - cos(z, x_+-)^2 among them."""
    data, inside = data_constants(evidence), evidence.recorded(Caps).inside
    cosines = [float(np.min(unit_rows(inside[sign]) @ unit_rows(data.total(sign)))) for sign in data.classes]
    return at_least((1.0 - min(cosines) ** 2) / SMALLER, data.mu**2, allowance=ROUNDING)


LEMMA_8 = Theorem(
    "min2024:lemma8",
    Reference("min2024", "Lemma 8"),
    r"The caps $\{\cos(z, x_\pm) \ge \sqrt{1 - \zeta_1}\}$ lie in $S_\pm$ exactly for $\zeta_1 < \zeta_1^*$, and "
    r"$\zeta_1^* \ge \mu^2$.",
    hypotheses=(assumed(CORRELATED),),
    conclusions=(
        Conclusion("cap", r"no point of the caps at $0.9999 \zeta_1^*$ is outside", _cap_is_inside),
        Conclusion("sharp", r"some point of the caps at $1.02 \zeta_1^*$ is outside", _cap_is_sharp, Level.EXACT),
        Conclusion("size", r"$\zeta_1^*$ is at least $\mu^2$", _cap_at_least),
    ),
    constants=geometry_constants,
    record=_caps,
    setting=SETTING,
    example=EXAMPLE,
)


# Lemma 9: directions outside ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Outsiders:
    """Unit points of K, directions in neither S_+ nor S_-, and the one of these closest to K, the last of them."""

    points: FloatArray
    outsiders: FloatArray
    closest: FloatArray


def _points_and_outsiders(evidence: Evidence) -> Outsiders:
    """Random ones, and the one closest to K."""
    data = data_constants(evidence)
    pool = unit_rows(seeded().standard_normal((4 * NUM_DRAWS, data.X.shape[1])))
    codes = cones_of(pool @ data.X.T > 0.0, data.y)
    has_both = len(data.classes) == 2  # else S_dead is the cone of the absent class
    outside = (codes == OUTSIDE) | ((codes == DEAD) & has_both)
    closest = _closest_outsider(data)
    return Outsiders(_cone_points(evidence).points, np.vstack([pool[outside], closest[None, :]]), closest)


def _closest_outsider(data: DataConstants) -> FloatArray:
    """The generator of the pair that attains mu, projected on the other's hyperplane and a hair beyond."""
    cosines = data.unit_signed @ data.unit_signed.T
    i, k = np.unravel_index(int(np.argmin(cosines)), cosines.shape)
    towards, normal = data.unit_signed[i], data.unit_signed[k]
    return unit_rows(towards - (towards @ normal + JUST_OUTSIDE) * normal)


def _cosine_to_outside(evidence: Evidence) -> Comparison:
    data, drawn = data_constants(evidence), evidence.recorded(Outsiders)
    largest = float(np.max(np.abs(drawn.points @ drawn.outsiders.T)))
    bound = math.sqrt(1.0 - data.mu**2)
    return at_most(largest, bound, allowance=ROUNDING, detail=rf"largest $|\cos|$ {largest:.12g} against {bound:.12g}")


def _xi_is_attained(evidence: Evidence) -> Comparison:
    data = data_constants(evidence)
    best = float(np.max(np.abs(data.unit_signed @ evidence.recorded(Outsiders).closest)))
    return equals(1.0 - best**2, data.mu**2, atol=1e-8)


def _pair_below_one(evidence: Evidence) -> Comparison:
    mu = data_constants(evidence).mu
    return judgement(mu < 1.0 - ROUNDING, 1.0 - mu, rf"$\mu$ = {mu:.6g}")


LEMMA_9 = Theorem(
    "min2024:lemma9",
    Reference("min2024", "Lemma 9"),
    r"$|\cos(x, z)| \le \sqrt{1 - \xi}$ for $x$ in $K$ and $z$ outside $S_+$ and $S_-$, with $\xi = \mu^2$, which "
    r"is best possible.",
    hypotheses=(
        assumed(CORRELATED),
        Hypothesis("mu-below-1", r"$\mu < 1$: not all $y_i x_i$ are parallel", _pair_below_one),
    ),
    conclusions=(
        Conclusion("cosine", r"largest $|\cos|$ of drawn pairs", _cosine_to_outside),
        Conclusion("attained", r"$1 - c^2$ for the largest cosine $c$ is $\mu^2$", _xi_is_attained, Level.EXACT),
    ),
    constants=geometry_constants,
    record=_points_and_outsiders,
    setting=SETTING,
    example=EXAMPLE,
)
