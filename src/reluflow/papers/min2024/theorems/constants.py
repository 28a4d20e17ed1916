"""The constants of Min et al.'s proof: of the data, of the start, and the times and scales they give [min2024].

The start is W(0) = eps W_0: `network.log_scale` is log eps and the stored `w` is W_0, so that scaling a network moves
eps and leaves W_max and W_min alone. Scales are logarithms, for (28) asks for e^-1600 and less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.network import Network
from reluflow.network.network import row_norms
from reluflow.theory.elsewhere import definition
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.measures import Constants

FIRST_FACTOR = 8.0  # of (28); the printed 4 gives twice what (29) claims (erratum E2)


@dataclass(frozen=True, eq=False)
class DataConstants:
    """What the proofs ask of the samples.

    Parameters
    ----------
    X, y
        Samples (n, d) and labels -1, 1.
    mu
        Smallest cosine of y_i x_i and y_k x_k over all pairs, the diagonal included (Assumption 1: mu > 0).
    smallest_norm, largest_norm
        X_min and X_max.
    """

    X: FloatArray
    y: FloatArray
    mu: float
    smallest_norm: float
    largest_norm: float

    @property
    def n(self) -> int:
        """Number of samples."""
        return int(self.y.size)

    def count(self, sign: int) -> int:
        """n_+ or n_-."""
        return int(np.sum(self.y == sign))

    def members(self, sign: int) -> BoolArray:
        """I_+ or I_- as a mask."""
        return np.asarray(self.y == sign)

    @property
    def classes(self) -> tuple[int, ...]:
        """The signs of the classes present, 1 before -1."""
        return tuple(sign for sign in (1, -1) if self.count(sign))

    def total(self, sign: int) -> FloatArray:
        """x_+ or x_-: the sum (not the mean) of the samples of one class, not multiplied by the label."""
        return np.asarray(self.X[self.y == sign].sum(axis=0))

    @property
    def unit_signed(self) -> FloatArray:
        """y_i x_i / |x_i|, the generators of the cone K, shape (n, d)."""
        return np.asarray(self.y[:, None] * self.X / np.linalg.norm(self.X, axis=1, keepdims=True))

    @property
    def cap(self) -> float:
        """zeta_1*: the largest zeta for which caps {cos(z, x_+-) >= sqrt(1 - zeta)} stay in S_+- (Lemma 8, exact)."""
        smallest = 1.0
        for sign in self.classes:
            length = float(np.linalg.norm(self.total(sign)))
            if length == 0.0:
                return 0.0  # samples that cancel have no common direction
            towards = sign * self.total(sign) / length
            smallest = min(smallest, float(np.min(np.square(self.unit_signed @ towards))))
        return smallest

    def speed(self, sign: int) -> float:
        """sqrt(mu) n_+- X_min, Lemma 11's lower bound on |x_+-|."""
        return math.sqrt(self.mu) * self.count(sign) * self.smallest_norm


@dataclass(frozen=True)
class ProofConstants:
    """What (26) to (30) make of the data and the start.

    Parameters
    ----------
    zeta_1, zeta_2, xi, kappa
        Lemma 8, (26), Lemma 9 (exactly mu^2) and min(zeta_1, zeta_2, xi); the paper prints a maximum (erratum E1).
    log_largest_start, log_smallest_start
        log W_max and log W_min.
    log_scale
        log eps.
    log_first, log_second
        The two terms of (28), with the factor 8 of erratum E2 in the first.
    horizon
        T of Lemma 3; not positive where sqrt(m) eps >= 1.
    t_1, t_1_harmonic, t_1_sharp
        (30), the travel time of the longest path, and the bound by separation of variables.
    rate
        alpha_rate = (mu X_min)^2 / (32 X_max).
    """

    zeta_1: float
    zeta_2: float
    xi: float
    kappa: float
    log_largest_start: float
    log_smallest_start: float
    log_scale: float
    log_first: float
    log_second: float
    horizon: float
    t_1: float
    t_1_harmonic: float
    t_1_sharp: float
    rate: float

    @property
    def zeta(self) -> float:
        """min(zeta_1, zeta_2)."""
        return min(self.zeta_1, self.zeta_2)

    @property
    def edge_cosine(self) -> float:
        """sqrt(1 - zeta): no neuron of the other sign comes closer to an aggregate."""
        return math.sqrt(1.0 - self.zeta)

    @property
    def exponential_rate(self) -> float:
        """Four times alpha_rate, which the exponential loss allows."""
        return 4.0 * self.rate

    @property
    def log_bound(self) -> float:
        """log of the largest eps that (28) allows."""
        return min(self.log_first, self.log_second)


@computed_once
def data_constants(evidence: Evidence) -> DataConstants:
    """mu, X_min, X_max and the classes, computed once per evidence."""
    facts = evidence.facts
    return DataConstants(
        X=evidence.dataset.X,
        y=evidence.dataset.y,
        mu=facts.pairs.mu,
        smallest_norm=float(np.min(facts.norms)),
        largest_norm=float(np.max(facts.norms)),
    )


@computed_once
def proof_constants(evidence: Evidence) -> ProofConstants:
    """All constants of the alignment proof; needs Assumption 1 (mu > 0) to be finite.

    References
    ----------
    Min et al. (2024), Eqs. (26), (28), (30) with errata E1, E2 [min2024].
    """
    data, m = data_constants(evidence), evidence.network.num_neurons
    smallest, largest = start_norms(evidence)
    xi, zeta_1 = data.mu**2, data.cap
    largest_cosine = max(0.0, *(starting_cosine(evidence, sign) for sign in (1, -1)))
    zeta_2 = max(0.0, 1.0 - largest_cosine**2)
    kappa = min(zeta_1, zeta_2, xi)
    unit = kappa * math.sqrt(max(data.mu, 0.0)) * data.smallest_norm  # every alignment time is a number over this
    per_unit = math.inf if unit == 0.0 else 1.0 / unit
    log_first = (math.log(unit) if unit > 0 else -math.inf) - math.log(
        FIRST_FACTOR * math.sqrt(m) * data.n * data.largest_norm**2 * largest**2
    )
    t_1 = 16.0 * math.log(data.n) * per_unit if data.n > 1 else 4.0 * longest_path(data) * per_unit
    angle = math.atanh(math.sqrt(1.0 - kappa)) if kappa > 0.0 else 0.0
    steps = longest_path(data)
    return ProofConstants(
        zeta_1=zeta_1,
        zeta_2=zeta_2,
        xi=xi,
        kappa=kappa,
        log_largest_start=math.log(largest),
        log_smallest_start=math.log(smallest),
        log_scale=evidence.network.log_scale,
        log_first=log_first,
        log_second=-0.5 * math.log(m) - 4.0 * data.n * data.largest_norm * t_1,
        horizon=certified_horizon(evidence),
        t_1=t_1,
        t_1_harmonic=4.0 * steps * per_unit,
        t_1_sharp=4.0 * angle * kappa * steps * per_unit if unit > 0.0 else math.inf,
        rate=(data.mu * data.smallest_norm) ** 2 / (32.0 * data.largest_norm),
    )


EQ_26 = definition(
    "min2024:eq26", "Eq. (26)", proof_constants, r"$\zeta_2$, and with it $\zeta$, $\xi$ and $\kappa$ (erratum E1)"
)


def start_norms(evidence: Evidence) -> tuple[float, float]:
    """W_min and W_max of the start."""
    return norms_of(evidence.network)


def norms_of(network: Network) -> tuple[float, float]:
    """W_min over the neurons that are not zero, and W_max."""
    norms = row_norms(network.w)
    tiny = float(np.finfo(float).tiny)
    return float(np.min(norms, where=norms > 0, initial=np.inf)), max(float(np.max(norms)), tiny)


REMARK_3 = definition(
    "min2024:remark3", "Remark 3", start_norms, r"the bounds carry $W_{\max}$ and $W_{\min}$ of the unscaled start"
)


def starting_cosine(evidence: Evidence, sign: int) -> float:
    """Largest cosine of a neuron with output sign `sign` and the aggregate of the *other* class; -1 where void."""
    data, network = data_constants(evidence), evidence.network
    chosen = (np.sign(network.a) == sign) & np.any(network.w != 0.0, axis=1)
    other = data.total(-sign)
    if not np.any(other) or not np.any(chosen):
        return -1.0
    w = network.w[chosen]
    return float(np.max(w @ other / (np.linalg.norm(w, axis=1) * np.linalg.norm(other))))


def certified_horizon(evidence: Evidence) -> float:
    """T of Lemma 3."""
    return horizon_of(evidence.network, data_constants(evidence))


def horizon_of(network: Network, data: DataConstants) -> float:
    """T = log(1/(sqrt(m) eps)) / (4 n X_max) of a network that starts at scale eps."""
    return -(0.5 * math.log(network.num_neurons) + network.log_scale) / (4.0 * data.n * data.largest_norm)


def log_small_scale(evidence: Evidence) -> float:
    """log of 1/(4 sqrt(m) X_max W_max^2), the largest eps of Lemmas 1 and 3; also below 1/sqrt(m), so that T > 0."""
    data, m = data_constants(evidence), evidence.network.num_neurons
    largest = start_norms(evidence)[1]
    return -math.log(4.0 * math.sqrt(m) * data.largest_norm * largest**2)


def log_bound(evidence: Evidence) -> float:
    """log of the largest eps that (28) allows."""
    return proof_constants(evidence).log_bound


def least_cosine(evidence: Evidence) -> float:
    """mu of Assumption 1."""
    return data_constants(evidence).mu


def geometry_constants(evidence: Evidence) -> Constants:
    """What the lemmas on cones are stated with."""
    data = data_constants(evidence)
    return {
        "mu": data.mu,
        "zeta_1": data.cap,
        "xi": proof_constants(evidence).xi,
        "X_min": data.smallest_norm,
        "X_max": data.largest_norm,
    }


def alignment_constants(evidence: Evidence) -> Constants:
    """What the alignment proof is stated with."""
    constants = proof_constants(evidence)
    return {
        "mu": data_constants(evidence).mu,
        "zeta_1": constants.zeta_1,
        "zeta_2": constants.zeta_2,
        "xi": constants.xi,
        "kappa": constants.kappa,
        "log_scale": constants.log_scale,
        "log_scale_bound": constants.log_bound,
        "T": constants.horizon,
        "t_1": constants.t_1,
        "t_1_sharp": constants.t_1_sharp,
        "alpha_rate": constants.rate,
    }


def alignment_and_rate_constants(evidence: Evidence) -> Constants:
    """The same with the rate that the exponential loss allows."""
    return {
        **alignment_constants(evidence),
        "alpha_rate_exponential": proof_constants(evidence).exponential_rate,
    }


def harmonic(k: int) -> float:
    """H_k = 1 + 1/2 + ... + 1/k.

    >>> harmonic(0), harmonic(2)
    (0.0, 1.5)
    """
    return float(sum(1.0 / i for i in range(1, k + 1)))


def path_length(own: int, other: int) -> float:
    """Largest sum of 1/(k_+ + k_-) over the valid paths of a neuron, by the formula for the maximal path.

    The path is (0, other), ..., (0, 1), (1, 1), (1, 0), ..., (own, 0); a neuron without own samples only loses.

    >>> path_length(2, 2)
    3.0
    """
    if own == 0:
        return harmonic(other)
    return harmonic(other) + (0.5 if other else 0.0) + harmonic(own - 1)


def longest_path(data: DataConstants) -> float:
    """The larger of the two classes' maximal paths."""
    plus, minus = data.count(1), data.count(-1)
    return max(path_length(plus, minus), path_length(minus, plus))


Path = tuple[tuple[int, int], ...]  # own and other active samples, one pair for each pattern on the way


def travelled(path: Path) -> float:
    """Sum of 1/(k_+ + k_-) over the patterns that a path leaves.

    >>> travelled(((0, 2), (0, 1), (1, 1), (1, 0), (2, 0)))
    3.0
    """
    return float(sum(1.0 / (own + other) for own, other in path[:-1]))


def longest_path_by_search(own: int, other: int) -> Path:
    """A longest path by dynamic programming over every valid path, however it jumps.

    A path gains own samples, loses others, never meets (0, 0) before its end, and ends in (own, 0); a neuron with
    nothing of its own may also end in (0, 0), where it is dead.

    References
    ----------
    Min et al. (2024), App. C.2 with erratum E6 (both inequalities of condition 2 are printed reversed) [min2024].
    """
    best = np.full((own + 1, other + 1), -np.inf)
    after: dict[tuple[int, int], tuple[int, int]] = {}
    for k_own in range(own, -1, -1):
        for k_other in range(other + 1):
            if k_other == 0 and k_own in (own, 0):
                best[k_own, k_other] = 0.0
                continue
            onward = best[k_own:, : k_other + 1].copy()
            onward[0, k_other] = -np.inf
            best[k_own, k_other] = 1.0 / (k_own + k_other) + float(np.max(onward))
            ahead = np.unravel_index(np.argmax(onward), onward.shape)
            after[k_own, k_other] = (k_own + int(ahead[0]), int(ahead[1]))
    start = np.unravel_index(np.argmax(best), best.shape)
    path = [(int(start[0]), int(start[1]))]
    while path[-1] in after:
        path.append(after[path[-1]])
    return tuple(path)
