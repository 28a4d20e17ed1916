"""The point sets of Lee, Sim & Ye (2022), by name [lee2022]."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from reluflow.data.dataset import Dataset, Task
from reluflow.data.published import lee2022
from reluflow.data.registered import DatasetParameter, RegisteredDataset, SuggestedSettings, size_parameters

_lee = partial(RegisteredDataset, task=Task.REGRESSION, paper="lee2022", settings=SuggestedSettings("square"))


def _single_neuron(rng: np.random.Generator, **values: Any) -> Dataset:
    return lee2022.single_neuron(rng, **values).dataset


DATASETS = (
    _lee(
        "lee-single-neuron",
        10_000,
        100,
        "Gaussian inputs, one ReLU neuron as teacher",
        _single_neuron,
        (
            *size_parameters(10_000, 100),
            DatasetParameter("layers", int, 1, "scalar layers above the neuron"),
            DatasetParameter("std", float, None, "standard deviation of the teacher's weights"),
        ),
        is_random=True,
    ),
    _lee(
        "lee-deep-teacher",
        10_000,
        100,
        "Gaussian inputs, a deep ReLU network as teacher",
        lee2022.deep_teacher,
        size_parameters(10_000, 100),
        is_random=True,
    ),
    _lee("lee-flat-minimum", 3, 2, "full-rank covariance, yet a segment of minima", lee2022.flat_minimum),
)
