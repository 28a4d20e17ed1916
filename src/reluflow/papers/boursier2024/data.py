"""The point sets of Boursier & Flammarion (2024), by name [boursier2024]."""

from __future__ import annotations

from functools import partial

import numpy as np

from reluflow.data import families
from reluflow.data.dataset import Dataset, Task
from reluflow.data.published import boursier2024
from reluflow.data.registered import DatasetParameter, RegisteredDataset, SuggestedSettings

_boursier = partial(RegisteredDataset, task=Task.REGRESSION, paper="boursier2024", settings=SuggestedSettings("square"))


def _three_point_box(rng: np.random.Generator, *, eta: float) -> Dataset:
    return boursier2024.three_point_box(eta, rng)


DATASETS = (
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
)
