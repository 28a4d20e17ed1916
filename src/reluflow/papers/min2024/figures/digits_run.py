"""Figures 5, 10 and 11: descent and the exact flow on two digits of MNIST, and what the plots of such a figure need."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from reluflow.arrays import FloatArray, IntArray
from reluflow.data.dataset import Dataset
from reluflow.data.mnist import mnist_pair
from reluflow.dynamics import AtTime, GradientDescent, TrainingProblem
from reluflow.dynamics.flow_choice import choose_flow
from reluflow.dynamics.keep import Keep
from reluflow.dynamics.solver import AbstractRun
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import Outcome, Snapshot
from reluflow.errors import BackendError
from reluflow.network import Network
from reluflow.papers.min2024.figures.section_4 import (
    LR,
    class_sums,
    cosines,
    descended,
    gaussian_problem,
    squared_spectral_norm,
    stable_rank,
)
from reluflow.papers.workbench import Progress, Workbench

ITERATIONS = 15_000  # of the paper's step size, at which the neurons are shown as images
SNAPSHOTS = 150
FLOW_SNAPSHOTS = 15  # at snapshots of the descent: every tenth
HEAT_MAP_SIZE = 240  # images in the heat map, as many of each digit as there are in proportion
PAIRS_SIZE = 2_000  # images whose pairs are judged; all pairs of 12,665 would not fit in memory


@dataclass(frozen=True)
class Settings:
    """Two digits, how many images of them, and how coarse the steps are.

    Parameters
    ----------
    digits
        The digit with label 1 and the digit with label -1.
    size
        Number of images; None for all.
    source
        Where they come from; see `mnist_pair`.
    stride
        Steps of the paper that one step makes up: the step size is `stride` times 2e-3. Iterations are counted in
        steps of the paper.
    rtol
        Of the exact flow.
    """

    digits: tuple[int, int]
    size: int | None
    source: Literal["bundled", "full"]
    stride: int
    seed: int = 0
    iterations: int = ITERATIONS
    rtol: float = 1e-5


@dataclass(frozen=True, eq=False)
class DigitsCourse:
    """What the plots show of descent or of the flow, at some iterations.

    Parameters
    ----------
    iterations
        Counted in steps of the paper.
    cosines
        What `alignment` gives, shape (iterations, 2, 3).
    num_positive
        Neurons with a > 0.
    stable_ranks, squared_norms
        Of the input weights, the latter squared spectral norms.
    """

    iterations: IntArray
    losses: FloatArray
    cosines: FloatArray
    num_positive: IntArray
    stable_ranks: FloatArray
    squared_norms: FloatArray

    def nearest(self, iteration: float) -> int:
        """The place of the snapshot nearest to an iteration of the paper."""
        return int(np.argmin(np.abs(self.iterations - iteration)))


@dataclass(frozen=True, eq=False)
class DigitsDescent:
    """Descent and where it ends.

    Parameters
    ----------
    course
        At its snapshots.
    images
        Mean input weights of the neurons with a > 0 and of the others, mean images of the two digits; a row each.
    accuracy
        Share of the images rightly classified.
    """

    course: DigitsCourse
    images: FloatArray
    accuracy: float


@dataclass(frozen=True, eq=False)
class ImageCorrelations:
    """Of images with each other.

    Parameters
    ----------
    gram
        Inner products of those in the heat map, of which the first `num_first` show the positive digit.
    mu, right_signed
        The constant of Assumption 1, and the share of `num_pairs` pairs with the sign it asks for.
    """

    gram: NDArray[np.float32]
    num_first: int
    mu: float
    right_signed: float
    num_pairs: int


@dataclass(frozen=True, eq=False)
class DigitsRun:
    """Descent, the flow from the same neurons at some of its snapshots, and the images."""

    descent: DigitsDescent
    flow: DigitsCourse
    correlations: ImageCorrelations


def compute(settings: Settings, workbench: Workbench) -> DigitsRun:
    """Descent and the exact flow from the same neurons, measured at their snapshots."""
    data = images_of(settings.digits, settings.size, settings.source)
    problem = gaussian_problem(data, settings.seed)
    return DigitsRun(
        workbench.piece("descent", DigitsDescent, lambda: _descend(settings, problem, workbench.stretch(0.0, 0.6))),
        workbench.piece("flow", DigitsCourse, lambda: _flow(settings, problem, workbench.stretch(0.6, 1.0))),
        correlations(data),
    )


def _descend(settings: Settings, problem: TrainingProblem, say: Progress) -> DigitsDescent:
    data = problem.dataset
    last = settings.iterations // settings.stride
    kept = np.unique(np.linspace(0, last, SNAPSHOTS + 1).astype(int))
    run = descended(problem, GradientDescent(settings.stride * LR, last), kept, say)
    end = run[-1].network
    is_positive = end.a > 0
    positive, negative = class_sums(data)
    images = [
        end.w[is_positive].mean(axis=0),
        end.w[~is_positive].mean(axis=0),
        positive / np.sum(data.y > 0),
        negative / np.sum(data.y < 0),
    ]
    accuracy = float(np.mean(data.y * run[-1].outputs > 0))
    return DigitsDescent(course_of(settings.stride * kept, run, data), np.array(images), accuracy)


def _flow(settings: Settings, problem: TrainingProblem, say: Progress) -> DigitsCourse:
    """The flow at the times of some snapshots of the descent, whose iteration k is at time 2e-3 k."""
    last = settings.iterations // settings.stride
    every = SNAPSHOTS // FLOW_SNAPSHOTS
    iterations = settings.stride * np.unique(np.linspace(0, last, SNAPSHOTS + 1).astype(int))[::every]
    times = LR * iterations

    def show(run: AbstractRun) -> None:
        say(run.time / times[-1], f"exact flow, iteration {run.time / LR:,.0f}")

    run = train(
        problem,
        choose_flow(problem, rtol=settings.rtol).solver,
        until=AtTime(float(times[-1])),
        keep=Keep(times=times[1:]),
        progress=show,
    )
    if run.outcome is not Outcome.HORIZON:
        raise BackendError(f"the exact flow ended early: {run.outcome}")
    return course_of(iterations[1:], run.snapshots, problem.dataset)


def course_of(iterations: IntArray, run: Iterable[Snapshot], data: Dataset) -> DigitsCourse:
    """What the plots show of each snapshot: the loss, the alignment, the stable rank, the squared spectral norm."""
    snapshots = tuple(run)
    networks = [snapshot.network.materialized() for snapshot in snapshots]
    return DigitsCourse(
        iterations=iterations,
        losses=np.array([snapshot.loss for snapshot in snapshots]),
        cosines=np.array([alignment(network, data) for network in networks]),
        num_positive=np.array([int(np.sum(network.a > 0)) for network in networks]),
        stable_ranks=np.array([stable_rank(network.w) for network in networks]),
        squared_norms=np.array([squared_spectral_norm(network.w) for network in networks]),
    )


def images_of(digits: tuple[int, int], size: int | None, source: Literal["bundled", "full"]) -> Dataset:
    """The images, the positive digit first, less their mean."""
    return mnist_pair(*digits, size=size, source=source, split="train", centred=True)


def alignment(network: Network, data: Dataset) -> FloatArray:
    """For V_+ and V_- of the moment: cos(mean of w_j, x_+-), and the smallest and largest cos(w_j, x_+-), shape (2, 3).

    V_+ and V_- change with time, as output weights may change sign from a start that is not balanced.
    """
    rows = []
    for is_chosen, total in zip((network.a > 0, network.a < 0), class_sums(data), strict=True):
        chosen = network.w[is_chosen]
        each = cosines(chosen, total)
        rows.append((cosines(chosen.mean(axis=0)[None], total)[0], np.min(each), np.max(each)))
    return np.array(rows)


def correlations(data: Dataset) -> ImageCorrelations:
    """Inner products for the heat map, mu of Assumption 1, and the share of pairs with the sign it asks for."""
    some = _spread(data, PAIRS_SIZE)
    units = some.X / np.linalg.norm(some.X, axis=1, keepdims=True)
    signed = (some.y[:, None] * units) @ (some.y[:, None] * units).T
    pairs = signed[np.triu_indices(some.n, 1)]
    shown = _spread(data, HEAT_MAP_SIZE)
    return ImageCorrelations(
        gram=(shown.X @ shown.X.T).astype(np.float32),
        num_first=int(np.sum(shown.y > 0)),
        mu=float(np.min(pairs)),
        right_signed=float(np.mean(pairs > 0)),
        num_pairs=len(pairs),
    )


def _spread(data: Dataset, size: int) -> Dataset:
    """At most `size` samples, evenly from the whole, in their order."""
    return data.subset(np.unique(np.linspace(0, data.n - 1, min(size, data.n)).astype(int)))
