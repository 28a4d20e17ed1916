"""Proposition 1: balanced neurons stay balanced, keep their sign and shrink at a bounded rate [chistikov2023]."""

from __future__ import annotations

import numpy as np

from reluflow.papers.chistikov2023.paper import EXAMPLE, SETTING
from reluflow.papers.chistikov2023.theorems.hypotheses import STATED_FOR
from reluflow.theory.comparison import Level, Values
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.measures import AtLeast, AtMost, Quantities
from reluflow.theory.theorem import Conclusion, Reference, Theorem


def shrinking_rate(evidence: Evidence) -> float:
    """2 sqrt(2 L(theta(0))) max |x_i|."""
    longest = float(np.max(evidence.facts.norms))
    return 2.0 * float(np.sqrt(2.0 * evidence.problem.initial_loss)) * longest


def _plan(evidence: Evidence) -> FlowPlan:
    rate = shrinking_rate(evidence)
    unit = 1.0 / rate if rate > 0.0 else 1.0
    return FlowPlan(times=tuple(unit * k for k in (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)))


BALANCED_TO = 1e-10  # relative; seen: 1e-15


def _imbalances(evidence: Evidence) -> Values:
    """|a_j - s_j |w_j||, relative to the larger of the two."""
    for snapshot in evidence.run.snapshots:
        a, norms = snapshot.network.a, np.linalg.norm(snapshot.network.w, axis=1)
        yield np.abs(a - np.sign(evidence.network.a) * norms) / np.maximum(np.abs(a), norms)


def _above_floor(evidence: Evidence) -> Values:
    """ln a_j^2(t) - ln a_j^2(0) + 2 t sqrt(2 L(0)) max |x_i|."""
    start, rate = evidence.network, shrinking_rate(evidence)
    for snapshot in evidence.run.snapshots:
        logs = 2.0 * (np.log(np.abs(snapshot.network.a)) - np.log(np.abs(start.a)))
        yield logs + 2.0 * (snapshot.network.log_scale - start.log_scale) + rate * snapshot.time


PROP_1 = Theorem(
    "chistikov2023:prop1",
    Reference("chistikov2023", "Prop. 1(ii)"),
    r"A balanced start keeps $a_j = s_j |w_j|$, never 0, with "
    r"$a_j(t)^2 \ge a_j(0)^2\,\exp(-2 t \sqrt{2 L(0)}\,\max|x_i|)$.",
    hypotheses=STATED_FOR,
    conclusions=(
        Conclusion(
            "balance",
            "$a_j = s_j |w_j|$",
            AtMost(_imbalances, BALANCED_TO, words="largest relative $|a_j - s_j |w_j||$ is {measured:.2g}"),
            Level.EXACT,
        ),
        Conclusion(
            "floor",
            r"$a_j(t)^2 \ge a_j(0)^2\,\exp(-2 t \sqrt{2 L(0)}\,\max|x_i|)$",
            AtLeast(
                _above_floor, 0.0, allowance=1e-10, words=r"$\ln a_j^2$ is at least {measured:.3g} above the bound"
            ),
        ),
    ),
    constants=Quantities({"rate": shrinking_rate}),
    plan=_plan,
    setting=SETTING,
    example=EXAMPLE,
    holds_for_descent=True,
    departs="Part (i), the velocities, is how the flow is made; Prop. 9 and Cor. 10 judge them.",
)
