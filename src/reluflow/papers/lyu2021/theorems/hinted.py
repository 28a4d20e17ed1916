"""Hints trap the flow at a suboptimal margin: Theorem 6.2 [lyu2021]."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from reluflow.certificates.network_margin import NetworkMargin
from reluflow.papers.lyu2021 import assumptions
from reluflow.papers.lyu2021.assumptions import HINTED, Hints, find_hints
from reluflow.papers.lyu2021.theorems.limits import OfTheLimit, best_network
from reluflow.papers.lyu2021.theorems.non_symmetric_limit import (
    APPROACH,
    SMALL_FOR_THE_CONE,
    SOME_POSITIVE,
    against,
    draw_probability,
    factor_to_regime,
    late_exponent,
    limit_function,
    limit_margin,
    limit_plan,
    scale_needed,
    side_of,
)
from reluflow.papers.lyu2021.theorems.parameters import CLOSE, LATE_MARGIN, LOG_HORIZON, RTOL, chosen
from reluflow.theory.comparison import (
    Comparison,
    Level,
    Source,
    all_of,
    at_least,
    at_most,
    equals,
    missing,
    nothing,
    require,
)
from reluflow.theory.condition import DataHypotheses
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.hypotheses import BALANCED, LEAKY, LOGISTIC_LOSS, NO_RIDGE, assumed
from reluflow.theory.measures import AtMost, Constants, Quantities
from reluflow.theory.setting import Setting
from reluflow.theory.theorem import Conclusion, Reference, Theorem

# Theorem 6.2 ----------------------------------------------------------------------------------------------------------

_NO_HINTS = "no hints found"


@computed_once
def _found_hints(evidence: Evidence) -> Hints | None:
    return find_hints(evidence.facts)


def _hint_constants(evidence: Evidence) -> Constants:
    hints = evidence.recorded(HintsAndBest).hints
    if hints is None:
        return {}
    needed = hints.conditions
    return {
        "eps": needed.eps,
        "eps_limit": needed.eps_limit,
        "H": needed.H,
        "H_0": needed.H_0,
        "H_3": needed.H_3,
        "K": needed.K,
        "K_min": needed.K_min,
        "K_exact": needed.K_exact,
    }


@dataclass(frozen=True, eq=False)
class HintsAndBest:
    """The hints, and beside them the best margin of any width; neither where there are none."""

    hints: Hints | None
    best: NetworkMargin | None


def _hints_and_best(evidence: Evidence) -> HintsAndBest:
    hints = _found_hints(evidence)
    return HintsAndBest(hints, None if hints is None else best_network(evidence))


def _hints(evidence: Evidence) -> Hints:
    return require(evidence.recorded(HintsAndBest).hints, _NO_HINTS)


def _distance_to_separator(evidence: Evidence) -> float:
    """How far the limit network is from one neuron along w*."""
    return limit_function(evidence, _hints(evidence).separator, 1)


def _limit_has_hinted_margin(evidence: Evidence) -> Comparison:
    """The margin of the certified limit against eps/2."""
    return limit_margin(evidence, _hints(evidence).margin)


def _hinted_margin(evidence: Evidence) -> float:
    return _hints(evidence).margin


def _consequences(evidence: Evidence) -> Comparison:
    """What App. A.2 derives from the hints: A.1, A.2, A.3, A.5 with value leak eps/2, w^+ = w*, gamma^+ = eps."""
    facts, hints = evidence.facts, _hints(evidence)
    side, other, eps = side_of(evidence, 1), against(evidence, 1), hints.conditions.eps
    return all_of(
        (
            (assumptions.principal_direction(facts).holds is True, "A.1 does not hold"),
            (assumptions.pairwise_condition(facts).holds is True, "A.2 does not hold"),
            (assumptions.longer_mean(facts, 1).holds is True, "A.3 does not hold"),
            (
                abs(other.any_multipliers - 0.5 * evidence.leak * eps) <= 1e-7 * eps,
                r"the value of A.5 is not $\mathrm{leak}\, \varepsilon/2$",
            ),
            (
                abs(other.dual_multipliers - 0.5 * evidence.leak * eps) <= 1e-7 * eps,
                r"$V^*$ is not $\mathrm{leak}\, \varepsilon/2$",
            ),
            (float(np.linalg.norm(side.w - hints.separator)) <= 1e-9, "$w^+$ is not the separator of the base set"),
            (abs(side.margin - eps) <= 1e-9 * eps, r"$\gamma^+$ is not $\varepsilon$"),
        ),
        detail=r"A.1, A.2, A.3 hold, A.5 has the value $\mathrm{leak}\, \varepsilon/2$, $w^+ = w^*$, "
        r"$\gamma^+ = \varepsilon$",
    )


def _optimality(evidence: Evidence) -> Comparison:
    """The best margin of any width beats eps/2 exactly where K > eps sqrt((3 + leak)/(1 - leak))."""
    best = require(evidence.recorded(HintsAndBest).best, _NO_HINTS)
    needed = _hints(evidence).conditions
    limit = 0.5 * needed.eps
    words = f"best margin {best.margin:.7g}, limit {limit:.7g}, $K$ = {needed.K:.6g}, threshold {needed.K_exact:.6g}"
    if needed.K_exact < needed.K:
        return at_least(best.margin / limit, 1.0 + 1e-9, detail=rf"{words}: suboptimal at every width $m \ge 3$")
    return at_most(best.upper / limit, 1.0, allowance=1e-6, detail=f"{words}: the limit is the best of all widths")


def _hinted_exponent(evidence: Evidence) -> float:
    return 2.0 * (evidence.leak - 1.0)


def _late_law(evidence: Evidence) -> Comparison:
    """The share of the negative neurons falls like |theta|^(2(leak - 1))."""
    if np.all(evidence.network.a > 0.0):
        return nothing("no neuron is negative")
    exponent, expected = late_exponent(evidence, 1), _hinted_exponent(evidence)
    exponent = require(exponent, "fewer than five late snapshots with a share above 0; raise `late_margin`")
    words = (
        rf"the share of negative neurons falls like $|\theta|$ to the power {exponent:.6g}, predicted {expected:.6g}"
    )
    earlier = late_exponent(evidence, 1, until=0.75)
    if earlier is not None and 0.02 * abs(expected) < abs(exponent - expected) < abs(earlier - expected):
        return missing(f"{words}, and still coming closer; raise `late_margin`")
    return equals(exponent, expected, atol=0.02 * abs(expected), detail=words)


THM_6_2 = Theorem(
    "lyu2021:thm6.2",
    Reference("lyu2021", "Theorem 6.2"),
    r"With admissible hints a small balanced leaky net with a positive neuron ends as "
    r"$(1/2) \varphi(\langle w^*, x\rangle)$, at margin $\varepsilon/2$, below the best margin where "
    r"$K > \varepsilon \sqrt{(3 + \mathrm{leak})/(1 - \mathrm{leak})}$.",
    hypotheses=(LOGISTIC_LOSS, LEAKY, assumed(HINTED), BALANCED, SOME_POSITIVE, SMALL_FOR_THE_CONE, NO_RIDGE),
    conclusions=(
        Conclusion(
            "margin",
            r"the normalised margin tends to $\varepsilon/2$",
            OfTheLimit(_limit_has_hinted_margin),
            Level.EXACT,
            is_asymptotic=True,
        ),
        Conclusion(
            "one-neuron",
            "the limit is one neuron along $w^*$",
            OfTheLimit(AtMost(_distance_to_separator, partial(chosen, parameter=RTOL))),
            Level.EXACT,
            is_asymptotic=True,
        ),
        APPROACH,
        Conclusion("consequences", "the assumptions of Theorem A.7 follow", _consequences, Level.EXACT),
        Conclusion("optimality", "the limit is suboptimal exactly above the threshold of $K$", _optimality),
        Conclusion(
            "late-law",
            r"the negative share falls like $|\theta|^{2(\mathrm{leak} - 1)}$",
            _late_law,
            Level.SCALING,
            source=Source.RELUFLOW,
            is_asymptotic=True,
        ),
    ),
    constants=Quantities({"log_scale_needed": scale_needed}, others=(_hint_constants,)),
    predictions=Quantities(
        {"margin": _hinted_margin, "share_exponent": _hinted_exponent, "probability": draw_probability}
    ),
    parameters=(RTOL, CLOSE, LATE_MARGIN, LOG_HORIZON),
    plan=limit_plan,
    record=_hints_and_best,
    log_scale=factor_to_regime,
    setting=Setting(loss="logistic", leak=None, init="lyu-balanced", width=6),
    example="lyu-hinted",
    erratum="E6: suboptimal only above a threshold of $K$, and never for one neuron; E11: probability "
    "$1 - 2^{-m}$ over the balanced draw, and the condition on $H$ made explicit.",
    departs="The regime is that of Lemma G.4; the late law is derived from the proof, not stated in the paper.",
    diagnosed=DataHypotheses(losses=("logistic",), leaks="leaky"),
)
