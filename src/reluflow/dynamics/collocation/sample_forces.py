"""SampleForces: the samples as walls that pull on neurons."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from reluflow.arrays import BoolArray, FloatArray
from reluflow.dynamics.collocation.neuron_path_kernels import Paths
from reluflow.dynamics.collocation.output_kernels import add_changed_outputs, add_outputs
from reluflow.dynamics.collocation.relative_forces import RelativeForces, relative_forces
from reluflow.dynamics.collocation.tuning import BLOCK_NUMBERS, DEVICE_FROM_SAMPLES, SINGLE_PRECISION_SAMPLES
from reluflow.dynamics.problem import TrainingProblem
from reluflow.geometry.boundary.walls import Walls
from reluflow.threads import product

if TYPE_CHECKING:
    from reluflow.dynamics.collocation.device_products import DeviceProducts

Device = Literal["cpu", "gpu"]


class SampleForces:
    """The samples as walls that pull on neurons: the constants of a run.

    Forces and outputs of K outputs stand sample by sample in one row, n K numbers.

    Parameters
    ----------
    problem
        What is trained: samples (n, d), labels, loss, leak, weight decay, and whether pulls move output weights.
    walls
        The samples' hyperplanes.
    num_samples
        How many the loss is of, where these are a part of them.
    device
        Where large products are made.

    Attributes
    ----------
    fades
        Whether all forces fade for ever, so that they are told relative to a rate: not under weight decay.
    rate_signs
        What R is the sum of, shape (n K,): of a loss that fades R = <rate_signs, forces>.
    shared_decay, own_decay
        Weight decay lambda where it shrinks whole neurons, z = e^(-lambda t) z~ with z~ moved by the pulls alone, and
        where it shrinks the w of neurons whose a is frozen. One of the two is 0.
    on_device
        The products on an accelerator, where one was asked for and the samples are many.
    """

    def __init__(
        self, problem: TrainingProblem, walls: Walls, *, num_samples: int | None = None, device: Device = "cpu"
    ) -> None:
        self.X, self.labels = np.asarray(problem.dataset.X), np.asarray(problem.dataset.y)
        self.loss, self.walls, self.leak = problem.loss, walls, problem.network.leak
        self.num_samples = num_samples or len(self.X)
        leak, decay = self.leak, float(problem.weight_decay)
        self.moves_outputs, self.num_outputs = bool(problem.trains_output_layer), problem.num_outputs
        self.moves_bias = problem.moves_output_bias
        self.is_own = np.zeros((0, 0), dtype=bool)  # (n, K), of classes
        if self.loss.is_coupled:
            self.is_own = self.labels[:, None] == np.arange(self.num_outputs)
        self.rate_signs = self.is_own.ravel().astype(np.float64) if self.loss.is_coupled else self.labels.ravel()
        self.fades = self.loss.fades and decay == 0.0
        self.shared_decay, self.own_decay = (decay, 0.0) if self.moves_outputs else (0.0, decay)
        self._factors = (walls.pull_factors(1, leak), walls.pull_factors(-1, leak))
        self.counted: BoolArray | None = None  # samples in the rate of a fading loss; None: all
        self.margin_offsets: FloatArray | None = None  # what margins are ahead by beyond the outputs; None: nothing
        self._memory = np.empty(0)
        self.device = device
        self.on_device = _on_device(self.X, walls, leak, device, has_whole_kernel=self.has_one_force_each)
        self.is_silent = np.ones((len(walls.normals), 2), dtype=bool)  # which walls pull nothing, on - and on +
        for column, factor in enumerate(reversed(self._factors)):
            np.logical_and.at(self.is_silent[:, column], walls.wall_of_sample, factor == 0.0)

    @property
    def has_one_force_each(self) -> bool:
        """Whether every sample has one force, which moves neurons alone."""
        return self.num_outputs == 1 and not self.moves_bias

    def of_walls(self, forces: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What every wall pulls along its normal on its positive and negative side, shapes (K P, B).

        From forces (P, n K); rows are output by output, as kernels take them.
        """
        if self.num_outputs > 1:
            of_outputs = forces.reshape(len(forces), len(self.X), self.num_outputs)
            forces = of_outputs.transpose(2, 0, 1).reshape(-1, len(self.X))
        both = []
        for factor in self._factors:
            pull = np.zeros((len(forces), len(self.walls.normals)))
            if len(self.X) == pull.shape[1]:
                pull[:, self.walls.wall_of_sample] = forces * factor
            else:
                np.add.at(pull.T, self.walls.wall_of_sample, (forces * factor).T)
            both.append(pull)
        return both[0], both[1]

    def relative(self, outputs: FloatArray, *, with_curvatures: bool = True) -> RelativeForces:
        """Forces relative to the rate at outputs of shape (P, n K)."""
        return relative_forces(
            *(self._by_sample(self._ahead(outputs)), self.labels, self.loss, self.counted),
            num_samples=self.num_samples,
            fades=self.fades,
            with_curvatures=with_curvatures,
        )

    def log_forces(self, outputs: FloatArray) -> FloatArray:
        """ln |dl/dh| of every sample at outputs (n K,), of classes that of the own one."""
        logs = self.loss.log_force(self._by_sample(self._ahead(outputs)), self.labels)
        return np.sum(np.where(self.is_own, logs, 0.0), axis=1) if self.loss.is_coupled else logs

    @property
    def fades_alone(self) -> bool:
        """Whether every force is a share of a sum, of which a sample has one."""
        return self.fades and self.has_one_force_each

    def steepness(self, outputs: FloatArray) -> FloatArray:
        """- d ln |dl/dh| / d(y h) of a loss that fades at outputs (n,), 0 of samples that are not in the rate."""
        ahead = self._ahead(outputs)
        found = np.exp(self.loss.log_curvature(ahead, self.labels) - self.loss.log_force(ahead, self.labels))
        return np.asarray(found if self.counted is None else np.where(self.counted, found, 0.0))

    def margins(self, outputs: FloatArray) -> FloatArray:
        """y h of every sample at outputs (n K,); of classes h_y - h_c of every other class, infinite of the own one."""
        if not self.loss.is_coupled:
            return np.asarray(outputs * self.labels)
        h = self._by_sample(outputs)
        own = np.sum(np.where(self.is_own, h, 0.0), axis=1, keepdims=True)
        return np.where(self.is_own, np.inf, own - h).ravel()

    def smallest_margins(self, outputs: FloatArray) -> FloatArray:
        """Of every sample, shape (n,)."""
        return np.asarray(np.min(self.margins(outputs).reshape(len(self.X), -1), axis=1))

    def forces_of(self, which: BoolArray) -> BoolArray:
        """The forces (n K,) of some samples (n,)."""
        return which if self.num_outputs == 1 else which.repeat(self.num_outputs)

    @property
    def counted_forces(self) -> BoolArray | None:
        """Which forces (n K,) are of samples in the rate; None: all."""
        return None if self.counted is None else self.forces_of(self.counted)

    def _by_sample(self, outputs: FloatArray) -> FloatArray:
        """Outputs (..., n K) with an axis for those of a sample, where these are several."""
        if self.num_outputs == 1:
            return outputs
        return outputs.reshape(*outputs.shape[:-1], len(self.X), self.num_outputs)

    def _ahead(self, outputs: FloatArray) -> FloatArray:
        """Outputs with the margin offsets."""
        if self.margin_offsets is None:
            return outputs
        signs = np.where(self.is_own, 0.0, -1.0).ravel() if self.loss.is_coupled else self.labels
        return outputs + signs * self.margin_offsets

    def largest(self, forces: FloatArray) -> float:
        """Largest |force| at some moments, shape (P, n K), of the samples in the rate."""
        counted = self.counted_forces
        sizes = np.abs(forces if counted is None else forces[:, counted])
        return float(np.maximum.reduce(sizes, axis=None, initial=0.0))

    def count(self, slopes: FloatArray | None) -> bool:
        """Leave samples on which no neuron acts out of the rate; with None, take all of them. Whether that changed."""
        acted_on = np.ones(len(self.X), dtype=bool)
        if slopes is not None and self.fades and np.any(slopes) and not self.moves_bias:  # which all samples move
            acted_on = np.any(slopes, axis=0)
        before = acted_on | True if self.counted is None else self.counted
        self.counted = None if np.all(acted_on) else acted_on
        return not np.array_equal(before, acted_on)

    def first_contact(self, paths: Paths) -> float:
        """The first tau from which a neuron acts on a sample that was not counted, else infinity."""
        return float(np.min(paths.event_taus[self._is_contact(paths)], initial=np.inf))

    def contacts(self, paths: Paths, soon: float) -> list[tuple[int, int]]:
        """The paths that pass walls of such samples up to tau = `soon`, and which."""
        found = np.argwhere(self._is_contact(paths) & (paths.event_taus <= soon))
        return sorted({(int(row), int(paths.event_walls[row, place])) for row, place in found})

    def _is_contact(self, paths: Paths) -> BoolArray:
        """Which events let a neuron act on a sample that was not counted, in the shape of the paths' events.

        Not those that leave it sliding along the wall of one, or on the side where it is off.
        """
        if self.counted is None:
            return np.zeros(paths.event_walls.shape, dtype=bool)
        is_event = np.arange(paths.event_walls.shape[1]) < paths.num_events[:, None]
        uncounted = ~self.counted & (self.walls.orientation != 0)
        acts = np.zeros((len(self.walls.normals) + 1, 3), dtype=bool)  # on -, on the wall, on +; last, of no wall
        for column, side in ((0, -1), (2, 1)):
            acts[self.walls.wall_of_sample[uncounted & (self.walls.orientation == side)], column] = True
        return np.asarray(is_event & acts[paths.event_walls, paths.event_sides.astype(np.intp) + 1])

    def heights(self, w: FloatArray) -> FloatArray:
        """<w_j, normal_b> of every wall, shape (m, B)."""
        return w @ self.walls.normals.T if self.on_device is None else self.on_device.heights(w)

    def gram(self) -> NDArray[Any]:
        """X X^T in the precision of tangent kernels."""
        if self.on_device is not None:
            return self.on_device.gram()
        rows: NDArray[Any] = self.single_samples if kernel_precision(len(self.X)) == np.float32 else self.X
        return np.asarray(rows @ rows.T)

    def outputs(self, places: FloatArray, mass: FloatArray) -> FloatArray:
        """h at P moments, shape (P, n K), from places (m, P, d + K) of neurons with given masses; without the bias."""
        if self.on_device is not None:
            return self.on_device.outputs(places, mass)
        outputs = np.zeros((self.num_outputs, places.shape[1], len(self.X)))
        w, weights = self._levers(places, mass)
        for part in self._blocks(places):
            add_outputs(self._products(w[part], self.X), np.ascontiguousarray(weights[:, part]), self.leak, outputs)
        return self._in_rows(outputs)

    def outputs_near(self, starts: FloatArray, heights: FloatArray, places: FloatArray, mass: FloatArray) -> FloatArray:
        """The same, with what has changed since w were `starts` (m, d), on `heights` (m, B), in single precision."""
        outputs = np.zeros((self.num_outputs, places.shape[1], len(self.X)))
        w, weights = self._levers(places, mass)
        for part in self._blocks(places):
            moves = self._products((w[part] - starts[part, None]).astype(np.float32), self.single_samples)
            before = np.take(heights[part], self.walls.wall_of_sample, axis=1)  # rows in one piece, unlike [:, places]
            before *= self.walls.orientation * self.walls.length
            add_changed_outputs(before, moves, np.ascontiguousarray(weights[:, part]), self.leak, outputs)
        return self._in_rows(outputs)

    def _levers(self, places: FloatArray, mass: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Input weights at places (m, P, d + K), and what every output takes of each neuron there, (K, m, P)."""
        d = self.X.shape[1]
        return places[:, :, :d], np.ascontiguousarray((places[:, :, d:] * mass[:, None, None]).transpose(2, 0, 1))

    def _in_rows(self, outputs: FloatArray) -> FloatArray:
        """Outputs (K, P, n), each in one piece, sample by sample: (P, n K)."""
        return outputs[0] if self.num_outputs == 1 else outputs.transpose(1, 2, 0).reshape(outputs.shape[1], -1)

    @cached_property
    def single_samples(self) -> NDArray[np.float32]:
        """The samples in single precision."""
        return self.X.astype(np.float32)

    @cached_property
    def single_normals(self) -> NDArray[np.float32]:
        """The walls' normals in single precision."""
        return self.walls.normals.astype(np.float32)

    def __getstate__(self) -> dict[str, Any]:
        made_again = ("single_samples", "single_normals")
        kept = {name: value for name, value in vars(self).items() if name not in made_again}
        return kept | {"_memory": np.empty(0)}

    def _blocks(self, places: FloatArray) -> list[slice]:
        """Neurons of which all pre-activations fit into memory at once."""
        block = max(1, BLOCK_NUMBERS // max(1, places.shape[1] * len(self.X)))
        return [slice(first, first + block) for first in range(0, len(places), block)]

    def _products(self, rows: NDArray[Any], samples: NDArray[Any]) -> NDArray[Any]:
        """<rows, samples>, shape (m P, n), in memory that is kept: fresh memory costs more than what fills it."""
        rows = rows.reshape(-1, rows.shape[-1])
        size = len(rows) * len(samples)
        if self._memory.size < size:
            self._memory = np.empty(size)
        found = self._memory.view(rows.dtype)[:size].reshape(len(rows), len(samples))
        return product(rows, samples.T, found)


def _on_device(
    X: FloatArray, walls: Walls, leak: float, device: Device, *, has_whole_kernel: bool
) -> DeviceProducts | None:
    if device == "cpu" or len(X) < DEVICE_FROM_SAMPLES:
        return None
    from reluflow.dynamics.collocation.device_products import DeviceProducts  # JAX is an extra

    return DeviceProducts(X, walls.normals, leak, kernel_precision(len(X)), has_whole_kernel=has_whole_kernel)


def kernel_precision(n: int) -> np.dtype[Any]:
    """Of the tangent kernel of n samples: it only steers an iteration, so that single is enough where they are many."""
    return np.dtype(np.float64 if n <= SINGLE_PRECISION_SAMPLES else np.float32)
