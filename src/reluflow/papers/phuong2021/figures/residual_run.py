"""The four-layer residual network of Sec. 5.2, trained through JAX like the two-layer one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.losses import LogisticLoss
from reluflow.papers.phuong2021.figures.weights import (
    BATCH,
    CLOSE,
    EPOCHS,
    LR,
    NUM_SAMPLES,
    SCALE,
    WIDTH,
    cosines,
    histogram,
    max_margin_directions,
    orthants,
    two_directions,
    weight_of,
)
from reluflow.papers.workbench import Workbench

LAYERS = (1, 2, 3)  # those with many rows


@dataclass(frozen=True)
class Settings:
    """Seeds; everything else as in the paper."""

    seeds: tuple[int, ...]
    n: int = NUM_SAMPLES
    width: int = WIDTH
    batch: int = BATCH
    epochs: int = EPOCHS
    lr: float = LR
    scale: float = SCALE


@dataclass(frozen=True, eq=False)
class HiddenLayer:
    """One hidden layer at the end of training.

    Parameters
    ----------
    singular_values, start_norm
        The ten largest, and the spectral norm before training.
    plane, directions
        Its rows, and w_+ and w_- or the two directions that fit them best, along its two largest singular directions.
    gathered
        Cosine of a row with the nearer of the two directions that fit best, weighted by squared length.
    """

    singular_values: FloatArray
    start_norm: float
    plane: FloatArray
    directions: FloatArray
    gathered: float


@dataclass(frozen=True, eq=False)
class ResidualSeed:
    """One seed: its hidden layers, those of `LAYERS`, and how near the rows of the first are to w_+ or w_-.

    Parameters
    ----------
    layers
        The hidden layers.
    share_close, median, histogram
        Of the larger cosine of a row of W_1 with w_+ and w_-: share above `CLOSE`, median, numbers in `BINS`.
    accuracy, loss
        At the end.
    """

    layers: tuple[HiddenLayer, ...]
    share_close: float
    median: float
    histogram: FloatArray
    accuracy: float
    loss: float


@dataclass(frozen=True, eq=False)
class ResidualRun:
    """All seeds; the first is drawn."""

    seeds: tuple[ResidualSeed, ...]


def compute(settings: Settings, workbench: Workbench) -> ResidualRun:
    """Train every seed and measure the three hidden layers."""
    seeds = []
    for count, seed in enumerate(settings.seeds):

        def show(share: float, count: int = count, seed: int = seed) -> None:
            workbench.progress((count + share) / len(settings.seeds), f"seed {seed}")

        alone = replace(settings, seeds=(seed,))
        seeds.append(workbench.piece(f"seed-{seed}", ResidualSeed, partial(one_seed, alone, show), settings=alone))
    return ResidualRun(tuple(seeds))


def one_seed(settings: Settings, show: Callable[[float], None]) -> ResidualSeed:
    """Train the only seed of `settings`."""
    from reluflow.deep import DeepDescent, DeepOutcome, outputs, train_deep, uniform_layers

    (seed,) = settings.seeds
    data = orthants(seed, n=settings.n)
    sizes = (data.d, settings.width, settings.width, settings.width, 1)
    start = uniform_layers(sizes, scale=settings.scale, rng=np.random.default_rng([seed, 2]), is_residual=True)
    descent = DeepDescent(settings.lr, epochs=settings.epochs, batch=settings.batch, seed=seed)
    last = descent.num_steps(data.n)
    run = train_deep(start, data, LogisticLoss(), descent, progress=lambda step, loss: show(step / last))
    assert run.outcome is DeepOutcome.FINISHED, run.outcome.sentence
    directions = max_margin_directions(data)
    weights = [np.asarray(weight) for weight in run.network.weights]
    near = np.maximum(cosines(weights[0], directions.positive), cosines(weights[0], directions.negative))
    layers = []
    for layer in LAYERS:
        rows = weights[layer - 1]
        axes = np.linalg.svd(rows, full_matrices=False)[2][:2]
        centres, nearness = two_directions(rows)
        shown = np.array([directions.positive, directions.negative]) if layer == 1 else centres
        layers.append(
            HiddenLayer(
                singular_values=np.linalg.svd(rows, compute_uv=False)[:10],
                start_norm=float(np.linalg.norm(start.weights[layer - 1], 2)),
                plane=rows @ axes.T,
                directions=shown @ axes.T,
                gathered=weight_of(rows, nearness),
            )
        )
    return ResidualSeed(
        layers=tuple(layers),
        share_close=float(np.mean(near > CLOSE)),
        median=float(np.median(near)),
        histogram=histogram(near),
        accuracy=float(np.mean(data.y * outputs(run.network, data.X) > 0)),
        loss=float(run.losses[-1]),
    )
