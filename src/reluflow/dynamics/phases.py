"""Phases of a run, found from its losses and outputs: alignment, growth, fitting, convergence, plateaus."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.trajectory import Phase

SMALL_OUTPUT = 0.01  # fraction of the label scale below which outputs do not bend the forces: alignment
LARGE_OUTPUT = 0.5  # fraction of the label scale at which growth has become fitting
FITTED = 0.01  # share of the total fall of the loss that is left when fitting has become convergence
_PLATEAU_FALL = 0.01  # a plateau loses less than this share of the total fall
_PLATEAU_LENGTH = 0.15  # and lasts at least this share of the time until convergence


def find_phases(times: FloatArray, losses: FloatArray, outputs: FloatArray, *, label_scale: float) -> tuple[Phase, ...]:
    """Cut a run into phases.

    Alignment lasts while max |h| is below 1 % of the label scale: neurons turn and outputs do not matter. Growth lasts
    until max |h| is half the label scale, fitting until 99 % of the fall of the loss is done, convergence to the end.
    A phase that the run never enters is left out. A plateau is a stretch, between alignment and convergence, of at
    least 15 % of the time until convergence in which the loss loses less than 1 % of its total fall.

    Parameters
    ----------
    times, losses
        Recorded times and losses, shape (T,).
    outputs
        Outputs there, shape (T, n) or (T, n, K).
    label_scale
        What an output is compared with: max |y| for the square loss, 1 for a classification loss.

    Examples
    --------
    >>> t = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    >>> h = np.array([[0.001], [0.005], [0.3], [0.9], [1.0]])
    >>> [phase.name for phase in find_phases(t, (1 - h[:, 0]) ** 2, h, label_scale=1.0)]
    ['alignment', 'growth', 'fitting', 'convergence']
    """
    with np.errstate(divide="ignore"):
        size = np.log(np.max(np.abs(outputs), axis=tuple(range(1, outputs.ndim))) / label_scale)
    fall = losses[0] - losses[-1]
    left = (losses - losses[-1]) / fall if fall > 0 else np.zeros_like(losses)
    grown = _first_time(times, size, np.log(SMALL_OUTPUT))
    converging = max(_first_time(times, -left, -FITTED), grown)
    fitting = min(max(_first_time(times, size, np.log(LARGE_OUTPUT)), grown), converging)
    marks = [float(times[0]), grown, fitting, converging, float(times[-1])]
    names = ("alignment", "growth", "fitting", "convergence")
    phases = [
        Phase(name, start, stop) for name, start, stop in zip(names, marks[:-1], marks[1:], strict=True) if stop > start
    ]
    return (*phases, *_plateaus(times, left, grown, converging))


def _first_time(times: FloatArray, values: FloatArray, level: float) -> float:
    """When `values` first reaches `level`, interpolated between records; the last time if never."""
    hits = np.flatnonzero(values >= level)
    if not hits.size:
        return float(times[-1])
    index = int(hits[0])
    if index == 0 or not np.isfinite(values[index - 1]) or not np.isfinite(times[index]):
        return float(times[index])
    share = (level - values[index - 1]) / (values[index] - values[index - 1])
    return float(times[index - 1] + share * (times[index] - times[index - 1]))


def _plateaus(times: FloatArray, left: FloatArray, start: float, stop: float) -> list[Phase]:
    """Long stretches of nearly constant loss between two falls, each as long as it can be."""
    span = stop - times[0]
    if not np.isfinite(span) or span <= 0:
        return []
    inside = np.flatnonzero((times >= start) & (times <= stop))
    if not inside.size:
        return []
    found = []
    first, end = int(inside[0]), int(inside[-1])
    lowest = np.minimum.accumulate(left)
    while first < end:
        last = min(_before_fall(left, lowest, first), end)
        has_fallen = left[first] < 1.0 - 2 * _PLATEAU_FALL
        has_left = left[last] > FITTED + _PLATEAU_FALL
        if times[last] - times[first] >= _PLATEAU_LENGTH * span and has_fallen and has_left:
            found.append(Phase("plateau", float(times[first]), float(times[last])))
            first = last + 1
        else:
            first += 1
    return found


def _before_fall(left: FloatArray, lowest: FloatArray, first: int) -> int:
    """The last place from which on nothing has fallen by more than a plateau's share, `lowest` being the minima so far.

    A loss falls all the way but for rounding or the steps of a descent, so that the minima tell where, at once.
    """
    level = left[first] - _PLATEAU_FALL
    if lowest[first] >= level:
        return int(np.searchsorted(-lowest, -level, side="right")) - 1
    is_below = left[first:] < level
    return first + int(np.argmax(is_below)) - 1 if is_below.any() else len(left) - 1
