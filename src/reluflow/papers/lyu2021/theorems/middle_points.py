"""A neuron that wins at a suboptimal margin, on points beside a plane: Appendix I.1.2 [lyu2021]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.network_margin import NetworkMargin
from reluflow.network.network import Network
from reluflow.papers.lyu2021.theorems.limits import best_network, kkt_residuals
from reluflow.papers.lyu2021.theorems.non_symmetric_limit import side_of
from reluflow.papers.lyu2021.theorems.settings import BALANCED_SETTING
from reluflow.theory.comparison import Comparison, Level, all_of, at_least, fails, judgement, positive, require
from reluflow.theory.evidence import Evidence
from reluflow.theory.hypotheses import LEAKY
from reluflow.theory.measures import AtMost, Constants
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem

_ROUNDING = 1e-9


@dataclass(frozen=True)
class MiddlePoints:
    """eps, eps' and c of I.1.2, the two sides of the condition for S^+, and the margin of the best mirrored pair."""

    nearest: float
    farthest: float
    offset: float
    attained: float
    required: float
    pair_margin: float

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
    need = nearest**2 + (1.0 + leak) * offset**2
    return MiddlePoints(
        nearest, farthest, offset, leak * nearest * farthest, need, _pair_margin(nearest, farthest, offset, leak)
    )


def _pair_margin(nearest: float, farthest: float, offset: float, leak: float) -> float:
    """The best margin of two positive neurons along (p, q, r) and (p, -q, r), to which other weights add nothing.

    Notes
    -----
    Four times the margin is at least the smaller of <v_1, u> and <v_2, u> for u = (p, q, r), with
    v_1 = ((1 + leak) eps, 1 - leak, (1 + leak) c) from the points (eps, +-1, c) and v_2 = 2 leak (eps', 0, -c) from
    (-eps', 0, c). The largest such minimum over unit u is the distance of 0 from the segment between v_1 and v_2.
    """
    first = np.array([(1.0 + leak) * nearest, 1.0 - leak, (1.0 + leak) * offset])
    way = 2.0 * leak * np.array([farthest, 0.0, -offset]) - first
    step = float(np.clip(-(first @ way) / (way @ way), 0.0, 1.0))
    return 0.25 * float(np.linalg.norm(first + step * way))


def _points(evidence: Evidence) -> MiddlePoints | None:
    return middle_points(evidence.dataset.X, evidence.dataset.y, evidence.leak)


def _point_constants(evidence: Evidence) -> Constants:
    points = _points(evidence)
    if points is None:
        return {}
    return {
        "eps": points.nearest,
        "eps_prime": points.farthest,
        "c": points.offset,
        "slack": points.slack,
        "pair_margin": points.pair_margin,
    }


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


def _pair_excess(evidence: Evidence) -> Comparison:
    points = _points(evidence)
    if points is None:
        return fails(r"the samples are not $(x, \pm 1, c)$ against $(-x, 0, c)$")
    half = 0.5 * float(np.hypot(points.nearest, points.offset))
    words = rf"margin {points.pair_margin:.6g} against {half:.6g} of the single neuron"
    return positive(points.pair_margin - half * (1.0 + 1e-6), words)


PAIR_IS_BETTER = Hypothesis(
    "pair-is-better",
    r"two neurons along $(p, \pm q, r)$ have a margin above $\sqrt{\varepsilon^2 + c^2}/2$: the distance of 0 from the "
    r"segment between $((1 + \mathrm{leak}) \varepsilon, 1 - \mathrm{leak}, (1 + \mathrm{leak}) c)$ and "
    r"$2\, \mathrm{leak}\, (\varepsilon', 0, -c)$ exceeds $2 \sqrt{\varepsilon^2 + c^2}$",
    _pair_excess,
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
    hypotheses=(LEAKY, MIDDLE_POINTS, PAIR_IS_BETTER),
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
    r"conditions are derived: one for the neuron, one for a better network, which fails for a leak near 1.",
)
