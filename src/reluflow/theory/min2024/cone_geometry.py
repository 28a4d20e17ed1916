"""Lemmas 5 to 9 and 11, the extreme vectors, Remark 8 and Appendix F: the cones of well-separated data [min2024].

What is said of all points of a cone is tried on points drawn with a fixed seed, and on the extremal ones.
"""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.theory.comparison import (
    Comparison,
    Values,
    all_of,
    at_least,
    at_most,
    equals,
    judgement,
    none_of,
    nothing,
    require,
)
from reluflow.theory.evidence import Evidence, drawn
from reluflow.theory.min2024.constants import DataConstants, data_constants
from reluflow.theory.min2024.moving_neurons import DEAD, MINUS, ON_BOUNDARY, OUTSIDE, PLUS, cones_of

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


def _pairwise_cosine(evidence: Evidence) -> float:
    points = _cone_points(evidence)
    return float(np.min(points @ points.T))


def _generators_attain(evidence: Evidence) -> Comparison:
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


def _is_convex(evidence: Evidence) -> Comparison:
    data, rng = data_constants(evidence), seeded()
    outside = []
    for sign in (PLUS, MINUS):
        members = _members(evidence, sign)
        if len(members):
            left, right = rng.integers(0, len(members), (2, NUM_DRAWS))
            weights = rng.exponential(size=(2, NUM_DRAWS, 1))
            outside += (_codes(data, weights[0] * members[left] + weights[1] * members[right]) != sign).tolist()
    return none_of(sum(require(outside, "neither S_+ nor S_- held a drawn direction")), total=len(outside))


def _inside_by_mu(evidence: Evidence) -> Comparison:
    data, points = data_constants(evidence), _cone_points(evidence)
    smallest = float(np.min(points @ data.unit_signed.T))
    return at_least(smallest, data.mu, allowance=ROUNDING, detail=f"smallest y_i <x_c, x_i>/|x_i| is {smallest:.12g}")


def _inside_cones(evidence: Evidence) -> Comparison:
    data, points = data_constants(evidence), _cone_points(evidence)
    wrong = sum(int(np.sum(_codes(data, sign * points) != sign)) for sign in data.classes)
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
    return sum(int(np.sum(_codes(data, _cap_points(data, sign, zeta)) != sign)) for sign in data.classes)


def _cap_is_inside(evidence: Evidence) -> Comparison:
    factor = evidence.witness("cap factor", lambda: 0.9999)
    escaped = _cap_escapes(evidence, factor * data_constants(evidence).cap)
    return none_of(escaped, detail=f"{escaped} points of the caps at {factor:g} zeta_1* leave their cone")


def _cap_is_sharp(evidence: Evidence) -> Comparison:
    zeta = 1.02 * data_constants(evidence).cap
    if zeta >= 1.0:
        return nothing("zeta_1* is above 1/1.02, no larger cap to try")
    escaped = _cap_escapes(evidence, zeta)
    return at_least(escaped, 1.0, detail=f"{escaped} points of the caps at 1.02 zeta_1* leave their cone")


def _cap_at_least(evidence: Evidence) -> Comparison:
    data = data_constants(evidence)
    return at_least(data.cap, data.mu**2, allowance=ROUNDING)


@drawn("outsiders")
def _outsiders(evidence: Evidence) -> FloatArray:
    """Directions in neither S_+ nor S_-: random ones, and the one closest to K."""
    data = data_constants(evidence)
    pool = unit_rows(seeded().standard_normal((4 * NUM_DRAWS, data.X.shape[1])))
    codes = cones_of(pool @ data.X.T > 0.0, data.y)
    has_both = len(data.classes) == 2  # else S_dead is the cone of the absent class
    outside = (codes == OUTSIDE) | ((codes == DEAD) & has_both)
    return np.vstack([pool[outside], _closest_outsider(data)[None, :]])


def _closest_outsider(data: DataConstants) -> FloatArray:
    """The generator of the pair that attains mu, projected on the other's hyperplane and a hair beyond."""
    cosines = data.unit_signed @ data.unit_signed.T
    i, k = np.unravel_index(int(np.argmin(cosines)), cosines.shape)
    towards, normal = data.unit_signed[i], data.unit_signed[k]
    return unit_rows(towards - (towards @ normal + JUST_OUTSIDE) * normal)


def _cosine_to_outside(evidence: Evidence) -> Comparison:
    data = data_constants(evidence)
    largest = float(np.max(np.abs(_cone_points(evidence) @ _outsiders(evidence).T)))
    bound = math.sqrt(1.0 - data.mu**2)
    return at_most(largest, bound, allowance=ROUNDING, detail=f"largest |cos| {largest:.12g} against {bound:.12g}")


def _xi_is_attained(evidence: Evidence) -> Comparison:
    data = data_constants(evidence)
    best = float(np.max(np.abs(data.unit_signed @ _closest_outsider(data))))
    return equals(1.0 - best**2, data.mu**2, atol=1e-8)


def _pair_below_one(evidence: Evidence) -> Comparison:
    mu = data_constants(evidence).mu
    return judgement(mu < 1.0 - ROUNDING, 1.0 - mu, f"mu = {mu:.6g}")


@drawn("aggregates")
def _aggregates(evidence: Evidence) -> tuple[BoolArray, FloatArray]:
    """Activity (k, n) and x_a (k, d) of drawn directions and of the network's neurons."""
    data = data_constants(evidence)
    w = np.vstack([evidence.network.w, seeded().standard_normal((NUM_DRAWS, data.X.shape[1]))])
    active = w @ data.X.T > 0.0
    return active, np.asarray(np.where(active, data.y, evidence.leak * data.y) @ data.X)


def aggregate_lengths(evidence: Evidence, *, sharp: bool) -> Values:
    """|x_a| over sqrt(mu) X_min times the number of active samples, or over the middle expression."""
    data, (active, sums) = data_constants(evidence), _aggregates(evidence)
    k = active.sum(axis=1).astype(np.float64)
    if sharp:
        lower = data.smallest_norm * np.sqrt(k + data.mu * k * (k - 1.0))
    else:
        lower = math.sqrt(data.mu) * data.smallest_norm * (k + evidence.leak * (data.n - k))
    yield np.linalg.norm(sums[lower > 0.0], axis=1) / lower[lower > 0.0]


def _extreme_vectors(evidence: Evidence) -> Comparison:
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


@drawn("selections")
def _selections(evidence: Evidence) -> FloatArray:
    """Elements of Filippov's set-valued x_a at directions on one or two hyperplanes, shape (k, d)."""
    data, rng = data_constants(evidence), seeded()
    found = []
    for size in (1, 2):
        for on in combinations(range(data.n), size):
            for w in _on_hyperplanes(data, on, rng):
                choices = (*product((0.0, 1.0), repeat=size), tuple(rng.random(size)))
                found += [_selection(data, w, on, choice) for choice in choices]
    return np.array(found).reshape(-1, data.X.shape[1])


def _selection(data: DataConstants, w: FloatArray, on: tuple[int, ...], choice: tuple[float, ...]) -> FloatArray:
    """x_a at w with the chosen slopes on the hyperplanes it stands on, shape (d,)."""
    weights = (w @ data.X.T > ON_BOUNDARY).astype(np.float64)
    weights[list(on)] = choice
    return np.asarray((weights * data.y) @ data.X)


def _on_hyperplanes(data: DataConstants, on: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
    """Two unit directions on the hyperplanes of the given samples; none where only 0 lies on all of them."""
    _, singular, right = np.linalg.svd(data.X[list(on)])
    basis = right[int(np.sum(singular > 1e-12 * singular[0])) :]
    if len(basis) == 0:
        return np.zeros((0, data.X.shape[1]))
    first = unit_rows(rng.standard_normal(len(basis)) @ basis)
    return np.array([first, -first])


def _selections_push_one_way(evidence: Evidence) -> Comparison:
    """y_i <x_i, v>/(|x_i||v|) >= mu for every selection v != 0: v lies in K, so it crosses one way."""
    data, chosen = data_constants(evidence), _selections(evidence)
    lengths = np.linalg.norm(chosen, axis=1)
    moving = lengths > ROUNDING * data.largest_norm
    require(np.any(moving), "no selection beside 0 was found")
    smallest = float(np.min((chosen[moving] / lengths[moving, None]) @ data.unit_signed.T))
    words = f"smallest cosine of {int(np.sum(moving))} selections with a y_i x_i is {smallest:.6g}, mu = {data.mu:.6g}"
    return at_least(smallest, data.mu, allowance=ROUNDING, detail=words)


def _exit_is_unique(evidence: Evidence) -> Comparison:
    """At an intersection of two hyperplanes each side's velocity, whatever the selection, leaves both the same way.

    On the boundary of S_dead 0 is a selection, and a regular solution stays.
    """
    data, rng = data_constants(evidence), seeded()
    signs, wrong = evidence.witness("exit labels", lambda: data.y), []
    for on in combinations(range(data.n), 2):
        for w in _on_hyperplanes(data, on, rng):
            if np.any(w @ data.X.T > ON_BOUNDARY):
                pulls = [_selection(data, w, on, choice) for choice in product((0.0, 1.0), repeat=2)]
                wrong += [bool(np.any(signs[list(on)] * (data.X[list(on)] @ pull) <= 0.0)) for pull in pulls]
    return none_of(sum(require(wrong, "no intersection of two hyperplanes beside 0")), total=len(wrong))
