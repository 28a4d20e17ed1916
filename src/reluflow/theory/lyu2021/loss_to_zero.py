"""Theorem B.19 and what it rests on: one neuron on the right side drives the loss to zero; Gronwall's inequality."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.solver import AbstractRun
from reluflow.dynamics.stopping import AbstractStoppingRule, Check
from reluflow.dynamics.trajectory import Outcome
from reluflow.theory.condition import Judgement, fails
from reluflow.theory.evidence import Evidence, FlowPlan, drawn
from reluflow.theory.hypotheses import data_assumption, leaky_activation, no_ridge_met
from reluflow.theory.lyu2021.kkt_directions import loss_vanishes, norm_grows
from reluflow.theory.lyu2021.unit_ball import LYU_SETTING, mean_logistic, unit_ball, velocity
from reluflow.theory.measurement import Level, Measurement, at_least, at_most, missing
from reluflow.theory.stating import conclusion, hypothesis, theorems_of
from reluflow.theory.theorem import Conclusion, Constants, Parameter

INTEGRATION = 1e-9  # relative; the runs have rtol 1e-10
_driven_theorem = theorems_of("lyu2021", setting=LYU_SETTING, example="lyu-symmetric")


def _separator(evidence: Evidence) -> tuple[FloatArray, float]:
    """w* and gamma* of the samples, not rescaled."""
    found = evidence.facts.separator if evidence.dataset.is_binary else None
    if found is None or not found.separable:
        return np.zeros(evidence.dataset.d), 0.0
    return found.w, found.margin


def driving_strengths(evidence: Evidence) -> FloatArray:
    """c_k e^(-2 log_scale) = <w_k, w*>^2 - |w_k|^2 + a_k^2 where sgn(a_k) <w_k, w*> > 0, else -inf, shape (m,)."""
    network, (separator, _) = evidence.network, _separator(evidence)
    along = network.w @ separator
    strengths = along**2 + network.balancedness()
    return np.where(network.a * along > 0.0, strengths, -np.inf)


def _driver(evidence: Evidence) -> int:
    return int(np.argmax(driving_strengths(evidence)))


@hypothesis("driving-neuron", "some k has sgn(a_k) <w_k, w*> > 0 and c = <w_k, w*>^2 - |w_k|^2 + a_k^2 > 0")
def _has_driver(evidence: Evidence) -> Judgement:
    if _separator(evidence)[1] <= 0.0:
        return fails("there is no separator")
    strengths = driving_strengths(evidence)
    best = float(np.max(strengths))
    if best <= 0.0:
        return fails("no neuron has sgn(a_k) <w_k, w*> > 0 and c > 0")
    count = int(np.sum(strengths > 0.0))
    return Judgement(True, best, f"{count} neurons qualify; the largest c is {best:.6g} times the squared scale")


def loss_rate_bound(evidence: Evidence) -> float:
    """ln of c (leak gamma* / 2n)^2, the least -dL/dt while L >= ln 2 / n (erratum E14: c, not c^2)."""
    _, margin = _separator(evidence)
    log_c = float(np.log(np.max(driving_strengths(evidence)))) + 2.0 * evidence.network.log_scale
    return log_c + 2.0 * float(np.log(evidence.leak * margin / (2.0 * evidence.dataset.n)))


def log_hitting_time_bound(evidence: Evidence) -> float:
    """ln of the latest time at which L < ln 2 / n is reached; -inf where it holds at the start."""
    excess = evidence.problem.initial_loss - np.log(2.0) / evidence.dataset.n
    return float(np.log(excess)) - loss_rate_bound(evidence) if excess > 0.0 else -np.inf


def _constants(evidence: Evidence) -> Constants:
    return {
        "gamma_star": _separator(evidence)[1],
        "log_c": float(np.log(np.max(driving_strengths(evidence)))) + 2.0 * evidence.network.log_scale,
        "log_rate_bound": loss_rate_bound(evidence),
        "log_hitting_time_bound": log_hitting_time_bound(evidence),
    }


@dataclass(frozen=True)
class LossBelow(AbstractStoppingRule):
    """Stop when the loss is at most `level`; the direction then has begun to converge."""

    level: float

    def start(self) -> Check:
        return self._check

    def _check(self, run: AbstractRun) -> Outcome | None:
        return Outcome.DIRECTION_CONVERGED if run.loss() <= self.level else None


def _plan(evidence: Evidence) -> FlowPlan:
    until = evidence.parameter("until") / unit_ball(evidence).radius
    return FlowPlan(times=tuple(float(t) for t in until * np.linspace(0.0, 1.0, 41)))


def _driven_plan(evidence: Evidence) -> FlowPlan:
    """The driven time, then over decades until n L is e^-7 of ln 2, or the driven time is long over."""
    radius = unit_ball(evidence).radius
    late = np.geomspace(evidence.parameter("until"), 1e7, 25) / radius
    return FlowPlan(
        times=(*_plan(evidence).times, *(float(t) for t in late[1:])),
        until=LossBelow(float(np.exp(-7.0) * np.log(2.0)) / evidence.dataset.n),
        horizon=1e9 / radius,
    )


@conclusion("output-weight", "a_k^2 / c is at least 1")
def _output_weight_stays(evidence: Evidence) -> Measurement:
    """Smallest a_k^2 / c of the driving neuron over the snapshots."""
    k = _driver(evidence)
    c, smallest = driving_strengths(evidence)[k], np.inf
    for s in evidence.run.snapshots:
        factor = np.exp(2.0 * (s.network.log_scale - evidence.network.log_scale))
        same_sign = np.sign(s.network.a[k]) == np.sign(evidence.network.a[k])
        smallest = min(smallest, float(factor * s.network.a[k] ** 2 / c) if same_sign else 0.0)
    return at_least(smallest, 1.0, allowance=INTEGRATION)


@conclusion("loss-rate", "-dL/dt >= c (leak gamma*/2n)^2 while L >= ln 2/n; logarithms")
def _loss_rate(evidence: Evidence) -> Measurement:
    """Smallest ln(-dL/dt) over the snapshots with L >= ln 2 / n, against ln of its lower bound."""
    rates = []
    for s in evidence.run.snapshots:
        if s.loss >= np.log(2.0) / evidence.dataset.n:
            speed = np.linalg.norm(velocity(s.network, s.outputs, evidence.dataset, evidence.loss))
            rates.append(2.0 * (s.network.log_scale + float(np.log(speed))))
    if not rates:
        return missing("no snapshot has L >= ln 2 / n")
    return at_least(min(rates), loss_rate_bound(evidence), detail=f"ln(-dL/dt) >= {min(rates):.4g}")


@conclusion("hitting-time", "L < ln 2/n by (L(0) - ln 2/n)/(c (leak gamma*/2n)^2); logarithms")
def _hitting_time(evidence: Evidence) -> Measurement:
    """ln of the first recorded time with L < ln 2 / n against ln of its bound."""
    bound, run = log_hitting_time_bound(evidence), evidence.run
    if not np.isfinite(bound):
        return missing("L < ln 2 / n holds at the start, so there is no time to bound")
    below = np.flatnonzero(run.losses < np.log(2.0) / evidence.dataset.n)
    if below.size:
        first = float(run.log_times[below[0]])
        return at_most(first, bound, detail=f"reached by ln t = {first:.4g}, bound {bound:.4g}")
    if run.log_time > bound:
        return at_most(run.log_time, bound, detail=f"not reached by ln t = {run.log_time:.4g}, bound {bound:.4g}")
    return missing("the run ended before the bound without reaching L < ln 2 / n")


_SEPARABLE = (mean_logistic(), leaky_activation, data_assumption("linearly-separable"))

THEOREM_B19 = _driven_theorem(
    "thmB.19",
    "If sgn(a_k) <w_k, w*> > 0 and c = <w_k, w*>^2 - |w_k|^2 + a_k^2 > 0 for some k, then a_k^2 >= c for ever, "
    "L -> 0 and |theta| -> infinity.",
    locator="Thm B.19",
    hypotheses=(*_SEPARABLE, _has_driver, no_ridge_met),
    constants=_constants,
    conclusions=(
        _output_weight_stays,
        _loss_rate,
        _hitting_time,
        Conclusion("loss", "L falls to 0", loss_vanishes),
        Conclusion("norm", "|theta|^2 gains at least its share between snapshots", norm_grows),
    ),
    parameters=(Parameter("until", 300.0, "unit-ball time up to which snapshots are taken", low=0.0),),
    plan=_driven_plan,
    erratum="E14: the rate is c (leak gamma*/2n)^2, not c^2 (...)^2, and w* is a unit vector.",
)


@conclusion("pull", "<sgn(a_k) dw_k/dt, w*> over its lower bound")
def _pull_along_separator(evidence: Evidence) -> Measurement:
    """Smallest ratio of <sgn(a_k) dw_k/dt, w*> to |a_k| leak gamma* (1 - exp(-nL))/n over neurons and snapshots."""
    separator, margin = _separator(evidence)
    n, smallest = evidence.dataset.n, np.inf
    for s in evidence.run.snapshots:
        moved = velocity(s.network, s.outputs, evidence.dataset, evidence.loss)[:, :-1] @ separator
        bound = np.abs(s.network.a) * evidence.leak * margin * -np.expm1(-n * s.loss) / n
        alive = np.abs(s.network.a) > 0.0
        smallest = min(smallest, float(np.min((np.sign(s.network.a) * moved)[alive] / bound[alive])))
    return at_least(smallest, 1.0, allowance=INTEGRATION)


@conclusion("forces", "sum_i g_i over 1 - exp(-nL)")
def _total_force(evidence: Evidence) -> Measurement:
    """Smallest ratio of sum_i g_i to 1 - exp(-nL) over the snapshots."""
    ratios = []
    for s in evidence.run.snapshots:
        total = float(np.sum(np.abs(evidence.loss.force(s.outputs, evidence.dataset.y))))
        ratios.append(total / -np.expm1(-evidence.dataset.n * s.loss))
    return at_least(min(ratios), 1.0, allowance=INTEGRATION)


LEMMA_B20 = _driven_theorem(
    "lemmaB.20",
    "<sgn(a_k) dw_k/dt, w*> >= |a_k| leak gamma* (1 - exp(-nL))/n, for sum_i g_i >= 1 - exp(-nL).",
    hypotheses=(*_SEPARABLE, no_ridge_met),
    conclusions=(_pull_along_separator, _total_force),
    parameters=(Parameter("until", 300.0, "unit-ball time up to which the run is followed", low=0.0),),
    plan=_plan,
    erratum="E13: the step through 1 - exp(-max l_i) goes the wrong way; 1 - prod(1 - g_i) <= sum g_i serves.",
)

_GRID = np.linspace(0.0, 3.0, 301)


def _rate(t: FloatArray) -> FloatArray:
    return 0.7 + 0.5 * np.cos(2.0 * t)


def _rate_integral(t: FloatArray) -> FloatArray:
    return 0.7 * t + 0.25 * np.sin(2.0 * t)


def _level(t: FloatArray) -> FloatArray:
    return 1.0 + 0.3 * t**2


def _gauss_cumulative(function_values_at: FloatArray, weights: FloatArray) -> FloatArray:
    return np.concatenate([[0.0], np.cumsum(function_values_at @ weights)])


def _gronwall_bound() -> FloatArray:
    """alpha(t) + integral of alpha(s) beta(s) exp(B(t) - B(s)), to rounding, on the grid."""
    nodes, weights = np.polynomial.legendre.leggauss(6)
    half = 0.5 * np.diff(_GRID)[:, None]
    points = _GRID[:-1, None] + half * (1.0 + nodes)
    inner = _level(points) * _rate(points) * np.exp(-_rate_integral(points)) * half
    return np.asarray(_level(_GRID) + np.exp(_rate_integral(_GRID)) * _gauss_cumulative(inner, weights))


@drawn("subsolutions")
def subsolutions(evidence: Evidence) -> tuple[FloatArray, ...]:
    """Functions u on the grid with u' <= alpha' + beta u and u(0) <= alpha(0), so that u <= alpha + integral beta u."""
    from scipy.integrate import solve_ivp

    def right(t: float, u: FloatArray, share: float) -> FloatArray:
        return np.asarray(0.6 * t + share * _rate(np.asarray(t)) * u)

    solved = []
    for share in (1.0, 0.95, 0.8, 0.3):
        run = solve_ivp(right, (0.0, 3.0), [share], args=(share,), t_eval=_GRID, rtol=1e-11, atol=1e-13)
        solved.append(np.asarray(run.y[0]))
    return tuple(solved)


LEMMA_B1 = _driven_theorem(
    "lemmaB.1",
    "u <= alpha + int beta u gives u <= alpha + int alpha beta exp(int beta) <= alpha exp(int beta).",
    locator="Lemma B.1, (11) and (12)",
    hypotheses=(),
    conclusions=(
        Conclusion(
            "integral-form",
            "u over the bound (11)",
            lambda e: at_most(max(float(np.max(u / _gronwall_bound())) for u in subsolutions(e)[1:]), 1.0),
        ),
        Conclusion(
            "attained",
            "the solution of u = alpha + int beta u equals (11)",
            lambda e: at_most(float(np.max(np.abs(subsolutions(e)[0] / _gronwall_bound() - 1.0))), 1e-8),
            Level.EXACT,
        ),
        Conclusion(
            "closed-form",
            "u over the bound (12), alpha non-decreasing",
            lambda e: at_most(
                max(float(np.max(u / (_level(_GRID) * np.exp(_rate_integral(_GRID))))) for u in subsolutions(e)[1:]),
                1.0,
            ),
        ),
    ),
    departs="Tried on solutions of differential inequalities with known alpha and beta.",
)
