"""Two neurons embedded into m by pi_b: the flow commutes with it; Lemmas 5.3, E.1 and E.2 [lyu2021]."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.papers.lyu2021.paper import EXAMPLE, SETTING
from reluflow.papers.lyu2021.theorems.hypotheses import MEAN_LOSS
from reluflow.papers.lyu2021.theorems.parameters import SIZE, UNTIL
from reluflow.papers.lyu2021.theorems.symmetric_flow import GOOD_EMBEDDING, embed, network_of, symmetric_flow
from reluflow.papers.lyu2021.theorems.unit_ball import (
    DRAW_SEED,
    m_norm,
    neuron_rows,
    pull,
    unit_ball,
    velocity,
    velocity_at,
)
from reluflow.theory.comparison import Level, Undecided, Values, require
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import Companion, FlowPlan
from reluflow.theory.hypotheses import no_companion_met_a_ridge
from reluflow.theory.measures import AtMost
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem

COMMUTES = 1e-9  # relative difference of two runs of rtol 1e-10 that should be one; 2e-15 was seen


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


NO_RIDGE_FOR_EITHER = Hypothesis(
    "non-branching",
    "the pair and its embedding are non-branching: no ridge was met",
    partial(no_companion_met_a_ridge, count=2),
    needs_trajectory=True,
)

# Lemma 5.3 ------------------------------------------------------------------------------------------------------------


def _flow_commutes(evidence: Evidence) -> Values:
    """|pi_b(theta(t)) - theta_b(t)|_M / |theta_b(t)|_M over the snapshots of the two runs."""
    pair, embedded = (evidence.companions.get(name) for name in ("pair", "embedded"))
    if pair is None or embedded is None or len(pair.snapshots) != len(embedded.snapshots):
        raise Undecided("the pair and its embedding were not both run")
    for one, two in zip(pair.snapshots, embedded.snapshots, strict=True):
        factor = np.exp(one.network.log_scale - two.network.log_scale)
        here, there = neuron_rows(one.network), neuron_rows(two.network)
        yield m_norm(factor * embed(here, symmetric_flow(evidence).embedding) - there) / m_norm(there)


LEMMA_5_3 = Theorem(
    "lyu2021:lemma5.3",
    Reference("lyu2021", "Lemma 5.3"),
    r"Where the flow is unique it commutes with $\pi_b$.",
    hypotheses=(MEAN_LOSS, GOOD_EMBEDDING, NO_RIDGE_FOR_EITHER),
    conclusions=(Conclusion("commutes", "difference of the two runs", AtMost(_flow_commutes, COMMUTES), Level.EXACT),),
    parameters=(SIZE, UNTIL),
    plan=_pair_plan,
    setting=SETTING,
    example=EXAMPLE,
    departs="The pair is made of the first two neurons of the draw, with $a_1 > 0 > a_2$.",
)

# Lemma E.1 ------------------------------------------------------------------------------------------------------------


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


LEMMA_E_1 = Theorem(
    "lyu2021:lemmaE.1",
    Reference("lyu2021", "Lemma E.1"),
    r"$\pi_b$ of a trajectory of two neurons is a trajectory of $m$ neurons.",
    hypotheses=(MEAN_LOSS, GOOD_EMBEDDING, NO_RIDGE_FOR_EITHER),
    conclusions=(
        Conclusion(
            "velocity",
            r"$\pi_b$ of the velocity is the velocity at $\pi_b$",
            AtMost(_embedded_is_a_trajectory, COMMUTES),
            Level.EXACT,
        ),
    ),
    parameters=(SIZE, UNTIL),
    plan=_pair_plan,
    setting=SETTING,
    example=EXAMPLE,
    departs="As Lemma 5.3; judged on velocities along the pair's run.",
)

# Lemma E.2 ------------------------------------------------------------------------------------------------------------

ROUNDING = 1e-12  # relative; 1e-15 was seen
NUM_PAIRS = 30


@dataclass(frozen=True, eq=False)
class EmbeddedPairs:
    """Two-neuron networks with a_1 > 0 > a_2, rows (w, a), and pi_b of each."""

    pairs: tuple[FloatArray, ...]
    embedded: tuple[FloatArray, ...]


def _embedded_pairs(evidence: Evidence) -> EmbeddedPairs:
    pairs = _pairs(evidence)
    return EmbeddedPairs(tuple(pairs), tuple(embed(rows, symmetric_flow(evidence).embedding) for rows in pairs))


def _with_embedded(evidence: Evidence) -> Iterator[tuple[FloatArray, FloatArray]]:
    record = evidence.recorded(EmbeddedPairs)
    return zip(record.pairs, record.embedded, strict=True)


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
    X = unit_ball(evidence).X
    for rows, there in _with_embedded(evidence):
        one, two = (network_of(r, evidence.leak).outputs(X) for r in (rows, there))
        yield np.abs(one - two) / np.sum(rows**2)


def _same_norm(evidence: Evidence) -> Values:
    """||pi_b(theta)| - |theta|| / |theta|."""
    for rows, there in _with_embedded(evidence):
        yield abs(float(np.linalg.norm(there) / np.linalg.norm(rows)) - 1.0)


def _same_gradient(evidence: Evidence) -> Values:
    """|grad L(pi_b(theta)) - pi_b(grad L(theta))|_M over |grad L(theta)|_M, or itself where that is 0."""
    ball, b = unit_ball(evidence), symmetric_flow(evidence).embedding
    for rows, there in _with_embedded(evidence):
        networks = [network_of(r, evidence.leak) for r in (rows, there)]
        one, two = (pull(n, ball.X, evidence.loss.forces(n.outputs(ball.X), ball.y)) for n in networks)
        size = m_norm(one)
        yield m_norm(two - embed(one, b)) / (size if size > 0.0 else 1.0)


LEMMA_E_2 = Theorem(
    "lyu2021:lemmaE.2",
    Reference("lyu2021", "Lemma E.2"),
    r"$\pi_b$ keeps the function and the norm, and maps subgradients of $L$ to subgradients of $L$.",
    hypotheses=(MEAN_LOSS, GOOD_EMBEDDING),
    conclusions=(
        Conclusion(
            "function", r"$f$ of $\pi_b(\theta)$ is $f$ of $\theta$", AtMost(_same_function, ROUNDING), Level.EXACT
        ),
        Conclusion("norm", r"$|\pi_b(\theta)| = |\theta|$", AtMost(_same_norm, ROUNDING), Level.EXACT),
        Conclusion(
            "gradient",
            r"$\nabla L(\pi_b(\theta)) = \pi_b(\nabla L(\theta))$",
            AtMost(_same_gradient, ROUNDING),
            Level.EXACT,
        ),
    ),
    record=_embedded_pairs,
    setting=SETTING,
    example=EXAMPLE,
    departs="Tried at random pairs, where $L$ is differentiable.",
)
