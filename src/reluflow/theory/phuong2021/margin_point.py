"""Lemma C.1: the two-neuron network is a KKT point of the margin problem, with explicit multipliers [phuong2021]."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.kkt import kkt_certificate
from reluflow.network import Network
from reluflow.network.network import row_norms
from reluflow.theory.condition import Judgement
from reluflow.theory.evidence import Evidence
from reluflow.theory.hypotheses import data_assumption, relu_activation
from reluflow.theory.measurement import Level, Measurement, at_least, at_most
from reluflow.theory.phuong2021.extremal_directions import SETTING
from reluflow.theory.phuong2021.two_neuron_limit import class_vectors
from reluflow.theory.stating import conclusion, theorems_of
from reluflow.theory.theorem import Constants, Hypothesis

EXACT = 1e-10  # residuals were 1e-15 on every set tried; the QP behind w_+ and w_- is exact to rounding


def margin_point(evidence: Evidence) -> Network:
    """W = u w_+^T + z w_-^T, a = |w_+| u - |w_-| z with |u|^2 = 1/|w_+|, |z|^2 = 1/|w_-|.

    The neurons share u and z by their norms. A network whose neurons have one sign only lends its first half to u and
    the rest to z.
    """
    plus, minus = class_vectors(evidence)
    is_positive = evidence.network.a > 0
    if np.all(is_positive) or not np.any(is_positive):
        is_positive = np.arange(evidence.network.num_neurons) < max(evidence.network.num_neurons // 2, 1)
    norms = row_norms(evidence.network.w)
    u, z = np.where(is_positive, norms, 0.0), np.where(is_positive, 0.0, norms)
    u, z = u / np.linalg.norm(u) / np.sqrt(plus.norm), z / np.linalg.norm(z) / np.sqrt(minus.norm)
    return Network(np.outer(u, plus.w) + np.outer(z, minus.w), plus.norm * u - minus.norm * z)


def explicit_multipliers(evidence: Evidence) -> FloatArray:
    """lambda_i = alpha_i/|w_+| on P and alpha_i/|w_-| on N, shape (n,)."""
    plus, minus = class_vectors(evidence)
    return np.asarray(plus.multipliers / plus.norm + minus.multipliers / minus.norm)


def _point(evidence: Evidence) -> Network:
    return evidence.witness("network", lambda: margin_point(evidence))


def _margins(evidence: Evidence) -> FloatArray:
    return np.asarray(evidence.dataset.y * _point(evidence).outputs(evidence.dataset.X))


@conclusion("feasible", "y_i f(x_i) >= 1", Level.EXACT)
def _feasible(evidence: Evidence) -> Measurement:
    return at_least(float(np.min(_margins(evidence))), 1.0, allowance=EXACT)


@conclusion("complementary", "lambda_i (y_i f(x_i) - 1) = 0", Level.EXACT)
def _complementary(evidence: Evidence) -> Measurement:
    multipliers = evidence.witness("multipliers", lambda: explicit_multipliers(evidence))
    return at_most(float(np.max(np.abs(multipliers * (_margins(evidence) - 1.0)))), EXACT)


@conclusion("stationary", "theta = sum_i lambda_i y_i grad f(x_i)", Level.EXACT)
def _stationary(evidence: Evidence) -> Measurement:
    """Largest entry of theta - sum_i lambda_i y_i grad f(x_i), relative to the largest entry of theta."""
    multipliers = evidence.witness("multipliers", lambda: explicit_multipliers(evidence))
    network, X = _point(evidence), evidence.dataset.X
    products = network.pre_activations(X)
    pull = multipliers * evidence.dataset.y
    left_w = network.w - network.a[:, None] * (((products > 0) * pull) @ X)
    left_a = network.a - np.maximum(products, 0.0) @ pull
    size = max(float(np.max(np.abs(network.w))), float(np.max(np.abs(network.a))))
    residual = max(float(np.max(np.abs(left_w))), float(np.max(np.abs(left_a)))) / size
    return at_most(
        residual, EXACT, detail=f"relative residual {residual:.2g}, least multiplier {multipliers.min():.3g}"
    )


@conclusion("certificate", "a linear program finds multipliers as well", Level.EXACT)
def _certified(evidence: Evidence) -> Measurement:
    """Residual of the multipliers a linear program finds by itself."""
    return at_most(kkt_certificate(_point(evidence), evidence.dataset, active_rtol=1e-8).residual, 1e-8)


@conclusion("norm", "|W|^2 = |w_+| + |w_-|", Level.EXACT)
def _norm(evidence: Evidence) -> Measurement:
    plus, minus = class_vectors(evidence)
    total = float(np.sum(_point(evidence).w ** 2))
    expected = plus.norm + minus.norm
    return at_most(abs(total / expected - 1.0), EXACT, detail=f"|W|^2 = {total:.10g}, |w_+| + |w_-| = {expected:.10g}")


def _constants(evidence: Evidence) -> Constants:
    plus, minus = class_vectors(evidence)
    return {
        "length_plus": plus.norm,
        "length_minus": minus.norm,
        "multipliers": explicit_multipliers(evidence).tolist(),
        "squared_norm_of_W": plus.norm + minus.norm,
    }


def _two_neurons(evidence: Evidence) -> Judgement:
    m = evidence.network.num_neurons
    return Judgement(m >= 2, float(m - 2), f"{m} neurons")


def _two_classes(evidence: Evidence) -> Judgement:
    vectors = evidence.facts.one_class if evidence.dataset.is_binary else None
    both = vectors is not None and vectors.positive is not None and vectors.negative is not None
    return Judgement(both, None, "both classes have samples" if both else "a class is missing")


_theorem = theorems_of("phuong2021", setting=SETTING, example="phuong-toy")

LEMMA_C_1 = _theorem(
    "lemmaC.1",
    "W = u w_+^T + z w_-^T, a = |w_+| u - |w_-| z with u, z >= 0, u_j z_j = 0, |u|^2 = 1/|w_+|, |z|^2 = 1/|w_-| is "
    "a KKT point of min |theta|^2/2 subject to y_i f(x_i) >= 1, with multipliers alpha_i/|w_+| and alpha_i/|w_-|.",
    hypotheses=(
        relu_activation,
        Hypothesis("both-classes", "both classes have samples", _two_classes),
        data_assumption("orthogonally-separable"),
        Hypothesis("two-neurons", "at least two neurons, so that u and z can both be non-zero", _two_neurons),
    ),
    conclusions=(_feasible, _complementary, _stationary, _certified, _norm),
    constants=_constants,
    erratum="P2, P11: Eq. (80) needs <w_-, x_i> > 0, and Eq. (90) the activation diagonal of x_i.",
)
