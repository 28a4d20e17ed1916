"""Hypotheses that several papers share: on the loss, the labels, the leak, the start and the run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from reluflow.dynamics.trajectory import Outcome
from reluflow.network.network import row_norms
from reluflow.theory.comparison import Comparison, judgement, require
from reluflow.theory.condition import Assumption
from reluflow.theory.evidence import Evidence
from reluflow.theory.measures import AtLeast, AtMost, Equals
from reluflow.theory.output_facts import judged
from reluflow.theory.theorem import Hypothesis


@dataclass(frozen=True)
class _OnFacts:
    """An assumption, asked about the data of the evidence."""

    assumption: Assumption

    def __call__(self, evidence: Evidence) -> Comparison:
        return judged(self.assumption, evidence.facts if evidence.problem.num_outputs == 1 else evidence.output_facts)


def assumed(assumption: Assumption) -> Hypothesis:
    """One of the assumptions `reluflow diagnose` judges, as a hypothesis of the same name."""
    return Hypothesis(assumption.key, assumption.statement, _OnFacts(assumption))


def loss_among(evidence: Evidence, *names: str) -> Comparison:
    """The loss is one of those the result is stated for."""
    return judgement(evidence.loss.name in names, None, f"the loss is {evidence.loss.name}")


def is_mean(evidence: Evidence, name: str) -> Comparison:
    """The loss is this one, averaged over the samples, on which times and constants depend."""
    loss = evidence.loss
    holds = loss.name == name and loss.reduction == "mean" and loss.factor == 1.0
    return judgement(holds, None, f"the loss is {loss.name}, {loss.reduction}, factor {loss.factor:g}")


def has_binary_labels(evidence: Evidence) -> Comparison:
    """Labels -1 and 1."""
    holds = evidence.dataset.is_binary
    return judgement(holds, None, "the labels are -1 and 1" if holds else "other labels occur")


def is_leaky(evidence: Evidence) -> Comparison:
    """Leak in (0, 1)."""
    leak = evidence.leak
    return judgement(0.0 < leak < 1.0, min(leak, 1.0 - leak), f"leak {leak:g}")


def imbalance(evidence: Evidence) -> float:
    """Largest |a_j^2 - |w_j|^2| of a neuron over the larger of the two; |v_j| stands for a_j of several outputs."""
    a, w = row_norms(evidence.network.v), row_norms(evidence.network.w)
    largest = np.where((a > 0.0) | (w > 0.0), np.maximum(a, w), 1.0)
    return float(np.max(np.abs((a / largest) ** 2 - (w / largest) ** 2)))


def is_dominated(evidence: Evidence) -> Comparison:
    """|a_j| >= |w_j| for every neuron, up to rounding."""
    a, w = row_norms(evidence.network.v), row_norms(evidence.network.w)
    margin = float(np.min(a - w)) / float(np.max(a, initial=np.finfo(float).tiny))
    return judgement(margin >= -1e-12, margin, rf"smallest $(|a| - |w|)/\max|a|$ is {margin:.3g}")


def no_ridge_met(evidence: Evidence) -> Comparison:
    """The run met no point where the flow is not unique."""
    met = evidence.run.outcome is Outcome.RIDGE
    return judgement(not met, None, "a ridge was met" if met else "no ridge was met")


def no_companion_met_a_ridge(evidence: Evidence, count: int) -> Comparison:
    """The same of the runs beside it, of which there must be so many."""
    require(len(evidence.companions) >= count, f"fewer than {count} runs beside the problem's own were made")
    met = [name for name, run in evidence.companions.items() if run.outcome is Outcome.RIDGE]
    return judgement(not met, None, f"a ridge was met by {', '.join(met)}" if met else "no ridge was met")


def leak(evidence: Evidence) -> float:
    """Negative slope of the activation."""
    return evidence.leak


def num_neurons(evidence: Evidence) -> int:
    """Number of neurons."""
    return evidence.network.num_neurons


def loss_hypothesis(*names: str) -> Hypothesis:
    """The loss is one of these."""
    return Hypothesis("loss", f"the loss is {' or '.join(names)}", partial(_loss_is_among, names), is_setting=True)


def _loss_is_among(names: tuple[str, ...], evidence: Evidence) -> Comparison:
    return loss_among(evidence, *names)


SQUARE_LOSS = loss_hypothesis("square")
LOGISTIC_LOSS = loss_hypothesis("logistic")
SOFTMAX_LOSS = loss_hypothesis("softmax")
FADING_LOSS = loss_hypothesis("logistic", "exponential")
RELU = Hypothesis("relu", "the activation is ReLU, leak 0", Equals(leak, 0.0, words="leak {number:g}"), is_setting=True)
LEAKY = Hypothesis("leaky", "the activation is leaky ReLU, leak in (0, 1)", is_leaky, is_setting=True)
BALANCED = Hypothesis(
    "balanced",
    "every neuron starts with $|a_j| = |w_j|$",
    AtMost(imbalance, 1e-12, words="largest relative $|a^2 - |w|^2|$ is {number:.2g}"),
)
DOMINATED = Hypothesis("dominated", r"every neuron starts with $|a_j| \ge |w_j|$", is_dominated)
NO_RIDGE = Hypothesis("non-branching", "the flow is unique along the run", no_ridge_met, needs_trajectory=True)
ONE_NEURON_OR_MORE = Hypothesis("width", "at least 1 neurons", AtLeast(num_neurons, 1, words="{number} neurons"))
TWO_NEURONS_OR_MORE = Hypothesis("width", "at least 2 neurons", AtLeast(num_neurons, 2, words="{number} neurons"))
