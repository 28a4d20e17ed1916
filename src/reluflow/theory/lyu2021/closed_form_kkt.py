"""Datasets with KKT directions in closed form: Appendix I.1.1, six symmetric points, and I.1.2 [lyu2021]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.kkt import kkt_certificate, normalized_margin
from reluflow.data.published.lyu2021 import symmetric_angle
from reluflow.errors import InvalidInputError
from reluflow.network.network import Network
from reluflow.theory.condition import Judgement, fails
from reluflow.theory.evidence import Evidence
from reluflow.theory.hypotheses import leaky_activation
from reluflow.theory.lyu2021.limits import best_network
from reluflow.theory.lyu2021.non_symmetric_limit import side_of
from reluflow.theory.measurement import Level, Measurement, all_of, at_least, at_most, equals, missing
from reluflow.theory.stating import conclusion, hypothesis, theorems_of
from reluflow.theory.theorem import Constants, Setting

_ROUNDING = 1e-9
_SETTING = Setting(loss="logistic", leak=None, init="lyu-balanced", width=6, scale="1e-3")


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


@hypothesis("six-points", "the six points of I.1.1 with cos b >= c*")
def _six_points(evidence: Evidence) -> Judgement:
    cosine = cosine_of(evidence.dataset.X, evidence.dataset.y)
    if cosine is None:
        return fails("the samples are not (1, cot b), (1, 0), (1, -cot b) and their negatives")
    if not 0.0 <= evidence.leak < 1.0:
        return fails("the leak is 1")
    smallest, _ = symmetric_angle(evidence.leak)
    margin = cosine - smallest
    return Judgement(margin >= -_ROUNDING, margin, f"cos b = {cosine:.9g}, c* = {smallest:.9g}")


def _direction(evidence: Evidence) -> ClosedFormDirection:
    cosine = cosine_of(evidence.dataset.X, evidence.dataset.y)
    return evidence.witness("direction", lambda: closed_form_direction(evidence.leak, cosine))


@conclusion("stated", "the stated multipliers satisfy the KKT equations", Level.EXACT)
def _stated_multipliers(evidence: Evidence) -> Measurement:
    residual = _direction(evidence).residual(evidence.dataset.X)
    return at_most(
        residual, 1e-8, detail=f"largest residual of the KKT equations {residual:.2g}, b read off the samples"
    )


@conclusion("kkt", "a linear program finds multipliers as well", Level.EXACT)
def _some_multipliers(evidence: Evidence) -> Measurement:
    residual = kkt_certificate(_direction(evidence).network, evidence.dataset).residual
    return at_most(residual, 1e-8, detail=f"smallest residual over all multipliers {residual:.2g}")


@conclusion("margin", "the margin is (1 + leak) c/(2(1 + c))", Level.EXACT)
def _margin_formula(evidence: Evidence) -> Measurement:
    direction = _direction(evidence)
    return equals(normalized_margin(direction.network, evidence.dataset), direction.margin, atol=1e-9)


@conclusion("suboptimal", "the best margin, (1 + leak)/4, is larger")
def _suboptimal(evidence: Evidence) -> Measurement:
    """The best margin, (1 + leak)/4, recomputed, over the direction's own."""
    best = best_network(evidence)
    if abs(best.upper - 0.25 * (1.0 + evidence.leak)) > 1e-7:
        return equals(best.upper, 0.25 * (1.0 + evidence.leak), atol=1e-7)
    ratio = best.margin / normalized_margin(_direction(evidence).network, evidence.dataset)
    return at_least(ratio, 1.0 + 1e-9, detail=f"best margin {best.margin:.7g}, {ratio:.7g} times this one")


@conclusion("nonlinear", "the function is not linear")
def _nonlinear(evidence: Evidence) -> Measurement:
    """Largest |f(u) + f(-u)| over unit vectors, relative to the smallest margin; a linear function has 0."""
    angles = np.linspace(0.0, np.pi, 181)
    units = np.column_stack([np.cos(angles), np.sin(angles)])
    network = _direction(evidence).network
    odd = float(np.max(np.abs(network.outputs(units) + network.outputs(-units))))
    return at_least(odd, 1e-6)


_theorem = theorems_of("lyu2021", setting=_SETTING, example="lyu-symmetric")

APPENDIX_I_1_1 = _theorem(
    "appI.1.1",
    "On (1, cot b), (1, 0), (1, -cot b) and their negatives a three-neuron network is a KKT direction for every "
    "cos b >= c*, nonlinear and of margin (1 + leak) c/(2(1 + c)), below the best, (1 + leak)/4.",
    locator="Appendix I.1.1",
    hypotheses=(_six_points,),
    conclusions=(_stated_multipliers, _some_multipliers, _margin_formula, _suboptimal, _nonlinear),
    constants=lambda e: {
        "c_star": symmetric_angle(e.leak)[0],
        "lambda_1": float(_direction(e).multipliers[0]),
        "lambda_5": float(_direction(e).multipliers[4]),
        "slope": _direction(e).slope,
        "margin": _direction(e).margin,
    },
    departs="The paper's quadratic for b has the spurious root leak = 1; c* is from the other factor.",
)


@dataclass(frozen=True)
class MiddlePoints:
    """eps, eps' and c of I.1.2, and the two sides of the condition for S^+."""

    nearest: float
    farthest: float
    offset: float
    have: float
    need: float


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


@hypothesis("middle", "(x, +-1, c) against (-x, 0, c) with leak eps eps' >= eps^2 + (1 + leak) c^2")
def _middle(evidence: Evidence) -> Judgement:
    points = middle_points(evidence.dataset.X, evidence.dataset.y, evidence.leak)
    if points is None:
        return fails("the samples are not (x, +-1, c) against (-x, 0, c)")
    margin = points.have - points.need
    words = f"leak eps eps' = {points.have:.6g} against eps^2 + (1 + leak) c^2 = {points.need:.6g}"
    return Judgement(margin >= 0.0, margin, words)


@conclusion("neuron", "w^+, gamma^+ and S^+ are as stated", Level.EXACT)
def _best_neuron(evidence: Evidence) -> Measurement:
    """w^+, gamma^+ and S^+ as computed from the samples against (eps, 0, c)."""
    points, side = middle_points(evidence.dataset.X, evidence.dataset.y, evidence.leak), side_of(evidence, 1)
    if points is None:
        return missing("the samples are not those of I.1.2")
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


@conclusion("kkt", "the single neuron is a KKT direction", Level.EXACT)
def _one_neuron_is_kkt(evidence: Evidence) -> Measurement:
    w = evidence.witness("w", lambda: side_of(evidence, 1).w)
    residual = kkt_certificate(Network(w[None], [1.0], leak=evidence.leak), evidence.dataset).residual
    return at_most(residual, 1e-8, detail=f"KKT residual {residual:.2g}")


@conclusion("suboptimal", "some network has a larger margin")
def _middle_is_suboptimal(evidence: Evidence) -> Measurement:
    best = best_network(evidence)
    half = 0.5 * side_of(evidence, 1).margin
    words = f"best margin {best.margin:.6g}, gamma^+/2 = {half:.6g}, ratio {half / best.margin:.4g}"
    return at_least(best.margin / half, 1.0 + 1e-9, detail=words)


def _middle_constants(evidence: Evidence) -> Constants:
    points = middle_points(evidence.dataset.X, evidence.dataset.y, evidence.leak)
    if points is None:
        return {}
    return {"eps": points.nearest, "eps_prime": points.farthest, "c": points.offset, "slack": points.have - points.need}


APPENDIX_I_1_2 = _theorem(
    "appI.1.2",
    "For (x, +-1, c) against (-x, 0, c) with leak eps eps' >= eps^2 + (1 + leak) c^2 the best single neuron is "
    "(eps, 0, c)/sqrt(eps^2 + c^2); it is a KKT direction and suboptimal.",
    locator="Appendix I.1.2",
    hypotheses=(leaky_activation, _middle),
    conclusions=(_best_neuron, _one_neuron_is_kkt, _middle_is_suboptimal),
    constants=_middle_constants,
    example="lyu-middle",
    departs="The paper asks for c < eps and eps/eps' much below the leak; the exact condition is derived.",
)
