"""ClassGeometry: what the paper measures of K classes: cosines, class sums, margins, and the centred one-hot labels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reluflow.arrays import FloatArray, IntArray
from reluflow.certificates.hard_margin import HardMargin, hard_margin
from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError
from reluflow.geometry.pairs import PAIR_BUDGET

_BLOCK = 1024  # rows of the matrix of cosines at a time


def pseudo_labels(num_classes: int) -> FloatArray:
    """The unit vectors (e_c - 1/K)/kappa as rows, shape (K, K): their inner products are -1/(K - 1).

    >>> (pseudo_labels(3) @ pseudo_labels(3).T).round(6).tolist()
    [[1.0, -0.5, -0.5], [-0.5, 1.0, -0.5], [-0.5, -0.5, 1.0]]
    """
    return np.asarray((np.eye(num_classes) - 1.0 / num_classes) / force_length(num_classes))


def force_length(num_classes: int) -> float:
    """kappa = sqrt((K - 1)/K), the length of the force e_y - p of a sample at output 0."""
    return float(np.sqrt(1.0 - 1.0 / num_classes))


def entry_threshold(num_classes: int) -> float:
    """b_lo = sqrt((K - 2)/(2K - 2)): from there on no force turns an exclusive neuron off its own samples.

    >>> entry_threshold(3)
    0.5
    """
    return float(np.sqrt((num_classes - 2.0) / (2.0 * num_classes - 2.0)))


def lasting_threshold(num_classes: int) -> float:
    """b_hi = sqrt(K/(2K - 2)): below it the alignment B_c of a trapped neuron never falls."""
    return float(np.sqrt(num_classes / (2.0 * num_classes - 2.0)))


@dataclass(frozen=True, eq=False)
class ClassGeometry:
    """The samples of K classes.

    Parameters
    ----------
    X
        Samples, shape (n, d).
    labels
        Class of each sample, 0 to K - 1, shape (n,).
    num_classes
        K.
    """

    X: FloatArray
    labels: IntArray
    num_classes: int

    @classmethod
    def of(cls, dataset: Dataset) -> ClassGeometry:
        """Of a dataset with classes, or with labels -1 and 1, of which 1 is class 0."""
        if dataset.classes is not None:
            return cls(dataset.X, dataset.y.astype(np.int64), dataset.num_outputs)
        if dataset.is_binary:
            return cls(dataset.X, (dataset.y < 0).astype(np.int64), 2)
        raise InvalidInputError("`dataset` must have classes, got numbers to fit.")

    @cached_property
    def members(self) -> tuple[IntArray, ...]:
        """I_c, the samples of each class."""
        return tuple(np.flatnonzero(self.labels == c) for c in range(self.num_classes))

    @property
    def sizes(self) -> IntArray:
        """n_c, shape (K,)."""
        return np.array([members.size for members in self.members])

    @cached_property
    def norms(self) -> FloatArray:
        """|x_k|, shape (n,)."""
        return np.asarray(np.linalg.norm(self.X, axis=1))

    @property
    def is_affordable(self) -> bool:
        """Whether all pairs of samples can be visited in seconds."""
        n, d = self.X.shape
        return bool(float(n) * n * (d + 100) <= PAIR_BUDGET)

    @cached_property
    def extreme_cosines(self) -> tuple[float, float]:
        """The smallest cosine within a class, at most 1, and the largest between two, at least -1."""
        unit, same_least, other_most = self.X / self.norms[:, None], 1.0, -1.0
        for first in range(0, len(unit), _BLOCK):
            rows = slice(first, first + _BLOCK)
            cosines = unit[rows] @ unit.T
            is_same = self.labels[rows, None] == self.labels[None, :]
            same_least = min(same_least, float(np.min(np.where(is_same, cosines, 1.0))))
            other_most = max(other_most, float(np.max(np.where(is_same, -1.0, cosines))))
        return same_least, other_most

    @property
    def mu_s(self) -> float:
        """Smallest cosine within a class, at most 1 (of a class of one sample)."""
        return self.extreme_cosines[0]

    @property
    def mu_d(self) -> float:
        """Minus the largest cosine between two classes."""
        return -self.extreme_cosines[1]

    @cached_property
    def sums(self) -> FloatArray:
        """sum of x_k over each class, shape (K, d)."""
        return np.array([self.X[members].sum(axis=0) for members in self.members])

    @cached_property
    def margins(self) -> tuple[HardMargin, ...]:
        """gamma_c = max over unit u of min_{I_c} <u, x_k>, its maximiser u_c and its multipliers, class by class."""
        return tuple(hard_margin(self.X[members]) for members in self.members)

    @property
    def gammas(self) -> FloatArray:
        """gamma_c, shape (K,)."""
        return np.array([margin.margin for margin in self.margins])

    @property
    def directions(self) -> FloatArray:
        """u_c as rows, shape (K, d)."""
        return np.array([margin.w for margin in self.margins])

    @property
    def shares(self) -> FloatArray:
        """s_c^2 = gamma_c^-1 / (2 sum_l gamma_l^-1), shape (K,): the share of |W_c|^2 at the end."""
        inverse = 1.0 / self.gammas
        return np.asarray(inverse / (2.0 * inverse.sum()))

    @property
    def growth(self) -> float:
        """kappa sum_c 1/gamma_c: the squared norm over 2 log t at the end."""
        return force_length(self.num_classes) * float(np.sum(1.0 / self.gammas))

    @property
    def learning_rates(self) -> FloatArray:
        """kappa |sum of x_k over I_c|: class c is learnt at log(1/scale) over this, shape (K,)."""
        return np.asarray(force_length(self.num_classes) * np.linalg.norm(self.sums, axis=1))
