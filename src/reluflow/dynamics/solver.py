"""The contract between a method of training and everything that uses one: AbstractSolver and AbstractRun.

A solver is a frozen dataclass of settings. Its `start` makes a run, which owns all that changes. A run only steps:
stopping is the business of `stopping`, recording of `keep`, both are asked by `train`, and meaning is found later.

What whoever writes a solver must give, and `tests/dynamics/test_solver_contract.py` holds every solver to:

1. `advance(limit, most_steps)` takes at least one step and at most `most_steps` (always 1 will do), and never goes past
   the time `limit`. Where it gets there it sets `time` to `limit` itself, so that snapshots stand at exact times. Where
   a method has no state at that time (iterates exist at lr * k only) the network stands still until then.
   It keeps `time`, `log_time`, `steps` and `force_evaluations` up to date, writes events into `recorder`, and sets
   `outcome` where the method itself cannot go on; it is not called again after that. What it costs it may count with
   `reluflow.budget.count`; else its steps and force evaluations are counted for it.
2. `network()` and `outputs()` only read: asking, however often, changes no later number. What they return is not
   changed afterwards, and `outputs()` is `network().outputs(X)` to rounding. `network().log_scale` may be anything.
3. No number that is not finite is ever shown. A method that leaves the range of a double goes back to its last finite
   state and ends with `Outcome.DIVERGED` or `Outcome.STALLED`; `train` refuses outputs that are nan or infinite.
4. The run is a function of the problem and the settings: no clock, no global randomness. Its whole state lies in
   attributes that can be pickled between two calls of `advance`, and a run read back goes on bit by bit.
5. What a method conserves it conserves: for a gradient flow a_j^2 - |w_j|^2, which `balancedness_drift` measures.
6. An exception, Ctrl-C included, may come at any moment within `advance`; the run is then not asked for anything again.

`gradient`, `is_settled`, `misalignment`, `balancedness_drift` and `limit` are derived from `network()`, `outputs()` and
the problem (see `reading`), at a cost of n d m each. Override them where something cheaper or more exact is known.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.event import EventRecorder
from reluflow.dynamics.gradient import Gradient
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.reading import drift_between, gradient_of, is_settled, misalignment_of
from reluflow.dynamics.trajectory import Law, Limit, Outcome
from reluflow.network import Network


class AbstractRun(ABC):
    """One run in progress; see the contract above.

    Attributes
    ----------
    time
        Now; infinite beyond the range of a double.
    log_time
        Natural logarithm of the time, finite at any time above 0.
    steps
        Steps taken; for a descent, iterations.
    last_step
        The run ends by itself after this many steps.
    force_evaluations
        How often the forces of all samples were computed.
    outcome
        Why the method itself cannot go on, or None.
    recorder
        Events so far.
    passed
        Moments within the last steps that are known anyway: time, log time and outputs, in order. A solver of long
        steps may add to it; whoever records takes them out.
    farthest_margin
        Outputs up to which the method follows a classifier that grows for ever, with some room for what happens there.
    has_own_threads
        Whether the method shares its work between threads itself, so that matrix products keep to one core.
    """

    farthest_margin: ClassVar[float] = 1e4
    has_own_threads: ClassVar[bool] = False

    def __init__(self, problem: TrainingProblem, *, last_step: float = np.inf) -> None:
        self.problem = problem
        self.time = 0.0
        self.log_time = -np.inf
        self.steps = 0
        self.last_step = last_step
        self.force_evaluations = 0
        self.outcome: Outcome | None = None
        self.recorder = EventRecorder()
        self.passed: list[tuple[float, float, FloatArray]] = []

    @abstractmethod
    def advance(self, limit: float, most_steps: int) -> None:
        """Take a step, or several up to `most_steps`, never past the time `limit`."""

    @abstractmethod
    def outputs(self) -> FloatArray:
        """h(x_k) now, shape (n,)."""

    @abstractmethod
    def network(self) -> Network:
        """The network now."""

    def log_sizes(self) -> FloatArray | None:
        """ln |(w_j, a_j)| now, where some neurons are too light for `network` to hold their sizes; else None."""
        return None

    def loss(self) -> float:
        """L now."""
        return self.problem.loss.total(self.outputs(), self.problem.dataset.y)

    def gradient(self) -> Gradient:
        """Norms and angles of the gradient now."""
        return gradient_of(self.problem, self.network(), self.outputs())

    def is_settled(self) -> bool:
        """Whether no neuron, however light, is still on its way under the present forces."""
        return is_settled(self.problem, self.network(), self.outputs())

    def misalignment(self) -> float:
        """Largest 1 - cos between a moving neuron's velocity direction a D and its input weight w."""
        return misalignment_of(self.problem, self.network(), self.outputs())

    def balancedness_drift(self) -> float:
        """Largest change of a_j^2 - |w_j|^2 since the start, relative to the neuron's largest squared norm."""
        return drift_between(self.problem.network, self.network())

    def limit(self, outcome: Outcome) -> Limit:
        """Where the run tends to, given why it ended; by default its last state."""
        return Limit(self.network(), self.gradient().norm, False, 0, "The last state of the run, not polished.")


class AbstractSolver(ABC):
    """A method of training: its settings, each a field of a frozen dataclass, so that `repr` shows them all.

    Attributes
    ----------
    law
        What the method computes: the gradient flow itself, or iterates of a descent.
    """

    law: ClassVar[Law]

    @abstractmethod
    def start(self, problem: TrainingProblem) -> AbstractRun:
        """A run of this method at time 0."""

    @abstractmethod
    def describe(self) -> str:
        """The method and its settings, in words."""
