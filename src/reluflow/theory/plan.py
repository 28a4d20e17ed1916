"""Plan: what a theorem asks to be run before it is judged. A paper may bring a kind of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from reluflow.dynamics.solver import AbstractRun, AbstractSolver
from reluflow.theory.evidence import Evidence


@dataclass(frozen=True)
class RunOptions:
    """What the reader asks of the runs of a plan.

    Parameters
    ----------
    solver
        By default the exact flow.
    times
        More snapshots than the plan asks for.
    horizon
        Give up at this time at the latest.
    max_steps, max_seconds
        Give up after this many steps of a run, or this long for all runs.
    progress
        Called with the run after every step.
    refinement
        How many times as exact as usual the runs are to be computed: their tolerance is divided by it. A plan that
        heeds it says in `Evidence.rtol` what its runs were computed to.
    """

    solver: AbstractSolver | None = None
    times: tuple[float, ...] = ()
    horizon: float = float("inf")
    max_steps: int | None = None
    max_seconds: float = float("inf")
    progress: Callable[[AbstractRun], None] | None = None
    refinement: float = 1.0


class AbstractPlan(Protocol):
    """What must be run. It holds numbers only, so that it pickles; `FlowPlan` is the usual one."""

    @property
    def num_states(self) -> int:
        """How many recorded states it asks for; of a run with fewer than two of them nothing is measured."""
        ...

    def run(self, evidence: Evidence, ask: Callable[[Evidence], AbstractPlan | None], options: RunOptions) -> Evidence:
        """The evidence with what was run; `ask` gives the plan for the same draw at another scale."""
        ...


class GatheringInterrupted(KeyboardInterrupt):
    """Ctrl-C ended the run of a plan; `evidence` holds what was there, the interrupted run among it."""

    def __init__(self, evidence: Evidence) -> None:
        super().__init__("the evidence is not complete")
        self.evidence = evidence
