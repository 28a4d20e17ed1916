"""Measurements on a run of the balanced flow that results for any number of scalar layers share."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.single_neuron.balanced_trajectory import BalancedTrajectory
from reluflow.single_neuron.bounds import Band, angle_band, angle_rates, magnitude_band, magnitude_range
from reluflow.theory.evidence import Evidence, kept
from reluflow.theory.lee2022.model import start
from reluflow.theory.lee2022.runs import run_of
from reluflow.theory.measurement import Measurement, at_least, at_most, need
from reluflow.theory.theorem import Constants

ROUNDING = 1e-12  # relative; quadrature and closed forms agree to 1e-13, and bounds touch the run at t = 0 and infinity

ARRIVED = 1e-10  # in units of v*
SMALLEST_GAP = 1e-12  # radians; below it an angle is rounding


def flow(evidence: Evidence) -> BalancedTrajectory:
    """The recorded run."""
    return run_of(evidence, BalancedTrajectory)


def _smallest(slack: FloatArray, times: FloatArray, unit: str) -> Measurement:
    """The smallest slack over t > 0, with its time; a value that is no number counts as the smallest."""
    later = np.flatnonzero((times > 0.0) & (slack < np.inf) | np.isnan(slack))
    need(later.size != 0, "a recorded time at which the bound says something")
    index = later[np.argmin(slack[later])]
    value = float(slack[index])
    words = f"smallest slack {value:.3g} {unit}, at t = {times[index]:.4g}; {ROUNDING:g} forgiven"
    return at_least(value, 0.0, allowance=ROUNDING, detail=words)


def has_arrived(evidence: Evidence) -> BoolArray:
    """Times at which the upper curve of the magnitude equals v* to nearly all digits: a difference from it is rounding.

    Said of the curve, not of the run: a run that claims to have arrived too early must not escape its bounds.
    """
    return np.asarray(np.abs(magnitudes(evidence).upper / start(evidence).teacher_magnitude - 1.0) < 1e-11)


def above_lower(evidence: Evidence, band: Band) -> Measurement:
    """v(t) above the lower curve, in units of v*."""
    run = flow(evidence)
    return _smallest((run.magnitude - band.lower) / run.start.teacher_magnitude, run.times, "v*")


def below_upper(evidence: Evidence, band: Band) -> Measurement:
    """v(t) below the upper curve, in units of v*; where the curve has arrived ten of its roundings are forgiven."""
    run = flow(evidence)
    slack = (band.upper - run.magnitude) / run.start.teacher_magnitude
    return _smallest(slack + np.where(has_arrived(evidence), ARRIVED, 0.0), run.times, "v*")


@kept
def magnitudes(evidence: Evidence) -> Band:
    """Theorems 3.3 and 3.8 from the start, on the recorded times."""
    run = flow(evidence)
    return magnitude_band(start(evidence), run.times)


def gap_above_lower(evidence: Evidence, *, sharp: bool = False) -> Measurement:
    """log of gap over its lower curve; a lower curve at or below 0 binds nothing."""
    run = flow(evidence)
    band = angle_band(start(evidence), run.times, sharp=sharp)
    slack = np.full_like(run.gap, np.inf)
    seen = band.lower > SMALLEST_GAP  # at the very end the rates are lost to rounding of the exponent
    with np.errstate(divide="ignore"):  # a gap of 0 lies below every curve
        slack[seen] = np.log(run.gap[seen]) - np.log(band.lower[seen])
    return _smallest(slack, run.times, "in log(pi - phi)")


def gap_below_upper(evidence: Evidence, *, sharp: bool = False) -> Measurement:
    """log of the upper curve over the gap."""
    run = flow(evidence)
    band = angle_band(start(evidence), run.times, sharp=sharp)
    slack = np.log(np.maximum(band.upper, SMALLEST_GAP)) - np.log(np.maximum(run.gap, SMALLEST_GAP))
    return _smallest(slack, run.times, "in log(pi - phi)")


def within_range(evidence: Evidence) -> Measurement:
    """r <= v(t) <= R with r = min(v_0, v*(1-eps_0)^(1/(q+1))), R = max(v_0, v*), in units of v*."""
    run, limits = flow(evidence), magnitude_range(start(evidence))
    slack = np.minimum(run.magnitude - limits.smallest, limits.largest - run.magnitude)
    return _smallest(slack / run.start.teacher_magnitude, run.times, "v*")


def angle_constants(evidence: Evidence) -> Constants:
    """r, R, the two rates and y_0 = cot(phi_0/2)."""
    neuron, limits = start(evidence), magnitude_range(start(evidence))
    slow, fast = angle_rates(neuron)
    return {
        "r": limits.smallest,
        "R": limits.largest,
        "slow_rate": slow,
        "fast_rate": fast,
        "half_cotangent": neuron.half_cotangent,
    }


def start_constants(evidence: Evidence) -> Constants:
    """Where the run begins: v_0, v*, phi_0, eps_0 and the threshold of Eq. (11)."""
    neuron = start(evidence)
    return {
        "v_0": neuron.magnitude,
        "v_star": neuron.teacher_magnitude,
        "phi_0": neuron.phi,
        "eps_0": neuron.deficit,
        "threshold": neuron.threshold,
    }


def angle_grows(evidence: Evidence) -> Measurement:
    """Smallest increment of log tan(phi/2) between recorded times."""
    run = flow(evidence)
    smallest = float(np.min(np.diff(run.psi)))
    words = f"log tan(phi/2) grows by at least {smallest:.3g} between recorded times, to {run.psi[-1]:.4g}"
    return at_least(smallest, np.finfo(np.float64).tiny, detail=words)


def distance_at_end(evidence: Evidence) -> Measurement:
    """|w - w*|/v* at the last time, from magnitude and angle."""
    run = flow(evidence)
    ratio, gap = float(np.exp(run.log_ratio[-1])), float(run.gap[-1])
    distance = float(np.hypot(np.expm1(run.log_ratio[-1]), 2.0 * np.sqrt(ratio) * np.sin(0.5 * gap)))
    return at_most(distance, CONVERGED, detail=f"|w - w*| = {distance:.2g} v* at t = {run.times[-1]:.4g}")


CONVERGED = 1e-9  # the run ends 40 relaxation times after the angle has passed `gap`


def _thm3_3_lower(evidence: Evidence) -> Measurement:
    return above_lower(evidence, magnitudes(evidence))


def _thm3_3_upper(evidence: Evidence) -> Measurement:
    return below_upper(evidence, magnitudes(evidence))
