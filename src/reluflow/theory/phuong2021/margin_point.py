"""Lemma C.1: the two-neuron network is a KKT point of the margin problem, with explicit multipliers [phuong2021]."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.kkt import kkt_certificate
from reluflow.network import Network
from reluflow.network.network import row_norms
from reluflow.theory.condition import Judgement
from reluflow.theory.evidence import Evidence
from reluflow.theory.measurement import Measurement, at_least, at_most
from reluflow.theory.phuong2021.two_neuron_limit import class_vectors
from reluflow.theory.stating import hypothesis
from reluflow.theory.theorem import Constants

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


def _feasible(evidence: Evidence) -> Measurement:
    return at_least(float(np.min(_margins(evidence))), 1.0, allowance=EXACT)


def _complementary(evidence: Evidence) -> Measurement:
    multipliers = evidence.witness("multipliers", lambda: explicit_multipliers(evidence))
    return at_most(float(np.max(np.abs(multipliers * (_margins(evidence) - 1.0)))), EXACT)


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


def _certified(evidence: Evidence) -> Measurement:
    """Residual of the multipliers a linear program finds by itself."""
    return at_most(kkt_certificate(_point(evidence), evidence.dataset, active_rtol=1e-8).residual, 1e-8)


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


@hypothesis("two-neurons", "at least two neurons, so that u and z can both be non-zero")
def _two_neurons(evidence: Evidence) -> Judgement:
    m = evidence.network.num_neurons
    return Judgement(m >= 2, float(m - 2), f"{m} neurons")


@hypothesis("both-classes", "both classes have samples")
def _two_classes(evidence: Evidence) -> Judgement:
    vectors = evidence.facts.one_class if evidence.dataset.is_binary else None
    both = vectors is not None and vectors.positive is not None and vectors.negative is not None
    return Judgement(both, None, "both classes have samples" if both else "a class is missing")
