"""The runs of Figures 2 and 9: training and test loss over time, from several scales."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics import GradientDescent
from reluflow.dynamics.collocation.collocation_flow import CollocationFlow
from reluflow.dynamics.keep import Keep
from reluflow.dynamics.stopping import AtTime, Exhausted
from reluflow.dynamics.train import train
from reluflow.losses import SquareLoss
from reluflow.papers.chistikov2023.figures.draws import TIME_PER_ITERATION, Draw, draw, followed
from reluflow.papers.workbench import Workbench

NUM_TESTED = 64
COMPARED = 4_000  # iterations of the descent that is run beside the flow


@dataclass(frozen=True)
class Settings:
    """One draw, its scales 4^-k, and at how many times it is looked at."""

    centred: bool
    d: int
    width: int
    powers: tuple[int, ...]
    seed: int = 0
    num_times: int = 120


@dataclass(frozen=True, eq=False)
class LossPath:
    """One run: the authors' iterations, training and test loss."""

    iterations: FloatArray
    training: FloatArray
    test: FloatArray


@dataclass(frozen=True, eq=False)
class LossPaths:
    """The runs from all scales.

    Parameters
    ----------
    paths
        One for each scale, the largest scale first.
    late_rate
        The rate of decay per iteration that the theory gives for a bundle of rank one.
    descent_differences
        Largest difference of the losses of descent and flow over the first loss: at the authors' step, and at half.
    """

    paths: tuple[LossPath, ...]
    late_rate: float
    descent_differences: FloatArray


def test_set(trial: Draw, seed: int) -> tuple[FloatArray, FloatArray]:
    """64 standard Gaussian inputs and the teacher's labels."""
    X = np.random.default_rng([seed, NUM_TESTED]).standard_normal((NUM_TESTED, trial.dataset.d))
    return X, np.maximum(X @ trial.teacher, 0.0)


def compute(settings: Settings, workbench: Workbench) -> LossPaths:
    """Iterations, training and test losses per scale; the late rate of the theory; descent beside the first scale."""
    trial = draw(settings.seed, d=settings.d, width=settings.width, centred=settings.centred)
    inputs, labels = test_set(trial, settings.seed)
    loss = SquareLoss()
    paths = []
    for k, power in enumerate(settings.powers):
        workbench.progress(k / len(settings.powers), f"scale 4^-{power}")

        def one(power: int = power) -> LossPath:
            path = followed(trial, -power * float(np.log(4.0)), num_times=settings.num_times)
            return LossPath(
                iterations=np.array([moment.time for moment in path]) / TIME_PER_ITERATION,
                training=np.array([moment.loss for moment in path]),
                test=np.array([loss.total(moment.network.outputs(inputs), labels) for moment in path]),
            )

        paths.append(workbench.piece(f"scale-{power}", LossPath, one))
    covariance = trial.dataset.X.T @ trial.dataset.X / trial.dataset.n
    rates = np.linalg.eigvals((np.eye(trial.dataset.d) + np.outer(trial.teacher, trial.teacher)) @ covariance)
    return LossPaths(
        paths=tuple(paths),
        late_rate=2.0 * TIME_PER_ITERATION * float(np.min(rates.real)),
        descent_differences=_descent_beside(trial, settings),
    )


def _descent_beside(trial: Draw, settings: Settings) -> FloatArray:
    """Largest difference of the losses of descent and flow over the first loss: at the authors' step, and at half."""
    problem = trial.problem(-settings.powers[-1] * float(np.log(4.0)))
    counts = np.unique(np.geomspace(1.0, COMPARED, 2 * settings.num_times).astype(int))
    times = TIME_PER_ITERATION * counts
    flow = train(problem, CollocationFlow(), until=AtTime(float(times[-1])), keep=Keep(times=times)).snapshots
    found = []
    for finer in (1, 2):
        solver = GradientDescent(lr=TIME_PER_ITERATION / finer, iterations=finer * COMPARED)
        descent = train(problem, solver, until=Exhausted(), keep=Keep(iterations=finer * counts)).snapshots
        found.append(max(abs(one.loss - other.loss) for one, other in zip(flow, descent, strict=True)))
    return np.array(found) / problem.initial_loss
