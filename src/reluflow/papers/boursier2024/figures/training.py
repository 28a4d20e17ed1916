"""What the figures of Boursier & Flammarion (2024) share: the setting of App. B, snapshots, the film of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from reluflow.arrays import FloatArray, IntArray
from reluflow.data.dataset import Dataset
from reluflow.dynamics.descent.grouped_descent import GroupedGradientDescent
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.keep import Keep, Measure
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.solver import AbstractRun
from reluflow.dynamics.stopping import AtTime, Exhausted
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import Trajectory
from reluflow.errors import BackendError
from reluflow.losses import SquareLoss
from reluflow.network.network import Network
from reluflow.papers.workbench import Progress

# Appendix B. The authors' code and animations have the mean of (h - y)^2, without the 1/2 of Eq. (10), so that time is
# lr times the iteration for a loss with factor 2.
LR = 1e-3
SCALE = 1e-3
WIDTH = 200_000
ITERATIONS = 2_000_000  # Section 6; the animation of the second example goes on to 3,000,000
LOSS = SquareLoss(factor=2.0)

GRID = np.linspace(-1.0, 1.0, 101)
FILMED_NEURONS = 400  # of the animations; neurons are independent, so the first ones are a fair sample


@dataclass(frozen=True, eq=False)
class Scenes:
    """A run at some of its snapshots, as it is drawn.

    Parameters
    ----------
    places
        Which snapshots, counted from 0.
    w, a
        The neurons there, shapes (k, m, 2) and (k, m), in single precision.
    curves
        The function on `GRID` there, shape (k, g).
    """

    places: IntArray
    w: NDArray[np.float32]
    a: NDArray[np.float32]
    curves: FloatArray


@dataclass(frozen=True, eq=False)
class FlowBeside:
    """The exact flow at the times of a descent: its outputs, and its function at the descent's frames and panels."""

    outputs: FloatArray
    film_curves: FloatArray
    panel_curves: FloatArray


def least_squares(data: Dataset) -> FloatArray:
    """beta* with <beta*, x> closest to the labels, shape (d,)."""
    return np.asarray(np.linalg.lstsq(data.X, data.y, rcond=None)[0])


def rows_of(inputs: FloatArray) -> FloatArray:
    """Inputs with the constant coordinate 1 beside them, shape (k, 2)."""
    return np.column_stack([inputs, np.ones_like(inputs)])


def angle_of(vector: FloatArray) -> float:
    """Angle of a vector of the plane in degrees, in [0, 360)."""
    return float(np.degrees(np.arctan2(vector[1], vector[0])) % 360.0)


def descend_through(
    problem: TrainingProblem, lr: float, iterations: Sequence[int], look: Measure, say: Progress
) -> Trajectory:
    """Grouped gradient descent, looked at after each of the iterations."""
    last = iterations[-1]
    return train(
        problem,
        GroupedGradientDescent(lr=lr, iterations=last),
        until=Exhausted(),
        keep=Keep(iterations=iterations, measure=look),
        progress=lambda run: say(run.steps / last, f"descent, iteration {run.steps:,}"),
    )


def flow_through(
    problem: TrainingProblem, times: Sequence[float], rtol: float, look: Measure, say: Progress
) -> Trajectory:
    """The exact flow, looked at at each of the times.

    Where it is not unique a neuron goes to the positive side: any solution is one of the paper's.
    """
    run = train(
        problem,
        EventDrivenFlow(rtol=rtol, ridge="positive"),
        until=AtTime(times[-1]),
        keep=Keep(times=times, measure=look),
        progress=lambda run: say(run.time / times[-1], f"exact flow, time {run.time:.4g}"),
    )
    if run.time < times[-1]:
        raise BackendError(f"the flow ended at time {run.time:g}: {run.outcome}.")
    return run


def flow_beside(
    problem: TrainingProblem,
    times: FloatArray,
    film: Scenes,
    panels: Scenes,
    rtol: float,
    say: Progress,
) -> FlowBeside:
    """The flow from the same neurons at the times of a descent that was filmed."""
    frames, shown = film.places.tolist(), panels.places.tolist()
    outputs: list[FloatArray] = []
    curves: dict[int, FloatArray] = {}

    def look(run: AbstractRun) -> None:
        if len(outputs) in {*frames, *shown}:
            curves[len(outputs)] = run.network().outputs(rows_of(GRID))
        outputs.append(run.outputs())

    flow_through(problem, times.tolist(), rtol, look, say)
    return FlowBeside(
        np.array(outputs),
        np.array([curves[index] for index in frames]),
        np.array([curves[index] for index in shown]),
    )


def scenes_of(places: Sequence[int], networks: Sequence[Network]) -> Scenes:
    """The networks at these snapshots, as they are drawn."""
    plain = [network.materialized() for network in networks]
    return Scenes(
        np.array(places, dtype=np.int64),
        np.array([network.w for network in plain], dtype=np.float32),
        np.array([network.a for network in plain], dtype=np.float32),
        np.array([network.outputs(rows_of(GRID)) for network in plain]),
    )


@dataclass(eq=False)
class Film:
    """Frames of a run for the animation: a few neurons and the function on the grid."""

    places: list[int] = field(default_factory=list)
    few: list[Network] = field(default_factory=list)
    curves: list[FloatArray] = field(default_factory=list)

    def add(self, place: int, network: Network) -> None:
        """Keep one frame."""
        plain = network.materialized()
        self.places.append(place)
        self.few.append(Network(plain.w[:FILMED_NEURONS], plain.a[:FILMED_NEURONS]))
        self.curves.append(plain.outputs(rows_of(GRID)))

    def scenes(self) -> Scenes:
        """The frames as arrays."""
        return replace(scenes_of(self.places, self.few), curves=np.array(self.curves))


def frames_of(iterations: Sequence[int], most: int) -> list[int]:
    """Indices of at most `most` of the snapshots, from the first to the last, those before iteration 100 left out.

    >>> frames_of([0, 1, 100, 200, 300, 400], 3)
    [0, 3, 5]
    """
    chosen = [0, *(index for index, iteration in enumerate(iterations) if iteration >= 100)]
    places = np.unique(np.linspace(0, len(chosen) - 1, min(most, len(chosen))).round().astype(int))
    return [chosen[place] for place in places]
