"""Assumptions A.1 and A.2 as cones: Lemmas G.1 and G.2 [lyu2021]."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.theory.condition import Judgement
from reluflow.theory.evidence import Evidence, drawn
from reluflow.theory.lyu2021.conditions import pairwise_condition
from reluflow.theory.lyu2021.early_constants import correct_cone
from reluflow.theory.measurement import Measurement
from reluflow.theory.stating import hypothesis
from reluflow.theory.theorem import Hypothesis, Setting

SETTING = Setting(loss="logistic", leak=None, init="lyu-balanced", width=6, scale="1e-3")


@hypothesis("binary", "the labels are -1 and 1")
def binary_labels(evidence: Evidence) -> Judgement:
    """Labels -1 and 1."""
    holds = evidence.dataset.is_binary
    return Judgement(holds, None, "the labels are -1 and 1" if holds else "other labels occur")


def mean_logistic() -> Hypothesis:
    """The mean logistic loss, on which the times of the appendix depend."""

    def judge(evidence: Evidence) -> Judgement:
        loss = evidence.loss
        holds = loss.name == "logistic" and loss.reduction == "mean" and loss.factor == 1.0
        return Judgement(holds, None, f"{loss.factor:g} times the {loss.reduction} of the {loss.name} loss")

    return Hypothesis("mean-logistic", "the loss is the mean logistic loss", judge)


@drawn("direction")
def _principal(evidence: Evidence) -> FloatArray:
    """The unit w with the best margin in Assumption A.1 among the separator and the means."""
    facts = evidence.facts
    candidates = [facts.mean_signed_sample, facts.leaky_mean(1), facts.leaky_mean(-1)]
    if facts.separator is not None and facts.separator.separable:
        candidates.append(facts.separator.w)
    units = [w / np.linalg.norm(w) for w in candidates if np.linalg.norm(w) > 0.0]
    return max(units, key=lambda w: float(np.subtract(*principal_tangents(evidence, w)[::-1])))


def principal_tangents(evidence: Evidence, w: FloatArray) -> tuple[float, float]:
    """Both sides of Assumption A.1: tangents of the angle within which K lies and within which the signs are fixed."""
    X, y = evidence.dataset.X, evidence.dataset.y
    along = X @ w
    across = np.linalg.norm(X - along[:, None] * w, axis=1)
    drift = float(evidence.facts.mean_signed_sample @ w)
    left = float(across.mean()) / (evidence.leak * drift) if drift > 0.0 else np.inf
    largest = float(across.max())
    return left, float(np.min(y * along)) / largest if largest > 0.0 else np.inf


def _tangents(evidence: Evidence) -> tuple[float, float]:
    """Both sides of A.1 at the principal direction."""
    return principal_tangents(evidence, _principal(evidence))


def _cone_angle(evidence: Evidence) -> FloatArray:
    """Angles of the vertices of K with the principal direction, among them the largest of any element."""
    cone, w = correct_cone(evidence), _principal(evidence)
    vertices = np.where(cone.extremes, 1.0, cone.leak) @ cone.rows
    along = vertices @ w
    return np.asarray(np.arctan2(np.linalg.norm(vertices - along[:, None] * w, axis=1), along))


def _angle_allowed(evidence: Evidence) -> float:
    return float(np.arctan(_tangents(evidence)[0]))


def _a2_slack(evidence: Evidence) -> float:
    margin = pairwise_condition(evidence.facts).margin
    return -np.inf if margin is None else margin


@drawn("slopes")
def _boxes(evidence: Evidence) -> FloatArray:
    """Slopes beta, one row per vertex of the zonotope."""
    cone = correct_cone(evidence)
    return np.where(cone.extremes, 1.0, cone.leak)


def _minimum_formula(evidence: Evidence) -> FloatArray:
    """|min over vertices - formula| of each sample, relative to the largest |z_i|^2."""
    facts, z = evidence.facts, evidence.dataset.X * evidence.dataset.y[:, None]
    leak, n = evidence.leak, evidence.dataset.n
    over_vertices = (_boxes(evidence) @ z @ z.T / n).min(axis=0)
    formula = leak * (z @ facts.mean_signed_sample) - (1.0 - leak) / n * facts.pairs.negative_sums
    return np.asarray(np.abs(over_vertices - formula) / float(np.max(facts.norms) ** 2))


def _same_sign(evidence: Evidence) -> Measurement:
    """A.2's slack and delta of K have the same sign."""
    margin, delta = pairwise_condition(evidence.facts).margin, correct_cone(evidence).delta
    agrees = margin is not None and (margin > 0.0) == (delta > 0.0)
    slack = 0.0 if agrees else -1.0
    return Measurement(agrees, delta, 0.0, slack, f"A.2 slack {margin:.6g}, delta {delta:.6g} in the unit ball")
