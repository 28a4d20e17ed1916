"""The end: the loss vanishes and, as lambda -> 0, the limit has rank one (Lemma 34, Theorem 7) [chistikov2023]."""

from __future__ import annotations

import numpy as np

from reluflow.dynamics.trajectory import Snapshot
from reluflow.theory.chistikov2023.bundle import bundle_of, escape_time, path_of
from reluflow.theory.chistikov2023.phase_one import LIGHTEST, ROUNDING, log_norms
from reluflow.theory.chistikov2023.scene import scene
from reluflow.theory.comparison import Comparison, at_least, at_most, fitted_slope, nothing, require
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.measures import Constants

DECADES = (3.0, 4.0, 5.0)  # scales 10^-x of the sweep
SUMS = 1e-9  # of squared norms at the end of a run; seen: 1e-15
RATIOS = 1e-6  # of logarithms of norms at the end of a run; seen: 1e-11
VANISHED = 1e-20  # of the loss at the start; the run is followed for 50 times its slowest time constant


def _late_rate(evidence: Evidence) -> float:
    """mu, the least eigenvalue of (I + v* v*^T) H: late the distance falls like exp(-mu t)."""
    here = scene(evidence)
    return float(np.min(np.linalg.eigvals(here.H + np.outer(here.teacher, here.gamma)).real))


def _plan(evidence: Evidence) -> FlowPlan:
    here = scene(evidence)
    end = escape_time(here, path_of(evidence)) + 50.0 / _late_rate(evidence)
    sweep = tuple(-np.log(10.0) * x - here.log_scale for x in DECADES)
    return FlowPlan(times=(here.alignment_time, max(end, 2.0 * here.alignment_time)), sweep=sweep)


def _last(evidence: Evidence) -> Snapshot:
    return evidence.run.snapshots[-1]


# Lemma 34 -------------------------------------------------------------------------------------------------------------


def ratio_gap(evidence: Evidence) -> float:
    """Largest |ln(|w_j|/|w_j'|) - ln(R_j/R_j')| of J_+ at the end."""
    here = scene(evidence)
    gaps = log_norms(_last(evidence).network)[here.positive] - here.log_growths
    return float(np.max(gaps) - np.min(gaps))


def _ratios(evidence: Evidence) -> Comparison:
    here = scene(evidence)
    if len(here.positive) < 2:
        return nothing("J+ holds one neuron")
    bound = float(np.exp(evidence.parameter("epsilon") / 3.0 * here.log_scale)) * -here.log_scale
    worst = ratio_gap(evidence)
    words = f"logarithms of ratios differ by {worst:.2g}, bound {bound:.2g}, rounding {RATIOS:g}"
    return at_most(worst, bound, allowance=RATIOS, detail=words)


def _ratios_order(evidence: Evidence) -> Comparison:
    if len(scene(evidence).positive) < 2:
        return nothing("J+ holds one neuron")
    require(len(evidence.sweep) >= 2, "no sweep of scales")
    slope = fitted_slope(
        [scene(e).log_scale for e in evidence.sweep], np.log([max(ratio_gap(e), 1e-300) for e in evidence.sweep])
    )
    return at_least(slope, evidence.parameter("epsilon") / 3.0, detail=f"the difference falls like lambda^{slope:.4g}")


def _norms(evidence: Evidence) -> Constants:
    here = scene(evidence)
    return {"limit_norms": dict(zip(here.positive.tolist(), here.limit_norms.tolist(), strict=True))}


# Theorem 7 ------------------------------------------------------------------------------------------------------------


def _vanishes(evidence: Evidence) -> Comparison:
    start = evidence.problem.initial_loss
    return at_most(_last(evidence).loss, VANISHED * start, detail=f"loss {_last(evidence).loss:.2g} of {start:.3g}")


def _reaches(evidence: Evidence) -> Comparison:
    here = scene(evidence)
    gap = float(np.linalg.norm(bundle_of(here, _last(evidence)).V - here.teacher))
    return at_most(gap, ROUNDING, detail=f"|V - v*| = {gap:.2g}")


def _angle(evidence: Evidence) -> float:
    """Largest angle of a neuron of J_+ and the teacher at the end."""
    here = scene(evidence)
    w = _last(evidence).network.w[here.positive]
    unit = w / np.linalg.norm(w, axis=1)[:, None]
    apart, along = np.linalg.norm(unit - here.teacher, axis=1), np.linalg.norm(unit + here.teacher, axis=1)
    return float(np.max(2.0 * np.arctan2(apart, along)))


def _rank_one(evidence: Evidence) -> Comparison:
    largest = 1.0 - np.cos(_angle(evidence))
    bound = 4.0 * float(np.exp(evidence.parameter("epsilon") * scene(evidence).log_scale))
    words = f"largest 1 - cos(w_j, v*) is {largest:.2g}, bound {bound:.2g}, rounding {ROUNDING**2:g}"
    return at_most(largest, bound, allowance=ROUNDING**2, detail=words)


def _rank_one_order(evidence: Evidence) -> Comparison:
    if len(scene(evidence).positive) < 2:
        return nothing("J+ holds one neuron")
    require(len(evidence.sweep) >= 2, "no sweep of scales")
    slope = fitted_slope([scene(e).log_scale for e in evidence.sweep], np.log([_angle(e) for e in evidence.sweep]))
    return at_least(
        slope, 0.5 * evidence.parameter("epsilon"), detail=f"the largest angle with v* falls like lambda^{slope:.4g}"
    )


def _sum(evidence: Evidence) -> Comparison:
    """Sum of |w_j|^2 over J_+ at the end, between 1 and 1/(1 - 4 lambda^eps)."""
    here = scene(evidence)
    total = float(here.multiplicity[here.positive] @ np.exp(2.0 * log_norms(_last(evidence).network)[here.positive]))
    power = 4.0 * float(np.exp(evidence.parameter("epsilon") * here.log_scale))
    high = 1.0 / (1.0 - power) if power < 1.0 else np.inf
    slack = min(total - 1.0, high - total)
    return at_least(slack, 0.0, allowance=SUMS, detail=f"the sum is 1 + {total - 1.0:.2g}, at most {high:.6g}")


def _others(evidence: Evidence) -> Comparison:
    """Largest ln |w_j| - ln(lambda |z_j|) of the neurons outside J_+ at the end, in runs that show them."""
    worst = -np.inf
    for e in (evidence, *evidence.sweep):
        here, network = scene(e), _last(e).network
        rest = np.setdiff1d(np.arange(len(here.z)), here.positive)
        if not len(rest):
            return nothing("all neurons are in J+")
        logs = log_norms(network)[rest]
        gaps = logs - here.log_scale - np.log(np.linalg.norm(here.z[rest], axis=1))
        worst = max(worst, float(np.max(gaps[logs - network.log_scale > LIGHTEST], initial=-np.inf)))
    require(np.isfinite(worst), "a run in which the other neurons do not underflow beside J+")
    return at_most(worst, 0.0, allowance=1e-9, detail=f"largest |w_j|/(lambda |z_j|) is {np.exp(worst):.6g}")
