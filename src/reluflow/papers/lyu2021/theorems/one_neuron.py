"""A single neuron: its only KKT direction, and the flow that finds it; Lemma A.4, Theorem G.9 [lyu2021]."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from reluflow.certificates.kkt import kkt_certificate, normalized_margin
from reluflow.certificates.limits.certified_limit import LimitIdentified
from reluflow.network.network import Network
from reluflow.papers.lyu2021.theorems.limits import OfTheLimit, kkt_residuals
from reluflow.papers.lyu2021.theorems.non_symmetric_limit import APPROACH, distance_to_winner, limit_margin, side_of
from reluflow.papers.lyu2021.theorems.parameters import CLOSE, RTOL_OF_LIMIT, chosen
from reluflow.papers.lyu2021.theorems.settings import ONE_POSITIVE_NEURON
from reluflow.theory.comparison import Comparison, Level, at_least, equals, judgement, require
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.hypotheses import BALANCED, LEAKY, LOGISTIC_LOSS, NO_RIDGE, assumed
from reluflow.theory.measures import AtMost, Constants
from reluflow.theory.separability import LINEARLY_SEPARABLE
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem


def half_margin(evidence: Evidence) -> float:
    """gamma^+/2."""
    return 0.5 * side_of(evidence, 1).margin


def _width_one_constants(evidence: Evidence) -> Constants:
    plus, minus = side_of(evidence, 1).margin, side_of(evidence, -1).margin
    return {"gamma_plus": plus, "gamma_minus": minus, "width_one_optimum": 0.5 * max(plus, minus)}


# Lemma A.4 ------------------------------------------------------------------------------------------------------------

_NUM_DIRECTIONS = 150


@dataclass(frozen=True, eq=False)
class OneNeuron:
    """(w^+, 1)/sqrt 2, the direction Lemma A.4 names, and other neurons that classify every sample."""

    network: Network
    others: tuple[Network, ...]


def _one_neuron(evidence: Evidence) -> OneNeuron:
    side = side_of(evidence, 1)
    rng = np.random.default_rng(0)
    spread = rng.standard_normal((_NUM_DIRECTIONS, side.w.size)) * rng.uniform(0.0, 1.0, (_NUM_DIRECTIONS, 1))
    units = side.w + spread
    units /= np.linalg.norm(units, axis=1)[:, None]
    units = units[np.all(units @ side.rows.T > 0.0, axis=1)]
    far = np.linalg.norm(units - side.w, axis=1) > 1e-3
    return OneNeuron(
        Network(side.w[None] / np.sqrt(2.0), [np.sqrt(0.5)], leak=evidence.leak),
        tuple(Network(u[None], [1.0], leak=evidence.leak) for u in units[far]),
    )


def _margin(evidence: Evidence) -> Comparison:
    expected = half_margin(evidence)
    return equals(
        normalized_margin(evidence.recorded(OneNeuron).network, evidence.dataset), expected, atol=1e-10 * expected
    )


def _nothing_else(evidence: Evidence) -> Comparison:
    """KKT residual over distance to w^+, smallest among random directions that classify every sample.

    With a > 0 and positive margins the outputs are <z_i^+, w>, a concave problem: its only KKT direction is w^+.
    """
    side = side_of(evidence, 1)
    residuals = [
        kkt_certificate(other, evidence.dataset).residual / np.linalg.norm(other.w[0] - side.w)
        for other in evidence.recorded(OneNeuron).others
    ]
    smallest = float(min(residuals, default=np.inf))
    return at_least(
        smallest, 1e-6, detail=f"residual at least {smallest:.3g} times the distance, {len(residuals)} directions"
    )


def _one_neuron_residual(evidence: Evidence) -> list[float]:
    return kkt_residuals(evidence, [evidence.recorded(OneNeuron).network])


LEMMA_A_4 = Theorem(
    "lyu2021:lemmaA.4",
    Reference("lyu2021", "Lemma A.4"),
    r"For one neuron with $a_1 \ge 0$ the only KKT-margin direction is $(w^+, 1)/\sqrt{2}$, with margin "
    r"$\gamma^+/2$; the best single neuron of either sign has $\max(\gamma^+, \gamma^-)/2$.",
    hypotheses=(LEAKY, assumed(LINEARLY_SEPARABLE)),
    conclusions=(
        Conclusion(
            "kkt",
            r"$(w^+, 1)/\sqrt{2}$ satisfies the KKT conditions",
            AtMost(_one_neuron_residual, 1e-9, words="KKT residual {measured:.2g} (rounding leaves about 1e-15)"),
            Level.EXACT,
        ),
        Conclusion("margin", r"its margin is $\gamma^+/2$", _margin, Level.EXACT),
        Conclusion("unique", "no other direction with $a_1 > 0$ does", _nothing_else),
    ),
    constants=_width_one_constants,
    record=_one_neuron,
    setting=ONE_POSITIVE_NEURON,
    example="lyu-hinted",
    erratum=r'E6: "global max margin" holds among $a_1 \ge 0$ only.',
)

# Theorem G.9 ----------------------------------------------------------------------------------------------------------


def _points_ahead(evidence: Evidence) -> Comparison:
    require(evidence.dataset.is_binary, "the labels are not -1 and 1")
    separator, network = evidence.facts.separator, evidence.network
    if separator is None or not separator.separable:
        return judgement(False, None, "there is no separator $w^*$")
    cosine = float(network.w[0] @ separator.w / np.linalg.norm(network.w[0]))
    return judgement(cosine > 0.0, cosine, rf"$\cos(w_1, w^*)$ = {cosine:.4g}")


NEURON_AHEAD = Hypothesis("ahead", r"the neuron starts with $\langle w_1, w^*\rangle > 0$", _points_ahead)


def _single_positive(evidence: Evidence) -> Comparison:
    a = evidence.network.a
    return judgement(a.size == 1 and a[0] > 0.0, None, f"{a.size} neurons, $a_1$ = {a[0]:.3g}")


SINGLE_POSITIVE = Hypothesis("single-positive", "one neuron, with $a_1 > 0$", _single_positive)


def _limit_plan(evidence: Evidence) -> FlowPlan:
    return FlowPlan(until=LimitIdentified(), log_horizon=700.0)


def _limit_has_half_margin(evidence: Evidence) -> Comparison:
    """The margin of the certified limit against gamma^+/2."""
    return limit_margin(evidence, half_margin(evidence))


THM_G_9 = Theorem(
    "lyu2021:thmG.9",
    Reference("lyu2021", "Theorem G.9"),
    r"One balanced neuron with $a_1 > 0$ and $\langle w_1, w^*\rangle > 0$ tends in direction to $(w^+, 1)/\sqrt{2}$.",
    hypotheses=(LOGISTIC_LOSS, LEAKY, assumed(LINEARLY_SEPARABLE), BALANCED, SINGLE_POSITIVE, NEURON_AHEAD, NO_RIDGE),
    conclusions=(
        Conclusion(
            "margin",
            r"the normalised margin tends to $\gamma^+/2$",
            OfTheLimit(_limit_has_half_margin),
            Level.EXACT,
            is_asymptotic=True,
        ),
        Conclusion(
            "direction",
            r"the limit is $(w^+, 1)/\sqrt{2}$",
            OfTheLimit(AtMost(partial(distance_to_winner, sign=1), partial(chosen, parameter=RTOL_OF_LIMIT))),
            Level.EXACT,
            is_asymptotic=True,
        ),
        APPROACH,
    ),
    constants=_width_one_constants,
    parameters=(RTOL_OF_LIMIT, CLOSE),
    plan=_limit_plan,
    setting=ONE_POSITIVE_NEURON,
    example="lyu-hinted",
    erratum=r'E6: "global max margin" holds among $a_1 \ge 0$ only.',
)
