"""Slow, plain ways to compute what the package `geometry` computes fast; written from the definitions alone."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.optimize import linprog, lsq_linear


def three_points():
    """The dataset of Boursier & Flammarion (2024), Sec. 6."""
    return np.array([[-0.75, 1.0], [-0.5, 1.0], [0.125, 1.0]]), np.array([1.1, 0.1, 0.8])


def is_realisable(X, pattern):
    """Whether some w != 0 has the signs of `pattern`, by one linear program."""
    u = np.asarray(pattern)
    d = X.shape[1]
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    if not np.any(u):
        return np.linalg.matrix_rank(unit) < d
    zero = u == 0
    rows = -(u[~zero, None] * unit[~zero])
    result = linprog(
        np.append(np.zeros(d), -1.0),
        A_ub=np.hstack([rows, np.ones((rows.shape[0], 1))]),
        b_ub=np.zeros(rows.shape[0]),
        A_eq=np.hstack([unit[zero], np.zeros((zero.sum(), 1))]) if zero.any() else None,
        b_eq=np.zeros(zero.sum()) if zero.any() else None,
        bounds=[(-1, 1)] * d + [(None, 1)],
    )
    return result.status == 0 and -result.fun > 1e-8


def realisable_patterns(X):
    """Every u in {-1, 0, 1}^n with a nonempty cone; prefixes that are empty are not continued."""
    found = []

    def extend(prefix):
        if len(prefix) == X.shape[0]:
            found.append(prefix)
            return
        for sign in (1, 0, -1):
            longer = (*prefix, sign)
            # A prefix of zeros is cut by no hyperplane yet; it is judged once a sign or the end has come.
            is_undecided = not any(longer) and len(longer) < X.shape[0]
            if is_undecided or is_realisable(X[: len(longer)], longer):
                extend(longer)

    extend(())
    return set(found)


def dimension(X, pattern):
    """d - rank of the samples with sign 0."""
    zero = X[np.asarray(pattern) == 0]
    return X.shape[1] - (np.linalg.matrix_rank(zero, tol=1e-9) if zero.size else 0)


def facet_mask(X, patterns):
    """For each pattern, the samples that vanish on a cone of one dimension less in its closure."""
    closed = [*patterns, (0,) * X.shape[0]]
    dims = [dimension(X, u) for u in closed]
    masks = {}
    for u in patterns:
        mask = np.zeros(X.shape[0], dtype=bool)
        for v, dim in zip(closed, dims, strict=True):
            if dim == dimension(X, u) - 1 and all(b in (0, a) for a, b in zip(u, v, strict=True)):
                mask |= (np.array(v) == 0) & (np.array(u) != 0)
        masks[u] = mask
    return masks


def ways_on(normals, plus, minus, rest, sign, tol=0.0):
    """Every choice of sides of the walls stood on whose own pull keeps it, with that pull, by trying all of them."""
    ways = []
    for sides in product((1, -1, 0), repeat=len(plus)):
        side = np.array(sides, dtype=int)
        pull = rest + np.where(side > 0, plus, np.where(side < 0, minus, 0.0)) @ normals
        slides = side == 0
        q = np.linalg.lstsq(normals[slides].T, -pull, rcond=None)[0]
        pull = pull + q @ normals[slides]
        low, high = np.minimum(plus, minus)[slides] - tol, np.maximum(plus, minus)[slides] + tol
        is_held = np.all((low < q) & (q < high)) and np.all(np.abs(normals[slides] @ pull) <= 1e-9)
        if is_held and np.all((sign * (normals @ pull) * side)[~slides] > 0.01 * tol):
            ways.append((sides, pull))
    return ways


def bounded_subgradient(X, forces, pattern, leak):
    """Minimum-norm subgradient by SciPy's bounded least squares."""
    u = np.asarray(pattern)
    base = (np.where(u > 0, 1.0, leak) * forces * (u != 0)) @ X
    zero = u == 0
    if not zero.any():
        return base
    columns = (forces[zero, None] * X[zero]).T
    if leak == 1.0:
        return base + columns.sum(axis=1)
    result = lsq_linear(columns, -base, bounds=(leak, 1.0), method="bvls", tol=1e-15)
    return base + columns @ result.x


def brute_extremal(X, forces, leak, tol=1e-9):
    """Definition 1 over all 3^n patterns by projection: {pattern: (vector, side)}; independent zeros only."""
    n, d = X.shape
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    found = {}
    for u in product((1, 0, -1), repeat=n):
        u = np.array(u)
        zero = u == 0
        if zero.sum() >= d and n >= d:
            continue
        p = (np.where(u > 0, 1.0, leak) * forces * ~zero) @ X
        if zero.any():
            columns = (forces[zero, None] * X[zero]).T
            eta = np.linalg.lstsq(columns, -p, rcond=None)[0]
            if np.any(eta < leak - tol) or np.any(eta > 1 + tol):
                continue
            p = p + columns @ eta
        _accept(found, unit, u, p, tol)
    return found


def brute_extremal_bounded(X, forces, leak, tol=1e-7):
    """Definition 1 over all 3^n patterns by bounded least squares: right on degenerate data too, and slower."""
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    found = {}
    for u in product((1, 0, -1), repeat=X.shape[0]):
        _accept(found, unit, np.array(u), bounded_subgradient(X, forces, u, leak), tol)
    return found


def _accept(found, unit, u, vector, tol):
    norm = np.linalg.norm(vector)
    if norm <= tol:
        return
    cosines = unit @ vector / norm
    signs = np.where(np.abs(cosines) <= tol, 0, np.sign(cosines))
    for side in (1, -1):
        if np.array_equal(signs, side * u) and np.any(u):
            found[tuple(int(value) for value in u)] = (vector, side)


def potential(w, X, forces, leak):
    """G, from its definition."""
    total = 0.0
    for x, force in zip(X, forces, strict=True):
        z = w @ x
        total = total + force * np.where(z > 0, z, leak * z)
    return total


def kind_by_sampling(X, forces, leak, direction, pattern, rng):
    """Maximum, minimum or saddle of G on the sphere, from values of G around the direction.

    Samples are drawn in all directions, inside the cone of lower dimension, and off it across one hyperplane at a
    time. None if the radius that sees the signs is too small for double precision.
    """
    zero = np.asarray(pattern) == 0
    steps = [rng.standard_normal((500, X.shape[1]))]
    across = np.empty((0, X.shape[1]))
    if zero.any():
        normals = X[zero]
        dual = np.linalg.pinv(normals).T  # rows: <dual_i, x_j> = [i == j]
        dual /= np.linalg.norm(dual, axis=1, keepdims=True)
        across = np.vstack([dual, -dual])
        inside = steps[0] - steps[0] @ normals.T @ np.linalg.inv(normals @ normals.T) @ normals
        steps += [inside, across]
    steps = np.vstack(steps)
    steps -= np.outer(steps @ direction, direction)
    lengths = np.linalg.norm(steps, axis=1)
    steps = steps[lengths > 1e-8] / lengths[lengths > 1e-8, None]
    value = potential(direction, X, forces, leak)
    far = np.min(np.abs(X[~zero] @ direction) / np.linalg.norm(X[~zero], axis=1))
    # G is linear close by, so a step that stays there gives the slopes that must outweigh the sphere's curvature.
    near = 0.1 * far
    slopes = np.abs(potential(direction + near * across, X, forces, leak) - value) / near
    radius = min(1e-3, near, 0.1 * np.min(slopes, initial=np.inf) / abs(value))
    if radius < 1e-6:
        return None
    around = direction + radius * steps
    around /= np.linalg.norm(around, axis=1, keepdims=True)
    rise = potential(around, X, forces, leak) - value
    if np.all(rise <= 1e-15):
        return "maximum"
    if np.all(rise >= -1e-15):
        return "minimum"
    return "saddle"
