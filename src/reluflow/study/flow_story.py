"""The flow to its limit, with frames kept on the way for pictures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from reluflow.dynamics.flow.choice import FlowSolver, choose_flow
from reluflow.dynamics.keep import Keep
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.solver import AbstractRun
from reluflow.dynamics.stopping import AbstractStoppingRule, AtTime, FirstOf, Stationary
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import Snapshot, Trajectory
from reluflow.theory.limit import CertifiedLimit, LimitIdentified, certified_limit

MAX_FRAMES = 80
# What a step costs, roughly, on one core: the same numbers on every machine, so that a study is reproducible.
STEP_SECONDS = {  # per step, and per step and product n d m; of collocation a guess
    FlowSolver.EVENT_DRIVEN: (5e-4, 3e-8),
    FlowSolver.COLLOCATION: (4e-3, 3e-8),
}
RUN_SECONDS = 10.0
FEWEST_STEPS = 30


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
    frames: tuple[Snapshot, ...]
    limit: CertifiedLimit
    max_steps: int

    @property
    def has_ended(self) -> bool:
        """Whether the run reached its own end."""
        return self.trajectory.outcome.is_limit


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
    allowed = affordable_steps(problem) if max_steps is None else max_steps
    solver, keep = choose_flow(problem, max_steps=allowed).solver, Keep(thinned=MAX_FRAMES, evenly="change")
    trajectory = train(problem, solver, until=end_of(problem), keep=keep, progress=on_step)
    between = [*trajectory.frames, *(_at_phase_ends(trajectory, allowed) if at_phase_ends else [])]
    between = [frame for frame in between if frame.log_time < trajectory.end.log_time]
    frames = (*sorted(between, key=lambda frame: frame.log_time), trajectory.end)
    return FlowStory(trajectory, frames, certified_limit(trajectory), allowed)


def affordable_steps(problem: TrainingProblem) -> int:
    """Steps that take some ten seconds, whatever the size of the problem."""
    return max(FEWEST_STEPS, int(RUN_SECONDS / _seconds_per_step(problem)))


def estimated_seconds(story: FlowStory) -> float:
    """What a run of this kind takes, by the steps it needed."""
    return story.trajectory.steps * _seconds_per_step(story.trajectory.problem)


def _seconds_per_step(problem: TrainingProblem) -> float:
    step, product = STEP_SECONDS[choose_flow(problem).name]
    return step + product * problem.dataset.X.size * problem.network.num_neurons


def end_of(problem: TrainingProblem) -> AbstractStoppingRule:
    """A classifier stops when its limiting direction is known, any other network where it is stationary."""
    return FirstOf((LimitIdentified(), Stationary())) if problem.loss.is_classification else Stationary()


def _at_phase_ends(trajectory: Trajectory, max_steps: int) -> tuple[Snapshot, ...]:
    """The network at exactly the ends of the phases, which are known only when the run is over: it is run once more."""
    ends = sorted({phase.end for phase in trajectory.phases if 0.0 < phase.end < trajectory.time})
    if not ends or not np.isfinite(ends[-1]):
        return ()
    solver, keep = choose_flow(trajectory.problem, max_steps=max_steps).solver, Keep(times=ends)
    return train(trajectory.problem, solver, until=AtTime(ends[-1]), keep=keep).snapshots
