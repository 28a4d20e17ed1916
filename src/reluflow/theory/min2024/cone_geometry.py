"""Lemmas 5 to 9 and 11 and the extreme vectors: the cones of well-separated data [min2024].

What is said of all points of a cone is tried on points drawn with a fixed seed, and on the extremal ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.theory.condition import Judgement
from reluflow.theory.evidence import Evidence, drawn
from reluflow.theory.measurement import Level, Measurement, all_of, at_least, at_most, equals, missing, none_of
from reluflow.theory.min2024.assumptions import BINARY, EXAMPLE, SEPARATED, SETTING, reference
from reluflow.theory.min2024.constants import DataConstants, data_constants
from reluflow.theory.min2024.moving_neurons import DEAD, MINUS, OUTSIDE, PLUS, cones_of
from reluflow.theory.stating import conclusion, theorems_of
from reluflow.theory.theorem import Conclusion, Constants, Hypothesis, Theorem

NUM_DRAWS = 400
ROUNDING = 1e-12
JUST_OUTSIDE = 1e-9  # how far past a closed boundary the extremal point of Lemma 9 is put


def seeded() -> np.random.Generator:
    """A generator with one fixed seed, so that a check gives the same numbers every time."""
    return np.random.default_rng(2024)


def unit_rows(vectors: FloatArray) -> FloatArray:
    """Every row, or the one vector, divided by its norm."""
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


@drawn("cone points")
def _cone_points(evidence: Evidence) -> FloatArray:
    """Unit points of K = cone{y_i x_i}: the generators, then sparse random combinations."""
    data, rng = data_constants(evidence), seeded()
    weights = rng.exponential(size=(NUM_DRAWS, data.n)) ** rng.uniform(0.5, 4.0, size=(NUM_DRAWS, 1))
    return unit_rows(np.vstack([data.unit_signed, weights @ data.unit_signed]))


def _codes(data: DataConstants, points: FloatArray) -> FloatArray:
    return np.asarray(cones_of(points @ data.X.T > 0.0, data.y))


@conclusion("cosine", "smallest cosine of drawn points of K")
def _pairwise_cosine(evidence: Evidence) -> Measurement:
    points, mu = _cone_points(evidence), data_constants(evidence).mu
    smallest = float(np.min(points @ points.T))
    return at_least(smallest, mu, allowance=ROUNDING, detail=f"smallest cosine {smallest:.12g} against mu = {mu:.12g}")


@conclusion("attained", "the generators attain mu", Level.EXACT)
def _generators_attain(evidence: Evidence) -> Measurement:
    data = data_constants(evidence)
    smallest = min(1.0, float(np.min(data.unit_signed @ data.unit_signed.T)))
    return equals(smallest, data.mu, atol=ROUNDING)


def _members(evidence: Evidence, sign: int) -> FloatArray:
    """Directions in S_+ (or S_-): the aggregate of the class and those of a Gaussian draw that lie there."""

    def draw() -> FloatArray:
        data = data_constants(evidence)
        pool = seeded().standard_normal((NUM_DRAWS, data.X.shape[1]))
        if data.count(sign):
            pool = np.vstack([data.total(sign), pool])
        return np.asarray(unit_rows(pool)[_codes(data, pool) == sign])

    return evidence.witness(f"members {sign}", draw)


@conclusion("convex", "no positive combination leaves its cone", Level.EXACT)
def _is_convex(evidence: Evidence) -> Measurement:
    data, rng = data_constants(evidence), seeded()
    outside = total = 0
    for sign in (PLUS, MINUS):
        members = _members(evidence, sign)
        if len(members) == 0:
            continue
        left, right = rng.integers(0, len(members), (2, NUM_DRAWS))
        weights = rng.exponential(size=(2, NUM_DRAWS, 1))
        mixed = weights[0] * members[left] + weights[1] * members[right]
        outside += int(np.sum(_codes(data, mixed) != sign))
        total += NUM_DRAWS
    if total == 0:
        return missing("neither S_+ nor S_- held a drawn direction")
    return none_of(outside, total=total)


@conclusion("depth", "smallest y_i <x_c, x_i>/|x_i|")
def _inside_by_mu(evidence: Evidence) -> Measurement:
    data, points = data_constants(evidence), _cone_points(evidence)
    smallest = float(np.min(points @ data.unit_signed.T))
    return at_least(smallest, data.mu, allowance=ROUNDING, detail=f"smallest y_i <x_c, x_i>/|x_i| is {smallest:.12g}")


@conclusion("inside", "no point of +-K is outside its cone", Level.EXACT)
def _inside_cones(evidence: Evidence) -> Measurement:
    data, points = data_constants(evidence), _cone_points(evidence)
    wrong = 0
    for sign in (PLUS, MINUS):
        if data.count(sign):
            wrong += int(np.sum(_codes(data, sign * points) != sign))
    return none_of(wrong, total=2 * len(points))


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


def _cap_escapes(evidence: Evidence, zeta: float) -> int:
    data = data_constants(evidence)
    signs = [sign for sign in (PLUS, MINUS) if data.count(sign)]
    return sum(int(np.sum(_codes(data, _cap_points(data, sign, zeta)) != sign)) for sign in signs)


@conclusion("cap", "no point of the caps at 0.9999 zeta_1* is outside")
def _cap_is_inside(evidence: Evidence) -> Measurement:
    factor = evidence.witness("cap factor", lambda: 0.9999)
    escaped = _cap_escapes(evidence, factor * data_constants(evidence).cap)
    return none_of(escaped, detail=f"{escaped} points of the caps at {factor:g} zeta_1* leave their cone")


@conclusion("sharp", "some point of the caps at 1.02 zeta_1* is outside", Level.EXACT)
def _cap_is_sharp(evidence: Evidence) -> Measurement:
    zeta = 1.02 * data_constants(evidence).cap
    if zeta >= 1.0:
        return at_least(1.0, 1.0, detail="zeta_1* is above 1/1.02: no larger cap to try")
    escaped = _cap_escapes(evidence, zeta)
    return at_least(escaped, 1.0, detail=f"{escaped} points of the caps at 1.02 zeta_1* leave their cone")


@conclusion("size", "zeta_1* is at least mu^2")
def _cap_at_least(evidence: Evidence) -> Measurement:
    data = data_constants(evidence)
    return at_least(data.cap, data.mu**2, allowance=ROUNDING)


@drawn("outsiders")
def _outsiders(evidence: Evidence) -> FloatArray:
    """Directions in neither S_+ nor S_-: random ones, and the one closest to K."""
    data = data_constants(evidence)
    pool = unit_rows(seeded().standard_normal((4 * NUM_DRAWS, data.X.shape[1])))
    codes = cones_of(pool @ data.X.T > 0.0, data.y)
    has_both = data.count(1) > 0 and data.count(-1) > 0  # else S_dead is the cone of the absent class
    outside = (codes == OUTSIDE) | ((codes == DEAD) & has_both)
    return np.vstack([pool[outside], _closest_outsider(data)[None, :]])


def _closest_outsider(data: DataConstants) -> FloatArray:
    """The generator of the pair that attains mu, projected on the other's hyperplane and a hair beyond."""
    cosines = data.unit_signed @ data.unit_signed.T
    i, k = np.unravel_index(int(np.argmin(cosines)), cosines.shape)
    towards, normal = data.unit_signed[i], data.unit_signed[k]
    return unit_rows(towards - (towards @ normal + JUST_OUTSIDE) * normal)


@conclusion("cosine", "largest |cos| of drawn pairs")
def _cosine_to_outside(evidence: Evidence) -> Measurement:
    data = data_constants(evidence)
    largest = float(np.max(np.abs(_cone_points(evidence) @ _outsiders(evidence).T)))
    bound = math.sqrt(1.0 - data.mu**2)
    return at_most(largest, bound, allowance=ROUNDING, detail=f"largest |cos| {largest:.12g} against {bound:.12g}")


@conclusion("attained", "1 - (largest cosine)^2 is mu^2", Level.EXACT)
def _xi_is_attained(evidence: Evidence) -> Measurement:
    data = data_constants(evidence)
    best = float(np.max(np.abs(data.unit_signed @ _closest_outsider(data))))
    return equals(1.0 - best**2, data.mu**2, atol=1e-8)


def _pair_below_one(evidence: Evidence) -> Judgement:
    mu = data_constants(evidence).mu
    return Judgement(mu < 1.0 - ROUNDING, 1.0 - mu, f"mu = {mu:.6g}")


@drawn("aggregates")
def _aggregates(evidence: Evidence) -> tuple[BoolArray, FloatArray]:
    """Activity (k, n) and x_a (k, d) of drawn directions and of the network's neurons."""
    data = data_constants(evidence)
    w = np.vstack([evidence.network.w, seeded().standard_normal((NUM_DRAWS, data.X.shape[1]))])
    active = w @ data.X.T > 0.0
    return active, np.asarray(np.where(active, data.y, evidence.leak * data.y) @ data.X)


def _aggregate_ratio(evidence: Evidence, bound: Callable[[DataConstants, FloatArray], FloatArray]) -> Measurement:
    data = data_constants(evidence)
    active, sums = _aggregates(evidence)
    num_active = active.sum(axis=1).astype(np.float64)
    lower = bound(data, num_active)
    moving = lower > 0.0
    smallest = float(np.min(np.linalg.norm(sums[moving], axis=1) / lower[moving]))
    return at_least(smallest, 1.0, allowance=ROUNDING, detail=f"smallest |x_a| over its bound is {smallest:.6g}")


@conclusion("length", "|x_a| over sqrt(mu) n_a X_min is at least 1")
def _aggregates_are_long(evidence: Evidence) -> Measurement:
    leak = evidence.leak

    def bound(data: DataConstants, k: FloatArray) -> FloatArray:
        return np.asarray(math.sqrt(data.mu) * data.smallest_norm * (k + leak * (data.n - k)))

    return _aggregate_ratio(evidence, bound)


@conclusion("length-sharp", "the same for the middle expression")
def _aggregates_are_longer(evidence: Evidence) -> Measurement:
    def bound(data: DataConstants, k: FloatArray) -> FloatArray:
        return np.asarray(data.smallest_norm * np.sqrt(k + data.mu * k * (k - 1.0)))

    return _aggregate_ratio(evidence, bound)


@conclusion("extremal", "every extremum of G is a class aggregate", Level.EXACT)
def _extreme_vectors(evidence: Evidence) -> Measurement:
    """Local maxima of sum_i y_i s(<x_i, w>) on the sphere are x_+, local minima x_- (both as unit vectors)."""
    data = data_constants(evidence)
    extremal = evidence.witness("extremal", lambda: evidence.facts.extremal)
    statements = []
    for kind, sign in (("maximum", 1), ("minimum", -1)):
        rows = [k for k, name in enumerate(extremal.kinds) if name == kind]
        if not data.count(sign):
            statements.append((not rows, f"{len(rows)} of kind {kind} without a sample of that class"))
            continue
        found = [extremal.sides[k] * extremal.vectors[k] / extremal.norms[k] for k in rows]
        gap = max((float(np.linalg.norm(v - unit_rows(data.total(sign)))) for v in found), default=np.inf)
        statements.append((gap <= 1e-9, f"the {len(rows)} of kind {kind} are {gap:.3g} from the class aggregate"))
    return all_of(statements, detail="; ".join(words for _, words in statements))


def _geometry_constants(evidence: Evidence) -> Constants:
    data = data_constants(evidence)
    return {
        "mu": data.mu,
        "zeta_1": data.cap,
        "xi": data.mu**2,
        "X_min": data.smallest_norm,
        "X_max": data.largest_norm,
    }


def geometric_result(
    key: str,
    locator: str,
    statement: str,
    conclusions: tuple[Conclusion, ...],
    *more: Hypothesis,
    example: str = EXAMPLE,
) -> Theorem:
    """A result on the data alone, under Assumption 1 and whatever `more` it asks for."""
    return Theorem(
        key=f"min2024:{key}",
        reference=reference(locator),
        statement=statement,
        hypotheses=(SEPARATED, *more),
        conclusions=conclusions,
        constants=_geometry_constants,
        setting=SETTING,
        example=example,
    )


EXTREME_VECTORS = geometric_result(
    "extreme-vectors",
    "Sec. 3.1",
    "The only attractors of (4) for positive neurons are x_+ and S_dead, for negative ones x_- and S_dead.",
    (_extreme_vectors,),
)
LEMMA_5 = geometric_result(
    "lemma5",
    "Lemma 5",
    "Any two vectors of K = cone{y_i x_i} have a cosine of at least mu.",
    (
        _pairwise_cosine,
        _generators_attain,
    ),
)
_theorem = theorems_of("min2024", setting=SETTING, example=EXAMPLE)

LEMMA_6 = _theorem(
    "lemma6",
    "S_+ and S_- are convex cones.",
    hypotheses=(BINARY,),
    conclusions=(_is_convex,),
)
LEMMA_7 = geometric_result(
    "lemma7",
    "Lemma 7",
    "K lies in the interior of S_+ and -K in that of S_-: y_i <x_c, x_i> >= mu |x_i| for unit x_c in K.",
    (
        _inside_by_mu,
        _inside_cones,
    ),
)
LEMMA_8 = geometric_result(
    "lemma8",
    "Lemma 8",
    "The caps {cos(z, x_+-) >= sqrt(1 - zeta_1)} lie in S_+- exactly for zeta_1 < zeta_1*, and zeta_1* >= mu^2.",
    (
        _cap_is_inside,
        _cap_is_sharp,
        _cap_at_least,
    ),
)
LEMMA_9 = geometric_result(
    "lemma9",
    "Lemma 9",
    "|cos(x, z)| <= sqrt(1 - xi) for x in K and z outside S_+ and S_-, with xi = mu^2, which is best possible.",
    (
        _cosine_to_outside,
        _xi_is_attained,
    ),
    Hypothesis("mu-below-1", "mu < 1: not all y_i x_i are parallel", _pair_below_one),
)
LEMMA_11 = geometric_result(
    "lemma11",
    "Lemma 11",
    "|x_a(w)| >= X_min sqrt(n_a + mu n_a (n_a - 1)) >= sqrt(mu) n_a X_min; with a leak n_a + leak (n - n_a) there.",
    (
        _aggregates_are_long,
        _aggregates_are_longer,
    ),
)
