"""CollocationFlow: the exact gradient flow at the size of real data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from reluflow.dynamics.flow.collocation_run import CollocationRun
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.solver import AbstractRun, AbstractSolver
from reluflow.dynamics.trajectory import Law
from reluflow.errors import InvalidInputError
from reluflow.geometry.boundary.decision import RIDGES, Ridge


@dataclass(frozen=True)
class CollocationFlow(AbstractSolver):
    """Gradient flow by collocation of the forces."""

    law: ClassVar[Law] = Law.FLOW

    rtol: float = 1e-6
    ridge: Ridge = "stop"
    max_steps: int = 1_000_000

    def __post_init__(self) -> None:
        if not 1e-14 <= self.rtol <= 1e-2:
            raise InvalidInputError(f"`rtol` must lie between 1e-14 and 1e-2, got {self.rtol}.")
        if self.ridge not in RIDGES:
            raise InvalidInputError(f"`ridge` must be one of {', '.join(RIDGES)}, got {self.ridge!r}.")
        if self.max_steps < 1:
            raise InvalidInputError(f"`max_steps` must be at least 1, got {self.max_steps}.")

    def start(self, problem: TrainingProblem) -> AbstractRun:
        """A run of the flow at time 0."""
        return CollocationRun(problem, rtol=self.rtol, ridge=self.ridge, max_steps=self.max_steps)

    def describe(self) -> str:
        """The method and its settings, in words."""
        return f"gradient flow by collocation of the forces, rtol {self.rtol:g}, ridge {self.ridge}"
