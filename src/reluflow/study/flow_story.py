"""The flow to its limit, with frames kept on the way for pictures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reluflow.data.dataset import Dataset
from reluflow.dynamics.flow.event_driven import EventDrivenFlow
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.solver import AbstractRun
from reluflow.dynamics.stopping import AbstractStoppingRule, AtTime, FirstOf, Stationary
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import Trajectory
from reluflow.network.network import Network
from reluflow.theory.limit import CertifiedLimit, LimitIdentified, certified_limit

MAX_FRAMES = 80
# What a step costs, roughly, on one core: the same numbers on every machine, so that a study is reproducible.
STEP_SECONDS, PRODUCT_SECONDS = 5e-4, 3e-8  # per step, and per step and product n d m
RUN_SECONDS = 10.0
FEWEST_STEPS = 30
FITTING_WEIGHT = 20.0  # frames for a change of h / (scale + |h|) by 1, against those for an e-fold of the outputs


@dataclass(frozen=True, eq=False)
class Frame:
    """The network at one moment of the run; `log_time` is finite beyond the range of a double."""

    time: float
    log_time: float
    loss: float
    network: Network


@dataclass(frozen=True, eq=False)
class FlowStory:
    """One run of the flow.

    Parameters
    ----------
    trajectory
        The run.
    frames
        Networks on the way, from the first to the last: evenly in what changes, and at the ends of the phases.
    limit
        What the end point provably is.
    max_steps
        Steps it was allowed.
    """

    trajectory: Trajectory
    frames: tuple[Frame, ...]
    limit: CertifiedLimit
    max_steps: int

    @property
    def has_ended(self) -> bool:
        """Whether the run reached its own end."""
        return self.trajectory.outcome.code in ("stationary", "direction-converged")


def follow_flow(
    problem: TrainingProblem,
    *,
    max_steps: int | None = None,
    at_phase_ends: bool = True,
    on_step: Callable[[AbstractRun], None] | None = None,
) -> FlowStory:
    """Run the flow to its limit, or until the allowed steps are spent, and keep frames.

    Parameters
    ----------
    problem
        Dataset, loss, initial network.
    max_steps
        By default as many as cost some ten seconds; the same on every machine, so that a study is reproducible.
    at_phase_ends
        Whether to keep frames at exactly the ends of the phases as well, at the price of a second, shorter run.
    on_step
        Called after every step.
    """
    allowed = affordable_steps(problem.dataset, problem.network.num_neurons) if max_steps is None else max_steps
    keeper = _FrameKeeper(problem, on_step)
    trajectory = train(problem, EventDrivenFlow(max_steps=allowed), until=end_of(problem), progress=keeper)
    last = Frame(trajectory.time, trajectory.log_time, trajectory.loss, trajectory.network)
    between = [*keeper.frames, *(_at_phase_ends(trajectory, allowed) if at_phase_ends else [])]
    between = [frame for frame in between if frame.log_time < last.log_time]
    frames = (*sorted(between, key=lambda frame: frame.log_time), last)
    return FlowStory(trajectory, frames, certified_limit(trajectory), allowed)


def affordable_steps(dataset: Dataset, width: int) -> int:
    """Steps that take some ten seconds, whatever the size of the problem."""
    return max(FEWEST_STEPS, int(RUN_SECONDS / _seconds_per_step(dataset, width)))


def estimated_seconds(story: FlowStory) -> float:
    """What a run of this kind takes, by the steps it needed."""
    problem = story.trajectory.problem
    return story.trajectory.steps * _seconds_per_step(problem.dataset, problem.network.num_neurons)


def _seconds_per_step(dataset: Dataset, width: int) -> float:
    return STEP_SECONDS + PRODUCT_SECONDS * dataset.X.size * width


def end_of(problem: TrainingProblem) -> AbstractStoppingRule:
    """A classifier stops when its limiting direction is known, any other network where it is stationary."""
    return FirstOf((LimitIdentified(), Stationary())) if problem.loss.is_classification else Stationary()


def _at_phase_ends(trajectory: Trajectory, max_steps: int) -> list[Frame]:
    """The network at exactly the ends of the phases, which are known only when the run is over: it is run once more."""
    ends = sorted({phase.end for phase in trajectory.phases if 0.0 < phase.end < trajectory.time})
    if not ends or not np.isfinite(ends[-1]):
        return []
    again = train(trajectory.problem, EventDrivenFlow(max_steps=max_steps), until=AtTime(ends[-1]), times=ends)
    return [Frame(s.time, float(np.log(s.time)), s.loss, s.network) for s in again.snapshots]


class _FrameKeeper:
    """Keeps networks evenly in what changes: the logarithm of the outputs while they grow, the outputs while they fit.

    A frame is kept when the change since the last one is `spacing`; when there are too many, every other one is dropped
    and the spacing doubled.
    """

    def __init__(self, problem: TrainingProblem, on_step: Callable[[AbstractRun], None] | None) -> None:
        self.frames = [Frame(0.0, -np.inf, problem.initial_loss, problem.network)]
        self._on_step = on_step
        largest = float(np.max(np.abs(problem.dataset.y)))
        self._scale = 1.0 if problem.loss.is_classification or largest == 0.0 else largest
        self._spacing, self._changed = 0.02, 0.0
        self._before: tuple[float, NDArray[np.float64]] | None = None

    def __call__(self, run: AbstractRun) -> None:
        outputs = run.outputs() / self._scale
        size = float(np.log(max(float(np.max(np.abs(outputs))), np.finfo(np.float64).tiny)))
        bounded = outputs / (1.0 + np.abs(outputs))
        if self._before is not None:
            self._changed += abs(size - self._before[0])
            self._changed += FITTING_WEIGHT * float(np.max(np.abs(bounded - self._before[1])))
        self._before = (size, bounded)
        if self._changed >= self._spacing or len(self.frames) == 1:
            self._changed = 0.0
            self.frames.append(Frame(run.time, run.log_time, run.loss(), run.network()))
            if len(self.frames) > MAX_FRAMES:
                self.frames = self.frames[::2]
                self._spacing *= 2.0
        if self._on_step is not None:
            self._on_step(run)
