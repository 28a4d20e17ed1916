"""FlowPlan: what a run of the two-layer flow must record, also at other scales and beside other networks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from reluflow.budget import Budget
from reluflow.dynamics.event_driven.event_driven_flow import AbstractFlow, EventDrivenFlow
from reluflow.dynamics.flow_choice import FlowSolver, choose_flow
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.solver import AbstractSolver
from reluflow.dynamics.stopping import AbstractStoppingRule, AtTime
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import TrainingInterrupted, Trajectory
from reluflow.geometry.boundary.decision import Ridge
from reluflow.network import Network
from reluflow.theory.evidence import Evidence
from reluflow.theory.plan import AbstractPlan, GatheringInterrupted, RunOptions


@dataclass(frozen=True, eq=False)
class Companion:
    """Another network to run beside the problem's own, on the same samples with the same loss.

    Parameters
    ----------
    name
        Key of its trajectory in `Evidence.companions`.
    network
        The network at time 0.
    times, until
        As in `FlowPlan`.
    ridge
        As in `FlowPlan`; None does what the plan does.
    """

    name: str
    network: Network
    times: tuple[float, ...] = ()
    until: AbstractStoppingRule | None = None
    ridge: Ridge | None = None


@dataclass(frozen=True)
class FlowPlan:
    """What a run of the two-layer flow must record.

    Parameters
    ----------
    times
        Snapshots of the network at exactly these times.
    until
        When to stop; None runs to the last of `times`.
    horizon, log_horizon
        Give up at this time, or at this logarithm of the time.
    other_scales
        Natural logarithms of factors: the same draw is also run with the network multiplied by exp of each. The plan
        is asked anew for each, for times depend on the scale.
    ridge
        What to do where the flow is not unique: stop, positive, negative or stay.
    companions
        Other networks to run beside this one, where a result compares two runs; not repeated at other scales.
    """

    times: tuple[float, ...] = ()
    until: AbstractStoppingRule | None = None
    horizon: float = float("inf")
    log_horizon: float = float("inf")
    other_scales: tuple[float, ...] = ()
    ridge: Ridge = "stop"
    companions: tuple[Companion, ...] = ()

    @property
    def num_states(self) -> int:
        """How many snapshots it asks for."""
        return len(self.times)

    def run(self, evidence: Evidence, ask: Callable[[Evidence], AbstractPlan | None], options: RunOptions) -> Evidence:
        """The run, then that at each other scale, then the companions; after one cut short no other is made."""
        problem, budget = evidence.problem, Budget(options.max_seconds)
        solver = _solver_for(problem, self, options)
        rtol = solver.rtol if isinstance(solver, AbstractFlow) else None

        def left() -> RunOptions:
            return replace(options, times=(), max_seconds=max(budget.left, 1e-3))

        trajectory: Trajectory | None = None
        other_scales: list[Evidence] = []
        companions: dict[str, Trajectory] = {}
        try:
            trajectory = run_plan(self, problem, replace(left(), times=options.times))
            last = trajectory
            for log_factor in sorted(self.other_scales, reverse=True):
                if last.outcome.is_spent:
                    break
                network = problem.network.scaled(log_factor)
                other = Evidence(replace(problem, network=network), parameters=evidence.parameters)
                its_plan = ask(other)
                if isinstance(its_plan, FlowPlan):
                    last = run_plan(its_plan, other.problem, left())
                    other_scales.append(replace(other, trajectory=last, rtol=rtol))
            for companion in self.companions:
                if last.outcome.is_spent:
                    break
                ridge = companion.ridge or self.ridge
                its_own = replace(self, times=companion.times, until=companion.until, ridge=ridge)
                last = run_plan(its_own, replace(problem, network=companion.network), left())
                companions[companion.name] = last
        except TrainingInterrupted as interrupt:
            cut = interrupt.trajectory
            if trajectory is None:
                raise GatheringInterrupted(replace(evidence, trajectory=cut)) from interrupt
            runs = (*other_scales, replace(evidence, problem=cut.problem, trajectory=cut))
            raise GatheringInterrupted(replace(evidence, trajectory=trajectory, other_scales=runs)) from interrupt
        return replace(
            evidence, trajectory=trajectory, other_scales=tuple(other_scales), companions=companions, rtol=rtol
        )


_EXACT = 1e-10  # of the event-driven solver
_FINEST = 1e-14  # that a flow solver takes


def run_plan(plan: FlowPlan, problem: TrainingProblem, options: RunOptions | None = None) -> Trajectory:
    """One run of a plan; where the plan names no end, to the last of its times."""
    options = options or RunOptions()
    wanted = sorted({*plan.times, *options.times})
    until = plan.until
    if until is None and wanted:
        until = AtTime(wanted[-1])
    end = min(plan.horizon, options.horizon)
    return train(
        problem,
        _solver_for(problem, plan, options),
        until=until,
        times=[time for time in wanted if time <= end],
        horizon=end,
        log_horizon=plan.log_horizon,
        max_seconds=options.max_seconds,
        max_steps=np.inf if options.max_steps is None else options.max_steps,
        progress=options.progress,
    )


def _solver_for(problem: TrainingProblem, plan: FlowPlan, options: RunOptions) -> AbstractSolver:
    """The solver that was asked for, or the flow solver for a verdict; a flow with its tolerance refined."""
    solver = options.solver if options.solver is not None else _flow_for(problem, plan.ridge)
    if not isinstance(solver, AbstractFlow) or options.refinement == 1.0:
        return solver
    loosest = _EXACT if isinstance(solver, EventDrivenFlow) else solver.rtol  # it takes no looser steps than this
    return replace(solver, rtol=max(min(solver.rtol, loosest) / options.refinement, _FINEST))


def _flow_for(problem: TrainingProblem, ridge: Ridge) -> AbstractSolver:
    """The flow solver for a verdict: as exact as can be had, so the fast one only where the other would not end."""
    exact = choose_flow(problem, rtol=_EXACT, ridge=ridge)
    if exact.name is FlowSolver.EVENT_DRIVEN:
        return exact.solver
    return choose_flow(problem, ridge=ridge).solver
