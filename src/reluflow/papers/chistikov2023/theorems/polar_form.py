"""Proposition 9 and Corollary 10: the loss falls at the squared speed, and a neuron in polar form [chistikov2023]."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.trajectory import Snapshot
from reluflow.papers.chistikov2023.paper import EXAMPLE, SETTING
from reluflow.papers.chistikov2023.theorems.hypotheses import STATED_FOR
from reluflow.papers.chistikov2023.theorems.phase_one import LIGHTEST
from reluflow.theory.comparison import Level, Values
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.hypotheses import NO_RIDGE
from reluflow.theory.measures import AtMost
from reluflow.theory.theorem import Conclusion, Reference, Theorem

NUM_STRETCHES, NUM_NODES = 30, 10
QUADRATURE = 1e-7  # relative, of Gauss nodes on a stretch without a crossing; seen: 1e-10
RESOLVED = 1e-6  # of Legendre coefficients; the integral of ten nodes is right to about the square of that
INSIDE = 1e-9  # cosine of a neuron and a sample from which on the sample counts as inside; the dead rest on a boundary
NO_STRETCH = "every stretch between two recorded times holds a crossing or is not resolved"


def _horizon(evidence: Evidence) -> float:
    """Past the growth from the given scale, which takes ln(1/scale)/|gamma|."""
    gamma = evidence.dataset.y @ evidence.dataset.X / evidence.dataset.n
    speed = max(float(np.linalg.norm(gamma)), 1e-3 * float(np.max(evidence.facts.norms)))
    size = evidence.network.log_scale + float(np.log(np.max(np.linalg.norm(evidence.network.w, axis=1))))
    return (10.0 + max(-size, 0.0)) / speed


def _edges(evidence: Evidence) -> FloatArray:
    return np.linspace(0.0, _horizon(evidence), NUM_STRETCHES + 1)


def _plan(evidence: Evidence) -> FlowPlan:
    """Both ends and the Gauss nodes of every stretch."""
    nodes, edges = np.polynomial.legendre.leggauss(NUM_NODES)[0], _edges(evidence)
    inner = [0.5 * (low + high) + 0.5 * (high - low) * nodes for low, high in pairwise(edges)]
    return FlowPlan(times=tuple(np.sort(np.concatenate([edges, *inner])).tolist()))


@dataclass(frozen=True, eq=False)
class SmoothStretch:
    """The recorded states of a stretch of time without a crossing: its ends, its nodes, their weights."""

    first: Snapshot
    last: Snapshot
    nodes: tuple[Snapshot, ...]
    weights: FloatArray


def _stretches(evidence: Evidence) -> Iterator[SmoothStretch]:
    """Those between two edges that hold no event of the run, in which no neuron slides, and which the nodes resolve."""
    states = {s.time: k for k, s in enumerate(evidence.run.snapshots)}
    edges, weights = [t for t in _edges(evidence) if t in states], np.polynomial.legendre.leggauss(NUM_NODES)[1]
    for low, high in pairwise(edges):
        found = evidence.run.snapshots[states[low] : states[high] + 1]
        crossings = evidence.run.events.times
        if len(found) == NUM_NODES + 2 and not np.any((crossings >= low) & (crossings <= high)):
            stretch = SmoothStretch(found[0], found[-1], found[1:-1], 0.5 * (high - low) * weights)
            if not any(_slides(evidence, state) for state in found) and _resolves(evidence, stretch):
                yield stretch


def _slides(evidence: Evidence, state: Snapshot) -> bool:
    """Whether a neuron with a sample inside stands on the boundary of another."""
    w = state.network.w
    sizes = np.linalg.norm(w, axis=1)[:, None] * evidence.facts.norms
    cosines = (w @ evidence.dataset.X.T) / np.maximum(sizes, np.finfo(float).tiny)
    return bool(np.any(np.any(cosines > INSIDE, axis=1) & np.any(np.abs(cosines) <= INSIDE, axis=1)))


def _resolves(evidence: Evidence, stretch: SmoothStretch) -> bool:
    """Whether the nodes resolve the pulls and outputs: the last of their Legendre coefficients are negligible."""
    nodes = np.polynomial.legendre.leggauss(NUM_NODES)[0]
    values = [
        np.append(np.ravel(pulls(evidence, s)), np.log(max(squared_speed(evidence, s), 1e-300))) for s in stretch.nodes
    ]
    units = [np.ravel(_units(s)) for s in stretch.nodes]
    fitted = np.polynomial.legendre.legfit(nodes, np.hstack([values, units]), NUM_NODES - 1)
    return bool(np.max(np.abs(fitted[-2:])) <= RESOLVED * np.max(np.abs(fitted)))


def pulls(evidence: Evidence, state: Snapshot) -> FloatArray:
    """g_j of every neuron, from the samples inside its half-space, shape (num_neurons, d)."""
    X, w = evidence.dataset.X, state.network.w
    sizes = np.linalg.norm(w, axis=1)[:, None] * evidence.facts.norms
    inside = w @ X.T > INSIDE * sizes
    forces = evidence.problem.loss.sample_weight(evidence.dataset.n) * (evidence.dataset.y - state.outputs)
    return np.asarray((inside * forces) @ X)


def squared_speed(evidence: Evidence, state: Snapshot) -> float:
    """|dtheta/dt|^2 = sum a_j^2 |g_j|^2 + <w_j, g_j>^2."""
    network, g = state.network.materialized(), pulls(evidence, state)
    each = network.a**2 * np.sum(g * g, axis=1) + np.sum(network.w * g, axis=1) ** 2
    return float(network.weight @ each)


def _falls(evidence: Evidence) -> Values:
    """|L(t) - L(t') - integral of |dtheta/dt|^2| over a stretch, relative to the fall, which must be above rounding."""
    for stretch in _stretches(evidence):
        fall = stretch.first.loss - stretch.last.loss
        integral = float(stretch.weights @ [squared_speed(evidence, state) for state in stretch.nodes])
        if max(fall, integral) > 1e-6 * evidence.problem.initial_loss:
            yield abs(fall - integral) / max(abs(fall), integral)


PROP_9 = Theorem(
    "chistikov2023:prop9",
    Reference("chistikov2023", "Prop. 9"),
    r"Along the flow $dL/dt = -|d\theta/dt|^2$ for almost all times.",
    hypotheses=(*STATED_FOR, NO_RIDGE),
    conclusions=(
        Conclusion(
            "fall",
            r"the loss falls by $\int |d\theta/dt|^2$",
            AtMost(
                _falls,
                QUADRATURE,
                words="on {count} stretches without a crossing they agree to {measured:.2g}, relative",
                without=f"{NO_STRETCH}, or the loss does not fall there",
            ),
            Level.EXACT,
        ),
    ),
    plan=_plan,
    setting=SETTING,
    example=EXAMPLE,
    departs="The integral is by Gauss nodes, on the stretches between recorded times without a crossing or a slide "
    "that they resolve.",
)


def _shown(evidence: Evidence, stretch: SmoothStretch) -> FloatArray:
    """Neurons whose record keeps its digits on a stretch."""
    with np.errstate(divide="ignore"):
        logs = [np.log(np.linalg.norm(s.network.w, axis=1)) for s in (stretch.first, *stretch.nodes, stretch.last)]
    return np.asarray(np.min(logs, axis=0) > LIGHTEST)


def _log_norms(state: Snapshot) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(state.network.log_scale + np.log(np.linalg.norm(state.network.w, axis=1)))


def _units(state: Snapshot) -> FloatArray:
    lengths = np.linalg.norm(state.network.w, axis=1)[:, None]
    return np.asarray(state.network.w / np.where(lengths > 0.0, lengths, 1.0))


def _growths(evidence: Evidence) -> Values:
    """Change of ln |w_j| over a stretch less the integral of s_j <unit w_j, g_j>."""
    signs = np.sign(evidence.network.a)
    for stretch in _stretches(evidence):
        kept = _shown(evidence, stretch)
        rates = [signs * np.sum(_units(s) * pulls(evidence, s), axis=1) for s in stretch.nodes]
        change = _log_norms(stretch.last)[kept] - _log_norms(stretch.first)[kept]
        yield np.abs(change - (stretch.weights @ rates)[kept])


def _turns(evidence: Evidence) -> Values:
    """Change of unit w_j over a stretch less the integral of s_j (g_j - unit w_j <unit w_j, g_j>)."""
    signs = np.sign(evidence.network.a)
    for stretch in _stretches(evidence):
        kept, total = _shown(evidence, stretch), _units(stretch.first) - _units(stretch.last)
        for weight, state in zip(stretch.weights, stretch.nodes, strict=True):
            unit, g = _units(state), pulls(evidence, state)
            total = total + weight * signs[:, None] * (g - unit * np.sum(unit * g, axis=1)[:, None])
        yield np.linalg.norm(total, axis=1)[kept]


COR_10 = Theorem(
    "chistikov2023:cor10",
    Reference("chistikov2023", "Cor. 10"),
    r"In polar form $d\ln|w_j|/dt = s_j \langle\bar w_j, g_j\rangle$ and $d\bar w_j/dt = s_j (g_j - \bar w_j "
    r"\langle\bar w_j, g_j\rangle)$.",
    hypotheses=(*STATED_FOR, NO_RIDGE),
    conclusions=(
        Conclusion(
            "norm",
            r"$\ln|w_j|$ changes by $\int s_j \langle\bar w_j, g_j\rangle$",
            AtMost(_growths, QUADRATURE, words="largest difference {measured:.2g}", without=NO_STRETCH),
            Level.EXACT,
        ),
        Conclusion(
            "direction",
            r"$\bar w_j$ changes by $\int s_j (g_j - \bar w_j \langle\bar w_j, g_j\rangle)$",
            AtMost(_turns, QUADRATURE, words="largest difference {measured:.2g}", without=NO_STRETCH),
            Level.EXACT,
        ),
    ),
    plan=_plan,
    setting=SETTING,
    example=EXAMPLE,
    departs="Integrated over the stretches between recorded times in which no neuron meets a sample.",
)
