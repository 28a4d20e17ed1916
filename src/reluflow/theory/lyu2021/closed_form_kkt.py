"""Datasets with KKT directions in closed form: Theorem H.2, Lemma H.3, Appendix I.1 [lyu2021]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.kkt import normalized_margin
from reluflow.data.published.lyu2021 import symmetric_angle
from reluflow.endings.limit import unit_norm
from reluflow.errors import InvalidInputError
from reluflow.network.network import Network, row_norms
from reluflow.theory.comparison import Comparison, Values, all_of, at_least, at_most, equals, fails, judgement, require
from reluflow.theory.evidence import Evidence, drawn
from reluflow.theory.lyu2021.limits import best_network, settled_direction
from reluflow.theory.lyu2021.non_symmetric_limit import side_of

_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class ClosedFormDirection:
    """The three-neuron KKT direction on (1, cot b), (1, 0), (1, -cot b) and their negatives, at smallest margin 1.

    Parameters
    ----------
    network
        a_1 = a_2 = (2(1 + leak) cos b)^(-1/2), a_3 = -(1 + leak)^(-1/2); w_1, w_2 at angles b and -b, w_3 = (a_3, 0).
    multipliers
        lambda for the order (1, cot b), (1, 0), (1, -cot b), then the negatives.
    slope
        h at the two zero pre-activations w_1.x_3 and w_2.x_1.
    margin
        (1 + leak) cos b / (2(1 + cos b)).
    """

    network: Network
    multipliers: FloatArray
    slope: float
    margin: float

    def residual(self, X: FloatArray) -> float:
        """Largest entry of w_k - a_k sum lambda y h x and of a_k - sum lambda y phi, with the stated multipliers."""
        y = np.repeat([1.0, -1.0], 3)
        products = self.network.w @ X.T
        slopes = np.where(products > 0.0, 1.0, self.network.leak)
        for neuron, sample in ((0, 2), (1, 0)):
            slopes[neuron, sample] = self.slope
        pull = self.multipliers * y
        left_w = self.network.w - self.network.a[:, None] * ((slopes * pull) @ X)
        left_a = self.network.a - (slopes * products) @ pull
        return float(max(np.max(np.abs(left_w)), np.max(np.abs(left_a))))


def closed_form_direction(leak: float, cosine: float | None = None) -> ClosedFormDirection:
    """The KKT direction of I.1.1 for any cos b from the paper's value c* up to 1.

    lambda_1 = lambda_3 = (1 - leak c)/(2c(1 - leak^2)), lambda_5 = 1 - 2 leak lambda_1, and the slope is
    (cos 2b - leak c + 2 leak^2 sin^2 b)/(1 - leak c), which is the leak itself at c*.

    Parameters
    ----------
    leak
        In [0, 1).
    cosine
        c = cos b; by default c*.

    References
    ----------
    Lyu et al. (2021), App. I.1.1 [lyu2021], whose equation for b has the spurious factor 1 - leak; the family beyond
    the paper's angle is derived from the same equations.

    Examples
    --------
    >>> round(closed_form_direction(0.5).margin, 6)
    0.356107
    """
    smallest, _ = symmetric_angle(leak)
    c = smallest if cosine is None else float(cosine)
    if not 0.0 < c < 1.0:
        raise InvalidInputError(f"`cosine` must lie in (0, 1), got {c:g}.")
    s = float(np.sqrt(1.0 - c * c))
    a_1, a_3 = (2.0 * (1.0 + leak) * c) ** -0.5, -((1.0 + leak) ** -0.5)
    first = (1.0 - leak * c) / (2.0 * c * (1.0 - leak**2))
    network = Network([[a_1 * c, a_1 * s], [a_1 * c, -a_1 * s], [a_3, 0.0]], [a_1, a_1, a_3], leak=leak)
    multipliers = np.array([first, 0.0, first, 0.0, 1.0 - 2.0 * leak * first, 0.0])
    slope = (2.0 * c * c - 1.0 - leak * c + 2.0 * leak**2 * s * s) / (1.0 - leak * c)
    return ClosedFormDirection(network, multipliers, slope, (1.0 + leak) * c / (2.0 * (1.0 + c)))


def cosine_of(X: FloatArray, y: FloatArray) -> float | None:
    """cos b where the samples are the six points of I.1.1 in the order stated there, None otherwise."""
    if X.shape != (6, 2) or not np.array_equal(y, np.repeat([1.0, -1.0], 3)):
        return None
    cotangent = float(X[0, 1])
    positive = np.array([[1.0, cotangent], [1.0, 0.0], [1.0, -cotangent]])
    if cotangent <= 0.0 or np.max(np.abs(X - np.vstack([positive, -positive]))) > _ROUNDING:
        return None
    return float(cotangent / np.hypot(1.0, cotangent))


def _six_points(evidence: Evidence) -> Comparison:
    cosine = _cosine(evidence)
    if cosine is None:
        return fails("the samples are not (1, cot b), (1, 0), (1, -cot b) and their negatives")
    if not 0.0 <= evidence.leak < 1.0:
        return fails("the leak is 1")
    smallest, _ = symmetric_angle(evidence.leak)
    margin = cosine - smallest
    return judgement(margin >= -_ROUNDING, margin, f"cos b = {cosine:.9g}, c* = {smallest:.9g}")


def _cosine(evidence: Evidence) -> float | None:
    return cosine_of(evidence.dataset.X, evidence.dataset.y)


def _direction(evidence: Evidence) -> ClosedFormDirection:
    return evidence.witness("direction", lambda: closed_form_direction(evidence.leak, _cosine(evidence)))


def _margin_formula(evidence: Evidence) -> Comparison:
    direction = _direction(evidence)
    return equals(normalized_margin(direction.network, evidence.dataset), direction.margin, atol=1e-9)


def _suboptimal(evidence: Evidence) -> Comparison:
    """The best margin, (1 + leak)/4, recomputed, over the direction's own."""
    best = best_network(evidence)
    if abs(best.upper - 0.25 * (1.0 + evidence.leak)) > 1e-7:
        return equals(best.upper, 0.25 * (1.0 + evidence.leak), atol=1e-7)
    ratio = best.margin / normalized_margin(_direction(evidence).network, evidence.dataset)
    return at_least(ratio, 1.0 + 1e-9, detail=f"best margin {best.margin:.7g}, {ratio:.7g} times this one")


def _nonlinear(evidence: Evidence) -> float:
    """Largest |f(u) + f(-u)| over unit vectors, relative to the smallest margin; a linear function has 0."""
    angles = np.linspace(0.0, np.pi, 181)
    units = np.column_stack([np.cos(angles), np.sin(angles)])
    network = _direction(evidence).network
    return float(np.max(np.abs(network.outputs(units) + network.outputs(-units))))


@dataclass(frozen=True)
class MiddlePoints:
    """eps, eps' and c of I.1.2, and the two sides of the condition for S^+."""

    nearest: float
    farthest: float
    offset: float
    have: float
    need: float

    @property
    def slack(self) -> float:
        """By how much the condition holds."""
        return self.have - self.need


def middle_points(X: FloatArray, y: FloatArray, leak: float) -> MiddlePoints | None:
    """The numbers of I.1.2 where the samples are (x, 1, c), (x, -1, c) with label 1 and (-x, 0, c) with label -1."""
    if X.shape[1] != 3 or np.max(np.abs(X[:, 2] - X[0, 2])) > _ROUNDING or not np.any(y < 0) or not np.any(y > 0):
        return None
    ups, downs, offset = X[y > 0], X[y < 0], float(X[0, 2])
    if np.max(np.abs(np.abs(ups[:, 1]) - 1.0)) > _ROUNDING or np.max(np.abs(downs[:, 1])) > _ROUNDING:
        return None
    nearest, farthest = float(ups[:, 0].min()), float(-downs[:, 0].max())
    at_nearest = ups[np.abs(ups[:, 0] - nearest) <= _ROUNDING, 1]
    if nearest <= 0.0 or farthest <= 0.0 or set(np.sign(at_nearest)) != {-1.0, 1.0}:
        return None
    return MiddlePoints(nearest, farthest, offset, leak * nearest * farthest, nearest**2 + (1.0 + leak) * offset**2)


def _points(evidence: Evidence) -> MiddlePoints | None:
    return middle_points(evidence.dataset.X, evidence.dataset.y, evidence.leak)


def _middle(evidence: Evidence) -> Comparison:
    points = _points(evidence)
    if points is None:
        return fails("the samples are not (x, +-1, c) against (-x, 0, c)")
    words = f"leak eps eps' = {points.have:.6g} against eps^2 + (1 + leak) c^2 = {points.need:.6g}"
    return judgement(points.slack >= 0.0, points.slack, words)


def _best_neuron(evidence: Evidence) -> Comparison:
    """w^+, gamma^+ and S^+ as computed from the samples against (eps, 0, c)."""
    points, side = require(_points(evidence), "the samples are not those of I.1.2"), side_of(evidence, 1)

    stated = np.array([points.nearest, 0.0, points.offset])
    length, X = float(np.linalg.norm(stated)), evidence.dataset.X
    expected = np.flatnonzero((evidence.dataset.y > 0) & (np.abs(X[:, 0] - points.nearest) <= _ROUNDING))
    w = evidence.witness("w", lambda: side.w)
    return all_of(
        (
            (float(np.linalg.norm(w - stated / length)) <= 1e-9, "w^+ is not (eps, 0, c)/sqrt(eps^2 + c^2)"),
            (abs(side.margin - length) <= 1e-9 * length, "gamma^+ is not sqrt(eps^2 + c^2)"),
            (set(expected.tolist()) <= set(side.closest.tolist()), "S^+ misses a point (eps, +-1, c)"),
        ),
        detail=f"w^+ = (eps, 0, c)/{length:.6g}, S^+ holds the two nearest positive points",
    )


def _single_neuron(evidence: Evidence) -> Network:
    w = evidence.witness("w", lambda: side_of(evidence, 1).w)
    return Network(w[None], [1.0], leak=evidence.leak)


def _middle_is_suboptimal(evidence: Evidence) -> Comparison:
    best = best_network(evidence)
    half = 0.5 * side_of(evidence, 1).margin
    words = f"best margin {best.margin:.6g}, gamma^+/2 = {half:.6g}, ratio {half / best.margin:.4g}"
    return at_least(best.margin / half, 1.0 + 1e-9, detail=words)


def _smallest_cosine(evidence: Evidence) -> float:
    return symmetric_angle(evidence.leak)[0]


_NUM_STARTS = 12


@dataclass(frozen=True, eq=False)
class ClassVectors:
    """w_Q^+ and w_Q^-: the shortest w with <w, x_i> >= 1 on the samples of one class; zero for a class without any."""

    positive: FloatArray
    negative: FloatArray

    @property
    def margin(self) -> float:
        """1/(2(|w_Q^+| + |w_Q^-|)), the margin of every KKT direction (erratum E12: the 2)."""
        return 0.5 / float(np.linalg.norm(self.positive) + np.linalg.norm(self.negative))

    @property
    def squared_norm(self) -> float:
        """That of a KKT direction at smallest margin 1."""
        return 1.0 / self.margin

    def outputs(self, X: FloatArray) -> FloatArray:
        """phi(<w_Q^+, x>) - phi(<w_Q^-, x>), the function at smallest margin 1 (erratum E12: the minus)."""
        return np.asarray(np.maximum(X @ self.positive, 0.0) - np.maximum(X @ self.negative, 0.0))


def class_vectors(evidence: Evidence) -> ClassVectors:
    """The solutions of problem (Q) for both classes."""
    found, zero = evidence.facts.one_class, np.zeros(evidence.dataset.d)
    plus, minus = found.positive, found.negative
    return ClassVectors(zero if plus is None else plus.w, zero if minus is None else minus.w)


@drawn("directions")
def kkt_directions(evidence: Evidence) -> list[Network]:
    """KKT directions of unit norm: one with random shares of each sign, and those that random starts lead to."""
    rng, dataset = np.random.default_rng(0), evidence.dataset
    vectors = class_vectors(evidence)
    shares = [rng.dirichlet(np.ones(3)) for _ in range(2)]
    rows, outputs = [], []
    for sign, w, parts in ((1.0, vectors.positive, shares[0]), (-1.0, vectors.negative, shares[1])):
        length = float(np.linalg.norm(w))
        if length > 0.0:
            a = np.sqrt(parts * length)
            rows.append(a[:, None] * (w / length))
            outputs.append(sign * a)
    found = [unit_norm(Network(np.vstack(rows), np.concatenate(outputs)))]
    for _ in range(_NUM_STARTS):
        w = rng.standard_normal((6, dataset.d))
        signs = np.where(np.arange(6) < 3, 1.0, -1.0)
        network = Network(w, signs * np.linalg.norm(w, axis=1))
        if (settled := settled_direction(network, dataset)) is not None:
            found.append(settled)
    return found


def _same_function(evidence: Evidence) -> Values:
    """Difference of outputs on random points from margin * (phi(<w_Q^+, x>) - phi(<w_Q^-, x>))."""
    vectors, points = class_vectors(evidence), np.random.default_rng(1).standard_normal((200, evidence.dataset.d))
    expected = vectors.margin * vectors.outputs(points)
    return [np.max(np.abs(n.outputs(points) - expected)) for n in kkt_directions(evidence)]


def _global_optimum(evidence: Evidence) -> Comparison:
    """The formula's margin against the largest margin of any network, found without it."""
    best = best_network(evidence)
    require(best.gap <= 1e-6, f"the best margin is known to a relative {best.gap:.2g} only")
    margins = [normalized_margin(n, evidence.dataset) for n in kkt_directions(evidence)]
    lowest = min(margins, key=lambda margin: -abs(margin - best.upper))
    words = f"formula {class_vectors(evidence).margin:.9g}, KKT directions {lowest:.9g}, best of all {best.upper:.9g}"
    worst = max(abs(class_vectors(evidence).margin - best.upper), abs(lowest - best.upper))
    return at_most(worst, 1e-7 * best.upper, detail=words)


def _scaled_neurons(evidence: Evidence) -> Comparison:
    """Largest |(sum of a_j^2 over its sign) w_k/|a_k| - w_Q| over neurons, relative to |w_Q|, at smallest margin 1."""
    vectors, worst, count = class_vectors(evidence), 0.0, 0
    for network in kkt_directions(evidence):
        smallest = normalized_margin(network, evidence.dataset)
        for sign, target in ((1.0, vectors.positive), (-1.0, vectors.negative)):
            rows = (np.sign(network.a) == sign) & (np.abs(network.a) > 1e-6)
            if not np.any(rows):
                continue
            total = float(np.sum(network.a[rows] ** 2)) / smallest
            units = network.w[rows] / np.abs(network.a[rows])[:, None]
            worst = max(worst, float(np.max(np.linalg.norm(total * units - target, axis=1)) / np.linalg.norm(target)))
            count += int(np.sum(rows))
    return at_most(worst, 1e-6, detail=f"relative difference {worst:.2g} over {count} neurons")


def _balanced(evidence: Evidence) -> float:
    return max(float(np.max(np.abs(np.abs(n.a) - row_norms(n.w)))) for n in kkt_directions(evidence))
