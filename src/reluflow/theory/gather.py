"""Gather the evidence a theorem asks for: run its plan, also at its other scales."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from reluflow.certificates.limits.limit_so_far import ASKED_ENDS
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.solver import AbstractRun, AbstractSolver
from reluflow.dynamics.trajectory import Outcome, Trajectory
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.plan import AbstractPlan, RunOptions
from reluflow.theory.theorem import Theorem


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
    refinement: float = 1.0,
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
        Give up at this time at the latest; the verdict on a run that its plan would have taken further is
        `inconclusive`.
    max_steps, max_seconds
        Give up after this many steps of a run, or this long for all runs; the verdict on a run cut short is
        `inconclusive`, so that the runs that would come after it are not made.
    progress
        Called with the run after every step.
    refinement
        The tolerance of the runs is divided by it.

    Raises
    ------
    GatheringInterrupted
        On Ctrl-C; a KeyboardInterrupt that holds the evidence so far.

    Returns
    -------
    Evidence
        With a trajectory, a record of another kind or neither, as the plan says.
    """
    evidence = Evidence(problem, parameters=theorem.parameter_values(parameters or {}))
    plan = theorem.plan(evidence)
    if plan is None:
        return evidence
    options = RunOptions(solver, times, horizon, max_steps, max_seconds, progress, refinement)
    gathered = plan.run(evidence, theorem.plan, options)
    return replace(gathered, ended_at=horizon) if _ends_early(gathered, plan, horizon) else gathered


def evidence_of_run(
    theorem: Theorem, trajectory: Trajectory, *, parameters: Mapping[str, float] | None = None
) -> Evidence:
    """A run that was made before, as evidence.

    Parameters
    ----------
    theorem
        The result to be judged.
    trajectory
        The run.
    parameters
        Values for the numbers the result leaves to its reader.

    Returns
    -------
    Evidence
        Of a run that was ended before the times that the result speaks of the verdict is `inconclusive`, as with the
        `horizon` of `gather`.
    """
    values = theorem.parameter_values(parameters or {})
    evidence = Evidence(trajectory.problem, trajectory=trajectory, parameters=values)
    before = Evidence(trajectory.problem, parameters=values)
    plan = None if theorem.preliminary(before) is not None else theorem.plan(before)
    ends_early = plan is not None and _ends_early(evidence, plan, trajectory.time)
    return replace(evidence, ended_at=trajectory.time) if ends_early else evidence


def _ends_early(evidence: Evidence, plan: AbstractPlan, horizon: float) -> bool:
    """Whether the run ended at the reader's horizon where its plan would have gone on.

    A run to a time of the plan ends nowhere else; one to a rule may have come to what the rule asks for.
    """
    run = evidence.trajectory
    if run is None or not isinstance(plan, FlowPlan):
        return False
    if run.outcome not in (ASKED_ENDS if plan.until is None else (Outcome.HORIZON,)):
        return False
    its_end = plan.horizon if plan.until is not None else max(plan.times, default=0.0)
    return horizon < its_end
