"""Machine-code kernels that tell which walls a neuron may meet on the next piece of its path.

At first only the length of its way is known: a wall at a height cannot be met before the way is that long. In many
dimensions nearly every wall is passed along rather than approached, so that most heights are looked at in vain. A
neuron that has looked at so many that all could have been looked at once is surveyed: from then on a height is that of
the survey, plus what the pull of then does to it, which is a polynomial known for every wall, give or take how far the
neuron has drifted by the changes of its pull since then.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reluflow.arrays import FloatMatrix, FloatVector, IntVector, SignVector
from reluflow.compilation.kernel import borrowing_kernel, kernel
from reluflow.dynamics.collocation.tuning import HEIGHT_ROUNDING
from reluflow.dynamics.collocation.vector_kernels import copy_vector, dot


class Survey(NamedTuple):
    """The heights of a neuron when it was surveyed, if it was, and how its pull of then changes them; B walls."""

    is_made: IntVector  # (1,) whether the neuron has been surveyed
    heights: FloatVector  # (B,)
    rates: FloatMatrix  # (B, q) <D_l, normal>
    marks: FloatVector  # (B,) the drift up to which a height is accounted for
    pull: FloatMatrix  # (q, d) D_l
    drifts: FloatVector  # (q,) how far the pull has come from there
    clocks: FloatVector  # (q,) integrals of a tau^l since then
    gauges: FloatVector  # (2,) how far the neuron may have drifted; the largest |z| since then
    powers: FloatVector  # (q,) and
    widths: FloatVector  # (q,) are room to work in


class Outlook(NamedTuple):
    """A stretch of a path that lies ahead: from tau to its end, how long the clock of a runs and how far it drifts."""

    start: float
    end: float
    spent: float
    drift: float


@kernel()
def make_survey(num_walls: int, q: int, d: int) -> Survey:
    """Room for that of a neuron, which has not been surveyed."""
    return Survey(
        np.zeros(1, np.int64), np.empty(num_walls), np.empty((num_walls, q)), np.empty(num_walls), np.empty((q, d)),
        np.empty(q), np.empty(q), np.empty(2), np.empty(q), np.empty(q),
    )  # fmt: skip


@borrowing_kernel()
def survey_walls(survey: Survey, w: FloatVector, size: float, pull: FloatMatrix, normals: FloatMatrix) -> None:
    """Write all heights of a neuron of a size, and what its pull does to them."""
    for b in range(normals.shape[0]):
        normal = normals[b]
        survey.heights[b], survey.marks[b] = dot(w, normal), 0.0
        for row in range(pull.shape[0]):
            survey.rates[b, row] = dot(pull[row], normal)
    for row in range(pull.shape[0]):
        copy_vector(pull[row], survey.pull[row])
        survey.drifts[row] = survey.clocks[row] = 0.0
    survey.gauges[0], survey.gauges[1], survey.is_made[0] = 0.0, size, 1


@borrowing_kernel()
def outlook(survey: Survey, start: float, end: float, spent: float) -> Outlook:
    """A stretch along which |a| integrates to `spent` at most."""
    changed, power = 0.0, 1.0
    for row in range(survey.drifts.shape[0]):
        changed += survey.drifts[row] * power
        power *= end
    return Outlook(start, end, spent, spent * changed)


@borrowing_kernel()
def choose_by_survey(
    survey: Survey, ahead: Outlook, sign: float, side: SignVector, keep_held: bool, among: IntVector, num: int,
    chosen: IntVector,
) -> int:  # fmt: skip
    """The walls `among` some that may be met on a stretch ahead, where a has a sign, and those held; their number."""
    q = survey.clocks.shape[0]
    clocks, powers, widths = survey.clocks, survey.powers, survey.widths
    first, last = 1.0, 1.0
    for row in range(q):
        powers[row], widths[row] = first, last - first
        first *= ahead.start
        last *= ahead.end
    drift = survey.gauges[0] + ahead.drift + HEIGHT_ROUNDING * survey.gauges[1]
    count = 0
    for index in range(num):
        b = among[index]
        if side[b] == 0:
            if keep_held:
                chosen[count] = b
                count += 1
            continue
        rates = survey.rates[b]
        height, rate, change = survey.heights[b], 0.0, 0.0
        for row in range(q):
            height += clocks[row] * rates[row]
            rate += powers[row] * rates[row]
            change += widths[row] * abs(rates[row])
        fall = ahead.spent * max(change - side[b] * sign * rate, 0.0)
        if side[b] * height <= fall + drift - survey.marks[b]:
            chosen[count] = b
            count += 1
    return count


@borrowing_kernel()
def note_heights(survey: Survey, chosen: IntVector, num: int, found: FloatVector) -> None:
    """Take heights that were looked at for known."""
    clocks = survey.clocks
    for index in range(num):
        b = chosen[index]
        height = found[index]
        for row in range(clocks.shape[0]):
            height -= clocks[row] * survey.rates[b, row]
        survey.heights[b] = height
        survey.marks[b] = survey.gauges[0]


@borrowing_kernel()
def follow(survey: Survey, tau: float, shares: FloatVector, drift: float, size: float) -> None:
    """Move the clocks on by the integrals of a x^l, x from tau on; note how far it may have drifted, and its size."""
    for row in range(survey.clocks.shape[0]):
        total, factor = 0.0, 1.0
        for lower in range(row, -1, -1):
            total += factor * shares[lower]
            factor *= tau * lower / (row - lower + 1)
        survey.clocks[row] += total
    survey.gauges[0] += drift
    survey.gauges[1] = max(survey.gauges[1], size)


@borrowing_kernel()
def compare_pulls(survey: Survey, pull: FloatMatrix) -> None:
    """How far the pull has come from that of the survey."""
    for row in range(pull.shape[0]):
        total = 0.0
        for axis in range(pull.shape[1]):
            total += (pull[row, axis] - survey.pull[row, axis]) ** 2
        survey.drifts[row] = np.sqrt(total)
