"""Two neurons embedded into m by pi_b: flows commute with it, and phases I and II joined tend to it [lyu2021].

Lemmas 5.3, E.1 and E.2; then Lemma 5.4: as the scale vanishes the flow at T12 + t tends to an embedded pair. Lemma E.8
is the part of it up to the threshold t0 of Theorem E.4, Lemma E.9 what follows it, Lemma E.11 the Lipschitz bound
between the two.
"""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.theory.comparison import (
    Comparison,
    Undecided,
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
from reluflow.theory.evidence import Evidence, given
from reluflow.theory.flow_plan import Companion, FlowPlan
from reluflow.theory.lyu2021.phase_two import threshold_time
from reluflow.theory.lyu2021.symmetric_flow import embed, network_of, own_network, symmetric_flow
from reluflow.theory.lyu2021.unit_ball import DRAW_SEED, m_norm, neuron_rows, pull, unit_ball, velocity, velocity_at

ROUNDING = 1e-12  # relative; 1e-15 was seen
COMMUTES = 1e-9  # relative difference of two runs of rtol 1e-10 that should be one; 2e-15 was seen
NUM_PAIRS = 30


_embedding = given("embedding", embed)


def _pairs(evidence: Evidence) -> list[FloatArray]:
    """Random two-neuron networks with a_1 > 0 > a_2, rows (w, a)."""
    rng, pairs = np.random.default_rng(DRAW_SEED), []
    for size in np.geomspace(1e-2, 3.0, NUM_PAIRS):
        rows = size * rng.standard_normal((2, evidence.dataset.d + 1))
        rows[:, -1] = np.abs(rows[:, -1]) * np.array([1.0, -1.0])
        pairs.append(rows)
    return pairs


def _same_function(evidence: Evidence) -> Values:
    """|f of the embedded - f of the pair| / |theta|^2."""
    X, b = unit_ball(evidence).X, symmetric_flow(evidence).embedding
    for rows in _pairs(evidence):
        one, two = (network_of(r, evidence.leak).outputs(X) for r in (rows, _embedding(evidence)(rows, b)))
        yield np.abs(one - two) / np.sum(rows**2)


def _same_norm(evidence: Evidence) -> Values:
    """||pi_b(theta)| - |theta|| / |theta|."""
    for rows in _pairs(evidence):
        there = _embedding(evidence)(rows, symmetric_flow(evidence).embedding)
        yield abs(float(np.linalg.norm(there) / np.linalg.norm(rows)) - 1.0)


def _same_gradient(evidence: Evidence) -> Values:
    """|grad L(pi_b(theta)) - pi_b(grad L(theta))|_M over |grad L(theta)|_M."""
    ball, b = unit_ball(evidence), symmetric_flow(evidence).embedding
    for rows in _pairs(evidence):
        networks = [network_of(r, evidence.leak) for r in (rows, _embedding(evidence)(rows, b))]
        one, two = (pull(n, ball.X, evidence.loss.forces(n.outputs(ball.X), ball.y)) for n in networks)
        yield m_norm(two - _embedding(evidence)(one, b)) / m_norm(one)


def _start(evidence: Evidence) -> FloatArray:
    """A pair to start from: the first two neurons of the shape with a_1 > 0 > a_2; M-norm 1."""
    rows = neuron_rows(evidence.network)[:2].copy()
    rows[:, -1] = np.abs(rows[:, -1]) * np.array([1.0, -1.0])
    return rows / m_norm(rows)


def _pair_plan(evidence: Evidence) -> FlowPlan:
    flow, pair = symmetric_flow(evidence), _start(evidence)
    log_scale = float(np.log(evidence.parameter("size")))
    times = tuple(flow.ball.own_time(float(t)) for t in np.linspace(0.0, evidence.parameter("until"), 25))
    starts = {"pair": pair, "embedded": embed(pair, flow.embedding)}
    companions = tuple(
        Companion(name, network_of(rows, evidence.leak, log_scale=log_scale), times) for name, rows in starts.items()
    )
    return FlowPlan(times=times[1:2], companions=companions)


def _flow_commutes(evidence: Evidence) -> Values:
    """|pi_b(theta(t)) - theta_b(t)|_M / |theta_b(t)|_M over the snapshots of the two runs."""
    pair, embedded = (evidence.companions.get(name) for name in ("pair", "embedded"))
    if pair is None or embedded is None or len(pair.snapshots) != len(embedded.snapshots):
        raise Undecided("the pair and its embedding were not both run")
    for one, two in zip(pair.snapshots, embedded.snapshots, strict=True):
        factor = np.exp(one.network.log_scale - two.network.log_scale)
        here, there = neuron_rows(one.network), neuron_rows(two.network)
        yield m_norm(factor * embed(here, symmetric_flow(evidence).embedding) - there) / m_norm(there)


def _embedded_is_a_trajectory(evidence: Evidence) -> Values:
    """|v(pi_b(theta)) - pi_b(v(theta))|_M, v the velocity, relative to |theta|_M, along the pair's run."""
    run, flow = require(evidence.companions.get("pair"), "the pair was not run"), symmetric_flow(evidence)
    for s in run.snapshots:
        wide = network_of(embed(neuron_rows(s.network), flow.embedding), evidence.leak, log_scale=s.network.log_scale)
        there = velocity(wide, wide.outputs(evidence.dataset.X), evidence.dataset, evidence.loss)
        # measured against |theta| times the total force: velocities themselves cancel where a neuron slides
        force = float(np.sum(np.abs(evidence.loss.forces(s.outputs, evidence.dataset.y))))
        gap = m_norm(embed(velocity_at(evidence, s), flow.embedding) - there)
        yield gap / (force * flow.ball.radius * m_norm(neuron_rows(wide)))


LOG_RADII = {"wide": float(np.log(1e-2)), "narrow": float(np.log(1e-3))}  # of the runs that show the order in r
LOG_LIMIT = float(np.log(1e-6))  # at most ln r of the run that stands for the limit r -> 0; its error is of order r^2
STEPS = tuple(-k * float(np.log(10.0)) for k in (1, 2))  # of the scale, below the problem's own
INTEGRATION = 1e-9  # relative; the runs have rtol 1e-10
ORDER_ATOL = 0.1  # of the first order in sigma; one-dimensional data show the second


def joint_threshold(evidence: Evidence) -> float:
    """t0 of Theorem E.4, the smaller of those of the pair theta-hat and of its embedding, in unit-ball time."""
    flow = symmetric_flow(evidence)
    return min(threshold_time(rows, flow.ball, flow.growth) for rows in (flow.aligned, flow.aligned_pair))


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
    return FlowPlan(times=_positive_times(evidence, wanted), sweep=STEPS, companions=companions)


def _positive_times(evidence: Evidence, wanted: tuple[float, ...]) -> tuple[float, ...]:
    """T12 + t in the problem's own time; where that is not positive, the hypothesis small-start fails."""
    flow = symmetric_flow(evidence)
    times = [flow.ball.own_time(flow.joint_time + t) for t in wanted]
    return tuple(time if time > 0.0 else 1e-9 * (k + 1) for k, time in enumerate(times))


def _late_enough(evidence: Evidence) -> Comparison:
    flow = symmetric_flow(evidence)
    if flow.growth == 0.0 or np.any(flow.embedding == 0.0):
        return fails("mu = 0 or b has a zero entry")
    first = flow.joint_time + min(_early(evidence))
    return judgement(first > 0.0, first, f"T12 + t is {first:.4g} at the first recorded t, in unit-ball time")


def _pair_rows(evidence: Evidence, name: str) -> list[FloatArray] | None:
    """Rows of a run of the pair at its recorded times."""
    run = evidence.companions.get(name)
    return None if run is None else [symmetric_flow(evidence).ball.neurons(s.network) for s in run.snapshots]


def _errors(evidence: Evidence) -> FloatArray | None:
    """|theta(T12 + t) - pi_b(theta~(t))|_M / |theta~(t)|_M, shape (scales, times), or None where a run is missing."""
    limit = _pair_rows(evidence, "limit")
    runs = (evidence, *evidence.sweep)
    if limit is None or len(runs) < 1 + len(STEPS) or any(len(e.run.snapshots) != len(limit) for e in runs):
        return None
    b = symmetric_flow(evidence).embedding
    targets = [embed(rows, b) for rows in limit]
    errors = []
    for each in runs:
        recorded = [symmetric_flow(each).ball.neurons(s.network) for s in each.run.snapshots]
        errors.append([m_norm(r - t) / m_norm(t) for r, t in zip(recorded, targets, strict=True)])
    return np.array(errors)


_MISSING = "the pair, or the sweep of scales, was not run"


@requires(_errors, _MISSING)
def _order_in_scale(evidence: Evidence, errors: FloatArray) -> Comparison:
    """Smallest order in sigma, over the recorded t, at which theta(T12 + t) tends to pi_b(theta~(t))."""
    require(
        float(np.min(errors)) >= INTEGRATION,
        "the difference is below the error of the integration; the order shows at larger scales only",
    )
    scales = [symmetric_flow(each).log_size for each in (evidence, *evidence.sweep)]
    slopes = [fitted_slope(scales, np.log(column)) for column in errors.T]
    worst = min(slopes)
    words = f"order {worst:.4f} to {max(slopes):.4f} in sigma, 1 or more expected; last error {errors[-1].max():.2g}"
    return at_least(worst, 1.0 - ORDER_ATOL, detail=words)


def _order_in_radius(evidence: Evidence) -> Comparison:
    """Smallest order in r, over the recorded t >= 0, at which phi(r theta-hat, T2(r) + t) tends to theta~(t)."""
    wide, narrow, limit = (_pair_rows(evidence, name) for name in ("wide", "narrow", "limit"))
    if wide is None or narrow is None or limit is None or not len(wide) == len(narrow) <= len(limit):
        return missing(_MISSING)
    slopes = []
    for one, two, end in zip(wide, narrow, limit[-len(wide) :], strict=True):
        ratio = np.log(m_norm(one - end)) - np.log(m_norm(two - end))
        slopes.append(float(ratio / (LOG_RADII["wide"] - LOG_RADII["narrow"])))
    return equals(min(slopes), 2.0, atol=0.15, detail=f"order {min(slopes):.4f} in r, 2 expected")


def _limit_is_not_zero(evidence: Evidence) -> Values:
    """|theta~(t)|_M / (e^(lambda_0 t) |theta-hat|_M) at the recorded t <= t0; Lemma E.8 keeps it near 1."""
    rows, flow = require(_pair_rows(evidence, "limit"), _MISSING), symmetric_flow(evidence)
    for t, row in zip(_early(evidence), rows, strict=False):
        yield m_norm(row) / (np.exp(flow.growth * t) * m_norm(flow.aligned_pair))


def _limit_is_exponential(evidence: Evidence) -> Values:
    """|theta~(t) - e^(lambda_0 t) theta-hat|_M over (8 |theta-hat|_M^3/lambda_0) e^(3 lambda_0 t)."""
    rows, flow = require(_pair_rows(evidence, "limit"), _MISSING), symmetric_flow(evidence)
    pair = flow.aligned_pair
    for t, row in zip(_early(evidence), rows, strict=True):
        bound = 8.0 * m_norm(pair) ** 3 / flow.growth * np.exp(3.0 * flow.growth * t)
        yield m_norm(row - np.exp(flow.growth * t) * pair) / (bound + INTEGRATION * m_norm(row))


def _log_scale(evidence: Evidence) -> float:
    """Factor that makes sqrt(m) sigma |theta-bar_0|_M small: 1e-3, and T12 + t >= 0 at every recorded t."""
    flow = symmetric_flow(evidence)
    return min(-7.0, flow.growth * joint_threshold(evidence) - 3.0) - flow.log_size


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
