"""A fast guess of the support vectors: the augmented Lagrangian of the hard margin, minimised by Newton steps.

The problem is min |w|^2/2 subject to <w, z_i> >= 1. Each outer step minimises the piecewise quadratic

    |w|^2/2 + (1/(2 sigma)) sum_i max(0, l_i + sigma (1 - <w, z_i>))^2

exactly (finite Newton with an exact line search) and moves the multipliers l to the bracket. Nothing here is a
certificate; `hard_margin` turns the guess into one.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from reluflow.arrays import BoolArray, FloatArray


def guess_multipliers(
    Z: FloatArray, *, penalty: float = 100.0, growth: float = 30.0, max_newton: int = 60
) -> FloatArray:
    """Multipliers l >= 0 close to those of the hard-margin problem, shape (n,), for rows of norm about 1.

    On data that are not separable the multipliers grow without bound; the caller sees it in its own certificate.
    """
    n, d = Z.shape
    w = np.zeros(d)
    multipliers = np.zeros(n)
    margins = np.zeros(n)
    hessian, member = np.eye(d), np.zeros(n, dtype=bool)
    steps = 0
    while steps < max_newton:
        weights = multipliers + penalty * (1.0 - margins)
        while steps < max_newton:
            steps += 1
            active = weights > 0.0
            hessian, member = _updated_hessian(Z, hessian, member, active)
            pull = Z[active].T @ weights[active]
            factor = cho_factor(np.eye(d) / penalty + hessian - np.eye(d), overwrite_a=True, check_finite=False)
            step = cho_solve(factor, (pull - w) / penalty, check_finite=False)
            slope = Z @ step
            length = _line_search(w, step, weights, penalty * slope, penalty)
            w = w + length * step
            weights = weights - length * penalty * slope
            if np.array_equal(weights > 0.0, active):
                break
        margins = Z @ w
        moved = np.maximum(multipliers + penalty * (1.0 - margins), 0.0)
        settled = np.array_equal(moved > 0.0, multipliers > 0.0) and bool(np.any(moved > 0.0))
        multipliers = moved
        if settled:
            break
        penalty *= growth
    return multipliers


def _updated_hessian(
    Z: FloatArray, hessian: FloatArray, member: BoolArray, active: BoolArray
) -> tuple[FloatArray, BoolArray]:
    """I + sum over active rows of z z^T, by the cheaper of an update and a fresh product."""
    entering, leaving = active & ~member, member & ~active
    if entering.sum() + leaving.sum() >= active.sum():
        rows = Z[active]
        return np.eye(Z.shape[1]) + rows.T @ rows, active
    added, removed = Z[entering], Z[leaving]
    return hessian + added.T @ added - removed.T @ removed, active


def _line_search(w: FloatArray, step: FloatArray, weights: FloatArray, drop: FloatArray, penalty: float) -> float:
    """Exact minimiser over t >= 0 of the objective at w + t step, a piecewise quadratic in t.

    The derivative <w, step> + t |step|^2 - (1/penalty) sum_i drop_i max(0, weights_i - t drop_i) is increasing and
    piecewise linear with kinks where a bracket changes sign.
    """
    moving = drop != 0.0
    ratio = np.full(drop.shape, np.inf)
    ratio[moving] = weights[moving] / drop[moving]
    kink = ratio > 0.0
    inside = np.where(moving, (weights > 0.0) | ((weights == 0.0) & (drop < 0.0)), False)
    constant = float(w @ step) - float(drop[inside] @ weights[inside]) / penalty
    slope = float(step @ step) + float(drop[inside] @ drop[inside]) / penalty
    order = np.argsort(ratio[kink & moving])
    places = np.flatnonzero(kink & moving)[order]
    # a bracket that was on leaves at its kink, one that was off enters
    change = np.where(inside[places], -1.0, 1.0) / penalty
    constants = constant - np.concatenate([[0.0], np.cumsum(change * drop[places] * weights[places])])
    slopes = slope + np.concatenate([[0.0], np.cumsum(change * drop[places] ** 2)])
    ends = np.concatenate([ratio[places], [np.inf]])
    with np.errstate(invalid="ignore"):
        at_end = constants[:-1] + slopes[:-1] * ends[:-1]
    piece = int(np.argmax(np.concatenate([at_end >= 0.0, [True]])))
    start = ends[piece - 1] if piece else 0.0
    if slopes[piece] <= 0.0:
        return float(max(start, 0.0))
    return float(max(-constants[piece] / slopes[piece], start))
