"""What the figures of Lyu et al. (2021) share: the three datasets of Figure 1 with the limits the theorems predict."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.hard_margin import linear_separator
from reluflow.certificates.one_class import leaky_margins
from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.errors import InvalidInputError
from reluflow.losses import LogisticLoss
from reluflow.network.network import Network

LEAK = 0.5  # Fig. 1; the experiments of App. J do not print theirs
LOSS = LogisticLoss()
SCALE = 1e-3  # times the He initialisation, App. I.1.3 and J
LR = 0.01  # App. J
WIDTH = 100  # App. J

NAMES = ("left", "middle", "right")
SHARPER = "middle, sharper"  # a second instance of the recipe of the middle panel
_DATASETS = {"left": "lyu-symmetric", "middle": "lyu-middle", "right": "lyu-hinted", SHARPER: "lyu-middle-sharp"}
_WINDOWS = {  # (left, right, bottom, top) of what is drawn; the first hint of "right" lies far outside
    "left": (-2.7, 2.7, -2.7, 2.7),
    "middle": (-2.2, 4.4, -2.2, 2.2),
    "right": (-0.8, 1.2, -0.8, 0.8),
    SHARPER: (-1.2, 2.4, -1.5, 1.5),
}
_HALVINGS = 60  # of a grid edge, to rounding


@dataclass(frozen=True, eq=False)
class Example:
    """One panel of Figures 1 and 2.

    Parameters
    ----------
    name
        "left", "middle", "right" or `SHARPER`.
    dataset
        The samples.
    window
        The part of the plane of the first two coordinates that is drawn: left, right, bottom, top.
    limit
        The network of norm 1 that Theorem 4.3 (left), A.7 (middle) or 6.2 (right) predicts.
    margin
        Its normalised margin: (1 + leak) gamma*/4 on the left, gamma^+/2 otherwise.
    """

    name: str
    dataset: Dataset
    window: tuple[float, float, float, float]
    limit: Network
    margin: float

    @property
    def is_symmetric(self) -> bool:
        """Whether the data are those of Theorem 4.3, whose limit is linear and not only its boundary."""
        return self.name == "left"

    def rows(self, places: FloatArray) -> FloatArray:
        """Points (k, 2) of the window as inputs (k, d): a third coordinate is the same for all samples."""
        constant = np.tile(self.dataset.X[0, 2:], (len(places), 1))
        return np.column_stack([places, constant])

    def grid(self, num_points: int) -> tuple[FloatArray, FloatArray]:
        """Ticks along the two axes of the window."""
        left, right, bottom, top = self.window
        return np.linspace(left, right, num_points), np.linspace(bottom, top, num_points)

    def values(self, network: Network, num_points: int) -> FloatArray:
        """Outputs on the grid, first index upwards, shape (num_points, num_points)."""
        across, upwards = np.meshgrid(*self.grid(num_points))
        outputs = network.outputs(self.rows(np.column_stack([across.ravel(), upwards.ravel()])))
        return np.asarray(outputs.reshape(across.shape))

    def boundary(self, network: Network, num_points: int) -> FloatArray:
        """Where the network changes sign along the edges of the grid, by bisection, shape (k, 2)."""
        across, upwards = np.meshgrid(*self.grid(num_points))
        places = np.stack([across, upwards], axis=-1)
        signs = self.values(network, num_points) > 0.0
        ends = []
        for one, two in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1], np.s_[1:])):
            crosses = signs[one] != signs[two]
            rises = signs[two][crosses][:, None]
            first, second = places[one][crosses], places[two][crosses]
            ends.append((np.where(rises, first, second), np.where(rises, second, first)))
        below, above = (np.concatenate(parts) for parts in zip(*ends, strict=True))
        for _ in range(_HALVINGS):
            middle = 0.5 * (below + above)
            is_above = (network.outputs(self.rows(middle)) > 0.0)[:, None]
            below, above = np.where(is_above, below, middle), np.where(is_above, middle, above)
        return np.asarray(0.5 * (below + above))

    def bend(self, network: Network, num_points: int) -> float:
        """How far the decision boundary is from straight: largest distance from the line through it, % of the window.

        The line is the one of least squared distances to the boundary.
        """
        points = self.boundary(network, num_points)
        if len(points) < 2:
            return float("nan")
        centred = points - points.mean(axis=0)
        normal = np.linalg.svd(centred, full_matrices=False)[2][-1]
        return float(100.0 * np.max(np.abs(centred @ normal)) / (self.window[1] - self.window[0]))


def example(name: str) -> Example:
    """The panel called `name`.

    >>> round(example("left").margin, 12), round(example("middle").margin, 6), round(example("right").margin, 7)
    (0.375, 0.111803, 0.0309233)
    """
    if name not in _DATASETS:
        raise InvalidInputError(f"`name` must be one of {'; '.join(_DATASETS)}, got {name!r}.")
    dataset = load(_DATASETS[name])
    if name == "left":
        separator = linear_separator(dataset)
        limit = Network(np.outer([0.5, -0.5], separator.w), [0.5, -0.5], leak=LEAK)
        margin = 0.25 * (1.0 + LEAK) * separator.margin
    else:
        side = leaky_margins(dataset, LEAK).positive
        limit, margin = one_neuron(side.w), 0.5 * side.margin
    return Example(name, dataset, _WINDOWS[name], limit, margin)


def one_neuron(direction: FloatArray) -> Network:
    """The network phi(<w, x>)/2 of norm 1 for a unit vector w.

    >>> round(one_neuron(np.array([1.0, 0.0])).squared_norm(), 12)
    1.0
    """
    half = np.sqrt(0.5)
    return Network(half * direction[None], [half], leak=LEAK)


def sign_difference(values: FloatArray, others: FloatArray) -> float:
    """Share of the points at which two functions have different signs."""
    return float(np.mean((values > 0.0) != (others > 0.0)))


def function_difference(values: FloatArray, others: FloatArray) -> float:
    """Largest difference of two functions relative to the largest value of the second."""
    return float(np.max(np.abs(values - others)) / np.max(np.abs(others)))
