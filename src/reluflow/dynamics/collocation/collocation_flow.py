"""CollocationFlow: the exact gradient flow at the size of real data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from reluflow.dynamics.collocation.collocation_run import CollocationRun
from reluflow.dynamics.collocation.sample_forces import Device
from reluflow.dynamics.event_driven.event_driven_flow import AbstractFlow
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.solver import AbstractRun
from reluflow.errors import InvalidInputError


@dataclass(frozen=True)
class CollocationFlow(AbstractFlow):
    """Gradient flow of a two-layer (leaky) ReLU network in macro steps that end at no crossing: for real data.

    Neurons are coupled only through the forces of the samples. So the forces are polynomials on a macro step, given by
    their values at the right Radau nodes; each neuron runs alone through them and through its own crossings, slides and
    death, exactly, as a power series whose events are roots of polynomials; the outputs give the forces back, and
    Newton's method in force space, with the tangent kernel, closes the circle. The scheme is Radau IIA, L-stable, so
    that stiff tails take long steps; a fading loss runs in rescaled time. `EventDrivenFlow` computes the same flow.
    Weight decay and a frozen output layer change a neuron's series and what its mass counts, and no more.

    Parameters
    ----------
    rtol
        Error of weights and outputs at the end, about, relative to the largest; the forces are kept to 25 times that
        between the nodes, relative to the largest force there is at the time (docs/dense.md shows what was measured).
        Looser than 4e-5 is taken as 4e-5, beyond which a run may never come to rest.
    ridge
        What to do where the flow is not unique: "stop" with outcome `ridge`, or continue to the "positive" or
        "negative" side, or "stay" on the boundary.
    max_steps
        Give up after this many macro steps.
    device
        Where large products are made: on the processor ("cpu"), or by JAX on the accelerator that it sees ("gpu"),
        which is worth it from some thousands of samples on.

    Examples
    --------
    >>> import numpy as np, reluflow
    >>> data = reluflow.load("three-points")
    >>> network = reluflow.balanced_initialization(data, width=20, scale=1e-3, rng=np.random.default_rng(0))
    >>> problem = reluflow.TrainingProblem(data, reluflow.SquareLoss(), network)
    >>> reluflow.train(problem, CollocationFlow()).outcome.code
    'stationary'
    """

    rtol: float = 1e-7
    device: Device = "cpu"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.device not in get_args(Device):
            raise InvalidInputError(f"`device` must be 'cpu' or 'gpu', got {self.device!r}.")

    def start(self, problem: TrainingProblem) -> AbstractRun:
        """A run of the flow at time 0."""
        return CollocationRun(problem, rtol=self.rtol, ridge=self.ridge, max_steps=self.max_steps, device=self.device)

    def describe(self) -> str:
        """The method and its settings, in words."""
        where = " on an accelerator" if self.device == "gpu" else ""
        return f"gradient flow by collocation of the forces{where}, rtol {self.rtol:g}, ridge {self.ridge}"
