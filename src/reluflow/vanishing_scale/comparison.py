"""The flow at small scales beside its forecast: when it passes half-way down every step, and how far it is off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import Trajectory
from reluflow.geometry.boundary.decision import Ridge
from reluflow.network.scale import Scale, log_of_scale
from reluflow.vanishing_scale.orbit import time_of_loss
from reluflow.vanishing_scale.process import JumpProcess

SCALES = ("1e-10", "1e-100", "1e-1000")


@dataclass(frozen=True, eq=False)
class FlowAtScale:
    """One run of the flow beside the forecast.

    Parameters
    ----------
    scale
        In words.
    log_scale
        Its natural logarithm: the unit of the clock is -log_scale.
    trajectory
        The run, to its end.
    passing
        Times at which its loss passes half-way down each step, shape (num_jumps,); inf where it never does.
    clocks
        The same in units of log(1/scale).
    errors
        passing - (clock log(1/scale) + delay), in units of time: falls like a power of the scale where the steps lie
        apart, while clocks approach the forecast like 1/log(1/scale).
    """

    scale: str
    log_scale: float
    trajectory: Trajectory
    passing: FloatArray
    clocks: FloatArray
    errors: FloatArray


def flow_beside(
    process: JumpProcess,
    problem: TrainingProblem,
    *,
    scales: Sequence[Scale] = SCALES,
    rtol: float = 1e-9,
    max_steps: int = 1_000_000,
    ridge: Ridge = "stop",
) -> tuple[FlowAtScale, ...]:
    """Run the flow at some scales, the shape of the network held fixed, and compare it with its forecast.

    Parameters
    ----------
    process
        The forecast of `problem`.
    problem
        What was forecast; the neurons are its network's shape times the scale.
    scales
        Any positive decimals below 1.
    rtol, max_steps
        Tolerance of the runs, and steps allowed to each.
    ridge
        What the runs do where the flow is not unique.

    Returns
    -------
    tuple of FlowAtScale
        One per scale: the run, and how far its steps and its end are from the forecast.

    Examples
    --------
    >>> import reluflow
    >>> problem = reluflow.Experiment("three-points", width=20).problem()
    >>> process = reluflow.forecast(problem)
    >>> (run,) = flow_beside(process, problem, scales=("1e-10",))
    >>> run.scale, round(run.trajectory.loss, 6)
    ('1e-10', 0.087521)
    """
    compared = []
    solver = EventDrivenFlow(rtol=rtol, max_steps=max_steps, ridge=ridge)
    for scale in scales:
        log_scale = log_of_scale(scale)
        scaled = TrainingProblem(problem.dataset, problem.loss, problem.network.replace(log_scale=log_scale))
        run = train(scaled, solver)
        passing = np.array([_passing(run, solver, 0.5 * (j.loss_before + j.loss_after)) for j in process.jumps])
        compared.append(
            FlowAtScale(
                scale=str(scale),
                log_scale=log_scale,
                trajectory=run,
                passing=passing,
                clocks=passing / -log_scale,
                errors=passing - process.times_at(log_scale),
            )
        )
    return tuple(compared)


def _passing(run: Trajectory, solver: EventDrivenFlow, level: float) -> float:
    after = int(np.argmax(run.losses <= level))
    if after == 0:
        return np.inf
    return time_of_loss(run.problem, solver, level, float(run.times[after - 1]), float(run.times[after]))
