"""The elementary inequalities that App. D.7 uses [boursier2024]."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.papers.boursier2024.paper import SETTING, THREE_POINTS
from reluflow.theory.comparison import Comparison, at_least, at_most
from reluflow.theory.evidence import Evidence
from reluflow.theory.theorem import Conclusion, Reference, Theorem


@dataclass(frozen=True, eq=False)
class Arguments:
    """Where the inequalities are evaluated, and where they are equalities.

    Parameters
    ----------
    for_tanh, for_root, for_entropy
        Points at which each is evaluated: numbers of both signs, points of (0, 1] and of the same.
    touching
        The point at which tanh x equals both its bounds, 0.
    maximiser
        The point at which -x ln x takes its largest value, 1/e.
    """

    for_tanh: FloatArray
    for_root: FloatArray
    for_entropy: FloatArray
    touching: float
    maximiser: float


def _arguments(evidence: Evidence) -> Arguments:
    small, inverse_e = np.geomspace(1e-8, 1.0, 200), math.exp(-1.0)
    around = inverse_e * (1.0 + np.linspace(-1e-3, 1e-3, 201))
    return Arguments(
        for_tanh=np.concatenate([np.linspace(-30.0, 30.0, 2001), small, -small]),
        for_root=np.concatenate([np.geomspace(1e-8, 1e-2, 200), np.linspace(1e-2, 1.0, 2000)]),
        for_entropy=np.concatenate([np.geomspace(1e-300, 1.0, 2000), around]),
        touching=0.0,
        maximiser=inverse_e,
    )


def _hyperbolic_gaps(x: FloatArray | float) -> FloatArray:
    """exp(x) - 1 - tanh x and tanh x - 1 + exp(-x), both without cancellation."""
    return np.stack([np.expm1(x) - np.tanh(x), np.tanh(x) + np.expm1(-x)])


def _hyperbolic_bounds(evidence: Evidence) -> Comparison:
    """The smaller gap, and 0 less the larger one at the point where both bounds touch."""
    points = evidence.recorded(Arguments)
    least, at_touching = np.min(_hyperbolic_gaps(points.for_tanh)), np.max(_hyperbolic_gaps(points.touching))
    return at_least(float(min(least, 0.0 - at_touching)), 0.0, allowance=1e-15)


def _root_bound(evidence: Evidence) -> Comparison:
    """1 - sqrt((1-x)/(1-x/2)) >= x/4 on [0, 1], divided by x."""
    x = evidence.recorded(Arguments).for_root
    ratio = (1.0 - x) / (1.0 - 0.5 * x)
    left = (0.5 * x / (1.0 - 0.5 * x)) / (1.0 + np.sqrt(ratio))  # 1 - sqrt(ratio), multiplied out
    return at_least(float(np.min(left / x)), 0.25, allowance=1e-15)


def _entropy_bound(evidence: Evidence) -> Comparison:
    """-x ln x against its value at the maximiser, which is 1/e."""
    points = evidence.recorded(Arguments)
    largest = float(np.max(-points.for_entropy * np.log(points.for_entropy)))
    return at_most(largest, -points.maximiser * math.log(points.maximiser), allowance=1e-15)


APP_D_7 = Theorem(
    "boursier2024:appD.7",
    Reference("boursier2024", "App. D.7, the inequalities used"),
    r"$1 - e^{-x} \le \tanh x \le e^x - 1$; $1 - \sqrt{(1 - x)/(1 - x/2)} \ge x/4$ on $[0, 1]$; "
    r"$-x\,\ln x \le 1/e$: the steps from Eq. (36) to the constant of Eq. (37).",
    hypotheses=(),
    conclusions=(
        Conclusion("tanh", r"$1 - e^{-x} \le \tanh x \le e^x - 1$, with equality at 0", _hyperbolic_bounds),
        Conclusion("root", r"$(1 - \sqrt{(1 - x)/(1 - x/2)})/x \ge 1/4$ on $(0, 1]$", _root_bound),
        Conclusion("entropy", r"$-x\,\ln x \le 1/e$, with equality at $1/e$", _entropy_bound),
    ),
    record=_arguments,
    setting=SETTING,
    example=THREE_POINTS,
    departs="Evaluated on a fine grid.",
)
