"""EventDrivenFlow: the exact gradient flow, from event to event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from reluflow.dynamics.event_driven.flow_run import FlowRun
from reluflow.dynamics.event_driven.tuning import LOOSEST_RTOL
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.solver import AbstractRun, AbstractSolver
from reluflow.dynamics.trajectory import Law
from reluflow.errors import InvalidInputError
from reluflow.geometry.boundary.decision import RIDGES, Ridge


@dataclass(frozen=True)
class AbstractFlow(AbstractSolver):
    """The settings of a solver of the gradient flow, described in `EventDrivenFlow`."""

    law: ClassVar[Law] = Law.FLOW

    rtol: float
    ridge: Ridge = "stop"
    max_steps: int = 1_000_000

    def __post_init__(self) -> None:
        if not 1e-14 <= self.rtol <= 1e-2:
            raise InvalidInputError(f"`rtol` must lie between 1e-14 and 1e-2, got {self.rtol}.")
        if self.ridge not in RIDGES:
            raise InvalidInputError(f"`ridge` must be one of {', '.join(RIDGES)}, got {self.ridge!r}.")
        if self.max_steps < 1:
            raise InvalidInputError(f"`max_steps` must be at least 1, got {self.max_steps}.")


@dataclass(frozen=True)
class EventDrivenFlow(AbstractFlow):
    """Gradient flow of a two-layer (leaky) ReLU network as a differential inclusion, resolved at every boundary.

    Between boundaries all neurons of one activation pattern are carried by one linear map, integrated to order eight
    with adaptive steps. So the cost of a step does not depend on the width; and the map is kept one that preserves
    $a_j^2 - |w_j|^2$, as the flow does, to rounding (a Lorentz transformation). Boundary crossings are roots of the
    step's dense polynomial, isolated through its Bernstein coefficients, so that none is missed; what happens there is
    decided from the state: refraction, sliding (the minimum-norm element of the Clarke subdifferential), death, or
    a ridge. While the outputs are too small to bend the forces, closed-form boosts replace the steps, so that any scale
    takes the same effort.

    Parameters
    ----------
    rtol
        Error per step, relative for every neuron, hence in its direction at any norm; and of the outputs. Steps are
        taken at 1e-10 where it is looser: the errors of such steps push sliding neurons off their walls for no reason,
        and never let some runs come to rest.
    ridge
        What to do where the flow is not unique: "stop" with outcome `ridge`, or continue to the "positive" or
        "negative" side, or "stay" on the boundary.
    max_steps
        Give up after this many steps.

    Examples
    --------
    >>> import numpy as np, reluflow
    >>> data = reluflow.load("three-points")
    >>> network = reluflow.balanced_initialization(data, width=20, scale=1e-3, rng=np.random.default_rng(0))
    >>> problem = reluflow.TrainingProblem(data, reluflow.SquareLoss(), network)
    >>> reluflow.train(problem, EventDrivenFlow(rtol=1e-8)).outcome.code
    'stationary'

    References
    ----------
    Boursier & Flammarion (2024), Sec. 2 and Eq. (6) [boursier2024]; Lyu et al. (2021), Lemma B.15 [lyu2021].
    """

    rtol: float = 1e-10

    def start(self, problem: TrainingProblem) -> AbstractRun:
        """A run of the flow at time 0."""
        problem.refuse_several_outputs("the event-driven flow")
        return FlowRun(problem, rtol=min(self.rtol, LOOSEST_RTOL), ridge=self.ridge, max_steps=self.max_steps)

    def describe(self) -> str:
        """The method and its settings, in words."""
        return f"event-driven gradient flow, order 8, rtol {self.rtol:g}, ridge {self.ridge}"
