"""AbstractSolver: how a method starts a run, and AbstractRun: how a run is advanced and read."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from reluflow.dynamics.event import EventRecorder
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.trajectory import Limit, Outcome
from reluflow.network import Network

FloatArray = NDArray[np.float64]


class AbstractRun(ABC):
    """One run in progress. A run only steps: stopping and keeping are the business of `train`.

    Attributes
    ----------
    time
        Now; infinite beyond the range of a double.
    log_time
        Natural logarithm of the time, finite at any time above 0.
    steps
        Steps taken.
    force_evaluations
        How often the forces of all samples were computed.
    outcome
        Why the method itself cannot go on, or None.
    recorder
        Events so far.
    """

    def __init__(self, problem: TrainingProblem) -> None:
        self.problem = problem
        self.time = 0.0
        self.log_time = -np.inf
        self.steps = 0
        self.force_evaluations = 0
        self.outcome: Outcome | None = None
        self.recorder = EventRecorder()

    @abstractmethod
    def advance(self, limit: float) -> None:
        """Take one step, never past the time `limit`."""

    @abstractmethod
    def outputs(self) -> FloatArray:
        """h(x_k) now, shape (n,)."""

    @abstractmethod
    def network(self) -> Network:
        """The network now."""

    @abstractmethod
    def gradient(self) -> Gradient:
        """Norms and angles of the gradient now."""

    @abstractmethod
    def is_settled(self) -> bool:
        """Whether no neuron, however light, is still on its way under the present forces."""

    @abstractmethod
    def misalignment(self) -> float:
        """Largest 1 - cos between a moving neuron's velocity direction a D and its input weight w."""

    @abstractmethod
    def balancedness_drift(self) -> float:
        """Largest change of a_j^2 - |w_j|^2 so far, relative to the neuron's largest squared norm so far."""

    @abstractmethod
    def limit(self, outcome: Outcome) -> Limit:
        """Where the run tends to, given why it ended."""

    def loss(self) -> float:
        """L now."""
        return self.problem.loss.total(self.outputs(), self.problem.dataset.y)


class Gradient:
    """Size of grad L and its angle with the parameters.

    Parameters
    ----------
    log_norm
        ln |grad L|, finite where the gradient underflows; -inf where it is 0.
    turning
        Sine of the angle between the parameters and -grad L: how far the direction of the parameters turns while
        their norm grows by a factor e. It tends to 0 as a network tends to a KKT direction of its margin problem.
    log_rate
        ln of the total force c sum |dl/dh| for a classification loss, which may fade for ever; 0 for the square loss.
    """

    def __init__(self, log_norm: float, turning: float, log_rate: float = 0.0) -> None:
        self.log_norm = log_norm
        self.turning = turning
        self.log_rate = log_rate

    @property
    def norm(self) -> float:
        """|grad L|."""
        return float(np.exp(self.log_norm))


class AbstractSolver(ABC):
    """A method of training: gradient flow, gradient descent, ..."""

    @abstractmethod
    def start(self, problem: TrainingProblem) -> AbstractRun:
        """A run of this method at time 0."""

    @abstractmethod
    def describe(self) -> str:
        """The method and its settings, in words."""
