"""Linear growth inside the cone of correct signs: Lemmas G.5, G.6, G.7 [lyu2021].

Once positive neurons are in C and negative ones in -C, each sign obeys one linear equation with rate |mu^+|/2 or
|mu^-|/2 (erratum E2). T0 is the time at which the limit flow has every neuron in C_(delta/2), known in closed form.
Sizes are compared in the unit ball: samples divided by the factor c, neurons multiplied by sqrt c.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.network.network import Network, row_norms
from reluflow.papers.lyu2021.theorems.early_constants import (
    CorrectCone,
    constants_of,
    correct_cone,
    force_tolerance,
    idealised_state,
    idealised_time,
    largest_log_scale,
    positive_growth,
    where_cone_serves,
)
from reluflow.papers.lyu2021.theorems.entering_the_cone import OFF_RAYS
from reluflow.papers.lyu2021.theorems.hypotheses import CONE_DATA
from reluflow.papers.lyu2021.theorems.parameters import FOLDS
from reluflow.papers.lyu2021.theorems.settings import BALANCED_SETTING
from reluflow.papers.lyu2021.theorems.unit_ball import m_norm, neuron_rows
from reluflow.theory.comparison import (
    Comparison,
    Level,
    Source,
    Values,
    all_of,
    at_most,
    equals,
    fitted_slope,
    missing,
    require,
    requires,
    worst_compared,
)
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.hypotheses import BALANCED
from reluflow.theory.measures import AtMost, Quantities
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem

_NUM_TIMES = 12
SMALLEST_LOG = -600.0  # ln of the scale below which a neuron at its true size is no double
_NO_ENTRY = "the run has no snapshot at $T_0$ with neurons that a double holds"


@computed_once
def entry_time(evidence: Evidence) -> float:
    """T0: when the limit flow has every neuron in C_(delta/2)."""
    return idealised_time(evidence, 0.5 * correct_cone(evidence).delta)


@computed_once
def entry_sizes(evidence: Evidence) -> FloatArray:
    """log(|w_k(T0)| / sigma) of the limit flow for the stored shape, shape (num_neurons,)."""
    state = idealised_state(evidence, entry_time(evidence))
    return np.asarray(state.log_norms + np.log(row_norms(state.w)))


def stacked(network: Network, cone: CorrectCone) -> FloatArray:
    """The neurons (w_k, a_k) at their true size in the unit ball, shape (num_neurons, d + 1)."""
    return np.asarray(np.exp(network.log_scale) * np.sqrt(cone.factor) * neuron_rows(network))


def boosted(z: FloatArray, cone: CorrectCone, time: float) -> FloatArray:
    """The linearised flow: every neuron under the constant pull mu^+/2 or mu^-/2 of its sign, for the given time."""
    moved = z.copy()
    for sign in (1.0, -1.0):
        rows = np.sign(z[:, -1]) == sign
        unit = cone.mean(sign) / np.linalg.norm(cone.mean(sign))
        along, output = z[rows, :-1] @ unit, z[rows, -1]
        # in light-cone coordinates the boost multiplies by e^x and e^-x, without cancellation
        grown = 0.5 * (along + output) * np.exp(cone.growth(sign) * time)
        shrunk = 0.5 * (along - output) * np.exp(-cone.growth(sign) * time)
        moved[rows, :-1] += (grown + shrunk - along)[:, None] * unit
        moved[rows, -1] = grown - shrunk
    return moved


def where_entry_exists(judge: Callable[[Evidence], Comparison]) -> Callable[[Evidence], Comparison]:
    """The same judgement, undecided where there is no cone or some neuron never enters it."""

    @wraps(judge)
    def guarded(evidence: Evidence) -> Comparison:
        require(np.isfinite(entry_time(evidence)), "some neuron never enters the cone of correct signs")
        return judge(evidence)

    return where_cone_serves(guarded)


def _depth_at_entry(evidence: Evidence) -> float:
    """How much deeper than delta/3 every neuron of the run is in +-C at T0."""
    network, cone = require(_at_entry(evidence), _NO_ENTRY), correct_cone(evidence)
    return float(cone.depths(network.w, network.a).min()) - cone.delta / 3.0


@where_entry_exists
def _is_inside_at_entry(evidence: Evidence) -> Comparison:
    return worst_compared(_depth_at_entry(evidence), "at_least", 0.0, words=r"{number:.4g} deeper than $\delta/3$")


INSIDE_AT_ENTRY = Hypothesis(
    "in-cone",
    r"at $T_0$ positive neurons are in $C_{\delta/3}$ and negative ones in $-C_{\delta/3}$",
    _is_inside_at_entry,
    is_regime=True,
    needs_trajectory=True,
)


def _at_entry(evidence: Evidence) -> Network | None:
    time = entry_time(evidence)
    if evidence.network.log_scale < SMALLEST_LOG:
        return None
    return next((s.network for s in evidence.run.snapshots if abs(s.time - time) <= 1e-9 * time), None)


def _window_constant(evidence: Evidence) -> float:
    """min{eps, lambda_0^+} in the unit ball."""
    cone = correct_cone(evidence)
    return min(constants_of(evidence).eps, cone.growth(1) / cone.factor)


def window(evidence: Evidence, log_size: float) -> float:
    """Length of Lemma G.7's window for ln of the M-norm at T0, with T0 added to it (erratum E16)."""
    cone, m = correct_cone(evidence), evidence.network.num_neurons
    return float(np.log(np.sqrt(_window_constant(evidence)) / (2.0 * np.sqrt(m))) - log_size) / cone.growth(1)


def _window_plan(evidence: Evidence) -> FlowPlan:
    cone = correct_cone(evidence)
    log_size = evidence.network.log_scale + 0.5 * np.log(cone.factor) + float(entry_sizes(evidence).max())
    length = max(window(evidence, log_size), 1.0 / cone.growth(1))
    return FlowPlan(times=tuple(entry_time(evidence) + np.linspace(0.0, length, _NUM_TIMES)))


def _window_scale(evidence: Evidence) -> float:
    """The log factor for which the window of Lemma G.7 is `folds` e-folds long."""
    m, cone = evidence.network.num_neurons, correct_cone(evidence)
    wanted = np.log(np.sqrt(_window_constant(evidence)) / (2.0 * np.sqrt(m))) - evidence.parameter("folds")
    return float(wanted - 0.5 * np.log(cone.factor) - entry_sizes(evidence).max() - evidence.network.log_scale)


RESOLVED = 1e-9  # error relative to r that is more than that of the integration

# Lemma G.5 ------------------------------------------------------------------------------------------------------------

_TOO_SMALL = "at this scale neurons at their true size are below a double; take a larger one"
_UNRESOLVED = "the error is that of the integration; $C_2 r^3$ is below it at this scale"


@computed_once
def growth_constants(evidence: Evidence) -> dict[str, float]:
    """The constants of Lemma G.5, in the unit ball; A and B are those of the limit flow at T0, not e^(-T0), e^(T0)."""
    cone, network, sizes = correct_cone(evidence), evidence.network, entry_sizes(evidence)
    eps, rate, m = constants_of(evidence).eps, cone.growth(1) / cone.factor, network.num_neurons
    smallest, largest = 0.999 * np.exp(sizes.min()), 1.001 * np.exp(sizes.max())
    kappa = 1.0 - cone.growth(-1) / cone.growth(1)
    r_max = np.sqrt(min(rate, eps)) / (2.0 * max(largest, 1.0))
    log_sigma_max = largest_log_scale(cone, network, eps, cone.factor * entry_time(evidence))
    log_C_1 = log_sigma_max + 0.5 * np.log(cone.factor) - 3.0 * np.log(r_max)
    return {
        "kappa": float(kappa),
        "A": float(smallest),
        "B": float(largest),
        "A_bar": float(smallest / (2.0 * np.sqrt(m))),
        "B_bar": float(largest / m ** (0.5 * (1.0 - kappa))),
        "r_max": float(r_max),
        "log_C_1": float(log_C_1),
        "C_2": float(4.0 * largest**3 / (rate * np.sqrt(m)) + np.sqrt(2.0) * largest * np.exp(log_C_1)),
    }


def _radius(evidence: Evidence) -> float:
    """r with sigma = C_1 r^3/2 in the unit ball."""
    log_sigma = evidence.network.log_scale + 0.5 * np.log(correct_cone(evidence).factor)
    return float(np.exp((log_sigma + np.log(2.0) - growth_constants(evidence)["log_C_1"]) / 3.0))


def _resolved_radius(evidence: Evidence) -> float:
    """The same, where it is no zero of rounding, of which nothing is known."""
    radius = _radius(evidence)
    require(radius > 0.0, "$r$ is below a double; take a larger scale")
    return radius


@where_entry_exists
def _has_small_radius(evidence: Evidence) -> Comparison:
    words = r"$r$ = {number:.4g} with $\sigma = C_1 r^3/2$, $r_{{\max}}$ = {bound:.4g}"
    return worst_compared(_resolved_radius(evidence), "below", growth_constants(evidence)["r_max"], words=words)


SMALL_RADIUS = Hypothesis("radius", r"$r < r_{\max}$ with $\sigma = C_1 r^3/2$", _has_small_radius, is_regime=True)


def decomposition_error(evidence: Evidence) -> tuple[float, float, FloatArray]:
    """r, the M-norm error of Lemma G.5 at T0 + T1, and b-bar; in the unit ball."""
    cone, m = correct_cone(evidence), evidence.network.num_neurons
    start, end = (stacked(evidence.run.snapshots[k].network, cone) for k in (0, -1))
    sigma = np.exp(evidence.network.log_scale) * np.sqrt(cone.factor)
    kappa, r = growth_constants(evidence)["kappa"], _radius(evidence)
    b, predicted = np.zeros(m), np.zeros_like(end)
    for sign in (1.0, -1.0):
        rows, power = np.sign(evidence.network.a) == sign, 1.0 if sign > 0 else 1.0 - kappa
        unit = cone.mean(sign) / np.linalg.norm(cone.mean(sign))
        b[rows] = (start[rows, :-1] @ unit + start[rows, -1]) / (2.0 * (np.sqrt(m) * sigma) ** power)
        predicted[rows] = (r**power * b[rows])[:, None] * np.append(unit, 1.0)
    return r, m_norm(end - predicted), b


def growth_plan(evidence: Evidence) -> FlowPlan:
    """Lemma G.5's two times, T0 and T0 + T1, at four scales."""
    cone, m = correct_cone(evidence), evidence.network.num_neurons
    log_sigma = evidence.network.log_scale + 0.5 * np.log(cone.factor)
    duration = (np.log(_radius(evidence)) - 0.5 * np.log(m) - log_sigma) / cone.growth(1)
    start = entry_time(evidence)
    halvings = tuple(-3.0 * np.log(2.0) * k for k in (1, 2, 3))
    return FlowPlan(times=(start, start + max(duration, 1e-3 / cone.growth(1))), other_scales=halvings)


def growth_scale(evidence: Evidence) -> float:
    """The log factor that makes r half of r_max."""
    constants = growth_constants(evidence)
    log_sigma = constants["log_C_1"] - np.log(2.0) + 3.0 * np.log(0.5 * constants["r_max"])
    return float(log_sigma - 0.5 * np.log(correct_cone(evidence).factor) - evidence.network.log_scale)


def _error_bound(evidence: Evidence) -> Comparison:
    require(evidence.network.log_scale >= SMALLEST_LOG, _TOO_SMALL)
    r, error, _ = decomposition_error(evidence)
    bound = growth_constants(evidence)["C_2"] * r**3
    if bound < error < RESOLVED * r:
        return missing(_UNRESOLVED)
    return at_most(error, bound, detail=f"error {error:.4g} against $C_2 r^3$ = {bound:.4g} at $r$ = {r:.4g}")


def _error_order(evidence: Evidence) -> Comparison:
    require(min(e.network.log_scale for e in (evidence, *evidence.other_scales)) >= SMALLEST_LOG, _TOO_SMALL)
    points = [decomposition_error(e)[:2] for e in (evidence, *evidence.other_scales)]
    require(len(points) >= 3, "runs at three scales or more are needed")
    require(not any(error < RESOLVED * r for r, error in points), _UNRESOLVED)
    order = fitted_slope(*np.log(np.array(points)).T)
    return equals(order, 3.0, atol=0.1, detail=f"error of order {order:.4g} in $r$ over {len(points)} scales")


def _sizes_of_b(evidence: Evidence) -> Comparison:
    """b-bar_k within its bounds, those of negative neurons times sigma^kappa, at every scale."""
    require(min(e.network.log_scale for e in (evidence, *evidence.other_scales)) >= SMALLEST_LOG, _TOO_SMALL)
    statements = []
    for each in (evidence, *evidence.other_scales):
        c, b = growth_constants(each), np.abs(decomposition_error(each)[2])
        log_sigma = each.network.log_scale + 0.5 * np.log(correct_cone(each).factor)
        scale = np.where(each.network.a > 0.0, 1.0, np.exp(c["kappa"] * log_sigma))
        inside = np.all((b >= scale * c["A_bar"]) & (b <= scale * c["B_bar"]))
        statements.append((bool(inside), rf"some $\bar{{b}}$ is out of bounds at $\log\sigma$ {log_sigma:.4g}"))
    return all_of(statements, detail=rf"all $\bar{{b}}$ within $[\bar{{A}}, \bar{{B}}]$ at {len(statements)} scales")


LEMMA_G_5 = Theorem(
    "lyu2021:lemmaG.5",
    Reference("lyu2021", "Lemma G.5"),
    r"At $T_0 + T_1(\sigma, r)$ positive neurons are $r b_k (\bar{\mu}^+, 1)$ and negative ones "
    r"$r^{1-\kappa} b_k (\bar{\mu}^-, 1)$, up to $C_2 r^3$; $b_k$ is of order 1 for positive and of order "
    r"$\sigma^\kappa$ for negative neurons.",
    hypotheses=(*CONE_DATA, BALANCED, OFF_RAYS, SMALL_RADIUS, INSIDE_AT_ENTRY),
    conclusions=(
        Conclusion("error", "the error is at most $C_2 r^3$", _error_bound),
        Conclusion("order", "the error is of order $r^3$", _error_order, Level.SCALING, source=Source.RELUFLOW),
        Conclusion(
            "b-bar", r"$|b_k|$ lies in $[\bar{A}, \bar{B}]$, times $\sigma^\kappa$ for negative neurons", _sizes_of_b
        ),
    ),
    constants=Quantities({"T0": entry_time, "lambda_0_plus": positive_growth}, others=(growth_constants,)),
    plan=growth_plan,
    log_scale=growth_scale,
    setting=BALANCED_SETTING,
    example="lyu-counterexample-sharp",
    erratum=r"E2: $\lambda_0^+ = |\mu^+|/2$; E16: $\bar{A}$, $r_{\max}$ and $C_1$ as corrected there.",
    departs="$T_0$, $A$ and $B$ are those of the limit flow, which are smaller than the proof's and serve it as well.",
)

# Lemma G.6 ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LinearisedGrowth:
    """The linearised flow from the state at T0, in the unit ball, at each snapshot's time; none without a state."""

    rows: tuple[FloatArray, ...]


def _linearised_growth(evidence: Evidence) -> LinearisedGrowth:
    cone, network = correct_cone(evidence), _at_entry(evidence)
    if network is None:
        return LinearisedGrowth(())
    times, z = (s.time - entry_time(evidence) for s in evidence.run.snapshots), stacked(network, cone)
    return LinearisedGrowth(tuple(boosted(z, cone, elapsed) for elapsed in times))


@requires(_at_entry, _NO_ENTRY)
def _growth_ratio(evidence: Evidence, network: Network) -> Values:
    """|linearised(t)|_M / (e^(lambda_0^+ (t - T0)) |theta(T0)|_M) over the snapshots' times."""
    cone = correct_cone(evidence)
    z = stacked(network, cone)
    for snapshot, moved in zip(evidence.run.snapshots, evidence.recorded(LinearisedGrowth).rows, strict=True):
        elapsed = snapshot.time - entry_time(evidence)
        yield m_norm(moved) / (np.exp(cone.growth(1) * elapsed) * m_norm(z))


LEMMA_G_6 = Theorem(
    "lyu2021:lemmaG.6",
    Reference("lyu2021", "Lemma G.6"),
    r"From $T_0$ on the linearised flow grows at most like $e^{\lambda_0^+ (t - T_0)}$ in the $M$-norm.",
    hypotheses=(*CONE_DATA, BALANCED, OFF_RAYS, INSIDE_AT_ENTRY),
    conclusions=(
        Conclusion(
            "growth",
            r"the $M$-norm of the linearised flow is at most $e^{\lambda_0^+ (t - T_0)} |\theta(T_0)|_M$",
            AtMost(_growth_ratio, 1.0, allowance=1e-12),
        ),
    ),
    constants=Quantities({"T0": entry_time, "lambda_0_plus": positive_growth}),
    parameters=(FOLDS,),
    plan=_window_plan,
    record=_linearised_growth,
    log_scale=_window_scale,
    setting=BALANCED_SETTING,
    example="lyu-counterexample-sharp",
    erratum=r"E2: $\lambda_0^+ = |\mu^+|/2$.",
)

# Lemma G.7 ------------------------------------------------------------------------------------------------------------


@requires(_at_entry, _NO_ENTRY)
def _linearisation(evidence: Evidence, network: Network) -> Comparison:
    """Largest error of the linearised flow over its bound, over the snapshots inside the window."""
    cone = correct_cone(evidence)
    z, m = stacked(network, cone), evidence.network.num_neurons
    size, rate = m_norm(z), cone.growth(1)
    length, ratios = window(evidence, float(np.log(size))), []
    for snapshot in evidence.run.snapshots:
        elapsed = snapshot.time - entry_time(evidence)
        if 0.0 < elapsed <= length:
            grown = size * np.exp(rate * elapsed)
            error = m_norm(stacked(snapshot.network, cone) - boosted(z, cone, elapsed)) / grown
            bound = 4.0 * m * cone.factor / rate * grown**2
            if bound < error < RESOLVED:
                return missing("the error is that of the integration; its bound is below it at this scale")
            ratios.append(error / bound)
    require(ratios, f"no snapshot lies in the window of length {length:.3g} after $T_0$; the scale is too large")
    return at_most(max(ratios), 1.0, detail=f"largest error/bound {max(ratios):.3g} over {len(ratios)} snapshots")


LEMMA_G_7 = Theorem(
    "lyu2021:lemmaG.7",
    Reference("lyu2021", "Lemma G.7"),
    r"After $T_0$ the flow stays within $(4 m |\theta(T_0)|_M^3/\lambda_0^+) e^{3 \lambda_0^+ (t - T_0)}$ of its "
    r"linearisation, until the window closes.",
    hypotheses=(*CONE_DATA, BALANCED, OFF_RAYS, INSIDE_AT_ENTRY),
    conclusions=(Conclusion("error", "the error of the linearised flow is below its bound", _linearisation),),
    constants=Quantities({"T0": entry_time, "lambda_0_plus": positive_growth, "eps": force_tolerance}),
    parameters=(FOLDS,),
    plan=_window_plan,
    log_scale=_window_scale,
    setting=BALANCED_SETTING,
    example="lyu-counterexample-sharp",
    erratum=r"E2: $\lambda_0^+ = |\mu^+|/2$; E16: the window starts at $T_0$ and its exponent carries $\lambda_0^+$.",
)
