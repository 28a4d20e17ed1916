"""A neuron that meets the hyperplane of a sample: what Figures 18 and 19 draw, by the exact flow and by Euler's method.

The samples are x_1 = (1, 0), negative, and x_2, positive, in the plane. Without Assumption 1, <x_1, x_2> > 0, both
sides of the hyperplane of x_1 push a positive neuron towards it; with it, both push it the same way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray, IntArray
from reluflow.data.dataset import Dataset
from reluflow.dynamics import AtTime, EventDrivenFlow, TrainingProblem
from reluflow.dynamics.event import EventKind
from reluflow.dynamics.train import train
from reluflow.network import Network
from reluflow.papers.min2024.figures.section_4 import SUMMED, smallest_correlation
from reluflow.papers.workbench import Workbench


@dataclass(frozen=True)
class Settings:
    """The second sample, where the neuron starts, for how long it is followed, and the steps of Euler's method."""

    second: tuple[float, float]
    start: tuple[float, float] = (0.4, 0.6)
    horizon: float = 1.6
    num_times: int = 321
    steps: tuple[float, ...] = (0.02, 0.01, 0.005, 0.0025, 0.00125)


@dataclass(frozen=True, eq=False)
class MeetingHyperplane:
    """A neuron's state (w_1, w_2, a) over time, and what happens where it meets the hyperplane.

    Parameters
    ----------
    times, path
        Of the exact flow, shape (times, 3).
    met
        When it meets the hyperplane; inf if never.
    num_slides, num_crossings
        How often the exact flow begins to slide, and how often it crosses.
    on_plane
        Largest |w_1| after the meeting.
    speed_inactive, speed_active
        dw_1/dt just off the hyperplane, where x_1 does not activate the neuron and where it does.
    slide
        Velocity on the hyperplane, with sigma'(0) = 0.
    euler
        Euler's path at the first of the steps.
    crossings, distances
        Of Euler's paths: how often they cross, and the largest distance to the flow; an entry for each step.
    """

    times: FloatArray
    path: FloatArray
    met: float
    num_slides: int
    num_crossings: int
    on_plane: float
    speed_inactive: float
    speed_active: float
    slide: FloatArray
    euler: FloatArray
    crossings: IntArray
    distances: FloatArray
    mu: float


def samples(settings: Settings) -> Dataset:
    """x_1 = (1, 0) with label -1, and x_2 with label 1."""
    return Dataset([[1.0, 0.0], settings.second], [-1.0, 1.0], name="one hyperplane")


def compute(settings: Settings, workbench: Workbench) -> MeetingHyperplane:
    """The exact flow of one positive neuron, Euler's paths, and the velocity on either side of the hyperplane."""
    data = samples(settings)
    w = np.array([settings.start])
    problem = TrainingProblem(data, SUMMED, Network(w, np.linalg.norm(w, axis=1)))
    times = np.linspace(0.0, settings.horizon, settings.num_times)
    run = train(problem, EventDrivenFlow(rtol=1e-11), times=times, until=AtTime(settings.horizon))
    path = np.array([np.exp(s.network.log_scale) * np.append(s.network.w[0], s.network.a) for s in run.snapshots])
    events = run.events
    met = float(events.times[0]) if len(events) else np.inf
    begin = int(np.searchsorted(times, met, side="right"))
    crossings, distances = [], []
    for step in settings.steps:
        euler = euler_path(data, path[0], step, round(settings.horizon / step))
        crossings.append(int(np.sum((euler[:-1, 0] > 0.0) != (euler[1:, 0] > 0.0))))
        places = np.rint(times / step).astype(np.int64)
        common = np.abs(places * step - times) < 1e-9  # times that both record
        distances.append(float(np.max(np.linalg.norm(euler[places[common]] - path[common], axis=1))))
    inactive, active = (float(velocity(data, np.array([side, *path[begin, 1:]]))[0]) for side in (-1e-9, 1e-9))
    return MeetingHyperplane(
        times=times,
        path=path,
        met=met,
        num_slides=events.count(EventKind.SLIDE_ENTRY),
        num_crossings=events.count(EventKind.REFRACTION),
        on_plane=float(np.max(np.abs(path[begin:, 0]), initial=0.0)),
        speed_inactive=inactive,
        speed_active=active,
        slide=velocity(data, path[begin]),
        euler=euler_path(data, path[0], settings.steps[0], round(settings.horizon / settings.steps[0])),
        crossings=np.array(crossings),
        distances=np.array(distances),
        mu=smallest_correlation(data),
    )


def velocity(data: Dataset, state: FloatArray) -> FloatArray:
    """(dw_1/dt, dw_2/dt, da/dt) of a single neuron, with sigma'(0) = 0."""
    w, a = state[:2], state[2]
    active = data.X @ w > 0.0
    outputs = a * np.maximum(data.X @ w, 0.0)
    pull = (active * SUMMED.forces(outputs, data.y)) @ data.X
    return np.append(a * pull, w @ pull)


def euler_path(data: Dataset, state: FloatArray, step: float, num_steps: int) -> FloatArray:
    """Explicit Euler steps, shape (num_steps + 1, 3)."""
    path = [state]
    for _ in range(num_steps):
        path.append(path[-1] + step * velocity(data, path[-1]))
    return np.array(path)
