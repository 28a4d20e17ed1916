"""Assumptions A.1 and A.2 as cones: Lemmas G.1 and G.2 [lyu2021]."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.theory.condition import Judgement
from reluflow.theory.evidence import Evidence, drawn
from reluflow.theory.hypotheses import data_assumption, leaky_activation
from reluflow.theory.lyu2021.conditions import pairwise_condition
from reluflow.theory.lyu2021.early_constants import correct_cone
from reluflow.theory.measurement import Level, Measurement, at_least, at_most
from reluflow.theory.stating import conclusion, hypothesis, theorems_of
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


@conclusion("inequality", "the direction satisfies A.1")
def _a1_inequality(evidence: Evidence) -> Measurement:
    left, right = principal_tangents(evidence, _principal(evidence))
    return at_most(left, right)


@conclusion("angle", "all of K lies within arctan(left side) of it")
def _cone_angle(evidence: Evidence) -> Measurement:
    """Largest angle of an element of K with the principal direction, attained at a vertex."""
    cone, w = correct_cone(evidence), _principal(evidence)
    vertices = np.where(cone.extremes, 1.0, cone.leak) @ cone.rows
    along = vertices @ w
    across = np.linalg.norm(vertices - along[:, None] * w, axis=1)
    angle = float(np.max(np.arctan2(across, along)))
    return at_most(angle, float(np.arctan(principal_tangents(evidence, w)[0])), allowance=1e-12)


@conclusion("a2", "A.2 holds")
def _a2_slack(evidence: Evidence) -> Measurement:
    margin = pairwise_condition(evidence.facts).margin
    return at_least(-np.inf if margin is None else margin, 0.0)


_theorem = theorems_of("lyu2021", setting=SETTING, example="lyu-hinted")

LEMMA_G_1 = _theorem(
    "lemmaG.1",
    "A principal direction (A.1) implies A.2: K lies within the angle arctan(left side) of it, and the signs are "
    "constant within arctan(right side).",
    hypotheses=(binary_labels, leaky_activation, data_assumption("principal-direction")),
    conclusions=(_a1_inequality, _cone_angle, _a2_slack),
    constants=lambda e: dict(zip(("left", "right"), principal_tangents(e, _principal(e)), strict=True)),
    erratum="E15: A.1 is the stronger assumption; the half-angle is arctan(gamma/max|P x|), not arcsin(gamma/max|x|).",
)


def _boxes(evidence: Evidence) -> FloatArray:
    """Slopes beta, one row per vertex of the zonotope."""
    cone = correct_cone(evidence)
    return evidence.witness("slopes", lambda: np.where(cone.extremes, 1.0, cone.leak))


@conclusion("minimum", "the minimum over the vertices is the formula", Level.EXACT)
def _minimum_formula(evidence: Evidence) -> Measurement:
    """Largest |min over vertices - formula| over samples, relative to the largest |z_i|^2."""
    facts, z = evidence.facts, evidence.dataset.X * evidence.dataset.y[:, None]
    leak, n = evidence.leak, evidence.dataset.n
    over_vertices = (_boxes(evidence) @ z @ z.T / n).min(axis=0)
    formula = leak * (z @ facts.mean_signed_sample) - (1.0 - leak) / n * facts.pairs.negative_sums
    error = float(np.max(np.abs(over_vertices - formula))) / float(np.max(facts.norms) ** 2)
    return at_most(error, 1e-12, detail=f"relative difference {error:.2g}")


@conclusion("equivalence", "A.2's slack and delta have the same sign", Level.EXACT)
def _same_sign(evidence: Evidence) -> Measurement:
    """A.2's slack and delta of K have the same sign."""
    margin, delta = pairwise_condition(evidence.facts).margin, correct_cone(evidence).delta
    agrees = margin is not None and (margin > 0.0) == (delta > 0.0)
    slack = 0.0 if agrees else -1.0
    return Measurement(agrees, delta, 0.0, slack, f"A.2 slack {margin:.6g}, delta {delta:.6g} in the unit ball")


LEMMA_G_2 = _theorem(
    "lemmaG.2",
    "A.2 holds exactly when every element of K classifies every sample: the smallest <z_i, mean of beta_j z_j> "
    "over beta in [leak, 1]^n is leak <mu, z_i> - (1 - leak)/n sum_j max(-<z_i, z_j>, 0).",
    hypotheses=(binary_labels, leaky_activation),
    conclusions=(_minimum_formula, _same_sign),
    constants=lambda e: {"delta": correct_cone(e).delta, "factor": correct_cone(e).factor},
)
