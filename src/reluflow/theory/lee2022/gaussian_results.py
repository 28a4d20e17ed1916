"""Expectations and random directions: Lemma 2.1, Propositions B.1, B.2 and C.1 [lee2022]."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.single_neuron.angle import gap_between
from reluflow.single_neuron.gaussian_moments import (
    active_curvature,
    half_space_moment,
    relu_kernel,
    spherical_speed,
    two_half_space_moment,
)
from reluflow.theory.comparison import Comparison, at_least, at_most
from reluflow.theory.evidence import Evidence, drawn
from reluflow.theory.lee2022.model import student, teacher
from reluflow.theory.measures import Constants

QUADRATURE = 1e-12  # Gauss-Legendre with 60 nodes on one analytic arc; 2e-16 seen
STANDARD_ERRORS = 6.0


def sector_integrals(theta: float) -> FloatArray:
    """E[1{<u,x> > 0} 1{<v,x> > 0} x x^T] in the plane of u = (1, 0) and v at angle theta, by quadrature, shape (2, 2).

    The arc of angles where both are active is (theta - pi/2, pi/2); the squared radius has mean 2.
    """
    nodes, weights = np.polynomial.legendre.leggauss(60)
    low, high = theta - 0.5 * np.pi, 0.5 * np.pi
    angle = 0.5 * (high + low) + 0.5 * (high - low) * nodes
    direction = np.stack([np.cos(angle), np.sin(angle)])
    return np.asarray(0.5 * (high - low) / np.pi * (direction * weights) @ direction.T)


def quadrature_moment(u: FloatArray, v: FloatArray) -> FloatArray:
    """The same in R^d: the plane by quadrature, the rest is the probability of the arc times the identity."""
    theta = float(gap_between(u, v))
    first = u / np.linalg.norm(u)
    rest = v - (v @ first) * first
    basis = np.stack([first, rest / np.linalg.norm(rest)])  # (2, d)
    plane = basis.T @ sector_integrals(theta) @ basis
    return np.asarray(plane + (np.pi - theta) / (2.0 * np.pi) * (np.eye(u.size) - basis.T @ basis))


def _pair(evidence: Evidence) -> tuple[FloatArray, FloatArray]:
    one, other = student(evidence).w, teacher(evidence).w
    return one / np.linalg.norm(one), other / np.linalg.norm(other)


@drawn("two half-space moment")
def _claimed(evidence: Evidence) -> FloatArray:
    return two_half_space_moment(*_pair(evidence))


def theta(evidence: Evidence) -> float:
    """The angle between student and teacher."""
    return float(gap_between(*_pair(evidence)))


@drawn("relu kernel")
def kernel(evidence: Evidence) -> float:
    """E[s(<u, x>) s(<v, x>)] as stated."""
    return relu_kernel(*_pair(evidence))


@drawn("speed")
def speed(evidence: Evidence) -> float:
    """kappa = 1/d."""
    return spherical_speed(evidence.dataset.d)


def _by_quadrature(evidence: Evidence) -> FloatArray:
    return np.asarray(np.abs(_claimed(evidence) - quadrature_moment(*_pair(evidence))))


def _kernel(evidence: Evidence) -> float:
    """E[s s] = u^T M v, so the quadrature moment gives it too."""
    u, v = _pair(evidence)
    return abs(kernel(evidence) - float(u @ quadrature_moment(u, v) @ v))


def _eigenvalues(evidence: Evidence) -> FloatArray:
    away = np.pi - theta(evidence)
    pair = [away + np.sin(theta(evidence)), away - np.sin(theta(evidence))]
    wanted = np.sort([*pair, *([away] * (evidence.dataset.d - 2))]) / (2.0 * np.pi)
    return np.asarray(np.abs(np.linalg.eigvalsh(_claimed(evidence)) - wanted))


def _deviation(terms: FloatArray, expected: FloatArray) -> tuple[float, int]:
    """Largest deviation of a mean over samples from its expectation, in standard errors, over the entries."""
    error = terms.std(axis=0, ddof=1) / np.sqrt(len(terms))
    return float(np.max(np.abs(terms.mean(axis=0) - expected) / np.maximum(error, 1e-300))), len(terms)


def _by_sample(evidence: Evidence) -> Comparison:
    """Entries of both matrices on the samples of the dataset, in standard errors."""
    u, v = _pair(evidence)
    X = evidence.dataset.X[:20_000, :]
    outer = X[:, :, None] * X[:, None, :] if X.shape[1] <= 30 else None
    if outer is None:  # in high dimension only the plane of u and v, where the formula is not a multiple of I
        basis = np.linalg.qr(np.stack([u, v]).T)[0]
        X, u, v = X @ basis, basis.T @ u, basis.T @ v
        outer = X[:, :, None] * X[:, None, :]
        claimed = basis.T @ _claimed(evidence) @ basis
    else:
        claimed = _claimed(evidence)
    one = np.asarray((X @ u > 0)[:, None, None] * outer, dtype=np.float64)
    both = np.asarray((X @ v > 0)[:, None, None] * one, dtype=np.float64)
    first, _ = _deviation(one, half_space_moment(X.shape[1]))
    second, n = _deviation(both, claimed)
    return at_most(max(first, second), STANDARD_ERRORS, detail=f"{first:.3g} and {second:.3g} standard errors, n = {n}")


# Proposition B.1 ------------------------------------------------------------------------------------------------------


def planar_second_moment(d: int) -> float:
    """E rho^2 for a uniform point of the sphere projected to a plane, by quadrature: rho^2 is Beta(1, (d-2)/2)."""
    from scipy.special import roots_jacobi

    nodes, weights = roots_jacobi(20, 0.5 * (d - 2) - 1.0, 0.0)  # weight (1 - s)^((d-4)/2) on [-1, 1]
    square = 0.5 * (1.0 + nodes)
    return float(weights @ square / np.sum(weights))


def _sphere_speed(evidence: Evidence) -> Comparison:
    """E|projection|^2 of the sphere over that of the Gaussian, which is 2, against kappa = 1/d."""
    d = evidence.dataset.d
    claimed = speed(evidence)
    # in d = 2 the projection is the point itself, of length 1
    measured = 0.5 * (planar_second_moment(d) if d > 2 else 1.0)
    return at_most(
        abs(claimed / measured - 1.0), QUADRATURE, detail=f"kappa = {claimed:.8g}, by quadrature {measured:.8g}"
    )


def _sphere_sample(evidence: Evidence) -> Comparison:
    """The samples projected to the sphere: both matrices are those of Lemma 2.1 over d, in standard errors."""
    u, v = _pair(evidence)
    X = evidence.dataset.X[:20_000]
    X = X / np.linalg.norm(X, axis=1)[:, None]
    basis = np.linalg.qr(np.stack([u, v]).T)[0]
    plane = X @ basis
    both = ((X @ u > 0) & (X @ v > 0))[:, None, None] * (plane[:, :, None] * plane[:, None, :])
    claimed = speed(evidence)
    away, n = _deviation(both, claimed * (basis.T @ two_half_space_moment(u, v) @ basis))
    return at_most(away, STANDARD_ERRORS, detail=f"{away:.3g} standard errors over {n} samples")


# Proposition B.2 ------------------------------------------------------------------------------------------------------


def perfect_fits(evidence: Evidence) -> FloatArray:
    """Extreme points of the set {w : L(w) = 0}, shape (k, d): one row where it is a point.

    Positive labels fix w up to the null space of their samples; zero labels bound it there, by linear programs.
    """
    from scipy.optimize import linprog

    X, y = evidence.dataset.X, evidence.dataset.y
    target = teacher(evidence).product * teacher(evidence).w
    _, lengths, rows = np.linalg.svd(X[y > 0], full_matrices=True)
    rank = int(np.sum(lengths > 1e-10 * lengths[0]))
    free = rows[rank:]  # (d - rank, d)
    if len(free) == 0:
        return target[None]
    box = 10.0 * float(np.linalg.norm(target))
    others = X[y == 0]
    found = []
    for k in range(len(free)):
        for sign in (1.0, -1.0):
            objective = sign * np.eye(len(free))[k]
            fit = linprog(objective, A_ub=others @ free.T, b_ub=-others @ target, bounds=(-box, box))
            found.append(target + fit.x @ free if fit.status == 0 else target)
    return np.array(found)


def _only_fit(evidence: Evidence) -> float:
    fits = evidence.witness("fits", lambda: perfect_fits(evidence))
    target = teacher(evidence).product * teacher(evidence).w
    return float(np.max(np.linalg.norm(fits - target, axis=1))) / float(np.linalg.norm(target))


def _growth(evidence: Evidence) -> Comparison:
    """Smallest L(w)/|w - w*|^2 over probes at many distances, the flattest direction among them."""
    X, y = evidence.dataset.X, evidence.dataset.y
    target = teacher(evidence).product * teacher(evidence).w
    active = X[y > 0]
    flattest = np.linalg.eigh(active.T @ active)[1][:, 0]
    drawn = np.random.default_rng(0).standard_normal((20, evidence.dataset.d))
    directions = np.vstack([flattest, -flattest, drawn / np.linalg.norm(drawn, axis=1)[:, None]])

    def mean_loss(w: FloatArray) -> FloatArray:
        return np.asarray(0.5 * np.mean((np.maximum(X @ w.T, 0.0) - y[:, None]) ** 2, axis=0))

    loss = evidence.witness("losses", lambda: mean_loss)
    smallest = np.inf
    for size in np.geomspace(1e-3, 10.0, 9) * float(np.linalg.norm(target)):
        smallest = min(smallest, float(np.min(loss(target + size * directions))) / size**2)
    words = f"L(w) >= {smallest:.3g} |w - w*|^2 on {9 * len(directions)} probes"
    return at_least(smallest, np.finfo(float).tiny, detail=words)


def _b_2_constants(evidence: Evidence) -> Constants:
    X = evidence.dataset.X
    return {
        "active_curvature": active_curvature(evidence.dataset, teacher(evidence).w),
        "covariance_smallest_eigenvalue": float(np.linalg.eigvalsh(X.T @ X / len(X))[0]),
        "mean_norm": float(np.linalg.norm(X.mean(axis=0))),
    }


# Proposition C.1 ------------------------------------------------------------------------------------------------------

_THRESHOLDS = np.linspace(0.0, 0.999, 400)


def _cosine_tail(d: int) -> Callable[[FloatArray], FloatArray]:
    from reluflow.single_neuron.random_directions import cosine_tail  # loads scipy.stats, which is slow

    return lambda threshold: cosine_tail(d, threshold)


def _bound(d: int) -> FloatArray:
    from reluflow.single_neuron.random_directions import cosine_tail_bound

    return cosine_tail_bound(d, _THRESHOLDS)


def _tail(evidence: Evidence) -> Callable[[FloatArray], FloatArray]:
    return evidence.witness("cosine tail", lambda: _cosine_tail(evidence.dataset.d))


def _log_slack(measured: FloatArray, bound: FloatArray, what: str) -> Comparison:
    seen = measured > 0.0
    slack = np.log(bound[seen] / measured[seen])
    index = int(np.argmin(slack))
    words = f"{what}: smallest log(bound/probability) {slack[index]:.4g} at {_THRESHOLDS[seen][index]:.3g}"
    return at_least(float(slack[index]), 0.0, allowance=1e-12, detail=words)


def _two_sided(evidence: Evidence) -> Comparison:
    return _log_slack(2.0 * _tail(evidence)(_THRESHOLDS), _bound(evidence.dataset.d), "P(|cos| > eps)")


def _one_sided(evidence: Evidence) -> Comparison:
    bound = 0.5 * _bound(evidence.dataset.d)
    return _log_slack(_tail(evidence)(_THRESHOLDS), bound, "P(cos > eps)")


def _by_drawing(evidence: Evidence) -> Comparison:
    """Largest distance of the law of 20,000 drawn cosines from the Beta law, with a bound that fails once in 1e9."""
    draws = 20_000
    rng = np.random.default_rng(0)
    u, v = rng.standard_normal((2, draws, min(evidence.dataset.d, 200)))
    cosine = np.sum(u * v, axis=1) / np.linalg.norm(u, axis=1) / np.linalg.norm(v, axis=1)
    exact = _tail(evidence) if evidence.dataset.d <= 200 else _cosine_tail(200)
    share = np.array([np.mean(cosine > threshold) for threshold in _THRESHOLDS])
    distance = float(np.max(np.abs(share - exact(_THRESHOLDS))))
    return at_most(distance, float(np.sqrt(np.log(2e9) / (2.0 * draws))))  # Dvoretzky-Kiefer-Wolfowitz
