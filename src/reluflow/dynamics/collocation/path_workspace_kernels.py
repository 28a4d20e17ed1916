"""Memory for the paths of neurons, made once for all those that are carried one after the other.

Some forty small arrays for each neuron took as long as its path; and kernels that make none need not count who holds
those that they are given.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reluflow.arrays import FloatMatrix, FloatVector, IntVector, SignVector
from reluflow.compilation.kernel import borrowing_kernel, kernel
from reluflow.dynamics.collocation.neuron_series_kernels import PullAhead, Series, make_series
from reluflow.dynamics.collocation.path_search_kernels import Search, begin_search, make_search
from reluflow.dynamics.collocation.sliding_kernels import Slide, SlideStarts, restore
from reluflow.dynamics.collocation.tuning import MOST_TERMS
from reluflow.dynamics.collocation.vector_kernels import copy_vector
from reluflow.dynamics.collocation.wall_survey_kernels import Survey, make_survey


class Neuron(NamedTuple):
    """A neuron on its way, and where it stands; all of it changes."""

    w: FloatVector  # (d,)
    v: FloatVector  # (K,)
    direction: FloatVector  # (K,) along which strengths of walls count
    side: SignVector  # (B,)
    pinned: SignVector  # (B,)


class Workspaces(NamedTuple):
    """A neuron on its way, the pull ahead and its series, the slide, what it knows of walls, and room to work in."""

    neuron: Neuron
    ahead: PullAhead
    series: Series
    slide: Slide
    search: Search
    survey: Survey
    factors: FloatVector  # (q,)
    sizes: FloatVector  # (q,)
    shares: FloatVector  # (q + 1,)
    powers: FloatVector  # (T + q,) of a polynomial, and
    work: FloatVector  # (T + q,) what finding its first root takes
    margin: FloatVector  # (q,) of a multiplier, in one output
    along: FloatVector  # (most,)
    before: FloatVector  # (d,) the pull before an event, along v,
    after: FloatVector  # (d,) and after it
    left: IntVector  # (most,) walls that a neuron slid on as it came to another


@kernel()
def make_workspaces(num_outputs: int, num_rows: int, d: int, num_walls: int, most_held: int) -> Workspaces:
    """Memory for paths under pulls of so many rows, K q, on which neurons slide on at most so many walls."""
    q = num_rows // num_outputs
    most = min(most_held, min(d, num_walls) + 1)
    neuron = Neuron(
        np.empty(d), np.empty(num_outputs), np.empty(num_outputs), np.empty(num_walls, np.int8),
        np.empty(num_walls, np.int8),
    )  # fmt: skip
    slide = Slide(
        np.zeros(2, dtype=np.int64), np.empty(most, dtype=np.int64), np.empty((most, d)), np.empty((most, most)),
        np.empty((num_rows, most)), np.empty((num_rows, most)), np.empty((num_rows, d)), np.empty((num_rows, d)),
    )  # fmt: skip
    ahead = PullAhead(np.empty((num_rows, d)), np.empty(q), np.empty((q, q)), np.empty(q))
    longest = MOST_TERMS + q + 1
    return Workspaces(
        neuron, ahead, make_series(num_outputs, q, d), slide, make_search(num_walls), make_survey(num_walls, q, d),
        np.empty(q), np.empty(q), np.empty(q + 1), np.empty(longest), np.empty(longest), np.empty(q),
        np.zeros(most), np.empty(d), np.empty(d), np.empty(most, dtype=np.int64),
    )  # fmt: skip


@borrowing_kernel()
def begin_path(
    z: FloatVector, side: SignVector, pinned: SignVector, rest: FloatMatrix, heights: FloatVector, starts: SlideStarts,
    row: int, workspaces: Workspaces,
) -> None:  # fmt: skip
    """Take a neuron at the start of its path; `rest` is the pull on it without the sliding walls."""
    neuron, slide, survey = workspaces.neuron, workspaces.slide, workspaces.survey
    d, num_outputs = neuron.w.shape[0], neuron.v.shape[0]
    copy_vector(z[:d], neuron.w)
    copy_vector(z[d:], neuron.v)
    for c in range(num_outputs):
        neuron.direction[c] = 1.0
    for b in range(side.shape[0]):
        neuron.side[b], neuron.pinned[b] = side[b], pinned[b]
    for power in range(rest.shape[0]):
        copy_vector(rest[power], slide.rest[power])
    slide.held[0], slide.held[1], survey.is_made[0] = 0, 0, 0
    restore(starts, row, slide)
    begin_search(heights, workspaces.search)
