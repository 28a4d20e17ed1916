"""Data of Chistikov, Englert & Lazic (2023): one unit teacher neuron and samples correlated with it."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.data.dataset import Dataset, Task
from reluflow.data.registered import DatasetParameter, RegisteredDataset, SuggestedSettings
from reluflow.errors import InvalidInputError

NOISE_CENTRED = 1.0  # rho of Sec. 8: x_i ~ N(mu, (rho/d) I), so |x_i - mu|^2 is about rho
NOISE_UNCENTRED = float(np.sqrt(2.0) - 1.0)
MAX_DRAWS = 1000


def taught(X: ArrayLike, teacher: ArrayLike, *, name: str, provenance: str) -> Dataset:
    """Samples with the labels of one unit neuron, y_k = max(<v, x_k>, 0)."""
    samples, v = np.asarray(X, dtype=np.float64), np.asarray(teacher, dtype=np.float64)
    return Dataset(samples, np.maximum(samples @ (v / np.linalg.norm(v)), 0.0), name=name, provenance=provenance)


def _ours(what: str) -> str:
    return f"{what} for Chistikov et al. (2023), not in the paper [chistikov2023]"


def plane() -> Dataset:
    """Three samples in the plane within 30 degrees of the teacher (0.8, 0.6); a case of ours, not in the paper."""
    return taught(
        [[1.0, 0.2], [0.4, 0.9], [1.0, 1.5]],
        [0.8, 0.6],
        name="chistikov-plane",
        provenance=_ours("closed-form case"),
    )


def two_samples() -> Dataset:
    """Two samples of a horizontal teacher for which the paper's own scale is within reach; a case of ours."""
    return taught(
        [[0.76, 0.58], [0.78, -0.23]],
        [1.0, 0.0],
        name="chistikov-two-samples",
        provenance=_ours("case with a large delta"),
    )


def minimal() -> Dataset:
    """Three samples in space, M = -1.0126: the rank-one limit has least norm. A case of ours, not in the paper."""
    return taught(
        [[1.0, 0.3, 0.2], [0.4, 1.0, 0.3], [0.3, 0.5, 1.0]],
        [2.0, 1.0, 2.0],
        name="chistikov-minimal",
        provenance=_ours("case M < 0"),
    )


def not_minimal() -> Dataset:
    """Three samples in space, M = 0.0299: the rank-one limit has not the least norm. A case of ours."""
    return taught(
        [[0.9, 0.0, -0.1], [0.9, 1.0, 0.8], [1.5, 1.1, 0.4]],
        [0.8, 0.0, 0.6],
        name="chistikov-not-minimal",
        provenance=_ours("case M > 0"),
    )


def simplex(*, d: int = 3, xi: float = 0.5) -> Dataset:
    """x_i = xi e_i + ((1 - xi)/d)(1, ..., 1), teacher along (1, ..., 1): M < 0.

    Angles with the teacher are below 45 degrees exactly where xi < 1/sqrt(d - 1). Assumption 1(iii) fails (erratum E6).

    References
    ----------
    Chistikov et al. (2023), Example 37 [chistikov2023].
    """
    if d < 2:
        raise InvalidInputError(f"`d` must be at least 2, got {d}.")
    if not 0.0 < xi <= 1.0:
        raise InvalidInputError(f"`xi` must lie in (0, 1], got {xi:g}.")
    return taught(
        xi * np.eye(d) + (1.0 - xi) / d,
        np.ones(d),
        name="chistikov-simplex",
        provenance="Chistikov et al. (2023), Example 37, M < 0 [chistikov2023]",
    )


def fan(*, d: int = 3, b: float = 11.0) -> Dataset:
    """x_1 = b e_1, x_2 and x_3 = b e_1 -+ sqrt(b) e_2 + e_3, x_i = b e_1 + e_i beyond, teacher (4 e_1 + 3 e_3)/5.

    M > 0 for the b >= 11 of the paper. Assumption 1(iii) fails (erratum E6).

    References
    ----------
    Chistikov et al. (2023), Example 37 [chistikov2023].
    """
    if d < 3:
        raise InvalidInputError(f"`d` must be at least 3, got {d}.")
    if not b >= 11.0:
        raise InvalidInputError(f"`b` must be at least 11, got {b:g}: below it the sign of M is not known.")
    X = b * np.outer(np.ones(d), np.eye(d)[0])
    X[1, 1], X[2, 1] = -np.sqrt(b), np.sqrt(b)
    X[1, 2] = X[2, 2] = 1.0
    for i in range(3, d):
        X[i, i] = 1.0
    teacher = 0.8 * np.eye(d)[0] + 0.6 * np.eye(d)[2]
    return taught(
        X, teacher, name="chistikov-fan", provenance="Chistikov et al. (2023), Example 37, M > 0 [chistikov2023]"
    )


def _unit(rng: np.random.Generator, d: int) -> FloatArray:
    direction = rng.standard_normal(d)
    return np.asarray(direction / np.linalg.norm(direction))


def correlated(rng: np.random.Generator, *, d: int = 16, n: int | None = None, centred: bool = True) -> Dataset:
    """Samples scattered around a centre mu on the sphere, labelled by mu (centred) or by one more sample (uncentred).

    x_i ~ N(mu, (rho/d) I), rho = 1 and v* = mu where centred, rho = sqrt 2 - 1 and v* = x_0/|x_0| where not. The angles
    with v* gather around 45 degrees as d grows, so few draws meet the theorems' 45 degrees; draws with an angle of 90
    degrees or more, a label 0, are drawn anew as a whole.

    Parameters
    ----------
    rng
        Source of randomness.
    d
        Dimension.
    n
        Number of samples; the paper has n = d.
    centred
        Whether the centre itself is the teacher.

    References
    ----------
    Chistikov et al. (2023), Sec. 8; the redrawing as in the authors' code [chistikov2023].
    """
    count = d if n is None else n
    if d < 2 or count < 1:
        raise InvalidInputError(f"`d` must be at least 2 and `n` at least 1, got d = {d} and n = {count}.")
    noise = NOISE_CENTRED if centred else NOISE_UNCENTRED
    for _ in range(MAX_DRAWS):
        mu = _unit(rng, d)
        drawn = mu + np.sqrt(noise / d) * rng.standard_normal((count + 1, d))
        X, teacher = drawn[1:], mu if centred else drawn[0] / np.linalg.norm(drawn[0])
        if np.all(X @ teacher > 0.0):
            kind = "centred" if centred else "uncentred"
            return taught(
                X,
                teacher,
                name=f"chistikov-{kind}",
                provenance=f"Chistikov et al. (2023), Sec. 8, {kind} [chistikov2023]",
            )
    raise InvalidInputError(
        f"`n` = {count} samples in dimension `d` = {d} all within 90 degrees of the teacher were not found in "
        f"{MAX_DRAWS} draws; take fewer samples."
    )


def two_teachers(
    rng: np.random.Generator, *, d: int = 16, n: int | None = None, rho: float = NOISE_UNCENTRED, centred: bool = False
) -> Dataset:
    """n samples around a centre mu and n around -mu, and a teacher on each side: y = s(<v_1, x>) - s(<v_2, x>).

    x_i ~ N(+-mu, (rho/d) I). Centred, v_1 = mu and v_2 = -3 mu; uncentred, they are one more sample of each side,
    normalised to lengths 1 and 3. Drawn anew until no label is 0; where rho is large, some samples then lie on the
    other teacher's side.

    Parameters
    ----------
    rng
        Source of randomness.
    d
        Dimension.
    n
        Number of samples on each side; by default d.
    rho
        Mean squared distance of a sample and its centre.
    centred
        Whether the centres themselves are the teachers.

    References
    ----------
    Chistikov et al. (2023), App. I, Figs. 10 and 11; signs and lengths of the teachers as in the authors' code
    [chistikov2023].
    """
    count = d if n is None else n
    if d < 2 or count < 1:
        raise InvalidInputError(f"`d` must be at least 2 and `n` at least 1, got d = {d} and n = {count}.")
    if not rho > 0.0:
        raise InvalidInputError(f"`rho` must be positive, got {rho:g}.")
    for _ in range(MAX_DRAWS):
        mu = _unit(rng, d)
        noise = np.sqrt(rho / d) * rng.standard_normal((2, count + 1, d))
        sides = np.stack([mu + noise[0], -mu + noise[1]])  # (2, n + 1, d)
        heads = np.stack([mu, -mu]) if centred else sides[:, 0]
        teachers = heads / np.linalg.norm(heads, axis=1)[:, None]
        X = np.concatenate(sides[:, 1:])
        y = np.maximum(X @ teachers[0], 0.0) - 3.0 * np.maximum(X @ teachers[1], 0.0)
        if np.all(y):
            return Dataset(
                X,
                y,
                name="chistikov-two-teachers",
                provenance="Chistikov et al. (2023), Figs. 10 and 11 [chistikov2023]",
            )
    raise InvalidInputError(
        f"`n` = {count} samples on each side in dimension `d` = {d}, every one active for a teacher, were not found in "
        f"{MAX_DRAWS} draws; take fewer samples."
    )


_chistikov = partial(
    RegisteredDataset, task=Task.REGRESSION, paper="chistikov2023", settings=SuggestedSettings("square")
)


DATASETS = (
    _chistikov("chistikov-plane", 3, 2, "one teacher neuron, samples within 30 degrees", plane),
    _chistikov("chistikov-two-samples", 2, 2, "the same where the paper's scale is in reach", two_samples),
    _chistikov("chistikov-minimal", 3, 3, "M < 0: the rank-one limit has least norm", minimal),
    _chistikov("chistikov-not-minimal", 3, 3, "M > 0: the rank-one limit has not", not_minimal),
    _chistikov(
        "chistikov-simplex",
        3,
        3,
        "Example 37, M < 0",
        simplex,
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
        fan,
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
        partial(correlated, centred=True),
        (DatasetParameter("d", int, 16, "dimension"), DatasetParameter("n", int, None, "number of samples, else d")),
        is_random=True,
    ),
    _chistikov(
        "chistikov-uncentred",
        16,
        16,
        "Gaussian samples, one more as teacher",
        partial(correlated, centred=False),
        (DatasetParameter("d", int, 16, "dimension"), DatasetParameter("n", int, None, "number of samples, else d")),
        is_random=True,
    ),
    _chistikov(
        "chistikov-two-teachers",
        32,
        16,
        "two opposite teachers, each with its own samples",
        two_teachers,
        (
            DatasetParameter("d", int, 16, "dimension"),
            DatasetParameter("n", int, None, "samples of each teacher, else d"),
            DatasetParameter("rho", float, NOISE_UNCENTRED, "mean squared distance from the centre"),
        ),
        is_random=True,
    ),
)
