"""What the figures of Min, Mallada & Vidal (2024) share: the setting of Sec. 4, and what is measured of a network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import BoolArray, FloatArray
from reluflow.data.dataset import Dataset
from reluflow.dynamics.keep import Keep
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.solver import AbstractRun, AbstractSolver
from reluflow.dynamics.stopping import Exhausted
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import Outcome, Snapshot
from reluflow.errors import BackendError
from reluflow.losses import ExponentialLoss
from reluflow.network import Network
from reluflow.network.initialization import min_gaussian_initialization
from reluflow.papers.min2024.theorems.moving_neurons import DEAD, MINUS, PLUS, cones_of
from reluflow.papers.workbench import Progress

# Section 4: every experiment has 50 neurons with Gaussian entries of this deviation, and this step size.
WIDTH = 50
SCALE = 1e-6
LR = 2e-3
# The paper names neither the loss of its experiments nor whether it is averaged. The mean exponential loss gives the
# iterations it reports (alignment by 2000, growth from 3000); the plain logistic loss takes twice as many.
LOSS = ExponentialLoss(reduction="mean")
# The theory is about sums over the samples: the illustrations 1 to 4 and Theorem 1 have no 1/n.
SUMMED = ExponentialLoss(reduction="sum")


def gaussian_problem(data: Dataset, seed: int) -> TrainingProblem:
    """The experiments' start: all entries of (w, a) are N(0, 1e-12), so that a neuron is not balanced."""
    rng = np.random.default_rng(seed)
    return TrainingProblem(data, LOSS, min_gaussian_initialization(data, width=WIDTH, scale=SCALE, rng=rng))


def descended(
    problem: TrainingProblem, solver: AbstractSolver, iterations: ArrayLike, say: Progress | None = None
) -> tuple[Snapshot, ...]:
    """Snapshots of a descent after some iterations, or a refusal where it ended before its last one."""
    keep = Keep(iterations=np.asarray(iterations))

    def show(run: AbstractRun) -> None:
        if say is not None:
            say(run.steps / keep.iterations[-1], f"iteration {run.steps:,}")

    run = train(problem, solver, until=Exhausted(), keep=keep, progress=show)
    if run.outcome is not Outcome.HORIZON:
        raise BackendError(f"the descent ended early: {run.outcome}; a smaller step size may do.")
    return run.snapshots


def cosines(rows: FloatArray, direction: FloatArray) -> FloatArray:
    """Cosine of every row with one direction."""
    return np.asarray(rows @ direction / (np.linalg.norm(rows, axis=1) * np.linalg.norm(direction)))


def squared_spectral_norm(w: FloatArray) -> float:
    """|W|_2^2, from the matrix of inner products of the neurons, which is small.

    >>> squared_spectral_norm(np.diag([2.0, 1.0]))
    4.0
    """
    return float(np.linalg.eigvalsh(w @ w.T)[-1])


def stable_rank(w: FloatArray) -> float:
    """|W|_F^2 / |W|_2^2.

    >>> stable_rank(np.diag([2.0, 1.0]))
    1.25
    """
    return float(np.sum(w**2) / squared_spectral_norm(w))


def class_sums(data: Dataset) -> tuple[FloatArray, FloatArray]:
    """x_+ and x_-, the sums of the positive and of the negative samples; neither is multiplied by its label."""
    return data.X[data.y > 0].sum(axis=0), data.X[data.y < 0].sum(axis=0)


def smallest_correlation(data: Dataset) -> float:
    """mu of Assumption 1: the smallest cosine of two samples, each multiplied by its label."""
    signed = data.y[:, None] * data.X / np.linalg.norm(data.X, axis=1, keepdims=True)
    return float(np.min(signed @ signed.T))


@dataclass(frozen=True, eq=False)
class Cones:
    """Which neurons of a network stand where.

    Parameters
    ----------
    is_positive
        Whether a_j > 0, shape (m,).
    is_dead
        Whether no sample activates the neuron.
    is_home
        Whether it is in the cone of its sign: S_+ for a_j > 0, S_- for a_j < 0.
    """

    is_positive: BoolArray
    is_dead: BoolArray
    is_home: BoolArray

    @property
    def is_outside(self) -> BoolArray:
        """Neurons that are neither dead nor in the cone of their sign."""
        return ~(self.is_dead | self.is_home)


def cones_of_network(network: Network, data: Dataset) -> Cones:
    """Where the neurons stand, with S_dead as it is meant (the printed definition repeats that of S_-)."""
    code = cones_of(network.pre_activations(data.X) > 0.0, data.y)
    is_positive = network.a > 0
    return Cones(is_positive, code == DEAD, code == np.where(is_positive, PLUS, MINUS))


def cone_sectors(data: Dataset) -> list[tuple[str, float, float]]:
    """Name and first and last angle (degrees, the last at most 360 beyond 0) of every cone of the plane that is there.

    >>> from reluflow import load
    >>> [(name, round(first), round(last)) for name, first, last in cone_sectors(load("min-toy"))]
    [('S_+', -70, 30), ('S_-', 110, 210), ('S_dead', 240, 270)]
    """
    normals = np.degrees(np.arctan2(data.X[:, 1], data.X[:, 0]))
    edges = np.unique(np.round(np.mod(np.concatenate([normals + 90.0, normals - 90.0]), 360.0), 10))
    following = np.append(edges[1:], edges[0] + 360.0)
    middles = np.radians(0.5 * (edges + following))
    active = np.column_stack([np.cos(middles), np.sin(middles)]) @ data.X.T > 0.0
    found = []
    for name, wanted in (("S_+", data.y > 0), ("S_-", data.y < 0), ("S_dead", np.zeros(data.n, dtype=bool))):
        for k in np.flatnonzero(np.all(active == wanted, axis=1)):
            first = edges[k] - 360.0 if following[k] > 360.0 else edges[k]
            if name != "S_-" or np.any(data.y < 0):  # without negative samples S_- is S_dead
                found.append((name, float(first), float(first + following[k] - edges[k])))
    return found


def separable_samples(seed: int, *, n: int, d: int, spread: float) -> Dataset:
    """Random samples under Assumption 1, half of them positive: y (e_1 + spread g), one kept if it suits those before.

    The paper's illustrations name no data; Figures 3 and 4 need more of it than the plane has room for.
    """
    rng = np.random.default_rng(seed)
    kept: list[FloatArray] = []
    while len(kept) < n:
        candidate = np.eye(d)[0] + spread * rng.standard_normal(d)
        if all(candidate @ other > 0.0 for other in kept):
            kept.append(candidate)
    y = np.where(np.arange(n) < n // 2, 1.0, -1.0)
    return Dataset(y[:, None] * np.array(kept), y, name="orthogonally separable", provenance="drawn, Assumption 1")


def pull(w: FloatArray, data: Dataset) -> FloatArray:
    """x_a(w), the sum of y_i x_i over the samples that activate w, of every row of w; Eq. (5)."""
    return np.asarray(((w @ data.X.T > 0.0) * data.y) @ data.X)


def turning(w: FloatArray, data: Dataset) -> FloatArray:
    """P_w x_a(w) of every row, the right side of Eq. (4) for a positive neuron."""
    units = w / np.linalg.norm(w, axis=1, keepdims=True)
    pulls = pull(units, data)
    return np.asarray(pulls - np.sum(pulls * units, axis=1, keepdims=True) * units)


def on_circle(degrees: FloatArray | float, radius: FloatArray | float = 1.0) -> FloatArray:
    """Points of the plane at these angles, last axis 2."""
    angles = np.radians(np.asarray(degrees, dtype=np.float64))
    return np.asarray(np.stack([radius * np.cos(angles), radius * np.sin(angles)], axis=-1))


def degrees_of(vectors: FloatArray) -> FloatArray:
    """Angles of vectors of the plane in degrees, in (-180, 180]."""
    return np.asarray(np.degrees(np.arctan2(vectors[..., 1], vectors[..., 0])))
