"""Branching: the neurons of a run that go another way when it is computed more exactly.

Near a ridge, or near the direction that repels it, a neuron is a ball on a hill top: an error too small to be seen in
the outputs decides which side it takes. Such neurons cannot be distinguished from one run. They can from two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.collocation.collocation_flow import CollocationFlow
from reluflow.dynamics.event import Event
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.solver import AbstractRun
from reluflow.dynamics.stopping import Exhausted
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import TrainingInterrupted, Trajectory

_TIGHTER = 0.01  # tolerance of the second run, in units of the first
_TIGHTEST = 1e-14
_LEAST_TURN = 1e-4  # radians between the two ends of a neuron, which are about `rtol` where it has one way only


@dataclass(frozen=True)
class Branch:
    """A neuron that ended elsewhere: by how many radians, and the first event on its way that the runs do not share."""

    neuron: int
    turn: float
    event: Event | None


@dataclass(frozen=True)
class Branching:
    """What a run and its repetition at the tolerance `tighter` do not share.

    Parameters
    ----------
    rtol, tighter
        The two tolerances.
    branches
        Neurons whose way depends on the tolerance.
    is_whole
        Whether the repetition came as far as the run.
    output_change
        Largest difference of the two networks' outputs, relative to the largest output.

    Examples
    --------
    >>> import reluflow
    >>> problem = reluflow.Experiment("three-points", width=20).problem()
    >>> solver = reluflow.CollocationFlow(rtol=1e-6)
    >>> found = reluflow.branching_of(reluflow.train(problem, solver, until=20.0), solver)
    >>> found.is_whole, len(found.branches)
    (True, 0)
    """

    rtol: float
    tighter: float
    branches: tuple[Branch, ...]
    is_whole: bool
    output_change: float

    @property
    def sentence(self) -> str:
        """What was found, in one sentence."""
        if not self.is_whole:
            return f"Run again at rtol {self.tighter:g}, it did not come as far: nothing can be said of its neurons."
        agreement = f"the outputs agree to {self.output_change:.1e}"
        if not self.branches:
            return f"Run again at rtol {self.tighter:g}, every neuron goes the same way, and {agreement}."
        names = ", ".join(str(branch.neuron) for branch in self.branches)
        who = f"1 neuron ({names}) ends" if len(self.branches) == 1 else f"{len(self.branches)} neurons ({names}) end"
        return f"Run again at rtol {self.tighter:g}, {who} elsewhere: which way depends on the tolerance; {agreement}."

    def as_dict(self) -> dict[str, Any]:
        """The same in plain numbers and lists."""
        return {
            "rtol": self.rtol,
            "tighter": self.tighter,
            "whole": self.is_whole,
            "neurons": [branch.neuron for branch in self.branches],
            "turns": [branch.turn for branch in self.branches],
            "output_change": self.output_change,
        }


def branching_of(
    trajectory: Trajectory,
    solver: EventDrivenFlow | CollocationFlow,
    *,
    max_seconds: float = np.inf,
    progress: Callable[[AbstractRun], None] | None = None,
) -> Branching:
    """Run a flow again, a hundred times as exactly, to the same time, and name the neurons that end elsewhere.

    A repetition that is interrupted says nothing of the neurons, and that is what the answer says.

    Parameters
    ----------
    trajectory
        The run.
    solver
        What it was made with.
    max_seconds, progress
        As in `train`, for the second run.

    Returns
    -------
    Branching
        The neurons that go another way, and how far the outputs move.

    Examples
    --------
    >>> import reluflow
    >>> data = reluflow.load("three-points")
    >>> network = reluflow.balanced_initialization(data, width=5, scale=1e-2, rng=np.random.default_rng(0))
    >>> problem, solver = reluflow.TrainingProblem(data, reluflow.SquareLoss(), network), CollocationFlow(rtol=1e-6)
    >>> branching_of(train(problem, solver, until=20.0), solver).branches
    ()
    """
    tighter = replace(solver, rtol=max(_TIGHTEST, _TIGHTER * solver.rtol))
    try:
        again = train(
            trajectory.problem,
            tighter,
            until=Exhausted(),
            horizon=trajectory.time,
            log_horizon=trajectory.log_time,
            max_seconds=max_seconds,
            progress=progress,
        )
    except TrainingInterrupted as interrupt:
        again = interrupt.trajectory
    is_whole = again.log_time >= trajectory.log_time - 1e-9 * max(1.0, abs(trajectory.log_time))
    outputs = np.asarray(again.predictions)
    change = float(np.max(np.abs(outputs - trajectory.predictions))) / (float(np.max(np.abs(outputs))) or 1.0)
    turns = _angles(trajectory.network.w, again.network.w)
    turns[trajectory.network.a * again.network.a < 0.0] = np.pi
    elsewhere = np.flatnonzero(turns > max(_LEAST_TURN, float(np.sqrt(solver.rtol)))) if is_whole else ()
    branches = tuple(Branch(int(j), float(turns[j]), _first_difference(trajectory, again, int(j))) for j in elsewhere)
    return Branching(solver.rtol, tighter.rtol, branches, is_whole, change)


def _angles(rows: FloatArray, others: FloatArray) -> FloatArray:
    """Angles between rows of two arrays, 0 where both are 0; exact for small ones too."""
    sizes, other_sizes = np.linalg.norm(rows, axis=1), np.linalg.norm(others, axis=1)
    units = rows / np.where(sizes > 0.0, sizes, 1.0)[:, None]
    other_units = others / np.where(other_sizes > 0.0, other_sizes, 1.0)[:, None]
    angles = 2.0 * np.arctan2(np.linalg.norm(units - other_units, axis=1), np.linalg.norm(units + other_units, axis=1))
    return np.where((sizes > 0.0) | (other_sizes > 0.0), angles, 0.0)


def _first_difference(run: Trajectory, again: Trajectory, neuron: int) -> Event | None:
    """The first event of a neuron in the more exact run that the other has not, or the other way round."""
    ways = [[event for event in one.events if event.neuron == neuron] for one in (again, run)]
    marks = [[(event.sample, event.kind) for event in way] for way in ways]
    shared = 0
    while shared < min(map(len, marks)) and marks[0][shared] == marks[1][shared]:
        shared += 1
    following = [way[shared] for way in ways if len(way) > shared]
    return following[0] if following else None
