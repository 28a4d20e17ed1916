"""The catalogue: one entry for every registered dataset, those of the papers first."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from reluflow.data import families, samplers
from reluflow.data.dataset import Dataset, Task
from reluflow.data.mnist import BUNDLED_PER_DIGIT, NUM_PIXELS, Source, mnist_pair
from reluflow.data.published import boursier2024, chistikov2023, lee2022, lyu2021, lyu2021_hinted, min2024, phuong2021
from reluflow.data.registered import DatasetParameter, RegisteredDataset, SuggestedSettings

# How each paper uses its sets. Min et al.'s experiments fit a mean of losses, their theorems and cases a sum.
_boursier = partial(RegisteredDataset, task=Task.REGRESSION, paper="boursier2024", settings=SuggestedSettings("square"))
_min = partial(RegisteredDataset, task=Task.CLASSIFICATION, paper="min2024", settings=SuggestedSettings("exponential"))
_min_case = partial(
    RegisteredDataset,
    task=Task.CLASSIFICATION,
    paper="min2024",
    settings=SuggestedSettings("exponential", reduction="sum"),
)
_phuong = partial(
    RegisteredDataset,
    task=Task.CLASSIFICATION,
    paper="phuong2021",
    settings=SuggestedSettings("logistic", reduction="sum"),
)
_lyu = partial(
    RegisteredDataset, task=Task.CLASSIFICATION, paper="lyu2021", settings=SuggestedSettings("logistic", leak=0.5)
)
_lee = partial(RegisteredDataset, task=Task.REGRESSION, paper="lee2022", settings=SuggestedSettings("square"))
_chistikov = partial(
    RegisteredDataset, task=Task.REGRESSION, paper="chistikov2023", settings=SuggestedSettings("square")
)
_sampled = partial(
    RegisteredDataset,
    task=Task.CLASSIFICATION,
    paper="general",
    settings=SuggestedSettings("logistic", leak=None),
    is_random=True,
)

_LEAK = DatasetParameter("leak", float, 0.5, "leak of the activation the set is made for")
_NOISE = DatasetParameter("noise", float, 0.0, "standard deviation of the noise on the score")


def _size(n: int, d: int) -> tuple[DatasetParameter, DatasetParameter]:
    return DatasetParameter("n", int, n, "number of samples"), DatasetParameter("d", int, d, "dimension")


def _three_point_box(rng: np.random.Generator, *, eta: float) -> Dataset:
    return boursier2024.three_point_box(eta, rng)


def _mnist(positive: int, negative: int) -> RegisteredDataset:
    def factory(*, size: int | None = None, source: Source = "bundled") -> Dataset:
        return mnist_pair(positive, negative, size=size, source=source)

    parameters = (
        DatasetParameter("size", int, None, "number of images, half of each digit"),
        DatasetParameter("source", str, "bundled", "where the images come from", ("bundled", "full")),
    )
    summary = f"MNIST images of {positive} (+1) and {negative} (-1), centred"
    return _min(f"mnist-{positive}-{negative}", 2 * BUNDLED_PER_DIGIT, NUM_PIXELS, summary, factory, parameters)


def _hinted(*, leak: float) -> Dataset:
    return lyu2021_hinted.figure1_right(leak=leak).dataset


def _single_neuron(rng: np.random.Generator, **values: Any) -> Dataset:
    return lee2022.single_neuron(rng, **values).dataset


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


CATALOGUE: tuple[RegisteredDataset, ...] = (
    _boursier("three-points", 3, 2, "three points that train to the least-squares line", boursier2024.three_points),
    _boursier(
        "three-point-box",
        3,
        2,
        "three points drawn from the box of Assumption 3",
        _three_point_box,
        (DatasetParameter("eta", float, 0.09, "size of the box"),),
        is_random=True,
    ),
    _boursier(
        "three-point-box-worst",
        3,
        2,
        "the corner of that box where Assumption 5 fails first",
        boursier2024.three_point_box_worst,
        (DatasetParameter("eta", float, 0.16, "size of the box"),),
    ),
    _boursier(
        "three-point-angle",
        3,
        2,
        "a V of three points under an angle; near 90 degrees in that box",
        families.three_point_angle,
        (
            DatasetParameter("angle", float, 87.0, "between the outer points, in degrees"),
            DatasetParameter("low", float, 0.05, "label of the middle point"),
            DatasetParameter("tilt", float, 0.02, "how much the first label exceeds 1"),
        ),
    ),
    _boursier(
        "stewart",
        40,
        2,
        "uniform inputs, teacher of eight ReLUs",
        boursier2024.stewart,
        (DatasetParameter("n", int, 40, "number of samples"),),
        is_random=True,
    ),
    _boursier(
        "stewart-digitised", 38, 2, "inputs read off the animation, same teacher", boursier2024.stewart_digitised
    ),
    _boursier("one-point", 1, 1, "a neuron at 0 may leave at any time", boursier2024.one_point),
    _boursier("orthogonal-triple", 3, 3, "orthogonal samples, saddles and all", boursier2024.orthogonal_triple),
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
    _phuong(
        "phuong-orthants",
        500,
        20,
        "Gaussian points in two opposite orthants, filtered",
        phuong2021.filtered_orthants,
        _size(500, 20),
        is_random=True,
        settings=SuggestedSettings("logistic"),  # the experiment averages over its batches
    ),
    _phuong("phuong-toy", 4, 2, "max-margin vectors in closed form", phuong2021.phuong_toy),
    _phuong("phuong-dead-cone", 4, 2, "orthogonally separable, yet neurons die", phuong2021.phuong_dead_cone),
    _lyu("lyu-symmetric", 6, 2, "symmetric, with a suboptimal KKT direction", lyu2021.figure1_left, (_LEAK,)),
    _lyu("lyu-middle", 14, 3, "one neuron wins at 0.75 of the best margin", lyu2021.figure1_middle, (_LEAK,)),
    _lyu("lyu-middle-sharp", 22, 3, "one neuron wins at 0.53 of the best margin", lyu2021.figure1_middle_sharp),
    _lyu("lyu-hinted", 7, 2, "three hints trap training at a suboptimal margin", _hinted, (_LEAK,)),
    _lyu(
        "lyu-gaussian",
        50,
        51,
        "Gaussian classes moved off their separator, plus the coordinate 0.1",
        lyu2021.table1,
        (*_size(50, 50), DatasetParameter("shift", float, 0.45, "how far the classes are moved")),
        is_random=True,
    ),
    _lyu(
        "lyu-counterexample",
        3,
        2,
        "Theorem A.7 as printed fails here",
        lyu2021.counterexample,
        settings=SuggestedSettings("logistic", leak=0.1),
    ),
    _lyu("lyu-counterexample-mild", 3, 2, "Theorem A.7 as printed fails here, mildly", lyu2021.counterexample_mild),
    _lyu("lyu-counterexample-sharp", 3, 2, "close to those, but Theorem A.7 holds", lyu2021.counterexample_sharp),
    _lyu(
        "lyu-orthogonal",
        4,
        3,
        "orthogonally separable points for ReLU",
        lyu2021.orthogonal,
        settings=SuggestedSettings("logistic"),
    ),
    _lyu("lyu-ridge", 2, 2, "a boundary that a neuron may leave to either side", lyu2021.ridge),
    _lee(
        "lee-single-neuron",
        10_000,
        100,
        "Gaussian inputs, one ReLU neuron as teacher",
        _single_neuron,
        (
            *_size(10_000, 100),
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
        _size(10_000, 100),
        is_random=True,
    ),
    _lee("lee-flat-minimum", 3, 2, "full-rank covariance, yet a segment of minima", lee2022.flat_minimum),
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
    _sampled(
        "orthogonally-separable",
        20,
        5,
        "smallest labelled cosine exactly mu",
        _orthogonally_separable,
        (*_size(20, 5), DatasetParameter("mu", float, 0.2, "smallest cosine of the y x")),
        settings=SuggestedSettings("logistic", reduction="sum", leak=None),
    ),
    _sampled(
        "symmetric-separable",
        20,
        5,
        "closed under (x, y) -> (-x, -y), linear margin as given",
        _symmetric_separable,
        (*_size(20, 5), DatasetParameter("margin", float, 0.5, "best linear margin")),
    ),
    _sampled(
        "linear-teacher",
        100,
        10,
        "Gaussian inputs, linear teacher",
        _linear_teacher,
        (
            *_size(100, 10),
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
        (*_size(100, 10), DatasetParameter("num_teachers", int, 3, "neurons of the teacher"), _NOISE),
        task=Task.REGRESSION,
        settings=SuggestedSettings("square", leak=None),
    ),
    _sampled("random-labels", 50, 10, "Gaussian inputs, fair random labels", _random_labels, _size(50, 10)),
)
