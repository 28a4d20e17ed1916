"""Data assumptions of Lee, Sim & Ye (2022) [lee2022], and whether a sample can be one of standard Gaussian inputs."""

from __future__ import annotations

import numpy as np

from reluflow.theory.comparison import Comparison, fails, judgement, positive, undecided
from reluflow.theory.evidence import Evidence
from reluflow.theory.facts import DatasetFacts


def gaussian_inputs(facts: DatasetFacts) -> Comparison:
    """Sec. 2: inputs are standard Gaussian, in the population limit."""
    X = facts.dataset.X
    away = (
        float(np.abs(X.T @ X / facts.dataset.n - np.eye(facts.dataset.d)).max()) if facts.dataset.d <= 5000 else np.nan
    )
    return undecided(
        "a statement about the law of the inputs; the second moments of the samples are off those of a standard "
        f"Gaussian by at most {away:.3g}, and their mean has norm {np.linalg.norm(X.mean(axis=0)):.3g}"
    )


def single_neuron_realizable(facts: DatasetFacts) -> Comparison:
    """Sec. 2: some w* has y_k = max(<w*, x_k>, 0) for all k.

    Positive labels fix <w*, x_k>; where they fix w* itself the rest is checked directly. The margin is minus the
    largest misfit.
    """
    X, y = facts.dataset.X, facts.dataset.y
    if np.any(y < 0):
        return fails(f"smallest label {y.min():.6g} is negative", float(y.min()))
    active = y > 0
    if not np.any(active):
        return judgement(True, 0.0, "all labels are 0: w* = 0")
    w, *_ = np.linalg.lstsq(X[active], y[active], rcond=None)
    misfit = float(np.max(np.abs(X[active] @ w - y[active])))
    tolerance = 1e-9 * float(y.max())
    if misfit > tolerance:
        return fails(f"no w fits the positive labels: largest misfit {misfit:.3g}", -misfit)
    if np.linalg.matrix_rank(X[active]) < facts.rank:
        return undecided("the positive labels do not determine w*")
    excess = float(np.max(X[~active] @ w, initial=-np.inf))
    if excess > tolerance:
        return fails(f"the only w that fits the positive labels exceeds 0 by {excess:.3g} on a zero label", -excess)
    return judgement(True, 0.0, f"|w*| = {np.linalg.norm(w):.6g}")


def active_covariance_is_definite(facts: DatasetFacts) -> Comparison:
    """Proposition B.2, corrected (erratum E7): mean of 1{<w*, x> > 0} x x^T is positive definite.

    For data realised by one neuron the active samples are those with a positive label.
    """
    realizable = single_neuron_realizable(facts)
    if realizable.holds is False:
        return fails("no single neuron realises the labels")
    active = facts.dataset.X[facts.dataset.y > 0]
    singular = np.linalg.svd(active, compute_uv=False) if len(active) >= facts.dataset.d else np.zeros(1)
    return positive(
        float(singular[-1] ** 2 / facts.dataset.n), f"{len(active)} active samples in dimension {facts.dataset.d}"
    )


LEVEL = 1e-4  # chance that a truly standard Gaussian sample is refused
FEWEST_PER_DIMENSION = 5  # with fewer samples than this times d no test has any power, and the answer is open
_MAX_COORDINATES = 20_000  # of the Kolmogorov-Smirnov test


def gaussian_sample(evidence: Evidence) -> Comparison:
    """Judge the sample, not the law: True where no test refuses a standard Gaussian at level 1e-4, None if too small.

    The tests share the level equally: the mean (n |mean|^2 is chi-squared), the squared length of each coordinate
    (chi-squared), the products of two coordinates (Chernoff bound), all coordinates together (Kolmogorov-Smirnov).
    The margin is the decimal logarithm of the smallest p-value over its share of the level.
    """
    p_values = sample_p_values(np.asarray(evidence.dataset.X))
    X = evidence.dataset.X
    away = float(np.abs(X.T @ X / len(X) - np.eye(X.shape[1])).max())
    name = min(p_values, key=p_values.__getitem__)
    smallest = p_values[name]
    margin = float(np.log10(max(smallest, 1e-300) * len(p_values) / LEVEL))
    detail = (
        f"the sample's second moments are off by at most {away:.3g}; smallest p-value {smallest:.2g} ({name}), "
        f"refused below {LEVEL / len(p_values):.2g}"
    )
    if margin >= 0.0 and len(X) < FEWEST_PER_DIMENSION * X.shape[1]:
        return undecided(f"{len(X)} samples in dimension {X.shape[1]} are too few to tell; {detail}")
    return judgement(margin >= 0.0, margin, detail)


def sample_p_values(X: np.ndarray) -> dict[str, float]:
    """Upper bounds on the p-values of the four tests under independent standard Gaussian rows.

    That of Kolmogorov and Smirnov is twice the exact one of one side, which differs from that of both sides by the
    chance of both at once. (`scipy.stats` has both, and takes half a second to load.)
    """
    from scipy.special import chdtr, chdtrc, ndtr, smirnov

    n, d = X.shape
    mean = float(chdtrc(d, n * np.sum(X.mean(axis=0) ** 2)))
    lengths = np.sum(X**2, axis=0)
    sizes = min(1.0, 2.0 * d * float(np.min(np.minimum(chdtrc(n, lengths), chdtr(n, lengths)))))
    products = np.abs(X.T @ X / n)
    largest = float(np.max(np.triu(products, 1), initial=0.0))
    # E exp(s g h) = (1 - s^2)^(-1/2), so P(mean of n products > t) <= exp(-n max_s [s t + log(1 - s^2)/2])
    slope = (np.sqrt(1.0 + 4.0 * largest**2) - 1.0) / (2.0 * largest) if largest > 0.0 else 0.0
    exponent = n * (slope * largest + 0.5 * np.log1p(-(slope**2)))
    pairs = min(1.0, d * (d - 1) * float(np.exp(-exponent)))
    levels = ndtr(np.sort(X.ravel()[:_MAX_COORDINATES]))
    ranks = np.arange(len(levels) + 1) / len(levels)
    apart = max(float(np.max(ranks[1:] - levels)), float(np.max(levels - ranks[:-1])))
    coordinates = min(1.0, 2.0 * float(smirnov(len(levels), apart)))
    return {"mean": mean, "coordinate lengths": sizes, "coordinate products": pairs, "coordinate law": coordinates}
