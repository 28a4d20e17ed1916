"""Newton's method for the KKT direction of the margin between classes, in given activation patterns.

In fixed patterns outputs are bilinear in (w, v). Neurons that share a pattern become parallel, so one bundle stands for
them. With the pairs of a sample and a rival class that have the smallest margin, and bundles on a boundary kept there,

    theta = sum_p lambda_p grad g_p(theta),     g_p(theta) = 1

is as many smooth equations as unknowns up to symmetries, which a least-squares step leaves alone. Pairs with a negative
multiplier are dropped, pairs that are violated are taken in, one at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lstsq
from scipy.optimize import least_squares, nnls

from reluflow.arrays import BoolArray, FloatArray, IndexArray
from reluflow.certificates.pair_gradients import Pairs
from reluflow.data.dataset import Dataset
from reluflow.geometry.boundary.walls import orthonormal_rows

_MOST_STEPS = 20  # of Newton's method with one set of pairs
_MOST_CHANGES = 30  # of that set
_SOLVED = 1e-13  # residual relative to the norm,
_ROUNDED = 1e3  # times which it may be where it falls no further
_HALVINGS = 8
_SYMMETRY = 1e-6  # singular values below this share of the largest are exchanges between bundles, which change nothing
_VIOLATED = 1e-10  # relative to the margin 1
MOST_UNKNOWNS = 3_000  # beyond that a step takes seconds
_FEW_UNKNOWNS = 300  # up to which other pairs are tried where those that seem to carry the direction have no solution
_DAMPED_WORK = 1e9  # of the damped method: steps times unknowns^3, which takes seconds
_MOST_DAMPED_STEPS = 400
_DAMPED_ROUND = 50  # steps in which the residual falls to half at least, or the method has come to a halt
_EPSILON = float(np.finfo(np.float64).eps)
_NEAR = 1e-2  # residual relative to the norm from which that is tried


@dataclass(frozen=True, eq=False)
class Bundles:
    """Neurons of one activation pattern each, taken together.

    Parameters
    ----------
    w, v
        Shapes (num_bundles, d), (num_bundles, K).
    slopes
        s'(<w, x_k>), 0 at kinks, shape (num_bundles, n).
    bases
        Orthonormal bases of the samples on whose boundaries a bundle stands, one (z, d) each.
    """

    w: FloatArray
    v: FloatArray
    slopes: FloatArray
    bases: tuple[FloatArray, ...]

    @classmethod
    def with_kinks(cls, w: FloatArray, v: FloatArray, slopes: FloatArray, kinks: BoolArray, X: FloatArray) -> Bundles:
        """Bundles brought exactly onto the boundaries they stand on."""
        bases = tuple(orthonormal_rows(X[row]) for row in kinks)
        on = np.array([row - (basis @ row) @ basis for row, basis in zip(w, bases, strict=True)])
        return cls(on, v, np.where(kinks, 0.0, slopes), bases)

    def moved(self, w: FloatArray, v: FloatArray) -> Bundles:
        """The same bundles elsewhere."""
        return Bundles(w, v, self.slopes, self.bases)

    def distance(self, other: Bundles) -> float:
        """Between the directions, at unit norm."""
        here, there = (np.hstack([bundles.w, bundles.v]) for bundles in (self, other))
        return float(np.linalg.norm(here / np.linalg.norm(here) - there / np.linalg.norm(there)))

    def margins(self, X: FloatArray, pairs: Pairs) -> FloatArray:
        """Of all pairs, shape (num_pairs,)."""
        return pairs.margins(((self.w @ X.T) * self.slopes).T @ self.v)


def solve_in_patterns(
    bundles: Bundles, dataset: Dataset, active: IndexArray, *, farthest: float = np.inf
) -> tuple[Bundles, FloatArray] | None:
    """The KKT direction near some bundles, at smallest margin 1, and its forces f_k; None where none is found.

    Parameters
    ----------
    bundles
        Near the solution, at any norm.
    dataset
        Classes, or labels -1 and 1.
    active
        Pairs (indices into `Pairs.of(dataset)`) of smallest margin, as a first guess.
    farthest
        Distance of unit directions beyond which the search has lost its way and gives up.
    """
    X, pairs = dataset.X, Pairs.of(dataset)
    if bundles.w.size + bundles.v.size + active.size > MOST_UNKNOWNS:
        return None
    smallest = float(np.min(bundles.margins(X, pairs)))
    if not smallest > 0.0:
        return None
    start = bundles.moved(bundles.w / np.sqrt(smallest), bundles.v / np.sqrt(smallest))
    leads = start.margins(X, pairs)
    by_lead = _with_pairs(start, dataset, active, farthest, lambda which, _: int(np.argmax(leads[which])))
    return by_lead or _with_pairs(start, dataset, active, farthest, lambda _, multipliers: int(np.argmin(multipliers)))


def _with_pairs(
    start: Bundles,
    dataset: Dataset,
    active: IndexArray,
    farthest: float,
    weakest: Callable[[IndexArray, FloatArray], int],
) -> tuple[Bundles, FloatArray] | None:
    """The direction from a first guess of the pairs that carry it.

    `weakest` says which pair (its place) is left out where the bundles cannot have all of them at the smallest margin,
    given the pairs and multipliers that fit them at the start.
    """
    X, pairs = dataset.X, Pairs.of(dataset)
    here, chosen, seen = start, set(active.tolist()), set[frozenset[int]]()
    for _ in range(_MOST_CHANGES):
        if frozenset(chosen) in seen or not chosen:
            return None
        seen.add(frozenset(chosen))
        which = np.array(sorted(chosen), dtype=np.intp)
        found = _solved(here, X, pairs, which)
        if found is None:
            if here.w.size + here.v.size + which.size > _FEW_UNKNOWNS:
                return None
            first = _first_multipliers(here, X, pairs.samples[which], pairs.directions[which])
            chosen.discard(int(which[weakest(which, first)]))
            continue
        here, multipliers = found
        if here.distance(start) > farthest:
            return None
        margins = here.margins(X, pairs)
        worst = int(np.argmin(margins))
        if margins[worst] < 1.0 - _VIOLATED and worst not in chosen:
            chosen.add(worst)
            continue
        if np.min(multipliers) < -_VIOLATED * np.max(np.abs(multipliers)):
            others = _nonnegative_multipliers(here, X, pairs.samples[which], pairs.directions[which])
            if others is None:
                chosen.discard(int(which[int(np.argmin(multipliers))]))
                continue
            multipliers = others
        return here, pairs.forces(_spread(multipliers, which, len(margins)), dataset.n)
    return None


def _spread(values: FloatArray, places: IndexArray, number: int) -> FloatArray:
    """An array of zeros with some values at their places."""
    whole = np.zeros(number)
    whole[places] = values
    return whole


def _solved(start: Bundles, X: FloatArray, pairs: Pairs, which: IndexArray) -> tuple[Bundles, FloatArray] | None:
    """Solve the equations of some pairs; the bundles and the multipliers, or None.

    Where bundles of several patterns have nearly the same direction, exchanges between them change next to nothing, and
    what Newton's method takes for an exchange is a matter of rounding. The damped method needs no such decision.
    """
    found = _newton(start, X, pairs, which)
    return _damped(start, X, pairs, which) if found is None else found


def _damped(start: Bundles, X: FloatArray, pairs: Pairs, which: IndexArray) -> tuple[Bundles, FloatArray] | None:
    """The same by the method of Levenberg and Marquardt."""
    samples, directions = pairs.samples[which], pairs.directions[which]
    ends = [start.w.size, start.w.size + start.v.size]
    num_unknowns = ends[1] + which.size
    steps = min(_MOST_DAMPED_STEPS, int(_DAMPED_WORK / num_unknowns**3))

    def parts(point: FloatArray) -> tuple[Bundles, FloatArray]:
        w, v, multipliers = np.split(point, ends)
        return start.moved(w.reshape(start.w.shape), v.reshape(start.v.shape)), multipliers

    def equations(point: FloatArray) -> FloatArray:
        return _equations(*parts(point), X, samples, directions)

    def jacobian(point: FloatArray) -> FloatArray:
        return _jacobian(*parts(point), X, samples, directions)

    point = np.concatenate([start.w.ravel(), start.v.ravel(), _first_multipliers(start, X, samples, directions)])
    residual = float(np.linalg.norm(equations(point)))
    if residual > _NEAR * (1.0 + float(np.linalg.norm(start.w))):
        return None
    for before in range(0, steps, _DAMPED_ROUND):
        most, last = min(_DAMPED_ROUND, steps - before), residual
        found = least_squares(
            equations, point, jacobian, method="lm", xtol=_EPSILON, ftol=_EPSILON, gtol=_EPSILON, max_nfev=most
        )
        point, residual = found.x, float(np.linalg.norm(found.fun))
        if found.success or residual > 0.5 * last:
            break
    here, multipliers = parts(point)
    is_solved = residual <= _ROUNDED * _SOLVED * (1.0 + float(np.linalg.norm(here.w)))
    return (here, multipliers) if is_solved else None


def _newton(start: Bundles, X: FloatArray, pairs: Pairs, which: IndexArray) -> tuple[Bundles, FloatArray] | None:
    """Newton's method with the strong modes alone."""
    samples, directions = pairs.samples[which], pairs.directions[which]
    here = start
    multipliers = _first_multipliers(here, X, samples, directions)
    residual = _equations(here, multipliers, X, samples, directions)
    for _ in range(_MOST_STEPS):
        size = float(np.linalg.norm(residual))
        if size <= _SOLVED * (1.0 + float(np.linalg.norm(here.w))):
            return here, multipliers
        whole = _jacobian(here, multipliers, X, samples, directions)
        step = lstsq(whole, -residual, cond=_SYMMETRY, lapack_driver="gelsy", check_finite=False)[0]
        move_w, move_v, move_m = np.split(step, [here.w.size, here.w.size + here.v.size])
        part = 1.0
        for _ in range(_HALVINGS):
            there = here.moved(
                here.w + part * move_w.reshape(here.w.shape), here.v + part * move_v.reshape(here.v.shape)
            )
            moved = multipliers + part * move_m
            left = _equations(there, moved, X, samples, directions)
            if np.linalg.norm(left) < size:
                break
            part *= 0.5
        else:
            is_rounding = size <= _ROUNDED * _SOLVED * (1.0 + float(np.linalg.norm(here.w)))
            return (here, multipliers) if is_rounding else None
        here, multipliers, residual = there, moved, left
    return None


def _gradients(here: Bundles, X: FloatArray, samples: IndexArray, directions: FloatArray) -> FloatArray:
    """grad g_p, shape (num_pairs, num_unknowns), bundles kept on their boundaries."""
    levers = (directions @ here.v.T) * here.slopes[:, samples].T  # (p, g)
    along_w = levers[:, :, None] * X[samples][:, None, :]
    for g, basis in enumerate(here.bases):
        if len(basis):
            along_w[:, g] -= (along_w[:, g] @ basis.T) @ basis
    heights = (here.w @ X[samples].T).T * here.slopes[:, samples].T  # (p, g)
    along_v = heights[:, :, None] * directions[:, None, :]
    return np.hstack([along_w.reshape(len(samples), -1), along_v.reshape(len(samples), -1)])


def _first_multipliers(here: Bundles, X: FloatArray, samples: IndexArray, directions: FloatArray) -> FloatArray:
    theta = np.concatenate([here.w.ravel(), here.v.ravel()])
    return np.asarray(np.linalg.lstsq(_gradients(here, X, samples, directions).T, theta, rcond=1e-12)[0])


def _nonnegative_multipliers(
    here: Bundles, X: FloatArray, samples: IndexArray, directions: FloatArray
) -> FloatArray | None:
    """Others at a solution whose gradients are dependent, none of them negative; None where there are none."""
    theta = np.concatenate([here.w.ravel(), here.v.ravel()])
    multipliers, left = nnls(_gradients(here, X, samples, directions).T, theta)
    return np.asarray(multipliers) if left <= _ROUNDED * _SOLVED * (1.0 + float(np.linalg.norm(here.w))) else None


def _equations(
    here: Bundles, multipliers: FloatArray, X: FloatArray, samples: IndexArray, directions: FloatArray
) -> FloatArray:
    """theta - sum lambda grad g, and g - 1; without the table of gradients, which would be most of the work."""
    chosen, slopes = X[samples], here.slopes[:, samples].T  # (p, g)
    levers, products = (directions @ here.v.T) * slopes, chosen @ here.w.T
    along_w, on = (multipliers[:, None] * levers).T @ chosen, here.w.copy()
    for g, basis in enumerate(here.bases):
        if len(basis):
            along_w[g] -= (along_w[g] @ basis.T) @ basis
            on[g] -= (on[g] @ basis.T) @ basis
    along_v = (multipliers[:, None] * products * slopes).T @ directions
    values = 0.5 * np.sum(levers * (products + chosen @ on.T), axis=1)  # Euler: g is homogeneous of degree 2
    return np.concatenate([(here.w - along_w).ravel(), (here.v - along_v).ravel(), values - 1.0])


def _jacobian(
    here: Bundles, multipliers: FloatArray, X: FloatArray, samples: IndexArray, directions: FloatArray
) -> FloatArray:
    """Of `_equations` along theta and the multipliers."""
    (num, d), K = here.w.shape, here.v.shape[1]
    gradients = _gradients(here, X, samples, directions)
    size = gradients.shape[1]
    whole = np.zeros((size + len(samples), size + len(samples)))
    whole[:size, :size] = np.eye(size)
    for g, basis in enumerate(here.bases):
        block = (X[samples] * (multipliers * here.slopes[g, samples])[:, None]).T @ directions  # D_g, (d, K)
        block -= basis.T @ (basis @ block)
        rows, columns = slice(g * d, (g + 1) * d), slice(num * d + g * K, num * d + (g + 1) * K)
        whole[rows, columns] = -block
        whole[columns, rows] = -block.T
    whole[:size, size:] = -gradients.T
    whole[size:, :size] = gradients
    return whole
