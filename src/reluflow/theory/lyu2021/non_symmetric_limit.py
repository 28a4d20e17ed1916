"""On non-symmetric data one sign of neurons wins and the net ends as one neuron: Theorems A.7, A.10, 6.2 [lyu2021]."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.kkt import normalized_margin
from reluflow.certificates.network_margin import OppositeSignMargin
from reluflow.certificates.one_class import LeakyMargin
from reluflow.endings.limit import LimitIdentified, direction_distance, unit_norm
from reluflow.network.network import Network
from reluflow.theory.comparison import (
    Comparison,
    all_of,
    at_least,
    at_most,
    equals,
    fitted_slope,
    judgement,
    missing,
    nothing,
    require,
    requires,
)
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.lyu2021 import conditions
from reluflow.theory.lyu2021.conditions import Hints, find_hints
from reluflow.theory.lyu2021.early_constants import (
    cone_obstacle,
    constants_of,
    correct_cone,
    idealised_time,
    largest_log_scale,
)
from reluflow.theory.lyu2021.limits import best_network, limit_of, proved_limit

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
    """The normalised margin of the certified limit against the foretold one."""
    margin = normalized_margin(proved_limit(evidence).network, evidence.dataset)
    return equals(margin, expected, atol=evidence.parameter("rtol") * expected)


def limit_function(evidence: Evidence, w: FloatArray, sign: int) -> float:
    """How far the limit network is from one neuron along w."""
    return one_neuron_distance(unit_norm(proved_limit(evidence).network), w, sign)


def approach(evidence: Evidence) -> Comparison:
    """How far the run's own last direction is from the certified limit."""
    distance = direction_distance(unit_norm(evidence.run.network), unit_norm(limit_of(evidence).network))
    words = f"{distance:.3g} away at log time {evidence.run.log_time:.4g}"
    return at_most(distance, evidence.parameter("close"), detail=words)


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
    words = f"the share of the losing sign changes like |theta|^{exponent:.4g} at the end"
    first, last = (losing_share(late_networks(evidence, sign)[k], sign) for k in (0, -1))
    if exponent >= 0.0 and last <= RISING * first:
        return missing(f"{words}; the run is not late enough")  # nothing is said of any finite time
    return at_most(exponent, 0.0, detail=words)


RISING = 10.0  # a share that must fall and has become so many times larger at the end rises, however late the run is


@computed_once
def _found_hints(evidence: Evidence) -> Hints | None:
    return find_hints(evidence.facts)


def _hints(evidence: Evidence) -> Hints:
    return require(_found_hints(evidence), "no hints found")


@requires(_found_hints, "no hints found")
def _consequences(evidence: Evidence, hints: Hints) -> Comparison:
    """What App. A.2 derives from the hints: A.1, A.2, A.3, A.5 with value leak eps/2, w^+ = w*, gamma^+ = eps."""
    facts = evidence.facts
    side, other, eps = side_of(evidence, 1), against(evidence, 1), hints.conditions.eps
    return all_of(
        (
            (conditions.principal_direction(facts).holds is True, "A.1 does not hold"),
            (conditions.pairwise_condition(facts).holds is True, "A.2 does not hold"),
            (conditions.longer_mean(facts, 1).holds is True, "A.3 does not hold"),
            (
                abs(other.any_multipliers - 0.5 * evidence.leak * eps) <= 1e-7 * eps,
                "the value of A.5 is not leak eps/2",
            ),
            (abs(other.dual_multipliers - 0.5 * evidence.leak * eps) <= 1e-7 * eps, "V* is not leak eps/2"),
            (float(np.linalg.norm(side.w - hints.separator)) <= 1e-9, "w^+ is not the separator of the base set"),
            (abs(side.margin - eps) <= 1e-9 * eps, "gamma^+ is not eps"),
        ),
        detail="A.1, A.2, A.3 hold, A.5 has the value leak eps/2, w^+ = w*, gamma^+ = eps",
    )


@requires(_found_hints, "no hints found")
def _optimality(evidence: Evidence, hints: Hints) -> Comparison:
    """The best margin of any width beats eps/2 exactly where K > eps sqrt((3 + leak)/(1 - leak))."""
    best = best_network(evidence)
    limit, needed = 0.5 * hints.conditions.eps, hints.conditions
    words = f"best margin {best.margin:.7g}, limit {limit:.7g}, K = {needed.K:.6g}, threshold {needed.K_exact:.6g}"
    if needed.K_exact < needed.K:
        return at_least(best.margin / limit, 1.0 + 1e-9, detail=f"{words}: suboptimal at every width m >= 3")
    return at_most(best.upper / limit, 1.0, allowance=1e-6, detail=f"{words}: the limit is the best of all widths")


def _share_exponent(evidence: Evidence, sign: int) -> float:
    """The power of |theta| with which the share of the losing sign falls."""
    other = against(evidence, sign)
    return 2.0 * (other.dual_multipliers / other.threshold - 1.0)


def _hinted_exponent(evidence: Evidence) -> float:
    return 2.0 * (evidence.leak - 1.0)


def _late_law(evidence: Evidence) -> Comparison:
    """The share of the negative neurons falls like |theta|^(2(leak - 1))."""
    if np.all(evidence.network.a > 0.0):
        return nothing("no neuron is negative")
    exponent, expected = late_exponent(evidence, 1), _hinted_exponent(evidence)
    exponent = require(exponent, "fewer than five late snapshots with a share above 0; raise `late_margin`")
    words = f"the share of negative neurons falls like |theta|^{exponent:.6g}, foretold {expected:.6g}"
    earlier = late_exponent(evidence, 1, until=0.75)
    if earlier is not None and 0.02 * abs(expected) < abs(exponent - expected) < abs(earlier - expected):
        return missing(f"{words}, and still coming closer; raise `late_margin`")
    return equals(exponent, expected, atol=0.02 * abs(expected), detail=words)


def scale_needed(evidence: Evidence) -> float | None:
    """log sigma_max, or None where there is none to show."""
    value = largest_scale(evidence)
    return value if np.isfinite(value) else None


def draw_probability(evidence: Evidence) -> float:
    """1 - 2^-m: the chance that some neuron has the sign that wins."""
    return 1.0 - 0.5**evidence.network.num_neurons
