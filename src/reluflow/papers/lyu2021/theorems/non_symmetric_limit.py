"""On non-symmetric data one sign of neurons wins and the net ends as one neuron: Theorems A.7, A.10 [lyu2021]."""

from __future__ import annotations

from functools import partial

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.kkt import normalized_margin
from reluflow.certificates.limits.certified_limit import LimitIdentified
from reluflow.certificates.limits.directions import direction_distance, unit_norm
from reluflow.certificates.network_margin import OppositeSignMargin
from reluflow.certificates.one_class import LeakyMargin
from reluflow.network.network import Network
from reluflow.papers.lyu2021.assumptions import A_2, A_3, A_5_STAR, A_8, A_9
from reluflow.papers.lyu2021.theorems.early_constants import (
    cone_obstacle,
    constants_of,
    correct_cone,
    idealised_time,
    largest_log_scale,
)
from reluflow.papers.lyu2021.theorems.limits import OfTheLimit, limit_of, proved_limit
from reluflow.papers.lyu2021.theorems.parameters import CLOSE, LATE_MARGIN, LOG_HORIZON, RTOL, chosen
from reluflow.theory.comparison import (
    Comparison,
    Level,
    Source,
    at_most,
    equals,
    fitted_slope,
    judgement,
    missing,
    nothing,
    require,
)
from reluflow.theory.condition import DataHypotheses
from reluflow.theory.elsewhere import left_out
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.hypotheses import BALANCED, LEAKY, LOGISTIC_LOSS, NO_RIDGE, assumed
from reluflow.theory.measures import Above, AtMost, Constants
from reluflow.theory.separability import LINEARLY_SEPARABLE
from reluflow.theory.setting import Setting
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem

_NUM_TIMES = 24
_EARLY_SHARE = 1e-5


def _count_of(evidence: Evidence, sign: int) -> int:
    """Neurons that start with the sign that wins: at least one with probability 1 - 2^-m (erratum E11)."""
    return int(np.sum(np.sign(evidence.network.a) == sign))


def _scale_is_small(evidence: Evidence) -> Comparison:
    """The early phase is over before the outputs matter, by the bound of Lemma G.4 with the measured alignment time."""
    allowed = largest_scale(evidence)
    require(np.isfinite(allowed), cone_obstacle(evidence) or "some neuron never enters the cone of correct signs")
    margin = allowed - evidence.network.log_scale
    words = f"log scale {evidence.network.log_scale:.4g} against at most {allowed:.4g}"
    return judgement(margin >= 0.0, margin, words)


SMALL_FOR_THE_CONE = Hypothesis(
    "scale",
    r"the scale is below $\sigma_{\max}$ of Lemma G.4, with the alignment time of the limit flow",
    _scale_is_small,
    is_regime=True,
)


@computed_once
def largest_scale(evidence: Evidence) -> float:
    """log sigma_max of Lemma G.4 for the stored shape, with T0 the time at which the limit flow is in C_(delta/2)."""
    if cone_obstacle(evidence) is not None:
        return -np.inf
    constants = constants_of(evidence)
    time = idealised_time(evidence, 0.5 * constants.delta)
    if not np.isfinite(time) or constants.eps == 0.0:
        return -np.inf
    cone = correct_cone(evidence)
    return largest_log_scale(cone, evidence.network, constants.eps, cone.factor * time)


def factor_to_regime(evidence: Evidence, sign: int = 1) -> float:
    """The factor, as a logarithm, that brings the drawn network to the scale asked for; never enlarges it.

    Losing neurons hold about sigma^(2 kappa) of the squared norm when growth ends. The scale is also chosen so that
    this is below 1e-5, for later their share falls slowly and the limit would show only at enormous times.
    """
    wanted, kappa = largest_scale(evidence), _kappa(evidence, sign)
    if not np.isfinite(wanted) or kappa <= 0.0:
        return 0.0
    wanted = min(wanted, float(np.log(_EARLY_SHARE)) / (2.0 * kappa))
    return min(0.0, wanted - evidence.network.log_scale - 1e-9)


def _kappa(evidence: Evidence, sign: int) -> float:
    """1 minus the ratio of the losing to the winning sign's |mu|."""
    return 1.0 - float(
        np.linalg.norm(evidence.facts.leaky_mean(-sign)) / np.linalg.norm(evidence.facts.leaky_mean(sign))
    )


def side_of(evidence: Evidence, sign: int) -> LeakyMargin:
    """w^+, gamma^+, S^+ for sign 1, and w^-, gamma^-, S^- for sign -1."""
    return evidence.facts.leaky.positive if sign > 0 else evidence.facts.leaky.negative


def against(evidence: Evidence, sign: int) -> OppositeSignMargin:
    """V and V* of Assumption A.5 (sign 1) or A.9 (sign -1)."""
    return evidence.facts.against_positive if sign > 0 else evidence.facts.against_negative


def losing_share(network: Network, sign: int) -> float:
    """The part of the squared norm that neurons of the other sign hold."""
    squares = network.weight * (network.a**2 + np.sum(network.w**2, axis=1))
    return float(np.sum(squares[np.sign(network.a) != sign]) / np.sum(squares))


def one_neuron_distance(network: Network, w: FloatArray, sign: int) -> float:
    """Distance of a network of norm 1 to the networks with w_k = a_k w on one sign and nothing on the other."""
    wins = np.sign(network.a) == sign
    stray = np.where(wins[:, None], network.w - network.a[:, None] * w, network.w)
    return float(np.sqrt(network.weight @ (np.sum(stray**2, axis=1) + np.where(wins, 0.0, network.a**2))))


def limit_plan(evidence: Evidence) -> FlowPlan:
    """Run until the limit direction is known, with snapshots spread over the logarithm of late times."""
    margin = evidence.parameter("late_margin")
    rate = 0.5 * max(float(np.linalg.norm(evidence.facts.leaky_mean(sign))) for sign in (1, -1))
    growth = max(0.0, -evidence.network.log_scale) / rate
    start = np.log(growth + 20.0 / rate)
    times = np.exp(np.linspace(start, max(start, np.log(growth + 1.0)) + margin, _NUM_TIMES))
    return FlowPlan(
        times=tuple(times), until=LimitIdentified(smallest_margin=margin), log_horizon=evidence.parameter("log_horizon")
    )


def limit_margin(evidence: Evidence, expected: float) -> Comparison:
    """The normalised margin of the certified limit against the predicted one."""
    margin = normalized_margin(proved_limit(evidence).network, evidence.dataset)
    return equals(margin, expected, atol=evidence.parameter("rtol") * expected)


def _limit_has_half_margin(evidence: Evidence, sign: int) -> Comparison:
    """The margin of the certified limit against gamma^+/2 or gamma^-/2."""
    return limit_margin(evidence, against(evidence, sign).threshold)


def limit_function(evidence: Evidence, w: FloatArray, sign: int) -> float:
    """How far the limit network is from one neuron along w."""
    return one_neuron_distance(unit_norm(proved_limit(evidence).network), w, sign)


def distance_to_winner(evidence: Evidence, sign: int) -> float:
    """How far the limit network is from one neuron along w^+ or w^-."""
    return limit_function(evidence, side_of(evidence, sign).w, sign)


def approach(evidence: Evidence) -> Comparison:
    """How far the run's own last direction is from the certified limit."""
    distance = direction_distance(unit_norm(evidence.run.network), unit_norm(limit_of(evidence).network))
    words = f"{distance:.3g} away at log time {evidence.run.log_time:.4g}"
    return at_most(distance, evidence.parameter("close"), detail=words)


APPROACH = Conclusion(
    "approach",
    "the run itself has come close to its limit",
    approach,
    source=Source.RELUFLOW,
    is_asymptotic=True,
)


def late_networks(evidence: Evidence, sign: int, *, until: float = 1.0) -> list[Network]:
    """Of the snapshots that classify every sample by more than 5 the later half, those up to the part `until`."""
    nets = [s.network for s in evidence.run.snapshots if np.min(s.outputs * evidence.dataset.y) > 5.0]
    late = nets[len(nets) // 2 : max(len(nets) // 2, round(until * len(nets)))]
    return [network for network in late if losing_share(network, sign) > 0.0]


def late_exponent(evidence: Evidence, sign: int, *, until: float = 1.0) -> float | None:
    """The power of |theta| with which the other sign's share changes at the end; None with fewer than five states."""
    nets = late_networks(evidence, sign, until=until)
    if len(nets) < 5:
        return None
    norms = [0.5 * np.log(network.squared_norm()) for network in nets]
    return fitted_slope(norms, [np.log(losing_share(network, sign)) for network in nets])


def share_falls(evidence: Evidence, sign: int) -> Comparison:
    """The other sign's share falls at the end of the run."""
    if np.all(np.sign(evidence.network.a) == sign):
        return nothing("no neuron has the other sign")
    exponent = require(
        late_exponent(evidence, sign), "fewer than five late snapshots with a share above 0; raise `late_margin`"
    )
    words = rf"the share of the losing sign changes like $|\theta|$ to the power {exponent:.4g} at the end"
    first, last = (losing_share(late_networks(evidence, sign)[k], sign) for k in (0, -1))
    if exponent >= 0.0 and last <= RISING * first:
        return missing(f"{words}; the run is not late enough")  # nothing is said of any finite time
    return at_most(exponent, 0.0, detail=words)


RISING = 10.0  # a share that must fall and has become so many times larger at the end rises, however late the run is


def _share_exponent(evidence: Evidence, sign: int) -> float:
    """The power of |theta| with which the share of the losing sign falls."""
    other = against(evidence, sign)
    return 2.0 * (other.dual_multipliers / other.threshold - 1.0)


def scale_needed(evidence: Evidence) -> float | None:
    """log sigma_max, or None where there is none to show."""
    value = largest_scale(evidence)
    return value if np.isfinite(value) else None


def _side_constants(evidence: Evidence, sign: int) -> Constants:
    side, other = side_of(evidence, sign), against(evidence, sign)
    return {
        "gamma": side.margin,
        "w": side.w.tolist(),
        "kappa": _kappa(evidence, sign),
        "V": other.any_multipliers,
        "V_star": other.dual_multipliers,
        "log_scale_needed": scale_needed(evidence),
    }


def draw_probability(evidence: Evidence) -> float:
    """1 - 2^-m: the chance that some neuron has the sign that wins."""
    return 1.0 - 0.5**evidence.network.num_neurons


def _limit_predictions(evidence: Evidence, sign: int) -> Constants:
    return {
        "margin": against(evidence, sign).threshold,
        "share_exponent": _share_exponent(evidence, sign),
        "probability": draw_probability(evidence),
    }


# Theorem A.7 ----------------------------------------------------------------------------------------------------------

SOME_POSITIVE = Hypothesis(
    "some-positive",
    "at least one neuron has a positive output weight",
    Above(partial(_count_of, sign=1), 0, words="{number} of {evidence.network.num_neurons} neurons are positive"),
)

THM_A_7 = Theorem(
    "lyu2021:thmA.7",
    Reference("lyu2021", "Theorem A.7"),
    r"Under A.2, A.3, A.5* and A.6 a small balanced leaky net with a positive neuron ends as "
    r"$(1/2) \varphi(\langle w^+, x\rangle)$: the margin tends to $\gamma^+/2$.",
    hypotheses=(
        LOGISTIC_LOSS,
        LEAKY,
        assumed(LINEARLY_SEPARABLE),
        assumed(A_2),
        assumed(A_3),
        assumed(A_5_STAR),
        BALANCED,
        SOME_POSITIVE,
        SMALL_FOR_THE_CONE,
        NO_RIDGE,
    ),
    conclusions=(
        Conclusion(
            "margin",
            r"the normalised margin tends to $\gamma^+/2$",
            OfTheLimit(partial(_limit_has_half_margin, sign=1)),
            Level.EXACT,
            is_asymptotic=True,
        ),
        Conclusion(
            "one-neuron",
            "the limit network is one neuron along $w^+$, shared by the neurons of its sign",
            OfTheLimit(AtMost(partial(distance_to_winner, sign=1), partial(chosen, parameter=RTOL))),
            Level.EXACT,
            is_asymptotic=True,
        ),
        APPROACH,
        Conclusion(
            "share-falls",
            "the other sign's share of the squared norm falls",
            partial(share_falls, sign=1),
            source=Source.RELUFLOW,
            is_asymptotic=True,
        ),
    ),
    constants=partial(_side_constants, sign=1),
    predictions=partial(_limit_predictions, sign=1),
    parameters=(RTOL, CLOSE, LATE_MARGIN, LOG_HORIZON),
    plan=limit_plan,
    log_scale=partial(factor_to_regime, sign=1),
    setting=Setting(loss="logistic", leak=None, init="lyu-balanced", width=6),
    example="lyu-counterexample-sharp",
    erratum="E4: with A.5 as printed the theorem is false (lyu-counterexample); A.5* bounds the dual multipliers "
    "of $w^+$. E11: the draw is the balanced one.",
    departs=r"The paper gives no $\sigma_{\max}$ for the whole theorem; the one of its early phase (Lemma G.4) is "
    r"asked for. The limit is identified and certified, not waited for. The predicted exponent of the "
    r"losing share is that of very late times, when the losing neurons have turned.",
    diagnosed=DataHypotheses(losses=("logistic",), leaks="leaky"),
)

# Theorem A.10 ---------------------------------------------------------------------------------------------------------

SOME_NEGATIVE = Hypothesis(
    "some-negative",
    "at least one neuron has a negative output weight",
    Above(partial(_count_of, sign=-1), 0, words="{number} of {evidence.network.num_neurons} neurons are negative"),
)

THM_A_10 = Theorem(
    "lyu2021:thmA.10",
    Reference("lyu2021", "Theorem A.10"),
    r"Under A.2, A.8, A.9 and the mirrored A.6 a small balanced leaky net with a negative neuron ends as "
    r"$-(1/2) \varphi(-\langle w^-, x\rangle)$: the margin tends to $\gamma^-/2$.",
    hypotheses=(
        LOGISTIC_LOSS,
        LEAKY,
        assumed(LINEARLY_SEPARABLE),
        assumed(A_2),
        assumed(A_8),
        assumed(A_9),
        BALANCED,
        SOME_NEGATIVE,
        SMALL_FOR_THE_CONE,
        NO_RIDGE,
    ),
    conclusions=(
        Conclusion(
            "margin",
            r"the normalised margin tends to $\gamma^-/2$",
            OfTheLimit(partial(_limit_has_half_margin, sign=-1)),
            Level.EXACT,
            is_asymptotic=True,
        ),
        Conclusion(
            "one-neuron",
            "the limit network is one neuron along $w^-$, shared by the neurons of its sign",
            OfTheLimit(AtMost(partial(distance_to_winner, sign=-1), partial(chosen, parameter=RTOL))),
            Level.EXACT,
            is_asymptotic=True,
        ),
        APPROACH,
        Conclusion(
            "share-falls",
            "the other sign's share of the squared norm falls",
            partial(share_falls, sign=-1),
            source=Source.RELUFLOW,
            is_asymptotic=True,
        ),
    ),
    constants=partial(_side_constants, sign=-1),
    predictions=partial(_limit_predictions, sign=-1),
    parameters=(RTOL, CLOSE, LATE_MARGIN, LOG_HORIZON),
    plan=limit_plan,
    log_scale=partial(factor_to_regime, sign=-1),
    setting=Setting(loss="logistic", leak=0.7, init="lyu-balanced", width=4),
    example="orthogonally-separable:n=4,d=3,mu=0.8",
    erratum=r"E5: A.9 speaks of $a_k \ge 0$, A.6 is mirrored, and A.9 needs the repair of A.5*.",
    departs=r"The paper gives no $\sigma_{\max}$ for the whole theorem; the one of its early phase (Lemma G.4) is "
    r"asked for. The limit is identified and certified, not waited for. The predicted exponent of the "
    r"losing share is that of very late times, when the losing neurons have turned.",
    diagnosed=DataHypotheses(losses=("logistic",), leaks="leaky"),
)

THM_G_12 = left_out(
    "lyu2021:thmG.12",
    "Theorem G.12",
    "Theorem A.7 along a sequence of scales; A.7 is judged at one scale, the limit is not taken",
)
