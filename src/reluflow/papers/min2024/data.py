"""Point sets of Min, Mallada & Vidal (2024), "Early neuron alignment in two-layer ReLU networks", by name [min2024].

Classification in the plane, for the exponential or twice the logistic loss. MNIST pairs are in `reluflow.data.mnist`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from reluflow.data.dataset import Dataset, Task
from reluflow.data.mnist import BUNDLED_PER_DIGIT, NUM_PIXELS, Source, mnist_pair
from reluflow.data.registered import DatasetParameter, RegisteredDataset, SuggestedSettings
from reluflow.errors import InvalidInputError


def min_toy() -> Dataset:
    """Two positive and two negative points in the plane, with mu = sin(10 degrees) = 0.1736.

    Notes
    -----
    The paper prints no coordinates for Fig. 6; these (angle, norm) pairs are ours: (0, 1), (20, 1.2) positive,
    (120, 0.7), (150, 0.8) negative.

    References
    ----------
    Min et al. (2024), App. A.1, Fig. 6 [min2024].
    """
    return _polar(
        (0.0, 20.0, 120.0, 150.0),
        (1.0, 1.2, 0.7, 0.8),
        (1.0, 1.0, -1.0, -1.0),
        "min-toy",
        "stand-in for Min et al. (2024), App. A.1, which prints no coordinates [min2024]",
    )


def two_points(angle: float) -> Dataset:
    """Two positive points, (1, 0) and (sin t, cos t): mu = sin t, so the smaller t the slower the alignment.

    Parameters
    ----------
    angle
        t in radians: 0.1 in Fig. 7, 0.001 in Fig. 8, 0 (orthogonal points) in Fig. 9.

    References
    ----------
    Min et al. (2024), App. A.2 and A.3 [min2024].

    Examples
    --------
    >>> two_points(0.0).X
    array([[1., 0.],
           [0., 1.]])
    """
    if not 0.0 <= angle < np.pi / 2:
        raise InvalidInputError(f"`angle` must be in [0, pi/2), got {angle:g}.")
    locator = "App. A.3" if angle == 0 else "App. A.2"
    return Dataset(
        [[1.0, 0.0], [np.sin(angle), np.cos(angle)]],
        [1.0, 1.0],
        name="min-two-points",
        provenance=f"Min et al. (2024), {locator}, t={angle:g} [min2024]",
    )


def regression_case() -> Dataset:
    """Unit vectors at 0 and 30 degrees (positive), 190 and 220 degrees (negative): mu = cos 40 degrees.

    A deterministic case for regression tests of the alignment flow under the paper's Assumption 1; not in the paper.
    """
    return _polar(
        (0.0, 30.0, 190.0, 220.0),
        (1.0, 1.0, 1.0, 1.0),
        (1.0, 1.0, -1.0, -1.0),
        "min-regression-case",
        "deterministic case for Min et al. (2024), Assumption 1 [min2024]",
    )


def one_sample(label: float) -> Dataset:
    """The single sample (1, 0), on which solutions fail to exist (label -1) or to be unique (label 1).

    Both counterexamples start a neuron exactly on the boundary of the sample, w = (0, 1), a = 1.

    References
    ----------
    Min et al. (2024), App. E.3 (label -1) and E.4 (label 1) [min2024].
    """
    if label not in (-1.0, 1.0):
        raise InvalidInputError(f"`label` must be -1 or 1, got {label:g}.")
    return Dataset(
        [[1.0, 0.0]],
        [label],
        name="min-uniqueness-failure" if label > 0 else "min-existence-failure",
        provenance=f"Min et al. (2024), App. {'E.4' if label > 0 else 'E.3'} [min2024]",
    )


def _polar(
    degrees: Sequence[float], norms: Sequence[float], labels: Sequence[float], name: str, provenance: str
) -> Dataset:
    angles = np.deg2rad(degrees)
    samples = np.column_stack([np.cos(angles), np.sin(angles)]) * np.asarray(norms)[:, None]
    return Dataset(samples, labels, name=name, provenance=provenance)


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
    _min("min-toy", 4, 2, "two well-separated classes in the plane", min_toy),
    _min("min-correlated", 2, 2, "two positive points, mu = sin 0.1", partial(two_points, 0.1)),
    _min("min-nearly-orthogonal", 2, 2, "two positive points, mu = sin 0.001", partial(two_points, 0.001)),
    _min("min-orthogonal", 2, 2, "two positive points, mu = 0", partial(two_points, 0.0)),
    _min_case("min-regression-case", 4, 2, "unit vectors, mu = cos 40 degrees", regression_case),
    _min_case("min-existence-failure", 1, 2, "one sample, perhaps no solution", partial(one_sample, -1.0)),
    _min_case("min-uniqueness-failure", 1, 2, "one sample, many solutions", partial(one_sample, 1.0)),
    _mnist(0, 1),
    _mnist(3, 8),
    _mnist(1, 7),
)
