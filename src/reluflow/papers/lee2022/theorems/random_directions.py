"""Two random directions are nearly orthogonal: Proposition C.1 [lee2022]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.papers.lee2022.paper import EXAMPLE, SETTING
from reluflow.papers.lee2022.theorems.population_model import DIMENSION
from reluflow.theory.comparison import Comparison, at_least, at_most
from reluflow.theory.evidence import Evidence
from reluflow.theory.theorem import Conclusion, Reference, Theorem

THRESHOLDS = np.linspace(0.0, 0.999, 400)
_LARGEST_DRAWN = 200  # dimension above which directions are drawn in R^200 instead


@dataclass(frozen=True, eq=False)
class CosineLaw:
    """The cosine of two independent directions.

    Parameters
    ----------
    tail
        P(cos > eps) in R^d at the thresholds, shape (400,).
    drawn
        Cosines of drawn directions, shape (num_draws,).
    drawn_tail
        P(cos > eps) in the dimension they were drawn in.
    """

    tail: FloatArray
    drawn: FloatArray
    drawn_tail: FloatArray


def _cosine_law(evidence: Evidence) -> CosineLaw:
    from reluflow.papers.lee2022.single_neuron.random_directions import cosine_tail  # loads scipy.stats, which is slow

    d = evidence.dataset.d
    u, v = np.random.default_rng(0).standard_normal((2, 20_000, min(d, _LARGEST_DRAWN)))
    cosines = np.sum(u * v, axis=1) / np.linalg.norm(u, axis=1) / np.linalg.norm(v, axis=1)
    return CosineLaw(cosine_tail(d, THRESHOLDS), cosines, cosine_tail(min(d, _LARGEST_DRAWN), THRESHOLDS))


def _bound(d: int) -> FloatArray:
    from reluflow.papers.lee2022.single_neuron.random_directions import cosine_tail_bound

    return cosine_tail_bound(d, THRESHOLDS)


def _log_slack(measured: FloatArray, bound: FloatArray, what: str) -> Comparison:
    seen = measured > 0.0
    slack = np.log(bound[seen] / measured[seen])
    index = int(np.argmin(slack))
    words = f"{what}: smallest log(bound/probability) {slack[index]:.4g} at {THRESHOLDS[seen][index]:.3g}"
    return at_least(float(slack[index]), 0.0, allowance=1e-12, detail=words)


def _two_sided(evidence: Evidence) -> Comparison:
    return _log_slack(2.0 * evidence.recorded(CosineLaw).tail, _bound(evidence.dataset.d), r"$P(|\cos| > \varepsilon)$")


def _one_sided(evidence: Evidence) -> Comparison:
    return _log_slack(evidence.recorded(CosineLaw).tail, 0.5 * _bound(evidence.dataset.d), r"$P(\cos > \varepsilon)$")


def _by_drawing(evidence: Evidence) -> Comparison:
    """Largest distance of the law of 20,000 drawn cosines from the Beta law, with a bound that fails once in 1e9."""
    law = evidence.recorded(CosineLaw)
    share = np.array([np.mean(law.drawn > threshold) for threshold in THRESHOLDS])
    distance = float(np.max(np.abs(share - law.drawn_tail)))
    return at_most(distance, float(np.sqrt(np.log(2e9) / (2.0 * law.drawn.size))))  # Dvoretzky-Kiefer-Wolfowitz


PROP_C_1 = Theorem(
    "lee2022:propC.1",
    Reference("lee2022", "Prop. C.1"),
    r"For independent directions in $\mathbb{R}^d$, with $\varphi$ the angle between them, "
    r"$P(|\cos\varphi| > \varepsilon) \le 2\,\exp(-d \varepsilon^2/2)$, and $P(\cos\varphi > \varepsilon)$ is at "
    r"most half of it.",
    hypotheses=(DIMENSION,),
    conclusions=(
        Conclusion("two-sided", r"the bound holds for $|\cos|$", _two_sided),
        Conclusion("one-sided", "half of it holds for cos", _one_sided),
        Conclusion("draws", "drawn directions follow the exact law", _by_drawing),
    ),
    record=_cosine_law,
    setting=SETTING,
    example=EXAMPLE,
    erratum=r"E8: the factor 2 belongs to $|\cos|$; the step $(1 - \varepsilon^2)^{d/2}$ fails for small $d$ and "
    r"large $\varepsilon$.",
)
