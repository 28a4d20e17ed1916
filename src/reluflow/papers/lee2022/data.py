"""Point sets of Lee, Sim & Ye (2022), "Magnitude and angle dynamics in training single ReLU neurons"."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.data.dataset import Dataset, Task
from reluflow.data.registered import DatasetParameter, RegisteredDataset, SuggestedSettings, size_parameters
from reluflow.errors import InvalidInputError

# Teacher standard deviations k* of Figs. 1 and 2 for q = 0, 1, 2 scalar layers (App. D.3).
_TEACHER_STD = (1.0, 0.5, 0.3)


@dataclass(frozen=True, eq=False)
class SingleNeuronData:
    """Gaussian samples together with the single neuron that labelled them.

    Parameters
    ----------
    dataset
        The samples and their labels |w*|^q s(<w*, x>).
    teacher
        w*, shape (d,).
    layers
        q, the number of scalar layers above the neuron.
    """

    dataset: Dataset
    teacher: FloatArray
    layers: int


def single_neuron(
    rng: np.random.Generator, *, n: int = 10_000, d: int = 100, layers: int = 1, std: float | None = None
) -> SingleNeuronData:
    """Standard Gaussian inputs labelled by one ReLU neuron under `layers` scalar layers of its own norm.

    y = |w*|^q s(<w*, x>) with q = `layers` and w* = std * g, g standard Gaussian.

    Parameters
    ----------
    rng
        Source of randomness; the teacher is drawn before the inputs.
    n, d
        Number of samples and dimension.
    layers
        q: 0, 1, 2 are the paper's one-, two- and three-layer networks.
    std
        Standard deviation of the coordinates of w*; by default the paper's 1, 0.5, 0.3 for q = 0, 1, 2.

    Notes
    -----
    The paper writes N(0, k I) but its k is a standard deviation, not a variance (erratum E12).

    References
    ----------
    Lee et al. (2022), Sec. 5 and App. D.3 [lee2022].
    """
    _check_size(n, d)
    if layers < 0:
        raise InvalidInputError(f"`layers` must be at least 0, got {layers}.")
    if std is None:
        if layers >= len(_TEACHER_STD):
            raise InvalidInputError(
                f"`std` must be given for layers={layers}: the paper has values for 0, 1 and 2 only."
            )
        std = _TEACHER_STD[layers]
    _check_std(std)
    teacher = std * rng.standard_normal(d)
    samples = rng.standard_normal((n, d))
    labels = np.linalg.norm(teacher) ** layers * np.maximum(samples @ teacher, 0.0)
    dataset = Dataset(
        samples,
        labels,
        task=Task.REGRESSION,
        name="lee-single-neuron",
        provenance=f"Lee et al. (2022), App. D.3, q={layers}, k*={std:g} (erratum E12) [lee2022]",
    )
    return SingleNeuronData(dataset, teacher, layers)


def deep_teacher(
    rng: np.random.Generator, *, n: int = 10_000, d: int = 100, width: int = 50, depth: int = 5, std: float = 0.2
) -> Dataset:
    """Standard Gaussian inputs labelled by a fully connected ReLU network without biases.

    Notes
    -----
    The paper leaves the teacher of Fig. 4 open; five weight matrices d-50-50-50-50-1 with entries of standard
    deviation 0.2 = sqrt(2/50) are our choice.

    References
    ----------
    Lee et al. (2022), App. D.2, Fig. 4 [lee2022].
    """
    _check_size(n, d)
    if width < 1 or depth < 1:
        raise InvalidInputError(f"`width` and `depth` must be at least 1, got {width} and {depth}.")
    _check_std(std)
    sizes = [d, *([width] * (depth - 1)), 1]
    matrices = [std * rng.standard_normal(shape) for shape in pairwise(sizes)]
    samples = rng.standard_normal((n, d))
    values = samples
    for matrix in matrices[:-1]:
        values = np.maximum(values @ matrix, 0.0)
    return Dataset(
        samples,
        (values @ matrices[-1])[:, 0],
        task=Task.REGRESSION,
        name="lee-deep-teacher",
        provenance=f"stand-in for Lee et al. (2022), App. D.2: depth {depth}, width {width}, std {std:g} [lee2022]",
    )


def flat_minimum() -> Dataset:
    """Three points of mean zero and full-rank covariance on which the minimum is not unique.

    With the teacher w* = (1, 0) every (1, s), |s| <= 1/2, fits them: the counterexample to the paper's Prop. B.2.

    References
    ----------
    Lee et al. (2022), Prop. B.2, erratum E7 [lee2022].
    """
    return Dataset(
        [[1.0, 0.0], [-0.5, 1.0], [-0.5, -1.0]],
        [1.0, 0.0, 0.0],
        task=Task.REGRESSION,
        name="lee-flat-minimum",
        provenance="counterexample to Lee et al. (2022), Prop. B.2, erratum E7 [lee2022]",
    )


def _check_size(n: int, d: int) -> None:
    if n < 1 or d < 1:
        raise InvalidInputError(f"`n` and `d` must be at least 1, got {n} and {d}.")


def _check_std(std: float) -> None:
    if not (std > 0 and np.isfinite(std)):
        raise InvalidInputError(f"`std` must be positive and finite, got {std:g}.")


_lee = partial(RegisteredDataset, task=Task.REGRESSION, paper="lee2022", settings=SuggestedSettings("square"))


def _single_neuron(rng: np.random.Generator, **values: Any) -> Dataset:
    return single_neuron(rng, **values).dataset


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
        deep_teacher,
        size_parameters(10_000, 100),
        is_random=True,
    ),
    _lee("lee-flat-minimum", 3, 2, "full-rank covariance, yet a segment of minima", flat_minimum),
)
