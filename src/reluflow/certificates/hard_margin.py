"""The hard-margin separator of a set of vectors, with its multipliers and a duality gap computed here.

Primal: maximise min_i <w, z_i> over |w| <= 1. Dual: minimise |sum_i l_i z_i| over l in the simplex. Whatever finds
the pair, both values are recomputed from the rows, so the gap is evidence and not a solver's word.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray, IndexArray
from reluflow.certificates.backends.clarabel import shortest_separator
from reluflow.certificates.separability import equilibrated, is_separator, proposed_separator, proved_combination
from reluflow.certificates.separator_search import search_multipliers
from reluflow.data.dataset import Dataset
from reluflow.errors import InvalidInputError, binary_label_error

OFF_MARGIN = 1e-6  # relative excess of a row's margin that puts it off the support; 1e-11 was seen on it, 2 off it
WIDE_GAP = 1e-9  # a relative gap that says that the search was lost in rounding


class Separability(StrEnum):
    """What the numbers prove about a set of vectors and the half-spaces through the origin."""

    SEPARABLE = "separable"
    NOT_SEPARABLE = "not-separable"
    UNDECIDED = "undecided"


@dataclass(frozen=True, eq=False)
class HardMargin:
    """The widest margin of rows z_i around the origin, or the proof that there is none.

    Parameters
    ----------
    status
        Separable: every <w, z_i> is positive, beyond rounding or in exact arithmetic. Not separable: a convex
        combination of the rows vanishes exactly, beside `multipliers`. Undecided: neither could be shown.
    w
        Unit vector of largest margin, shape (d,); zero when not separable, the maximiser over the ball.
    margin
        min_i <w, z_i>, recomputed; 0 when not separable.
    upper
        |sum_i l_i z_i|, recomputed: no unit vector has a larger margin.
    multipliers
        l in the simplex, shape (n,): sum_i l_i z_i = margin * w; when not separable, the combination that vanishes, to
        rounding.
    support
        Indices of the rows with a positive multiplier.
    gap
        (upper - margin) / upper, and upper / max_i |z_i| when not separable.
    """

    status: Separability
    w: FloatArray
    margin: float
    upper: float
    multipliers: FloatArray
    support: IndexArray
    gap: float

    def __repr__(self) -> str:
        if not self.separable:
            return f"HardMargin({self.status})"
        return f"HardMargin(margin={self.margin:.8g}, {len(self.support)} support rows, relative gap {self.gap:.1e})"

    @property
    def separable(self) -> bool:
        """Whether a half-space through the origin holds every row in its interior."""
        return self.status is Separability.SEPARABLE

    def active_rows(self, Z: ArrayLike, *, rtol: float = 1e-9) -> IndexArray:
        """Rows whose margin is the smallest one to `rtol`: the support, and those at the margin with multiplier 0."""
        rows = np.asarray(Z, dtype=np.float64)
        margins = rows @ self.w
        return np.flatnonzero(margins <= margins.min() + rtol * max(abs(self.margin), 1e-3 * _largest_norm(rows)))


def hard_margin(Z: ArrayLike) -> HardMargin:
    """The max-margin homogeneous separator of the rows of `Z`.

    Parameters
    ----------
    Z
        Vectors z_i as rows, shape (n, d); for labelled samples z_i = y_i x_i.

    Examples
    --------
    >>> result = hard_margin([[3.0, 4.0], [3.0, -1.0]])
    >>> print(result.status, round(result.margin, 12), result.multipliers.round(12))
    separable 3.0 [0.2 0.8]
    >>> hard_margin([[1.0, 0.0], [-2.0, 0.0]]).status
    <Separability.NOT_SEPARABLE: 'not-separable'>

    Notes
    -----
    Exact up to rounding: coordinate descent or Newton steps guess the support, an active-set method settles it, a
    dense solve on it gives the numbers. Where that resolves no margin, columns of very different sizes are brought to
    one size first, and whichever answer comes out is verified for the numbers as given. Memory is that of `Z` plus
    the square of a working set of rows.

    References
    ----------
    Lyu et al. (2021), Def. 3.3 [lyu2021].
    """
    rows = np.array(Z, dtype=np.float64, order="C")
    if rows.ndim != 2 or 0 in rows.shape:
        raise InvalidInputError(f"`Z` must have shape (n, d) with n and d at least 1, got {rows.shape}.")
    if not np.all(np.isfinite(rows)):
        raise InvalidInputError("`Z` must be finite; remove or fill the rows that are not.")
    scale = _largest_norm(rows)
    if scale == 0.0:
        return _without_margin(rows, np.eye(1, len(rows))[0], scale)
    rows /= scale
    direction, multipliers = search_multipliers(rows)
    multipliers = np.maximum(multipliers, 0.0)
    multipliers /= multipliers.sum()
    combination = rows.T @ multipliers
    upper = float(np.linalg.norm(combination))
    best, margin = direction, -np.inf
    for candidate in (direction, combination):
        length = np.linalg.norm(candidate)
        if length > 0.0:
            value = float(np.min(rows @ (candidate / length)))
            if value > margin:
                best, margin = candidate / length, value
    # the rounding error of an inner product of two vectors no longer than 1
    rounding = rows.shape[1] * np.finfo(float).eps
    if margin <= rounding or upper - margin > WIDE_GAP * upper:
        found = _on_badly_scaled(rows, multipliers)
        if found is None and margin <= rounding:
            return _without_margin(np.asarray(Z, dtype=np.float64), multipliers, scale)
        if found is not None:
            best, margin = (best, margin) if margin > found[1] else found[:2]
            bound = float(np.linalg.norm(rows.T @ found[2]))
            multipliers, upper = (multipliers, upper) if upper < bound else (found[2], bound)
    return HardMargin(
        status=Separability.SEPARABLE,
        w=best,
        margin=margin * scale,
        upper=upper * scale,
        multipliers=multipliers,
        support=np.flatnonzero(multipliers > 0.0),
        gap=max((upper - margin) / upper, 0.0) if upper > 0.0 else np.inf,
    )


def linear_separator(dataset: Dataset) -> HardMargin:
    """The max-margin linear classifier through the origin of a labelled dataset: rows $y_i x_i$.

    Parameters
    ----------
    dataset
        Samples with labels -1 and 1.

    Returns
    -------
    HardMargin
        The separator with its multipliers, or the certificate that there is none.

    Examples
    --------
    >>> linear_separator(Dataset([[1.0, 2.0], [-1.0, 0.5]], [1, -1])).margin
    1.0
    """
    require_labels(dataset)
    return hard_margin(dataset.y[:, None] * dataset.X)


def require_labels(dataset: Dataset) -> None:
    """Raise unless every label is -1 or 1."""
    dataset.refuse_several_outputs("a margin")
    if not dataset.is_binary:
        raise binary_label_error(dataset.y)


def _on_badly_scaled(rows: FloatArray, guess: FloatArray) -> tuple[FloatArray, float, FloatArray] | None:
    """Unit w, margin and multipliers where the search resolved nothing, a verified separator; None if there is none."""
    w = proposed_separator(rows)
    if w is None:
        return None
    best, margin, multipliers = w / np.linalg.norm(w), 0.0, guess
    solved = shortest_separator(rows, equilibrated(rows)[1])
    if solved is not None:
        candidate, weights = solved
        if is_separator(rows, candidate):
            best, multipliers = candidate / np.linalg.norm(candidate), _on_the_support(rows, candidate, weights)
    margin = float(np.min(rows @ best))
    return best, max(margin, float(np.finfo(np.float64).tiny)), multipliers


def _on_the_support(rows: FloatArray, w: FloatArray, weights: FloatArray) -> FloatArray:
    """The multipliers of an interior point without what it leaves on rows off the margin, which is rounding."""
    margins = rows @ w
    is_off = (margins > (1.0 + OFF_MARGIN) * np.min(margins)) & (weights < OFF_MARGIN * np.max(weights))
    kept = np.where(is_off, 0.0, weights)
    return np.asarray(kept / kept.sum())


def _without_margin(rows: FloatArray, multipliers: FloatArray, scale: float) -> HardMargin:
    """Not separable where a combination provably vanishes, undecided otherwise."""
    proved = proved_combination(rows, multipliers)
    chosen = multipliers if proved is None else proved / proved.sum()
    upper = float(np.linalg.norm(rows.T @ chosen))
    return HardMargin(
        status=Separability.UNDECIDED if proved is None else Separability.NOT_SEPARABLE,
        w=np.zeros(rows.shape[1]),
        margin=0.0,
        upper=upper,
        multipliers=chosen,
        support=np.flatnonzero(chosen > 0.0),
        gap=upper / scale if scale > 0.0 else 0.0,
    )


def _largest_norm(rows: FloatArray) -> float:
    return float(np.sqrt(np.max(np.einsum("ij,ij->i", rows, rows))))
