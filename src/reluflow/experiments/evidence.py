"""Gather the evidence a theorem asks for: run its plan, also at the other scales of its sweep."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from reluflow.dynamics.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.solver import AbstractRun, AbstractSolver
from reluflow.dynamics.stopping import AtTime
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import Trajectory
from reluflow.theory.evidence import Evidence, FlowPlan, PopulationPlan
from reluflow.theory.theorem import Theorem


def gather(
    theorem: Theorem,
    problem: TrainingProblem,
    *,
    parameters: Mapping[str, float] | None = None,
    solver: AbstractSolver | None = None,
    times: tuple[float, ...] = (),
    horizon: float = float("inf"),
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
    progress
        Called with the run after every step.

    Returns
    -------
    Evidence
        With a trajectory, a population run or neither, as the plan says.
    """
    values = theorem.parameter_values(parameters or {})
    return _gather(theorem, Evidence(problem, parameters=values), solver, times, horizon, progress)


def _gather(
    theorem: Theorem,
    evidence: Evidence,
    solver: AbstractSolver | None,
    times: tuple[float, ...],
    horizon: float,
    progress: Callable[[AbstractRun], None] | None,
) -> Evidence:
    plan = theorem.plan(evidence)
    if plan is None:
        return evidence
    if isinstance(plan, PopulationPlan):
        from reluflow.experiments.population import run_population

        return replace(evidence, population=run_population(plan, evidence))
    trajectory = run_plan(plan, evidence.problem, solver=solver, times=times, horizon=horizon, progress=progress)
    sweep = []
    for log_factor in sorted(plan.sweep, reverse=True):
        network = evidence.network.scaled(log_factor)
        other = Evidence(replace(evidence.problem, network=network), parameters=evidence.parameters)
        its_plan = theorem.plan(other)
        if isinstance(its_plan, FlowPlan):
            run = run_plan(its_plan, other.problem, solver=solver, horizon=horizon, progress=progress)
            sweep.append(replace(other, trajectory=run))
    companions = {
        companion.name: run_plan(
            replace(plan, times=companion.times, until=companion.until),
            replace(evidence.problem, network=companion.network),
            solver=solver,
            horizon=horizon,
            progress=progress,
        )
        for companion in plan.companions
    }
    return replace(evidence, trajectory=trajectory, sweep=tuple(sweep), companions=companions)


def run_plan(
    plan: FlowPlan,
    problem: TrainingProblem,
    *,
    solver: AbstractSolver | None = None,
    times: tuple[float, ...] = (),
    horizon: float = float("inf"),
    progress: Callable[[AbstractRun], None] | None = None,
) -> Trajectory:
    """One run of a plan; where the plan names no end, to the last of its times."""
    wanted = sorted({*plan.times, *times})
    until = plan.until
    if until is None and wanted:
        until = AtTime(wanted[-1])
    method = solver if solver is not None else EventDrivenFlow(ridge=plan.ridge)
    end = min(plan.horizon, horizon)
    return train(
        problem,
        method,
        until=until,
        times=[time for time in wanted if time <= end],
        horizon=end,
        log_horizon=plan.log_horizon,
        progress=progress,
    )
