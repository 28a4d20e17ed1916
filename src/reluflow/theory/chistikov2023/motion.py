"""Proposition 1: balanced neurons stay balanced, keep their sign and shrink at a bounded rate [chistikov2023]."""

from __future__ import annotations

import numpy as np

from reluflow.theory.comparison import Comparison, at_least, at_most
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.measures import Constants

BALANCED = 1e-10  # relative; seen: 1e-15


def shrinking_rate(evidence: Evidence) -> float:
    """2 sqrt(2 L(theta(0))) max |x_i|."""
    longest = float(np.max(evidence.facts.norms))
    return 2.0 * float(np.sqrt(2.0 * evidence.problem.initial_loss)) * longest


def _plan(evidence: Evidence) -> FlowPlan:
    rate = shrinking_rate(evidence)
    unit = 1.0 / rate if rate > 0.0 else 1.0
    return FlowPlan(times=tuple(unit * k for k in (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)))


def _balance(evidence: Evidence) -> Comparison:
    worst = -np.inf
    for snapshot in evidence.run.snapshots:
        a, norms = snapshot.network.a, np.linalg.norm(snapshot.network.w, axis=1)
        gap = np.abs(a - np.sign(evidence.network.a) * norms) / np.maximum(np.abs(a), norms)
        worst = max(worst, float(np.max(gap)))
    return at_most(worst, BALANCED, detail=f"largest relative |a_j - s_j |w_j|| is {worst:.2g}")


def _floor(evidence: Evidence) -> Comparison:
    """Least ln a_j^2(t) - ln a_j^2(0) + 2 t sqrt(2 L(0)) max |x_i|."""
    start, least = evidence.network, np.inf
    for snapshot in evidence.run.snapshots:
        logs = 2.0 * (np.log(np.abs(snapshot.network.a)) - np.log(np.abs(start.a)))
        logs += 2.0 * (snapshot.network.log_scale - start.log_scale)
        least = min(least, float(np.min(logs)) + shrinking_rate(evidence) * snapshot.time)
    return at_least(least, 0.0, allowance=1e-10, detail=f"ln a_j^2 is at least {least:.3g} above the bound")


def _prop1_constants(evidence: Evidence) -> Constants:
    return {"rate": shrinking_rate(evidence)}
