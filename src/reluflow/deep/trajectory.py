"""DeepTrajectory: what training a deep network left behind, and why it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from reluflow.arrays import FloatArray, IntArray


class DeepOutcome(Enum):
    """Why a run ended: a short stable code and a sentence."""

    FINISHED = ("finished", "Every iteration asked for was taken.")
    DIVERGED = ("diverged", "The loss stopped being a finite number; the last finite network is kept; lower `lr`.")
    INTERRUPTED = ("interrupted", "The run was interrupted; what was done is kept.")

    def __init__(self, code: str, sentence: str) -> None:
        self.code = code
        self.sentence = sentence

    def __str__(self) -> str:
        return self.code


@dataclass(frozen=True, eq=False)
class DeepTrajectory:
    """One finished run of a deep network.

    Parameters
    ----------
    network
        The last network, with NumPy arrays.
    outcome
        Why the run ended.
    iteration
        Of the last network.
    iterations
        Where losses and records were taken, shape (k,); only what was reached.
    losses
        The objective on all samples there, shape (k,).
    records
        What the `measure` of a `Keep` gave there, by name, each of shape (k, ...).
    method
        Optimiser and settings, in words.
    device
        What it ran on, in words.
    """

    network: Any
    outcome: DeepOutcome
    iteration: int
    iterations: IntArray
    losses: FloatArray
    records: Mapping[str, FloatArray]
    method: str
    device: str


class DeepTrainingInterrupted(KeyboardInterrupt):
    """Ctrl-C ended `train_deep`; `trajectory` is the run up to then, with outcome `interrupted`."""

    def __init__(self, trajectory: DeepTrajectory) -> None:
        super().__init__(f"interrupted at iteration {trajectory.iteration}")
        self.trajectory = trajectory
