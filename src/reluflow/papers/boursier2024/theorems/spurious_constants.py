"""Constants of the spurious convergence proof: everything Appendix F computes from the data alone [boursier2024]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray, IndexArray
from reluflow.errors import InvalidInputError
from reluflow.papers.boursier2024.assumptions import least_facet_push
from reluflow.theory.elsewhere import definition
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.facts import DatasetFacts


@dataclass(frozen=True, eq=False)
class SpuriousConstants:
    """What the phases of Appendix F are measured against, for the averaged half-square loss and ReLU.

    Parameters
    ----------
    beta_star
        The least-squares line, shape (d,).
    residuals
        rho = y - X beta*, shape (n,).
    loss_star
        L_{beta*} = |rho|^2 / (2n).
    hessian
        H = X^T X / n.
    sigma_min, sigma_max
        Its extreme eigenvalues.
    pull_at_zero
        D* = (1/n) sum_k y_k x_k, the only extremal vector under Assumption 4.
    mean_square
        S, the mean of |x_k|^2.
    mean_square_label
        The mean of y_k^2.
    lengths
        |x_k|, shape (n,).
    facets
        The samples of the set the paper writes as a calligraphic K: facets of the all-active cone.
    alpha_49
        Eq. (49): least mean of <w, x_k> over unit w of the closed all-active cone.
    facet_gaps
        (1/n)[y_k |x_k|^2 - |y| sqrt(sum_{k' != k} <x_k', x_k>^2)] for each facet; Eq. (44) is their minimum.
    alpha_4
        Eq. (51), read with the adjacency of Assumption 6: least u_k <D, x_k> over mixed cones u at a facet k.
    """

    beta_star: FloatArray
    residuals: FloatArray
    loss_star: float
    hessian: FloatArray
    sigma_min: float
    sigma_max: float
    pull_at_zero: FloatArray
    mean_square: float
    mean_square_label: float
    lengths: FloatArray
    facets: IndexArray
    alpha_49: float
    facet_gaps: FloatArray
    alpha_4: float

    @property
    def kappa(self) -> float:
        """sqrt(sigma_max / sigma_min)."""
        return float(np.sqrt(self.sigma_max / self.sigma_min))

    @property
    def pull_norm(self) -> float:
        """|D*|, which is D_max under Assumption 4."""
        return float(np.linalg.norm(self.pull_at_zero))

    @property
    def beta_norm(self) -> float:
        """|beta*|."""
        return float(np.linalg.norm(self.beta_star))

    @property
    def beta_44(self) -> float:
        """Eq. (44): positive exactly where Assumption 5 holds."""
        return float(np.min(self.facet_gaps, initial=np.inf))

    @property
    def pl_constant(self) -> float:
        """sigma_min |beta*| of Lemma 21."""
        return self.sigma_min * self.beta_norm

    def d_bar(self, start_residual: float) -> float:
        """Upper bound on every |D_u|: sqrt(S) |y - h(0)| / sqrt(n), for the loss never rises."""
        return float(np.sqrt(self.mean_square) * start_residual / np.sqrt(self.lengths.size))


EQ_44 = definition("boursier2024:eq44", "Eq. (44)", SpuriousConstants, "`beta_44`, positive under Assumption 5")
EQ_49 = definition("boursier2024:eq49", "Eq. (49)", SpuriousConstants, "`alpha_49`, least mean output of a unit neuron")
EQ_51 = definition("boursier2024:eq51", "Eq. (51)", SpuriousConstants, "`alpha_4`, with the adjacency of Assumption 6")


def spurious_constants(facts: DatasetFacts) -> SpuriousConstants:
    """Compute the constants of Appendix F for a dataset of full rank.

    References
    ----------
    Boursier & Flammarion (2024), App. F, Eqs. (44), (49) and (51) [boursier2024].

    Examples
    --------
    >>> from reluflow.data.registry import load
    >>> from reluflow.losses import SquareLoss
    >>> constants = spurious_constants(DatasetFacts(load("three-points"), SquareLoss()))
    >>> round(constants.alpha_49, 4), round(constants.alpha_4, 7), round(constants.loss_star, 8)
    (0.3, 0.0555556, 0.08752137)
    """
    X, y = facts.dataset.X, facts.dataset.y
    n, d = X.shape
    if facts.rank < d:
        raise InvalidInputError(f"`dataset` must have full rank {d}, got rank {facts.rank}: beta* is not unique.")
    beta_star = facts.least_squares
    residuals = y - X @ beta_star
    hessian = X.T @ X / n
    eigenvalues = np.linalg.eigvalsh(hessian)
    gram = X @ X.T
    own = np.diag(gram)
    others = np.sqrt(np.maximum(np.sum(gram**2, axis=1) - own**2, 0.0))
    gaps = (y * own - np.linalg.norm(y) * others) / n
    cones = facts.cones
    ray_patterns = cones.patterns[cones.dimensions == 1]
    rays = cones.witnesses[cones.dimensions == 1]
    active = rays[np.all(ray_patterns >= 0, axis=1)]
    active = active / np.linalg.norm(active, axis=1, keepdims=True)
    return SpuriousConstants(
        beta_star=beta_star,
        residuals=residuals,
        loss_star=float(residuals @ residuals / (2 * n)),
        hessian=hessian,
        sigma_min=float(eigenvalues[0]),
        sigma_max=float(eigenvalues[-1]),
        pull_at_zero=y @ X / n,
        mean_square=float(np.trace(hessian)),
        mean_square_label=float(y @ y / n),
        lengths=facts.norms,
        facets=facts.active_facets,
        alpha_49=float(np.min(active @ X.mean(axis=0), initial=np.inf)),
        facet_gaps=gaps[facts.active_facets],
        alpha_4=least_facet_push(facts, residuals) / n,
    )


@computed_once
def constants_of(evidence: Evidence) -> SpuriousConstants:
    """The constants of the evidence's dataset, computed once."""
    return spurious_constants(evidence.facts)


def loss_of_the_line(evidence: Evidence) -> float:
    """L_{beta*}."""
    return constants_of(evidence).loss_star


def polyak_constant(evidence: Evidence) -> float:
    """sigma_min |beta*| of Lemma 21."""
    return constants_of(evidence).pl_constant


def mixed_descent_rate(facts: DatasetFacts, delta: float) -> float:
    """Eq. (52): least <Dtil_u, w/|w|> over mixed w with one facet at cosine >= delta and one at <= -delta.

    It is the rate c_4 at which a negative neuron that stands across the data loses norm beside the least-squares line.
    Exact in the plane: between consecutive boundaries and level lines of a cosine the function is a sinusoid.

    Parameters
    ----------
    facts
        A dataset in dimension 2.
    delta
        The paper's delta_4 with a tilde, in (0, 1).

    References
    ----------
    Boursier & Flammarion (2024), Eq. (52) with the second condition read as u_k' = -1 [boursier2024].

    Examples
    --------
    >>> from reluflow.data.registry import load
    >>> from reluflow.losses import SquareLoss
    >>> facts = DatasetFacts(load("three-points"), SquareLoss())
    >>> round(mixed_descent_rate(facts, 0.05) / 0.05, 7)  # min(rho_1 |x_1|, rho_3 |x_3|) / 3
    0.0551265
    """
    X = facts.dataset.X
    n, d = X.shape
    if d != 2:
        raise InvalidInputError(f"`dataset` must lie in the plane to minimise Eq. (52) exactly, got dimension {d}.")
    if not 0.0 < delta < 1.0:
        raise InvalidInputError(f"`delta` must lie in (0, 1), got {delta:g}.")
    residuals = facts.dataset.y - X @ facts.least_squares
    units = X / facts.norms[:, None]
    angles = np.arctan2(X[:, 1], X[:, 0])
    tilt = np.arccos(delta)
    turns = (np.pi / 2, -np.pi / 2, tilt, -tilt, np.pi - tilt, tilt - np.pi)
    breaks = np.unique(np.mod(np.concatenate([angles + turn for turn in turns]), 2 * np.pi))
    least = np.inf
    for low, high in zip(breaks, np.append(breaks[1:], breaks[0] + 2 * np.pi), strict=True):
        middle = 0.5 * (low + high)
        cosines = units @ np.array([np.cos(middle), np.sin(middle)])
        at_facets = cosines[facts.active_facets]
        if high - low < 1e-13 or not (np.any(at_facets >= delta) and np.any(at_facets <= -delta)):
            continue
        pull = residuals[cosines > 0] @ X[cosines > 0] / n
        ends = [pull @ np.array([np.cos(angle), np.sin(angle)]) for angle in (low, high)]
        opposite = np.arctan2(-pull[1], -pull[0])
        is_inside = np.mod(opposite - low, 2 * np.pi) < high - low
        least = min(least, *map(float, ends), -float(np.linalg.norm(pull)) if is_inside else np.inf)
    return least


EQ_52 = definition("boursier2024:eq52", "Eq. (52)", mixed_descent_rate, "$c_4$")


def active_probability(facts: DatasetFacts) -> float:
    """Chance that a neuron of isotropic direction and fair sign is positive and active somewhere, in the plane.

    Theorems 2 and 4 need one such neuron: they say nothing with probability (1 - p)^m (erratum E8).

    Examples
    --------
    >>> from reluflow.data.registry import load
    >>> from reluflow.losses import SquareLoss
    >>> round(active_probability(DatasetFacts(load("three-points"), SquareLoss())), 3)
    0.311
    """
    X = facts.dataset.X
    if X.shape[1] != 2:
        raise InvalidInputError(f"`dataset` must lie in the plane, got dimension {X.shape[1]}.")
    angles = np.sort(np.arctan2(X[:, 1], X[:, 0]))
    widest = float(np.max(np.diff(np.append(angles, angles[0] + 2 * np.pi))))
    dead = max(widest - np.pi, 0.0)  # directions at more than a right angle from every sample
    return 0.5 * (1.0 - dead / (2 * np.pi))
