"""Machine-code kernels that carry one neuron alone through given forces, from event to event.

Given the pulls of all walls as polynomials of tau in [0, 1], a neuron is a linear ODE of its own, dw = a D dtau,
da = <w, D> dtau with a polynomial D, so (w, a) is an entire power series and its pre-activations are polynomials. The
path is cut into pieces on which a few terms of the series give all digits; events are roots of the polynomials.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from reluflow.arrays import FloatArray, IntArray, SignArray
from reluflow.dynamics.flow.bernstein_kernels import first_root
from reluflow.dynamics.flow.path_piece_kernels import (
    MOST_TERMS,
    ON_WALL,
    first_crossing,
    first_exit,
    place,
    series,
    shifted,
    to_bernstein,
)
from reluflow.dynamics.flow.sliding_kernels import (
    Pulls,
    Slide,
    add_wall,
    are_inside,
    dot,
    gather,
    is_silent,
    norm,
    pull_at,
    refresh,
    set_side,
    solve_triangle,
    split,
    strength_of,
    value,
)
from reluflow.geometry.boundary.decision import SEVERAL_WAYS, STOP, decide, make_choice
from reluflow.geometry.boundary.tolerance import ROUNDING

REFRACTION, SLIDE_ENTRY, SLIDE_EXIT, DEATH, RIDGE, SIGN_CHANGE = range(6)  # as `KINDS`
NO_EVENT = -1
DONE, AT_RIDGE, AT_ORIGIN, BUFFER_FULL, STUCK, TOO_FAST = 0, 1, 2, 3, 4, 5  # how a path ended

_LONGEST_PIECE = 0.6  # integral of |D| over one piece: the series then needs a dozen terms at most
_MOST_RAPIDITY = 40.0  # a neuron that would grow by e^40 in one step follows forces that are none
_SHORTEST_WINDOW = 1e-4  # of a step
_AT_ORIGIN = 1e-11  # |w| below this fraction of |z|: all walls are met at once
_MOST_IDLE = 24  # events in a row that move no clock


class Paths(NamedTuple):
    """Where the sweep writes: places at the given points, the ends, the events; m neurons, P points, E events each."""

    places: FloatArray  # (m, P, d + 1)
    ends: FloatArray  # (m, d + 1)
    sides: SignArray  # (m, B)
    pinned: SignArray  # (m, B)
    event_walls: IntArray  # (m, E)
    event_taus: FloatArray  # (m, E)
    event_kinds: SignArray  # (m, E)
    event_kinks: FloatArray  # (m, E) jump of a D, times a: what the event bends the outputs by
    num_events: IntArray  # (m,)
    statuses: SignArray  # (m,)
    stops: FloatArray  # (m,) tau at which the path ended, 1 where it was DONE


@njit(cache=True)
def _meet_wall(sign: float, side: SignArray, pinned: SignArray, slide: Slide, pulls: Pulls, b: int, tau: float) -> int:
    """What happens to a neuron that arrives at a wall, alone or while it slides on others; the kind of event.

    The normal speeds on the two sides decide, seen within the walls it slides on; where passing or stopping would take
    it off one of those, all of them are decided together.
    """
    q, d = slide.rest.shape
    count, sigma = slide.held[0], side[b]
    tangent = pulls.normals[b].copy()
    along, answer = np.empty(count + 1), np.empty(count + 1)
    split(tangent, slide, along)
    solve_triangle(along, slide, answer)
    square = dot(tangent, tangent)
    here = np.empty(d)
    pull_at(slide.pull, tau, here)
    jump, drift = 0.0, 0.0
    for row in range(q - 1, -1, -1):
        change = strength_of(pulls, b, -sigma, row) - strength_of(pulls, b, sigma, row)
        drift = drift * tau + jump
        jump = jump * tau + change
    speed = -sigma * sign * (dot(here, tangent) + jump * square)  # beyond the wall, away from it
    scale = abs(jump) + norm(here)
    passes = speed > 0.0
    side[b] = -sigma
    if is_silent(side, pulls):
        slide.rest[:] = 0.0
        slide.pull[:] = 0.0
        return DEATH
    side[b] = sigma
    if abs(speed) <= ROUNDING * scale:  # nothing moves it at this very moment, so what follows decides
        slope = drift * square
        for row in range(1, q):
            slope += row * tau ** (row - 1) * dot(slide.pull[row], tangent)
        passes = -sigma * sign * slope >= 0.0
    if passes:
        set_side(slide, pulls, side, b, -sigma)
        for row in range(q):
            change = strength_of(pulls, b, -sigma, row) - strength_of(pulls, b, sigma, row)
            for axis in range(d):
                slide.pull[row, axis] += change * tangent[axis]
            for i in range(count):
                slide.multipliers[row, i] += change * answer[i]
        if count == 0 or are_inside(slide, pulls, sign, pinned, tau):
            return REFRACTION
    else:
        set_side(slide, pulls, side, b, 0)
        add_wall(b, pulls.normals, slide)
        refresh(slide)
        if count == 0 or are_inside(slide, pulls, sign, pinned, tau):
            return SLIDE_ENTRY
        slide.held[0] = count
    set_side(slide, pulls, side, b, sigma)
    return _decide_together(sign, side, pinned, slide, pulls, b, tau)


@njit(cache=True)
def _decide_together(
    sign: float, side: SignArray, pinned: SignArray, slide: Slide, pulls: Pulls, wall: int, tau: float
) -> int:
    """The general decision for a neuron on several walls, one of which it arrives at; the kind of event there."""
    d, count, sigma = slide.rest.shape[1], slide.held[0], side[wall]
    before = np.zeros(count + 1, dtype=np.int8)
    chosen = np.empty(count + 1, dtype=np.int64)
    chosen[:count] = slide.walls[:count]
    chosen[count] = wall
    before[count] = sigma
    normals = np.empty((count + 1, d))
    plus, minus = np.empty(count + 1), np.empty(count + 1)
    for i in range(count + 1):
        normals[i] = pulls.normals[chosen[i]]
        plus[i] = value(pulls.plus[chosen[i]], tau)
        minus[i] = value(pulls.minus[chosen[i]], tau)
    set_side(slide, pulls, side, wall, 0)
    others = np.empty(d)
    pull_at(slide.rest, tau, others)
    scale = np.sum(np.abs(plus)) + np.sum(np.abs(minus)) + norm(others)
    choice = make_choice(count + 1, d)
    if decide(normals, plus, minus, others, sign, before, ROUNDING * scale, STOP, choice) == SEVERAL_WAYS:
        set_side(slide, pulls, side, wall, sigma)
        refresh(slide)
        return RIDGE
    for i in range(count + 1):
        if choice.sides[i] != 0:
            set_side(slide, pulls, side, chosen[i], choice.sides[i])
    is_dead = norm(choice.pull) <= ROUNDING * scale
    if is_dead and is_silent(side, pulls):
        slide.rest[:] = 0.0
    gather(side, pulls.normals, slide)
    if choice.sides[count] == 0:
        return SLIDE_ENTRY
    if choice.sides[count] == sigma:
        return NO_EVENT
    return DEATH if is_dead else REFRACTION


@njit(cache=True)
def _bend(before: FloatArray, after: FloatArray, a: float) -> float:
    """a^2 |D after - D before|: what an event bends the outputs by."""
    total = 0.0
    for axis in range(before.shape[0]):
        total += (after[axis] - before[axis]) ** 2
    return float(a * a * np.sqrt(total))


@njit(cache=True)
def carry_neuron(
    w: FloatArray, a: float, side: SignArray, pinned: SignArray, rest: FloatArray, heights: FloatArray,
    changes_sign: bool, pulls: Pulls, points: FloatArray, row: int, out: Paths,
) -> None:  # fmt: skip
    """Carry one neuron from tau = 0 to 1; `w`, `side`, `rest` (its D without the sliding walls) are used up."""
    q, d = rest.shape
    num_walls, num_points = side.shape[0], points.shape[0]
    most = min(d, num_walls) + 1
    slide = Slide(
        np.zeros(1, dtype=np.int64), np.empty(most, dtype=np.int64), np.empty((most, d)), np.empty((most, most)),
        np.empty((q, most)), rest, np.empty((q, d)),
    )  # fmt: skip
    gather(side, pulls.normals, slide)
    near = np.empty(num_walls, dtype=np.int64)
    num_near, num_events, idle = 0, 0, 0
    begin, before, after = w.copy(), np.empty(d), np.empty(d)
    along = np.empty(most)
    local = np.empty((q, d))
    terms_w, terms_a = np.empty((MOST_TERMS + 1, d)), np.empty(MOST_TERMS + 1)
    tau, following, status, window, radius = 0.0, 0, DONE, 1.0, -1.0
    sign = 1.0 if a > 0.0 else (-1.0 if a < 0.0 else 0.0)
    while True:
        if sign == 0.0:  # a = 0 takes the sign that <w, D> is about to give it
            pull_at(slide.pull, tau, before)
            sign = np.sign(dot(w, before))
        shifted(slide.pull, tau, 1.0, local)
        strength, left, power = 0.0, 1.0 - tau, 1.0
        for i in range(q):
            strength += norm(local[i]) * power
            power *= left
        if strength == 0.0 and slide.held[0] == 0:
            break
        if not strength * left <= _MOST_RAPIDITY:
            status = TOO_FAST
            break
        length = min(left, window)
        if strength * length > _LONGEST_PIECE:
            length = _LONGEST_PIECE / strength
        degree = -1
        while degree < 0:
            shifted(slide.pull, tau, length, local)
            for i in range(q):
                for axis in range(d):
                    local[i, axis] *= length
            degree = series(w, a, local, terms_w, terms_a)
            if degree < 0:
                length *= 0.5
        size = np.sqrt(dot(w, w) + a * a)
        # the first event of the piece
        reach, travelled = 0.0, 0.0
        for i in range(1, degree + 1):
            reach += norm(terms_w[i])
        for axis in range(d):
            travelled += (w[axis] - begin[axis]) ** 2
        travelled = np.sqrt(travelled)
        if travelled + reach > radius:
            radius = 1.5 * (travelled + reach) + reach * (left / length - 1.0)
            num_near = 0
            for b in range(num_walls):
                if abs(heights[b]) <= radius:
                    near[num_near] = b
                    num_near += 1
        theta, wall = first_crossing(w, terms_w, degree, size, side, pulls, heights, travelled, near, num_near)
        is_leaving, to_side, is_changing = False, 0, False
        if slide.held[0] > 0:
            exit_theta, exit_wall, exit_side = first_exit(slide, pulls, sign, pinned, tau, length)
            if exit_theta <= min(theta, 1.0):
                theta, wall, to_side, is_leaving = exit_theta, exit_wall, exit_side, True
        if changes_sign:
            root = first_root(to_bernstein(sign * terms_a[: degree + 1], degree), ON_WALL * size)
            if root < theta:
                theta, is_changing = root, True
        has_event = theta <= 1.0
        theta = min(theta, 1.0)
        # places on the way, and the end of the piece
        end = tau + length * theta
        if not has_event and length >= left:
            end = 1.0
        while following < num_points and (points[following] <= end or (end >= 1.0 and not has_event)):
            at = min((points[following] - tau) / length, 1.0)
            out.places[row, following, d] = place(terms_w, terms_a, degree, at, out.places[row, following, :d])
            following += 1
        a = place(terms_w, terms_a, degree, theta, w)
        split(w, slide, along)
        idle = idle + 1 if end <= tau else 0
        tau = end
        # look a few events ahead: a short piece has few walls near it and a short series
        window = max(4.0 * length * theta, _SHORTEST_WINDOW) if has_event else 3.0 * length
        if not has_event:
            if tau >= 1.0:
                break
            continue
        if num_events + slide.held[0] >= out.event_walls.shape[1]:
            status = BUFFER_FULL
            break
        if idle > _MOST_IDLE:
            status = STUCK
            break
        pull_at(slide.pull, tau, before)
        kind = SIGN_CHANGE
        if is_changing:
            a, sign, wall = 0.0, -sign, -1
            if slide.held[0] > 0:
                status = AT_RIDGE
                break
        elif is_leaving:
            kind = SLIDE_EXIT
            pinned[wall] = 0
            set_side(slide, pulls, side, wall, to_side)
            gather(side, pulls.normals, slide)
        else:
            height = dot(w, pulls.normals[wall])
            for axis in range(d):
                w[axis] -= height * pulls.normals[wall, axis]
            if norm(w) <= _AT_ORIGIN * size and num_walls > 1:
                status = AT_ORIGIN
                break
            held = slide.walls[: slide.held[0]].copy()
            kind = _meet_wall(sign, side, pinned, slide, pulls, wall, tau)
            if kind == RIDGE:
                status = AT_RIDGE
                break
            for b in held:  # walls it leaves at the same instant
                if side[b] != 0:
                    pinned[b] = 0
                    out.event_walls[row, num_events] = b
                    out.event_taus[row, num_events] = tau
                    out.event_kinds[row, num_events] = SLIDE_EXIT
                    out.event_kinks[row, num_events] = 0.0
                    num_events += 1
        split(w, slide, along)
        if kind != NO_EVENT:
            pull_at(slide.pull, tau, after)
            out.event_walls[row, num_events] = wall
            out.event_taus[row, num_events] = tau
            out.event_kinds[row, num_events] = kind
            out.event_kinks[row, num_events] = _bend(before, after, a)
            num_events += 1
        if tau >= 1.0:
            break
    while following < num_points:
        out.places[row, following, :d] = w
        out.places[row, following, d] = a
        following += 1
    out.ends[row, :d] = w
    out.ends[row, d] = a
    out.sides[row] = side
    out.pinned[row] = pinned
    out.num_events[row] = num_events
    out.statuses[row] = status
    out.stops[row] = 1.0 if status == DONE else tau


@njit(cache=True, parallel=True)
def carry_all(
    neurons: IntArray, z: FloatArray, sides: SignArray, pinned: SignArray, rests: FloatArray, heights: FloatArray,
    changes_sign: NDArray[np.bool_], pulls: Pulls, points: FloatArray, out: Paths,
) -> None:  # fmt: skip
    """Carry many neurons, each alone; row i of the results is neuron `neurons[i]`."""
    for member in prange(neurons.shape[0]):
        i = int(np.int64(member))  # one type for the index, hence one compiled path
        j = neurons[i]
        d = z.shape[1] - 1
        carry_neuron(
            z[j, :d].copy(), z[j, d], sides[j].copy(), pinned[j].copy(), rests[i].copy(), heights[i],
            changes_sign[j], pulls, points, i, out,
        )  # fmt: skip
