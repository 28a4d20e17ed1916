"""Random settings of the kinds that the results of Lee, Sim & Ye (2022) speak of: one neuron taught by another."""

from __future__ import annotations

import numpy as np

from reluflow.papers.lee2022.data import single_neuron
from scanning import Draw


def _setting(rng: np.random.Generator, layers: int, n: int, spread: float) -> Draw:
    """A teacher of length 1/3 to 3 or so, and a student smaller or larger by as much as `spread` e-folds."""
    d = int(rng.integers(3, 8))
    std = float(np.exp(rng.uniform(-1.0, 1.0))) / np.sqrt(d)
    data = single_neuron(rng, n=n, d=d, layers=layers, std=std).dataset
    return Draw(data, log_factor=float(rng.uniform(-spread, 0.4 * spread)), parameters={"q": float(layers)})


def one_layer(rng: np.random.Generator) -> Draw:
    """No scalar layer above the neuron, as in Section 3.1."""
    return _setting(rng, 0, 300, 3.0)


def deep(rng: np.random.Generator) -> Draw:
    """One to three scalar layers, as in Section 3.2."""
    return _setting(rng, int(rng.integers(1, 4)), 300, 3.0)


def few_samples(rng: np.random.Generator) -> Draw:
    """About as few samples as can be told to be Gaussian."""
    return _setting(rng, int(rng.integers(0, 3)), int(rng.integers(60, 130)), 1.0)


KINDS = (one_layer, deep, few_samples)
