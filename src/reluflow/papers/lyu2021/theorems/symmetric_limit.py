"""Symmetric data: the flow from small weights finds the max-margin network; Theorem 4.3, Corollary 4.4 [lyu2021]."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.network_margin import NetworkMargin
from reluflow.papers.lyu2021.paper import EXAMPLE, SETTING
from reluflow.papers.lyu2021.theorems.hypotheses import SYMMETRIC
from reluflow.papers.lyu2021.theorems.kkt_directions import (
    INTEGRATION,
    LIMIT_IDENTIFIED,
    smoothed_margin_grows,
    until_limit,
)
from reluflow.papers.lyu2021.theorems.limits import (
    OfTheLimit,
    best_network,
    good_draw_probability,
    limit_margin,
    limit_of,
)
from reluflow.papers.lyu2021.theorems.linear_maximiser import (
    MARGIN_RTOL,
    best_margin,
    differences_from_linear,
    linear_coefficient,
    relative_margin,
)
from reluflow.papers.lyu2021.theorems.symmetric_flow import (
    GOOD_EMBEDDING,
    SMALL_SCALE,
    log_scale_for_radius,
    log_size,
    symmetric_flow,
)
from reluflow.theory.comparison import Comparison, Level, Source, at_least, fitted_slope, require
from reluflow.theory.condition import DataHypotheses
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.hypotheses import NO_RIDGE
from reluflow.theory.measures import AtLeast, AtMost, Equals, Quantities
from reluflow.theory.theorem import Conclusion, Reference, Theorem

# Thm 4.3 --------------------------------------------------------------------------------------------------------------


def positive_share(evidence: Evidence) -> float:
    """Part of sum a_k^2 that the positive neurons of the limit hold."""
    a = limit_of(evidence).network.a
    return float(np.sum(a[a > 0.0] ** 2) / np.sum(a**2))


def predicted_shares(evidence: Evidence) -> FloatArray:
    """b_k^2."""
    return np.asarray(symmetric_flow(evidence).embedding ** 2)


RESOLVED_SHARE = 1e-11  # error of a share that is more than rounding over a whole run


def _share_errors(evidence: Evidence) -> list[tuple[float, float]]:
    """(ln scale, largest difference of a_k^2/sum to b_k^2/sum within each sign) over the scales."""
    errors = []
    for each in (evidence, *evidence.other_scales):
        b, a = symmetric_flow(each).embedding, each.run.network.a
        gap = 0.0
        for sign in (1.0, -1.0):
            group = np.sign(b) == sign
            share = a[group] ** 2 / np.sum(a[group] ** 2)
            gap = max(gap, float(np.max(np.abs(share - b[group] ** 2 / np.sum(b[group] ** 2)))))
        errors.append((symmetric_flow(each).log_size, gap))
    return errors


def _shares_follow_embedding(evidence: Evidence) -> Comparison:
    """Order in sigma at which the shares within each sign tend to b_k^2/b_+^2: first order or better."""
    require(len(evidence.other_scales) >= 2, "the runs at other scales were not made")
    scales, errors = np.array(_share_errors(evidence)).T
    require(errors[0] >= RESOLVED_SHARE, "the shares differ by rounding alone; the order shows at larger scales only")
    slope = fitted_slope(scales, np.log(errors))
    return at_least(slope, 0.9, detail=rf"order {slope:.3f} in $\sigma$; error {errors[-1]:.2g} at the smallest scale")


def _relative_limit_margin(evidence: Evidence) -> float:
    """Margin of the limit over ((1 + leak)/4) gamma*."""
    return relative_margin(evidence, limit_of(evidence).network)


def _limit_is_linear(evidence: Evidence) -> FloatArray:
    return differences_from_linear(evidence, limit_of(evidence).network)


_TENTHS = tuple(-k * float(np.log(10.0)) for k in (1, 2))  # logarithms of 1/10 and 1/100


def _swept_plan(evidence: Evidence) -> FlowPlan:
    """The run to its limit, also from a tenth and a hundredth of the scale."""
    return replace(until_limit(evidence), other_scales=_TENTHS)


THM_4_3 = Theorem(
    "lyu2021:thm4.3",
    Reference("lyu2021", "Thm 4.3"),
    r"On symmetric data, from small enough scale and with probability $1 - 2^{-(m-1)}$, the flow tends in "
    r"direction to $f(x) = ((1 + \mathrm{leak})/4) \langle w^*, x\rangle$.",
    hypotheses=(*SYMMETRIC, GOOD_EMBEDDING, SMALL_SCALE, NO_RIDGE, LIMIT_IDENTIFIED),
    conclusions=(
        Conclusion(
            "margin",
            r"margin of the limit over $((1 + \mathrm{leak})/4) \gamma^*$",
            OfTheLimit(Equals(_relative_limit_margin, 1.0, allowance=MARGIN_RTOL)),
            is_asymptotic=True,
        ),
        Conclusion(
            "linear",
            "the limit is linear",
            OfTheLimit(
                AtMost(_limit_is_linear, 1e-5, words="largest relative difference {measured:.2g} on the sphere")
            ),
            is_asymptotic=True,
        ),
        Conclusion(
            "half-positive",
            r"positive neurons hold half of $\sum_k a_k^2$",
            OfTheLimit(Equals(positive_share, 0.5, allowance=MARGIN_RTOL)),
            source=Source.RELUFLOW,
            is_asymptotic=True,
        ),
        Conclusion(
            "run",
            "the run's own smoothed margin never falls on the way there",
            AtLeast(smoothed_margin_grows, 0.0, allowance=INTEGRATION),
            source=Source.RELUFLOW,
        ),
        Conclusion(
            "shares",
            "shares tend to $b_k^2/b_+^2$",
            _shares_follow_embedding,
            Level.SCALING,
            source=Source.RELUFLOW,
        ),
    ),
    constants=Quantities({"probability": good_draw_probability, "log_size": log_size}),
    predictions=Quantities({"margin": best_margin, "coefficient": linear_coefficient, "shares": predicted_shares}),
    plan=_swept_plan,
    log_scale=partial(log_scale_for_radius, fraction=0.3),
    setting=SETTING,
    example=EXAMPLE,
    departs=r"$\sigma_{\max}$ is not explicit in the paper; the scale asked for here is that of Lemma 5.2. That the "
    "margin never falls, the halves and the shares follow from the proof and from Lemma 5.4.",
    diagnosed=DataHypotheses(losses=("logistic",), leaks="leaky"),
)

# Cor. 4.4 -------------------------------------------------------------------------------------------------------------


def _attains_global(evidence: Evidence) -> float:
    """Margin of the limit over the certified upper bound of all networks."""
    return limit_margin(evidence) / evidence.recorded(NetworkMargin).upper


COR_4_4 = Theorem(
    "lyu2021:cor4.4",
    Reference("lyu2021", "Cor. 4.4"),
    "Under the hypotheses of Theorem 4.3 the flow tends to a global max-margin direction.",
    hypotheses=(*SYMMETRIC, GOOD_EMBEDDING, SMALL_SCALE, NO_RIDGE, LIMIT_IDENTIFIED),
    conclusions=(
        Conclusion(
            "global",
            "margin of the limit over the upper bound of all networks",
            OfTheLimit(AtLeast(_attains_global, 1.0, allowance=MARGIN_RTOL)),
            is_asymptotic=True,
        ),
    ),
    plan=until_limit,
    record=best_network,
    log_scale=partial(log_scale_for_radius, fraction=0.3),
    setting=SETTING,
    example=EXAMPLE,
    departs="As Theorem 4.3.",
)
