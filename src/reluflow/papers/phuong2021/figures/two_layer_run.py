"""The two-layer network of Sec. 5.1: trained by stochastic descent, and beside its exact flow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.data.dataset import Dataset
from reluflow.dynamics import (
    AtTime,
    EventDrivenFlow,
    GradientDescent,
    Outcome,
    StochasticGradientDescent,
    TrainingProblem,
)
from reluflow.dynamics.keep import Keep
from reluflow.dynamics.solver import AbstractSolver
from reluflow.dynamics.stopping import Exhausted
from reluflow.dynamics.train import train
from reluflow.dynamics.trajectory import Snapshot
from reluflow.losses import LogisticLoss
from reluflow.network import Network
from reluflow.network.initialization import uniform_fan_in_initialization
from reluflow.papers.phuong2021.figures.weights import (
    BATCH,
    CLOSE,
    EPOCHS,
    LR,
    NUM_SAMPLES,
    SCALE,
    WIDTH,
    MaxMarginDirections,
    cosines,
    histogram,
    max_margin_directions,
    orthants,
    weight_of,
)
from reluflow.papers.workbench import Workbench

MOMENTS = 25  # at which descent and flow are compared


@dataclass(frozen=True)
class Settings:
    """Seeds at the paper's size, and how many samples and neurons the exact flow is run on."""

    seeds: tuple[int, ...]
    flow_samples: int
    flow_width: int
    flow_rtol: float = 1e-8
    n: int = NUM_SAMPLES
    width: int = WIDTH
    batch: int = BATCH
    epochs: int = EPOCHS
    lr: float = LR
    scale: float = SCALE


@dataclass(frozen=True, eq=False)
class TwoLayerSeed:
    """One seed at the paper's size: the first layer W at the end of training, and what was learnt.

    Parameters
    ----------
    singular_values, start_norm
        The ten largest of W, and its spectral norm before training.
    share_close, median, weighted_mean, histogram
        Of the cosine of a neuron with the max-margin direction of its sign: share above `CLOSE`, median, mean weighted
        by squared length, and numbers in `BINS` for negative and for positive output weights.
    share_in_cones, flipped
        Share of neurons in the cones of Lemma 2, and of those whose output weight changed its sign.
    accuracy, loss
        At the end.
    ranks, opposite
        Dimensions that the support samples of each class span, and minus the cosine of w_+ and w_-.
    w
        W itself.
    plane, signs, plane_directions
        Its rows, the signs of their output weights, and w_+ and w_-, along its two largest singular directions.
    """

    singular_values: FloatArray
    start_norm: float
    share_close: float
    median: float
    weighted_mean: float
    histogram: FloatArray
    share_in_cones: float
    flipped: float
    accuracy: float
    loss: float
    ranks: tuple[int, int]
    opposite: float
    w: FloatArray
    plane: FloatArray
    signs: FloatArray
    plane_directions: FloatArray


@dataclass(frozen=True, eq=False)
class BesideTheFlow:
    """Descent on batches, descent on all samples and the exact flow from the same neurons.

    Parameters
    ----------
    times
        At which they are compared.
    losses
        Of the three, shape (3, k).
    distances
        Of W of the two descents from that of the flow, relative to it, shape (2, k).
    crossings
        Activation boundaries that the flow met.
    flow_singular_values, descent_singular_values
        The ten largest of W at the end of the flow and of descent on batches.
    """

    times: FloatArray
    losses: FloatArray
    distances: FloatArray
    crossings: int
    flow_singular_values: FloatArray
    descent_singular_values: FloatArray


@dataclass(frozen=True, eq=False)
class TwoLayerRun:
    """All seeds, the first of which is drawn; the flow; and how far batches take W of the first from all samples."""

    seeds: tuple[TwoLayerSeed, ...]
    flow: BesideTheFlow
    batch_distance: float


def compute(settings: Settings, workbench: Workbench) -> TwoLayerRun:
    """Every seed at the paper's size; descent beside the flow for the first."""
    seeds = tuple(one_seed(settings, seed) for seed in settings.seeds)
    workbench.progress(0.3, "exact flow")
    flow = workbench.piece("flow", BesideTheFlow, lambda: beside_the_flow(settings))
    return TwoLayerRun(seeds, flow, batch_distance(settings, seeds[0].w))


def problem(settings: Settings, data: Dataset, *, width: int, seed: int) -> TrainingProblem:
    """The mean logistic loss from uniform weights times 0.05, as PyTorch's linear layers would draw them."""
    rng = np.random.default_rng([seed, 1])
    network = uniform_fan_in_initialization(data, width=width, scale=settings.scale, rng=rng)
    return TrainingProblem(data, LogisticLoss(), network)


def one_seed(settings: Settings, seed: int) -> TwoLayerSeed:
    """Train once and measure the first layer."""
    data = orthants(seed, n=settings.n)
    method = StochasticGradientDescent(settings.lr, settings.batch, epochs=settings.epochs, seed=seed)
    last = settings.epochs * -(-settings.n // settings.batch)
    first, final = _descended(problem(settings, data, width=settings.width, seed=seed), method, [0, last])
    start, end = first.network, final.network
    directions = max_margin_directions(data)
    near = correlations(end, directions)
    _, values, axes = np.linalg.svd(end.w, full_matrices=False)
    margins = data.y * final.outputs
    return TwoLayerSeed(
        singular_values=values[:10],
        start_norm=float(np.linalg.norm(start.w, 2)),
        share_close=float(np.mean(near > CLOSE)),
        median=float(np.median(near)),
        weighted_mean=weight_of(end.w, near),
        share_in_cones=share_in_cones(end, data),
        accuracy=float(np.mean(margins > 0)),
        loss=final.loss,
        flipped=float(np.mean(np.sign(start.a) != np.sign(end.a))),
        ranks=directions.ranks,
        opposite=float(-directions.positive @ directions.negative),
        w=end.w,
        plane=end.w @ axes[:2].T,
        signs=np.sign(end.a),
        plane_directions=np.array([directions.positive, directions.negative]) @ axes[:2].T,
        histogram=np.array([histogram(near[end.a < 0]), histogram(near[end.a > 0])]),
    )


def batch_distance(settings: Settings, w: FloatArray) -> float:
    """How far the first seed's W is from that of descent on all samples, relative to it."""
    data = orthants(settings.seeds[0], n=settings.n)
    last = settings.epochs * -(-settings.n // settings.batch)
    start = problem(settings, data, width=settings.width, seed=settings.seeds[0])
    (end,) = _descended(start, GradientDescent(settings.lr, last), [last])
    return float(np.linalg.norm(w - end.network.w) / np.linalg.norm(end.network.w))


def correlations(network: Network, directions: MaxMarginDirections) -> FloatArray:
    """Cosine of every neuron with w_+ where its output weight is positive, and with w_- elsewhere."""
    positive, negative = (cosines(network.w, vector) for vector in (directions.positive, directions.negative))
    return np.where(network.a > 0, positive, negative)


def share_in_cones(network: Network, data: Dataset) -> float:
    """Share of neurons active on every sample of their own class and on no other: the cones of Lemma 2."""
    own = np.sign(network.a)[:, None] == data.y
    return float(np.mean(np.all((network.pre_activations(data.X) > 0) == own, axis=1)))


def beside_the_flow(settings: Settings) -> BesideTheFlow:
    """Stochastic and full-batch descent and the exact flow, from the same neurons on the same samples.

    The first samples of the first seed, and neurons of their own unless all are taken: the flow meets some 0.2 to 0.4
    n m activation boundaries, so a part of them is a matter of seconds, all of minutes.
    """
    seed = settings.seeds[0]
    data = orthants(seed, n=settings.n).subset(np.arange(settings.flow_samples))
    start = problem(settings, data, width=settings.flow_width, seed=seed)
    batch = max(1, settings.flow_samples * settings.batch // settings.n)
    last = settings.epochs * -(-settings.flow_samples // batch)
    kept = np.unique(np.geomspace(1, last, MOMENTS).astype(int))
    methods = (
        StochasticGradientDescent(settings.lr, batch, iterations=last, seed=seed),
        GradientDescent(settings.lr, last),
    )
    stochastic, full = (_descended(start, method, kept) for method in methods)
    times = settings.lr * kept
    flow = train(start, EventDrivenFlow(rtol=settings.flow_rtol), times=times, until=AtTime(times[-1]))
    exact = [snapshot.network.materialized().w for snapshot in flow.snapshots]
    distances = [
        [np.linalg.norm(s.network.w - w) / np.linalg.norm(w) for s, w in zip(run, exact, strict=True)]
        for run in (stochastic, full)
    ]
    return BesideTheFlow(
        times=times,
        losses=np.array([[s.loss for s in run] for run in (stochastic, full, flow.snapshots)]),
        distances=np.array(distances),
        crossings=int(flow.crossings),
        flow_singular_values=_ten_largest(exact[-1]),
        descent_singular_values=_ten_largest(stochastic[-1].network.w),
    )


def _ten_largest(w: FloatArray) -> FloatArray:
    """The ten largest singular values."""
    return np.asarray(np.linalg.svd(w, compute_uv=False)[:10], dtype=np.float64)


def _descended(start: TrainingProblem, method: AbstractSolver, iterations: ArrayLike) -> tuple[Snapshot, ...]:
    """Snapshots of a descent after some iterations; it must not diverge."""
    run = train(start, method, until=Exhausted(), keep=Keep(iterations=np.asarray(iterations)))
    assert run.outcome is Outcome.HORIZON, run.outcome
    return run.snapshots
