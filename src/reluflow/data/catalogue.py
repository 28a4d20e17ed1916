"""The catalogue of datasets that belong to no paper; those of the papers stand in `papers/<key>/data.py`."""

from __future__ import annotations

from functools import partial

import numpy as np

from reluflow.data import families, samplers
from reluflow.data.dataset import Dataset, Task
from reluflow.data.registered import DatasetParameter, RegisteredDataset, SuggestedSettings, size_parameters

_sampled = partial(
    RegisteredDataset,
    task=Task.CLASSIFICATION,
    paper="general",
    settings=SuggestedSettings("logistic", leak=None),
    is_random=True,
)

_NOISE = DatasetParameter("noise", float, 0.0, "standard deviation of the noise on the score")


def _orthogonally_separable(rng: np.random.Generator, *, n: int, d: int, mu: float) -> Dataset:
    return samplers.orthogonally_separable(n, d, mu, rng)


def _symmetric_separable(rng: np.random.Generator, *, n: int, d: int, margin: float) -> Dataset:
    return samplers.symmetric_separable(n, d, margin, rng)


def _linear_teacher(rng: np.random.Generator, *, n: int, d: int, task: str, noise: float, shift: float) -> Dataset:
    return samplers.gaussian_linear_teacher(n, d, rng, task=task, noise=noise, shift=shift)


def _relu_teacher(rng: np.random.Generator, *, n: int, d: int, num_teachers: int, noise: float) -> Dataset:
    return samplers.gaussian_relu_teacher(n, d, num_teachers, rng, noise=noise)


def _random_labels(rng: np.random.Generator, *, n: int, d: int) -> Dataset:
    return samplers.random_labels(n, d, rng)


DEFAULT_DATASET = RegisteredDataset(
    "three-points", 3, 2, "three points that train to the least-squares line", families.three_points,
    task=Task.REGRESSION, paper="general", settings=SuggestedSettings("square"),
)  # fmt: skip
"""What commands take where no dataset is named; the paper it comes from lists it itself where it is there."""

CATALOGUE: tuple[RegisteredDataset, ...] = (
    DEFAULT_DATASET,
    _sampled(
        "orthogonally-separable",
        20,
        5,
        "smallest labelled cosine exactly mu",
        _orthogonally_separable,
        (*size_parameters(20, 5), DatasetParameter("mu", float, 0.2, "smallest cosine of the y x")),
        settings=SuggestedSettings("logistic", reduction="sum", leak=None),
    ),
    _sampled(
        "symmetric-separable",
        20,
        5,
        "closed under (x, y) -> (-x, -y), linear margin as given",
        _symmetric_separable,
        (*size_parameters(20, 5), DatasetParameter("margin", float, 0.5, "best linear margin")),
    ),
    _sampled(
        "linear-teacher",
        100,
        10,
        "Gaussian inputs, linear teacher",
        _linear_teacher,
        (
            *size_parameters(100, 10),
            DatasetParameter("task", str, "classification", "what the labels are", tuple(Task)),
            _NOISE,
            DatasetParameter("shift", float, 0.0, "how far the classes are moved apart"),
        ),
    ),
    _sampled(
        "relu-teacher",
        100,
        10,
        "Gaussian inputs, two-layer ReLU teacher",
        _relu_teacher,
        (*size_parameters(100, 10), DatasetParameter("num_teachers", int, 3, "neurons of the teacher"), _NOISE),
        task=Task.REGRESSION,
        settings=SuggestedSettings("square", leak=None),
    ),
    _sampled("random-labels", 50, 10, "Gaussian inputs, fair random labels", _random_labels, size_parameters(50, 10)),
    RegisteredDataset(
        "gate-disagreement",
        5,
        2,
        "two neurons end elsewhere under descent than under the flow",
        families.gate_disagreement,
        (),
        task=Task.REGRESSION,
        paper="general",
        settings=SuggestedSettings("square", leak=None),
    ),
)
