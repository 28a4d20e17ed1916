"""SeparatedFlow: the event-driven flow that goes on in independent parts once no neuron can leave its pattern.

Where two groups of ReLU neurons share no active sample they do not feel each other. If moreover no force that the loss
can exert takes a neuron across a wall, they never will, and each part may be integrated alone, with steps of its own.
So a part that still grows from e^-50000 does not hold up one that has long fitted its samples, nor the other way round.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from reluflow.arrays import FloatArray, IntArray
from reluflow.data.dataset import Dataset
from reluflow.dynamics.event_driven.event_driven_flow import AbstractFlow, EventDrivenFlow
from reluflow.dynamics.event_driven.tuning import MOST_OWN_STEPS, ON_WALL
from reluflow.dynamics.gradient import Gradient
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.reading import lengths_of, network_of, sizes_beyond_doubles
from reluflow.dynamics.solver import AbstractRun
from reluflow.dynamics.trajectory import Limit, Outcome
from reluflow.network import Network


@dataclass(frozen=True)
class SeparatedFlow(AbstractFlow):
    """The gradient flow by `EventDrivenFlow`, in independent parts as soon as the neurons allow it.

    The neurons must be ReLU neurons and the loss one whose forces have the sign of the label; else, and until the
    neurons are where none can leave its activation pattern, this is `EventDrivenFlow` itself. The settings are its own.

    Examples
    --------
    >>> import numpy as np, reluflow
    >>> data = reluflow.load("min-regression-case")
    >>> network = reluflow.balanced_initialization(data, width=12, scale="1e-4000", rng=np.random.default_rng(0))
    >>> problem = reluflow.TrainingProblem(data, reluflow.ExponentialLoss(reduction="sum"), network)
    >>> run = reluflow.train(problem, SeparatedFlow(), until=2e4)
    >>> run.steps < 1000, bool(run.loss < 1e-3)
    (True, True)

    References
    ----------
    Min et al. (2024), Sec. 3.2: neurons are trapped in S_+, S_- or S_dead, and the classes decouple [min2024].
    """

    rtol: float = 1e-10

    def start(self, problem: TrainingProblem) -> AbstractRun:
        """A run of the flow at time 0."""
        return SeparatedRun(problem, EventDrivenFlow(rtol=self.rtol, ridge=self.ridge, max_steps=self.max_steps))

    def describe(self) -> str:
        """The method and its settings, in words."""
        return f"event-driven gradient flow in separate parts, order 8, rtol {self.rtol:g}, ridge {self.ridge}"


@dataclass(eq=False)
class _Part:
    """Neurons and the samples they alone act on, with their own run from the time of the separation on."""

    neurons: IntArray
    samples: IntArray
    run: AbstractRun


class SeparatedRun(AbstractRun):
    """One run of `SeparatedFlow`: of the whole network, then of its parts."""

    def __init__(self, problem: TrainingProblem, flow: EventDrivenFlow) -> None:
        super().__init__(problem, last_step=flow.max_steps)
        self._flow = flow
        self._whole = flow.start(problem)
        self.recorder = self._whole.recorder
        self._parts: list[_Part] = []
        self._separated_at = 0.0
        self._at_separation = _units_of(problem.network, None)
        self._may_separate = (
            problem.is_plain and problem.network.leak == 0.0 and problem.loss.fades and problem.dataset.is_binary
        )

    def advance(self, limit: float, most_steps: int = 1) -> None:
        """Take one step of the whole, or of every part up to a common time."""
        if self.steps >= self.last_step:
            self.outcome = Outcome.MAX_STEPS
        elif not self._parts:
            self._advance_whole(limit)
        else:
            self._advance_parts(limit)

    def _advance_whole(self, limit: float) -> None:
        whole = self._whole
        whole.advance(limit, 1)
        self.time, self.log_time, self.outcome = whole.time, whole.log_time, whole.outcome
        self.steps, self.force_evaluations = whole.steps, whole.force_evaluations
        if not self._may_separate or self.outcome is not None or not np.isfinite(self.time):
            return
        network = whole.network()
        parts = separate_parts(self.problem, network)
        if parts is None:
            return
        self._may_separate = False
        if len(parts) > 1:
            self._separated_at, self._at_separation = self.time, _units_of(network, whole.log_sizes())
            self._parts = [self._part(neurons, samples) for neurons, samples in parts]

    def _part(self, neurons: IntArray, samples: IntArray) -> _Part:
        """The part as a problem of its own, in which a sample weighs what it did in the whole."""
        dataset, loss = self.problem.dataset, self.problem.loss
        if loss.reduction == "mean":
            loss = replace(loss, factor=loss.factor * len(samples) / dataset.n)
        z, log_norm = (each[neurons] for each in self._at_separation)
        own = network_of(z, log_norm, 0.0, self.problem.network.weight[neurons])
        problem = TrainingProblem(Dataset(dataset.X[samples], dataset.y[samples]), loss, own)
        return _Part(neurons, samples, self._flow.start(problem))

    def _advance_parts(self, limit: float) -> None:
        """One step of the run: the first part goes towards the limit, by some steps of its own, the others follow."""
        here = self._parts[0].run.time
        wanted = limit - self._separated_at if np.isfinite(limit) else max(2.0 * here, 1.0)
        self.steps += 1
        if not np.isfinite(wanted):
            self.outcome = Outcome.HORIZON
            return
        reached = self._follow(self._parts[0].run, wanted, MOST_OWN_STEPS)
        for part in self._parts[1:]:
            self._follow(part.run, reached, np.inf)
        self.time = limit if reached == wanted and np.isfinite(limit) else self._separated_at + reached
        self.log_time = float(np.log(self.time))

    def _follow(self, part: AbstractRun, wanted: float, most_steps: float) -> float:
        """Advance a part to a time of its own clock, or until its steps are spent; how far it came."""
        begun, evaluations = part.steps, part.force_evaluations
        while part.time < wanted and part.outcome is None and part.steps - begun < most_steps:
            part.advance(wanted, 1)
        self.force_evaluations += part.force_evaluations - evaluations
        self.outcome = self.outcome or part.outcome
        return part.time

    # -- reading ------------------------------------------------------------------------------------------------

    def outputs(self) -> FloatArray:
        """h(x_k) now, shape (n,); a sample on which no part acts has output 0."""
        if not self._parts:
            return self._whole.outputs()
        outputs = np.zeros(self.problem.dataset.n)
        for part in self._parts:
            outputs[part.samples] = part.run.outputs()
        return outputs

    def network(self) -> Network:
        """The network now; `log_scale` is 0 where the neurons fit a double."""
        if not self._parts:
            return self._whole.network()
        z, log_norm = self._neurons()
        return network_of(z, log_norm, 0.0, self.problem.network.weight)

    def log_sizes(self) -> FloatArray | None:
        """ln |(w_j, a_j)| now, where some neurons are too light for `network` to hold their sizes; else None."""
        return sizes_beyond_doubles(*self._neurons()) if self._parts else self._whole.log_sizes()

    def gradient(self) -> Gradient:
        """Norms and angles of the gradient now."""
        return super().gradient() if self._parts else self._whole.gradient()

    def is_settled(self) -> bool:
        """Whether no neuron, however light, is still on its way under the present forces."""
        return super().is_settled() if self._parts else self._whole.is_settled()

    def misalignment(self) -> float:
        """Largest 1 - cos between a moving neuron's velocity direction a D and its input weight w."""
        return super().misalignment() if self._parts else self._whole.misalignment()

    def balancedness_drift(self) -> float:
        """Largest change of a_j^2 - |w_j|^2 so far, relative to the neuron's largest squared norm so far."""
        parts = [part.run.balancedness_drift() for part in self._parts]
        return max([self._whole.balancedness_drift(), *parts])

    def limit(self, outcome: Outcome) -> Limit:
        """The last state, or where Newton's method finds that it tends to."""
        return super().limit(outcome) if self._parts else self._whole.limit(outcome)

    def _neurons(self) -> tuple[FloatArray, FloatArray]:
        """Unit vectors along (w_j, a_j) and the logarithms of their sizes; dead neurons are where they died."""
        z, log_norm = (each.copy() for each in self._at_separation)
        for part in self._parts:
            z[part.neurons], log_norm[part.neurons] = _units_of(part.run.network(), part.run.log_sizes())
        return z, log_norm


def _units_of(network: Network, log_sizes: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    rows = np.column_stack([network.w, network.a])
    sizes = lengths_of(rows)
    sized = np.where(sizes > 0.0, sizes, 1.0)
    return rows / sized[:, None], np.log(sized) + network.log_scale if log_sizes is None else log_sizes


def separate_parts(problem: TrainingProblem, network: Network) -> list[tuple[IntArray, IntArray]] | None:
    """Neurons and samples of each part, or None where some neuron can still leave its activation pattern.

    The force of sample i has the sign of y_i. So <w_j, x_k>, whose velocity is a_j times the sum over active i of
    r_i <x_i, x_k>, moves one way for ever where all a_j y_i <x_i, x_k> have one sign; a neuron for which that is the
    way it is on, for every k, is trapped. A dead one is where no sample is active and those whose wall it stands on
    push it back. Parts are joined by active samples in common.
    """
    X, y = problem.dataset.X, problem.dataset.y
    sizes = np.outer(lengths_of(network.w), np.linalg.norm(X, axis=1))
    cosines = network.pre_activations(X) / np.where(sizes > 0.0, sizes, 1.0)  # (m, n)
    is_active = cosines > ON_WALL
    is_dead = ~np.any(is_active, axis=1)
    pushes = np.einsum("j,k->jk", np.sign(network.a), y)
    on_wall = np.abs(cosines) <= ON_WALL
    if np.any(on_wall[~is_dead]) or np.any(on_wall[is_dead] & (pushes[is_dead] > 0.0)):
        return None
    products = (X @ X.T) * y[:, None]  # (i, k): what a unit force of sample i does to <w, x_k>, for a = 1
    parts: list[tuple[IntArray, IntArray]] = []
    for pattern in np.unique(is_active[~is_dead], axis=0):
        members = np.flatnonzero(np.all(is_active == pattern, axis=1))
        ways = np.where(pattern, 1.0, -1.0)  # the side of each wall it must keep to
        for sign in np.unique(np.sign(network.a[members])):
            if np.any(sign * products[pattern] * ways < 0.0):
                return None
        samples = np.flatnonzero(pattern)
        joined = [part for part in parts if np.intersect1d(part[1], samples).size]
        parts = [part for part in parts if not np.intersect1d(part[1], samples).size]
        groups = [*joined, (members, samples)]
        neurons, touched = (np.unique(np.concatenate(each)) for each in zip(*groups, strict=True))
        parts.append((neurons, touched))
    return parts
