"""Gather the evidence a theorem asks for: run its plan, also at the other scales of its sweep."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from reluflow.dynamics.flow.choice import FlowSolver, choose_flow
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.solver import AbstractRun, AbstractSolver
from reluflow.dynamics.stopping import AtTime
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import TrainingInterrupted, Trajectory
from reluflow.geometry.boundary.decision import Ridge
from reluflow.theory.evidence import Evidence, FlowPlan, PopulationPlan
from reluflow.theory.theorem import Theorem

_EXACT = 1e-10  # of the event-driven solver


def gather(
    theorem: Theorem,
    problem: TrainingProblem,
    *,
    parameters: Mapping[str, float] | None = None,
    solver: AbstractSolver | None = None,
    times: tuple[float, ...] = (),
    horizon: float = float("inf"),
    max_steps: int | None = None,
    max_seconds: float = float("inf"),
    progress: Callable[[AbstractRun], None] | None = None,
) -> Evidence:
    """Run what a theorem needs to be judged on a problem.

    Parameters
    ----------
    theorem
        The result to be judged.
    problem
        Dataset, loss and initial network.
    parameters
        Values for the numbers the result leaves to its reader.
    solver
        By default the exact flow; another method is measured against the result, whose hypothesis "gradient flow" then
        fails.
    times
        More snapshots than the plan asks for.
    horizon
        Give up at this time at the latest.
    max_steps, max_seconds
        Give up after this many steps of a run, or this long for all runs; the verdict on a run cut short is
        `inconclusive`, so that the runs that would come after it are not made.
    progress
        Called with the run after every step.

    Raises
    ------
    GatheringInterrupted
        On Ctrl-C; a KeyboardInterrupt that holds the evidence so far.

    Returns
    -------
    Evidence
        With a trajectory, a population run or neither, as the plan says.
    """
    evidence = Evidence(problem, parameters=theorem.parameter_values(parameters or {}))
    plan = theorem.plan(evidence)
    if plan is None:
        return evidence
    if isinstance(plan, PopulationPlan):
        from reluflow.experiments.population import run_population

        return replace(evidence, population=run_population(plan, evidence))
    settings: dict[str, Any] = {"solver": solver, "horizon": horizon, "max_steps": max_steps, "progress": progress}
    end = time.monotonic() + max_seconds

    def run(plan: FlowPlan, problem: TrainingProblem, times: tuple[float, ...] = ()) -> Trajectory:
        left = max(end - time.monotonic(), 1e-3)
        return run_plan(plan, problem, times=times, max_seconds=left, **settings)

    trajectory: Trajectory | None = None
    sweep: list[Evidence] = []
    companions: dict[str, Trajectory] = {}
    try:
        trajectory = run(plan, problem, times=times)
        last = trajectory
        for log_factor in sorted(plan.sweep, reverse=True):
            if last.outcome.is_spent:
                break
            network = problem.network.scaled(log_factor)
            other = Evidence(replace(problem, network=network), parameters=evidence.parameters)
            its_plan = theorem.plan(other)
            if isinstance(its_plan, FlowPlan):
                last = run(its_plan, other.problem)
                sweep.append(replace(other, trajectory=last))
        for companion in plan.companions:
            if last.outcome.is_spent:
                break
            its_own = replace(plan, times=companion.times, until=companion.until, ridge=companion.ridge or plan.ridge)
            last = companions[companion.name] = run(its_own, replace(problem, network=companion.network))
    except TrainingInterrupted as interrupt:
        cut = interrupt.trajectory
        if trajectory is None:
            raise GatheringInterrupted(replace(evidence, trajectory=cut)) from interrupt
        runs = (*sweep, replace(evidence, problem=cut.problem, trajectory=cut))
        raise GatheringInterrupted(replace(evidence, trajectory=trajectory, sweep=runs)) from interrupt
    return replace(evidence, trajectory=trajectory, sweep=tuple(sweep), companions=companions)


class GatheringInterrupted(KeyboardInterrupt):
    """Ctrl-C ended `gather`; `evidence` holds what was there, the interrupted run among it."""

    def __init__(self, evidence: Evidence) -> None:
        super().__init__("the evidence is not complete")
        self.evidence = evidence


def run_plan(
    plan: FlowPlan,
    problem: TrainingProblem,
    *,
    solver: AbstractSolver | None = None,
    times: tuple[float, ...] = (),
    horizon: float = float("inf"),
    max_steps: int | None = None,
    max_seconds: float = float("inf"),
    progress: Callable[[AbstractRun], None] | None = None,
) -> Trajectory:
    """One run of a plan; where the plan names no end, to the last of its times."""
    wanted = sorted({*plan.times, *times})
    until = plan.until
    if until is None and wanted:
        until = AtTime(wanted[-1])
    method = solver if solver is not None else _flow_for(problem, plan.ridge)
    end = min(plan.horizon, horizon)
    return train(
        problem,
        method,
        until=until,
        times=[time for time in wanted if time <= end],
        horizon=end,
        log_horizon=plan.log_horizon,
        max_seconds=max_seconds,
        max_steps=np.inf if max_steps is None else max_steps,
        progress=progress,
    )


def _flow_for(problem: TrainingProblem, ridge: Ridge) -> AbstractSolver:
    """The flow solver for a verdict: as exact as can be had, so the fast one only where the other would not end."""
    exact = choose_flow(problem, rtol=_EXACT, ridge=ridge)
    if exact.name is FlowSolver.EVENT_DRIVEN:
        return exact.solver
    return choose_flow(problem, ridge=ridge).solver
