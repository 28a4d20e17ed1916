"""Kernels of the closed-form alignment phase: arrays in named tuples in, overwritten in place.

Samples come grouped by wall: row h of `normals` is a unit vector u_h, and h pulls a neuron with strength
`plus[h]` along u_h where <w, u_h> > 0 and `minus[h]` where < 0; on the wall any strength between is allowed.
`side[h]` in {-1, 0, 1} says where the neuron is, 0 on the wall. With constant D it moves by the boost
(p, a) -> (p cosh x + a sinh x, p sinh x + a cosh x), p = <w, D>/|D|, x = |D| t.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from reluflow.arrays import (
    BoolArray,
    BoolVector,
    FloatMatrix,
    FloatVector,
    IntVector,
    SignMatrix,
    SignVector,
    WordVector,
)
from reluflow.compilation.kernel import borrowing_kernel, kernel
from reluflow.geometry.alignment_scratch_kernels import Scratch, first_root, make_scratch
from reluflow.geometry.boundary import decision
from reluflow.geometry.boundary.events import DEATH, REFRACTION, RIDGE, SLIDE_ENTRY, SLIDE_EXIT
from reluflow.geometry.boundary.minimum_norm import along, norm, orthonormalise, remove_span
from reluflow.geometry.boundary.tolerance import GIVEN, ROUNDING

# How a neuron's flow stopped. SHRINKING is for ever on a ray that attracts although D points back along it; ORIGIN is
# w = 0, which an output weight with |a| > |w| reaches there.
FINAL, DEAD, STATIONARY, SHRINKING, HORIZON, AT_RIDGE, UNDECIDED, EVENT_LIMIT, ORIGIN = range(9)

BALANCED = 1e-14  # |a^2 - |w|^2| below this times |w|^2 is balancedness to rounding


class FrozenWalls(NamedTuple):
    """Walls with frozen strengths, num in dimension d."""

    normals: FloatMatrix  # (num, d)
    plus: FloatVector  # (num,)
    minus: FloatVector  # (num,)
    weights: IntVector  # (num,) samples that each stands for
    scale: float  # sum of the largest strengths: what a force is small against


class Extent(NamedTuple):
    """How far to follow neurons; with `carry` their state is that at `horizon`, else that at the last event."""

    horizon: float
    carry: bool
    max_events: int


class FrozenPath(NamedTuple):
    """What the kernels say of each neuron.

    The state is exp(log_norms) * (w, a); `sides` of walls and the last D in `vectors`; `statuses` are the codes above;
    `tends_to_vector` is whether w tends to +D/|D| rather than -D/|D|; `rows` counts the events, which lie neuron by
    neuron in the `event_` arrays if they were asked for; `keys` agree where final sides and limits do.
    """

    w: FloatMatrix
    a: FloatVector
    log_norms: FloatVector
    sides: SignMatrix
    vectors: FloatMatrix
    statuses: SignVector
    times: FloatVector
    crossings: IntVector
    slides: IntVector
    rows: IntVector
    tends_to_vector: BoolVector
    is_saddle: BoolVector
    keys: WordVector
    event_walls: IntVector
    event_times: FloatVector
    event_kinds: SignVector

    @property
    def has_limit(self) -> BoolArray:
        """Whether w/|w| converges to an extremal direction."""
        return np.asarray((self.statuses == FINAL) | (self.statuses == SHRINKING))


@njit(inline="always")
def _decide_on(walls: FrozenWalls, count: int, sign: float, tolerance: float, scratch: Scratch) -> int:
    """`decide` for the first `count` of the touched walls; the others pull from the sides in `now`."""
    normals, plus, minus = walls.normals, walls.plus, walls.minus
    now, touched, rest = scratch.now, scratch.touched, scratch.rest
    for c in range(rest.shape[0]):
        rest[c] = 0.0
    for h in range(normals.shape[0]):
        if now[h] != 0:
            strength = plus[h] if now[h] > 0 else minus[h]
            for c in range(rest.shape[0]):
                rest[c] += strength * normals[h, c]
    if count == 0:  # a neuron that has not met any: nothing to decide
        for c in range(rest.shape[0]):
            scratch.choice.pull[c] = rest[c]
        return decision.ONE_WAY
    if count == 1:
        h = touched[0]
        if decision.passes_one_wall(normals, h, plus[h], minus[h], rest, sign, tolerance, scratch.choice):
            return decision.ONE_WAY
    for i in range(count):
        h = touched[i]
        scratch.plus[i], scratch.minus[i] = plus[h], minus[h]
        for c in range(rest.shape[0]):
            scratch.normals[i, c] = normals[h, c]
    return decision.decide(
        scratch.normals[:count], scratch.plus[:count], scratch.minus[:count], rest, sign, scratch.none[:count],
        tolerance, decision.STOP + 0 * count, scratch.choice,
    )  # fmt: skip


@njit(inline="always")
def flow_neuron(
    walls: FrozenWalls, w: FloatVector, a: float, extent: Extent, side: SignVector, D: FloatVector, scratch: Scratch,
    record: bool, path: FrozenPath, first_row: int,
) -> tuple[int, float, float, float, int, int, int, bool]:  # fmt: skip
    """Carry one neuron through its events, which are written into `path` from `first_row` on where `record` says so.

    `w`, `side` and `D` are overwritten. Returns (status, a, log norm, time of the last event, crossings, slides, rows
    of the event log, whether w tends to +D/|D|).
    """
    normals, plus, minus, weights = walls.normals, walls.plus, walls.minus, walls.weights
    horizon, carry, max_events = extent.horizon, extent.carry, extent.max_events
    num, d = normals.shape
    now, touched, e, perp, choice = scratch.now, scratch.touched, scratch.e, scratch.perp, scratch.choice
    basis, triangle, tolerance = scratch.basis, scratch.triangle, ROUNDING * walls.scale
    log_norm = time = 0.0
    crossings = slides = rows = 0
    length = norm(w)
    imbalance = (abs(a) - length) * (abs(a) + length)
    is_balanced = a != 0.0 and abs(imbalance) <= BALANCED * length**2
    if is_balanced:
        a, imbalance = (length if a > 0 else -length), 0.0
    touching = 0
    for h in range(num):
        dot = along(normals, h, w)
        now[h] = 0 if abs(dot) <= GIVEN * length else (1 if dot > 0 else -1)
        side[h] = now[h]
        if now[h] == 0:
            touched[touching] = h
            touching += 1
    if length == 0.0:
        return (DEAD if a == 0.0 else ORIGIN), a, log_norm, time, 0, 0, 0, False
    for event in range(max_events + 1):
        if touching > 0:
            rank = orthonormalise(normals, touched, 0 * touching, touching, basis, triangle)
            remove_span(basis, rank, w)
        length = norm(w)
        if is_balanced:
            a = length if a > 0 else -length
        size = np.hypot(length, a)
        for c in range(d):
            w[c] /= size
        a /= size
        imbalance /= size * size
        log_norm += np.log(size)
        length /= size
        sign = 1.0 if a > 0 else -1.0
        if a == 0.0:  # w stands still and da/dt = <w, D>, the same number for every admissible D
            growth = 0.0
            for h in range(num):
                if now[h] != 0:
                    growth += (plus[h] if now[h] > 0 else minus[h]) * along(normals, h, w)
            sign = 1.0 if growth > 0 else -1.0
        verdict = _decide_on(walls, touching, sign, tolerance, scratch)
        for c in range(d):
            D[c] = choice.pull[c]
        speed = norm(D)
        is_dead = verdict == decision.ONE_WAY and speed <= tolerance
        for i in range(touching):
            h = touched[i]
            kind = -1
            if verdict == decision.ONE_WAY:
                # under frozen forces a neuron without speed off a wall is on it for ever, whatever its strength there
                new = 0 if abs(along(normals, h, D)) <= tolerance else choice.sides[i]
                if side[h] != 0 and new == -side[h]:
                    kind = REFRACTION
                    crossings += weights[h]
                elif new == 0 and (side[h] != 0 or event == 0) and abs(plus[h] - minus[h]) > tolerance:
                    kind = DEATH if is_dead else SLIDE_ENTRY
                    slides += 0 if is_dead else weights[h]
                elif side[h] == 0 and new != 0 and event > 0:
                    kind = SLIDE_EXIT
                side[h] = new
            else:
                if sign * (plus[h] - minus[h]) > tolerance:
                    kind = RIDGE
                side[h] = 0
            if kind >= 0:
                if record:
                    row = first_row + rows
                    path.event_walls[row], path.event_times[row], path.event_kinds[row] = h, time, kind
                rows += 1
        if verdict != decision.ONE_WAY:
            for c in range(d):
                D[c] = 0.0
            status = AT_RIDGE if verdict == decision.SEVERAL_WAYS else UNDECIDED
            return status, a, log_norm, time, crossings, slides, rows, sign > 0
        if is_dead:
            for c in range(d):
                D[c] = 0.0
            return DEAD, a, log_norm, time, crossings, slides, rows, a > 0
        touching = 0
        for h in range(num):
            if side[h] == 0 and abs(plus[h] - minus[h]) > tolerance:
                touched[touching] = h
                touching += 1
        is_sliding = touching > 0
        on_ray = (
            touching >= d - 1 and orthonormalise(normals, touched, 0 * touching, touching, basis, triangle) == d - 1
        )
        p = 0.0
        for c in range(d):
            e[c] = D[c] / speed
            p += e[c] * w[c]
        if on_ray:  # the only direction left is D's, so what w has across it is rounding
            for c in range(d):
                w[c] = p * e[c]
        for c in range(d):
            perp[c] = w[c] - p * e[c]
        across = norm(perp) ** 2
        gap = imbalance + across  # a^2 - p^2, without the cancellation
        is_opposite = p * a <= 0 and (
            (is_balanced and across <= (GIVEN * length) ** 2) or abs(gap) <= 2e-16 * (abs(imbalance) + across)
        )
        if is_opposite:
            rising, falling = 0.0, 0.5 * (p - a)
            if is_balanced:
                for c in range(d):
                    perp[c], w[c] = 0.0, p * e[c]
        elif p * a > 0:
            rising = 0.5 * (p + a)
            falling = -0.25 * gap / rising
        else:
            falling = 0.5 * (p - a)
            rising = -0.25 * gap / falling
        nearest, hit = np.inf, -1
        for h in range(num):
            if side[h] == 0 or on_ray or (is_opposite and is_balanced):
                continue
            slope, dot = along(normals, h, e), along(normals, h, w)
            if abs(slope) * speed <= tolerance:  # D lies in h, which is then approached for ever, not reached
                slope = 0.0
            if now[h] == 0 or dot * side[h] < 0:
                dot = 0.0
            growth = first_root(slope * rising, dot + slope * a, dot)
            if growth < nearest:
                nearest, hit = growth, h
        # Where a changes sign the valley turns into a ridge; on a ray, |a| > |w| instead leads to w = 0.
        if is_sliding and not is_balanced and p * a < 0 and abs(p) > abs(a):
            growth = np.expm1(np.arctanh(-a / p))
            if growth < nearest:
                nearest, hit = growth, num
        if on_ray and not is_balanced and p * a < 0 and abs(p) < abs(a):
            nearest, hit = np.expm1(np.arctanh(-p / a)), num + 1
        stretch = np.log1p(nearest)
        if hit < 0 or time + stretch / speed > horizon or event == max_events:
            status = FINAL if hit < 0 else (HORIZON if time + stretch / speed > horizon else EVENT_LIMIT)
            is_positive = rising > 0 or (rising == 0 and a > 0)
            if hit < 0 and rising == 0:
                status = SHRINKING if on_ray and p * a < 0 else STATIONARY
                is_positive = p > 0
            if carry and status != EVENT_LIMIT:
                stretch = speed * (horizon - time)
                if rising == 0:
                    a, log_norm = settle(w, a, e, perp, falling, stretch, log_norm)
                else:
                    a = boost(w, a, e, perp, rising, falling, stretch, is_balanced)
                    log_norm += stretch
                size = np.hypot(norm(w), a)
                for c in range(d):
                    w[c] /= size
                a /= size
                log_norm += np.log(size)
            return status, a, log_norm, time, crossings, slides, rows, is_positive
        before = length * np.exp(-stretch)
        a = boost(w, a, e, perp, rising, falling, stretch, is_balanced)
        if hit == num:
            a = 0.0
        if hit == num + 1:
            for c in range(d):
                w[c] = 0.0
        time += stretch / speed
        log_norm += stretch
        imbalance *= np.exp(-2.0 * stretch)
        length = norm(w)
        if length <= ROUNDING * before:
            for c in range(d):
                w[c] = 0.0
            for h in range(num):
                side[h] = 0
            return ORIGIN, (1.0 if a > 0 else -1.0), log_norm + np.log(abs(a)), time, crossings, slides, rows, False
        touching = 0
        for h in range(num):
            is_on = h == hit or side[h] == 0 or abs(along(normals, h, w)) <= ROUNDING * max(length, before)
            now[h] = 0 if is_on else side[h]
            if is_on:
                touched[touching] = h
                touching += 1
    return EVENT_LIMIT, a, log_norm, time, crossings, slides, rows, a > 0


@borrowing_kernel()
def boost(
    w: FloatVector,
    a: float,
    e: FloatVector,
    perp: FloatVector,
    rising: float,
    falling: float,
    stretch: float,
    is_balanced: bool,
) -> float:
    """Overwrite w with e^(-x) w(x) and return e^(-x) a(x) for the boost of rapidity x = `stretch`."""
    shrink = np.exp(-stretch)
    for c in range(w.shape[0]):
        w[c] = perp[c] * shrink + e[c] * (rising + falling * shrink * shrink)
    if is_balanced:
        return norm(w) if a > 0 else -norm(w)
    return float(rising - falling * shrink * shrink)


@borrowing_kernel()
def settle(
    w: FloatVector, a: float, e: FloatVector, perp: FloatVector, falling: float, stretch: float, log_norm: float
) -> tuple[float, float]:
    """The boost of a neuron that has no rising part: it shrinks on the opposite ray, or comes to rest across D."""
    if norm(perp) == 0.0:
        return a, log_norm - stretch
    shrink = np.exp(-stretch)
    for c in range(w.shape[0]):
        w[c] = perp[c] + e[c] * falling * shrink
    return -falling * shrink, log_norm


@borrowing_kernel()
def limit_is_saddle(walls: FrozenWalls, side: SignVector, D: FloatVector, is_positive: bool) -> bool:
    """Whether G rises (a > 0) or falls (a < 0) to first order away from the limit direction."""
    sign, tolerance = (1.0 if is_positive else -1.0), ROUNDING * walls.scale
    for h in range(walls.normals.shape[0]):
        is_on = side[h] == 0 or abs(along(walls.normals, h, D)) <= tolerance
        if is_on and sign * (walls.plus[h] - walls.minus[h]) > tolerance:
            return True
    return False


@kernel(entry=True, nogil=True)
def flow_neurons(
    chosen: IntVector, walls: FrozenWalls, extent: Extent, path: FrozenPath, record: bool, first_rows: IntVector
) -> None:
    """Carry the chosen neurons of `path` and write what became of them into it; see `flow_neuron`."""
    scratch = make_scratch(walls.normals.shape[0], walls.normals.shape[1])
    _flow_neurons(chosen, walls, extent, path, record, first_rows, scratch)


@borrowing_kernel()
def _flow_neurons(
    chosen: IntVector,
    walls: FrozenWalls,
    extent: Extent,
    path: FrozenPath,
    record: bool,
    first_rows: IntVector,
    scratch: Scratch,
) -> None:
    for j in chosen:
        side, D = path.sides[j], path.vectors[j]
        status, a, log_norm, time, crossings, slides, rows, is_positive = flow_neuron(
            walls, path.w[j], path.a[j], extent, side, D, scratch, record, path, first_rows[j]
        )
        path.statuses[j], path.a[j], path.times[j] = status, a, time
        path.log_norms[j] += log_norm
        path.crossings[j], path.slides[j], path.rows[j] = crossings, slides, rows
        path.tends_to_vector[j] = is_positive
        path.is_saddle[j] = status == FINAL and limit_is_saddle(walls, side, D, is_positive)
        code = np.uint64(2 if is_positive else 1)
        for h in range(side.shape[0]):
            code = code * np.uint64(6364136223846793005) + np.uint64(side[h] + 2)
        path.keys[j] = code
