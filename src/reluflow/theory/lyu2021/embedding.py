"""Two neurons embedded into m by pi_b: gradients and flows commute with it, Lemmas 5.3, E.1, E.2 [lyu2021]."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.trajectory import Outcome
from reluflow.theory.condition import Judgement
from reluflow.theory.evidence import Companion, Evidence, FlowPlan
from reluflow.theory.lyu2021.symmetric_flow import embed, network_of, symmetric_flow
from reluflow.theory.lyu2021.unit_ball import DRAW_SEED, m_norm, neuron_rows, pull, unit_ball, velocity, velocity_at
from reluflow.theory.measurement import Undecided, Values, need
from reluflow.theory.stating import hypothesis

ROUNDING = 1e-12  # relative; 1e-15 was seen
COMMUTES = 1e-9  # relative difference of two runs of rtol 1e-10 that should be one; 2e-15 was seen
NUM_PAIRS = 30


def _embedding(evidence: Evidence) -> Callable[[FloatArray, FloatArray], FloatArray]:
    return evidence.witness("embedding", lambda: embed)


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


@hypothesis("non-branching", "the pair and its embedding are non-branching: no ridge was met", needs_trajectory=True)
def _no_ridge_for_either(evidence: Evidence) -> Judgement:
    need(evidence.companions, "the pair was not run")
    met = [name for name, run in evidence.companions.items() if run.outcome is Outcome.RIDGE]
    return Judgement(not met, None, f"a ridge was met by {', '.join(met)}" if met else "no ridge was met")


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
    run, flow = need(evidence.companions.get("pair"), "the pair was not run"), symmetric_flow(evidence)
    for s in run.snapshots:
        wide = network_of(embed(neuron_rows(s.network), flow.embedding), evidence.leak, log_scale=s.network.log_scale)
        there = velocity(wide, wide.outputs(evidence.dataset.X), evidence.dataset, evidence.loss)
        # measured against |theta| times the total force: velocities themselves cancel where a neuron slides
        force = float(np.sum(np.abs(evidence.loss.forces(s.outputs, evidence.dataset.y))))
        gap = m_norm(embed(velocity_at(evidence, s), flow.embedding) - there)
        yield gap / (force * flow.ball.radius * m_norm(neuron_rows(wide)))
