"""Point sets of Lyu, Li, Wang & Arora (2021), "Gradient descent on two-layer nets: margin maximization".

All are for the mean logistic loss and a leaky ReLU whose leak is the paper's alpha. The hinted datasets of its Sec. 6
are in `hinted_data`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.data.dataset import Dataset, Task
from reluflow.data.registered import DatasetParameter, RegisteredDataset, SuggestedSettings, size_parameters
from reluflow.errors import InvalidInputError
from reluflow.papers.lyu2021.hinted_data import figure1_right

BIAS_COORDINATE = 0.1  # App. J: the extra input coordinate of Table 1


def symmetric_angle(leak: float) -> tuple[float, float]:
    """Cosine and cotangent of the angle b of Fig. 1 (left).

    cos b = (alpha + sqrt(alpha^2 + 8 (1 + alpha)(1 + 2 alpha))) / (4 (1 + alpha)) is the root of
    cos 2b = alpha (2 sin^2 b + cos b), the paper's equation without its spurious factor 1 - alpha.

    References
    ----------
    Lyu et al. (2021), App. I.1.1 [lyu2021].

    Examples
    --------
    >>> cosine, cotangent = symmetric_angle(0.5)
    >>> round(cotangent, 5)
    2.11537
    """
    if not 0.0 <= leak < 1.0:
        raise InvalidInputError(f"`leak` must be in [0, 1), got {leak:g}.")
    root = np.sqrt(leak**2 + 8.0 * (1.0 + leak) * (1.0 + 2.0 * leak))
    cosine = (leak + root) / (4.0 * (1.0 + leak))
    # 1 - cos b by its conjugate: the difference itself loses every digit as the leak nears 1.
    complement = 2.0 * (1.0 - leak) / (4.0 + 3.0 * leak + root)
    return float(cosine), float(cosine / np.sqrt(complement * (1.0 + cosine)))


def figure1_left(leak: float) -> Dataset:
    """Six symmetric points with a suboptimal, nonlinear KKT direction next to the linear max-margin one.

    (1, cot b), (1, 0), (1, -cot b) with label 1, their negatives with label -1, and b from `symmetric_angle`.

    References
    ----------
    Lyu et al. (2021), Fig. 1 left, App. I.1.1 [lyu2021].
    """
    _, cotangent = symmetric_angle(leak)
    positive = np.array([[1.0, cotangent], [1.0, 0.0], [1.0, -cotangent]])
    return Dataset(
        np.vstack([positive, -positive]),
        np.repeat([1.0, -1.0], 3),
        name="lyu-symmetric",
        provenance=f"Lyu et al. (2021), App. I.1.1, leak {leak:g} [lyu2021]",
    )


def figure1_middle(
    *,
    positive: Sequence[float] = (0.2, 0.96, 1.72, 2.48, 3.24, 4.0),
    negative: Sequence[float] = (1.0, 1.5),
    offset: float = 0.1,
    leak: float = 0.5,
) -> Dataset:
    """Points (x, 1, c), (x, -1, c) with label 1 and (-x, 0, c) with label -1: one neuron wins, at a suboptimal margin.

    With eps and eps' the smallest of `positive` and of `negative`, w^+ = (eps, 0, c)/sqrt(eps^2 + c^2) and its support
    is {(eps, 1, c), (eps, -1, c)} exactly when alpha eps eps' >= eps^2 + (1 + alpha) c^2; anything else is refused.

    Parameters
    ----------
    positive, negative
        The values x of the two classes, all positive.
    offset
        c, the constant third coordinate.
    leak
        alpha, in (0, 1).

    Notes
    -----
    The paper prints no coordinates for Fig. 1 (middle); the default is our instance with ratio 0.75, and
    `figure1_middle_sharp` one with ratio 0.53.

    References
    ----------
    Lyu et al. (2021), Fig. 1 middle, App. I.1.2 [lyu2021].
    """
    ups, downs = np.asarray(positive, dtype=np.float64), np.asarray(negative, dtype=np.float64)
    if ups.size == 0 or downs.size == 0 or not (ups.min() > 0 and downs.min() > 0):
        raise InvalidInputError("`positive` and `negative` must each hold at least one number, all of them positive.")
    if not 0.0 < leak < 1.0:
        raise InvalidInputError(f"`leak` must be in (0, 1), got {leak:g}.")
    nearest, farthest = float(ups.min()), float(downs.min())
    have, need = leak * nearest * farthest, nearest**2 + (1.0 + leak) * offset**2
    if not have >= need:
        raise InvalidInputError(
            f"`positive`, `negative`, `offset` and `leak` must satisfy leak*eps*eps' >= eps^2 + (1 + leak)*offset^2, "
            f"got {have:g} < {need:g}; a larger min(negative) or a smaller offset helps."
        )
    samples = np.vstack([_column(ups, 1.0, offset), _column(ups, -1.0, offset), _column(-downs, 0.0, offset)])
    labels = np.concatenate([np.ones(2 * ups.size), -np.ones(downs.size)])
    return Dataset(
        samples,
        labels,
        name="lyu-middle",
        provenance=f"instance of Lyu et al. (2021), App. I.1.2, leak {leak:g} [lyu2021]",
    )


def figure1_middle_sharp() -> Dataset:
    """The middle set with eps = 0.1, eps' = 0.5, c = 0.05: the limit has 0.53 of the best margin."""
    dataset = figure1_middle(positive=tuple(np.linspace(0.1, 10.0, 10)), negative=(0.5, 0.8), offset=0.05, leak=0.5)
    return dataset.replace(name="lyu-middle-sharp")


@dataclass(frozen=True, eq=False)
class GaussianSplit:
    """A Table 1 training set with a test set from the same law.

    Parameters
    ----------
    train, test
        Samples with the constant last coordinate 0.1.
    normal
        Unit normal of the true separator in the first d coordinates, shape (d,).
    """

    train: Dataset
    test: Dataset
    normal: FloatArray


def table1(rng: np.random.Generator, *, n: int, shift: float = 0.45, d: int = 50) -> Dataset:
    """Gaussian points labelled by a line through 0 and moved off it by `shift`, with the bias coordinate 0.1.

    x = g + shift * y v with g standard Gaussian in R^d, v a random unit vector and y = sign <g, v>.

    Notes
    -----
    The size of the translation is not in the paper; 0.45 was fitted to the SVM row of Table 1.

    References
    ----------
    Lyu et al. (2021), App. J, Table 1 [lyu2021].
    """
    _check_table1(n, shift, d)
    return _table1_sample(rng, table1_normal(rng, d=d), n, shift)


def table1_split(
    rng: np.random.Generator, *, n: int, num_test: int = 10_000, shift: float = 0.45, d: int = 50
) -> GaussianSplit:
    """A Table 1 training set, the same as `table1` gives for the same `rng`, and test points from its law."""
    _check_table1(min(n, num_test), shift, d)
    normal = table1_normal(rng, d=d)
    train = _table1_sample(rng, normal, n, shift)
    return GaussianSplit(train, _table1_sample(rng, normal, num_test, shift), normal)


def table1_normal(rng: np.random.Generator, *, d: int = 50) -> FloatArray:
    """A random unit vector, the normal of the true separator."""
    direction = rng.standard_normal(d)
    return np.asarray(direction / np.linalg.norm(direction))


def counterexample() -> Dataset:
    """Three points, leak 0.1, on which Assumptions A.2, A.3, A.5, A.6 hold and the conclusion of Theorem A.7 fails.

    References
    ----------
    Lyu et al. (2021), Theorem A.7, erratum E4 [lyu2021].
    """
    return _case([[1.0, 1.0], [-10.0, 1.0], [16.0, 0.0]], [1, -1, 1], "lyu-counterexample", "erratum E4, leak 0.1")


def counterexample_mild() -> Dataset:
    """A milder counterexample to Theorem A.7 as printed, for leak 0.5: V* = 0.814 > 0.5 (erratum E4) [lyu2021]."""
    return _case([[1.0, 0.3], [-2.0, 0.2], [4.0, 0.0]], [1, -1, 1], "lyu-counterexample-mild", "erratum E4, leak 0.5")


def counterexample_sharp() -> Dataset:
    """Three points, leak 0.5, with V* = 0.332 < 0.5: the repaired Assumption A.5* holds, and so does Theorem A.7."""
    return _case([[1.0, 0.1], [-2.0, 1.8], [4.0, 0.0]], [1, -1, 1], "lyu-counterexample-sharp", "erratum E4, leak 0.5")


def orthogonal() -> Dataset:
    """Four orthogonally separable points in R^3 for ReLU; the max margin of any network is 0.206315.

    References
    ----------
    Lyu et al. (2021), App. H, Theorem H.2 [lyu2021].
    """
    samples = [[1.0, 0.2, 0.1], [0.7, 0.5, -0.1], [-0.6, -0.5, 0.2], [-0.9, -0.1, -0.3]]
    return _case(samples, [1, 1, -1, -1], "lyu-orthogonal", "case for Theorem H.2, leak 0")


def ridge() -> Dataset:
    """Two points, leak 0.5, with a ridge: a positive neuron along (0, 1) may leave the boundary of x_1 to either side.

    References
    ----------
    Lyu et al. (2021), Fig. 3, App. I.2 [lyu2021]; the coordinates are ours.
    """
    return _case([[1.0, 0.0], [-0.7, 0.7]], [1, 1], "lyu-ridge", "case for Fig. 3, leak 0.5")


def _case(samples: ArrayLike, labels: ArrayLike, name: str, locator: str) -> Dataset:
    return Dataset(samples, labels, name=name, provenance=f"Lyu et al. (2021), {locator} [lyu2021]")


def _column(first: FloatArray, second: float, offset: float) -> FloatArray:
    return np.column_stack([first, np.full(first.size, second), np.full(first.size, offset)])


def _table1_sample(rng: np.random.Generator, normal: FloatArray, n: int, shift: float) -> Dataset:
    samples = rng.standard_normal((n, normal.size))
    labels = np.where(samples @ normal > 0, 1.0, -1.0)
    return Dataset(
        samples + shift * labels[:, None] * normal,
        labels,
        name="lyu-gaussian",
        provenance=f"Lyu et al. (2021), App. J, shift {shift:g} [lyu2021]",
    ).with_bias(BIAS_COORDINATE)


def _check_table1(n: int, shift: float, d: int) -> None:
    if n < 1 or d < 1:
        raise InvalidInputError(f"`n` and `d` must be at least 1, got {n} and {d}.")
    if not (shift >= 0 and np.isfinite(shift)):
        raise InvalidInputError(f"`shift` must be finite and at least 0, got {shift:g}.")


_lyu = partial(
    RegisteredDataset, task=Task.CLASSIFICATION, paper="lyu2021", settings=SuggestedSettings("logistic", leak=0.5)
)
_LEAK = DatasetParameter("leak", float, 0.5, "leak of the activation the set is made for")


def _hinted(*, leak: float) -> Dataset:
    return figure1_right(leak=leak).dataset


DATASETS = (
    _lyu("lyu-symmetric", 6, 2, "symmetric, with a suboptimal KKT direction", figure1_left, (_LEAK,)),
    _lyu("lyu-middle", 14, 3, "one neuron wins at 0.75 of the best margin", figure1_middle, (_LEAK,)),
    _lyu("lyu-middle-sharp", 22, 3, "one neuron wins at 0.53 of the best margin", figure1_middle_sharp),
    _lyu("lyu-hinted", 7, 2, "three hints trap training at a suboptimal margin", _hinted, (_LEAK,)),
    _lyu(
        "lyu-gaussian",
        50,
        51,
        "Gaussian classes moved off their separator, plus the coordinate 0.1",
        table1,
        (*size_parameters(50, 50), DatasetParameter("shift", float, 0.45, "how far the classes are moved")),
        is_random=True,
    ),
    _lyu(
        "lyu-counterexample",
        3,
        2,
        "Theorem A.7 as printed fails here",
        counterexample,
        settings=SuggestedSettings("logistic", leak=0.1),
    ),
    _lyu("lyu-counterexample-mild", 3, 2, "Theorem A.7 as printed fails here, mildly", counterexample_mild),
    _lyu("lyu-counterexample-sharp", 3, 2, "close to those, but Theorem A.7 holds", counterexample_sharp),
    _lyu(
        "lyu-orthogonal",
        4,
        3,
        "orthogonally separable points for ReLU",
        orthogonal,
        settings=SuggestedSettings("logistic"),
    ),
    _lyu("lyu-ridge", 2, 2, "a boundary that a neuron may leave to either side", ridge),
)
