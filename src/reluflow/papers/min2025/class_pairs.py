"""The paper's own start: neurons made of a sample of each class in turn and its centred label."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError
from reluflow.network import Initialization
from reluflow.papers.min2025.class_geometry import pseudo_labels


def draw_class_pairs(width: int, dataset: Dataset, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """A sample of each class in turn, at unit length, and its centred label."""
    if dataset.classes is None and not dataset.is_binary:
        raise InvalidInputError(
            "`init` class-pairs makes every neuron of a sample and its class and so needs classes, got numbers to fit; "
            "balanced draws neurons of any data."
        )
    labels = np.unique(dataset.y)
    turns = labels[np.arange(width) % labels.size]  # so that a width of at least K leaves no class out
    chosen = np.array([rng.choice(np.flatnonzero(dataset.y == label)) for label in turns])
    samples = dataset.X[chosen]
    w = samples / np.linalg.norm(samples, axis=1, keepdims=True)
    if dataset.classes is None:
        return w, dataset.y[chosen][:, None]
    return w, pseudo_labels(dataset.num_outputs)[dataset.y[chosen].astype(np.intp)]


CLASS_PAIRS = Initialization(
    "class-pairs",
    "min2025",
    "Sec. 4.2, scaled to be balanced (erratum E14)",
    "w = lambda x/|x| of a random sample of each class in turn, v = lambda times its centred one-hot label, a unit "
    "vector; a = +-lambda for labels -1 and 1: balanced",
    None,
    draw_on_data=draw_class_pairs,
)
