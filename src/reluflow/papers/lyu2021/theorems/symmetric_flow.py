"""Symmetric data: the linearised flow of phase I, the embedding of two neurons into m, the times of phases I and II."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError
from reluflow.network import Network
from reluflow.papers.lyu2021.theorems.unit_ball import UnitBall, m_norm, neuron_rows, unit_ball
from reluflow.theory.comparison import Comparison, fails, judgement
from reluflow.theory.elsewhere import definition
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.measures import Constants
from reluflow.theory.theorem import Hypothesis


@dataclass(frozen=True, eq=False)
class SymmetricFlow:
    """What phases I and II are made of, for one draw, in unit-ball units.

    Parameters
    ----------
    ball
        The samples in the unit ball.
    mean_direction
        mu-bar, unit vector along the mean of y_i x_i, shape (d,).
    growth
        lambda_0 = ((1 + leak)/4) |mu|, the growth rate (erratum E1).
    shape
        Rows (w-bar_k, a-bar_k) of the draw divided by sqrt(m) |theta-bar_0|_M, shape (m, d + 1).
    log_size
        ln(sqrt(m) sigma_init |theta-bar_0|_M).
    embedding
        b-bar_k = (<w-bar_k, mu-bar> + a-bar_k) / (2 sqrt(m) |theta-bar_0|_M), shape (m,).
    """

    ball: UnitBall
    mean_direction: FloatArray
    growth: float
    shape: FloatArray
    log_size: float
    embedding: FloatArray

    @classmethod
    def of(cls, evidence: Evidence) -> SymmetricFlow:
        """The quantities of a problem."""
        ball = unit_ball(evidence)
        mu = ball.y @ ball.X / len(ball.y)
        length = float(np.linalg.norm(mu))
        direction = mu / length if length > 0.0 else mu
        rows = neuron_rows(evidence.network)
        root_width = np.sqrt(len(rows))
        shape = rows / (root_width * m_norm(rows))
        return cls(
            ball=ball,
            mean_direction=direction,
            growth=0.25 * (1.0 + evidence.leak) * length,
            shape=shape,
            log_size=float(np.log(root_width)) + ball.log_norm(evidence.network),
            embedding=0.5 * (shape[:, :-1] @ direction + shape[:, -1]),
        )

    @property
    def log_radius(self) -> float:
        """ln r for the smallest r that Lemma 5.2 allows at this scale: sigma_init = r^3 / (sqrt(m) |theta-bar_0|_M)."""
        return self.log_size / 3.0

    @property
    def radius(self) -> float:
        """That r."""
        return float(np.exp(self.log_radius))

    def phase_one_time(self, log_r: float) -> float:
        """T1(r) = (1/lambda_0) ln(r / (sqrt(m) sigma_init |theta-bar_0|_M)), in unit-ball time."""
        return (log_r - self.log_size) / self.growth

    def phase_two_time(self, log_r: float) -> float:
        """T2(r) = (1/lambda_0) ln(1/r), in unit-ball time."""
        return -log_r / self.growth

    @property
    def joint_time(self) -> float:
        """T12 = T1(r) + T2(r), whatever r."""
        return -self.log_size / self.growth

    @property
    def aligned(self) -> FloatArray:
        """pi_b(theta-hat) for theta-hat = (b_+ mu-bar, b_- mu-bar, b_+, b_-): rows b_k (mu-bar, 1) (erratum E10)."""
        return np.asarray(self.embedding[:, None] * np.append(self.mean_direction, 1.0))

    @property
    def aligned_pair(self) -> FloatArray:
        """theta-hat itself, rows b_+ (mu-bar, 1) and b_- (mu-bar, 1)."""
        return np.asarray(np.array(embedding_norms(self.embedding))[:, None] * np.append(self.mean_direction, 1.0))


symmetric_flow = computed_once(SymmetricFlow.of)


def smallest_radius(evidence: Evidence) -> float:
    """The smallest r that Lemma 5.2 allows."""
    return symmetric_flow(evidence).radius


def embedding_vector(evidence: Evidence) -> FloatArray:
    """b-bar."""
    return symmetric_flow(evidence).embedding


def log_size(evidence: Evidence) -> float:
    """ln(sqrt(m) |theta_0|_M)."""
    return symmetric_flow(evidence).log_size


def flow_constants(evidence: Evidence) -> Constants:
    """The growth rate, the radius of the samples and the size of the start."""
    flow = symmetric_flow(evidence)
    return {"lambda_0": flow.growth, "radius": flow.ball.radius, "log_size": flow.log_size}


def lambda_0(evidence: Evidence) -> float:
    """The growth rate, in unit-ball units."""
    return symmetric_flow(evidence).growth


def relative_linear_flow(rows: FloatArray, direction: FloatArray, angle: float) -> FloatArray:
    """e^(-lambda_0 t) exp(t M) (w, a) for M = [[0, mu~], [mu~^T, 0]]: a boost along mu-bar without its growth.

    `direction` is mu-bar, `angle` is lambda_0 t, of any size. Lyu et al. (2021), Eq. (3) with erratum E1 [lyu2021].
    """
    along, a, decay = rows[:, :-1] @ direction, rows[:, -1], np.exp(-angle)
    sinh, cosh, cosh_less_one = 0.5 * (1.0 - decay**2), 0.5 * (1.0 + decay**2), 0.5 * (1.0 - decay) ** 2
    w = decay * rows[:, :-1] + np.outer(cosh_less_one * along + sinh * a, direction)
    return np.column_stack([w, sinh * along + cosh * a])


def is_good_embedding(b: ArrayLike) -> bool:
    """Whether no entry is zero and both signs occur: a good embedding vector, Lyu et al. (2021), Sec. 5.2 [lyu2021].

    >>> is_good_embedding([1.0, -0.5, 2.0]), is_good_embedding([1.0, 0.5])
    (True, False)
    """
    values = np.asarray(b, dtype=np.float64)
    return bool(np.all(values != 0.0) and np.any(values > 0.0) and np.any(values < 0.0))


def embedding_norms(b: ArrayLike) -> tuple[float, float]:
    """b_+ = sqrt(sum of b_j^2 over b_j > 0) and b_- = -sqrt(sum over b_j < 0)."""
    values = np.asarray(b, dtype=np.float64)
    return float(np.linalg.norm(values[values > 0.0])), -float(np.linalg.norm(values[values < 0.0]))


def embed(pair: ArrayLike, b: ArrayLike) -> FloatArray:
    """pi_b: neuron k is (b_k/b_+) times the first neuron where b_k > 0 and (b_k/b_-) times the second where b_k < 0.

    Parameters
    ----------
    pair
        Rows (w_1, a_1) and (w_2, a_2), shape (2, d + 1).
    b
        Shape (m,), with an entry of the sign of each neuron that is not zero; an entry 0 gives a zero neuron.

    Returns
    -------
    FloatArray
        Rows of the m neurons, shape (m, d + 1). The function and the norm are kept.

    References
    ----------
    Lyu et al. (2021), Sec. 5.2 [lyu2021].
    """
    values, rows = np.asarray(b, dtype=np.float64), np.asarray(pair, dtype=np.float64)
    if rows.ndim != 2 or len(rows) != 2:
        raise InvalidInputError(f"`pair` must hold two neurons as rows (w, a), got shape {rows.shape}.")
    embedded = np.zeros((len(values), rows.shape[1]))
    for row, size, word in zip(rows, embedding_norms(values), ("positive", "negative"), strict=True):
        if size == 0.0 and np.any(row):
            raise InvalidInputError(f"`b` must have a {word} entry, got none, to embed a neuron that is not zero.")
        members = values * size > 0.0
        embedded[members] = np.outer(values[members] / size, row) if size else 0.0
    return embedded


PI_B = definition(
    "lyu2021:embedding",
    r"Sec. 5.2, embedding $\pi_b$",
    embed,
    "two neurons spread over $m$ in the ratios $b_k/b_+$ and $b_k/b_-$",
)


def network_of(rows: FloatArray, leak: float, *, log_scale: float = 0.0) -> Network:
    """The network whose neurons are these rows (w, a) times exp(log_scale)."""
    return Network(rows[:, :-1], rows[:, -1], leak=leak, log_scale=log_scale)


def own_network(flow: SymmetricFlow, rows: FloatArray, leak: float, *, log_scale: float = 0.0) -> Network:
    """The network on the given samples whose unit-ball form has these rows times exp(log_scale)."""
    return network_of(rows, leak, log_scale=log_scale - 0.5 * float(np.log(flow.ball.radius)))


def _has_good_embedding(evidence: Evidence) -> Comparison:
    """The event of probability 1 - 2^-(m-1): b-bar has no zero entry and both signs."""
    b = symmetric_flow(evidence).embedding
    margin = float(np.min(np.abs(b)))
    counts = f"{int(np.sum(b > 0))} positive and {int(np.sum(b < 0))} negative entries, smallest size {margin:.3g}"
    return judgement(is_good_embedding(b), margin if is_good_embedding(b) else -margin, counts)


GOOD_EMBEDDING = Hypothesis("good-embedding", r"$\bar{b}$ has entries of both signs and none is 0", _has_good_embedding)

GOOD_EMBEDDING_VECTOR = definition(
    "lyu2021:good-embedding",
    "Sec. 5.2, good embedding vector",
    is_good_embedding,
    "no entry is zero and both signs occur",
)


def small_enough(evidence: Evidence) -> Comparison:
    """sigma_init <= r^3 / (sqrt(m) |theta-bar_0|_M) for some r <= sqrt(lambda_0)/2, as Lemma 5.2 asks (erratum E9)."""
    flow = symmetric_flow(evidence)
    if flow.growth == 0.0:
        return fails(r"$\mu = 0$, so nothing grows")
    margin = 0.5 * float(np.log(flow.growth)) - float(np.log(2.0)) - flow.log_radius
    words = rf"$\ln r$ = {flow.log_radius:.6g} against $\ln(\sqrt{{\lambda_0}}/2)$ = {flow.log_radius + margin:.6g}"
    return judgement(margin >= 0.0, margin, words)


SMALL_SCALE = Hypothesis(
    "small-scale",
    r"$\sigma_{\mathrm{init}} = r^3/(\sqrt{m} |\theta_0|_M)$ with $r \le \sqrt{\lambda_0}/2$, logarithms",
    small_enough,
    is_regime=True,
)


def log_scale_for_radius(evidence: Evidence, fraction: float) -> float:
    """Factor that brings r to `fraction` times sqrt(lambda_0)/2."""
    return log_scale_for_size(evidence, 3.0 * float(np.log(fraction * 0.5 * np.sqrt(symmetric_flow(evidence).growth))))


def log_scale_for_size(evidence: Evidence, log_size: float) -> float:
    """Factor that brings sqrt(m) |theta_0|_M to exp(log_size)."""
    return log_size - symmetric_flow(evidence).log_size
