"""The limit of Theorem 1 in closed form, a KKT point by Lemma C.1, and the chance that a neuron dies [phuong2021]."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import BoolArray, FloatArray
from reluflow.certificates.kkt import kkt_certificate
from reluflow.certificates.one_class import OneClassVector
from reluflow.errors import InvalidInputError
from reluflow.geometry.alignment import DEAD, align
from reluflow.geometry.basins import circle_basins
from reluflow.network import Network
from reluflow.network.network import row_norms
from reluflow.papers.phuong2021.paper import EXAMPLE, SETTING
from reluflow.papers.phuong2021.theorems.extremal_directions import BOTH_CLASSES
from reluflow.papers.phuong2021.theorems.sectors import Sign, two_groups
from reluflow.theory.comparison import Comparison, Level, at_most, missing
from reluflow.theory.evidence import Evidence
from reluflow.theory.hypotheses import RELU, assumed, num_neurons
from reluflow.theory.measures import AtLeast, AtMost, Quantities
from reluflow.theory.separability import ORTHOGONALLY_SEPARABLE
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem


@dataclass(frozen=True, eq=False)
class TwoNeuronLimit:
    """W/|W| -> u w_+^T + z w_-^T, a/|a| -> u |w_+| - z |w_-|, for the groups that are not empty.

    Parameters
    ----------
    w_plus, w_minus
        The max-margin vectors of Eqs. (6) and (7), not of unit length, shape (d,).
    u, z
        Shape (num_neurons,), non-negative, never both positive.

    Notes
    -----
    With both groups |u|^2 = 1/(|w_+| (|w_+| + |w_-|)) and |z|^2 = 1/(|w_-| (|w_+| + |w_-|)), whatever the start; with
    one, |u| = 1/|w_+| and z = 0.

    References
    ----------
    Phuong & Lampert (2021), Thm. 1, Eqs. (8) and (9), erratum P7 [phuong2021]; the norms are ours.
    """

    w_plus: FloatArray
    w_minus: FloatArray
    u: FloatArray
    z: FloatArray

    @property
    def W(self) -> FloatArray:
        """Limit of W/|W|, shape (num_neurons, d)."""
        return np.asarray(np.outer(self.u, self.w_plus) + np.outer(self.z, self.w_minus))

    @property
    def a(self) -> FloatArray:
        """Limit of a/|a|, shape (num_neurons,)."""
        return np.asarray(self.u * np.linalg.norm(self.w_plus) - self.z * np.linalg.norm(self.w_minus))

    @property
    def function_weights(self) -> tuple[float, float]:
        """u and z of Corollary 1: f(x)/|theta|^2 -> u s(<w_+, x>) - z s(<w_-, x>)."""
        lengths = np.linalg.norm(self.w_plus), np.linalg.norm(self.w_minus)
        return float(0.5 * lengths[0] * self.u @ self.u), float(0.5 * lengths[1] * self.z @ self.z)

    def function(self, X: ArrayLike) -> FloatArray:
        """Limit of f(x)/|theta|^2, shape (n,)."""
        samples = np.asarray(X, dtype=np.float64)
        first, second = self.function_weights
        return np.asarray(
            first * np.maximum(samples @ self.w_plus, 0.0) - second * np.maximum(samples @ self.w_minus, 0.0)
        )


def class_vectors(evidence: Evidence) -> tuple[OneClassVector, OneClassVector]:
    """w_+ and w_- with their multipliers."""
    vectors = evidence.facts.one_class
    if vectors.positive is None or vectors.negative is None:
        raise InvalidInputError("`dataset` must hold samples of both classes, got one class only.")
    return vectors.positive, vectors.negative


def squared_norms(length_plus: float, length_minus: float) -> tuple[float, float]:
    """|u|^2 and |z|^2 with both groups present.

    >>> u, z = squared_norms(0.4714045208, 0.6139480626)
    >>> round(u, 8), round(z, 8)
    (1.95449882, 1.50071258)
    """
    total = length_plus + length_minus
    return 1.0 / (length_plus * total), 1.0 / (length_minus * total)


def limit_of(network: Network, evidence: Evidence) -> TwoNeuronLimit:
    """The limit of a run whose neurons are sorted as in `network` and share their groups as they do there."""
    plus, minus = class_vectors(evidence)
    code = two_groups(network, evidence.dataset)
    norms = np.sqrt(network.weight) * row_norms(network.w)
    shares = [np.where(code == sign, norms, 0.0) for sign in (1, -1)]
    sizes = [float(np.linalg.norm(share)) for share in shares]
    squares = list(squared_norms(plus.norm, minus.norm))
    if sizes[0] == 0.0:
        squares = [0.0, 1.0 / minus.norm**2]
    elif sizes[1] == 0.0:
        squares = [1.0 / plus.norm**2, 0.0]
    u, z = (
        np.sqrt(square) * share / size if size > 0.0 else share
        for square, share, size in zip(squares, shares, sizes, strict=True)
    )
    return TwoNeuronLimit(plus.w, minus.w, np.asarray(u), np.asarray(z))


def group_square(network: Network, evidence: Evidence, sign: Sign) -> float:
    """|W_+|^2 or |W_-|^2: the squared norms of one group, the scale included."""
    members = two_groups(network, evidence.dataset) == sign
    return float(np.exp(2.0 * network.log_scale) * np.sum((network.weight[:, None] * network.w**2)[members]))


def both_groups_probability(num_neurons: int, alive_positive: float, alive_negative: float) -> float:
    """Chance that neither group is empty, signs being fair coins and draws independent.

    `alive_positive` is the chance that a neuron with a > 0 survives, and likewise for a < 0.

    >>> both_groups_probability(2, 1.0, 1.0)
    0.5
    """
    first, second = 0.5 * alive_positive, 0.5 * alive_negative
    m = num_neurons
    return float(1.0 - (1.0 - first) ** m - (1.0 - second) ** m + (1.0 - first - second) ** m)


NUM_DRAWS = 4000  # of each sign; the standard error of a share is then below 0.008
CONFIDENCE = 1e-6  # chance that the one-sided Hoeffding interval misses


@dataclass(frozen=True, eq=False)
class Fates:
    """The initial directions of neurons of one sign in parts that share an end: how large each is, and if it dies."""

    shares: FloatArray
    is_dead: BoolArray

    @property
    def death(self) -> float:
        """The share of the directions that die."""
        return float(np.sum(self.shares[self.is_dead]))


@dataclass(frozen=True, eq=False)
class Death:
    """What becomes of balanced neurons of uniform direction as the scale vanishes, for a > 0 and for a < 0."""

    of_positive: Fates
    of_negative: Fates
    is_exact: bool

    @property
    def positive(self) -> float:
        """The chance that a neuron with a > 0 dies."""
        return self.of_positive.death

    @property
    def negative(self) -> float:
        """The chance that a neuron with a < 0 dies."""
        return self.of_negative.death

    @property
    def average(self) -> float:
        """The same under a fair sign."""
        return 0.5 * (self.positive + self.negative)


def one_neuron_death(evidence: Evidence) -> Death:
    """Exact arcs in d = 2, else the share of random neurons carried to their end."""
    X, forces = evidence.dataset.X, evidence.loss.label_forces(evidence.dataset.y)
    return exact_death(X, forces) if X.shape[1] == 2 else sampled_death(X, forces)


def exact_death(X: FloatArray, forces: FloatArray) -> Death:
    """Lengths of the dead arcs of the circle."""
    positive, negative = (_fates_of_arcs(X, forces, sign) for sign in (1, -1))
    return Death(positive, negative, is_exact=True)


def _fates_of_arcs(X: FloatArray, forces: FloatArray, sign: int) -> Fates:
    basins = circle_basins(X, forces, sign=sign)
    return Fates(np.array([b.probability for b in basins]), np.array([b.end == "dead" for b in basins], dtype=np.bool_))


def sampled_death(X: FloatArray, forces: FloatArray, *, num_draws: int = NUM_DRAWS) -> Death:
    """Shares of `num_draws` random neurons of each sign that die under frozen forces."""
    w = np.random.default_rng(0).standard_normal((num_draws, X.shape[1]))
    norms = np.linalg.norm(w, axis=1)
    shares = np.full(num_draws, 1.0 / num_draws)
    positive, negative = (Fates(shares, align(X, forces, w, sign * norms).ends == DEAD) for sign in (1.0, -1.0))
    return Death(positive, negative, is_exact=False)


def death_measurement(evidence: Evidence) -> Comparison:
    """A neuron dies with probability at most 1/2, hence all m of them with probability at most 2^-m.

    A sampled share is held against 1/2 with its Hoeffding interval: undecided where 1/2 lies inside.
    """
    death = evidence.recorded(Death)
    m = evidence.network.num_neurons
    width = 0.0 if death.is_exact else float(np.sqrt(-np.log(CONFIDENCE) / (4.0 * NUM_DRAWS)))
    how = "exactly" if death.is_exact else f"+- {width:.2g}"
    words = f"{death.average:.6g} {how}, so all {m} die with probability {death.average**m:.3g} <= {0.5**m:.3g}"
    if death.average <= 0.5 < death.average + width:
        return missing(f"1/2 lies within the interval of the simulation: {words}")
    return at_most(death.average, 0.5, detail=words)


def both_groups_chance(evidence: Evidence) -> float:
    """Chance that neither J_+ nor J_- is empty, from the death chances above."""
    death = evidence.recorded(Death)
    return both_groups_probability(evidence.network.num_neurons, 1.0 - death.positive, 1.0 - death.negative)


def log_dead_bound(evidence: Evidence) -> float:
    """ln of 2^-m."""
    return -evidence.network.num_neurons * float(np.log(2.0))


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


@dataclass(frozen=True, eq=False)
class MarginPoint:
    """The network of Lemma C.1 and its multipliers, shape (n,)."""

    network: Network
    multipliers: FloatArray


def _margin_point(evidence: Evidence) -> MarginPoint:
    return MarginPoint(margin_point(evidence), explicit_multipliers(evidence))


def _margins(evidence: Evidence) -> FloatArray:
    return np.asarray(evidence.dataset.y * evidence.recorded(MarginPoint).network.outputs(evidence.dataset.X))


def _complementary(evidence: Evidence) -> FloatArray:
    return np.asarray(np.abs(evidence.recorded(MarginPoint).multipliers * (_margins(evidence) - 1.0)))


def _stationary(evidence: Evidence) -> Comparison:
    """Largest entry of theta - sum_i lambda_i y_i grad f(x_i), relative to the largest entry of theta."""
    multipliers = evidence.recorded(MarginPoint).multipliers
    network, X = evidence.recorded(MarginPoint).network, evidence.dataset.X
    products = network.pre_activations(X)
    pull = multipliers * evidence.dataset.y
    left_w = network.w - network.a[:, None] * (((products > 0) * pull) @ X)
    left_a = network.a - np.maximum(products, 0.0) @ pull
    size = max(float(np.max(np.abs(network.w))), float(np.max(np.abs(network.a))))
    residual = max(float(np.max(np.abs(left_w))), float(np.max(np.abs(left_a)))) / size
    return at_most(
        residual, EXACT, detail=f"relative residual {residual:.2g}, least multiplier {multipliers.min():.3g}"
    )


def _certified(evidence: Evidence) -> float:
    """Residual of the multipliers a linear program finds by itself."""
    return kkt_certificate(evidence.recorded(MarginPoint).network, evidence.dataset, active_rtol=1e-8).residual


def squared_norm(evidence: Evidence) -> float:
    """|w_+| + |w_-|, that of W."""
    plus, minus = class_vectors(evidence)
    return plus.norm + minus.norm


def _norm(evidence: Evidence) -> Comparison:
    total, expected = float(np.sum(evidence.recorded(MarginPoint).network.w ** 2)), squared_norm(evidence)
    return at_most(
        abs(total / expected - 1.0), EXACT, detail=f"$|W|^2$ = {total:.10g}, $|w_+| + |w_-|$ = {expected:.10g}"
    )


def _length(evidence: Evidence, sign: Sign) -> float:
    plus, minus = class_vectors(evidence)
    return plus.norm if sign == 1 else minus.norm


LEMMA_C_1 = Theorem(
    "phuong2021:lemmaC.1",
    Reference("phuong2021", "Lemma C.1"),
    r"$W = u w_+^\top + z w_-^\top$, $a = |w_+| u - |w_-| z$ with $u, z \ge 0$, $u_j z_j = 0$, $|u|^2 = 1/|w_+|$, "
    r"$|z|^2 = 1/|w_-|$ is a KKT point of $\min|\theta|^2/2$ subject to $y_i f(x_i) \ge 1$, with multipliers "
    r"$\alpha_i/|w_+|$ and $\alpha_i/|w_-|$.",
    hypotheses=(
        RELU,
        BOTH_CLASSES,
        assumed(ORTHOGONALLY_SEPARABLE),
        Hypothesis(
            "two-neurons",
            "at least two neurons, so that $u$ and $z$ can both be non-zero",
            AtLeast(num_neurons, 2, words="{number} neurons"),
        ),
    ),
    conclusions=(
        Conclusion("feasible", r"$y_i f(x_i) \ge 1$", AtLeast(_margins, 1.0, allowance=EXACT), Level.EXACT),
        Conclusion("complementary", r"$\lambda_i (y_i f(x_i) - 1) = 0$", AtMost(_complementary, EXACT), Level.EXACT),
        Conclusion("stationary", r"$\theta = \sum_i \lambda_i y_i \nabla f(x_i)$", _stationary, Level.EXACT),
        Conclusion("certificate", "a linear program finds multipliers as well", AtMost(_certified, 1e-8), Level.EXACT),
        Conclusion("norm", "$|W|^2 = |w_+| + |w_-|$", _norm, Level.EXACT),
    ),
    constants=Quantities(
        {
            "length_plus": partial(_length, sign=1),
            "length_minus": partial(_length, sign=-1),
            "multipliers": explicit_multipliers,
            "squared_norm_of_W": squared_norm,
        }
    ),
    record=_margin_point,
    setting=SETTING,
    example=EXAMPLE,
    erratum=r"P2, P11: Eq. (80) needs $\langle w_-, x_i\rangle > 0$, and Eq. (90) the activation diagonal of $x_i$.",
)
