"""WatchedDescent: gradient descent, SGD or descent with momentum, and the walls its neurons meet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from reluflow.arrays import FloatArray, IntArray, SignArray
from reluflow.dynamics.descent.descent_run import check_count, materialized
from reluflow.dynamics.problem import TrainingProblem
from reluflow.errors import InvalidInputError
from reluflow.geometry.boundary.walls import Walls
from reluflow.learning_rates.watched_descent_kernels import (
    CROSSING,
    LOG_FULL,
    OVERFLOWED,
    DescentWorkspace,
    Log,
    Neurons,
    Rules,
    Watch,
    descend_watched,
)
from reluflow.losses.compiled import compiled
from reluflow.network import Network

_LOG = 4096  # entries beside one for every pair
_MOST_EVENTS = 200_000  # beyond, descent jumps about, and who met what says nothing
_BATCHES = 1000  # iterations whose samples are drawn at once


@dataclass(frozen=True)
class DescentRule:
    """How descent steps: v <- momentum v - grad, theta <- theta + lr v.

    Parameters
    ----------
    lr
        The learning rate.
    momentum
        In [0, 1); 0 is plain descent.
    batch
        Samples drawn for each step, with replacement; None takes all of them.
    seed
        Of the draws.
    """

    lr: float
    momentum: float = 0.0
    batch: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.lr) and self.lr > 0.0):
            raise InvalidInputError(f"`lr` must be positive and finite, got {self.lr}.")
        if not 0.0 <= self.momentum < 1.0:
            raise InvalidInputError(f"`momentum` must lie in [0, 1), got {self.momentum}.")
        if self.batch is not None:
            check_count(self.batch, "batch")


class GateEvents(NamedTuple):
    """What happened at walls, in order of time, one entry each."""

    times: FloatArray
    neurons: IntArray
    walls: IntArray
    kinds: SignArray  # CROSSING, SLIDE_ENTRY or SLIDE_EXIT
    sides: SignArray  # of the wall, after it; 0: it slides, or that is not known


class WatchedDescent:
    """A descent that goes on when asked to, and its events so far.

    Parameters
    ----------
    problem
        Dataset, loss and the network it starts from.
    rule
        How it steps.
    """

    def __init__(self, problem: TrainingProblem, rule: DescentRule) -> None:
        self.problem, self.rule = problem, rule
        network, dataset = materialized(problem.network), problem.dataset
        self.walls = Walls.of(dataset.X)
        w, a = network.w.copy(), network.a.copy()
        self._network = network
        self._neurons = Neurons(w, a, np.zeros_like(w), np.zeros_like(a))
        self._rules = Rules(
            dataset.X.copy(), dataset.y.copy(), self.walls.normals, network.weight.copy(),
            problem.loss.sample_weight(dataset.n), network.leak, rule.lr, rule.momentum, problem.weight_decay,
            problem.trains_output_layer,
        )  # fmt: skip
        heights = np.ascontiguousarray(w @ self.walls.normals.T)
        shape = heights.shape
        first, last, changes = np.zeros((3, *shape), dtype=np.int64)
        sides = np.where(heights > 0.0, 1, -1).astype(np.int8)
        self._watch = Watch(sides, heights, np.zeros(shape), first, last, changes)
        self._log = _empty_log(_LOG + heights.size)
        self._rng = np.random.default_rng(rule.seed)
        self._outputs = np.zeros(dataset.n)
        self._workspace = DescentWorkspace(np.empty((len(a), dataset.n)), np.empty(dataset.n), np.empty(dataset.d))
        self.has_overflowed = False
        self.is_erratic = False

    @property
    def steps(self) -> int:
        """Iterations taken."""
        return int(self._log.counts[1])

    @property
    def time(self) -> float:
        """lr times the iterations taken."""
        return self.rule.lr * self.steps

    def network(self) -> Network:
        """The network now."""
        return self._network.replace(a=self._neurons.a.copy(), w=self._neurons.w.copy(), log_scale=0.0)

    def outputs(self) -> FloatArray:
        """h(x_k) now, shape (n,)."""
        return self.network().outputs(self.problem.dataset.X)

    def advance(self, step: int) -> None:
        """Go on to an iteration, or to where a weight leaves the range in which outputs are doubles."""
        loss = compiled(self.problem.loss)
        while self.steps < step and not self.has_overflowed:
            count = step - self.steps
            batches = np.zeros((0, 0), dtype=np.int64)
            if self.rule.batch is not None:
                count = min(count, _BATCHES)
                batches = self._rng.integers(self.problem.dataset.n, size=(count, self.rule.batch))
            began = self.steps
            with np.errstate(over="ignore", invalid="ignore"):
                status = descend_watched(
                    self._neurons, self._rules, self._workspace, self._watch, self._log, self._outputs, batches, began,
                    count, loss,
                )  # fmt: skip
            self.has_overflowed = status == OVERFLOWED
            if status == LOG_FULL:
                self._grow_log()

    def _grow_log(self) -> None:
        """Lengthen the log; of a descent that jumps about without end keep the first events alone."""
        count = int(self._log.counts[0])
        if count > _MOST_EVENTS:
            self.is_erratic = True
            self._log.counts[0] = 0
            return
        longer = _empty_log(2 * len(self._log.steps))
        longer.counts[:], longer.steps[:count] = self._log.counts, self._log.steps[:count]
        longer.neurons[:count], longer.walls[:count] = self._log.neurons[:count], self._log.walls[:count]
        longer.kinds[:count], longer.sides[:count] = self._log.kinds[:count], self._log.sides[:count]
        self._log = longer

    def events(self) -> GateEvents:
        """All events so far, by iteration; a change of sign that has not led anywhere yet counts as a crossing."""
        log, count = self._log, int(self._log.counts[0])
        now = np.where(self._watch.heights > 0.0, 1, -1).astype(np.int8)
        is_waiting = (self._watch.jump > 0.0) & (self._watch.side != 0) & (self._watch.side != now)
        neurons, walls = np.nonzero(is_waiting)
        steps = np.concatenate([log.steps[:count], self._watch.last[is_waiting]])
        kinds = np.concatenate([log.kinds[:count], np.full(len(neurons), CROSSING, dtype=np.int8)])
        sides = np.concatenate([log.sides[:count], now[is_waiting]])
        neurons = np.concatenate([log.neurons[:count], neurons])
        walls = np.concatenate([log.walls[:count], walls])
        order = np.argsort(steps, kind="stable")
        return GateEvents(self.rule.lr * steps[order], neurons[order], walls[order], kinds[order], sides[order])

    def final_sides(self) -> SignArray:
        """The side of every wall on which each neuron is, 0 where it chatters along it, (m, num_walls)."""
        now = np.where(self._watch.heights > 0.0, 1, -1)
        return np.where(self._watch.side == 0, 0, now).astype(np.int8)


def _empty_log(capacity: int) -> Log:
    steps, neurons, walls = (np.zeros(capacity, dtype=np.int64) for _ in range(3))
    kinds, sides = (np.zeros(capacity, dtype=np.int8) for _ in range(2))
    return Log(np.zeros(2, dtype=np.int64), steps, neurons, walls, kinds, sides)
