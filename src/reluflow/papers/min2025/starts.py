"""The networks the paper starts from, and starts with known numbers on the sets of `data.py`.

Each of these, neurons (w, v) of unit rows times the scale, is a function that gives a problem, and a start by name,
`--init min2025-s --width 1`, on its own set.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.dynamics.problem import TrainingProblem
from reluflow.errors import InvalidInputError
from reluflow.losses import SoftmaxLoss
from reluflow.network import Initialization, Network
from reluflow.papers.min2025.class_geometry import pseudo_labels
from reluflow.papers.min2025.class_pairs import CLASS_PAIRS

B_OF_CE2 = 0.8661  # just above sqrt(3)/2, from which on all B_c' <= 0 is certain for K = 3


def balanced(w: ArrayLike, v: ArrayLike, scale: float) -> Network:
    """Neurons along these rows, with |w_j| = |v_j| = scale."""
    rows, outputs = np.asarray(w, dtype=np.float64), np.asarray(v, dtype=np.float64)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return Network(unit, v=outputs / np.linalg.norm(outputs, axis=1, keepdims=True), log_scale=math.log(scale))


def problem_of(dataset: Dataset, network: Network) -> TrainingProblem:
    """Softmax, summed over the samples."""
    return TrainingProblem(dataset, SoftmaxLoss(reduction="sum"), network)


def golden_a(scale: float = 1e-3) -> TrainingProblem:
    """G1: two neurons of each class on `min2025-a`, each firing on its whole class and on no other sample."""
    data = load("min2025-a")
    v = [(3, -2, -1), (1, 0, 0), (-1, 2, 0), (0, 1, -1), (-1, -2, 3), (0, 0, 1)]
    return problem_of(data, balanced(data.X[[0, 2, 3, 5, 6, 8]], v, scale))


def golden_b(scale: float = 1e-2) -> TrainingProblem:
    """G2: five exclusive neurons on `min2025-b`, each firing on one of the two samples of its class."""
    w = [
        (1, -0.5, -0.1, -0.1, -0.1, -0.1),
        (-0.5, 1, -0.1, -0.1, -0.1, -0.1),
        (-0.1, -0.1, 1, -0.5, -0.1, -0.1),
        (-0.1, -0.1, -0.1, -0.1, 1, -0.5),
        (-0.1, -0.1, -0.1, -0.1, -0.5, 1),
    ]
    v = [(2, -1, -1), (1, 0, 0), (-1, 3, -1), (-1, -1, 3), (0, 0, 1)]
    return problem_of(load("min2025-b"), balanced(w, v, scale))


def counterexample_1(scale: float = 1e-2) -> TrainingProblem:
    """CE1: one neuron of each class on `min2025-ce1`, as (18) asks, of which the first goes over to class 2."""
    data = load("min2025-ce1")
    labels = pseudo_labels(3)
    return problem_of(data, balanced([(5, 3), data.X[1], data.X[6]], [(4, 1, -5), labels[1], labels[2]], scale))


def counterexample_2(scale: float = 1e-6) -> TrainingProblem:
    """CE2: the same on `min2025-ce2`, with all B_c' < 0 of the first neuron, at a scale small enough to lose it.

    At 1e-2 the second neuron learns class 2 before the first is lost to it, and the first returns.
    """
    data = load("min2025-ce2")
    firsts = data.X[[0, 1, 101]]
    w = np.linalg.solve(firsts, [1.0, -1e-6, 0.09])
    labels = pseudo_labels(3)
    aside = labels[1] - (labels[1] @ labels[0]) * labels[0]
    v = B_OF_CE2 * labels[0] + math.sqrt(1.0 - B_OF_CE2**2) * aside / np.linalg.norm(aside)
    return problem_of(data, balanced([w, firsts[1], firsts[2]], [v, labels[1], labels[2]], scale))


def sliding(scale: float = 1e-6) -> TrainingProblem:
    """S: one neuron on `min2025-a` that slides along the hyperplane of the fifth sample and then joins class 1."""
    return problem_of(load("min2025-a"), balanced([(3, 1, 2, -1)], [(-2, -1, 2)], scale))


def _rows(
    name: str, start: Callable[[float], TrainingProblem], width: int, dataset: Dataset, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """The unit rows of a start, which nothing random enters."""
    own = start(1.0)
    its = own.dataset
    if dataset.X.shape != its.X.shape or not (np.array_equal(dataset.X, its.X) and np.array_equal(dataset.y, its.y)):
        raise InvalidInputError(f"`init` {name} is a start on {its.name}, got the data {dataset.name or 'given'}.")
    if width != own.network.num_neurons:
        raise InvalidInputError(f"`width` must be {own.network.num_neurons} for init {name}, got {width}.")
    return own.network.w, own.network.v


def _registered(name: str, dataset: str, summary: str, start: Callable[[float], TrainingProblem]) -> Initialization:
    draw = partial(_rows, name, start)
    return Initialization(name, "min2025", "ours", summary, None, draw_on_data=draw, dataset=dataset)


STARTS = (
    CLASS_PAIRS,
    _registered("min2025-g1", "min2025-a", "two neurons of each class, each firing on its whole class", golden_a),
    _registered("min2025-g2", "min2025-b", "five neurons, each firing on one sample of its class", golden_b),
    _registered("min2025-s", "min2025-a", "one neuron that slides and then joins class 1", sliding),
    _registered("min2025-ce1", "min2025-ce1", "one neuron of each class, the first lost to class 2", counterexample_1),
    _registered("min2025-ce2", "min2025-ce2", "the same where the sizes of the classes decide", counterexample_2),
)
