"""Where the flow of a homogeneous network tends: Theorem 3.1 and Lemma B.9 [lyu2021]."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.kkt import KKTCertificate, kkt_certificate, normalized, normalized_margin
from reluflow.certificates.limits.certified_limit import LimitIdentified
from reluflow.certificates.limits.directions import direction_distance, unit_norm
from reluflow.dynamics.stopping import FirstOf, Stationary
from reluflow.dynamics.trajectory import Snapshot
from reluflow.network import Network
from reluflow.papers.lyu2021.paper import EXAMPLE, SETTING
from reluflow.papers.lyu2021.theorems.hypotheses import MEAN_LOSS
from reluflow.papers.lyu2021.theorems.limits import limit_of, proved_limit
from reluflow.papers.lyu2021.theorems.smoothed_margin import smoothed_margin
from reluflow.papers.lyu2021.theorems.unit_ball import unit_ball
from reluflow.theory.comparison import (
    Comparison,
    Level,
    Source,
    at_least,
    at_most,
    certified,
    closes_in,
    judgement,
    require,
    requires,
    undecided,
)
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.hypotheses import LEAKY, NO_RIDGE, assumed
from reluflow.theory.measures import AtLeast, AtMost, Below
from reluflow.theory.separability import LINEARLY_SEPARABLE
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem

KKT_RTOL = 1e-9  # residual of a solved limit relative to |theta|; 1e-15 to 1e-11 were seen
INTEGRATION = 1e-9  # relative; the runs have rtol 1e-10
NUM_TIMES = 25
LOG_HORIZON = 1e4  # ln t at which the search for a limit is given up


def until_limit(evidence: Evidence) -> FlowPlan:
    """Snapshots over six decades of unit-ball time, then on until the limit is identified or the run is stationary."""
    times = np.geomspace(1.0, 1e6, NUM_TIMES) / unit_ball(evidence).radius
    until = FirstOf((LimitIdentified(kkt=KKT_RTOL), Stationary()))
    return FlowPlan(times=tuple(float(t) for t in times), until=until, log_horizon=LOG_HORIZON)


def _limit_identified(evidence: Evidence) -> Comparison:
    """The run ended by itself and the direction it tends to is certified."""
    limit = limit_of(evidence)
    return judgement(True if limit.is_proof else None, None, limit.reason)


LIMIT_IDENTIFIED = Hypothesis(
    "limit", "the limit of the run's direction is identified", _limit_identified, needs_trajectory=True
)

# Thm 3.1 --------------------------------------------------------------------------------------------------------------


def _classified(evidence: Evidence) -> list[Snapshot]:
    """The snapshots with n L < ln 2."""
    return [s for s in evidence.run.snapshots if evidence.dataset.n * s.loss < np.log(2.0)]


def _tail(evidence: Evidence) -> list[tuple[float, float]]:
    """(L, smoothed margin) at those of them whose loss is above 0."""
    return [
        (s.loss, smoothed_margin(evidence.dataset.y * s.outputs) * float(np.exp(-2.0 * _log_norm(s.network))))
        for s in _classified(evidence)
        if s.loss > 0.0
    ]


_TOO_FEW = r"fewer than two snapshots have $n L < \ln 2$"
_NO_CHANGE = "snapshots late enough for a change that a double can show"
_ROUNDING = 1e-10  # gains of |theta|^2 below this fraction of it are lost in rounding


def _small_loss(evidence: Evidence) -> Comparison:
    run = evidence.run
    lowest = evidence.dataset.n * float(np.min(run.losses)) / float(np.log(2.0))
    words = rf"smallest $n L/\ln 2$ on the run is {lowest:.3g}"
    if lowest >= 1.0 and run.outcome.is_cut_short:
        return undecided(f"{words}, and it was cut short")
    return judgement(lowest < 1.0, 1.0 - lowest, words)


SMALL_LOSS = Hypothesis(
    "small-loss",
    r"$L < \ln 2/n$ is reached, so that every sample is classified",
    _small_loss,
    is_regime=True,
    needs_trajectory=True,
)


@requires(_tail, _TOO_FEW, at_least=2)
def loss_falls(evidence: Evidence, tail: list[tuple[float, float]]) -> FloatArray:
    """Change of ln L between snapshots with n L < ln 2."""
    require(_has_moved(evidence), _NO_CHANGE)
    return np.asarray(np.diff(np.log([row[0] for row in tail])))


def loss_vanishes(evidence: Evidence) -> Comparison:
    """n L / ln 2 at the end of the run, at most e^-5."""
    require(len(_tail(evidence)) >= 2, _TOO_FEW)
    final = evidence.dataset.n * evidence.run.loss / float(np.log(2.0))
    return at_most(final, float(np.exp(-5.0)), detail=rf"$n L/\ln 2$ is {final:.3g} at the end")


def _limit_has_no_loss(evidence: Evidence) -> Comparison:
    """The same; where the run is not there yet but its limit is proved, the margin of that: if positive, L -> 0."""
    at_the_end, limit = loss_vanishes(evidence), limit_of(evidence)
    if at_the_end.holds or not limit.is_proof:
        return at_the_end
    margin = normalized_margin(limit.network, evidence.dataset)
    words = f"{at_the_end.detail}, and the limit's direction, which is proved, has margin {margin:.3g}"
    return certified(at_least(margin, float(np.finfo(float).tiny), detail=words))


def norm_grows(evidence: Evidence) -> Comparison:
    """Smallest growth of |theta|^2 between snapshots with n L < ln 2, over its least: it never comes to rest.

    d|theta|^2/dt = (4/n) sum g_i q_i with g_i >= l_i/(2 ln 2) and q_i >= -ln(e^(nL) - 1), which grows as L falls. So
    between s and t it gains at least (2/ln 2) L(t) (-ln(e^(nL(s)) - 1)) (t - s), whose sum diverges.
    """
    gains = require(_gains(evidence), _TOO_FEW)
    ratios = [(after - before) / least for before, after, least in gains if least > _ROUNDING * before]
    require(ratios, _NO_CHANGE)
    words = (
        rf"$|\theta|^2$ grows from {gains[0][0]:.6g} to {gains[-1][1]:.6g}, at least {min(ratios):.4g} times its least"
    )
    return at_least(min(ratios), 1.0, detail=words)


def _gains(evidence: Evidence) -> list[tuple[float, float, float]]:
    """|theta|^2 at either end of each stretch between snapshots with n L < ln 2, and the least it must gain there."""
    n = evidence.dataset.n
    tail = [(s.time, s.loss, float(np.exp(2.0 * _log_norm(s.network)))) for s in _classified(evidence) if s.loss > 0.0]
    return [
        (size_0, size_1, 2.0 / np.log(2.0) * loss_1 * -np.log(np.expm1(n * loss_0)) * (t_1 - t_0))
        for (t_0, loss_0, size_0), (t_1, loss_1, size_1) in pairwise(tail)
    ]


def _has_moved(evidence: Evidence) -> bool:
    """Whether the theorem asks for a change between snapshots that a double can show.

    A network that starts with margin 36 has to gain 1e-14 of its norm by t = 1: nothing that could be measured.
    """
    return any(least > _ROUNDING * before for before, _, least in _gains(evidence))


def _log_norm(network: Network) -> float:
    return 0.5 * float(np.log(network.replace(log_scale=0.0).squared_norm())) + network.log_scale


@requires(_tail, _TOO_FEW, at_least=2)
def smoothed_margin_grows(evidence: Evidence, tail: list[tuple[float, float]]) -> FloatArray:
    """Relative growth of the smoothed margin between snapshots."""
    margins = np.array([row[1] for row in tail])
    return np.asarray(np.diff(margins) / margins[:-1])


def _limit_is_kkt(evidence: Evidence) -> Comparison:
    """KKT residual of the solved limit of the run's direction, relative to |theta|."""
    limit = proved_limit(evidence)
    residual = kkt_certificate(limit.network, evidence.dataset).residual
    return certified(at_most(residual, KKT_RTOL, detail=f"residual {residual:.2g}; {limit.reason}"))


def _direction_closes_in(evidence: Evidence) -> Comparison:
    """Distance of the run's own direction to the solved limit, over the snapshots with n L < ln 2."""
    limit, tail = limit_of(evidence), _classified(evidence)
    require(limit.is_proof, limit.reason)
    require(len(tail) >= 2, _TOO_FEW)
    require(_has_moved(evidence), _NO_CHANGE)
    return closes_in([direction_distance(unit_norm(s.network), limit.network) for s in tail])


LOSS_FALLS = Conclusion(
    "falls",
    r"$L$ falls between snapshots with $n L < \ln 2$",
    Below(loss_falls, 0.0, words=r"$\ln L$ changes by at most {measured:.3g} between two snapshots"),
)

THM_3_1 = Theorem(
    "lyu2021:thm3.1",
    Reference("lyu2021", "Thm 3.1"),
    r"Once $L < \ln 2/n$ the loss falls to 0, the norm grows for ever and the direction tends to a KKT direction.",
    hypotheses=(MEAN_LOSS, NO_RIDGE, SMALL_LOSS),
    conclusions=(
        LOSS_FALLS,
        Conclusion("loss", "$L$ tends to 0", _limit_has_no_loss, is_asymptotic=True),
        Conclusion("norm", r"$|\theta|^2$ gains at least its share between snapshots", norm_grows),
        Conclusion(
            "smoothed-margin",
            "the smoothed margin does not decrease",
            AtLeast(smoothed_margin_grows, 0.0, allowance=INTEGRATION),
        ),
        Conclusion(
            "kkt",
            r"the limit of $\theta/|\theta|$ satisfies the KKT conditions",
            _limit_is_kkt,
            Level.EXACT,
            is_asymptotic=True,
        ),
        Conclusion(
            "direction",
            r"$\theta/|\theta|$ closes in on that limit",
            _direction_closes_in,
            source=Source.RELUFLOW,
            is_asymptotic=True,
        ),
    ),
    plan=until_limit,
    setting=SETTING,
    example=EXAMPLE,
    departs="The theorem is for every definable homogeneous network, of any depth; it is judged on two layers. "
    "The limit is solved for and certified, not waited for, for the paper gives no rate.",
)

# Lemma B.9 ------------------------------------------------------------------------------------------------------------

ROUNDING = 1e-12


@computed_once
def _kkt(evidence: Evidence) -> KKTCertificate:
    """The certificate of the run's limit."""
    return kkt_certificate(limit_of(evidence).network, evidence.dataset)


def _limit_residual(evidence: Evidence) -> float:
    """Of the limit, relative to |theta|."""
    return _kkt(evidence).residual


IS_KKT = Hypothesis(
    "kkt",
    "the direction satisfies the KKT conditions",
    AtMost(_limit_residual, KKT_RTOL, words=r"KKT residual {number:.3g} relative to $|\theta|$"),
    is_regime=True,
    needs_trajectory=True,
)


@dataclass(frozen=True, eq=False)
class DirectionAndMultipliers:
    """The direction of the limit and its multipliers lambda, in the scale of theta / sqrt(q_min)."""

    network: Network
    multipliers: FloatArray


def _direction_and_multipliers(evidence: Evidence) -> DirectionAndMultipliers:
    return DirectionAndMultipliers(limit_of(evidence).network, _kkt(evidence).multipliers)


def _balance_allowed(evidence: Evidence) -> float:
    """For ||a_k| - |w_k|| over the largest neuron: a residual e relative to |theta| allows sqrt(m) e."""
    return float(np.sqrt(evidence.network.num_neurons)) * _limit_residual(evidence)


def _run_is_less_unbalanced(evidence: Evidence) -> Comparison:
    """Largest |a_k^2 - |w_k|^2| / |theta|^2 at the first and the last snapshot; the numerator is conserved."""
    networks = [unit_norm(evidence.run.snapshots[k].network) for k in (0, -1)]
    return closes_in([float(np.max(np.abs(network.balancedness()))) for network in networks], floor=INTEGRATION)


def _balance(evidence: Evidence) -> float:
    """max_k ||a_k| - |w_k|| / max_k |(w_k, a_k)| of the limit."""
    w, a, size = normalized(evidence.recorded(DirectionAndMultipliers).network)
    return float(np.max(np.abs(np.abs(a) - np.linalg.norm(w, axis=1))) / np.max(size))


def _multiplier_sum_error(evidence: Evidence) -> float:
    """|2 gamma sum_i lambda_i - 1| of the limit."""
    limit = evidence.recorded(DirectionAndMultipliers)
    return abs(2.0 * normalized_margin(limit.network, evidence.dataset) * float(limit.multipliers.sum()) - 1.0)


LEMMA_B_9 = Theorem(
    "lyu2021:lemmaB.9",
    Reference("lyu2021", "Lemma B.9"),
    r"Every neuron of a KKT-margin direction has $|a_k| = |w_k|$, and $2 \gamma$ times the multipliers' sum is 1.",
    hypotheses=(MEAN_LOSS, LEAKY, assumed(LINEARLY_SEPARABLE), IS_KKT),
    conclusions=(
        Conclusion(
            "balanced",
            "$||a_k| - |w_k||$ relative to the largest neuron",
            AtMost(_balance, _balance_allowed, allowance=ROUNDING),
            Level.EXACT,
        ),
        Conclusion(
            "multiplier-sum",
            r"$|2 \gamma \sum_i \lambda_i - 1|$, by Euler's identity",
            AtMost(_multiplier_sum_error, 1e-8),
            Level.EXACT,
        ),
        Conclusion(
            "run",
            "the run's own direction grows balanced",
            _run_is_less_unbalanced,
            source=Source.RELUFLOW,
            is_asymptotic=True,
        ),
    ),
    plan=until_limit,
    record=_direction_and_multipliers,
    setting=SETTING,
    example=EXAMPLE,
)
