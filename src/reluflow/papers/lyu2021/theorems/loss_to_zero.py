"""What drives the loss to zero: Theorem B.19 and Lemma B.20 [lyu2021]."""

from __future__ import annotations

from functools import partial

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.stopping import LossBelow
from reluflow.papers.lyu2021.paper import EXAMPLE, SETTING
from reluflow.papers.lyu2021.theorems.hypotheses import SEPARABLE
from reluflow.papers.lyu2021.theorems.kkt_directions import INTEGRATION, LOSS_FALLS, loss_vanishes, norm_grows
from reluflow.papers.lyu2021.theorems.parameters import UNTIL_300, UNTIL_SNAPSHOTS
from reluflow.papers.lyu2021.theorems.unit_ball import even_times, unit_ball, velocity_at
from reluflow.theory.comparison import Comparison, Values, at_most, fails, judgement, missing, require
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.hypotheses import NO_RIDGE
from reluflow.theory.measures import AtLeast, Quantities
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem


def _separator(evidence: Evidence) -> tuple[FloatArray, float]:
    """w* and gamma* of the samples, not rescaled."""
    found = evidence.facts.separator if evidence.dataset.is_binary else None
    if found is None or not found.separable:
        return np.zeros(evidence.dataset.d), 0.0
    return found.w, found.margin


# Thm B.19 -------------------------------------------------------------------------------------------------------------


def _separator_margin(evidence: Evidence) -> float:
    return _separator(evidence)[1]


def driving_strengths(evidence: Evidence) -> FloatArray:
    """c_k e^(-2 log_scale) = <w_k, w*>^2 - |w_k|^2 + a_k^2 where sgn(a_k) <w_k, w*> > 0, else -inf, shape (m,)."""
    network, (separator, _) = evidence.network, _separator(evidence)
    along = network.w @ separator
    strengths = along**2 + network.balancedness()
    return np.where(network.a * along > 0.0, strengths, -np.inf)


def _has_driver(evidence: Evidence) -> Comparison:
    if _separator(evidence)[1] <= 0.0:
        return fails("there is no separator")
    strengths = driving_strengths(evidence)
    best = float(np.max(strengths))
    if best <= 0.0:
        return fails(r"no neuron has $\operatorname{sgn}(a_k) \langle w_k, w^*\rangle > 0$ and $c > 0$")
    count = int(np.sum(strengths > 0.0))
    return judgement(True, best, f"{count} neurons qualify; the largest $c$ is {best:.6g} times the squared scale")


DRIVING_NEURON = Hypothesis(
    "driving-neuron",
    r"some $k$ has $\operatorname{sgn}(a_k) \langle w_k, w^*\rangle > 0$ and "
    r"$c = \langle w_k, w^*\rangle^2 - |w_k|^2 + a_k^2 > 0$",
    _has_driver,
)


def loss_rate_bound(evidence: Evidence) -> float:
    """ln of c (leak gamma* / 2n)^2, the least -dL/dt while L >= ln 2 / n (erratum E14: c, not c^2)."""
    margin = _separator(evidence)[1]
    return log_strength(evidence) + 2.0 * float(np.log(evidence.leak * margin / (2.0 * evidence.dataset.n)))


def log_hitting_time_bound(evidence: Evidence) -> float:
    """ln of the latest time at which L < ln 2 / n is reached; -inf where it holds at the start."""
    excess = evidence.problem.initial_loss - np.log(2.0) / evidence.dataset.n
    return float(np.log(excess)) - loss_rate_bound(evidence) if excess > 0.0 else -np.inf


def log_strength(evidence: Evidence) -> float:
    """ln of c."""
    return float(np.log(np.max(driving_strengths(evidence)))) + 2.0 * evidence.network.log_scale


def _driven_plan(evidence: Evidence) -> FlowPlan:
    """The driven time, then over decades until n L is e^-7 of ln 2, or the driven time is long over."""
    radius = unit_ball(evidence).radius
    late = np.geomspace(evidence.parameter("until"), 1e7, 25) / radius
    return FlowPlan(
        times=(*even_times(evidence, 40).times, *(float(t) for t in late[1:])),
        until=LossBelow(float(np.exp(-7.0) * np.log(2.0)) / evidence.dataset.n),
        horizon=1e9 / radius,
    )


def _output_weight_stays(evidence: Evidence) -> Values:
    """a_k^2 / c of the driving neuron over the snapshots; 0 where its sign has changed."""
    k, start = int(np.argmax(driving_strengths(evidence))), evidence.network
    for s in evidence.run.snapshots:
        factor = np.exp(2.0 * (s.network.log_scale - start.log_scale))
        same_sign = np.sign(s.network.a[k]) == np.sign(start.a[k])
        yield factor * s.network.a[k] ** 2 / driving_strengths(evidence)[k] if same_sign else 0.0


def _loss_rate(evidence: Evidence) -> Values:
    """ln(-dL/dt) at the snapshots with L >= ln 2 / n."""
    early = [s for s in evidence.run.snapshots if s.loss >= np.log(2.0) / evidence.dataset.n]
    for s in require(early, r"no snapshot has $L \ge \ln 2/n$"):
        yield 2.0 * (s.network.log_scale + float(np.log(np.linalg.norm(velocity_at(evidence, s)))))


def _hitting_time(evidence: Evidence) -> Comparison:
    """ln of the first recorded time with L < ln 2 / n against ln of its bound."""
    bound, run = log_hitting_time_bound(evidence), evidence.run
    require(np.isfinite(bound), r"$L < \ln 2/n$ holds at the start, so there is no time to bound")
    below = np.flatnonzero(run.losses < np.log(2.0) / evidence.dataset.n)
    if below.size:
        first = float(run.log_times[below[0]])
        return at_most(first, bound, detail=rf"reached by $\ln t$ = {first:.4g}, bound {bound:.4g}")
    if run.log_time > bound:
        return at_most(run.log_time, bound, detail=rf"not reached by $\ln t$ = {run.log_time:.4g}, bound {bound:.4g}")
    return missing(r"the run ended before the bound without reaching $L < \ln 2/n$")


THM_B_19 = Theorem(
    "lyu2021:thmB.19",
    Reference("lyu2021", "Thm B.19"),
    r"If $\operatorname{sgn}(a_k) \langle w_k, w^*\rangle > 0$ and "
    r"$c = \langle w_k, w^*\rangle^2 - |w_k|^2 + a_k^2 > 0$ for some $k$, then $a_k^2 \ge c$ for ever, $L \to 0$ "
    r"and $|\theta| \to \infty$.",
    hypotheses=(*SEPARABLE, DRIVING_NEURON, NO_RIDGE),
    conclusions=(
        Conclusion(
            "output-weight", "$a_k^2/c$ is at least 1", AtLeast(_output_weight_stays, 1.0, allowance=INTEGRATION)
        ),
        Conclusion(
            "loss-rate",
            r"$-dL/dt \ge c (\mathrm{leak}\, \gamma^*/(2n))^2$ while $L \ge \ln 2/n$; logarithms",
            AtLeast(_loss_rate, loss_rate_bound, words=r"$\ln(-dL/dt)$ is at least {measured:.4g}"),
        ),
        Conclusion(
            "hitting-time",
            r"$L < \ln 2/n$ by $(L(0) - \ln 2/n)/(c (\mathrm{leak}\, \gamma^*/(2n))^2)$; logarithms",
            _hitting_time,
        ),
        LOSS_FALLS,
        Conclusion("loss", "$L$ tends to 0", loss_vanishes, is_asymptotic=True),
        Conclusion("norm", r"$|\theta|^2$ gains at least its share between snapshots", norm_grows),
    ),
    constants=Quantities(
        {
            "gamma_star": _separator_margin,
            "log_c": log_strength,
            "log_rate_bound": loss_rate_bound,
            "log_hitting_time_bound": log_hitting_time_bound,
        }
    ),
    parameters=(UNTIL_SNAPSHOTS,),
    plan=_driven_plan,
    setting=SETTING,
    example=EXAMPLE,
    erratum=r"E14: the rate is $c (\mathrm{leak}\, \gamma^*/(2n))^2$, not $c^2 (\dots)^2$, and $w^*$ is a unit vector.",
)

# Lemma B.20 -----------------------------------------------------------------------------------------------------------


def _pull_along_separator(evidence: Evidence) -> Values:
    """<sgn(a_k) dw_k/dt, w*> over |a_k| leak gamma* (1 - exp(-nL))/n, for neurons and snapshots."""
    (separator, margin), n = _separator(evidence), evidence.dataset.n
    for s in evidence.run.snapshots:
        moved = velocity_at(evidence, s)[:, :-1] @ separator
        bound = np.abs(s.network.a) * evidence.leak * margin * -np.expm1(-n * s.loss) / n
        alive = np.abs(s.network.a) > 0.0
        yield (np.sign(s.network.a) * moved)[alive] / bound[alive]


def _total_force(evidence: Evidence) -> Values:
    """sum_i g_i over 1 - exp(-nL), at the snapshots."""
    for s in evidence.run.snapshots:
        total = float(np.sum(np.abs(evidence.loss.force(s.outputs, evidence.dataset.y))))
        yield total / -np.expm1(-evidence.dataset.n * s.loss)


LEMMA_B_20 = Theorem(
    "lyu2021:lemmaB.20",
    Reference("lyu2021", "Lemma B.20"),
    r"$\langle\operatorname{sgn}(a_k)\, dw_k/dt, w^*\rangle \ge |a_k|\, \mathrm{leak}\, \gamma^* (1 - \exp(-n "
    r"L))/n$, for $\sum_i g_i \ge 1 - \exp(-n L)$.",
    hypotheses=(*SEPARABLE, NO_RIDGE),
    conclusions=(
        Conclusion(
            "pull",
            r"$\langle\operatorname{sgn}(a_k) dw_k/dt, w^*\rangle$ over its lower bound",
            AtLeast(_pull_along_separator, 1.0, allowance=INTEGRATION),
        ),
        Conclusion("forces", r"$\sum_i g_i$ over $1 - \exp(-n L)$", AtLeast(_total_force, 1.0, allowance=INTEGRATION)),
    ),
    parameters=(UNTIL_300,),
    plan=partial(even_times, num_intervals=40),
    setting=SETTING,
    example=EXAMPLE,
    erratum=r"E13: the step through $1 - \exp(-\max \ell_i)$ goes the wrong way; "
    r"$1 - \prod_i (1 - g_i) \le \sum_i g_i$ serves.",
)
