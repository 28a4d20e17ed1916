"""Machine-code kernels that carry one neuron alone through given forces, from event to event.

Given the pulls of all walls as polynomials of tau in [0, 1], a neuron is a linear ODE of its own, dw = D v dtau,
dv = D^T w dtau with a polynomial D, so (w, v) is an entire power series and its pre-activations are polynomials; so it
is with a frozen output layer, where dw = (D v - decay w) dtau (weight decay of whole neurons turns none of them). The
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
    SignMatrix,
    SignVector,
)
from reluflow.compilation.kernel import borrowing_kernel, kernel
from reluflow.dynamics.collocation.arrival_kernels import (
    NO_EVENT,
    REFRACTION,
    RIDGE,
    SIGN_CHANGE,
    SLIDE_EXIT,
    meet_wall,
)
from reluflow.dynamics.collocation.neuron_series_kernels import (
    expand,
    expand_several,
    expand_straight,
    multiply,
    place,
    shift_pull,
    stretched,
)
from reluflow.dynamics.collocation.path_search_kernels import (
    CHANGE_OF_SIGN,
    EXIT,
    NOTHING,
    NOTHING_AHEAD,
    choose_walls,
    first_event,
    first_wall,
    measure_piece,
)
from reluflow.dynamics.collocation.path_workspace_kernels import Workspaces, begin_path, make_workspaces
from reluflow.dynamics.collocation.sliding_kernels import Pulls, SlideStarts, leave_wall, take_off
from reluflow.dynamics.collocation.tuning import (
    BEFORE_ORIGIN,
    LONGEST_PIECE,
    MOST_IDLE_EVENTS,
    MOST_MEETINGS,
    MOST_RAPIDITY,
    NEXT_PIECE,
    NEXT_WINDOW,
    ORIGIN,
    SHORTEST_WINDOW,
)
from reluflow.dynamics.collocation.vector_kernels import (
    copy_vector,
    dot,
    face_outputs,
    norm,
    pull_along,
    square_of,
    value_along,
)
from reluflow.dynamics.collocation.wall_survey_kernels import Outlook, compare_pulls, follow

DONE, AT_RIDGE, AT_ORIGIN, BUFFER_FULL, STUCK, TOO_FAST = 0, 1, 2, 3, 4, 5  # how a path ended
_AT_REST, _TOO_FAST = -1, -2  # in place of the degree of a piece


class StepStart(NamedTuple):
    """The neurons that move at the start of a step: rows of those of the run, m of N."""

    neurons: IntVector  # (m,)
    z: FloatMatrix  # (N, d + K)
    sides: SignMatrix  # (N, B)
    pinned: SignMatrix  # (N, B)
    changes_sign: BoolVector  # (N,)
    heights: FloatMatrix  # (m, B)


class Paths(NamedTuple):
    """Where paths are written: places at the given points, the ends, the events; m neurons, P points, E events each."""

    places: FloatCube  # (m, P, d + K)
    ends: FloatMatrix  # (m, d + K)
    sides: SignMatrix  # (m, B)
    pinned: SignMatrix  # (m, B)
    event_walls: IntMatrix  # (m, E)
    event_taus: FloatMatrix  # (m, E)
    event_kinds: SignMatrix  # (m, E)
    event_sides: SignMatrix  # (m, E) of the wall, on which the event leaves the neuron; 0: it slides, or there is none
    event_kinks: FloatMatrix  # (m, E) jump of D v, times |v|: what the event bends the outputs by
    num_events: IntVector  # (m,)
    statuses: SignVector  # (m,)
    stops: FloatVector  # (m,) tau at which the path ended, 1 where it was DONE


@njit(inline="always")
def _expand_piece(
    w: FloatVector, v: FloatVector, tau: float, window: float, pulls: Pulls, workspaces: Workspaces
) -> tuple[int, float]:
    """The series of the next piece, at most `window` long: its degree and length; `_AT_REST`, `_TOO_FAST` for none."""
    ahead, series, factors, sizes = workspaces.ahead, workspaces.series, workspaces.factors, workspaces.sizes
    q, num_outputs = ahead.strengths.shape[0], v.shape[0]
    shift_pull(workspaces.slide.pull, num_outputs, tau, ahead)
    strength, left, power = 0.0, 1.0 - tau, 1.0
    for i in range(q):
        strength += ahead.strengths[i] * power
        power *= left
    if strength == 0.0 and pulls.decay == 0.0 and workspaces.slide.held[0] == 0:
        return _AT_REST, 0.0
    rate = strength if pulls.moves_outputs else pulls.decay  # a pull alone moves w along a polynomial, however far
    if not (rate * left <= MOST_RAPIDITY and strength < np.inf):
        return _TOO_FAST, 0.0
    length = min(left, window)
    if rate * length > LONGEST_PIECE:
        length = LONGEST_PIECE / rate
    degree, length_of_w = -1, norm(w)
    if pulls.moves_outputs and num_outputs == 1:
        multiply(ahead, w)
    while degree < 0:
        stretched(ahead.strengths, length, factors, sizes)
        decay = pulls.decay * length
        if num_outputs > 1:
            degree = expand_several(w, v, ahead.here, factors, sizes, decay, pulls.moves_outputs, series)
        elif pulls.moves_outputs:
            degree = expand(length_of_w, v[0], ahead, factors, sizes, series)
        else:
            degree = expand_straight(length_of_w, v[0], ahead, factors, decay, series)
        if degree < 0:
            length *= 0.5
    series.lengths[0] = length_of_w
    return degree, length


@borrowing_kernel()
def _write_event(out: Paths, row: int, wall: int, tau: float, kind: int, side: int, kink: float) -> None:
    """Write the next event of a neuron into its path."""
    place_of = out.num_events[row]
    out.event_walls[row, place_of] = wall
    out.event_taus[row, place_of] = tau
    out.event_kinds[row, place_of] = kind
    out.event_sides[row, place_of] = side
    out.event_kinks[row, place_of] = kink
    out.num_events[row] += 1


@njit(inline="always")
def _kink(
    kind: int, wall: int, v: FloatVector, direction: FloatVector, tau: float, pulls: Pulls, workspaces: Workspaces
) -> float:  # fmt: skip
    """|v|^2 |D after - D before|, along v: what an event bends the outputs by."""
    if kind == REFRACTION and workspaces.slide.held[0] == 0:
        plus, minus = value_along(pulls.plus[wall], direction, tau), value_along(pulls.minus[wall], direction, tau)
        return float(square_of(v) * abs(plus - minus))
    before, after, total = workspaces.before, workspaces.after, 0.0
    pull_along(workspaces.slide.pull, direction, tau, after)
    for axis in range(before.shape[0]):
        total += (after[axis] - before[axis]) ** 2
    return float(square_of(v) * np.sqrt(total))


@kernel()
def _arrive_at(
    sign: float, wall: int, tau: float, size: float, pulls: Pulls, workspaces: Workspaces, row: int, out: Paths
) -> tuple[int, int]:
    """A neuron, put onto a wall, meets it: the kind of event and how the path goes on; walls left there are written."""
    w, v, direction, side, pinned = workspaces.neuron
    slide, before, search, num_held = workspaces.slide, workspaces.before, workspaces.search, workspaces.slide.held[0]
    if norm(w) <= ORIGIN * size and pulls.normals.shape[0] > 1:
        back = -sign * BEFORE_ORIGIN * size / max(norm(before), 1e-300)  # where it comes from decides what follows
        for axis in range(w.shape[0]):
            w[axis] = back * before[axis]
        return NO_EVENT, AT_ORIGIN
    for place_of in range(num_held):
        workspaces.left[place_of] = slide.walls[place_of]
    kind = meet_wall(w, v, sign, direction, side, pinned, slide, pulls, wall, tau, before)
    if kind == RIDGE:
        return kind, AT_RIDGE
    for place_of in range(num_held):  # walls it leaves at the same instant
        b = workspaces.left[place_of]
        if side[b] != 0:
            pinned[b], search.keys[b] = 0, search.way[0]
            _write_event(out, row, b, tau, SLIDE_EXIT, int(side[b]), 0.0)
    return kind, DONE


@njit(inline="always")  # into its one caller: compiled once
def carry_neuron(
    workspaces: Workspaces, changes_sign: bool, pulls: Pulls, points: FloatArray, row: int, out: Paths
) -> None:
    """Carry one neuron, which `begin_path` has put at its start, from tau = 0 to 1."""
    w, v, direction, side, pinned = workspaces.neuron
    d, num_outputs, num_walls = w.shape[0], v.shape[0], side.shape[0]
    most_events = out.event_walls.shape[1]
    slide, series, ahead, before = workspaces.slide, workspaces.series, workspaces.ahead, workspaces.before
    search, survey, far = workspaces.search, workspaces.survey, NOTHING_AHEAD
    num_meetings, idle, following, status, tau, window = 0, 0, 0, DONE, 0.0, 1.0
    sign = 1.0 if v[0] > 0.0 else (-1.0 if v[0] < 0.0 else 0.0)
    out.num_events[row] = 0
    while True:
        if num_outputs > 1:
            sign = face_outputs(w, v, slide.pull, tau, direction)
        elif sign == 0.0:  # a = 0 takes the sign that <w, D> is about to give it
            pull_along(slide.pull, direction, tau, before)
            sign = np.sign(dot(w, before))
        degree, length = _expand_piece(w, v, tau, window, pulls, workspaces)
        if degree < 0:
            status = TOO_FAST if degree == _TOO_FAST else DONE
            break
        piece = measure_piece(v, series, tau, length, degree, pulls.moves_outputs)
        num_chosen, far, stretch = choose_walls(
            search, survey, far, piece, w, sign, side, slide, pulls, num_outputs
        )  # fmt: skip
        theta, wall = first_wall(
            search, survey, num_chosen, piece, w, ahead, series, side, pulls,
            workspaces.powers, workspaces.work,
        )  # fmt: skip
        theta, wall, to_side, what = first_event(
            theta, wall, piece, series, sign, changes_sign, pinned, slide, pulls, workspaces.margin,
            workspaces.powers, workspaces.work,
        )  # fmt: skip
        has_event = what != NOTHING
        # places on the way, and the end of the piece
        end = tau + length * theta
        if not has_event and length >= 1.0 - tau:
            end = 1.0
        while following < points.shape[0] and (points[following] <= end or (end >= 1.0 and not has_event)):
            at, there = min((points[following] - tau) / length, 1.0), out.places[row, following]
            place(series, ahead.here, degree, at, w, there[:d], there[d:], workspaces.shares)
            following += 1
        place(series, ahead.here, degree, theta, w, w, v, workspaces.shares)
        if survey.is_made[0]:
            follow(survey, tau, workspaces.shares, theta * stretch.drift, piece.size)
            far = Outlook(tau, far.end, far.spent - theta * piece.spent, far.drift - theta * stretch.drift)
        take_off(w, slide, workspaces.along)
        idle = idle + 1 if end <= tau else 0
        tau = end
        power = 1.0
        for i in range(1, degree + 1):
            power *= theta
            search.way[0] += series.lengths[i] * power
        # look a few events ahead: a short piece has few walls near it and a short series
        window = max(NEXT_WINDOW * length * theta, SHORTEST_WINDOW) if has_event else NEXT_PIECE * length
        if not has_event:
            if tau >= 1.0:
                break
            continue
        num_meetings += 1
        if out.num_events[row] + slide.held[0] >= most_events:
            status = BUFFER_FULL
        elif idle > MOST_IDLE_EVENTS:
            status = STUCK
        elif num_meetings > MOST_MEETINGS * (num_walls + 1):
            status = TOO_FAST
        if status != DONE:
            break
        if num_outputs > 1:
            sign = face_outputs(w, v, slide.pull, tau, direction)
        pull_along(slide.pull, direction, tau, before)
        if wall >= 0:
            search.keys[wall] = search.way[0]
        kind = SIGN_CHANGE
        if what == CHANGE_OF_SIGN:
            v[0], sign, wall, far = 0.0, -sign, -1, NOTHING_AHEAD
            status = AT_RIDGE if slide.held[0] > 0 else DONE
        elif what == EXIT:
            kind = SLIDE_EXIT
            if num_outputs > 1 and norm(v) <= ORIGIN * piece.size:  # all strengths vanish with v, so every way is open
                status = AT_RIDGE
                break
            pinned[wall] = 0
            leave_wall(slide, pulls, side, wall, to_side)
        else:
            height = dot(w, pulls.normals[wall])
            for axis in range(d):
                w[axis] -= height * pulls.normals[wall, axis]
            if survey.is_made[0]:
                survey.gauges[0] += abs(height)
            kind, status = _arrive_at(sign, wall, tau, piece.size, pulls, workspaces, row, out)
        if status != DONE:
            break
        take_off(w, slide, workspaces.along)
        if survey.is_made[0]:
            compare_pulls(survey, slide.pull)
        if kind != NO_EVENT:
            kink = _kink(kind, wall, v, direction, tau, pulls, workspaces)
            _write_event(out, row, wall, tau, kind, int(side[wall]) if wall >= 0 else 0, kink)
        if tau >= 1.0:
            break
    while following < points.shape[0]:
        copy_vector(w, out.places[row, following, :d])
        copy_vector(v, out.places[row, following, d:])
        following += 1
    copy_vector(w, out.ends[row, :d])
    copy_vector(v, out.ends[row, d:])
    for b in range(num_walls):
        out.sides[row, b], out.pinned[row, b] = side[b], pinned[b]
    out.statuses[row] = status
    out.stops[row] = 1.0 if status == DONE else tau


@borrowing_kernel()
def _carry_each(
    rows: IntVector, start: StepStart, slides: SlideStarts, rests: FloatCube, pulls: Pulls, points: FloatVector,
    out: Paths, workspaces: Workspaces,
) -> None:  # fmt: skip
    """`carry_all`, one neuron after the other in the same memory."""
    for i in range(rows.shape[0]):
        row = rows[i]
        j = start.neurons[row]
        begin_path(
            start.z[j], start.sides[j], start.pinned[j], rests[i], start.heights[row], slides, row, workspaces
        )  # fmt: skip
        carry_neuron(workspaces, start.changes_sign[j], pulls, points, row, out)


@kernel(entry=True, nogil=True)
def carry_all(
    rows: IntVector, start: StepStart, slides: SlideStarts, rests: FloatCube, pulls: Pulls, points: FloatVector,
    out: Paths,
) -> None:  # fmt: skip
    """Carry many neurons, each alone: those in some rows of `start`, with one of `rests` each."""
    num_walls, d = pulls.normals.shape
    most_held = 0
    for row in rows:
        if slides.places[row] >= 0:
            most_held = max(most_held, slides.held[slides.places[row], 0])
    most_held += out.event_walls.shape[1] + 1  # every wall that it comes to takes an event
    workspaces = make_workspaces(start.z.shape[1] - d, rests.shape[1], d, num_walls, most_held)
    _carry_each(rows, start, slides, rests, pulls, points, out, workspaces)
