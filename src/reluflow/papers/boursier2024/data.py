"""Point sets of Boursier & Flammarion (2024), "Early alignment in two-layer networks training is a two-edged sword".

All but the three last are univariate inputs with the constant coordinate 1 appended (d = 2), for the square loss with
ReLU.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.data import families
from reluflow.data.dataset import Dataset, Task
from reluflow.data.registered import DatasetParameter, RegisteredDataset, SuggestedSettings
from reluflow.errors import InvalidInputError

_TEACHER_KNOTS = (-1.0, -0.7, -0.55, -0.4, 0.0, 0.5, 0.6, 0.7, 1.0)
_TEACHER_VALUES = (0.0, 0.7, 0.5, 1.0, 0.0, 1.0, 0.6, 0.7, 0.0)

# Read off the authors' animation: isolated inputs to 0.004, overlapping ones split by eye; 38 of 40 are distinct.
_DIGITISED_INPUTS = (
    -0.890, -0.813, -0.722, -0.704, -0.676, -0.634, -0.608, -0.473, -0.376, -0.274, -0.225, -0.177, -0.135,
    -0.116, -0.096, -0.076, -0.064, -0.037, 0.061, 0.065, 0.090, 0.104, 0.154, 0.402, 0.407, 0.417, 0.422,
    0.433, 0.460, 0.472, 0.510, 0.535, 0.678, 0.712, 0.799, 0.899, 0.971, 0.980,
)  # fmt: skip


def three_point_box(eta: float, rng: np.random.Generator) -> Dataset:
    """Three points drawn uniformly from the box of Assumption 3.

    x_1 in (-1, -1+eta] x [1, 1+eta], x_2 in [-eta, eta] x [1-eta, 1+eta], x_3 in [1-eta, 1) x [1, 1+eta];
    y_1 and y_3 in [1, 1+eta], y_2 in (0, eta].

    Notes
    -----
    Theorem 2 asks for eta < 1/6; its Assumption 5 holds on the whole box only for eta < 0.09765 (erratum E3).

    References
    ----------
    Boursier & Flammarion (2024), Assumption 3 [boursier2024].
    """
    _check_eta(eta)
    share = rng.random((3, 3))  # in [0, 1), so that 1 - share is in (0, 1]: half-open sides stay half-open
    samples = [
        [-1.0 + eta * (1.0 - share[0, 0]), 1.0 + eta * share[0, 1]],
        [eta * (2.0 * share[1, 0] - 1.0), 1.0 + eta * (2.0 * share[1, 1] - 1.0)],
        [1.0 - eta * (1.0 - share[2, 0]), 1.0 + eta * share[2, 1]],
    ]
    labels = [1.0 + eta * share[0, 2], eta * (1.0 - share[1, 2]), 1.0 + eta * share[2, 2]]
    return Dataset(
        samples,
        labels,
        task=Task.REGRESSION,
        name="three-point-box",
        provenance=f"uniform in the box of Boursier & Flammarion (2024), Assumption 3, eta={eta:g} [boursier2024]",
    )


def three_point_box_worst(eta: float) -> Dataset:
    """The corner of the Assumption 3 box where Assumption 5 fails first, as soon as eta reaches 0.09765.

    References
    ----------
    Boursier & Flammarion (2024), Lemma 8 [boursier2024]; the corner corrects its claim (erratum E3).
    """
    _check_eta(eta)
    return Dataset(
        [[-1.0 + eta, 1.0], [-eta, 1.0 + eta], [1.0 - eta, 1.0 + eta]],
        [1.0, eta, 1.0 + eta],
        task=Task.REGRESSION,
        name="three-point-box-worst",
        provenance=f"corner of Boursier & Flammarion (2024), Assumption 3, eta={eta:g}, erratum E3 [boursier2024]",
    )


def stewart_teacher(inputs: ArrayLike) -> FloatArray:
    """The teacher of Fig. 3: eight ReLUs on [-1, 1], given by linear interpolation through nine knots.

    References
    ----------
    Boursier & Flammarion (2024), App. B.2 [boursier2024]; the knots come from the authors' code.

    Examples
    --------
    >>> stewart_teacher([-1.0, -0.4, 0.25])
    array([0. , 1. , 0.5])
    """
    points = np.asarray(inputs, dtype=np.float64)
    if points.size and not (np.min(points) >= -1.0 and np.max(points) <= 1.0):
        raise InvalidInputError("`inputs` must lie in [-1, 1], where the teacher is defined.")
    return np.interp(points, _TEACHER_KNOTS, _TEACHER_VALUES)


def stewart(rng: np.random.Generator, *, n: int = 40) -> Dataset:
    """Uniform inputs on [-1, 1] labelled by `stewart_teacher`, without noise.

    References
    ----------
    Boursier & Flammarion (2024), App. B.2, Fig. 3 [boursier2024].
    """
    if n < 1:
        raise InvalidInputError(f"`n` must be at least 1, got {n}.")
    inputs = np.sort(rng.uniform(-1.0, 1.0, n))
    return _univariate(
        inputs,
        stewart_teacher(inputs),
        "stewart",
        "Boursier & Flammarion (2024), App. B.2, fresh inputs [boursier2024]",
    )


def stewart_digitised() -> Dataset:
    """The 38 inputs that can be read off the authors' animation of Fig. 3, labelled by `stewart_teacher`."""
    return _univariate(
        _DIGITISED_INPUTS,
        stewart_teacher(_DIGITISED_INPUTS),
        "stewart-digitised",
        "Boursier & Flammarion (2024), App. B.2, inputs digitised from the animation (+-0.004) [boursier2024]",
    )


def one_point() -> Dataset:
    """One sample on the line: a neuron that starts at 0 may leave it at any time.

    References
    ----------
    Boursier & Flammarion (2024), App. E, Example 1 [boursier2024].
    """
    return Dataset(
        [[1.0]],
        [1.0],
        task=Task.REGRESSION,
        name="one-point",
        provenance="Boursier & Flammarion (2024), Example 1 [boursier2024]",
    )


def mirrored_pair() -> Dataset:
    """A sample, its mirror image and one orthogonal to both: their hyperplane attracts first and repels then.

    References
    ----------
    Boursier & Flammarion (2024), App. E.1, which names no data [boursier2024].
    """
    return Dataset(
        [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]],
        [1.0, 1.0, 1.0],
        task=Task.REGRESSION,
        name="mirrored-pair",
        provenance="ours, for the remark of Boursier & Flammarion (2024), App. E.1 [boursier2024]",
    )


def orthogonal_triple() -> Dataset:
    """Exactly orthogonal samples: four extremal vectors, two of them saddles, so that Theorem 1 says nothing.

    References
    ----------
    Boursier & Flammarion (2024), Sec. 3, erratum E13 [boursier2024].
    """
    return Dataset(
        np.eye(3),
        [1.0, 0.7, -0.8],
        task=Task.REGRESSION,
        name="orthogonal-triple",
        provenance="degenerate set for Boursier & Flammarion (2024), Theorem 1, erratum E13 [boursier2024]",
    )


def obtuse_pair() -> Dataset:
    """Two points at an angle of 135 degrees with one label, where extremal vectors lie on hyperplanes.

    References
    ----------
    Boursier & Flammarion (2024), Eqs. (17) and (20), Lemmas 11 and 14 [boursier2024]; the coordinates are ours.
    """
    return Dataset(
        [[1.0, 0.0], [-0.7, 0.7]],
        [1.0, 1.0],
        task=Task.REGRESSION,
        name="obtuse-pair",
        provenance="case for Boursier & Flammarion (2024), Eq. (17) [boursier2024]; the coordinates are ours",
    )


def _univariate(inputs: ArrayLike, labels: ArrayLike, name: str, provenance: str) -> Dataset:
    column = np.asarray(inputs, dtype=np.float64)[:, None]
    return Dataset(column, labels, task=Task.REGRESSION, name=name, provenance=provenance).with_bias()


def _check_eta(eta: float) -> None:
    if not 0.0 < eta <= 1.0:
        raise InvalidInputError(f"`eta` must be in (0, 1], got {eta:g}; the theorem needs eta < 1/6.")


_boursier = partial(RegisteredDataset, task=Task.REGRESSION, paper="boursier2024", settings=SuggestedSettings("square"))


def _three_point_box(rng: np.random.Generator, *, eta: float) -> Dataset:
    return three_point_box(eta, rng)


DATASETS = (
    _boursier("three-points", 3, 2, "three points that train to the least-squares line", families.three_points),
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
        three_point_box_worst,
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
        stewart,
        (DatasetParameter("n", int, 40, "number of samples"),),
        is_random=True,
    ),
    _boursier("stewart-digitised", 38, 2, "inputs read off the animation, same teacher", stewart_digitised),
    _boursier("one-point", 1, 1, "a neuron at 0 may leave at any time", one_point),
    _boursier("orthogonal-triple", 3, 3, "orthogonal samples, saddles and all", orthogonal_triple),
    _boursier("obtuse-pair", 2, 2, "two points at an obtuse angle: a maximum of G on a hyperplane", obtuse_pair),
    _boursier(
        "mirrored-pair", 3, 2, "a point, its mirror image and one across: a hyperplane turns unstable", mirrored_pair
    ),
)
