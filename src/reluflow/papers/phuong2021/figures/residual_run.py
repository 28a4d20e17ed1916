"""The four-layer residual network of Sec. 5.2, trained through JAX like the two-layer one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from reluflow.experiments.store import Results
from reluflow.experiments.workbench import Workbench
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


def compute(settings: Settings, workbench: Workbench) -> Results:
    """Train every seed and measure the three hidden layers."""
    seeds = []
    for count, seed in enumerate(settings.seeds):

        def show(share: float, count: int = count, seed: int = seed) -> None:
            workbench.progress((count + share) / len(settings.seeds), f"seed {seed}")

        alone = replace(settings, seeds=(seed,))
        seeds.append(workbench.piece(f"seed-{seed}", partial(one_seed, alone, show), settings=alone))
    drawn = [name for name in seeds[0] if name.startswith(("plane", "histogram"))]
    measured = {name: np.array([seed[name] for seed in seeds]) for name in seeds[0] if name not in drawn}
    return measured | {name: seeds[0][name] for name in drawn}


def one_seed(settings: Settings, show: Callable[[float], None]) -> Results:
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
    results: Results = {
        "share_close": float(np.mean(near > CLOSE)),
        "median": float(np.median(near)),
        "histogram": histogram(near),
        "accuracy": float(np.mean(data.y * outputs(run.network, data.X) > 0)),
        "loss": float(run.losses[-1]),
        "singular_values": np.array([np.linalg.svd(weights[k - 1], compute_uv=False)[:10] for k in LAYERS]),
        "start_norms": np.array([np.linalg.norm(start.weights[k - 1], 2) for k in LAYERS]),
    }
    gathered = []
    for layer in LAYERS:
        rows = weights[layer - 1]
        axes = np.linalg.svd(rows, full_matrices=False)[2][:2]
        centres, nearness = two_directions(rows)
        gathered.append(weight_of(rows, nearness))
        shown = np.array([directions.positive, directions.negative]) if layer == 1 else centres
        results |= {f"plane_{layer}": rows @ axes.T, f"plane_directions_{layer}": shown @ axes.T}
    return results | {"gathered": np.array(gathered)}
