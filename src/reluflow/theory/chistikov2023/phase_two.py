"""The second phase: the bundle stays in S and reaches the teacher (Lemmas 28, 32, Theorem 6) [chistikov2023]."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from reluflow.theory.chistikov2023.bundle import Bundle, bundles, escape_time, path_of, second_phase_times
from reluflow.theory.chistikov2023.phase_one import ROUNDING
from reluflow.theory.chistikov2023.scene import scene
from reluflow.theory.comparison import Comparison, at_least, at_most, missing, none_of, nothing, require
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.measures import Constants

EXACTLY = 1e-9  # relative; seen: 1e-15


def _plan(evidence: Evidence) -> FlowPlan:
    return FlowPlan(times=second_phase_times(evidence))


# Proposition 24 -------------------------------------------------------------------------------------------------------


def _in_cone(evidence: Evidence) -> Comparison:
    """Least <x_i, u_1>/|x_i|: u_1 = (1/(n eta_1)) sum <x_i, u_1> x_i, so positive coefficients put it inside."""
    here = scene(evidence)
    cosines = here.X @ here.spectrum[1][:, 0] / np.linalg.norm(here.X, axis=1)
    return at_least(
        float(np.min(cosines)), 0.0, detail=f"the least coefficient comes from a cosine {np.min(cosines):.4g}"
    )


# Lemma 28 -------------------------------------------------------------------------------------------------------------


def _log_power(evidence: Evidence, share: float) -> float:
    """lambda^(share eps), 0 where it underflows."""
    return float(np.exp(share * evidence.parameter("epsilon") * scene(evidence).log_scale))


def _together(evidence: Evidence) -> Comparison:
    """Largest 1 - cos of two neurons of J_+, from the distance of the unit vectors."""
    here, worst = scene(evidence), 0.0
    if len(here.positive) < 2:
        return nothing("J+ holds one neuron")
    start = here.phase_time(evidence.parameter("epsilon"))
    for snapshot in evidence.run.snapshots:
        if snapshot.time < start:
            continue
        w = snapshot.network.w[here.positive]
        unit = w / np.linalg.norm(w, axis=1)[:, None]
        worst = max(worst, float(0.5 * np.max(np.sum((unit[:, None] - unit[None]) ** 2, axis=2))))
    words = f"largest 1 - cos is {worst:.2g}, bound {4 * _log_power(evidence, 1.0):.2g}, rounding {ROUNDING**2:g}"
    return at_most(worst, 4.0 * _log_power(evidence, 1.0), allowance=ROUNDING**2, detail=words)


def _inside(evidence: Evidence) -> Comparison:
    least, at = min((b.slack(_log_power(evidence, 1.0 / 3.0)), b.time) for b in bundles(evidence))
    return at_least(least, 0.0, detail=f"least slack {least:.4g} at t = {at:.6g}, {len(bundles(evidence))} times")


def _in_order(evidence: Evidence) -> Comparison:
    parts = [b.part for b in bundles(evidence)]
    wrong = int(parts[0] != 1) + sum(after not in (before, before + 1) for before, after in pairwise(parts))
    return none_of(wrong, total=len(parts), detail=f"S_{parts[0]} to S_{parts[-1]}, {wrong} steps back or skipped")


def _linear(evidence: Evidence) -> Comparison:
    """Largest |h(x_i) - <V, x_i>|, relative to |V|, where V is in the range of doubles."""
    here, worst, by_time = scene(evidence), 0.0, {b.time: b for b in bundles(evidence)}
    for snapshot in evidence.run.snapshots:
        bundle = by_time.get(snapshot.time)
        if bundle is None or bundle.log_factor < -600.0:
            continue
        worst = max(worst, float(np.max(np.abs(snapshot.outputs - here.X @ bundle.V))) / bundle.length)
    return at_most(worst, EXACTLY, detail=f"largest difference {worst:.2g} relative to |V|")


def _velocity(evidence: Evidence) -> Comparison:
    """Largest |dV/dt - f|/|f|."""
    worst = max(
        float(np.linalg.norm(b.per_length - b.flow_per_length) / np.linalg.norm(b.flow_per_length))
        for b in bundles(evidence)
    )
    return at_most(worst, 3.0 * _log_power(evidence, 0.5), allowance=EXACTLY, detail=f"relative difference {worst:.2g}")


def _rate(b: Bundle) -> float:
    """d|V|^2/dt divided by |V|^2 |g|."""
    return float(2.0 * b.unit @ b.per_length / np.linalg.norm(b.g))


def _grows_first(evidence: Evidence) -> Comparison:
    here = scene(evidence)
    rates = [_rate(b) for b in bundles(evidence) if b.part == 1]
    require(rates, "no snapshot in S_1")
    return at_least(min(rates), float((here.eta[-1] * here.nu[-1] / here.speed) ** 2))


def _grows(evidence: Evidence) -> Comparison:
    return at_least(min(_rate(b) for b in bundles(evidence)), 3.0 * _log_power(evidence, 1.0 / 3.0))


def _not_too_fast(evidence: Evidence) -> Comparison:
    """Largest -d|v* - V|^2/dt over |V| |v* - V|^2."""
    here, worst = scene(evidence), -np.inf
    for b in bundles(evidence):
        gap = here.teacher - b.V
        worst = max(worst, float(2.0 * gap @ b.per_length / (gap @ gap)))
    return at_most(worst, 5.0 * float(here.eta[0]))


def _predictions(evidence: Evidence) -> Constants:
    path = path_of(evidence)
    return {"T_2": escape_time(scene(evidence), path), "handovers_after_T_2": list(path.handovers)}


# Lemma 32 and Theorem 6 -----------------------------------------------------------------------------------------------


def _before(evidence: Evidence) -> list[Bundle]:
    return [b for b in bundles(evidence) if b.ratios[0] < 0.5]


def _after(evidence: Evidence) -> list[Bundle]:
    """From T_2 on: everything after the first snapshot with r_1 >= 1/2."""
    found = bundles(evidence)
    first = next((k for k, b in enumerate(found) if b.ratios[0] >= 0.5), len(found))
    return found[first:]


def _small(evidence: Evidence) -> Comparison:
    lengths = [b.length for b in _before(evidence)]
    return at_most(max(lengths), 0.5) if lengths else missing("no snapshot between T_1 and T_2")


def _large(evidence: Evidence) -> Comparison:
    here, lengths = scene(evidence), [b.length for b in _after(evidence)]
    return at_least(min(lengths), here.speed / (4.0 * here.eta[0])) if lengths else missing("no snapshot after T_2")


def _gradient(evidence: Evidence) -> Comparison:
    """Least |grad L|^2/L from T_2 on, L = <v* - V, H (v* - V)>/2."""
    here, least = scene(evidence), np.inf
    for b in _after(evidence):
        gap = here.teacher - b.V
        least = min(least, float(np.exp(b.log_factor)) * b.squares / float(0.5 * gap @ here.H @ gap))
    require(np.isfinite(least), "no snapshot after T_2")
    return at_least(least, float(2.0 * here.eta[-1] * here.speed / (5.0 * here.eta[0])))


def _escape(evidence: Evidence) -> Comparison:
    """The first snapshot with r_1 >= 1/2, no earlier than T_2."""
    here, after = scene(evidence), _after(evidence)
    require(after, "no snapshot after T_2")
    d = here.X.shape[1]
    bound = -here.log_scale * (4.0 + evidence.parameter("epsilon")) * d * here.Delta**2 / here.delta**6
    return at_most(after[0].time, bound)


def _decays(evidence: Evidence) -> Comparison:
    """Largest ln L - ln of the bound from T_2 on, T_2 taken as the last snapshot before it."""
    here, before, after = scene(evidence), _before(evidence), _after(evidence)
    require(before and after, "snapshots before and after T_2")
    start, losses = before[-1].time, {s.time: s.loss for s in evidence.run.snapshots}
    rate = 0.4 * here.delta**4 / here.Delta**2
    worst = max(
        float(np.log(losses[b.time])) - float(np.log(0.5 * here.Delta**2)) + rate * (b.time - start) for b in after
    )
    return at_most(worst, 0.0, detail=f"ln L is at least {-worst:.4g} below the bound")


def _prop24_coordinate(evidence: Evidence) -> Comparison:
    return at_least(float(scene(evidence).nu[0]), np.sqrt(0.5))
