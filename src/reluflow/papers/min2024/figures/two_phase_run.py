"""Figures 12 and 13: stochastic descent on digits 0 and 1, and how fast directions and norms change at each epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from reluflow.arrays import BoolArray, FloatArray, IntArray
from reluflow.data.dataset import Dataset
from reluflow.dynamics import StochasticGradientDescent, TrainingProblem
from reluflow.network import Network
from reluflow.papers.min2024.figures.digits_run import images_of
from reluflow.papers.min2024.figures.section_4 import LOSS, LR, SCALE, WIDTH, descended, gaussian_problem
from reluflow.papers.min2024.theorems.two_phase_measures import direction_change, norm_change
from reluflow.papers.workbench import Workbench

BATCH = 2_000
NUM_IMAGES = 12_665  # zeros and ones of the training set: seven batches an epoch

# What counts as an epoch of the early phase: directions turn, norms stand still, the loss has not moved.
TURNING, STANDING, UNMOVED = 0.1, 0.01, 0.99


@dataclass(frozen=True)
class Settings:
    """How many images and epochs.

    Parameters
    ----------
    size, source
        The images; see `mnist_pair`. The batch is the same part of them as 2000 of 12,665.
    epochs
        How many, counted in epochs of the paper's step size.
    stride
        Steps of the paper that one step makes up; epochs are counted in the paper's.
    every
        Measure at every so many epochs (of the run); the full gradient costs as much as seven batches.
    trains_output_layer
        Both layers (Figure 12) or the first only, from output weights of +-1 (Figure 13).
    """

    size: int | None
    source: Literal["bundled", "full"]
    epochs: int
    stride: int
    trains_output_layer: bool
    every: int = 1
    seed: int = 0


@dataclass(frozen=True, eq=False)
class TwoPhases:
    """Loss and how fast norms and directions change, at the end of `epochs`; how many images, in batches of what size.

    `per_epoch` are the batches of an epoch.
    """

    epochs: IntArray
    losses: FloatArray
    norm_changes: FloatArray
    direction_changes: FloatArray
    batch: int
    per_epoch: int
    num_images: int


def compute(settings: Settings, workbench: Workbench) -> TwoPhases:
    """Train, and measure with the full gradient at the end of the epochs."""
    data = images_of((1, 0), settings.size, settings.source)
    batch = -(-data.n * BATCH // NUM_IMAGES)
    per_epoch = -(-data.n // batch)
    epochs = settings.epochs // settings.stride
    kept = np.unique(np.append(np.arange(0, epochs + 1, settings.every), epochs))
    solver = StochasticGradientDescent(
        settings.stride * LR,
        batch,
        epochs=epochs,
        seed=settings.seed,
        trains_output_layer=settings.trains_output_layer,
    )
    run = descended(_problem(settings, data), solver, per_epoch * kept, workbench.stretch(0.0, 0.8))
    workbench.progress(0.8, "changes of norms and directions")
    return TwoPhases(
        epochs=settings.stride * kept,
        losses=np.array([snapshot.loss for snapshot in run]),
        norm_changes=np.array([norm_change(s.network, data, LOSS) for s in run]),
        direction_changes=np.array([direction_change(s.network, data, LOSS) for s in run]),
        batch=batch,
        per_epoch=per_epoch,
        num_images=data.n,
    )


def _problem(settings: Settings, data: Dataset) -> TrainingProblem:
    """Figure 12 starts as all experiments do, Figure 13 from the same input weights and output weights of +-1."""
    problem = gaussian_problem(data, settings.seed)
    if settings.trains_output_layer:
        return problem
    signs = np.where(np.random.default_rng([settings.seed, 1]).integers(0, 2, size=WIDTH) == 1, 1.0, -1.0)
    return TrainingProblem(data, LOSS, Network(SCALE * problem.network.w, signs))


def is_early_phase(results: TwoPhases) -> BoolArray:
    """The measured epochs at which only directions change."""
    turning = results.direction_changes > TURNING * np.max(results.direction_changes)
    standing = np.abs(results.norm_changes) < STANDING * np.max(np.abs(results.norm_changes))
    return np.asarray(turning & standing & (results.losses > UNMOVED * results.losses[0]))


def longest_early_phase(results: TwoPhases) -> int:
    """Epochs from the first to the last measurement of the longest stretch of the early phase, both counted."""
    longest, first = 0, None
    for epoch, is_in in zip(results.epochs.tolist(), is_early_phase(results).tolist(), strict=True):
        first = (epoch if first is None else first) if is_in else None
        if first is not None:
            longest = max(longest, epoch - first + 1)
    return longest
