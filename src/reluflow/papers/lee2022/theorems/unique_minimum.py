"""When the teacher is the only perfect fit: Proposition B.2, corrected [lee2022]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.papers.lee2022.assumptions import REALIZABLE, UNIQUE_MINIMUM
from reluflow.papers.lee2022.paper import SETTING
from reluflow.papers.lee2022.single_neuron.gaussian_moments import active_curvature
from reluflow.papers.lee2022.teacher_and_student import teacher
from reluflow.theory.comparison import Comparison, Level, at_least
from reluflow.theory.evidence import Evidence
from reluflow.theory.hypotheses import assumed
from reluflow.theory.measures import AtMost, Constants
from reluflow.theory.theorem import Conclusion, Reference, Theorem


@dataclass(frozen=True, eq=False)
class FitsAndProbes:
    """Where the loss vanishes, and points drawn around the teacher.

    Parameters
    ----------
    fits
        Extreme points of the set of perfect fits, shape (k, d).
    probes
        Points at several distances from the teacher, shape (num_probes, d).
    """

    fits: FloatArray
    probes: FloatArray


def perfect_fits(evidence: Evidence) -> FloatArray:
    """Extreme points of the set {w : L(w) = 0}, shape (k, d): one row where it is a point.

    Positive labels fix w up to the null space of their samples; zero labels bound it there, by linear programs.
    """
    from scipy.optimize import linprog

    X, y = evidence.dataset.X, evidence.dataset.y
    target = teacher(evidence).product * teacher(evidence).w
    _, lengths, rows = np.linalg.svd(X[y > 0], full_matrices=True)
    rank = int(np.sum(lengths > 1e-10 * lengths[0]))
    free = rows[rank:]  # (d - rank, d)
    if len(free) == 0:
        return target[None]
    box = 10.0 * float(np.linalg.norm(target))
    others = X[y == 0]
    found = []
    for k in range(len(free)):
        for sign in (1.0, -1.0):
            objective = sign * np.eye(len(free))[k]
            fit = linprog(objective, A_ub=others @ free.T, b_ub=-others @ target, bounds=(-box, box))
            found.append(target + fit.x @ free if fit.status == 0 else target)
    return np.array(found)


def _fits_and_probes(evidence: Evidence) -> FitsAndProbes:
    """The probes lie at nine distances in random directions and in the flattest one."""
    X, y = evidence.dataset.X, evidence.dataset.y
    target = teacher(evidence).product * teacher(evidence).w
    active = X[y > 0]
    flattest = np.linalg.eigh(active.T @ active)[1][:, 0]
    drawn = np.random.default_rng(0).standard_normal((20, evidence.dataset.d))
    directions = np.vstack([flattest, -flattest, drawn / np.linalg.norm(drawn, axis=1)[:, None]])
    distances = np.geomspace(1e-3, 10.0, 9) * float(np.linalg.norm(target))
    return FitsAndProbes(perfect_fits(evidence), np.vstack([target + distance * directions for distance in distances]))


def _only_fit(evidence: Evidence) -> float:
    fits = evidence.recorded(FitsAndProbes).fits
    target = teacher(evidence).product * teacher(evidence).w
    return float(np.max(np.linalg.norm(fits - target, axis=1))) / float(np.linalg.norm(target))


_ROUNDING = 1e-24  # of a loss over L(0), the square of that of outputs; the nearest probes have 1e-6 times a curvature


def _growth(evidence: Evidence) -> Comparison:
    """Smallest L(w)/L(0) over probes at many distances, the flattest direction among them."""
    probes = evidence.recorded(FitsAndProbes).probes
    X, y = evidence.dataset.X, evidence.dataset.y
    losses = 0.5 * np.mean((np.maximum(X @ probes.T, 0.0) - y[:, None]) ** 2, axis=0)
    away = probes - teacher(evidence).product * teacher(evidence).w
    least = float(np.min(losses / np.sum(away**2, axis=1)))
    words = f"$L(w)$ is at least {least:.3g} $|w - w^*|^2$ on {len(probes)} probes"
    return at_least(float(np.min(losses)) / (0.5 * float(np.mean(y**2))), _ROUNDING, detail=words)


def _curvatures(evidence: Evidence) -> Constants:
    X = evidence.dataset.X
    return {
        "active_curvature": active_curvature(evidence.dataset, teacher(evidence).w),
        "covariance_smallest_eigenvalue": float(np.linalg.eigvalsh(X.T @ X / len(X))[0]),
        "mean_norm": float(np.linalg.norm(X.mean(axis=0))),
    }


PROP_B_2 = Theorem(
    "lee2022:propB.2",
    Reference("lee2022", "Prop. B.2"),
    r"If $E[1\{\langle w^*, x\rangle > 0\} x x^\top]$ is positive definite, $w^*$ is the only $w$ with zero loss.",
    hypotheses=(assumed(REALIZABLE), assumed(UNIQUE_MINIMUM)),
    conclusions=(
        Conclusion(
            "unique",
            "no other $w$ fits every sample",
            AtMost(_only_fit, 1e-06, words="the farthest perfect fit is {measured:.2g} $|w^*|$ from $w^*$"),
            Level.EXACT,
        ),
        Conclusion("growth", "the loss is positive away from $w^*$", _growth, Level.EXACT),
    ),
    constants=_curvatures,
    record=_fits_and_probes,
    setting=SETTING,
    example="lee-single-neuron:n=60,d=4,layers=0,std=0.5",
    erratum="E7: the paper asks for zero mean and full-rank covariance; three points refute that (`lee-flat-minimum`).",
)
