"""Random datasets with a prescribed structure; each draws from the `rng` it is given and from nothing else."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.data.dataset import Dataset, Task
from reluflow.errors import InvalidInputError


def orthogonally_separable(
    n: int, d: int, mu: float, rng: np.random.Generator, *, norms: tuple[float, float] = (0.5, 1.5)
) -> Dataset:
    """Points whose labelled directions make a smallest cosine of exactly `mu`.

    min over i, k of <y_i x_i, y_k x_k>/(|x_i| |x_k|) = mu. The directions y x/|x| fill a cap of half-angle
    arccos(mu)/2, in which no two are farther apart than arccos(mu), and one pair, with different labels, stands at
    opposite ends of it.

    Parameters
    ----------
    n, d
        Number of samples and dimension, each at least 2.
    mu
        In [0, 1): Min et al.'s Assumption 1 is mu > 0.
    rng
        Source of randomness.
    norms
        Range of the uniformly drawn norms |x|.

    References
    ----------
    Min et al. (2024), Assumption 1 [min2024]; Phuong & Lampert (2021), Eq. (1) [phuong2021].
    """
    _check_size(n, d, least_n=2, least_d=2)
    if not 0.0 <= mu < 1.0:
        raise InvalidInputError(f"`mu` must be in [0, 1), got {mu:g}.")
    low, high = norms
    if not 0 < low <= high < np.inf:
        raise InvalidInputError(f"`norms` must satisfy 0 < low <= high, got {low:g} and {high:g}.")
    axis = _unit(rng, 1, d)[0]
    around = _unit(rng, n, d)
    around -= (around @ axis)[:, None] * axis
    around /= np.linalg.norm(around, axis=1)[:, None]
    around[1] = -around[0]
    tilt = 0.5 * np.arccos(mu) * rng.random(n) ** (1.0 / (d - 1))
    tilt[:2] = 0.5 * np.arccos(mu)
    directions = np.cos(tilt)[:, None] * axis + np.sin(tilt)[:, None] * around
    labels = rng.choice([-1.0, 1.0], size=n)
    labels[1] = -labels[0]
    samples = (labels * rng.uniform(low, high, n))[:, None] * directions
    order = rng.permutation(n)
    return Dataset(
        samples[order], labels[order], name="orthogonally-separable", provenance=f"sampled with mu={mu:g} exactly"
    )


def symmetric_separable(n: int, d: int, margin: float, rng: np.random.Generator) -> Dataset:
    """Points closed under (x, y) -> (-x, -y) whose best linear separator has exactly the given margin.

    For a random unit v the positive samples are s v + u with u orthogonal to v and s >= margin; two of them are
    margin * v + u_0 and margin * v - u_0, so that margin * v lies in their hull and no separator does better than v.

    Parameters
    ----------
    n
        Even number of samples; the first half has label 1, the second half holds the negatives.
    d
        Dimension, at least 2.
    margin
        max over unit w of min_i y_i <w, x_i>, positive.
    rng
        Source of randomness.

    References
    ----------
    Lyu et al. (2021), Assumption 4.1 [lyu2021].
    """
    _check_size(n, d, least_n=2, least_d=2)
    if n % 2:
        raise InvalidInputError(f"`n` must be even, got {n}: every sample comes with its negative.")
    if not (margin > 0 and np.isfinite(margin)):
        raise InvalidInputError(f"`margin` must be positive and finite, got {margin:g}.")
    half = n // 2
    normal = _unit(rng, 1, d)[0]
    across = rng.standard_normal((half, d))
    across -= (across @ normal)[:, None] * normal
    along = margin + np.abs(rng.standard_normal(half))
    along[:2] = margin
    if half == 1:
        across[0] = 0.0
    else:
        across[1] = -across[0]
    positive = along[:, None] * normal + across
    return Dataset(
        np.vstack([positive, -positive]),
        np.repeat([1.0, -1.0], half),
        name="symmetric-separable",
        provenance=f"sampled with linear margin {margin:g} exactly",
    )


def gaussian_linear_teacher(
    n: int,
    d: int,
    rng: np.random.Generator,
    *,
    task: Task | str = Task.CLASSIFICATION,
    noise: float = 0.0,
    shift: float = 0.0,
) -> Dataset:
    """Standard Gaussian inputs labelled by a random unit vector v.

    The score is <v, x> + noise * g. Regression takes it as the label; classification takes its sign, and then moves the
    sample by shift * y * v, away from the separator.

    Parameters
    ----------
    n, d
        Number of samples and dimension.
    rng
        Source of randomness.
    task
        Classification or regression.
    noise
        Standard deviation of the Gaussian noise on the score.
    shift
        How far samples are moved off the separator; classification only.
    """
    _check_size(n, d)
    _check_not_negative("noise", noise)
    _check_not_negative("shift", shift)
    if task not in tuple(Task):
        raise InvalidInputError(f"`task` must be {' or '.join(Task)}, got {task!r}.")
    if task == Task.REGRESSION and shift:
        raise InvalidInputError(f"`shift` must be 0 for regression, got {shift:g}; it moves samples by their class.")
    normal = _unit(rng, 1, d)[0]
    samples = rng.standard_normal((n, d))
    labels = samples @ normal + noise * rng.standard_normal(n)
    if task == Task.CLASSIFICATION:
        labels = np.where(labels > 0, 1.0, -1.0)
        samples += shift * labels[:, None] * normal
    return Dataset(
        samples,
        labels,
        task=task,
        name="linear-teacher",
        provenance=f"Gaussian inputs, linear teacher, noise {noise:g}, shift {shift:g}",
    )


def gaussian_relu_teacher(
    n: int, d: int, num_teachers: int, rng: np.random.Generator, *, noise: float = 0.0
) -> Dataset:
    """Standard Gaussian inputs labelled by a two-layer ReLU network with unit neurons.

    y = sum_j b_j max(<u_j, x>, 0) + noise * g with u_j uniform on the sphere and fair signs b_j.
    """
    _check_size(n, d)
    if num_teachers < 1:
        raise InvalidInputError(f"`num_teachers` must be at least 1, got {num_teachers}.")
    _check_not_negative("noise", noise)
    directions = _unit(rng, num_teachers, d)
    signs = rng.choice([-1.0, 1.0], size=num_teachers)
    samples = rng.standard_normal((n, d))
    labels = np.maximum(samples @ directions.T, 0.0) @ signs + noise * rng.standard_normal(n)
    return Dataset(
        samples,
        labels,
        task=Task.REGRESSION,
        name="relu-teacher",
        provenance=f"Gaussian inputs, {num_teachers} ReLU teachers, noise {noise:g}",
    )


def random_labels(n: int, d: int, rng: np.random.Generator) -> Dataset:
    """Standard Gaussian inputs with fair labels -1 and 1 that know nothing of them."""
    _check_size(n, d)
    samples = rng.standard_normal((n, d))
    return Dataset(
        samples, rng.choice([-1.0, 1.0], size=n), name="random-labels", provenance="Gaussian inputs, fair random labels"
    )


def _unit(rng: np.random.Generator, count: int, d: int) -> FloatArray:
    """Independent uniform unit vectors, shape (count, d)."""
    vectors = rng.standard_normal((count, d))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1)[:, None])


def _check_size(n: int, d: int, *, least_n: int = 1, least_d: int = 1) -> None:
    if n < least_n:
        raise InvalidInputError(f"`n` must be at least {least_n}, got {n}.")
    if d < least_d:
        raise InvalidInputError(f"`d` must be at least {least_d}, got {d}.")


def _check_not_negative(name: str, value: float) -> None:
    if not (value >= 0 and np.isfinite(value)):
        raise InvalidInputError(f"`{name}` must be finite and at least 0, got {value:g}.")
