"""Datasets with KKT directions in closed form: Appendix I.1 [lyu2021]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.kkt import normalized_margin
from reluflow.certificates.network_margin import NetworkMargin
from reluflow.errors import InvalidInputError
from reluflow.network.network import Network
from reluflow.papers.lyu2021.data import symmetric_angle
from reluflow.papers.lyu2021.paper import EXAMPLE
from reluflow.papers.lyu2021.theorems.limits import best_network, kkt_residuals
from reluflow.papers.lyu2021.theorems.non_symmetric_limit import side_of
from reluflow.papers.lyu2021.theorems.settings import BALANCED_SETTING
from reluflow.theory.comparison import Comparison, Level, all_of, at_least, equals, fails, judgement, require
from reluflow.theory.elsewhere import ours
from reluflow.theory.evidence import Evidence
from reluflow.theory.hypotheses import LEAKY
from reluflow.theory.measures import AtLeast, AtMost, Constants
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem

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


ALG_6 = ours("lyu2021:alg6", "App. I.1.1", closed_form_direction, "KKT directions in closed form")

# Appendix I.1.1 -------------------------------------------------------------------------------------------------------


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
        return fails(r"the samples are not $(1, \cot b)$, $(1, 0)$, $(1, -\cot b)$ and their negatives")
    if not 0.0 <= evidence.leak < 1.0:
        return fails("the leak is 1")
    smallest, _ = symmetric_angle(evidence.leak)
    margin = cosine - smallest
    return judgement(margin >= -_ROUNDING, margin, rf"$\cos b$ = {cosine:.9g}, $c^*$ = {smallest:.9g}")


SIX_POINTS = Hypothesis("six-points", r"the six points of I.1.1 with $\cos b \ge c^*$", _six_points)


def _cosine(evidence: Evidence) -> float | None:
    return cosine_of(evidence.dataset.X, evidence.dataset.y)


@dataclass(frozen=True, eq=False)
class DirectionAndBest:
    """The direction that I.1.1 states, and the best margin of any network."""

    direction: ClosedFormDirection
    best: NetworkMargin


def _closed_form(evidence: Evidence) -> DirectionAndBest:
    return DirectionAndBest(closed_form_direction(evidence.leak, _cosine(evidence)), best_network(evidence))


def _direction(evidence: Evidence) -> ClosedFormDirection:
    return evidence.recorded(DirectionAndBest).direction


def _direction_residual(evidence: Evidence) -> list[float]:
    return kkt_residuals(evidence, [_direction(evidence).network])


def _stated_residual(evidence: Evidence) -> float:
    return _direction(evidence).residual(evidence.dataset.X)


def _margin_formula(evidence: Evidence) -> Comparison:
    direction = _direction(evidence)
    return equals(normalized_margin(direction.network, evidence.dataset), direction.margin, atol=1e-9)


def _suboptimal(evidence: Evidence) -> Comparison:
    """The best margin, (1 + leak)/4, recomputed, over the direction's own."""
    best = evidence.recorded(DirectionAndBest).best
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


def _smallest_cosine(evidence: Evidence) -> float:
    return symmetric_angle(evidence.leak)[0]


def _direction_constants(evidence: Evidence) -> Constants:
    direction = _direction(evidence)
    return {
        "c_star": _smallest_cosine(evidence),
        "lambda_1": float(direction.multipliers[0]),
        "lambda_5": float(direction.multipliers[4]),
        "slope": direction.slope,
        "margin": direction.margin,
    }


APP_I_1_1 = Theorem(
    "lyu2021:appI.1.1",
    Reference("lyu2021", "Appendix I.1.1"),
    r"On $(1, \cot b)$, $(1, 0)$, $(1, -\cot b)$ and their negatives a three-neuron network is a KKT direction for "
    r"every $\cos b \ge c^*$, nonlinear and of margin $(1 + \mathrm{leak}) c/(2(1 + c))$, $c = \cos b$, below the "
    r"best, $(1 + \mathrm{leak})/4$.",
    hypotheses=(SIX_POINTS,),
    conclusions=(
        Conclusion(
            "stated",
            "the stated multipliers satisfy the KKT equations",
            AtMost(
                _stated_residual,
                1e-8,
                words="largest residual of the KKT equations {measured:.2g}, $b$ read off the samples",
            ),
            Level.EXACT,
        ),
        Conclusion(
            "kkt",
            "a linear program finds multipliers as well",
            AtMost(_direction_residual, 1e-8, words="smallest residual over all multipliers {measured:.2g}"),
            Level.EXACT,
        ),
        Conclusion("margin", r"the margin is $(1 + \mathrm{leak}) c/(2(1 + c))$", _margin_formula, Level.EXACT),
        Conclusion("suboptimal", r"the best margin, $(1 + \mathrm{leak})/4$, is larger", _suboptimal),
        Conclusion("nonlinear", "the function is not linear", AtLeast(_nonlinear, 1e-6)),
    ),
    constants=_direction_constants,
    record=_closed_form,
    setting=BALANCED_SETTING,
    example=EXAMPLE,
    departs=r"The paper's quadratic for $b$ has the spurious root $\mathrm{leak} = 1$; $c^*$ is from the other factor.",
)

# Appendix I.1.2 -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MiddlePoints:
    """eps, eps' and c of I.1.2, and the two sides of the condition for S^+."""

    nearest: float
    farthest: float
    offset: float
    attained: float
    required: float

    @property
    def slack(self) -> float:
        """By how much the condition holds."""
        return self.attained - self.required


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


def _point_constants(evidence: Evidence) -> Constants:
    points = _points(evidence)
    if points is None:
        return {}
    return {"eps": points.nearest, "eps_prime": points.farthest, "c": points.offset, "slack": points.slack}


def _middle(evidence: Evidence) -> Comparison:
    points = _points(evidence)
    if points is None:
        return fails(r"the samples are not $(x, \pm 1, c)$ against $(-x, 0, c)$")
    words = (
        rf"$\mathrm{{leak}}\, \varepsilon \varepsilon'$ = {points.attained:.6g} against "
        rf"$\varepsilon^2 + (1 + \mathrm{{leak}}) c^2$ = {points.required:.6g}"
    )
    return judgement(points.slack >= 0.0, points.slack, words)


MIDDLE_POINTS = Hypothesis(
    "middle",
    r"$(x, \pm 1, c)$ against $(-x, 0, c)$ with "
    r"$\mathrm{leak}\, \varepsilon \varepsilon' \ge \varepsilon^2 + (1 + \mathrm{leak}) c^2$",
    _middle,
)


@dataclass(frozen=True, eq=False)
class NeuronAndBest:
    """w^+ of the samples, and the best margin of any network."""

    w: FloatArray
    best: NetworkMargin


def _best_single_neuron(evidence: Evidence) -> NeuronAndBest:
    return NeuronAndBest(side_of(evidence, 1).w, best_network(evidence))


def _best_neuron(evidence: Evidence) -> Comparison:
    """w^+, gamma^+ and S^+ as computed from the samples against (eps, 0, c)."""
    points, side = require(_points(evidence), "the samples are not those of I.1.2"), side_of(evidence, 1)

    stated = np.array([points.nearest, 0.0, points.offset])
    length, X = float(np.linalg.norm(stated)), evidence.dataset.X
    expected = np.flatnonzero((evidence.dataset.y > 0) & (np.abs(X[:, 0] - points.nearest) <= _ROUNDING))
    w = evidence.recorded(NeuronAndBest).w
    return all_of(
        (
            (
                float(np.linalg.norm(w - stated / length)) <= 1e-9,
                r"$w^+$ is not $(\varepsilon, 0, c)/\sqrt{\varepsilon^2 + c^2}$",
            ),
            (abs(side.margin - length) <= 1e-9 * length, r"$\gamma^+$ is not $\sqrt{\varepsilon^2 + c^2}$"),
            (set(expected.tolist()) <= set(side.closest.tolist()), r"$S^+$ misses a point $(\varepsilon, \pm 1, c)$"),
        ),
        detail=rf"$w^+ = (\varepsilon, 0, c)$/{length:.6g}, $S^+$ holds the two nearest positive points",
    )


def _single_neuron(evidence: Evidence) -> Network:
    return Network(evidence.recorded(NeuronAndBest).w[None], [1.0], leak=evidence.leak)


def _single_neuron_residual(evidence: Evidence) -> list[float]:
    return kkt_residuals(evidence, [_single_neuron(evidence)])


def _middle_is_suboptimal(evidence: Evidence) -> Comparison:
    best = evidence.recorded(NeuronAndBest).best
    half = 0.5 * side_of(evidence, 1).margin
    words = rf"best margin {best.margin:.6g}, $\gamma^+/2$ = {half:.6g}, ratio {half / best.margin:.4g}"
    return at_least(best.margin / half, 1.0 + 1e-9, detail=words)


APP_I_1_2 = Theorem(
    "lyu2021:appI.1.2",
    Reference("lyu2021", "Appendix I.1.2"),
    r"For $(x, \pm 1, c)$ against $(-x, 0, c)$ with "
    r"$\mathrm{leak}\, \varepsilon \varepsilon' \ge \varepsilon^2 + (1 + \mathrm{leak}) c^2$ the best single "
    r"neuron is $(\varepsilon, 0, c)/\sqrt{\varepsilon^2 + c^2}$; it is a KKT direction and suboptimal.",
    hypotheses=(LEAKY, MIDDLE_POINTS),
    conclusions=(
        Conclusion("neuron", r"$w^+$, $\gamma^+$ and $S^+$ are as stated", _best_neuron, Level.EXACT),
        Conclusion(
            "kkt",
            "the single neuron is a KKT direction",
            AtMost(_single_neuron_residual, 1e-8, words="KKT residual {measured:.2g}"),
            Level.EXACT,
        ),
        Conclusion("suboptimal", "some network has a larger margin", _middle_is_suboptimal),
    ),
    constants=_point_constants,
    record=_best_single_neuron,
    setting=BALANCED_SETTING,
    example="lyu-middle",
    departs=r"The paper asks for $c < \varepsilon$ and $\varepsilon/\varepsilon'$ much below the leak; the exact "
    r"condition is derived.",
)
