"""The bounds as the figures draw them, from any recorded state, what is measured against them, and their looks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import IndexArray, IntArray
from reluflow.papers.lee2022.figures.neuron_curves import NeuronCurves
from reluflow.papers.lee2022.single_neuron import Band, descent_magnitude_band

ANGLE_ALLOWANCE = 0.01  # radians by which the bounds on the angle may be missed on samples
FLOW_ALLOWANCE = 1e-9  # relative, for the exact flow, of which the theorems speak: it is integrated to 1e-12
ROUNDING = 1e-12  # of |w*|

STRICT_INEQUALITY = (
    "It holds up to a multiple of the step size only (erratum E5): a step undershoots the lower curve where the "
    "magnitude falls fast, and descent drifts off balance, so that $|w|$ ends a little above $|w^*|$, the limit of the "
    "upper curve."
)

SAMPLE_NOISE = (
    r"They are about infinitely many samples; on $n$ of them $|w|$ may leave them by some $2/\sqrt{n}$ of $|w^*|$."
)

# Indices into `reluflow.viz.panels.LOOKS`. The colours are the paper's: lower bounds green and purple, upper ones
# orange and red (its captions exchange them, erratum E17).
LOOK_DESCENT, LOOK_LOWER, LOOK_UPPER, LOOK_FLOW = 0, 2, 4, 6
LOOK_REBUILT_LOWER, LOOK_REBUILT_UPPER, LOOK_RESTART = 3, 1, 100  # the last is the paper's black dot
FLOW_NAME = "exact flow, infinitely many samples"


@dataclass(frozen=True)
class Phases:
    """How far a magnitude falls to its minimum and rises after it, and the largest move against that order."""

    fall: float
    rise: float
    against: float


def phases(values: ArrayLike) -> Phases:
    """Read the two phases off recorded magnitudes.

    >>> phases([3.0, 1.0, 1.5, 1.25, 2.0])
    Phases(fall=2.0, rise=1.0, against=0.25)
    """
    magnitude = np.asarray(values, dtype=np.float64)
    low = int(np.argmin(magnitude))
    before, after = magnitude[: low + 1], magnitude[low:]
    against = max(np.max(before - np.minimum.accumulate(before)), np.max(np.maximum.accumulate(after) - after))
    return Phases(float(before[0] - before[-1]), float(after[-1] - after[0]), float(against))


def first_step_above(steps: ArrayLike, values: ArrayLike, level: float) -> float:
    """Step at which values first exceed a level, between the recorded ones by a straight line; infinite if never.

    >>> first_step_above([0, 10, 20], [1.0, 2.0, 4.0], 3.0)
    15.0
    """
    at, value = np.asarray(steps, dtype=np.float64), np.asarray(values, dtype=np.float64)
    above = np.flatnonzero(value > level)
    if above.size == 0:
        return float(np.inf)
    row = int(above[0])
    if row == 0:
        return float(at[0])
    share = (level - value[row - 1]) / (value[row] - value[row - 1])
    return float(at[row - 1] + share * (at[row] - at[row - 1]))


def goes_from_lower_to_upper(values: ArrayLike, band: Band) -> bool:
    """Whether the lower curve is the nearer one first and the upper one from some row on; row 0 is the start."""
    value = np.asarray(values, dtype=np.float64)[1:]
    is_upper = np.abs(band.upper[1:] - value) < np.abs(value - band.lower[1:])
    return bool(not is_upper[0] and is_upper[-1] and np.count_nonzero(np.diff(is_upper)) == 1)


def widest_breach(outer: Band, inner: Band) -> float:
    """How far a band reaches out of another on the same grid; at most 0 when it lies inside."""
    return float(np.max(np.maximum(outer.lower - inner.lower, inner.upper - outer.upper)))


def magnitude_allowance(n: int) -> float:
    """Share of |w*| by which the bounds on |w| may be missed on n samples: 2/sqrt(n).

    They are about infinitely many samples. On n of them |w| shrinks at half the rate 2 mean(s(<u, x>)^2), u = w/|w|,
    whose standard deviation is sqrt(5/n) for a mean of 1: from |w_0| = 2 |w*| that moves |w| by up to 1.6/sqrt(n).

    >>> magnitude_allowance(10_000)
    0.02
    """
    return float(2.0 / np.sqrt(n))


def magnitude_band_from(
    row: int, steps: IntArray, curves: NeuronCurves, *, q: int, rate: float, teacher_norm: float
) -> Band:
    """Theorem A.1 or A.3 from the state in one recorded row of one neuron on, on the rows from there."""
    state = curves.neuron(row, q=q, teacher_norm=teacher_norm)
    return descent_magnitude_band(state, steps[row:] - steps[row], step_size=rate)


def dotted_rows(steps: IntArray, dots: int = 14) -> IndexArray:
    """Rows of the recorded steps nearest to evenly spaced ones, where the flow is marked.

    >>> dotted_rows(np.array([0, 1, 5, 9, 10]), 3).tolist()
    [0, 2, 4]
    """
    return np.unique([np.argmin(np.abs(steps - step)) for step in np.linspace(0, steps[-1], dots)])
