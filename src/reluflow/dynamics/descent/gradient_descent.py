"""GradientDescent: plain full-batch descent in double precision, the reference every other method is held against."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.descent.dense_step import Weights, dense_step
from reluflow.dynamics.descent.descent_kernels import (
    BLOCK,
    Descent,
    descend_on_all_cores,
    outputs_of_blocks,
)
from reluflow.dynamics.descent.descent_kernels import descend as descend_on_one_core
from reluflow.dynamics.descent.descent_run import DescentRun, SlopeAtZero, check_count, slope_value
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.solver import AbstractSolver
from reluflow.dynamics.trajectory import Law
from reluflow.errors import InvalidInputError
from reluflow.losses.compiled import compiled
from reluflow.network import Network

_LARGEST_FUSED_DIMENSION = 16  # above, matrix products of the linear-algebra library are faster
_SMALLEST_SHARED_WIDTH = 16384  # below, waking the second core costs more than it brings


@dataclass(frozen=True)
class AbstractFullBatchDescent(AbstractSolver):
    """The settings of descent on all samples at once, described in `GradientDescent`."""

    law: ClassVar[Law] = Law.DESCENT

    lr: float
    iterations: int
    slope_at_zero: SlopeAtZero = None
    loss_scaled: bool = False

    def __post_init__(self) -> None:
        check_descent(self.lr, self.iterations, self.slope_at_zero)

    def _descent(self, problem: TrainingProblem) -> Descent:
        return descent_of(problem, self.lr, self.slope_at_zero, loss_scaled=self.loss_scaled)

    def describe(self) -> str:
        return f"gradient descent, {describe_rate(self.lr, self.slope_at_zero, self.loss_scaled)}"


@dataclass(frozen=True)
class GradientDescent(AbstractFullBatchDescent):
    r"""$w$ becomes $w + \eta a D$ and $a$ becomes $a + \eta \langle w, D\rangle$, both from the same $(w, a)$.

    Here $\eta$ is the learning rate and $D = \sum_k \eta_k r_k x_k$ with the slopes $\eta_k$ of the activation. With
    weight decay $\lambda$ the weights on the right are $(1 - \eta \lambda) w$ and $(1 - \eta \lambda) a$; a frozen
    output layer leaves $a$ as it is (see `TrainingProblem`). With $K$ outputs $v$ stands for $a$ and $D$ is a matrix:
    $w$ becomes $w + \eta D v$ and $v$ becomes $v + \eta D^\top w$. An output bias $b$ becomes $b + \eta \sum_k r_k$.

    A neuron's own weight does not enter its step: a neuron of weight 2 moves like each of two equal neurons. The same
    run gives the same numbers bit for bit, on any number of cores.

    Parameters
    ----------
    lr
        Learning rate; iteration $k$ is at time $k$ times `lr` of the gradient flow of the same objective. The mean of
        $(h - y)^2$ is twice the mean square loss: `SquareLoss(factor=2)`, or the time doubles.
    iterations
        How many.
    slope_at_zero
        Slope of the activation at $\langle w, x\rangle = 0$: a number in [leak, 1], "minimum-norm" for the shortest
        $D$, or by default the leak.
    loss_scaled
        Whether the rate becomes lr c l(0) / L once L is below c l(0), as every sample is then rightly classified
        (c is the weight of a sample, so c l(0) = ln 2 / n for the mean logistic loss, and for softmax, whose l(0) is
        taken at a tie of two classes).

    Examples
    --------
    >>> import numpy as np, reluflow
    >>> data = reluflow.load("three-points")
    >>> network = reluflow.balanced_initialization(data, width=20, scale=1e-3, rng=np.random.default_rng(0))
    >>> problem = reluflow.TrainingProblem(data, reluflow.SquareLoss(), network)
    >>> reluflow.train(problem, GradientDescent(lr=0.01, iterations=100)).time
    1.0

    References
    ----------
    Boursier & Flammarion (2024), Sec. 6 and App. B [boursier2024]; loss-scaled rate: Lyu et al. (2021), App. J
    [lyu2021]; slope at zero: Min et al. (2024), Sec. 2 and App. E.3 [min2024].
    """

    def start(self, problem: TrainingProblem) -> DescentRun:
        is_fused = problem.has_single_output and problem.dataset.d <= _LARGEST_FUSED_DIMENSION
        kind = FusedRun if is_fused else DenseRun
        return kind(problem, self._descent(problem), iterations=int(self.iterations))


class FusedRun(DescentRun):
    """One pass over the neurons per iteration, in machine code."""

    def __init__(self, problem: TrainingProblem, descent: Descent, *, iterations: int) -> None:
        super().__init__(problem, descent, iterations=iterations)
        self._loss = compiled(problem.loss)
        self._blocks = to_blocks(np.column_stack([self.start_network.w, self.start_network.a]))
        self._outputs = outputs_of_blocks(self._blocks, problem.network.num_neurons, descent)
        self._seconds = {descend_on_all_cores: 0.0, descend_on_one_core: 0.0}  # per iteration, as last measured
        if problem.network.num_neurons >= _SMALLEST_SHARED_WIDTH:
            for kernel in self._seconds:  # compile both before either is timed
                kernel(self._blocks, self._outputs, self._clock, problem.network.num_neurons, 0, descent, self._loss)

    @property
    def _state_names(self) -> tuple[str, ...]:
        return ("_blocks", "_outputs")

    def _iterate(self, count: int) -> None:
        width = self.problem.network.num_neurons
        kernel = descend_on_one_core
        if width >= _SMALLEST_SHARED_WIDTH:  # the numbers are the same; on a busy machine one core may be faster
            kernel = min(self._seconds, key=self._seconds.__getitem__)
        began = time.perf_counter()
        kernel(self._blocks, self._outputs, self._clock, width, count, self._descent, self._loss)
        self._seconds[kernel] = (time.perf_counter() - began) / count
        for other in self._seconds:
            if other is not kernel:
                self._seconds[other] *= 0.97  # so that the other one is tried again after some chunks

    def outputs(self) -> FloatArray:
        return self._outputs.copy()

    def network(self) -> Network:
        neurons = from_blocks(self._blocks, self.problem.network.num_neurons)
        return self.start_network.replace(w=neurons[:, :-1], a=neurons[:, -1])


class DenseRun(DescentRun):
    """Matrix products over all neurons and samples, for high dimension, several outputs and an output bias."""

    def __init__(self, problem: TrainingProblem, descent: Descent, *, iterations: int) -> None:
        super().__init__(problem, descent, iterations=iterations)
        self._state = Weights.of(self.start_network)
        self._products = self.start_network.pre_activations(problem.dataset.X)

    @property
    def _state_names(self) -> tuple[str, ...]:
        return ("_state", "_products")

    def _iterate(self, count: int) -> None:
        loss, dataset, moves_bias = self.problem.loss, self.problem.dataset, self.problem.moves_output_bias
        for _ in range(count):
            if (rate := self.rate()) == 0.0:
                break
            forces = loss.forces(self.outputs(), dataset.y)
            state = dense_step(
                self._state, self._products, forces, dataset.X, rate, self._descent, moves_bias=moves_bias
            )
            products = state.w @ dataset.X.T
            iteration = self._clock[0] + 1.0
            elapsed = self._clock[1] + rate if self.loss_threshold > 0.0 else self.lr * iteration
            self._state, self._products, self._clock = state, products, np.array([iteration, elapsed])

    def outputs(self) -> FloatArray:
        return self._state.outputs(self._products, self.start_network)

    def network(self) -> Network:
        return self._state.network(self.start_network)


def check_descent(lr: float, iterations: int, slope_at_zero: SlopeAtZero) -> None:
    """Refuse what no descent method takes."""
    if not (np.isfinite(lr) and lr > 0):
        raise InvalidInputError(f"`lr` must be positive and finite, got {lr}.")
    check_count(iterations, "iterations")
    if isinstance(slope_at_zero, str) and slope_at_zero != "minimum-norm":
        raise InvalidInputError(f"`slope_at_zero` must be a number or 'minimum-norm', got {slope_at_zero!r}.")


def describe_rate(lr: float, slope_at_zero: SlopeAtZero, loss_scaled: bool) -> str:
    """Learning rate and slope at zero, in words."""
    slope = "leak" if slope_at_zero is None else slope_at_zero
    return f"lr {lr:g}{' over the loss' if loss_scaled else ''}, slope at zero {slope}"


def descent_of(
    problem: TrainingProblem,
    lr: float,
    slope_at_zero: SlopeAtZero,
    *,
    loss_scaled: bool = False,
    trains_output_layer: bool = True,
) -> Descent:
    """The constants of a run as the kernels take them."""
    dataset, loss, leak = problem.dataset, problem.loss, problem.network.leak
    if loss_scaled and not loss.is_classification:
        raise InvalidInputError(
            f"`loss_scaled` must be False for the {loss.name} loss, which need not tend to 0; "
            "it is for the logistic and the exponential loss."
        )
    if loss_scaled and problem.weight_decay > 0.0:
        raise InvalidInputError(
            f"`loss_scaled` must be False with weight decay {problem.weight_decay:g}, under which the loss does not "
            "tend to 0."
        )
    if lr * problem.weight_decay >= 1.0:
        raise InvalidInputError(
            f"`lr` must be below 1 / weight decay = {1.0 / problem.weight_decay:g}, got {lr:g}: a step would turn "
            "every neuron around."
        )
    tie = loss.value(np.zeros((1, 2)), np.zeros(1)) if loss.is_coupled else loss.value(np.zeros(1), np.ones(1))
    return Descent(
        samples=np.array(dataset.X),
        labels=np.array(dataset.y),
        weights=to_blocks(problem.network.weight[:, None])[:, 0, :].copy(),
        sample_weight=loss.sample_weight(dataset.n),
        leak=leak,
        slope_at_zero=slope_value(slope_at_zero, leak),
        lr=float(lr),
        loss_threshold=loss.sample_weight(dataset.n) * float(tie[0]) if loss_scaled else 0.0,
        trains_output_layer=trains_output_layer and problem.trains_output_layer,
        weight_decay=float(problem.weight_decay),
    )


def to_blocks(rows: FloatArray) -> FloatArray:
    """Rows (m, e) as the kernels take them, (num_blocks, e, BLOCK), the last block filled with zeros."""
    num_blocks = -(-len(rows) // BLOCK)
    padded = np.zeros((num_blocks * BLOCK, rows.shape[1]))
    padded[: len(rows)] = rows
    return np.ascontiguousarray(padded.reshape(num_blocks, BLOCK, -1).transpose(0, 2, 1))


def from_blocks(blocks: FloatArray, count: int) -> FloatArray:
    """The first `count` rows of `to_blocks`' argument."""
    return np.asarray(blocks.transpose(0, 2, 1).reshape(-1, blocks.shape[1])[:count])
