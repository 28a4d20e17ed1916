"""Grönwall's inequality, in the two forms the proofs use: Lemma B.1 [lyu2021]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

from reluflow.arrays import FloatArray
from reluflow.papers.lyu2021.paper import EXAMPLE, SETTING
from reluflow.theory.comparison import Level, Values
from reluflow.theory.evidence import Evidence
from reluflow.theory.measures import AtMost
from reluflow.theory.theorem import Conclusion, Reference, Theorem

# Lemma B.1, (11) and (12) ---------------------------------------------------------------------------------------------

_GRID = np.linspace(0.0, 3.0, 301)


def _rate(t: FloatArray) -> FloatArray:
    return 0.7 + 0.5 * np.cos(2.0 * t)


def _rate_integral(t: FloatArray) -> FloatArray:
    return 0.7 * t + 0.25 * np.sin(2.0 * t)


def _level(t: FloatArray) -> FloatArray:
    return 1.0 + 0.3 * t**2


def _gronwall_bound() -> FloatArray:
    """alpha(t) + integral of alpha(s) beta(s) exp(B(t) - B(s)), to rounding, on the grid."""
    nodes, weights = np.polynomial.legendre.leggauss(6)
    half = 0.5 * np.diff(_GRID)[:, None]
    points = _GRID[:-1, None] + half * (1.0 + nodes)
    inner = _level(points) * _rate(points) * np.exp(-_rate_integral(points)) * half
    integral = np.concatenate([[0.0], np.cumsum(inner @ weights)])
    return np.asarray(_level(_GRID) + np.exp(_rate_integral(_GRID)) * integral)


@dataclass(frozen=True, eq=False)
class Subsolutions:
    """Functions u on the grid: the first solves u = alpha + int beta u, the others satisfy the inequality strictly."""

    functions: tuple[FloatArray, ...]


def subsolutions(evidence: Evidence) -> Subsolutions:
    """Functions u on the grid with u' <= alpha' + beta u and u(0) <= alpha(0), so that u <= alpha + integral beta u."""

    def right(t: float, u: FloatArray, share: float) -> FloatArray:
        return np.asarray(0.6 * t + share * _rate(np.asarray(t)) * u)

    solved = []
    for share in (1.0, 0.95, 0.8, 0.3):
        run = solve_ivp(right, (0.0, 3.0), [share], args=(share,), t_eval=_GRID, rtol=1e-11, atol=1e-13)
        solved.append(np.asarray(run.y[0]))
    return Subsolutions(tuple(solved))


def _functions(evidence: Evidence) -> tuple[FloatArray, ...]:
    return evidence.recorded(Subsolutions).functions


def _over_integral_form(evidence: Evidence) -> Values:
    """Functions that satisfy the inequality strictly over the bound (11)."""
    return [u / _gronwall_bound() for u in _functions(evidence)[1:]]


def _attained(evidence: Evidence) -> FloatArray:
    return np.asarray(np.abs(_functions(evidence)[0] / _gronwall_bound() - 1.0))


def _over_closed_form(evidence: Evidence) -> Values:
    return [u / (_level(_GRID) * np.exp(_rate_integral(_GRID))) for u in _functions(evidence)[1:]]


LEMMA_B_1 = Theorem(
    "lyu2021:lemmaB.1",
    Reference("lyu2021", "Lemma B.1, (11) and (12)"),
    r"$u \le \alpha + \int \beta u$ gives "
    r"$u \le \alpha + \int \alpha \beta\,\exp(\int \beta) \le \alpha\,\exp(\int \beta)$.",
    hypotheses=(),
    conclusions=(
        Conclusion("integral-form", "$u$ over the bound (11)", AtMost(_over_integral_form, 1.0)),
        Conclusion(
            "attained", r"the solution of $u = \alpha + \int \beta u$ equals (11)", AtMost(_attained, 1e-8), Level.EXACT
        ),
        Conclusion("closed-form", r"$u$ over the bound (12), $\alpha$ non-decreasing", AtMost(_over_closed_form, 1.0)),
    ),
    record=subsolutions,
    setting=SETTING,
    example=EXAMPLE,
    departs=r"Tried on solutions of differential inequalities with known $\alpha$ and $\beta$.",
)
