"""From t_2 on: Lemma 15 and the 1/t rate [min2024]."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np

from reluflow.papers.min2024.assumptions import SUMMED_LOSS, UNIT_FORCE
from reluflow.papers.min2024.paper import EXAMPLE, SETTING
from reluflow.papers.min2024.theorems.constants import (
    alignment_and_rate_constants,
    data_constants,
    log_bound,
    proof_constants,
)
from reluflow.papers.min2024.theorems.landmarks import last_fitted_time, whole_plan
from reluflow.papers.min2024.theorems.moving_neurons import Moment, moments, moments_from
from reluflow.papers.min2024.theorems.shared_hypotheses import BOTH_CONES, LOSS, REGIME
from reluflow.theory.comparison import Comparison, Values, at_least, at_most, require, requires, worst_compared
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.hypotheses import assumed, leak
from reluflow.theory.measures import AtLeast, Equals, ScaledDownTo
from reluflow.theory.separability import LINEARLY_SEPARABLE
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem

LN2 = math.log(2.0)


def best_factor(evidence: Evidence) -> float:
    """The largest factor for which Lemma 15's proof works: 1 for exponential, 1/(4 ln^2 2) for twice logistic."""
    return 1.0 if evidence.loss.name == "exponential" else 1.0 / (4.0 * LN2**2)


def _linear_decrease(evidence: Evidence, factor: float | None = None) -> Comparison:
    """|grad L|^2 over factor |a|^2 L^2 rho^2 at the snapshots where every sample is classified; None is the best."""
    margin, factor = (
        require(evidence.facts.separator, "the max-margin separator").margin,
        factor or best_factor(evidence),
    )
    ratios = []
    for moment in moments(evidence):
        if np.all(moment.data.y * moment.network.shape_outputs(moment.data.X) >= 0.0):
            output_square = float(np.sum((moment.network.a / moment.gauge) ** 2))
            ratios.append(moment.gauged_gradient_square / (output_square * moment.loss_value**2 * margin**2) / factor)
    words = rf"smallest $-dL/dt$ over its bound is {{measured:.6g}} in {{count}} snapshots, $\rho$ = {margin:.6g}"
    without = r"no snapshot with every $y_i f_i \ge 0$"
    return worst_compared(ratios, "at_least", 1.0, words=words, without=without, allowance=1e-12)


def _linear_plan(evidence: Evidence) -> FlowPlan:
    return FlowPlan(times=(0.0, *np.linspace(1.0, 12.0, 12), *np.geomspace(20.0, 2000.0, 6)))


LEMMA_15 = Theorem(
    "min2024:lemma15",
    Reference("min2024", "Lemma 15"),
    r"For a linear two-layer network on data separable with margin $\rho$, $dL/dt \le -|a|^2 L^2 \rho^2/4$ "
    r"whenever every sample is classified; without the 1/4 for the exponential loss, with $1/(4\,\ln^2 2)$ for "
    r"twice the logistic loss.",
    hypotheses=(
        assumed(LINEARLY_SEPARABLE),
        LOSS,
        assumed(UNIT_FORCE),
        assumed(SUMMED_LOSS),
        Hypothesis("linear", "the activation is the identity, leak 1", Equals(leak, 1.0, words="leak {number:g}")),
    ),
    conclusions=(
        Conclusion("decrease", r"$-dL/dt$ over $|a|^2 L^2 \rho^2/4$", partial(_linear_decrease, factor=0.25)),
        Conclusion("decrease-sharp", "the same with the best factor", _linear_decrease),
    ),
    plan=_linear_plan,
    setting=replace(SETTING, leak=1.0),
    example=EXAMPLE,
)


def fitted_moments(evidence: Evidence) -> tuple[Moment, ...]:
    """The snapshots from t_2 on."""
    fitted = last_fitted_time(evidence)
    return () if fitted is None else moments_from(evidence, fitted)


def _slope_of_loss(evidence: Evidence, factor: float | None = None) -> Values:
    """|grad L|^2/(factor alpha_rate L^2) >= 1 from t_2 on; None is four times the best factor of Lemma 15."""
    rate = (4.0 * best_factor(evidence) if factor is None else factor) * proof_constants(evidence).rate
    for moment in fitted_moments(evidence):
        gradient_square = (moment.gauge * math.exp(moment.network.log_scale)) ** 2 * moment.gauged_gradient_square
        yield gradient_square / moment.loss_value**2 / rate


@requires(fitted_moments, "two snapshots after $t_2$", at_least=2)
def loss_under_curve(evidence: Evidence, found: tuple[Moment, ...]) -> Comparison:
    """L(t) (L(s) alpha (t - s) + 1)/L(s) <= 1 for all snapshots t >= s >= t_2, s the first of them."""
    first, rate = found[0], proof_constants(evidence).rate
    ratios = [
        m.loss_value * (first.loss_value * rate * (m.time - first.time) + 1.0) / first.loss_value for m in found[1:]
    ]
    words = f"largest $L(t)$ over its bound is {max(ratios):.6g} up to {found[-1].time - first.time:.6g} after $t_2$"
    return at_most(max(ratios), 1.0, detail=words)


RATE = Theorem(
    "min2024:rate",
    Reference("min2024", "App. D.2, convergence"),
    r"From $t_2$ on $dL/dt \le -\alpha_{\mathrm{rate}} L^2$ with "
    r"$\alpha_{\mathrm{rate}} = (\mu X_{\min})^2/(32 X_{\max})$, so $L(t) = O(1/t)$; four times that rate for the "
    r"exponential loss.",
    hypotheses=(*REGIME, BOTH_CONES),
    conclusions=(
        Conclusion(
            "slope",
            r"$-dL/dt$ over $\alpha_{\mathrm{rate}} L^2$",
            AtLeast(
                partial(_slope_of_loss, factor=1.0),
                1.0,
                words=r"smallest $-dL/dt$ over $\alpha_{{\mathrm{{rate}}}} L^2$ is {measured:.6g}",
                without="no snapshot after $t_2$",
            ),
        ),
        Conclusion("curve", "$L(t)$ over its bound", loss_under_curve),
        Conclusion(
            "slope-sharp",
            r"the same with $4 \alpha_{\mathrm{rate}}$ for the exponential loss and $1/\ln^2 2$ of it for twice "
            r"the logistic one",
            AtLeast(
                _slope_of_loss,
                1.0,
                words=r"smallest $-dL/dt$ over $\alpha_{{\mathrm{{rate}}}} L^2$ is {measured:.6g}",
                without="no snapshot after $t_2$",
            ),
        ),
    ),
    constants=alignment_and_rate_constants,
    plan=whole_plan,
    log_scale=ScaledDownTo(log_bound),
    setting=SETTING,
    example=EXAMPLE,
)


def frobenius_square(moment: Moment) -> float:
    """|W|_F^2."""
    return float(np.sum(moment.network.w**2)) * math.exp(2.0 * moment.network.log_scale)


@requires(fitted_moments, "two snapshots after $t_2$", at_least=2)
def norm_over_curve(evidence: Evidence, found: tuple[Moment, ...]) -> Comparison:
    """|W|_F^2 - log(n/curve(t))/X_max at the snapshots from t_2 on, curve the bound on the loss.

    |f(x)| <= |W|_F^2 |x| for a balanced network, so L >= n exp(-X_max |W|_F^2) and the norm grows with log t.
    """
    data = data_constants(evidence)
    first, rate = found[0], proof_constants(evidence).rate
    slack = []
    for moment in found[1:]:
        log_curve = -math.log(rate * (moment.time - first.time) + 1.0 / first.loss_value)
        slack.append(frobenius_square(moment) - (math.log(data.n) - log_curve) / data.largest_norm)
    last = frobenius_square(found[-1])
    words = rf"$\|W\|_F^2$ = {last:.6g} at the end, at least {min(slack):.6g} above its growing bound"
    return at_least(min(slack), 0.0, detail=words)
