"""How far the direction still travels near a max-margin direction: Lemma F.11 [lyu2021].

The lemmas bound the speed of theta/|theta| by that of some unnamed function of gamma* - gamma~. What can be measured
is their consequence: the arc length left vanishes together with the gap, as a power of it.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from reluflow.theory.condition import Judgement
from reluflow.theory.evidence import Evidence, FlowPlan
from reluflow.theory.limit import LimitIdentified, direction_distance, unit_norm
from reluflow.theory.lyu2021.limits import limit_of, proved_limit
from reluflow.theory.lyu2021.smoothed_margin import MarginState, states_of
from reluflow.theory.measurement import Measurement, at_least, fitted_slope, need
from reluflow.theory.stating import hypothesis
from reluflow.theory.theorem import Constants

_NUM_TIMES = 40


def _best_margin(evidence: Evidence) -> float:
    return MarginState(unit_norm(limit_of(evidence).network), evidence.dataset.X, evidence.dataset.y).gamma


@hypothesis("max-margin", "the limit is a max-margin direction", needs_trajectory=True)
def _is_max_margin(evidence: Evidence) -> Judgement:
    need(evidence.trajectory, "no run was made")
    kind = proved_limit(evidence).certificate.kind
    return Judgement(kind == "max-margin", None, f"the limit is a {kind}")


def _plan(evidence: Evidence) -> FlowPlan:
    last = evidence.parameter("late_margin")
    rate = 0.5 * float(np.linalg.norm(evidence.facts.mean_signed_sample))
    start = float(np.log((max(0.0, -evidence.network.log_scale) + 3.0) / rate))
    return FlowPlan(
        times=tuple(np.exp(np.linspace(start, start + last, _NUM_TIMES))),
        until=LimitIdentified(smallest_margin=last),
        log_horizon=700.0,
    )


def remaining_arc(evidence: Evidence) -> tuple[list[float], list[float]]:
    """gamma* - gamma~ and the length left to travel (chords between snapshots, then to the limit) at each snapshot."""
    states = [state for _, state in states_of(evidence)]
    units = [unit_norm(state.network) for state in states]
    chords = [direction_distance(one, two) for one, two in pairwise(units)]
    chords.append(direction_distance(units[-1], unit_norm(limit_of(evidence).network)))
    left = np.cumsum(chords[::-1])[::-1]
    best = _best_margin(evidence)
    return [best - state.smooth_gamma for state in states], [float(length) for length in left]


def _stays_below(evidence: Evidence) -> Measurement:
    gaps, _ = remaining_arc(evidence)
    return at_least(min(gaps), 0.0, detail=f"gamma* - gamma~ falls from {gaps[0]:.4g} to {gaps[-1]:.4g}")


def _rises(evidence: Evidence) -> Measurement:
    """Smallest decrease of gamma* - gamma~ between snapshots: wherever the direction moves the margin rises."""
    gaps, _ = remaining_arc(evidence)
    return at_least(-float(np.max(np.diff(gaps))), 0.0, allowance=1e-9 * _best_margin(evidence))


def _vanishes(evidence: Evidence) -> Measurement:
    """Exponent p in (arc length left) ~ (gamma* - gamma~)^p over the later half; it must be above 0."""
    gaps, left = remaining_arc(evidence)
    half = len(gaps) // 2
    exponent = fitted_slope(np.log(gaps[half:]), np.log(left[half:]))
    words = f"arc length left like (gamma* - gamma~)^{exponent:.4g}, {left[-1]:.3g} at the end"
    return at_least(exponent, 0.0, detail=words)


def _constants(evidence: Evidence) -> Constants:
    best, n, kappa = _best_margin(evidence), evidence.dataset.n, evidence.parameter("kappa")
    bracket = 4.0 * np.log(n) + 2.0
    return {
        "c": float(max(2.0, 2.0 * best / bracket)),
        "log_rho_0": float(np.log(bracket / best) / (2.0 - kappa)),
        "tangential_threshold": float(best / bracket),
    }
