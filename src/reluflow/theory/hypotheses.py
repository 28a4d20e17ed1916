"""Hypotheses that many results share: the loss, the leak, a data assumption, the run's end."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reluflow.dynamics.trajectory import Outcome
from reluflow.network.network import row_norms
from reluflow.theory.condition import Judgement, undecided
from reluflow.theory.diagnosis import ASSUMPTIONS
from reluflow.theory.evidence import Evidence
from reluflow.theory.stating import hypothesis
from reluflow.theory.theorem import Hypothesis


def data_assumption(key: str) -> Hypothesis:
    """One of the assumptions `reluflow diagnose` judges, as a hypothesis of the same name."""
    assumption = next(a for a in ASSUMPTIONS if a.key == key)
    return Hypothesis(key, assumption.statement, lambda evidence: assumption.judge(evidence.facts))


def loss_among(*names: str) -> Hypothesis:
    """The loss is one of those the result is stated for."""

    def judge(evidence: Evidence) -> Judgement:
        name = evidence.loss.name
        return Judgement(holds=name in names, margin=None, detail=f"the loss is {name}")

    return Hypothesis("loss", f"the loss is {' or '.join(names)}", judge, is_setting=True)


@hypothesis("relu", "the activation is ReLU, leak 0", is_setting=True)
def relu_activation(evidence: Evidence) -> Judgement:
    """Leak 0."""
    return Judgement(holds=evidence.leak == 0.0, margin=None, detail=f"leak {evidence.leak:g}")


@hypothesis("leaky", "the activation is leaky ReLU, leak in (0, 1)", is_setting=True)
def leaky_activation(evidence: Evidence) -> Judgement:
    """Leak in (0, 1)."""
    leak = evidence.leak
    return Judgement(holds=0.0 < leak < 1.0, margin=min(leak, 1.0 - leak), detail=f"leak {leak:g}")


def balanced_start(*, rtol: float = 1e-12) -> Hypothesis:
    """|a_j| = |w_j| for every neuron, up to rounding."""

    def judge(evidence: Evidence) -> Judgement:
        network = evidence.network
        a, w = np.abs(network.a), row_norms(network.w)
        largest = np.where((a > 0.0) | (w > 0.0), np.maximum(a, w), 1.0)
        gap = float(np.max(np.abs((a / largest) ** 2 - (w / largest) ** 2)))
        return Judgement(holds=gap <= rtol, margin=rtol - gap, detail=f"largest relative |a^2 - |w|^2| is {gap:.2g}")

    return Hypothesis("balanced", "every neuron starts with |a_j| = |w_j|", judge)


def dominated_start(*, rtol: float = 1e-12) -> Hypothesis:
    """|a_j| >= |w_j| for every neuron, up to rounding."""

    def judge(evidence: Evidence) -> Judgement:
        network = evidence.network
        ratio = np.abs(network.a) - row_norms(network.w)
        size = float(np.max(np.abs(network.a), initial=np.finfo(float).tiny))
        margin = float(np.min(ratio)) / size
        return Judgement(holds=margin >= -rtol, margin=margin, detail=f"smallest (|a| - |w|)/max|a| is {margin:.3g}")

    return Hypothesis("dominated", "every neuron starts with |a_j| >= |w_j|", judge)


@hypothesis("non-branching", "the flow is unique along the run", needs_trajectory=True)
def no_ridge_met(evidence: Evidence) -> Judgement:
    """The run met no point where the flow is not unique."""
    if evidence.trajectory is None:
        return undecided("no run was made")
    met = evidence.trajectory.outcome is Outcome.RIDGE
    return Judgement(holds=not met, margin=None, detail="a ridge was met" if met else "no ridge was met")


def width_at_least(smallest: int) -> Hypothesis:
    """The network has at least so many neurons."""

    def judge(evidence: Evidence) -> Judgement:
        m = evidence.network.num_neurons
        return Judgement(holds=m >= smallest, margin=float(m - smallest), detail=f"{m} neurons")

    return Hypothesis("width", f"at least {smallest} neurons", judge)


def regime(name: str, statement: str, judge: Callable[[Evidence], Judgement]) -> Hypothesis:
    """A hypothesis that only asks for a small enough scale or a late enough time."""
    return Hypothesis(name, statement, judge, is_regime=True)
