"""The one run of Figures 3 to 6: m = 25 neurons on an uncentred set of d = 16 samples from the scale 4^-7."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.papers.chistikov2023.figures.draws import (
    TIME_PER_ITERATION,
    angles,
    draw,
    followed,
    largest_angle,
    nuclear_norm,
    squared_norm,
)
from reluflow.papers.workbench import Workbench


@dataclass(frozen=True)
class Settings:
    """The draw and how closely it is looked at."""

    d: int = 16
    width: int = 25
    power: int = 7
    seed: int = 0
    num_times: int = 400


@dataclass(frozen=True, eq=False)
class BundleRun:
    """What Figures 3 to 6 show, at every moment of the run; V is the bundle, the sum of a_j w_j over J_+.

    Parameters
    ----------
    iterations, losses
        The authors' iterations, and the training loss.
    eigenvalues
        Of the covariance, the largest first, shape (d,).
    deviations
        nu_k* - nu_k in that order, shape (moments, d).
    lengths, distances
        |V| and |v* - V|.
    to_gamma, to_teacher
        Angles of V in degrees.
    largest
        Largest angle of two neurons of J_+, in degrees.
    nuclear, squared
        Nuclear norm of W, squared norm of all weights.
    """

    iterations: FloatArray
    losses: FloatArray
    eigenvalues: FloatArray
    deviations: FloatArray
    lengths: FloatArray
    distances: FloatArray
    to_gamma: FloatArray
    to_teacher: FloatArray
    largest: FloatArray
    nuclear: FloatArray
    squared: FloatArray


def compute(settings: Settings, workbench: Workbench) -> BundleRun:
    """Everything the four figures show, at times evenly spaced in their logarithm."""
    trial = draw(settings.seed, d=settings.d, width=settings.width, centred=False)
    workbench.progress(0.0, "one run, twice: to its end, and to look at it")
    path = followed(trial, -settings.power * float(np.log(4.0)), num_times=settings.num_times)
    X, group = trial.dataset.X, trial.group
    teacher = trial.teacher
    eigenvalues, basis = np.linalg.eigh(X.T @ X / len(X))
    basis = basis[:, ::-1] * np.sign(basis[:, ::-1].T @ teacher)  # columns by falling eigenvalue, nu* > 0
    networks = [moment.network for moment in path]
    bundles = np.array([np.exp(2.0 * net.log_scale) * (net.a[group] @ net.w[group]) for net in networks])
    gamma = X.T @ trial.dataset.y / len(X)
    return BundleRun(
        iterations=np.array([moment.time for moment in path]) / TIME_PER_ITERATION,
        losses=np.array([moment.loss for moment in path]),
        eigenvalues=eigenvalues[::-1].copy(),
        deviations=(teacher - bundles) @ basis,  # nu_k* - nu_k, (times, d)
        lengths=np.linalg.norm(bundles, axis=1),
        distances=np.linalg.norm(teacher - bundles, axis=1),
        to_gamma=_angles_to(bundles, gamma),
        to_teacher=_angles_to(bundles, teacher),
        largest=np.array([largest_angle(net.w[group]) for net in networks]),
        nuclear=np.array([nuclear_norm(net) for net in networks]),
        squared=np.array([squared_norm(net) for net in networks]),
    )


def _angles_to(rows: FloatArray, direction: FloatArray) -> FloatArray:
    """The angle of each row with a direction, in degrees."""
    return np.array([float(angles(np.stack([row, direction]))[0]) for row in rows])


def crossing_iterations(results: BundleRun) -> FloatArray:
    """When each coordinate of the bundle first passes the teacher's, between moments; infinite where it does not."""
    deviations, logs = results.deviations, np.log(results.iterations)
    passed = deviations < 0.0
    after = np.maximum(np.argmax(passed, axis=0), 1)
    every = np.arange(deviations.shape[1])
    left, right = deviations[after - 1, every], deviations[after, every]
    share = np.where(passed.any(axis=0), left / np.where(left > right, left - right, 1.0), 0.0)
    times = np.exp(logs[after - 1] + np.clip(share, 0.0, 1.0) * (logs[after] - logs[after - 1]))
    return np.where(passed.any(axis=0), times, np.inf)
