"""Two neurons embedded into m by pi_b: gradients and flows commute with it, Lemmas 5.3, E.1, E.2 [lyu2021]."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.trajectory import Outcome
from reluflow.theory.condition import Judgement
from reluflow.theory.evidence import Companion, Evidence, FlowPlan
from reluflow.theory.lyu2021.symmetric_flow import embed, network_of, symmetric_flow
from reluflow.theory.lyu2021.unit_ball import DRAW_SEED, m_norm, neuron_rows, pull, unit_ball, velocity
from reluflow.theory.measurement import Measurement, at_most, missing, need
from reluflow.theory.stating import hypothesis

ROUNDING = 1e-12  # relative; 1e-15 was seen
COMMUTES = 1e-9  # relative difference of two runs of rtol 1e-10 that should be one; 2e-15 was seen
NUM_PAIRS = 30
Embedding = Callable[[FloatArray, FloatArray], FloatArray]


def _embedding(evidence: Evidence) -> Embedding:
    return evidence.witness("embedding", lambda: embed)


def _pairs(evidence: Evidence) -> list[FloatArray]:
    """Random two-neuron networks with a_1 > 0 > a_2, rows (w, a)."""
    rng, pairs = np.random.default_rng(DRAW_SEED), []
    for size in np.geomspace(1e-2, 3.0, NUM_PAIRS):
        rows = size * rng.standard_normal((2, evidence.dataset.d + 1))
        rows[:, -1] = np.abs(rows[:, -1]) * np.array([1.0, -1.0])
        pairs.append(rows)
    return pairs


def _same_function(evidence: Evidence) -> Measurement:
    """Largest |f of the embedded - f of the pair| / |theta|^2."""
    X, b, worst = unit_ball(evidence).X, symmetric_flow(evidence).embedding, -np.inf
    for rows in _pairs(evidence):
        outputs = [network_of(r, evidence.leak).outputs(X) for r in (rows, _embedding(evidence)(rows, b))]
        worst = max(worst, float(np.max(np.abs(outputs[0] - outputs[1])) / np.sum(rows**2)))
    return at_most(worst, ROUNDING)


def _same_norm(evidence: Evidence) -> Measurement:
    """Largest ||pi_b(theta)| - |theta|| / |theta|."""
    b = symmetric_flow(evidence).embedding
    gaps = [
        abs(float(np.linalg.norm(_embedding(evidence)(rows, b)) / np.linalg.norm(rows)) - 1.0)
        for rows in _pairs(evidence)
    ]
    return at_most(max(gaps), ROUNDING)


def _same_gradient(evidence: Evidence) -> Measurement:
    """Largest |grad L(pi_b(theta)) - pi_b(grad L(theta))|_M over |grad L(theta)|_M."""
    ball, b, worst = unit_ball(evidence), symmetric_flow(evidence).embedding, -np.inf
    for rows in _pairs(evidence):
        gradients = []
        for network in (network_of(rows, evidence.leak), network_of(_embedding(evidence)(rows, b), evidence.leak)):
            gradients.append(pull(network, ball.X, evidence.loss.forces(network.outputs(ball.X), ball.y)))
        gap = m_norm(gradients[1] - _embedding(evidence)(gradients[0], b))
        worst = max(worst, gap / m_norm(gradients[0]))
    return at_most(worst, ROUNDING)


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


def _flow_commutes(evidence: Evidence) -> Measurement:
    """Largest |pi_b(theta(t)) - theta_b(t)|_M / |theta_b(t)|_M over the snapshots of the two runs."""
    pair, embedded = (evidence.companions.get(name) for name in ("pair", "embedded"))
    if pair is None or embedded is None or len(pair.snapshots) != len(embedded.snapshots):
        return missing("the pair and its embedding were not both run")
    b, worst = symmetric_flow(evidence).embedding, 0.0
    for one, two in zip(pair.snapshots, embedded.snapshots, strict=True):
        factor = np.exp(one.network.log_scale - two.network.log_scale)
        there = neuron_rows(two.network)
        worst = max(worst, m_norm(factor * embed(neuron_rows(one.network), b) - there) / m_norm(there))
    return at_most(worst, COMMUTES)


def _embedded_is_a_trajectory(evidence: Evidence) -> Measurement:
    """Largest |v(pi_b(theta)) - pi_b(v(theta))|_M, v the velocity, relative to |theta|_M, along the pair's run."""
    run = need(evidence.companions.get("pair"), "the pair was not run")
    b, worst = symmetric_flow(evidence).embedding, -np.inf
    for s in run.snapshots:
        moved = velocity(s.network, s.outputs, evidence.dataset, evidence.loss)
        wide = network_of(embed(neuron_rows(s.network), b), evidence.leak, log_scale=s.network.log_scale)
        there = velocity(wide, wide.outputs(evidence.dataset.X), evidence.dataset, evidence.loss)
        # measured against |theta| times the total force: velocities themselves cancel where a neuron slides
        forces = evidence.loss.forces(s.outputs, evidence.dataset.y)
        largest = float(np.sum(np.abs(forces))) * symmetric_flow(evidence).ball.radius * m_norm(neuron_rows(wide))
        worst = max(worst, m_norm(embed(moved, b) - there) / largest)
    return at_most(worst, COMMUTES)
