"""Directions of neurons in the early phase: by Eq. (4) in closed form, and by the exact flow at a finite scale.

The first takes the limit of vanishing initialisation, the second integrates both layers of the whole network; that they
agree is what the paper's Lemma 1 is about.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.data.dataset import Dataset
from reluflow.dynamics import AtTime, EventDrivenFlow, TrainingProblem
from reluflow.dynamics.train import train
from reluflow.errors import BackendError
from reluflow.geometry.alignment import AlignmentEvents, align_until
from reluflow.network import Network
from reluflow.papers.min2024.figures.section_4 import SUMMED


@dataclass(frozen=True, eq=False)
class Directions:
    """Unit directions at several times.

    Parameters
    ----------
    limit
        By Eq. (4), shape (number of times, m, d).
    flow
        By the exact flow at the finite scale, same shape.
    events
        What happened by Eq. (4) until the last time.
    """

    limit: FloatArray
    flow: FloatArray
    events: AlignmentEvents

    def largest_angle(self) -> float:
        """Largest angle in degrees between the two, over neurons and times."""
        gaps = np.linalg.norm(self.limit - self.flow, axis=-1)
        return float(np.degrees(2.0 * np.arcsin(min(1.0, 0.5 * float(np.max(gaps))))))


def directions_over_time(
    data: Dataset, w: FloatArray, signs: FloatArray, times: FloatArray, *, scale: float
) -> Directions:
    """Both ways for balanced neurons w with output weights signs * |w|, under the summed exponential loss."""
    a = signs * np.linalg.norm(w, axis=1)
    forces = SUMMED.label_forces(data.y)
    states = [align_until(data.X, forces, w, a, float(time)) for time in times]
    problem = TrainingProblem(data, SUMMED, Network(w, a, log_scale=float(np.log(scale))))
    run = train(problem, EventDrivenFlow(rtol=1e-10), times=times, until=AtTime(float(times[-1])))
    if len(run.snapshots) != len(times):
        raise BackendError(f"the flow ended at time {run.time:g}: {run.outcome}.")
    return Directions(
        np.array([_units(state.w) for state in states]),
        np.array([_units(snapshot.network.w) for snapshot in run.snapshots]),
        states[-1].events,
    )


def _units(rows: FloatArray) -> FloatArray:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))
