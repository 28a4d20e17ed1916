"""GroupedGradientDescent: the iterates of plain gradient descent at a cost that hardly depends on the width."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.descent.cone_group_kernels import CONES, IS_FULL, NUM_BINS, WALKERS, Groups
from reluflow.dynamics.descent.descent_kernels import Descent, outputs_of_blocks
from reluflow.dynamics.descent.descent_run import DescentRun
from reluflow.dynamics.descent.gradient_descent import AbstractFullBatchDescent, to_blocks
from reluflow.dynamics.descent.grouped_descent_kernels import descend_in_groups, neurons_as_they_are, place_in_table
from reluflow.dynamics.problem import TrainingProblem
from reluflow.errors import InvalidInputError
from reluflow.losses.compiled import compiled
from reluflow.network import Network

_FIRST_CAPACITY = 64  # cones; doubled when there are more


@dataclass(frozen=True)
class GroupedGradientDescent(AbstractFullBatchDescent):
    r"""The same iterates as `GradientDescent`, in cone-compressed form.

    With z = (w, a), one iteration maps every neuron of a cone by one and the same matrix
    $I + \mathrm{lr}\,[[0, D], [D^\top, 0]]$,
    and the outputs need only the second moments of the cone, so a cone of any number of neurons costs as much as a few.
    Neurons are looked at when a bound no longer excludes that they have met a boundary: after a path s = sum lr |D| a
    neuron has moved by at most $(e^s - 1)|z|$. Neurons near a boundary, those that jump back and forth across it
    included, are stepped one by one until they are away from it. The patterns are those of plain descent at every
    iteration; the numbers differ by rounding.

    Parameters
    ----------
    lr, iterations, slope_at_zero, loss_scaled
        As for `GradientDescent`.

    References
    ----------
    Boursier & Flammarion (2024), Eq. (6) [boursier2024]: D depends on a neuron through its pattern only.

    Examples
    --------
    >>> import reluflow
    >>> problem = reluflow.Experiment("three-points", width=20).problem()
    >>> grouped = reluflow.train(problem, GroupedGradientDescent(lr=0.01, iterations=1000))
    >>> plain = reluflow.train(problem, reluflow.GradientDescent(lr=0.01, iterations=1000))
    >>> bool(abs(grouped.loss - plain.loss) < 1e-12)
    True
    """

    def start(self, problem: TrainingProblem) -> GroupedRun:
        if not problem.has_single_output:
            raise InvalidInputError(
                "`problem` must have one output and no output bias for grouped descent, got "
                f"{problem.variant}; `GradientDescent` takes any."
            )
        return GroupedRun(problem, self._descent(problem), iterations=int(self.iterations))

    def describe(self) -> str:
        return f"grouped {super().describe()}"


class GroupedRun(DescentRun):
    """A run of grouped gradient descent. Every neuron starts as a walker and goes home at once if it can."""

    def __init__(self, problem: TrainingProblem, descent: Descent, *, iterations: int) -> None:
        super().__init__(problem, descent, iterations=iterations)
        self._loss = compiled(problem.loss)
        neurons = np.column_stack([self.start_network.w, self.start_network.a])
        self._groups = _all_walking(neurons, descent, capacity=_FIRST_CAPACITY)
        self._outputs = outputs_of_blocks(self._groups.walking, len(neurons), descent)

    @property
    def _state_names(self) -> tuple[str, ...]:
        return ("_groups", "_outputs")

    def _iterate(self, count: int) -> None:
        last = self._clock[0] + count
        while self._clock[0] < last:
            count = int(last - self._clock[0])
            descend_in_groups(self._groups, self._outputs, self._clock, count, self._descent, self._loss)
            if not self._groups.counters[IS_FULL]:
                break
            self._groups = _with_twice_the_capacity(self._groups)

    @property
    def num_walkers(self) -> int:
        """Neurons stepped one by one at the moment."""
        return int(self._groups.counters[WALKERS])

    @property
    def num_cones(self) -> int:
        """Cones that hold neurons at the moment."""
        return int(np.count_nonzero(self._groups.population))

    def outputs(self) -> FloatArray:
        return self._outputs.copy()

    def network(self) -> Network:
        neurons = neurons_as_they_are(self._groups)
        return self.start_network.replace(w=neurons[:, :-1], a=neurons[:, -1])


def _all_walking(neurons: FloatArray, descent: Descent, *, capacity: int) -> Groups:
    """Groups without a cone in use."""
    m, e = neurons.shape
    n = len(descent.labels)
    return Groups(
        neurons=neurons.copy(),
        home=np.full(m, -1),
        following=np.full(m, -1),
        walkers=np.arange(m),
        walking=to_blocks(neurons),
        walking_weights=descent.weights.copy(),
        counters=np.array([m, 0, 0, 0]),
        lengths=np.linalg.norm(descent.samples, axis=1),
        is_on=np.zeros((capacity, n), dtype=np.bool_),
        slopes=np.zeros((capacity, n)),
        is_inert=np.zeros(capacity, dtype=np.bool_),
        population=np.zeros(capacity, dtype=np.int64),
        frames=np.zeros((capacity, e, e)),
        returns=np.zeros((capacity, e, e)),
        inverted_at=np.full(capacity, -1),
        moments=np.zeros((capacity, e, e)),
        path=np.zeros(capacity),
        bin_width=np.zeros(capacity),
        cursor=np.zeros(capacity, dtype=np.int64),
        heads=np.full((capacity, NUM_BINS + 1), -1),
        table=np.full(4 * capacity, -1),
    )


def _with_twice_the_capacity(groups: Groups) -> Groups:
    """The same groups with capacity for twice as many cones, and the hash table made anew."""
    first, last = Groups._fields.index("is_on"), Groups._fields.index("heads")
    per_cone = Groups._fields[first : last + 1]  # they stand together
    changes = {name: np.concatenate([getattr(groups, name)] * 2) for name in per_cone}
    grown = groups._replace(**changes, table=np.full(2 * len(groups.table), -1))
    grown.population[groups.counters[CONES] :] = 0
    grown.counters[IS_FULL] = 0
    place_in_table(grown)
    return grown
