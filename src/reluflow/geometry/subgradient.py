"""The subgradient a neuron follows: on the boundary of a cone, the shortest one the boundary samples allow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray, SignArray
from reluflow.errors import InvalidInputError
from reluflow.geometry.arrangement import DistinctDirections, distinct_directions
from reluflow.geometry.boundary.tolerance import ROUNDING
from reluflow.geometry.landscape import check_leak


@dataclass(frozen=True, eq=False)
class LineCoefficients:
    """What the samples on each line contribute to D along the line's unit vector, each of shape (m,).

    Parameters
    ----------
    plus, minus
        On the positive and on the negative side of the line's hyperplane.
    lower, upper
        On the hyperplane, the ends of the interval swept by eta in [leak, 1] for each sample on its own. One sample
        gives the interval between `minus` and `plus`; samples on both ends of a line may give a wider one.
    pulls
        r_k times the signed length of x_k on its line, shape (n,).
    """

    plus: FloatArray
    minus: FloatArray
    lower: FloatArray
    upper: FloatArray
    pulls: FloatArray

    @property
    def table(self) -> FloatArray:
        """Columns plus, minus, lower, upper, shape (m, 4)."""
        return np.stack([self.plus, self.minus, self.lower, self.upper], axis=1)

    @property
    def scale(self) -> float:
        """Sum of |r_k| |x_k|: no D is longer."""
        return float(np.sum(np.abs(self.pulls)))


def line_coefficients(directions: DistinctDirections, forces: FloatArray, leak: float) -> LineCoefficients:
    """Collect the samples on each line."""
    m = directions.U.shape[0]
    pulls = forces * directions.lengths * directions.orientation

    def collect(values: FloatArray) -> FloatArray:
        return np.bincount(directions.line, weights=values, minlength=m).astype(np.float64)

    forward = directions.orientation > 0
    return LineCoefficients(
        plus=collect(np.where(forward, 1.0, leak) * pulls),
        minus=collect(np.where(forward, leak, 1.0) * pulls),
        lower=collect(np.minimum(pulls, leak * pulls)),
        upper=collect(np.maximum(pulls, leak * pulls)),
        pulls=pulls,
    )


def slopes_of_samples(
    directions: DistinctDirections,
    coefficients: LineCoefficients,
    pattern: SignArray,
    line_values: FloatArray,
    leak: float,
) -> FloatArray:
    """One eta per sample, shape (n,), that gives every line of sign 0 its value in `line_values` (shape (m,))."""
    width = coefficients.upper - coefficients.lower
    share = np.divide(line_values - coefficients.lower, width, out=np.zeros_like(width), where=width > 0)
    fraction = np.clip(share, 0.0, 1.0)[directions.line]
    on_boundary = np.where(coefficients.pulls >= 0, leak + fraction * (1 - leak), 1 - fraction * (1 - leak))
    return np.where(pattern > 0, 1.0, np.where(pattern < 0, leak, on_boundary))


def minimum_norm_subgradient(
    X: ArrayLike, forces: ArrayLike, pattern: ArrayLike, leak: float = 0.0
) -> tuple[FloatArray, FloatArray]:
    """D_u = sum_k eta_k r_k x_k, shortest over eta_k in [leak, 1] for the samples with u_k = 0.

    Samples with u_k = 1 have eta_k = 1 and those with u_k = -1 have eta_k = leak.

    Parameters
    ----------
    X
        Samples as rows, shape (n, d), none of them zero.
    forces
        r_k, shape (n,), sample weight included.
    pattern
        u in {-1, 0, 1}^n; it need not belong to a nonempty cone.
    leak
        Negative slope of the activation, in [0, 1].

    Returns
    -------
    D, eta
        D_u of shape (d,), unique, and one eta of shape (n,) that attains it.

    References
    ----------
    Boursier & Flammarion (2024), Sec. 3 and App. D.1, with the sign of erratum E6 [boursier2024].

    Examples
    --------
    >>> D, eta = minimum_norm_subgradient([[1.0, 1.0], [0.0, 1.0]], [1.0, -2.0], [1, 0])
    >>> D, eta
    (array([1., 0.]), array([1. , 0.5]))
    """
    from reluflow.geometry.boundary.minimum_norm import box_minimum_norm

    directions = distinct_directions(np.asarray(X, dtype=np.float64))
    force = check_forces(forces, directions.line.size)
    check_leak(leak)
    signs = np.asarray(pattern)
    if signs.shape != force.shape or not np.all(np.isin(signs, (-1, 0, 1))):
        raise InvalidInputError(f"`pattern` must hold {force.size} values among -1, 0 and 1, got {pattern!r}.")
    coefficients = line_coefficients(directions, force, leak)
    is_zero = signs == 0
    fixed = np.where(signs > 0, 1.0, leak) * coefficients.pulls * ~is_zero
    m = directions.U.shape[0]
    base = np.bincount(directions.line, weights=fixed, minlength=m) @ directions.U
    # A pattern may split a line (no weight vector has it), so the intervals are collected from the zeros alone.
    ends = np.stack([coefficients.pulls, leak * coefficients.pulls]) * is_zero
    lower = np.bincount(directions.line, weights=ends.min(axis=0), minlength=m).astype(np.float64)
    upper = np.bincount(directions.line, weights=ends.max(axis=0), minlength=m).astype(np.float64)
    zero_lines = np.unique(directions.line[is_zero])
    D, values = box_minimum_norm(
        base, directions.U[zero_lines], lower[zero_lines], upper[zero_lines], ROUNDING * coefficients.scale
    )
    line_values = np.zeros(m)
    line_values[zero_lines] = values
    at_zeros = LineCoefficients(coefficients.plus, coefficients.minus, lower, upper, coefficients.pulls)
    return D @ directions.basis, slopes_of_samples(directions, at_zeros, signs.astype(np.int8), line_values, leak)


def check_forces(forces: ArrayLike, n: int) -> FloatArray:
    """The forces as floats, refusing another shape and values that are not finite."""
    force = np.asarray(forces, dtype=np.float64)
    if force.shape != (n,) or not np.all(np.isfinite(force)):
        raise InvalidInputError(
            f"`forces` must be finite, one for each of the {n} rows of `X`, got shape {force.shape}."
        )
    return force
