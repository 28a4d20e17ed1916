"""SampleForces: the samples as walls that pull on neurons."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from reluflow.arrays import BoolArray, FloatArray
from reluflow.dynamics.flow.neuron_path_kernels import Paths
from reluflow.dynamics.flow.output_kernels import add_changed_outputs, add_outputs
from reluflow.dynamics.flow.relative_forces import RelativeForces, relative_forces
from reluflow.dynamics.problem import TrainingProblem
from reluflow.geometry.boundary.walls import Walls
from reluflow.threads import product

if TYPE_CHECKING:
    from reluflow.dynamics.flow.device_products import DeviceProducts

Device = Literal["cpu", "gpu"]

_CHUNK = 2**24  # numbers in one block of pre-activations
_MANY_SAMPLES = 3000  # beyond, tangent kernels are made in single precision
_WORTH_A_DEVICE = 4000  # samples from which products on an accelerator are worth their compilation


class SampleForces:
    """The samples as walls that pull on neurons: the constants of a run.

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
        self.moves_outputs = bool(problem.trains_output_layer)
        self.fades = self.loss.fades and decay == 0.0
        self.shared_decay, self.own_decay = (decay, 0.0) if self.moves_outputs else (0.0, decay)
        self._factors = (walls.pull_factors(1, leak), walls.pull_factors(-1, leak))
        self.counted: BoolArray | None = None  # samples in the rate of a fading loss; None: all
        self.head_starts: FloatArray | None = None  # what margins y h are ahead by beyond the outputs; None: nothing
        self._room = np.empty(0)
        self.device, self.on_device = device, _on_device(self.X, walls, leak, device)
        self.is_silent = np.ones((len(walls.normals), 2), dtype=bool)  # which walls pull nothing, on - and on +
        for column, factor in enumerate(reversed(self._factors)):
            np.logical_and.at(self.is_silent[:, column], walls.wall_of_sample, factor == 0.0)

    def of_walls(self, forces: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What every wall pulls along its normal on its positive and negative side, shapes (P, B)."""
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
        """Forces relative to the rate at outputs of shape (P, n)."""
        return relative_forces(
            *(self._ahead(outputs), self.labels, self.loss, self.counted),
            num_samples=self.num_samples,
            fades=self.fades,
            with_curvatures=with_curvatures,
        )

    def log_forces(self, outputs: FloatArray) -> FloatArray:
        """ln |dl/dh| of every sample at outputs (n,)."""
        return self.loss.log_force(self._ahead(outputs), self.labels)

    def _ahead(self, outputs: FloatArray) -> FloatArray:
        """Outputs with the head starts."""
        return outputs if self.head_starts is None else outputs + self.labels * self.head_starts

    def largest(self, forces: FloatArray) -> float:
        """Largest |force| at some moments, shape (P, n), of the samples in the rate."""
        return float(np.max(np.abs(forces if self.counted is None else forces[:, self.counted]), initial=0.0))

    def count(self, slopes: FloatArray | None) -> bool:
        """Leave samples on which no neuron acts out of the rate; with None, take all of them. Whether that changed."""
        acted_on = np.ones(len(self.X), dtype=bool)
        if slopes is not None and self.fades and np.any(slopes):
            acted_on = np.any(slopes, axis=0)
        before = acted_on | True if self.counted is None else self.counted
        self.counted = None if np.all(acted_on) else acted_on
        return not np.array_equal(before, acted_on)

    def first_wake(self, paths: Paths) -> float:
        """The first tau from which a neuron acts on a sample that was not counted, else infinity."""
        return float(np.min(paths.event_taus[self._is_waking(paths)], initial=np.inf))

    def waking(self, paths: Paths, soon: float) -> list[tuple[int, int]]:
        """The paths that pass walls of such samples up to tau = `soon`, and which."""
        found = np.argwhere(self._is_waking(paths) & (paths.event_taus <= soon))
        return sorted({(int(row), int(paths.event_walls[row, place])) for row, place in found})

    def _is_waking(self, paths: Paths) -> BoolArray:
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
        """h at P moments, shape (P, n), from places (m, P, d + 1) of neurons with given masses."""
        if self.on_device is not None:
            return self.on_device.outputs(places, mass)
        outputs = np.zeros((places.shape[1], len(self.X)))
        weights = np.ascontiguousarray(places[:, :, -1] * mass[:, None])
        for part in self._blocks(places):
            heights = self._products(places[part, :, :-1], self.X)
            add_outputs(heights, weights[part], self.leak, outputs)
        return outputs

    def outputs_near(self, starts: FloatArray, heights: FloatArray, places: FloatArray, mass: FloatArray) -> FloatArray:
        """The same, with what has changed since w were `starts` (m, d), on `heights` (m, B), in single precision."""
        outputs = np.zeros((places.shape[1], len(self.X)))
        weights = np.ascontiguousarray(places[:, :, -1] * mass[:, None])
        for part in self._blocks(places):
            moves = (places[part, :, :-1] - starts[part, None]).astype(np.float32)
            before = heights[part][:, self.walls.wall_of_sample] * (self.walls.orientation * self.walls.length)
            add_changed_outputs(before, self._products(moves, self.single_samples), weights[part], self.leak, outputs)
        return outputs

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
        return kept | {"_room": np.empty(0)}

    def _blocks(self, places: FloatArray) -> list[slice]:
        """Neurons of which all pre-activations fit into memory at once."""
        block = max(1, _CHUNK // max(1, places.shape[1] * len(self.X)))
        return [slice(first, first + block) for first in range(0, len(places), block)]

    def _products(self, rows: NDArray[Any], samples: NDArray[Any]) -> NDArray[Any]:
        """<rows, samples>, shape (m P, n), in memory that is kept: fresh memory costs more than what fills it."""
        rows = rows.reshape(-1, rows.shape[-1])
        size = len(rows) * len(samples)
        if self._room.size < size:
            self._room = np.empty(size)
        found = self._room.view(rows.dtype)[:size].reshape(len(rows), len(samples))
        return product(rows, samples.T, found)


def _on_device(X: FloatArray, walls: Walls, leak: float, device: Device) -> DeviceProducts | None:
    if device == "cpu" or len(X) < _WORTH_A_DEVICE:
        return None
    from reluflow.dynamics.flow.device_products import DeviceProducts  # JAX is an extra

    return DeviceProducts(X, walls.normals, leak, kernel_precision(len(X)))


def kernel_precision(n: int) -> np.dtype[Any]:
    """Of the tangent kernel of n samples: it only steers an iteration, so that single is enough where they are many."""
    return np.dtype(np.float64 if n <= _MANY_SAMPLES else np.float32)
