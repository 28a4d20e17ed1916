"""Max-margin vectors of one class or one sign of neuron: w_+ and w_- of Phuong & Lampert, w^+ and w^- of Lyu et al."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray, IndexArray
from reluflow.certificates.hard_margin import HardMargin, hard_margin, require_labels
from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError


@dataclass(frozen=True, eq=False)
class OneClassVector:
    """The shortest w with <w, x_i> >= 1 on the samples of one class; not a unit vector.

    Parameters
    ----------
    label
        The class, +1 or -1.
    feasible
        Whether such a w exists: an open half-space holds the class. If not, `w` is nan and `separator` the proof.
    w
        The vector, shape (d,); 1/|w| is the margin of the class.
    multipliers
        alpha of shape (n,), zero off the class: w = sum_i alpha_i x_i.
    support
        Samples with a positive multiplier.
    support_rank
        Dimension spanned by the samples at the margin; the span assumption asks for d.
    separator
        The hard-margin solution on the rows of the class, with its gap.
    """

    label: int
    feasible: bool
    w: FloatArray
    multipliers: FloatArray
    support: IndexArray
    support_rank: int
    separator: HardMargin

    @property
    def norm(self) -> float:
        """|w|."""
        return float(np.linalg.norm(self.w))

    @property
    def support_spans(self) -> bool:
        """Whether the samples at the margin span the input space (Phuong & Lampert (2021), Thm 1)."""
        return self.feasible and self.support_rank == self.w.size


@dataclass(frozen=True, eq=False)
class OneClassVectors:
    """w_+ and w_-; None for a class without samples."""

    positive: OneClassVector | None
    negative: OneClassVector | None


def one_class_vectors(dataset: Dataset, *, rtol: float = 1e-9) -> OneClassVectors:
    """The directions the two groups of neurons end in on orthogonally separable data.

    w_+ = argmin |w| subject to <w, x_i> >= 1 for y_i = 1, and w_- the same for y_i = -1: it points *towards* the
    negative samples.

    Parameters
    ----------
    dataset
        Labelled samples; a class may be missing.
    rtol
        Samples whose margin exceeds the smallest by less than this count as support when the rank is taken.

    Examples
    --------
    >>> vectors = one_class_vectors(Dataset([[2, 1], [1, 2], [-2, -0.5], [-0.6, -1.6]], [1, 1, -1, -1]))
    >>> print(round(vectors.positive.norm, 10), round(vectors.negative.norm, 10))
    0.4714045208 0.6139480626

    References
    ----------
    Phuong & Lampert (2021), Eqs. (6), (7) [phuong2021].
    """
    require_labels(dataset)
    return OneClassVectors(positive=_one_class(dataset, 1, rtol), negative=_one_class(dataset, -1, rtol))


def _one_class(dataset: Dataset, label: int, rtol: float) -> OneClassVector | None:
    members = np.flatnonzero(dataset.y == label)
    if members.size == 0:
        return None
    rows = dataset.X[members]
    separator = hard_margin(rows)
    multipliers = np.zeros(dataset.n)
    if not separator.separable:
        w = np.full(dataset.d, np.nan)
        return OneClassVector(label, False, w, multipliers, np.empty(0, dtype=np.intp), 0, separator)
    multipliers[members] = separator.multipliers / (separator.margin * separator.upper)
    at_margin = separator.active_rows(rows, rtol=rtol)
    return OneClassVector(
        label=label,
        feasible=True,
        w=separator.w / separator.margin,
        multipliers=multipliers,
        support=np.flatnonzero(multipliers > 0.0),
        support_rank=int(np.linalg.matrix_rank(rows[at_margin])),
        separator=separator,
    )


@dataclass(frozen=True, eq=False)
class LeakyMargin:
    """What one correctly aligned neuron of a given output sign sees of the data, and its best margin.

    Parameters
    ----------
    sign
        Sign of the neuron's output weight.
    rows
        z_i = y_i x_i where the neuron is on, leak * y_i x_i where it is off, shape (n, d).
    mean
        mu^+ or mu^-: the mean of `rows`.
    separator
        Hard margin of `rows`: w^+ (or w^-), gamma^+ (or gamma^-), and the dual multipliers.
    closest
        S^+ (or S^-): the samples at the margin.
    """

    sign: int
    rows: FloatArray
    mean: FloatArray
    separator: HardMargin
    closest: IndexArray

    @property
    def w(self) -> FloatArray:
        """Unit max-margin vector of the rows: w^+, or w^-, which enters the network as -w^-."""
        return self.separator.w

    @property
    def margin(self) -> float:
        """gamma^+ or gamma^-; half of it is the best margin of a network of this one sign whose patterns fit."""
        return self.separator.margin


@dataclass(frozen=True, eq=False)
class LeakyMargins:
    """The quantities of both signs."""

    leak: float
    positive: LeakyMargin
    negative: LeakyMargin

    @property
    def kappa(self) -> float:
        """1 - |mu^-| / |mu^+|: positive exactly under Assumption A.3."""
        return 1.0 - float(np.linalg.norm(self.negative.mean) / np.linalg.norm(self.positive.mean))


def leaky_margins(dataset: Dataset, leak: float, *, rtol: float = 1e-9) -> LeakyMargins:
    """mu^+, mu^-, w^+, w^-, gamma^+, gamma^-, S^+, S^- and the dual multipliers.

    A neuron with a > 0 whose signs equal the labels sees x_i where y_i = 1 and leak * x_i where y_i = -1; one with
    a < 0 and opposite signs sees them the other way round.

    References
    ----------
    Lyu et al. (2021), App. A, Eq. (6), with erratum E8 (x_i^- is printed as a second x_i^+) [lyu2021].
    """
    require_labels(dataset)
    if not 0.0 <= leak <= 1.0:
        raise InvalidInputError(f"`leak` must lie in [0, 1], got {leak}.")
    signed = dataset.y[:, None] * dataset.X
    sides = []
    for sign in (1, -1):
        rows = np.where(dataset.y == sign, 1.0, leak)[:, None] * signed
        separator = hard_margin(rows)
        closest = separator.active_rows(rows, rtol=rtol) if separator.separable else separator.support
        sides.append(LeakyMargin(sign, rows, rows.mean(axis=0), separator, closest))
    return LeakyMargins(leak=float(leak), positive=sides[0], negative=sides[1])
