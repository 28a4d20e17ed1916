"""The elementary inequalities that App. D.7 uses [boursier2024]."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from reluflow.papers.boursier2024.paper import SETTING, THREE_POINTS
from reluflow.theory.comparison import Comparison, at_least, at_most
from reluflow.theory.evidence import Evidence
from reluflow.theory.theorem import Conclusion, Reference, Theorem


@dataclass(frozen=True)
class ElementaryConstants:
    """The constants of the inequalities: c in 1 - e^(-x) <= c tanh x <= e^x - 1, then 1/4 and 1/e."""

    unit: float = 1.0
    quarter: float = 0.25
    inverse_e: float = math.exp(-1.0)


def elementary_constants(evidence: Evidence) -> ElementaryConstants:
    """The constants as they are stated."""
    return ElementaryConstants()


def _hyperbolic_bounds(evidence: Evidence) -> Comparison:
    """1 - exp(-x) <= c tanh x <= exp(x) - 1 with c = 1, the only one; both differences without cancellation."""
    x = np.concatenate([np.linspace(-30.0, 30.0, 2001), np.geomspace(1e-8, 1.0, 200), -np.geomspace(1e-8, 1.0, 200)])
    tanh = evidence.recorded(ElementaryConstants).unit * np.tanh(x)
    above, below = np.expm1(x) - tanh, tanh + np.expm1(-x)
    return at_least(float(min(np.min(above), np.min(below))), 0.0, allowance=1e-15)


def _root_bound(evidence: Evidence) -> Comparison:
    """1 - sqrt((1-x)/(1-x/2)) >= x/4 on [0, 1], divided by x."""
    x = np.concatenate([np.geomspace(1e-8, 1e-2, 200), np.linspace(1e-2, 1.0, 2000)])
    ratio = (1.0 - x) / (1.0 - 0.5 * x)
    left = (0.5 * x / (1.0 - 0.5 * x)) / (1.0 + np.sqrt(ratio))  # 1 - sqrt(ratio), multiplied out
    return at_least(float(np.min(left / x)), evidence.recorded(ElementaryConstants).quarter, allowance=1e-15)


def _entropy_bound(evidence: Evidence) -> Comparison:
    x = np.concatenate([np.geomspace(1e-300, 1.0, 2000), math.exp(-1.0) * (1.0 + np.linspace(-1e-3, 1e-3, 201))])
    return at_most(float(np.max(-x * np.log(x))), evidence.recorded(ElementaryConstants).inverse_e, allowance=1e-15)


APP_D_7 = Theorem(
    "boursier2024:appD.7",
    Reference("boursier2024", "App. D.7, the inequalities used"),
    r"$1 - e^{-x} \le \tanh x \le e^x - 1$; $1 - \sqrt{(1 - x)/(1 - x/2)} \ge x/4$ on $[0, 1]$; "
    r"$-x\,\ln x \le 1/e$: the steps from Eq. (36) to the constant of Eq. (37).",
    hypotheses=(),
    conclusions=(
        Conclusion("tanh", r"$1 - e^{-x} \le \tanh x \le e^x - 1$", _hyperbolic_bounds),
        Conclusion("root", r"$(1 - \sqrt{(1 - x)/(1 - x/2)})/x \ge 1/4$ on $(0, 1]$", _root_bound),
        Conclusion("entropy", r"$-x\,\ln x \le 1/e$", _entropy_bound),
    ),
    record=elementary_constants,
    setting=SETTING,
    example=THREE_POINTS,
    departs="Evaluated on a fine grid.",
)
