"""Theorems A.7 and A.10: on non-symmetric data one sign of neurons wins and the net ends as one neuron [lyu2021]."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.kkt import normalized_margin
from reluflow.certificates.network_margin import OppositeSignMargin
from reluflow.certificates.one_class import LeakyMargin
from reluflow.network.network import Network
from reluflow.theory.condition import Judgement, undecided
from reluflow.theory.evidence import Evidence, FlowPlan, kept
from reluflow.theory.hypotheses import balanced_start, data_assumption, leaky_activation, loss_among, no_ridge_met
from reluflow.theory.limit import LimitIdentified, direction_distance, unit_norm
from reluflow.theory.lyu2021.early_constants import (
    cone_obstacle,
    constants_of,
    correct_cone,
    idealised_time,
    largest_log_scale,
)
from reluflow.theory.lyu2021.limits import limit_of
from reluflow.theory.measurement import Level, Measurement, at_most, equals, fitted_slope, missing, nothing
from reluflow.theory.stating import hypothesis
from reluflow.theory.theorem import Conclusion, Constants, Hypothesis, Parameter, Reference, Setting, Theorem

LATE_MARGIN = 60.0  # y h at which the limit is first asked for: two e-folds of the norm to fit the late law on
LOG_HORIZON = 700.0  # log of the last time; the largest double is about e^709
_NUM_TIMES = 24
_EARLY_SHARE = 1e-5


def winning_sign(sign: int) -> Hypothesis:
    """Some neuron starts with the sign that wins: probability 1 - 2^-m (erratum E11)."""
    word = "positive" if sign > 0 else "negative"

    def judge(evidence: Evidence) -> Judgement:
        count = int(np.sum(np.sign(evidence.network.a) == sign))
        return Judgement(count > 0, float(count), f"{count} of {evidence.network.num_neurons} neurons are {word}")

    return Hypothesis(f"some-{word}", f"at least one neuron has a {word} output weight", judge)


@hypothesis(
    "scale", "the scale is below sigma_max of Lemma G.4, with the alignment time of the limit flow", is_regime=True
)
def scale_is_small(evidence: Evidence) -> Judgement:
    """The early phase is over before the outputs matter, by the bound of Lemma G.4 with the measured alignment time."""
    allowed = largest_scale(evidence)
    if not np.isfinite(allowed):
        return undecided(cone_obstacle(evidence) or "some neuron never enters the cone of correct signs")
    margin = allowed - evidence.network.log_scale
    words = f"log scale {evidence.network.log_scale:.4g} against at most {allowed:.4g}"
    return Judgement(margin >= 0.0, margin, words)


@kept
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


def finite_or_none(value: float) -> float | None:
    """The value, or None where there is none to show."""
    return value if np.isfinite(value) else None


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


def limit_margin(evidence: Evidence, expected: float) -> Measurement:
    """The normalised margin of the certified limit against the foretold one."""
    limit = limit_of(evidence)
    if not limit.is_proof:
        return missing(f"the limit was not identified: {limit.reason}")
    return equals(
        normalized_margin(limit.network, evidence.dataset), expected, atol=evidence.parameter("rtol") * expected
    )


def limit_function(evidence: Evidence, w: FloatArray, sign: int) -> Measurement:
    """How far the limit network is from one neuron along w."""
    limit = limit_of(evidence)
    if not limit.is_proof:
        return missing(f"the limit was not identified: {limit.reason}")
    return at_most(one_neuron_distance(unit_norm(limit.network), w, sign), evidence.parameter("rtol"))


def approach(evidence: Evidence) -> Measurement:
    """How far the run's own last direction is from the certified limit."""
    limit = limit_of(evidence)
    distance = direction_distance(unit_norm(evidence.run.network), unit_norm(limit.network))
    return at_most(
        distance, evidence.parameter("close"), detail=f"{distance:.3g} away at log time {evidence.run.log_time:.4g}"
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


def share_falls(evidence: Evidence, sign: int) -> Measurement:
    """The other sign's share falls at the end of the run."""
    if np.all(np.sign(evidence.network.a) == sign):
        return nothing("no neuron has the other sign")
    exponent = late_exponent(evidence, sign)
    if exponent is None:
        return missing("fewer than five late snapshots with a share above 0; raise `late_margin`")
    words = f"the share of the losing sign changes like |theta|^{exponent:.4g} at the end"
    first, last = (losing_share(late_networks(evidence, sign)[k], sign) for k in (0, -1))
    if exponent >= 0.0 and last <= RISING * first:
        return missing(f"{words}; the run is not late enough")  # nothing is said of any finite time
    return at_most(exponent, 0.0, detail=words)


RISING = 10.0  # a share that must fall and has become so many times larger at the end rises, however late the run is
PARAMETERS = (
    Parameter("rtol", 1e-7, "allowed relative error of the certified limit (the KKT solver's is about 1e-12)", low=0.0),
    Parameter("close", 0.05, "largest distance of the run's last direction to the limit", low=0.0),
    Parameter("late_margin", LATE_MARGIN, "smallest margin y h at which the limit is first asked for", low=0.0),
    Parameter("log_horizon", LOG_HORIZON, "natural logarithm of the time at which to give up", low=0.0),
)


def _theorem(
    key: str,
    locator: str,
    sign: int,
    conditions: tuple[str, ...],
    example: str,
    leak: float | None,
    width: int,
    **words: str,
) -> Theorem:
    symbol = "+" if sign > 0 else "-"

    def constants(evidence: Evidence) -> Constants:
        side, other = side_of(evidence, sign), against(evidence, sign)
        return {
            "gamma": side.margin,
            "w": side.w.tolist(),
            "kappa": _kappa(evidence, sign),
            "V": other.any_multipliers,
            "V_star": other.dual_multipliers,
            "log_scale_needed": finite_or_none(largest_scale(evidence)),
        }

    def predictions(evidence: Evidence) -> Constants:
        other = against(evidence, sign)
        return {
            "margin": other.threshold,
            "share_exponent": 2.0 * (other.dual_multipliers / other.threshold - 1.0),
            "probability": 1.0 - 0.5**evidence.network.num_neurons,
        }

    return Theorem(
        key=key,
        reference=Reference("lyu2021", locator),
        statement=words["statement"],
        hypotheses=(
            loss_among("logistic"),
            leaky_activation,
            *(data_assumption(condition) for condition in conditions),
            balanced_start(),
            winning_sign(sign),
            scale_is_small,
            no_ridge_met,
        ),
        conclusions=(
            Conclusion(
                "margin",
                f"the normalised margin tends to gamma^{symbol}/2",
                lambda e: limit_margin(e, against(e, sign).threshold),
                level=Level.EXACT,
            ),
            Conclusion(
                "one-neuron",
                f"the limit network is one neuron along w^{symbol}, shared by the neurons of its sign",
                lambda e: limit_function(e, side_of(e, sign).w, sign),
                level=Level.EXACT,
            ),
            Conclusion("approach", "the run itself has come close to its limit", approach),
            Conclusion(
                "share-falls",
                "the other sign's share of the squared norm falls",
                lambda e: share_falls(e, sign),
            ),
        ),
        constants=constants,
        predictions=predictions,
        parameters=PARAMETERS,
        plan=limit_plan,
        log_scale=lambda evidence: factor_to_regime(evidence, sign),
        setting=Setting(loss="logistic", leak=leak, init="lyu-balanced", width=width, scale="1e-3"),
        example=example,
        erratum=words["erratum"],
        departs=(
            "The paper gives no sigma_max for the whole theorem; the one of its early phase (Lemma G.4) is asked for. "
            "The limit is identified and certified, not waited for. The foretold exponent of the losing share is that "
            "of very late times, when the losing neurons have turned."
        ),
    )


THEOREM_A_7 = _theorem(
    "lyu2021:thmA.7",
    "Theorem A.7",
    1,
    ("linearly-separable", "lyu-a2", "lyu-a3", "lyu-a5-star"),
    "lyu-counterexample-sharp",
    None,  # that of the dataset
    6,
    statement=(
        "Under A.2, A.3, A.5* and A.6 a small balanced leaky net with a positive neuron ends as (1/2) phi(<w^+, x>): "
        "the margin tends to gamma^+/2."
    ),
    erratum=(
        "E4: with A.5 as printed the theorem is false (lyu-counterexample); A.5* bounds the dual multipliers of w^+. "
        "E11: the draw is the balanced one."
    ),
)

THEOREM_A_10 = _theorem(
    "lyu2021:thmA.10",
    "Theorem A.10",
    -1,
    ("linearly-separable", "lyu-a2", "lyu-a8", "lyu-a9"),
    "orthogonally-separable:n=4,d=3,mu=0.8",
    0.7,
    4,
    statement=(
        "Under A.2, A.8, A.9 and the mirrored A.6 a small balanced leaky net with a negative neuron ends as "
        "-(1/2) phi(-<w^-, x>): the margin tends to gamma^-/2."
    ),
    erratum="E5: A.9 speaks of a_k >= 0, A.6 is mirrored, and A.9 needs the repair of A.5*.",
)
