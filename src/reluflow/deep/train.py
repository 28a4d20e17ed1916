"""train_deep: the loop that trains a deep network, keeps what was asked for and notices when the loss is lost.

Steps of a deep network are compiled many at a time, so that it has a loop of its own; what it records is a `Keep`, as
for `reluflow.train`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reluflow.arrays import FloatArray
from reluflow.data.dataset import Dataset
from reluflow.deep.backend import arithmetic, device_name, equinox, jax, jnp, on_device, on_host, optax
from reluflow.deep.descent import DeepDescent, batch_table
from reluflow.deep.evaluation import outputs_on_device
from reluflow.deep.trajectory import DeepOutcome, DeepTrainingInterrupted, DeepTrajectory
from reluflow.dynamics.keep import Keep
from reluflow.errors import InvalidInputError
from reluflow.losses.loss import AbstractLoss, in_namespace

_SECONDS_PER_CHUNK = 0.2  # compiled code cannot be interrupted, so it comes back this often
_LARGEST_TABLE = 1 << 20  # entries of the table of batches that is on the device at once


def train_deep(
    network: Any,
    dataset: Dataset,
    loss: AbstractLoss,
    descent: DeepDescent,
    *,
    keep: Keep | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> DeepTrajectory:
    """Train a network of any depth on the CPU, or on the GPU where JAX sees one.

    Parameters
    ----------
    network
        A network of this package, or any Equinox module that maps one sample to one number.
    dataset
        n samples.
    loss
        Any loss, with its reduction.
    descent
        Optimiser, rate, length, batches, precision.
    keep
        Its `iterations` are those at which the loss on all samples is kept, by default a hundred, evenly spread; its
        `measure`, in JAX code, is called there with the run, of which it may ask `steps` and `network()`, and gives a
        dictionary of arrays.
    progress
        Called with the iteration and the loss at each of them.

    Returns
    -------
    DeepTrajectory
        The last network and the records. A loss that is no longer finite, on a batch or at a record, ends the run with
        outcome `diverged` at the network one step earlier, with what was recorded before.

    Raises
    ------
    DeepTrainingInterrupted
        On Ctrl-C; a KeyboardInterrupt that holds the trajectory up to then.
    """
    dataset.refuse_several_outputs("deep networks")
    loss.check_labels(dataset.y, dataset.classes)
    if descent.batch is not None and descent.batch > dataset.n:
        raise InvalidInputError(f"`batch` must be at most n = {dataset.n}, got {descent.batch}; None is all of them.")
    last = descent.num_steps(dataset.n)
    keep = keep or Keep(iterations=[round(last * k / 100) for k in range(101)])
    _check_keep(keep, last)
    with arithmetic(descent.precision):
        run = _Run(network, dataset, loss, descent)
        if not np.isfinite(run.loss()):
            raise InvalidInputError(
                f"`network` must have a finite loss on `dataset` in {descent.precision}; lower its scale."
            )
        kept: list[tuple[int, float, Mapping[str, Any]]] = []

        def trajectory(outcome: DeepOutcome) -> DeepTrajectory:
            names = kept[0][2].keys() if kept else ()
            return DeepTrajectory(
                network=on_host(run.network),
                outcome=outcome,
                iteration=run.iteration,
                iterations=np.array([entry[0] for entry in kept], dtype=np.int64),
                losses=np.array([entry[1] for entry in kept]),
                records={name: np.array([entry[2][name] for entry in kept], dtype=np.float64) for name in names},
                method=descent.describe(),
                device=device_name(),
            )

        try:
            for stop in keep.iterations:
                run.advance_to(stop)
                if run.has_diverged:
                    break
                value = run.loss()
                if not np.isfinite(value):
                    run.step_back()
                    break
                kept.append((stop, value, run.measured(keep)))
                if progress is not None:
                    progress(stop, value)
            run.advance_to(last)
            if not (run.has_diverged or np.isfinite(run.loss())):
                run.step_back()
        except KeyboardInterrupt as interrupt:
            raise DeepTrainingInterrupted(trajectory(DeepOutcome.INTERRUPTED)) from interrupt
        return trajectory(DeepOutcome.DIVERGED if run.has_diverged else DeepOutcome.FINISHED)


class MeasuredRun(equinox.Module):  # type: ignore[misc, unused-ignore]  # without the extra it has no types
    """What a measure sees of a run, on the device."""

    _network: Any
    steps: Any

    def network(self) -> Any:
        """The network now."""
        return self._network


class _Run:
    """A run in progress: the state on the device, and compiled chunks of steps."""

    def __init__(self, network: Any, dataset: Dataset, loss: AbstractLoss, descent: DeepDescent) -> None:
        self.iteration = 0
        self.has_diverged = False
        self._last = descent.num_steps(dataset.n)
        self._loss = loss
        self._value = in_namespace(loss.formulas.value, jnp)
        self._factor = loss.sample_weight(dataset.n) * dataset.n
        self._samples, self._labels = (on_device(np.array(part), descent.precision) for part in (dataset.X, dataset.y))
        placed = on_device(network, descent.precision)
        _check_network(placed, self._samples)
        parameters, self._structure = equinox.partition(placed, equinox.is_inexact_array)
        self._optimizer = descent.transformation()
        # parameters, the state of the optimiser, and the parameters one step earlier
        self._state = (parameters, jax.jit(self._optimizer.init)(parameters), parameters)
        self._chunk = 1
        self._tables = _tables(descent, dataset.n)
        self._data: tuple[Any, ...] = ()  # samples, labels, and the present table of batches
        self._table_end = self._row = 0
        # XLA's convolutions on a CPU are ten times slower inside a compiled loop than in a step of their own
        has_convolutions = any(leaf.ndim > 2 for leaf in jax.tree.leaves(parameters))
        self._steps = self._one_by_one if has_convolutions else jax.jit(self._in_one_loop)
        self._one_step = jax.jit(self._step)

    @property
    def network(self) -> Any:
        """The network now, on the device."""
        return equinox.combine(self._state[0], self._structure)

    def step_back(self) -> None:
        """Return to the network one step earlier, the last whose loss was finite, for good."""
        self.has_diverged = True
        self.iteration = max(self.iteration - 1, 0)
        self._state = (self._state[2], self._state[1], self._state[2])

    def measured(self, keep: Keep) -> dict[str, Any]:
        """What is to be kept of the run now, by name."""
        now = MeasuredRun(self.network, jnp.asarray(self.iteration))
        return {} if keep.measure is None else on_host(_measured(keep.measure, now))

    def loss(self) -> float:
        """The objective on all samples."""
        outputs = outputs_on_device(self.network, self._samples)
        return self._factor * float(_mean_value(self._loss, outputs, self._labels))

    def advance_to(self, iteration: int) -> None:
        """Go on to an iteration, unless the loss is lost before."""
        while self.iteration < iteration and not self.has_diverged:
            if self._row == self._table_end:
                index, weight = next(self._tables)
                self._table_end, self._row = len(index) if len(index) else self._last, 0
                weights = on_device(weight, self._samples.dtype.name)
                self._data = (self._samples, self._labels, jnp.asarray(index), weights)
            count = min(self._chunk, iteration - self.iteration, self._table_end - self._row)
            began = time.perf_counter()
            taken, is_finite, state = self._steps(self._state, self._data, self._row, count)
            steps = int(taken)
            self._state, self.iteration, self._row = state, self.iteration + steps, self._row + steps
            if not bool(is_finite):
                self.step_back()
            seconds = time.perf_counter() - began
            if count == self._chunk and seconds < 0.5 * _SECONDS_PER_CHUNK:
                self._chunk *= 2
            elif seconds > 2.0 * _SECONDS_PER_CHUNK:
                self._chunk = max(1, self._chunk // 2)

    def _in_one_loop(self, state: Any, data: Any, first: Any, count: Any) -> Any:
        """Up to `count` steps, fewer where the loss of a step is not finite: (steps taken, is finite, state)."""
        start = (jnp.zeros((), dtype=jnp.int32), jnp.ones((), dtype=bool), state)
        return jax.lax.while_loop(
            lambda carried: (carried[0] < count) & carried[1],
            lambda carried: self._step(carried, data, first),
            start,
        )

    def _one_by_one(self, state: Any, data: Any, first: int, count: int) -> Any:
        """The same, with a compiled step called from here; a step after the loss is lost changes nothing."""
        carried = (jnp.zeros((), dtype=jnp.int32), jnp.ones((), dtype=bool), state)
        for _ in range(count):
            carried = self._one_step(carried, data, first)
        return carried

    def _step(self, carried: Any, data: Any, first: Any) -> Any:
        """One step from (steps taken, is finite, state); none once the loss is lost."""
        taken, was_finite, now = carried
        parameters, memory, _ = now
        value, gradient = jax.value_and_grad(self._batch_loss)(parameters, data, first + taken)
        updates, memory_after = self._optimizer.update(gradient, memory, parameters)
        after = (optax.apply_updates(parameters, updates), memory_after, parameters)
        is_finite = was_finite & jnp.isfinite(value)
        kept = jax.tree.map(lambda new, old: jnp.where(is_finite, new, old), after, now)
        return taken + is_finite.astype(jnp.int32), is_finite, kept

    def _batch_loss(self, parameters: Any, data: Any, row: Any) -> Any:
        """The objective on the batch in a row of the table, or on all samples where the table is empty."""
        network = equinox.combine(parameters, self._structure)
        samples, labels, index, weight = data
        if index.size == 0:
            return self._factor * jnp.mean(self._value(jax.vmap(network)(samples), labels))
        chosen = index[row]
        values = self._value(jax.vmap(network)(samples[chosen]), labels[chosen])
        return self._factor * jnp.sum(weight[row] * values)


def _check_network(network: Any, samples: Any) -> None:
    """Refuse a network that does not map a sample to a number."""
    try:
        shape = jax.eval_shape(lambda X: network(X[0]), samples).shape
    except (TypeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise InvalidInputError(
            f"`network` must take samples of dimension {samples.shape[1]}, which `dataset` has: {reason}"
        ) from error
    if shape != ():
        raise InvalidInputError(f"`network` must map a sample to one number, got an array of shape {shape}.")


def _tables(descent: DeepDescent, num_samples: int) -> Iterator[tuple[NDArray[np.int32], FloatArray]]:
    """Tables of batches one after the other; empty ones for descent on all samples."""
    if descent.batch is None:
        while True:
            yield np.empty((0, 0), dtype=np.int32), np.empty((0, 0))
    rng = np.random.default_rng(descent.seed)
    per_epoch = descent.steps_per_epoch(num_samples)
    all_epochs = -(-descent.num_steps(num_samples) // per_epoch)
    epochs = max(1, min(_LARGEST_TABLE // (per_epoch * descent.batch), all_epochs))
    while True:
        yield batch_table(rng, num_samples, descent.batch, epochs=epochs)


@partial(jax.jit, static_argnums=0)  # one program, where each operation of a formula would be compiled by itself
def _mean_value(loss: AbstractLoss, outputs: Any, labels: Any) -> Any:
    return jnp.mean(in_namespace(loss.formulas.value, jnp)(outputs, labels))


@equinox.filter_jit
def _measured(measure: Callable[[Any], Mapping[str, Any]], run: MeasuredRun) -> Any:
    return dict(measure(run))


def _check_keep(keep: Keep, last: int) -> None:
    """Refuse what a deep network cannot keep."""
    if keep.times or keep.thinned or keep.recorder is not None:
        raise InvalidInputError(
            f"`keep` must hold `iterations` and a `measure` only for a deep network, got {keep}; its steps have no "
            "time of a flow and are compiled many at a time."
        )
    if keep.iterations and keep.iterations[-1] > last:
        raise InvalidInputError(f"`iterations` to keep must be at most the {last} taken, got {keep.iterations[-1]}.")
