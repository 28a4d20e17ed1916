"""DeepDescent: how a deep network is trained: the optimiser, its rate, its batches and its arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from reluflow.deep.backend import Precision, checked_precision, optax
from reluflow.errors import InvalidInputError

OptimizerName = Literal["sgd", "adam"]


@dataclass(frozen=True)
class DeepDescent:
    """Descent on the full loss, or on batches that go through a fresh random order of the samples in each epoch.

    The same conventions as `GradientDescent` and `StochasticGradientDescent` of two-layer networks: a batch of b
    samples is weighted by n/b, the last batch of an epoch may be smaller, and one seed gives the same order there and
    here.

    Parameters
    ----------
    lr
        Learning rate.
    iterations, epochs
        How long, in steps or in passes over the samples: one of the two.
    batch
        Samples per batch; None for all of them.
    optimizer
        "sgd" for plain descent, "adam" for Adam with its usual constants 0.9, 0.999, 1e-8.
    seed
        Fixes every shuffle.
    precision
        "float64" or "float32".
    """

    lr: float
    iterations: int | None = None
    epochs: int | None = None
    batch: int | None = None
    optimizer: OptimizerName = "sgd"
    seed: int = 0
    precision: Precision = "float64"

    def __post_init__(self) -> None:
        if not (np.isfinite(self.lr) and self.lr > 0):
            raise InvalidInputError(f"`lr` must be positive and finite, got {self.lr}.")
        if (self.iterations is None) == (self.epochs is None):
            raise InvalidInputError("exactly one of `iterations` and `epochs` must be given.")
        for name in ("iterations", "epochs", "batch"):
            value = getattr(self, name)
            if value is not None and (value != int(value) or value < 1):
                raise InvalidInputError(f"`{name}` must be a whole number of at least 1, got {value}.")
        if self.optimizer not in get_args(OptimizerName):
            raise InvalidInputError(f"`optimizer` must be 'sgd' or 'adam', got {self.optimizer!r}.")
        checked_precision(self.precision)

    def steps_per_epoch(self, num_samples: int) -> int:
        """Steps in one pass over the samples."""
        return 1 if self.batch is None else -(-num_samples // self.batch)

    def num_steps(self, num_samples: int) -> int:
        """Steps of the whole run.

        >>> DeepDescent(lr=0.1, epochs=50, batch=128).num_steps(12_665)
        4950
        """
        if self.iterations is not None:
            return int(self.iterations)
        return int(self.epochs or 0) * self.steps_per_epoch(num_samples)

    def transformation(self) -> Any:
        """The optimiser as Optax knows it."""
        return {"sgd": optax.sgd, "adam": optax.adam}[self.optimizer](self.lr)

    def describe(self) -> str:
        """The method and its settings, in words.

        >>> DeepDescent(lr=1e-3, epochs=50, batch=128, optimizer="adam").describe()
        'adam, lr 0.001, batch 128, seed 0, float64'
        """
        samples = "all samples" if self.batch is None else f"batch {self.batch}, seed {self.seed}"
        return f"{self.optimizer}, lr {self.lr:g}, {samples}, {self.precision}"


def batch_table(
    rng: np.random.Generator, num_samples: int, batch: int, *, epochs: int
) -> tuple[np.ndarray[Any, np.dtype[np.int32]], np.ndarray[Any, np.dtype[np.float64]]]:
    """Which samples each step of some epochs takes, and their weights in it, both of shape (steps, batch).

    Weights of one step sum to 1. A short last batch is filled with sample 0 at weight 0, so that all have one shape.

    >>> index, weight = batch_table(np.random.default_rng(0), 5, 2, epochs=1)
    >>> sorted(index[weight > 0].tolist()), weight[-1].tolist()
    ([0, 1, 2, 3, 4], [1.0, 0.0])
    """
    steps = -(-num_samples // batch)
    index = np.zeros((epochs, steps * batch), dtype=np.int32)
    for row in index:
        row[:num_samples] = rng.permutation(num_samples)
    is_real = (np.arange(steps * batch) < num_samples).reshape(steps, batch)
    weight = is_real / is_real.sum(axis=1, keepdims=True)
    return index.reshape(epochs * steps, batch), np.tile(weight, (epochs, 1))
