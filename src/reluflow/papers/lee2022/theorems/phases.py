"""Phases of the magnitude and bounds rebuilt on the way: Eq. (11), Section 5.2, Appendix D.1 [lee2022]."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from reluflow.errors import InvalidInputError
from reluflow.papers.lee2022.paper import EXAMPLE, SETTING
from reluflow.papers.lee2022.single_neuron.balanced_trajectory import BalancedTrajectory
from reluflow.papers.lee2022.single_neuron.bounds import rebuilt_magnitude_band
from reluflow.papers.lee2022.single_neuron.phases import TurningPoint, has_two_phases, turning_point
from reluflow.papers.lee2022.teacher_and_student import start
from reluflow.papers.lee2022.theorems.flow_measures import ROUNDING, flow, flow_plan, has_arrived
from reluflow.papers.lee2022.theorems.population_model import GAP, LAYERS_FROM_ZERO, POPULATION_MODEL, START
from reluflow.theory.comparison import Comparison, Level, Values, at_least, missing, none_of, nothing
from reluflow.theory.evidence import Evidence
from reluflow.theory.measures import AtLeast
from reluflow.theory.theorem import Conclusion, Parameter, Reference, Theorem

# Equation (11) --------------------------------------------------------------------------------------------------------


def resolved_switches(run: BalancedTrajectory) -> list[tuple[float, float]]:
    """(time before, sign before) of each change of direction of v, where v^(q+1) - V(1-eps) is above rounding."""
    seen = np.flatnonzero(np.abs(run.excess) > ROUNDING)
    sign = np.sign(run.excess[seen])
    change = np.flatnonzero(sign[:-1] * sign[1:] < 0)
    return [(float(run.times[seen[k]]), float(sign[k])) for k in change]


def _one_switch(evidence: Evidence) -> Comparison:
    switches = resolved_switches(flow(evidence))
    wrong = sum(sign < 0 for _, sign in switches) + max(len(switches) - 1, 0)
    times = ", ".join(f"{time:.4g}" for time, _ in switches) or "none"
    return none_of(wrong, detail=f"changes of direction after $t$ = {times}")


def _threshold_grows(evidence: Evidence) -> float:
    return float(np.min(-np.diff(flow(evidence).deficit)))


def _direction(evidence: Evidence) -> Comparison:
    """Steps of the run whose direction disagrees with the sign of v^(q+1) - V(1-eps) at both ends."""
    run = flow(evidence)
    step, sign = np.diff(run.log_ratio), np.sign(run.excess)
    resolved = np.abs(run.excess) > ROUNDING
    clear = (np.abs(step) > ROUNDING) & (sign[:-1] == sign[1:]) & resolved[:-1] & resolved[1:]
    wrong = int(np.sum(clear & (np.sign(step) != -sign[:-1])))
    return none_of(wrong, total=int(np.sum(clear)))


EQ_11 = Theorem(
    "lee2022:eq11",
    Reference("lee2022", "Eq. (11)"),
    r"$dv/dt < 0$ exactly when $v > v^*(1 - \varepsilon(\varphi))^{1/(q+1)}$; the threshold grows, so $v$ changes "
    r"its direction at most once, from falling to rising.",
    hypotheses=POPULATION_MODEL,
    conclusions=(
        Conclusion("direction", "$v$ falls exactly above the threshold", _direction, Level.EXACT),
        Conclusion(
            "threshold",
            "the threshold never falls",
            AtLeast(
                _threshold_grows, 0.0, words=r"$\varepsilon$ falls by at least {measured:.3g} between recorded times"
            ),
            Level.EXACT,
        ),
        Conclusion("one-switch", "at most one change, from falling to rising", _one_switch, Level.EXACT),
    ),
    constants=START,
    parameters=(Parameter("q", 2.0, "number of scalar layers, a whole number", low=-1.0, high=20.0), GAP),
    plan=flow_plan,
    setting=SETTING,
    example=EXAMPLE,
)

# Section 5.2 ----------------------------------------------------------------------------------------------------------


def _turning_point(evidence: Evidence) -> TurningPoint | str | None:
    """The predicted turn, None where v is monotone, or why the recorded run could not show it."""
    try:
        point = turning_point(start(evidence))
    except InvalidInputError as error:
        return str(error)
    if point is not None and point.neuron.deficit < LATEST_TURN:
        return (
            rf"the turn at $t$ = {point.time:.4g} is at $\varepsilon$ = {point.neuron.deficit:.2g}, which the "
            rf"run cannot show"
        )
    return point


LATEST_TURN = 1e-9  # v* - v at the turn is of this order, a thousand times the rounding forgiven


def _phases(evidence: Evidence) -> Comparison:
    """Changes of direction in the run against the predicted number."""
    expected, found = int(has_two_phases(start(evidence))), len(resolved_switches(flow(evidence)))
    point = _turning_point(evidence)
    if isinstance(point, str):
        return missing(point)
    return none_of(abs(found - expected), detail=f"{found} changes of direction, {expected} predicted")


def _turning(evidence: Evidence) -> Comparison:
    """The predicted minimum against the least recorded v: not above it, nor farther below than its neighbours are."""
    run, point = flow(evidence), _turning_point(evidence)
    if isinstance(point, str):
        return missing(point)
    index = int(np.argmin(run.magnitude))
    least = float(run.magnitude[index])
    if point is None:
        ends = min(run.magnitude[0], run.magnitude[-1])
        words = f"$v$ is monotone; its least value {least:.8g} is at an end"
        return at_least((least - ends) / run.start.teacher_magnitude, 0.0, allowance=ROUNDING, detail=words)
    around = run.magnitude[max(index - 1, 0) : index + 2]
    lead = (least - point.neuron.magnitude) / run.start.teacher_magnitude
    spread = float(np.max(around) - least) / run.start.teacher_magnitude
    words = (
        f"least $v$ {least:.8g}, predicted {point.neuron.magnitude:.8g}, neighbours up to {float(np.max(around)):.8g}"
    )
    return at_least(min(lead, spread - lead), 0.0, allowance=ROUNDING, detail=words)


def _turning_time(evidence: Evidence) -> Comparison:
    """The predicted time of the turn against the recorded times before and after the least v."""
    run, point = flow(evidence), _turning_point(evidence)
    if isinstance(point, str):
        return missing(point)
    if point is None:
        return nothing("$v$ is monotone and has no turn")
    index = int(np.argmin(run.magnitude))
    before, after = run.times[max(index - 1, 0)], run.times[min(index + 1, run.times.size - 1)]
    words = f"predicted at $t$ = {point.time:.6g}; the least $v$ is recorded between {before:.6g} and {after:.6g}"
    return at_least(min(point.time - before, after - point.time), 0.0, detail=words)


SEC_5_2 = Theorem(
    "lee2022:sec5.2",
    Reference("lee2022", "Sec. 5.2, conjecture on large norms"),
    r"$v$ falls and then rises exactly when $v_0$ exceeds $v^*(1 - \varepsilon_0)^{1/(q+1)}$ and, for $q = 0$, "
    r"$\varphi_0 v^*/|w_0| + \pi\,\cos\varphi_0 + \sin\varphi_0 > 0$; the turn is the root of "
    r"$v^{q+1} = V (1 - \varepsilon)$ along the orbit.",
    hypotheses=POPULATION_MODEL,
    conclusions=(
        Conclusion("phases", "as many changes of direction as predicted", _phases, Level.EXACT),
        Conclusion("turning", "the least magnitude is the predicted one", _turning),
        Conclusion("time", "it is reached at the predicted time", _turning_time),
    ),
    constants=START,
    parameters=(LAYERS_FROM_ZERO, GAP),
    plan=flow_plan,
    setting=SETTING,
    example=EXAMPLE,
    erratum="E11: the paper conjectures two phases for every large start; for $q = 0$ some fall for ever.",
)

# Appendix D.1 ---------------------------------------------------------------------------------------------------------


_ARRIVED = "the upper bound is at v* to nearly all digits from the start, and a difference from it is rounding"


def _restarts(evidence: Evidence) -> list[int]:
    """Four recorded times, the first and three on the way, while there is a way to go: the last is before arrival."""
    count = int(np.sum(~has_arrived(evidence)))
    return sorted({int(share * count) for share in (0.0, 0.14, 0.38, 0.62)}) if count > 1 else []


def _rebuilt_inside(evidence: Evidence) -> Values:
    """Slack of the run in the bands rebuilt on its way, in units of v*."""
    run, is_late = flow(evidence), has_arrived(evidence)
    for k in _restarts(evidence):
        slack = rebuilt_magnitude_band(run, k).slack(run.magnitude[k:])[1:]
        yield slack[~is_late[k + 1 :]] / run.start.teacher_magnitude


def _nested(evidence: Evidence) -> Values:
    """Distance by which a later band lies inside the earlier one, in units of v*."""
    run, is_late = flow(evidence), has_arrived(evidence)
    bands = [(k, rebuilt_magnitude_band(run, k)) for k in _restarts(evidence)]
    for (k, first), (later, second) in pairwise(bands):
        seen = ~is_late[later:]
        below = second.lower - first.lower[later - k :]
        above = first.upper[later - k :] - second.upper
        yield np.minimum(below, above)[seen] / run.start.teacher_magnitude


APP_D_1 = Theorem(
    "lee2022:appD.1",
    Reference("lee2022", "App. D.1, Fig. 3"),
    "Magnitude bounds rebuilt from a later state hold from there on and lie inside the earlier ones.",
    hypotheses=POPULATION_MODEL,
    conclusions=(
        Conclusion(
            "inside",
            "the run stays in every rebuilt band",
            AtLeast(_rebuilt_inside, 0.0, allowance=ROUNDING, empty=_ARRIVED),
        ),
        Conclusion(
            "nested",
            "each later band lies inside the earlier one",
            AtLeast(_nested, 0.0, allowance=ROUNDING, empty=_ARRIVED),
        ),
    ),
    constants=START,
    parameters=(LAYERS_FROM_ZERO, GAP),
    plan=flow_plan,
    setting=SETTING,
    example=EXAMPLE,
    erratum="E10: the bounds are not all convex; from below $u$ is convex up to $(q A/(2 q + 1))^{1/(q+1)}$ and "
    "concave later.",
)
