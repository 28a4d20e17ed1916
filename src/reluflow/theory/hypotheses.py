"""What the hypotheses that several papers share ask: of the loss, the labels, the leak, the start and the run."""

from __future__ import annotations

import numpy as np

from reluflow.dynamics.trajectory import Outcome
from reluflow.network.network import row_norms
from reluflow.theory.condition import Judgement
from reluflow.theory.diagnosis import ASSUMPTIONS
from reluflow.theory.evidence import Evidence
from reluflow.theory.measurement import need
from reluflow.theory.theorem import Hypothesis


def data_assumption(key: str) -> Hypothesis:
    """One of the assumptions `reluflow diagnose` judges, as a hypothesis of the same name."""
    assumption = {a.key: a for a in ASSUMPTIONS}[key]
    return Hypothesis(key, assumption.statement, lambda evidence: assumption.judge(evidence.facts))


def loss_among(evidence: Evidence, *names: str) -> Judgement:
    """The loss is one of those the result is stated for."""
    return Judgement(evidence.loss.name in names, None, f"the loss is {evidence.loss.name}")


def is_mean(evidence: Evidence, name: str) -> Judgement:
    """The loss is this one, averaged over the samples, on which times and constants depend."""
    loss = evidence.loss
    holds = loss.name == name and loss.reduction == "mean" and loss.factor == 1.0
    return Judgement(holds, None, f"the loss is {loss.name}, {loss.reduction}, factor {loss.factor:g}")


def has_binary_labels(evidence: Evidence) -> Judgement:
    """Labels -1 and 1."""
    holds = evidence.dataset.is_binary
    return Judgement(holds, None, "the labels are -1 and 1" if holds else "other labels occur")


def is_leaky(evidence: Evidence) -> Judgement:
    """Leak in (0, 1)."""
    leak = evidence.leak
    return Judgement(0.0 < leak < 1.0, min(leak, 1.0 - leak), f"leak {leak:g}")


def imbalance(evidence: Evidence) -> float:
    """Largest |a_j^2 - |w_j|^2| of a neuron over the larger of the two."""
    a, w = np.abs(evidence.network.a), row_norms(evidence.network.w)
    largest = np.where((a > 0.0) | (w > 0.0), np.maximum(a, w), 1.0)
    return float(np.max(np.abs((a / largest) ** 2 - (w / largest) ** 2)))


def is_dominated(evidence: Evidence) -> Judgement:
    """|a_j| >= |w_j| for every neuron, up to rounding."""
    a, w = np.abs(evidence.network.a), row_norms(evidence.network.w)
    margin = float(np.min(a - w)) / float(np.max(a, initial=np.finfo(float).tiny))
    return Judgement(margin >= -1e-12, margin, f"smallest (|a| - |w|)/max|a| is {margin:.3g}")


def no_ridge_met(evidence: Evidence) -> Judgement:
    """The run met no point where the flow is not unique."""
    met = evidence.run.outcome is Outcome.RIDGE
    return Judgement(not met, None, "a ridge was met" if met else "no ridge was met")


def no_companion_met_a_ridge(evidence: Evidence, count: int) -> Judgement:
    """The same of the runs beside it, of which there must be so many."""
    need(len(evidence.companions) >= count, f"fewer than {count} runs beside the problem's own were made")
    met = [name for name, run in evidence.companions.items() if run.outcome is Outcome.RIDGE]
    return Judgement(not met, None, f"a ridge was met by {', '.join(met)}" if met else "no ridge was met")
