"""Expectations over Gaussian inputs and over the sphere: Lemma 2.1 and Proposition B.1 [lee2022]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.papers.lee2022.paper import EXAMPLE, SETTING
from reluflow.papers.lee2022.single_neuron.angle import gap_between
from reluflow.papers.lee2022.single_neuron.gaussian_moments import (
    half_space_moment,
    relu_kernel,
    spherical_speed,
    two_half_space_moment,
)
from reluflow.papers.lee2022.teacher_and_student import student, teacher
from reluflow.papers.lee2022.theorems.population_model import DIMENSION, POPULATION_MODEL
from reluflow.theory.comparison import Comparison, Level, Source, at_most, require
from reluflow.theory.evidence import Evidence
from reluflow.theory.measures import AtMost, Quantities
from reluflow.theory.theorem import Conclusion, Reference, Theorem

QUADRATURE = 1e-12  # Gauss-Legendre with 60 nodes on one analytic arc; 2e-16 seen
STANDARD_ERRORS = 6.0
MOST_SAMPLES = 20_000

# Lemma 2.1 ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ActiveArc:
    """The angles at which <u, x> and <v, x> are positive, in the plane of u = (1, 0) and v, and a rule to integrate.

    Parameters
    ----------
    angles, weights
        Nodes on the arc (theta - pi/2, pi/2), and weights of sum 2, of shape (60,).
    half_length
        Half the length of the arc.
    """

    angles: FloatArray
    weights: FloatArray
    half_length: float

    @classmethod
    def at(cls, theta: float) -> ActiveArc:
        """The arc of vectors at angle theta, with the rule of Gauss and Legendre."""
        nodes, weights = np.polynomial.legendre.leggauss(60)
        low, high = theta - 0.5 * np.pi, 0.5 * np.pi
        half_length = 0.5 * (high - low)
        return cls(0.5 * (high + low) + half_length * nodes, weights, half_length)

    @property
    def moment(self) -> FloatArray:
        """E[1{<u,x> > 0} 1{<v,x> > 0} x x^T] in the plane, shape (2, 2); the squared radius has mean 2."""
        directions = np.stack([np.cos(self.angles), np.sin(self.angles)])
        return np.asarray(self.half_length / np.pi * (directions * self.weights) @ directions.T)


@dataclass(frozen=True, eq=False)
class ArcAndSamples:
    """What Lemma 2.1 is held against: the arc on which student and teacher are active, and samples (k, d)."""

    arc: ActiveArc
    samples: FloatArray


def quadrature_moment(u: FloatArray, v: FloatArray, arc: ActiveArc) -> FloatArray:
    """The same in R^d: the plane by quadrature, the rest is the probability of the arc times the identity."""
    theta = float(gap_between(u, v))
    first = u / np.linalg.norm(u)
    rest = v - (v @ first) * first
    basis = np.stack([first, rest / np.linalg.norm(rest)])  # (2, d)
    plane = basis.T @ arc.moment @ basis
    return np.asarray(plane + (np.pi - theta) / (2.0 * np.pi) * (np.eye(u.size) - basis.T @ basis))


def _pair(evidence: Evidence) -> tuple[FloatArray, FloatArray]:
    one, other = student(evidence).w, teacher(evidence).w
    return one / np.linalg.norm(one), other / np.linalg.norm(other)


def theta(evidence: Evidence) -> float:
    """The angle between student and teacher."""
    return float(gap_between(*_pair(evidence)))


def _arc_and_samples(evidence: Evidence) -> ArcAndSamples:
    return ArcAndSamples(ActiveArc.at(theta(evidence)), evidence.dataset.X[:MOST_SAMPLES])


def kernel(evidence: Evidence) -> float:
    """E[s(<u, x>) s(<v, x>)] as stated."""
    return relu_kernel(*_pair(evidence))


def _integrated(evidence: Evidence) -> FloatArray:
    """E[1{u} 1{v} x x^T] by quadrature, shape (d, d)."""
    return quadrature_moment(*_pair(evidence), evidence.recorded(ArcAndSamples).arc)


def _by_quadrature(evidence: Evidence) -> FloatArray:
    return np.asarray(np.abs(two_half_space_moment(*_pair(evidence)) - _integrated(evidence)))


def _kernel(evidence: Evidence) -> float:
    """E[s s] = u^T M v, so the quadrature moment gives it too."""
    u, v = _pair(evidence)
    return abs(kernel(evidence) - float(u @ _integrated(evidence) @ v))


def _eigenvalues(evidence: Evidence) -> FloatArray:
    """Those of the quadrature moment against the stated ones."""
    away = np.pi - theta(evidence)
    pair = [away + np.sin(theta(evidence)), away - np.sin(theta(evidence))]
    wanted = np.sort([*pair, *([away] * (evidence.dataset.d - 2))]) / (2.0 * np.pi)
    return np.asarray(np.abs(np.linalg.eigvalsh(_integrated(evidence)) - wanted))


def _deviation(terms: FloatArray, expected: FloatArray) -> tuple[float, int]:
    """Largest deviation of a mean over samples from its expectation, in standard errors, over the entries."""
    error = terms.std(axis=0, ddof=1) / np.sqrt(len(terms))
    return float(np.max(np.abs(terms.mean(axis=0) - expected) / np.maximum(error, 1e-300))), len(terms)


MANY = 50.0  # samples on which both are active, as expected; of fewer a standard error is not known


def _require_many(evidence: Evidence) -> None:
    expected = evidence.dataset.n * (np.pi - theta(evidence)) / (2.0 * np.pi)
    require(expected >= MANY, f"{expected:.3g} samples are expected where both are active; {MANY:g} are needed")


def _by_sample(evidence: Evidence) -> Comparison:
    """Entries of both matrices on the samples of the dataset, in standard errors."""
    _require_many(evidence)
    u, v = _pair(evidence)
    X, claimed = evidence.recorded(ArcAndSamples).samples, two_half_space_moment(u, v)
    outer = X[:, :, None] * X[:, None, :] if X.shape[1] <= 30 else None
    if outer is None:  # in high dimension only the plane of u and v, where the formula is not a multiple of I
        basis = np.linalg.qr(np.stack([u, v]).T)[0]
        X, u, v = X @ basis, basis.T @ u, basis.T @ v
        outer = X[:, :, None] * X[:, None, :]
        claimed = basis.T @ claimed @ basis
    one = np.asarray((X @ u > 0)[:, None, None] * outer, dtype=np.float64)
    both = np.asarray((X @ v > 0)[:, None, None] * one, dtype=np.float64)
    first, _ = _deviation(one, half_space_moment(X.shape[1]))
    second, n = _deviation(both, claimed)
    return at_most(
        max(first, second), STANDARD_ERRORS, detail=f"{first:.3g} and {second:.3g} standard errors, $n$ = {n}"
    )


LEMMA_2_1 = Theorem(
    "lee2022:lemma2.1",
    Reference("lee2022", "Lemma 2.1"),
    r"For standard Gaussian $x$ and unit $u$, $v$ at angle $\theta$, with $1_u$ for $\langle u, x\rangle > 0$: "
    r"$E[1_u xx^\top] = I/2$, $E[1_u 1_v xx^\top] = (1 - \theta/\pi) I/2 + (-\cos\theta\,(uu^\top + vv^\top) + "
    r"uv^\top + vu^\top)/(2\pi\,\sin\theta)$, $E[s(\langle u, x\rangle) s(\langle v, x\rangle)] = (1 - "
    r"\theta/\pi)\,\cos\theta/2 + \sin\theta/(2\pi)$.",
    hypotheses=(DIMENSION, *POPULATION_MODEL),
    conclusions=(
        Conclusion("matrix", "the matrix agrees with quadrature", AtMost(_by_quadrature, QUADRATURE), Level.EXACT),
        Conclusion("kernel", "the kernel agrees with quadrature", AtMost(_kernel, QUADRATURE), Level.EXACT),
        Conclusion(
            "eigenvalues",
            r"$(\pi - \theta \pm \sin\theta)/(2\pi)$, and $(\pi - \theta)/(2\pi)$",
            AtMost(_eigenvalues, QUADRATURE),
            Level.EXACT,
        ),
        Conclusion("sample", "the samples' means agree up to sampling", _by_sample, source=Source.RELUFLOW),
    ),
    constants=Quantities({"theta": theta, "kernel": kernel}),
    record=_arc_and_samples,
    setting=SETTING,
    example=EXAMPLE,
    erratum="E15: the remark on eigenvectors means the two-indicator matrix.",
    departs="$u$ and $v$ are the directions of the student and of the teacher.",
)

# Proposition B.1 ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ProjectedSphere:
    """What Proposition B.1 is held against: uniform points of the sphere, projected to a plane or as they are.

    Parameters
    ----------
    squares, weights
        Values of rho^2, the squared length of the projection, and a rule to integrate over its law.
    samples
        Samples divided by their lengths, shape (k, d).
    """

    squares: FloatArray
    weights: FloatArray
    samples: FloatArray

    @property
    def mean_square(self) -> float:
        """E rho^2."""
        return float(self.weights @ self.squares / np.sum(self.weights))


def _projected_sphere(evidence: Evidence) -> ProjectedSphere:
    X = evidence.dataset.X[:MOST_SAMPLES]
    return ProjectedSphere(*planar_squares(evidence.dataset.d), X / np.linalg.norm(X, axis=1)[:, None])


def speed(evidence: Evidence) -> float:
    """kappa = 1/d."""
    return spherical_speed(evidence.dataset.d)


def planar_squares(d: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights for rho^2 of a uniform point of the sphere, whose law is Beta(1, (d-2)/2)."""
    from scipy.special import roots_jacobi

    if d == 2:  # the projection is the point itself, of length 1
        return np.ones(1), np.ones(1)
    nodes, weights = roots_jacobi(20, 0.5 * (d - 2) - 1.0, 0.0)  # weight (1 - s)^((d-4)/2) on [-1, 1]
    return np.asarray(0.5 * (1.0 + nodes)), np.asarray(weights)


def _sphere_speed(evidence: Evidence) -> Comparison:
    """E|projection|^2 of the sphere over that of the Gaussian, which is 2, against kappa = 1/d."""
    claimed, measured = speed(evidence), 0.5 * evidence.recorded(ProjectedSphere).mean_square
    return at_most(
        abs(claimed / measured - 1.0), QUADRATURE, detail=rf"$\kappa$ = {claimed:.8g}, by quadrature {measured:.8g}"
    )


def _sphere_sample(evidence: Evidence) -> Comparison:
    """The samples projected to the sphere: both matrices are those of Lemma 2.1 over d, in standard errors."""
    _require_many(evidence)
    u, v = _pair(evidence)
    X = evidence.recorded(ProjectedSphere).samples
    basis = np.linalg.qr(np.stack([u, v]).T)[0]
    plane = X @ basis
    both = ((X @ u > 0) & (X @ v > 0))[:, None, None] * (plane[:, :, None] * plane[:, None, :])
    claimed = speed(evidence)
    away, n = _deviation(both, claimed * (basis.T @ two_half_space_moment(u, v) @ basis))
    return at_most(away, STANDARD_ERRORS, detail=f"{away:.3g} standard errors over {n} samples")


PROP_B_1 = Theorem(
    "lee2022:propB.1",
    Reference("lee2022", "Prop. B.1"),
    "For $x$ uniform on the unit sphere both matrices of Lemma 2.1 are multiplied by $1/d$; for any spherically "
    "symmetric law by $E|x|^2/d$, the speed of the flow.",
    hypotheses=(DIMENSION, *POPULATION_MODEL),
    conclusions=(
        Conclusion("speed", "the factor is $1/d$ by quadrature", _sphere_speed, Level.EXACT),
        Conclusion("sample", "the projected samples agree up to sampling", _sphere_sample, source=Source.RELUFLOW),
    ),
    constants=Quantities({"kappa": speed}),
    record=_projected_sphere,
    setting=SETTING,
    example=EXAMPLE,
)
