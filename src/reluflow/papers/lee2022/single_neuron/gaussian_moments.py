"""Truncated Gaussian moments: the expectations that turn the population loss into a formula."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError
from reluflow.papers.lee2022.single_neuron.angle import gap_between, overlap


def half_space_moment(d: int) -> FloatArray:
    """E[1{<u,x> > 0} x x^T] = I/2 for a standard Gaussian x, whatever u.

    References
    ----------
    Lee et al. (2022), Lemma 2.1 [lee2022].
    """
    if d < 1:
        raise InvalidInputError(f"`d` must be at least 1, got {d}.")
    return 0.5 * np.eye(d)


def two_half_space_moment(first: ArrayLike, second: ArrayLike) -> FloatArray:
    """E[1{<u,x> > 0} 1{<v,x> > 0} x x^T] for a standard Gaussian x, shape (d, d).

    With theta the angle of u and v, and unit vectors,
    M = (1 - theta/pi)/2 I + (-cos theta (u u^T + v v^T) + u v^T + v u^T) / (2 pi sin theta).

    Parameters
    ----------
    first, second
        u and v, of any length, neither zero nor parallel to each other.

    Notes
    -----
    Written on the orthonormal basis (u+v, u-v), where the singular quotient has disappeared: the eigenvalues are
    (pi - theta + sin theta)/(2 pi), (pi - theta - sin theta)/(2 pi) and (pi - theta)/(2 pi). The paper's remark on
    eigenvectors names the one-indicator matrix; it means this one (erratum E15).

    References
    ----------
    Lee et al. (2022), Lemma 2.1 [lee2022].

    Examples
    --------
    >>> two_half_space_moment([1.0, 0.0], [0.0, 1.0]).round(6)
    array([[0.25    , 0.159155],
           [0.159155, 0.25    ]])
    """
    u, v = _unit(first, "first"), _unit(second, "second")
    theta = float(gap_between(u, v))
    plus, minus = u + v, u - v
    if min(np.linalg.norm(plus), np.linalg.norm(minus)) == 0.0:
        raise InvalidInputError("`first` and `second` must not be parallel; use `half_space_moment` or 0.")
    plus, minus = plus / np.linalg.norm(plus), minus / np.linalg.norm(minus)
    split = np.sin(theta) * (np.outer(plus, plus) - np.outer(minus, minus))
    return np.asarray(((np.pi - theta) * np.eye(u.size) + split) / (2.0 * np.pi))


def relu_kernel(first: ArrayLike, second: ArrayLike) -> float:
    """E[s(<u,x>) s(<v,x>)] for a standard Gaussian x: |u| |v| (1 - eps)/2.

    >>> round(relu_kernel([1.0, 0.0], [0.0, 2.0]), 6)
    0.31831

    References
    ----------
    Lee et al. (2022), Lemma 2.1 [lee2022].
    """
    u, v = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    theta = gap_between(_unit(u, "first"), _unit(v, "second"))
    return float(0.5 * np.linalg.norm(u) * np.linalg.norm(v) * overlap(np.pi - theta))


def spherical_speed(d: int, *, mean_squared_norm: float | None = None) -> float:
    """kappa = E|x|^2/d: every moment of this file, and the speed of the flow, for a spherically symmetric x.

    Parameters
    ----------
    d
        Dimension.
    mean_squared_norm
        E|x|^2; by default 1, the uniform law on the unit sphere, which gives 1/d. The Gaussian has d, hence 1.

    References
    ----------
    Lee et al. (2022), Prop. B.1 [lee2022].
    """
    square = 1.0 if mean_squared_norm is None else float(mean_squared_norm)
    if d < 1 or not (np.isfinite(square) and square > 0):
        raise InvalidInputError(f"`d` and `mean_squared_norm` must be positive, got {d} and {square}.")
    return square / d


def active_curvature(dataset: Dataset, teacher: ArrayLike) -> float:
    """Smallest eigenvalue of mean 1{<w*, x> > 0} x x^T; positive makes the teacher the only minimum near it.

    Notes
    -----
    The paper asks for zero mean and a full-rank covariance, which is not enough (erratum E7).

    References
    ----------
    Lee et al. (2022), Prop. B.2 [lee2022].
    """
    active = dataset.X[dataset.X @ np.asarray(teacher, dtype=np.float64) > 0]
    return float(np.linalg.eigvalsh(active.T @ active / dataset.n)[0])


def _unit(vector: ArrayLike, name: str) -> FloatArray:
    values = np.asarray(vector, dtype=np.float64)
    norm = np.linalg.norm(values)
    if values.ndim != 1 or not (np.isfinite(norm) and norm > 0):
        raise InvalidInputError(f"`{name}` must be a finite vector other than 0, got shape {values.shape}.")
    return np.asarray(values / norm)
