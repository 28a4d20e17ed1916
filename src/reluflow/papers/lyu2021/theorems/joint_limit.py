"""Phases I and II joined: as the scale vanishes the flow at T12 + t tends to an embedded pair [lyu2021].

Lemma 5.4. Lemma E.8 is the part of it up to the threshold t0 of Theorem E.4, Lemma E.9 what follows it, Lemma E.11 the
Lipschitz bound between the two.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.papers.lyu2021.paper import EXAMPLE, SETTING
from reluflow.papers.lyu2021.theorems.hypotheses import SYMMETRIC
from reluflow.papers.lyu2021.theorems.limits import good_draw_probability
from reluflow.papers.lyu2021.theorems.phase_two import threshold_time
from reluflow.papers.lyu2021.theorems.symmetric_flow import (
    GOOD_EMBEDDING,
    SMALL_SCALE,
    embed,
    own_network,
    symmetric_flow,
)
from reluflow.papers.lyu2021.theorems.unit_ball import m_norm
from reluflow.theory.comparison import (
    Comparison,
    Level,
    Values,
    at_least,
    at_most,
    equals,
    fails,
    fitted_slope,
    judgement,
    missing,
    require,
    requires,
)
from reluflow.theory.elsewhere import part
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import Companion, FlowPlan
from reluflow.theory.hypotheses import NO_RIDGE
from reluflow.theory.measures import AtLeast, AtMost, Constants
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem

LOG_RADII = {"wide": float(np.log(1e-2)), "narrow": float(np.log(1e-3))}  # of the runs that show the order in r
LOG_LIMIT = float(np.log(1e-6))  # at most ln r of the run that stands for the limit r -> 0; its error is of order r^2
STEPS = tuple(-k * float(np.log(10.0)) for k in (1, 2))  # of the scale, below the problem's own
INTEGRATION = 1e-9  # relative; the runs have rtol 1e-10
ORDER_ATOL = 0.1  # of the first order in sigma; one-dimensional data show the second


def joint_threshold(evidence: Evidence) -> float:
    """t0 of Theorem E.4, the smaller of those of the pair theta-hat and of its embedding, in unit-ball time."""
    flow = symmetric_flow(evidence)
    return min(threshold_time(rows, flow.ball, flow.growth) for rows in (flow.aligned, flow.aligned_pair))


def _joint_constants(evidence: Evidence) -> Constants:
    flow = symmetric_flow(evidence)
    return {
        "lambda_0": flow.growth,
        "T12": flow.ball.own_time(flow.joint_time),
        "t0": flow.ball.own_time(joint_threshold(evidence)),
        "probability": good_draw_probability(evidence),
        "b": flow.embedding.tolist(),
    }


def _early(evidence: Evidence) -> tuple[float, ...]:
    """t <= t0."""
    growth, t0 = symmetric_flow(evidence).growth, joint_threshold(evidence)
    return tuple(t0 + step / growth for step in (-1.0, -0.5, 0.0))


def _late(evidence: Evidence) -> tuple[float, ...]:
    """t > t0, through the time T12 of order-one outputs and beyond."""
    growth, t0 = symmetric_flow(evidence).growth, joint_threshold(evidence)
    return tuple(sorted({0.5 * t0, 0.0, 1.0 / growth, 3.0 / growth}))


def _joint_plan(evidence: Evidence, *, late: bool, early: bool) -> FlowPlan:
    flow = symmetric_flow(evidence)
    wanted = (*(_early(evidence) if early else ()), *(_late(evidence) if late else ()))
    starts = {"limit": (min(LOG_LIMIT, flow.growth * min(wanted) - 3.0), wanted)}
    if late and early:
        # at t >= 0 outputs are of order one and the order in r is far above rounding
        starts |= {name: (log_r, tuple(t for t in wanted if t >= 0.0)) for name, log_r in LOG_RADII.items()}
    companions = tuple(
        Companion(
            name,
            own_network(flow, flow.aligned_pair, evidence.leak, log_scale=log_r),
            tuple(flow.ball.own_time(flow.phase_two_time(log_r) + t) for t in times),
        )
        for name, (log_r, times) in starts.items()
    )
    return FlowPlan(times=_positive_times(evidence, wanted), other_scales=STEPS, companions=companions)


def _positive_times(evidence: Evidence, wanted: tuple[float, ...]) -> tuple[float, ...]:
    """T12 + t in the problem's own time; where that is not positive, the hypothesis small-start fails."""
    flow = symmetric_flow(evidence)
    times = [flow.ball.own_time(flow.joint_time + t) for t in wanted]
    return tuple(time if time > 0.0 else 1e-9 * (k + 1) for k, time in enumerate(times))


def _late_enough(evidence: Evidence) -> Comparison:
    flow = symmetric_flow(evidence)
    if flow.growth == 0.0 or np.any(flow.embedding == 0.0):
        return fails(r"$\mu = 0$ or $b$ has a zero entry")
    first = flow.joint_time + min(_early(evidence))
    return judgement(first > 0.0, first, f"$T_{{12}} + t$ is {first:.4g} at the first recorded $t$, in unit-ball time")


SMALL_START = Hypothesis(
    "small-start", "the scale is so small that $T_{12} + t_0$ is positive", _late_enough, is_regime=True
)


def _pair_rows(evidence: Evidence, name: str) -> list[FloatArray] | None:
    """Rows of a run of the pair at its recorded times."""
    run = evidence.companions.get(name)
    return None if run is None else [symmetric_flow(evidence).ball.neurons(s.network) for s in run.snapshots]


def _errors(evidence: Evidence) -> FloatArray | None:
    """|theta(T12 + t) - pi_b(theta~(t))|_M / |theta~(t)|_M, shape (scales, times), or None where a run is missing."""
    limit = _pair_rows(evidence, "limit")
    runs = (evidence, *evidence.other_scales)
    if limit is None or len(runs) < 1 + len(STEPS) or any(len(e.run.snapshots) != len(limit) for e in runs):
        return None
    b = symmetric_flow(evidence).embedding
    targets = [embed(rows, b) for rows in limit]
    errors = []
    for each in runs:
        recorded = [symmetric_flow(each).ball.neurons(s.network) for s in each.run.snapshots]
        errors.append([m_norm(r - t) / m_norm(t) for r, t in zip(recorded, targets, strict=True)])
    return np.array(errors)


_MISSING = "the pair, or a run at another scale, was not made"


@requires(_errors, _MISSING)
def _order_in_scale(evidence: Evidence, errors: FloatArray) -> Comparison:
    """Smallest order in sigma, over the recorded t, at which theta(T12 + t) tends to pi_b(theta~(t))."""
    require(
        float(np.min(errors)) >= INTEGRATION,
        "the difference is below the error of the integration; the order shows at larger scales only",
    )
    scales = [symmetric_flow(each).log_size for each in (evidence, *evidence.other_scales)]
    slopes = [fitted_slope(scales, np.log(column)) for column in errors.T]
    worst = min(slopes)
    words = (
        rf"order {worst:.4f} to {max(slopes):.4f} in $\sigma$, 1 or more expected; last error {errors[-1].max():.2g}"
    )
    return at_least(worst, 1.0 - ORDER_ATOL, detail=words)


def _log_scale(evidence: Evidence) -> float:
    """Factor that makes sqrt(m) sigma |theta-bar_0|_M small: 1e-3, and T12 + t >= 0 at every recorded t."""
    flow = symmetric_flow(evidence)
    return min(-7.0, flow.growth * joint_threshold(evidence) - 3.0) - flow.log_size


# Lemma 5.4, (4) and (5) -----------------------------------------------------------------------------------------------


def _order_in_radius(evidence: Evidence) -> Comparison:
    """Smallest order in r, over the recorded t >= 0, at which phi(r theta-hat, T2(r) + t) tends to theta~(t)."""
    wide, narrow, limit = (_pair_rows(evidence, name) for name in ("wide", "narrow", "limit"))
    if wide is None or narrow is None or limit is None or not len(wide) == len(narrow) <= len(limit):
        return missing(_MISSING)
    slopes = []
    for one, two, end in zip(wide, narrow, limit[-len(wide) :], strict=True):
        ratio = np.log(m_norm(one - end)) - np.log(m_norm(two - end))
        slopes.append(float(ratio / (LOG_RADII["wide"] - LOG_RADII["narrow"])))
    return equals(min(slopes), 2.0, atol=0.15, detail=f"order {min(slopes):.4f} in $r$, 2 expected")


def _limit_is_not_zero(evidence: Evidence) -> Values:
    """|theta~(t)|_M / (e^(lambda_0 t) |theta-hat|_M) at the recorded t <= t0; Lemma E.8 keeps it near 1."""
    rows, flow = require(_pair_rows(evidence, "limit"), _MISSING), symmetric_flow(evidence)
    for t, row in zip(_early(evidence), rows, strict=False):
        yield m_norm(row) / (np.exp(flow.growth * t) * m_norm(flow.aligned_pair))


LEMMA_5_4 = Theorem(
    "lyu2021:lemma5.4",
    Reference("lyu2021", "Lemma 5.4, (4) and (5)"),
    r"$\tilde{\theta}(t) = \lim \varphi(r \hat{\theta}, T_2(r) + t)$ exists and is not zero, and as the scale "
    r"vanishes $\theta(T_{12} + t)$ tends to $\pi_b(\tilde{\theta}(t))$.",
    hypotheses=(*SYMMETRIC, GOOD_EMBEDDING, SMALL_SCALE, SMALL_START, NO_RIDGE),
    conclusions=(
        Conclusion(
            "radius-order",
            r"order in $r$ of the convergence to $\tilde{\theta}(t)$",
            _order_in_radius,
            Level.SCALING,
            is_asymptotic=True,
        ),
        Conclusion(
            "not-zero",
            r"$|\tilde{\theta}(t)|_M \ge e^{\lambda_0 t} |\hat{\theta}|_M/2$ up to $t_0$",
            AtLeast(
                _limit_is_not_zero,
                0.5,
                words=r"smallest $|\tilde{{\theta}}(t)|_M$ over its exponential is {measured:.6g}",
            ),
        ),
        Conclusion(
            "scale-order",
            r"order in $\sigma$ of $\theta(T_{12} + t)$ to $\pi_b(\tilde{\theta}(t))$",
            _order_in_scale,
            Level.SCALING,
            is_asymptotic=True,
        ),
    ),
    constants=_joint_constants,
    plan=partial(_joint_plan, late=True, early=True),
    log_scale=_log_scale,
    setting=SETTING,
    example=EXAMPLE,
    erratum=r"E1: $\lambda_0 = ((1 + \mathrm{leak})/4) |\mu|$; E10: $\hat\theta$ is "
    r"$(b_+ \bar\mu, b_- \bar\mu, b_+, b_-)$.",
    departs=r"$\tilde{\theta}$ is taken at $r \le 10^{-6}$, whose error is of order $r^2$; the paper proves "
    r"limits, orders are measured.",
)

EQ_4 = part(
    "lyu2021:eq4",
    "Eq. (4)",
    LEMMA_5_4,
    r"$\tilde{\theta}(t) = \lim \varphi(r \hat{\theta}, T_2(r) + t)$ exists and is not zero",
)
EQ_5 = part("lyu2021:eq5", "Eq. (5)", LEMMA_5_4, r"$\theta(T_{12} + t)$ tends to $\pi_b(\tilde{\theta}(t))$")

# Lemma E.8 ------------------------------------------------------------------------------------------------------------


def _limit_is_exponential(evidence: Evidence) -> Values:
    """|theta~(t) - e^(lambda_0 t) theta-hat|_M over (8 |theta-hat|_M^3/lambda_0) e^(3 lambda_0 t)."""
    rows, flow = require(_pair_rows(evidence, "limit"), _MISSING), symmetric_flow(evidence)
    pair = flow.aligned_pair
    for t, row in zip(_early(evidence), rows, strict=True):
        bound = 8.0 * m_norm(pair) ** 3 / flow.growth * np.exp(3.0 * flow.growth * t)
        yield m_norm(row - np.exp(flow.growth * t) * pair) / (bound + INTEGRATION * m_norm(row))


LEMMA_E_8 = Theorem(
    "lyu2021:lemmaE.8",
    Reference("lyu2021", "Lemma E.8"),
    r"For $t \le t_0$, $\tilde\theta(t)$ is near $e^{\lambda_0 t} \hat\theta$, and $\theta(T_{12} + t)$ tends to "
    r"$\pi_b(\tilde\theta(t))$.",
    hypotheses=(*SYMMETRIC, GOOD_EMBEDDING, SMALL_SCALE, SMALL_START, NO_RIDGE),
    conclusions=(
        Conclusion(
            "exponential",
            r"distance of $\tilde{\theta}$ to $e^{\lambda_0 t} \hat{\theta}$ over its bound",
            AtMost(_limit_is_exponential, 1.0),
        ),
        Conclusion(
            "scale-order",
            r"order in $\sigma$ of $\theta(T_{12} + t)$ to $\pi_b(\tilde{\theta}(t))$",
            _order_in_scale,
            Level.SCALING,
            is_asymptotic=True,
        ),
    ),
    constants=_joint_constants,
    plan=partial(_joint_plan, late=False, early=True),
    log_scale=_log_scale,
    setting=SETTING,
    example=EXAMPLE,
    erratum="E1, E10, as Lemma 5.4.",
    departs="As Lemma 5.4.",
)

# Lemma E.9 ------------------------------------------------------------------------------------------------------------

LEMMA_E_9 = Theorem(
    "lyu2021:lemmaE.9",
    Reference("lyu2021", "Lemma E.9"),
    "If the limit (5) holds at $t_0$ and the flow is unique from there, it holds for every $t > t_0$.",
    hypotheses=(*SYMMETRIC, GOOD_EMBEDDING, SMALL_SCALE, SMALL_START, NO_RIDGE),
    conclusions=(
        Conclusion(
            "scale-order",
            r"order in $\sigma$ of $\theta(T_{12} + t)$ to $\pi_b(\tilde{\theta}(t))$",
            _order_in_scale,
            Level.SCALING,
            is_asymptotic=True,
        ),
    ),
    constants=_joint_constants,
    plan=partial(_joint_plan, late=True, early=False),
    log_scale=_log_scale,
    setting=SETTING,
    example=EXAMPLE,
    departs="As Lemma 5.4, at four times after $t_0$.",
)

# Lemma E.11 -----------------------------------------------------------------------------------------------------------


def _lipschitz_plan(evidence: Evidence) -> FlowPlan:
    flow = symmetric_flow(evidence)
    times = np.linspace(joint_threshold(evidence), 3.0 / flow.growth, 41)
    return FlowPlan(times=_positive_times(evidence, tuple(float(t) for t in times)))


def _lipschitz(evidence: Evidence) -> Comparison:
    """Largest ln of |theta(s) - theta(t)| / |s - t| between snapshots against ln(|theta(T12 + t0)| e^(t_s - t0))."""
    ball, snapshots = symmetric_flow(evidence).ball, evidence.run.snapshots
    rows = [ball.neurons(s.network) for s in snapshots]
    times = np.array([s.time for s in snapshots]) * ball.radius
    speeds = [
        np.linalg.norm(rows[j] - rows[i]) / (times[j] - times[i])
        for i in range(len(rows))
        for j in range(i + 1, len(rows))
    ]
    bound = float(np.log(np.linalg.norm(rows[0]))) + float(times[-1] - times[0])
    return at_most(float(np.log(max(speeds))), bound, detail=f"ln of the largest speed against {bound:.4g}")


LEMMA_E_11 = Theorem(
    "lyu2021:lemmaE.11",
    Reference("lyu2021", "Lemma E.11"),
    r"On $[t_0, t_s]$ the map $t \mapsto \theta(T_{12} + t)$ is Lipschitz with constant "
    r"$|\theta(T_{12} + t_0)| e^{t_s - t_0}$.",
    hypotheses=(*SYMMETRIC, GOOD_EMBEDDING, SMALL_SCALE, SMALL_START, NO_RIDGE),
    conclusions=(Conclusion("lipschitz", "largest speed between snapshots; logarithms", _lipschitz),),
    constants=_joint_constants,
    plan=_lipschitz_plan,
    log_scale=_log_scale,
    setting=SETTING,
    example=EXAMPLE,
)
