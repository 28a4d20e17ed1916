"""The point sets of Chistikov, Englert & Lazic (2023), by name [chistikov2023]."""

from __future__ import annotations

from functools import partial

from reluflow.data.dataset import Task
from reluflow.data.published import chistikov2023
from reluflow.data.registered import DatasetParameter, RegisteredDataset, SuggestedSettings

_chistikov = partial(
    RegisteredDataset, task=Task.REGRESSION, paper="chistikov2023", settings=SuggestedSettings("square")
)


DATASETS = (
    _chistikov("chistikov-plane", 3, 2, "one teacher neuron, samples within 30 degrees", chistikov2023.plane),
    _chistikov(
        "chistikov-two-samples", 2, 2, "the same where the paper's scale is in reach", chistikov2023.two_samples
    ),
    _chistikov("chistikov-minimal", 3, 3, "M < 0: the rank-one limit has least norm", chistikov2023.minimal),
    _chistikov("chistikov-not-minimal", 3, 3, "M > 0: the rank-one limit has not", chistikov2023.not_minimal),
    _chistikov(
        "chistikov-simplex",
        3,
        3,
        "Example 37, M < 0",
        chistikov2023.simplex,
        (
            DatasetParameter("d", int, 3, "dimension and number of samples"),
            DatasetParameter("xi", float, 0.5, "how far the samples are apart"),
        ),
    ),
    _chistikov(
        "chistikov-fan",
        3,
        3,
        "Example 37, M > 0",
        chistikov2023.fan,
        (
            DatasetParameter("d", int, 3, "dimension and number of samples"),
            DatasetParameter("b", float, 11.0, "length of the samples, at least 11"),
        ),
    ),
    _chistikov(
        "chistikov-centred",
        16,
        16,
        "Gaussian samples around the teacher",
        partial(chistikov2023.correlated, centred=True),
        (DatasetParameter("d", int, 16, "dimension"), DatasetParameter("n", int, None, "number of samples, else d")),
        is_random=True,
    ),
    _chistikov(
        "chistikov-uncentred",
        16,
        16,
        "Gaussian samples, one more as teacher",
        partial(chistikov2023.correlated, centred=False),
        (DatasetParameter("d", int, 16, "dimension"), DatasetParameter("n", int, None, "number of samples, else d")),
        is_random=True,
    ),
    _chistikov(
        "chistikov-two-teachers",
        32,
        16,
        "two opposite teachers, each with its own samples",
        chistikov2023.two_teachers,
        (
            DatasetParameter("d", int, 16, "dimension"),
            DatasetParameter("n", int, None, "samples of each teacher, else d"),
            DatasetParameter("rho", float, chistikov2023.NOISE_UNCENTRED, "mean squared distance from the centre"),
        ),
        is_random=True,
    ),
)
