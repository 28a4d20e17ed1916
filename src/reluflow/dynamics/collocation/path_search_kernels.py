"""Machine-code kernels that look ahead on the path of a neuron: the walls near it, and the first event of a piece.

What is done for every piece goes into its one caller, `carry_neuron`: as calls, with named tuples whose arrays are
counted at each, these took 14 % of a run.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from reluflow.arrays import FloatVector, IntVector, SignVector
from reluflow.bernstein_kernels import first_root_of_powers
from reluflow.compilation.kernel import borrowing_kernel, kernel
from reluflow.dynamics.collocation.neuron_series_kernels import PullAhead, Series
from reluflow.dynamics.collocation.next_event_kernels import choose_by_way, first_crossing, first_exit
from reluflow.dynamics.collocation.sliding_kernels import Pulls, Slide
from reluflow.dynamics.collocation.tuning import LATER_DRIFT, ON_WALL, PIECES_AHEAD, SOME_WALLS
from reluflow.dynamics.collocation.vector_kernels import square_of
from reluflow.dynamics.collocation.wall_survey_kernels import (
    Outlook,
    Survey,
    choose_by_survey,
    note_heights,
    outlook,
    survey_walls,
)

NOTHING_AHEAD = Outlook(0.0, -1.0, 0.0, 0.0)
NOTHING, CROSSING, EXIT, CHANGE_OF_SIGN = 0, 1, 2, 3  # what ends a piece


class Piece(NamedTuple):
    """A piece of a path, tau to tau + length: how far w comes at most, |z|, and what |a| integrates to at most."""

    tau: float
    length: float
    degree: int
    reach: float
    size: float
    spent: float


class Search(NamedTuple):
    """What a neuron knows of the walls, B of them: `num_near` and `num_looks`, `way`, `horizon` and `surveyed_at`."""

    keys: FloatVector  # (B,) length of the way up to which a wall cannot be met
    everything: IntVector  # (B,)
    near: IntVector  # (B,) walls that may be met within the horizon
    chosen: IntVector  # (B,) those that may be met on this piece
    found: FloatVector  # (B,) their heights
    num_near: IntVector  # (1,)
    num_looks: IntVector  # (1,) heights computed since the last survey
    way: FloatVector  # (1,) how far w has come
    horizon: FloatVector  # (1,) length of the way up to which `near` holds
    surveyed_at: FloatVector  # (1,) tau


@kernel()
def make_search(num_walls: int) -> Search:
    """Room for that of a neuron."""
    near, chosen, found = np.empty(num_walls, np.int64), np.empty(num_walls, np.int64), np.empty(num_walls)
    counts, gauges = np.zeros((2, 1), np.int64), np.zeros((3, 1))
    return Search(
        np.empty(num_walls), np.arange(num_walls), near, chosen, found, counts[0], counts[1], gauges[0], gauges[1],
        gauges[2],
    )  # fmt: skip


@borrowing_kernel()
def begin_search(heights: FloatVector, search: Search) -> None:
    """That of a neuron at the start of its path."""
    for b in range(heights.shape[0]):
        search.keys[b] = abs(heights[b])
    search.num_near[0], search.num_looks[0] = 0, 0
    search.way[0], search.horizon[0], search.surveyed_at[0] = 0.0, -1.0, 0.0


@njit(inline="always")
def measure_piece(v: FloatVector, series: Series, tau: float, length: float, degree: int, moves_outputs: bool) -> Piece:
    """What is known of a piece from its series."""
    lengths, reach = series.lengths, 0.0
    for i in range(1, degree + 1):
        reach += lengths[i]
    across = square_of(v) if moves_outputs else reach * reach  # a frozen v may be of any size beside w
    size = np.sqrt(lengths[0] * lengths[0] + across)
    spent = 0.0
    for i in range(degree + 1):
        spent += length * abs(series.terms_v[i, 0]) / (i + 1)
    return Piece(tau, length, degree, reach, float(size), spent)


@njit(inline="always")
def choose_walls(
    search: Search, survey: Survey, far: Outlook, piece: Piece, w: FloatVector, sign: float, side: SignVector,
    slide: Slide, pulls: Pulls, num_outputs: int,
) -> tuple[int, Outlook, Outlook]:  # fmt: skip
    """The walls that may be met on a piece, by a survey where that pays; their number, what the survey sees.

    Surveys follow the height over every wall by the clock of a, which has one sign: they are for one output.
    """
    num_walls, q = search.keys.shape[0], slide.pull.shape[0]
    tau, length, reach, size, stretch = piece.tau, piece.length, piece.reach, piece.size, NOTHING_AHEAD
    # heights that would be computed on the rest of the step, at this pace
    would_look = search.num_looks[0] * (1.0 - tau) > (q + 1) * num_walls * (tau - search.surveyed_at[0])
    may_survey = pulls.decay == 0.0 and num_outputs == 1
    if would_look and search.num_looks[0] > SOME_WALLS * num_walls and may_survey:
        survey_walls(survey, w, size, slide.pull, pulls.normals)
        far = NOTHING_AHEAD
        search.num_looks[0] = 0
        search.surveyed_at[0] = tau
    if survey.is_made[0]:
        stretch = outlook(survey, tau, tau + length, piece.spent)
        if stretch.end > far.end or stretch.spent > far.spent or stretch.drift > far.drift:
            drift = PIECES_AHEAD * (stretch.drift + LATER_DRIFT * reach)
            far = Outlook(tau, min(tau + PIECES_AHEAD * length, 1.0), PIECES_AHEAD * piece.spent, drift)
            search.num_near[0] = choose_by_survey(
                survey, far, sign, side, True, search.everything, num_walls, search.near
            )  # fmt: skip
        num_chosen = choose_by_survey(
            survey, stretch, sign, side, False, search.near, search.num_near[0], search.chosen
        )
    else:
        way = search.way[0]
        if way + reach + ON_WALL * size > search.horizon[0]:
            horizon = way + PIECES_AHEAD * reach + ON_WALL * size
            search.horizon[0] = horizon
            search.num_near[0] = choose_by_way(
                search.keys, horizon, side, True, search.everything, num_walls, search.near
            )  # fmt: skip
        until = way + reach + ON_WALL * size
        num_chosen = choose_by_way(search.keys, until, side, False, search.near, search.num_near[0], search.chosen)
    return num_chosen, far, stretch


@njit(inline="always")
def first_wall(
    search: Search, survey: Survey, num_chosen: int, piece: Piece, w: FloatVector, ahead: PullAhead, series: Series,
    side: SignVector, pulls: Pulls, powers: FloatVector, work: FloatVector,
) -> tuple[float, int]:  # fmt: skip
    """The first wall that a piece meets, and where; the heights that were computed are noted."""
    theta, wall = first_crossing(
        w, ahead.here, series, piece.degree, piece.size, side, pulls.normals, search.chosen, num_chosen, search.found,
        powers, work,
    )  # fmt: skip
    search.num_looks[0] += num_chosen
    if survey.is_made[0]:
        note_heights(survey, search.chosen, num_chosen, search.found)
    else:
        for index in range(num_chosen):
            b = search.chosen[index]
            search.keys[b] = search.way[0] + max(side[b] * search.found[index], 0.0)
    return theta, wall


@njit(inline="always")
def first_event(
    theta: float, wall: int, piece: Piece, series: Series, sign: float, changes_sign: bool, pinned: SignVector,
    slide: Slide, pulls: Pulls, part: FloatVector, powers: FloatVector, work: FloatVector,
) -> tuple[float, int, int, int]:  # fmt: skip
    """What ends a piece that meets a wall at theta, or none: where, at which wall, to which side of it, and how."""
    what, to_side = CROSSING, 0
    if slide.held[0] > 0:
        exit_theta, exit_wall, exit_side = first_exit(
            slide, pulls, sign, pinned, piece.tau, piece.length, series, piece.degree, part, powers, work
        )  # fmt: skip
        if exit_theta <= min(theta, 1.0):
            theta, wall, to_side, what = exit_theta, exit_wall, exit_side, EXIT
    if changes_sign:
        for i in range(piece.degree + 1):
            powers[i] = sign * series.terms_v[i, 0]
        root = first_root_of_powers(powers, piece.degree, theta, ON_WALL * piece.size, work)
        if root < theta:
            theta, what = root, CHANGE_OF_SIGN
    if theta > 1.0:
        what = NOTHING
    return min(theta, 1.0), wall, to_side, what
