"""The point sets of Min, Mallada & Vidal (2024), by name [min2024]."""

from __future__ import annotations

from functools import partial

from reluflow.data.dataset import Dataset, Task
from reluflow.data.mnist import BUNDLED_PER_DIGIT, NUM_PIXELS, Source, mnist_pair
from reluflow.data.published import min2024
from reluflow.data.registered import DatasetParameter, RegisteredDataset, SuggestedSettings

_min = partial(RegisteredDataset, task=Task.CLASSIFICATION, paper="min2024", settings=SuggestedSettings("exponential"))
_min_case = partial(
    RegisteredDataset,
    task=Task.CLASSIFICATION,
    paper="min2024",
    settings=SuggestedSettings("exponential", reduction="sum"),
)


def _mnist(positive: int, negative: int) -> RegisteredDataset:
    def factory(*, size: int | None = None, source: Source = "bundled") -> Dataset:
        return mnist_pair(positive, negative, size=size, source=source)

    parameters = (
        DatasetParameter("size", int, None, "number of images, half of each digit"),
        DatasetParameter("source", str, "bundled", "where the images come from", ("bundled", "full")),
    )
    summary = f"MNIST images of {positive} (+1) and {negative} (-1), centred"
    return _min(f"mnist-{positive}-{negative}", 2 * BUNDLED_PER_DIGIT, NUM_PIXELS, summary, factory, parameters)


DATASETS = (
    _min("min-toy", 4, 2, "two well-separated classes in the plane", min2024.min_toy),
    _min("min-correlated", 2, 2, "two positive points, mu = sin 0.1", partial(min2024.two_points, 0.1)),
    _min("min-nearly-orthogonal", 2, 2, "two positive points, mu = sin 0.001", partial(min2024.two_points, 0.001)),
    _min("min-orthogonal", 2, 2, "two positive points, mu = 0", partial(min2024.two_points, 0.0)),
    _min_case("min-regression-case", 4, 2, "unit vectors, mu = cos 40 degrees", min2024.regression_case),
    _min_case("min-existence-failure", 1, 2, "one sample, perhaps no solution", partial(min2024.one_sample, -1.0)),
    _min_case("min-uniqueness-failure", 1, 2, "one sample, many solutions", partial(min2024.one_sample, 1.0)),
    _mnist(0, 1),
    _mnist(3, 8),
    _mnist(1, 7),
)
