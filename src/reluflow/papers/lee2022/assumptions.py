"""Data assumptions of Lee, Sim & Ye (2022) [lee2022]."""

from __future__ import annotations

import numpy as np

from reluflow.theory.comparison import Comparison, fails, judgement, positive, undecided
from reluflow.theory.condition import Assumption
from reluflow.theory.facts import DatasetFacts


def gaussian_inputs(facts: DatasetFacts) -> Comparison:
    """Sec. 2: inputs are standard Gaussian, in the population limit."""
    X = facts.dataset.X
    away = (
        float(np.abs(X.T @ X / facts.dataset.n - np.eye(facts.dataset.d)).max()) if facts.dataset.d <= 5000 else np.nan
    )
    return undecided(
        "a statement about the law of the inputs; the second moments of the samples are off those of a standard "
        f"Gaussian by at most {away:.3g}, and their mean has norm {np.linalg.norm(X.mean(axis=0)):.3g}"
    )


def single_neuron_realizable(facts: DatasetFacts) -> Comparison:
    """Sec. 2: some w* has y_k = max(<w*, x_k>, 0) for all k.

    Positive labels fix <w*, x_k>; where they fix w* itself the rest is checked directly. The margin is minus the
    largest misfit.
    """
    X, y = facts.dataset.X, facts.dataset.y
    if np.any(y < 0):
        return fails(f"smallest label {y.min():.6g} is negative", float(y.min()))
    active = y > 0
    if not np.any(active):
        return judgement(True, 0.0, "all labels are 0: $w^* = 0$")
    w, *_ = np.linalg.lstsq(X[active], y[active], rcond=None)
    misfit = float(np.max(np.abs(X[active] @ w - y[active])))
    tolerance = 1e-9 * float(y.max())
    if misfit > tolerance:
        return fails(f"no $w$ fits the positive labels: largest misfit {misfit:.3g}", -misfit)
    if np.linalg.matrix_rank(X[active]) < facts.rank:
        return undecided("the positive labels do not determine $w^*$")
    excess = float(np.max(X[~active] @ w, initial=-np.inf))
    if excess > tolerance:
        return fails(f"the only $w$ that fits the positive labels exceeds 0 by {excess:.3g} on a zero label", -excess)
    return judgement(True, 0.0, f"$|w^*|$ = {np.linalg.norm(w):.6g}")


def active_covariance_is_definite(facts: DatasetFacts) -> Comparison:
    """Proposition B.2, corrected (erratum E7): mean of 1{<w*, x> > 0} x x^T is positive definite.

    For data realised by one neuron the active samples are those with a positive label.
    """
    realizable = single_neuron_realizable(facts)
    if realizable.holds is False:
        return fails("no single neuron realises the labels")
    active = facts.dataset.X[facts.dataset.y > 0]
    singular = np.linalg.svd(active, compute_uv=False) if len(active) >= facts.dataset.d else np.zeros(1)
    return positive(
        float(singular[-1] ** 2 / facts.dataset.n), f"{len(active)} active samples in dimension {facts.dataset.d}"
    )


GAUSSIAN = Assumption("lee-gaussian", "lee2022", "Sec. 2: standard Gaussian inputs, infinitely many", gaussian_inputs)
REALIZABLE = Assumption(
    "lee-realizable", "lee2022", "Sec. 2: the labels are those of one ReLU neuron", single_neuron_realizable
)
UNIQUE_MINIMUM = Assumption(
    "lee-unique-minimum",
    "lee2022",
    r"Prop. B.2 (E7): mean of $1\{\langle w^*, x\rangle > 0\} x x^\top$ is positive definite",
    active_covariance_is_definite,
)

ASSUMPTIONS = (GAUSSIAN, REALIZABLE, UNIQUE_MINIMUM)
