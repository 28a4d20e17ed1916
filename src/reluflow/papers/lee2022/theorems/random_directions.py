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
class DrawnCosines:
    """Cosines of pairs of directions drawn in R^dimension, shape (num_draws,)."""

    cosines: FloatArray
    dimension: int

    def shares(self, values: FloatArray) -> FloatArray:
        """The share of the draws whose value is above each threshold."""
        return np.array([np.mean(values > threshold) for threshold in THRESHOLDS])

    @property
    def error(self) -> float:
        """Distance of a share from its probability that one set of draws in 1e9 exceeds anywhere."""
        return float(np.sqrt(np.log(2e9) / (2.0 * self.cosines.size)))  # Dvoretzky-Kiefer-Wolfowitz


def _drawn_cosines(evidence: Evidence) -> DrawnCosines:
    dimension = min(evidence.dataset.d, _LARGEST_DRAWN)
    u, v = np.random.default_rng(0).standard_normal((2, 20_000, dimension))
    return DrawnCosines(np.sum(u * v, axis=1) / np.linalg.norm(u, axis=1) / np.linalg.norm(v, axis=1), dimension)


def _tail(d: int) -> FloatArray:
    """P(cos > eps) in R^d at the thresholds, shape (400,)."""
    from reluflow.papers.lee2022.single_neuron.random_directions import cosine_tail  # loads scipy.stats, which is slow

    return cosine_tail(d, THRESHOLDS)


def _bound(d: int) -> FloatArray:
    from reluflow.papers.lee2022.single_neuron.random_directions import cosine_tail_bound

    return cosine_tail_bound(d, THRESHOLDS)


def _log_slacks(probabilities: FloatArray, bounds: FloatArray) -> FloatArray:
    """log(bound/probability) at the thresholds, infinite where nothing is that far."""
    seen = probabilities > 0.0
    return np.where(seen, np.log(bounds / np.where(seen, probabilities, 1.0)), np.inf)


def _bounded(evidence: Evidence, values: FloatArray, sides: int, what: str) -> Comparison:
    """The exact law, and the draws as far as they are sure, against the bound for one side or two."""
    drawn, d = evidence.recorded(DrawnCosines), evidence.dataset.d
    of_the_law = _log_slacks(sides * _tail(d), 0.5 * sides * _bound(d))
    of_the_draws = _log_slacks(drawn.shares(values) - drawn.error, 0.5 * sides * _bound(drawn.dimension))
    slacks = np.minimum(of_the_law, of_the_draws)
    index = int(np.argmin(slacks))
    words = f"{what}: smallest log(bound/probability) {slacks[index]:.4g} at {THRESHOLDS[index]:.3g}"
    return at_least(float(slacks[index]), 0.0, allowance=1e-12, detail=words)


def _two_sided(evidence: Evidence) -> Comparison:
    return _bounded(evidence, np.abs(evidence.recorded(DrawnCosines).cosines), 2, r"$P(|\cos| > \varepsilon)$")


def _one_sided(evidence: Evidence) -> Comparison:
    return _bounded(evidence, evidence.recorded(DrawnCosines).cosines, 1, r"$P(\cos > \varepsilon)$")


def _by_drawing(evidence: Evidence) -> Comparison:
    """Largest distance of the law of 20,000 drawn cosines from the Beta law, with a bound that fails once in 1e9."""
    drawn = evidence.recorded(DrawnCosines)
    return at_most(float(np.max(np.abs(drawn.shares(drawn.cosines) - _tail(drawn.dimension)))), drawn.error)


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
    record=_drawn_cosines,
    setting=SETTING,
    example=EXAMPLE,
    erratum=r"E8: the factor 2 belongs to $|\cos|$; the step $(1 - \varepsilon^2)^{d/2}$ fails for small $d$ and "
    r"large $\varepsilon$.",
)
