"""Neural collapse: the metrics NC1, NC2, NC3 of App. B.2 of a network, and what they tend to in closed form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.network.network import Network
from reluflow.papers.min2025.class_geometry import ClassGeometry, force_length, pseudo_labels


@dataclass(frozen=True)
class CollapseMetrics:
    """NC1 to NC3 of a network; not a number where a class has no feature.

    Parameters
    ----------
    within
        NC1: scatter of the features within classes over that of the class means.
    within_normalised
        NC1 of the features divided by their length.
    between
        NC2: distance of the normalised Gram matrix of class-mean directions from I/sqrt K.
    self_dual
        NC3 with class-mean directions, against the target of norm 1 (erratum E10).
    self_dual_means
        NC3 with class means.
    self_dual_printed
        NC3 with class-mean directions against the printed target, which is sqrt(K/(K-1)) long.
    num_dead_samples
        Samples on which no neuron fires; with one of them the numbers above are not numbers.
    """

    within: float
    within_normalised: float
    between: float
    self_dual: float
    self_dual_means: float
    self_dual_printed: float
    num_dead_samples: int


def collapse_metrics(network: Network, geometry: ClassGeometry) -> CollapseMetrics:
    """The metrics of the features max(W x, 0) and of V, at any scale of the network."""
    root = np.sqrt(network.weight)
    features = np.maximum(network.pre_activations(geometry.X).T, 0.0) * root  # (n, m)
    lengths = np.linalg.norm(features, axis=1)
    num_dead = int(np.sum(lengths == 0.0))
    if num_dead:
        none = float("nan")
        return CollapseMetrics(none, none, none, none, none, none, num_dead)
    unit = features / lengths[:, None]
    K, v = geometry.num_classes, (network.v * root[:, None]).T
    means = np.array([features[members].mean(axis=0) for members in geometry.members])
    directions = means / np.linalg.norm(means, axis=1, keepdims=True)
    gram = directions @ directions.T
    target = pseudo_labels(K) / np.sqrt(K)
    return CollapseMetrics(
        _scatter(features, geometry),
        _scatter(unit, geometry),
        float(np.linalg.norm(gram / np.linalg.norm(gram) - np.eye(K) / np.sqrt(K))),
        _duality(v, directions, target),
        _duality(v, means, target),
        _duality(v, directions, pseudo_labels(K) / np.sqrt(K - 1.0)),
        0,
    )


def _scatter(features: FloatArray, geometry: ClassGeometry) -> float:
    means = np.array([features[members].mean(axis=0) for members in geometry.members])
    within = sum(
        float(np.mean(np.sum((features[members] - mean) ** 2, axis=1)))
        for members, mean in zip(geometry.members, means, strict=True)
    )
    return within / float(np.sum((means - means.mean(axis=0)) ** 2))


def _duality(v: FloatArray, rows: FloatArray, target: FloatArray) -> float:
    product = v @ np.linalg.pinv(rows)
    return float(np.linalg.norm(product / np.linalg.norm(product) - target))


def limit_metrics(geometry: ClassGeometry) -> CollapseMetrics:
    """What the metrics tend to along the flow, in closed form.

    With m_c and var_c the mean and variance of <u_c, x_k> over class c: NC1 tends to sum s_c^2 var_c over
    (1 - 1/K) sum s_c^2 m_c^2, which is 0 only where every class is on its margin; NC1 of normalised features and NC2 to
    0; NC3 to sqrt(2 - 2 sum s_c/sqrt(K sum s_c^2)), with 1/m_c for s_c where class means are taken.
    """
    K, squares = geometry.num_classes, geometry.shares
    values = [geometry.X[members] @ u for members, u in zip(geometry.members, geometry.directions, strict=True)]
    means, variances = np.array([z.mean() for z in values]), np.array([z.var() for z in values])
    within = float(np.sum(squares * variances) / ((1.0 - 1.0 / K) * np.sum(squares * means**2)))
    printed = _angle(np.sqrt(squares), np.sqrt(K / (K - 1.0)))
    return CollapseMetrics(within, 0.0, 0.0, _angle(np.sqrt(squares), 1.0), _angle(1.0 / means, 1.0), printed, 0)


def _angle(factors: FloatArray, length: float) -> float:
    """Distance of Etilde diag(factors), normalised, from Etilde made this long."""
    K = factors.size
    cosine = float(factors.sum() / np.sqrt(K * np.sum(factors**2)))
    return float(np.sqrt(max(1.0 + length**2 - 2.0 * length * cosine, 0.0)))


def limit_network(geometry: ClassGeometry) -> Network:
    """The limit of theta/|theta|, one neuron per class: w_c = s_c u_c, v_c = s_c times the centred one-hot label."""
    s = np.sqrt(geometry.shares)[:, None]
    return Network(s * geometry.directions, v=s * pseudo_labels(geometry.num_classes))


def margin_one_multipliers(geometry: ClassGeometry) -> FloatArray:
    """The multipliers of the limit scaled to margin 1, shape (n, K): alpha_k gamma_c/sqrt(K(K-1)) for every rival.

    alpha are those of the hard-margin vector u_c/gamma_c = sum alpha_k x_k of the class.
    """
    K, found = geometry.num_classes, np.zeros((len(geometry.X), geometry.num_classes))
    for c, (members, margin) in enumerate(zip(geometry.members, geometry.margins, strict=True)):
        alpha = margin.multipliers / margin.margin**2  # convex multipliers m have sum m_k x_k = gamma u
        found[members] = (alpha * margin.margin / np.sqrt(K * (K - 1.0)))[:, None] * (np.arange(K) != c)
    return found


def margin_one_network(geometry: ClassGeometry) -> Network:
    """The limit scaled so that the smallest margin is 1: |W_c|^2 = kappa/gamma_c."""
    size = np.sqrt(force_length(geometry.num_classes) / geometry.gammas)[:, None]
    return Network(size * geometry.directions, v=size * pseudo_labels(geometry.num_classes))
