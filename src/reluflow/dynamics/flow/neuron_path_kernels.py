"""Machine-code kernels that carry one neuron alone through given forces, from event to event.

Given the pulls of all walls as polynomials of tau in [0, 1], a neuron is a linear ODE of its own, dw = a D dtau,
da = <w, D> dtau with a polynomial D, so (w, a) is an entire power series and its pre-activations are polynomials; so it
is with a frozen output layer, where dw = (a D - decay w) dtau (weight decay of whole neurons turns none of them). The
path is cut into pieces on which a few terms of the series give all digits; events are roots of the polynomials.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from reluflow.arrays import (
    BoolVector,
    FloatArray,
    FloatCube,
    FloatMatrix,
    FloatVector,
    IntMatrix,
    IntVector,
    SignArray,
    SignMatrix,
    SignVector,
)
from reluflow.compilation.kernel import kernel
from reluflow.dynamics.flow.arrival_kernels import NO_EVENT, REFRACTION, RIDGE, SIGN_CHANGE, SLIDE_EXIT, meet_wall
from reluflow.dynamics.flow.bernstein_kernels import first_root_of_powers
from reluflow.dynamics.flow.neuron_series_kernels import (
    MOST_TERMS,
    PullAhead,
    Series,
    expand,
    expand_straight,
    multiply,
    place,
    shifted,
    stretched,
)
from reluflow.dynamics.flow.next_event_kernels import ON_WALL, choose_by_way, first_crossing, first_exit
from reluflow.dynamics.flow.sliding_kernels import (
    Pulls,
    Slide,
    SlideStarts,
    copy_vector,
    dot,
    leave_wall,
    norm,
    pull_at,
    restore,
    take_off,
    value,
)
from reluflow.dynamics.flow.wall_survey_kernels import (
    Outlook,
    choose_by_survey,
    compare_pulls,
    follow,
    no_survey,
    note_heights,
    outlook,
    survey_walls,
)

DONE, AT_RIDGE, AT_ORIGIN, BUFFER_FULL, STUCK, TOO_FAST = 0, 1, 2, 3, 4, 5  # how a path ended

_LONGEST_PIECE = 0.6  # integral of |D| over one piece: the series then needs a dozen terms at most
_MOST_RAPIDITY = 40.0  # a neuron that would grow by e^40 in one step follows forces that are none
_PIECES_AHEAD = 6.0  # how far ahead walls are gathered, in units of what a piece can reach
_LATER_DRIFT = 0.01  # of the way: what crossings on the way are foreseen to add to the drift
_SOME_WALLS = 0.5  # looks, as a share of the walls, that tell at which pace there are more
_SHORTEST_WINDOW = 1e-4  # of a step
_AT_ORIGIN = 1e-11  # |w| below this fraction of |z|: all walls are met at once
_JUST_BEFORE = 1e-13  # a neuron that has arrived there is left so far from it, on the side it comes from
_MOST_IDLE = 24  # events in a row that move no clock
_MOST_MEETINGS = 100  # with every wall, whatever comes of them: a neuron that has more follows forces that are none


NOTHING_AHEAD = Outlook(0.0, -1.0, 0.0, 0.0)


class StepStart(NamedTuple):
    """The neurons that move at the start of a step: rows of those of the run, m of N."""

    neurons: IntVector  # (m,)
    z: FloatMatrix  # (N, d + 1)
    sides: SignMatrix  # (N, B)
    pinned: SignMatrix  # (N, B)
    changes_sign: BoolVector  # (N,)
    heights: FloatMatrix  # (m, B)


class Paths(NamedTuple):
    """Where the sweep writes: places at the given points, the ends, the events; m neurons, P points, E events each."""

    places: FloatCube  # (m, P, d + 1)
    ends: FloatMatrix  # (m, d + 1)
    sides: SignMatrix  # (m, B)
    pinned: SignMatrix  # (m, B)
    event_walls: IntMatrix  # (m, E)
    event_taus: FloatMatrix  # (m, E)
    event_kinds: SignMatrix  # (m, E)
    event_sides: SignMatrix  # (m, E) of the wall, on which the event leaves the neuron; 0: it slides, or there is none
    event_kinks: FloatMatrix  # (m, E) jump of a D, times a: what the event bends the outputs by
    num_events: IntVector  # (m,)
    statuses: SignVector  # (m,)
    stops: FloatVector  # (m,) tau at which the path ended, 1 where it was DONE


@kernel()
def _bend(before: FloatVector, after: FloatVector, a: float) -> float:
    """a^2 |D after - D before|: what an event bends the outputs by."""
    total = 0.0
    for axis in range(before.shape[0]):
        total += (after[axis] - before[axis]) ** 2
    return float(a * a * np.sqrt(total))


@njit(inline="always")  # into its one caller: compiled once
def carry_neuron(
    w: FloatArray, a: float, side: SignArray, pinned: SignArray, rest: FloatArray, heights: FloatArray,
    changes_sign: bool, starts: SlideStarts, pulls: Pulls, points: FloatArray, row: int, out: Paths,
) -> None:  # fmt: skip
    """Carry one neuron from tau = 0 to 1; `w`, `side`, `rest` (its D without the sliding walls) are used up."""
    q, d = rest.shape
    num_walls, num_points = side.shape[0], points.shape[0]
    most = out.event_walls.shape[1] + 1  # every wall it comes to takes an event
    if starts.places[row] >= 0:
        most += starts.held[starts.places[row], 0]
    most = min(most, min(d, num_walls) + 1)
    slide = Slide(
        np.zeros(2, dtype=np.int64), np.empty(most, dtype=np.int64), np.empty((most, d)), np.empty((most, most)),
        np.empty((q, most)), np.empty((q, most)), rest, np.empty((q, d)),
    )  # fmt: skip
    restore(starts, row, slide)
    everything, near, chosen = np.arange(num_walls), np.empty(num_walls, np.int64), np.empty(num_walls, np.int64)
    found, survey, far, num_looks = np.empty(num_walls), no_survey(), NOTHING_AHEAD, 0
    stretch, surveyed = NOTHING_AHEAD, 0.0
    num_near, num_events, num_meetings, idle = 0, 0, 0, 0
    before, after = np.empty(d), np.empty(d)
    along = np.zeros(most)
    here, strengths, factors, sizes = np.empty((q, d)), np.empty(q), np.empty(q), np.empty(q)
    ahead = PullAhead(here, strengths, np.empty((q, q)), np.empty(q))
    terms_a, lengths = np.empty(MOST_TERMS + 1), np.empty(MOST_TERMS + 1)
    series = Series(np.empty((MOST_TERMS + 1, q + 1)), terms_a, lengths, np.empty((MOST_TERMS + 1, q)))
    powers, work, shares = np.empty(MOST_TERMS + 1), np.empty(MOST_TERMS + 1), np.empty(q + 1)
    keys = np.empty(num_walls)  # length of the way up to which a wall cannot be met
    for b in range(num_walls):
        keys[b] = abs(heights[b])
    tau, following, status, window, way, horizon = 0.0, 0, DONE, 1.0, 0.0, -1.0
    sign = 1.0 if a > 0.0 else (-1.0 if a < 0.0 else 0.0)
    while True:
        if sign == 0.0:  # a = 0 takes the sign that <w, D> is about to give it
            pull_at(slide.pull, tau, before)
            sign = np.sign(dot(w, before))
        shifted(slide.pull, tau, here, strengths)
        strength, left, power = 0.0, 1.0 - tau, 1.0
        for i in range(q):
            strength += strengths[i] * power
            power *= left
        if strength == 0.0 and pulls.decay == 0.0 and slide.held[0] == 0:
            break
        rate = strength if pulls.moves_outputs else pulls.decay  # a pull alone moves w along a polynomial, however far
        if not (rate * left <= _MOST_RAPIDITY and strength < np.inf):
            status = TOO_FAST
            break
        length = min(left, window)
        if rate * length > _LONGEST_PIECE:
            length = _LONGEST_PIECE / rate
        degree, length_of_w = -1, norm(w)
        if pulls.moves_outputs:
            multiply(ahead, w)
        while degree < 0:
            stretched(strengths, length, factors, sizes)
            if pulls.moves_outputs:
                degree = expand(length_of_w, a, ahead, factors, sizes, series)
            else:
                degree = expand_straight(length_of_w, a, ahead, factors, pulls.decay * length, series)
            if degree < 0:
                length *= 0.5
        # the first event of the piece
        reach = 0.0
        for i in range(1, degree + 1):
            reach += lengths[i]
        across = a if pulls.moves_outputs else reach  # a frozen a may be of any size beside w
        size = np.sqrt(length_of_w * length_of_w + across * across)
        spent = 0.0  # at most, of the clock of a
        for i in range(degree + 1):
            spent += length * abs(terms_a[i]) / (i + 1)
        would_look = num_looks * left > (q + 1) * num_walls * (tau - surveyed)  # on the rest of the step, at this pace
        if would_look and num_looks > _SOME_WALLS * num_walls and pulls.decay == 0.0:
            survey, num_looks, far = survey_walls(w, size, slide.pull, pulls.normals), 0, NOTHING_AHEAD
            surveyed = tau
        if survey.marks.size:
            stretch = outlook(survey, tau, tau + length, spent)
            if stretch.end > far.end or stretch.spent > far.spent or stretch.drift > far.drift:
                drift = _PIECES_AHEAD * (stretch.drift + _LATER_DRIFT * reach)
                far = Outlook(tau, min(tau + _PIECES_AHEAD * length, 1.0), _PIECES_AHEAD * spent, drift)
                num_near = choose_by_survey(survey, far, sign, side, True, everything, num_walls, near)
            num_chosen = choose_by_survey(survey, stretch, sign, side, False, near, num_near, chosen)
        else:
            if way + reach + ON_WALL * size > horizon:
                horizon = way + _PIECES_AHEAD * reach + ON_WALL * size
                num_near = choose_by_way(keys, horizon, side, True, everything, num_walls, near)
            until = way + reach + ON_WALL * size
            num_chosen = choose_by_way(keys, until, side, False, near, num_near, chosen)
        theta, wall = first_crossing(
            w, here, series, degree, size, side, pulls.normals, chosen, num_chosen, found, powers, work
        )
        num_looks += num_chosen
        if survey.marks.size:
            note_heights(survey, chosen, num_chosen, found)
        else:
            for index in range(num_chosen):
                b = chosen[index]
                keys[b] = way + max(side[b] * found[index], 0.0)
        is_leaving, to_side, is_changing = False, 0, False
        if slide.held[0] > 0:
            exit_theta, exit_wall, exit_side = first_exit(slide, pulls, sign, pinned, tau, length, powers, work)
            if exit_theta <= min(theta, 1.0):
                theta, wall, to_side, is_leaving = exit_theta, exit_wall, exit_side, True
        if changes_sign:
            for i in range(degree + 1):
                powers[i] = sign * terms_a[i]
            root = first_root_of_powers(powers, degree, theta, ON_WALL * size, work)
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
            out.places[row, following, d] = place(series, here, degree, at, w, out.places[row, following, :d], shares)
            following += 1
        a = place(series, here, degree, theta, w, w, shares)
        if survey.marks.size:
            follow(survey, tau, shares, theta * stretch.drift, size)
            far = Outlook(tau, far.end, far.spent - theta * spent, far.drift - theta * stretch.drift)
        take_off(w, slide, along)
        idle = idle + 1 if end <= tau else 0
        tau = end
        power = 1.0
        for i in range(1, degree + 1):
            power *= theta
            way += lengths[i] * power
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
        num_meetings += 1
        if num_meetings > _MOST_MEETINGS * (num_walls + 1):
            status = TOO_FAST
            break
        pull_at(slide.pull, tau, before)
        if wall >= 0:
            keys[wall] = way
        kind = SIGN_CHANGE
        if is_changing:
            a, sign, wall, far = 0.0, -sign, -1, NOTHING_AHEAD
            if slide.held[0] > 0:
                status = AT_RIDGE
                break
        elif is_leaving:
            kind = SLIDE_EXIT
            pinned[wall] = 0
            leave_wall(slide, pulls, side, wall, to_side)
        else:
            height = dot(w, pulls.normals[wall])
            for axis in range(d):
                w[axis] -= height * pulls.normals[wall, axis]
            if survey.marks.size:
                survey.gauges[0] += abs(height)
            if norm(w) <= _AT_ORIGIN * size and num_walls > 1:
                status = AT_ORIGIN
                back = (
                    -sign * _JUST_BEFORE * size / max(norm(before), 1e-300)
                )  # where it comes from decides what follows
                for axis in range(d):
                    w[axis] = back * before[axis]
                break
            held = slide.walls[: slide.held[0]].copy()
            kind = meet_wall(sign, side, pinned, slide, pulls, wall, tau, before)
            if kind == RIDGE:
                status = AT_RIDGE
                break
            for b in held:  # walls it leaves at the same instant
                if side[b] != 0:
                    pinned[b], keys[b] = 0, way
                    out.event_walls[row, num_events] = b
                    out.event_taus[row, num_events] = tau
                    out.event_kinds[row, num_events] = SLIDE_EXIT
                    out.event_sides[row, num_events] = side[b]
                    out.event_kinks[row, num_events] = 0.0
                    num_events += 1
        take_off(w, slide, along)
        if survey.marks.size:
            compare_pulls(survey, slide.pull)
        if kind != NO_EVENT:
            if kind == REFRACTION and slide.held[0] == 0:
                bend = a * a * abs(value(pulls.plus[wall], tau) - value(pulls.minus[wall], tau))
            else:
                pull_at(slide.pull, tau, after)
                bend = _bend(before, after, a)
            out.event_walls[row, num_events] = wall
            out.event_taus[row, num_events] = tau
            out.event_kinds[row, num_events] = kind
            out.event_sides[row, num_events] = side[wall] if wall >= 0 else 0
            out.event_kinks[row, num_events] = bend
            num_events += 1
        if tau >= 1.0:
            break
    while following < num_points:
        copy_vector(w, out.places[row, following, :d])
        out.places[row, following, d] = a
        following += 1
    copy_vector(w, out.ends[row, :d])
    out.ends[row, d] = a
    for b in range(num_walls):
        out.sides[row, b], out.pinned[row, b] = side[b], pinned[b]
    out.num_events[row] = num_events
    out.statuses[row] = status
    out.stops[row] = 1.0 if status == DONE else tau


@kernel(nogil=True)
def carry_all(
    rows: IntVector, start: StepStart, slides: SlideStarts, rests: FloatCube, pulls: Pulls, points: FloatVector,
    out: Paths,
) -> None:  # fmt: skip
    """Carry many neurons, each alone: those in some rows of `start`, with one of `rests` each."""
    for i in range(rows.shape[0]):
        row = rows[i]
        j = start.neurons[row]
        d = start.z.shape[1] - 1
        carry_neuron(
            start.z[j, :d].copy(), start.z[j, d], start.sides[j].copy(), start.pinned[j].copy(), rests[i].copy(),
            start.heights[row], start.changes_sign[j], slides, pulls, points, row, out,
        )  # fmt: skip
