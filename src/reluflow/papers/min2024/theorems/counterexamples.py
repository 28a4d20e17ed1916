"""Appendix E.3 and E.4: one neuron on the hyperplane of one sample has no solution, or many [min2024].

The sample is x = (1, 0), the neuron starts at w = (0, 1), a = 1, and with the exponential loss only w_1 and a move.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError
from reluflow.papers.min2024.paper import SETTING
from reluflow.papers.min2024.theorems.solutions import nodes_between
from reluflow.theory.comparison import Comparison, Level, Values, at_least, equals, judgement
from reluflow.theory.elsewhere import part
from reluflow.theory.evidence import Evidence
from reluflow.theory.measures import AtMost
from reluflow.theory.theorem import Conclusion, Hypothesis, Parameter, Reference, Theorem

FINE_NODES, FINE_WEIGHTS = np.polynomial.legendre.leggauss(20)
STEPS = (1e-1, 1e-2, 1e-3)
TIME = Parameter("time", 2.0, "time at which the solutions are compared", low=0.0)


def boundary_field(
    w_1: FloatArray, a: FloatArray, *, label: float, slope_at_zero: float
) -> tuple[FloatArray, FloatArray]:
    """(dw_1/dt, da/dt) with sigma'(0) = `slope_at_zero`."""
    slope = np.where(w_1 > 0.0, 1.0, np.where(w_1 == 0.0, slope_at_zero, 0.0))
    force = label * np.exp(-label * a * np.maximum(w_1, 0.0))
    return np.asarray(a * slope * force), np.asarray(np.maximum(w_1, 0.0) * force)


def euler_path(*, label: float, slope_at_zero: float, step: float, num_steps: int) -> FloatArray:
    """w_1 along explicit Euler steps from the hyperplane, shape (num_steps + 1,).

    With label -1 and a positive slope at zero it moves once, to -step * slope, and stops there.
    """
    if step <= 0.0 or num_steps < 1:
        raise InvalidInputError(f"`step` must be positive and `num_steps` at least 1, got {step} and {num_steps}.")
    w_1, a, path = np.zeros(1), np.ones(1), [0.0]
    for _ in range(num_steps):
        move, turn = boundary_field(w_1, a, label=label, slope_at_zero=slope_at_zero)
        w_1, a = w_1 + step * move, a + step * turn
        path.append(float(w_1[0]))
    return np.array(path)


@dataclass(frozen=True, eq=False)
class LeavingPath:
    """The solution for label 1 that waits until `wait` and then leaves: w_1 = sinh s, a = cosh s.

    Its clock is t = wait + int_0^s exp(sinh(2u)/2) du.
    """

    wait: float = 0.0

    def clock(self, s: float) -> float:
        """The time at parameter s, by Gauss-Legendre quadrature on pieces of length at most 1/4."""
        edges = np.linspace(0.0, s, max(1, math.ceil(4.0 * s)) + 1)
        pieces = [(right - left, nodes_between(left, right, FINE_NODES)) for left, right in pairwise(edges)]
        return self.wait + float(sum(0.5 * w * (FINE_WEIGHTS @ np.exp(0.5 * np.sinh(2.0 * u))) for w, u in pieces))

    def parameter(self, time: float) -> float:
        """The s with clock(s) = time, 0 while it waits; bisection, for the clock is increasing."""
        if time <= self.wait:
            return 0.0
        low, high = 0.0, 1.0
        while self.clock(high) < time:
            high *= 2.0
        for _ in range(70):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.clock(middle) < time else (low, middle)
        return 0.5 * (low + high)

    def __call__(self, times: ArrayLike) -> FloatArray:
        """(w_1, a) at the given times, shape (k, 2)."""
        parameters = np.array([self.parameter(float(t)) for t in np.ravel(times)])
        return np.column_stack([np.sinh(parameters), np.cosh(parameters)])


def path_residual(
    path: Callable[[FloatArray], FloatArray],
    end: float,
    *,
    label: float,
    slope_at_zero: float,
    breaks: tuple[float, ...] = (),
) -> float:
    """|theta(end) - theta(0) - int_0^end F(theta(s)) ds| of a path by quadrature on pieces between `breaks`.

    References
    ----------
    Min et al. (2024), App. E.1 [min2024].
    """
    edges, total = [0.0, *(b for b in breaks if 0.0 < b < end), end], np.zeros(2)
    for left, right in pairwise(edges):
        states = path(nodes_between(left, right, FINE_NODES))
        move, turn = boundary_field(states[:, 0], states[:, 1], label=label, slope_at_zero=slope_at_zero)
        total += 0.5 * (right - left) * np.array([FINE_WEIGHTS @ move, FINE_WEIGHTS @ turn])
    ends = path(np.array([0.0, end]))
    return float(np.linalg.norm(ends[1] - ends[0] - total))


def _one_sample(evidence: Evidence, label: float) -> Comparison:
    data = evidence.dataset
    fits = data.n == 1 and data.d == 2 and data.y[0] == label and np.array_equal(data.X[0], [1.0, 0.0])
    return judgement(bool(fits), None, f"{data.n} samples in dimension {data.d}")


def resting_path(times: FloatArray) -> FloatArray:
    """The path that stays at w_1 = 0, a = 1, as (w_1, a) at the given times, shape (k, 2)."""
    return np.column_stack([np.zeros_like(times), np.ones_like(times)])


# Appendix E.3 ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class EulerPaths:
    """w_1 along Euler's steps from the hyperplane, for each of `STEPS`, and the path that stays there."""

    euler: tuple[FloatArray, ...]
    resting: Callable[[FloatArray], FloatArray]


def _euler_paths(evidence: Evidence) -> EulerPaths:
    slope = evidence.parameter("slope")
    paths = (euler_path(label=-1.0, slope_at_zero=slope, step=step, num_steps=50) for step in STEPS)
    return EulerPaths(tuple(paths), resting_path)


def _euler_stops(evidence: Evidence) -> Values:
    """Euler with sigma'(0) = c moves to -eta c and stays; deviations from that over the steps tried."""
    slope, paths = evidence.parameter("slope"), evidence.recorded(EulerPaths).euler
    return (np.abs(path[1:] + step * slope) for path, step in zip(paths, STEPS, strict=True))


def _limit_is_no_solution(evidence: Evidence) -> Comparison:
    """The limit of Euler's paths, extrapolated to step 0, put into the integral equation by quadrature."""
    slope, time = evidence.parameter("slope"), evidence.parameter("time")
    coarse, fine = (float(path[-1]) for path in evidence.recorded(EulerPaths).euler[-2:])
    extrapolated = fine + (fine - coarse) * STEPS[-1] / (STEPS[-2] - STEPS[-1])
    limit = 0.0 if abs(extrapolated) <= 1e-9 * slope else extrapolated

    def path(times: FloatArray) -> FloatArray:
        return np.column_stack([np.where(times > 0.0, limit, 0.0), np.ones_like(times)])

    residual = path_residual(path, time, label=-1.0, slope_at_zero=slope)
    words = (
        f"Euler tends to $w_1$ = {limit:.3g}, whose integral equation misses by {residual:.6g}; $c t$ = "
        f"{slope * time:.6g}"
    )
    return equals(residual, slope * time, atol=1e-9 * slope * time, detail=words)


def _rests_without_slope(evidence: Evidence) -> float:
    resting = evidence.recorded(EulerPaths).resting
    return path_residual(resting, evidence.parameter("time"), label=-1.0, slope_at_zero=0.0)


APP_E_3 = Theorem(
    "min2024:appE.3",
    Reference("min2024", "App. E.3"),
    r"With $\sigma'(0) = c > 0$ no Caratheodory solution starts on the hyperplane of a sample that pushes back.",
    hypotheses=(Hypothesis("counterexample", "one sample (1, 0) with label -1", partial(_one_sample, label=-1.0)),),
    conclusions=(
        Conclusion(
            "euler",
            r"Euler moves once, to $-\eta c$, and stops",
            AtMost(
                _euler_stops,
                0.0,
                words=r"Euler's $w_1$ differs from $-\eta c$ by at most {measured:.3g} for steps down to 0.001",
            ),
            Level.EXACT,
        ),
        Conclusion("no-solution", "the limit of Euler misses the integral equation by $c t$", _limit_is_no_solution),
        Conclusion(
            "zero-slope",
            r"with $\sigma'(0) = 0$ the constant path is a solution",
            AtMost(
                _rests_without_slope,
                0.0,
                words=r"residual of the path that stays is {measured:.3g} with $\sigma'(0) = 0$",
            ),
            Level.EXACT,
        ),
    ),
    parameters=(TIME, Parameter("slope", 0.5, r"$c = \sigma'(0)$", low=0.0)),
    record=_euler_paths,
    setting=SETTING,
    example="min-existence-failure",
)


# Appendix E.4 ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BranchedPaths:
    """Solutions from the hyperplane: the one that stays, and those that wait and leave, the first at once."""

    resting: Callable[[FloatArray], FloatArray]
    leaving: tuple[Callable[[FloatArray], FloatArray], ...]


SHARES = (0.0, 0.25, 0.7)  # of the time, that the solutions wait


def _solutions_from_the_hyperplane(evidence: Evidence) -> BranchedPaths:
    end = evidence.parameter("time")
    return BranchedPaths(resting_path, tuple(LeavingPath(share * end) for share in SHARES))


def _rests(evidence: Evidence) -> float:
    resting = evidence.recorded(BranchedPaths).resting
    return path_residual(resting, evidence.parameter("time"), label=1.0, slope_at_zero=0.0)


def _filippov_rests(evidence: Evidence) -> float:
    """Remark 6: how far the velocity of the resting path is from the segment between those on the two sides."""
    end, tiny = evidence.parameter("time"), 1e-12
    states = evidence.recorded(BranchedPaths).resting(np.array([0.0, end]))
    velocity = (states[1] - states[0]) / end
    sides = [
        np.ravel(boundary_field(np.array([w]), states[:1, 1], label=1.0, slope_at_zero=0.0)) for w in (-tiny, tiny)
    ]
    share = float(np.clip((velocity - sides[0]) @ (sides[1] - sides[0]) / np.sum((sides[1] - sides[0]) ** 2), 0.0, 1.0))
    return float(np.linalg.norm(velocity - sides[0] - share * (sides[1] - sides[0])))


def _leaving_solves(evidence: Evidence) -> Values:
    """Residual of 'wait, then leave' for three waits."""
    end = evidence.parameter("time")
    for share, path in zip(SHARES, evidence.recorded(BranchedPaths).leaving, strict=True):
        breaks = (share * end, *(share * end + t for t in (0.1, 0.3, 1.0)))
        yield path_residual(path, end, label=1.0, slope_at_zero=0.0, breaks=breaks)


def _solutions_differ(evidence: Evidence) -> Comparison:
    end, path = evidence.parameter("time"), evidence.recorded(BranchedPaths).leaving[0]
    distance = float(abs(path(np.array([end]))[0, 0]))
    words = f"at $t$ = {end:g} the leaving solution has $w_1$ = {distance:.6g}, the constant one 0"
    return at_least(distance, 1e-6, detail=words)


APP_E_4 = Theorem(
    "min2024:appE.4",
    Reference("min2024", "App. E.4, Eq. (47)"),
    "On the hyperplane of a sample that pulls, staying is a solution and so is leaving at any time $t_0$; a "
    "regular solution stays.",
    hypotheses=(Hypothesis("counterexample", "one sample (1, 0) with label 1", partial(_one_sample, label=1.0)),),
    conclusions=(
        Conclusion(
            "stay",
            "the constant path solves it",
            AtMost(_rests, 0.0, words=r"residual of the path that stays is {measured:.3g} with $\sigma'(0) = 0$"),
            Level.EXACT,
        ),
        Conclusion(
            "filippov",
            "staying is a Filippov solution too (Remark 6)",
            AtMost(
                _filippov_rests,
                1e-09,
                words="velocity of the path that stays is {measured:.3g} from the segment of Filippov's selections",
            ),
        ),
        Conclusion(
            "leave",
            r"$w_1 = \sinh s$, $a = \cosh s$ with its clock solves it for every wait",
            AtMost(
                _leaving_solves,
                1e-09,
                words="largest residual of three solutions that wait and leave is {measured:.3g}",
            ),
        ),
        Conclusion("differ", "the two solutions differ", _solutions_differ),
    ),
    parameters=(TIME,),
    record=_solutions_from_the_hyperplane,
    setting=SETTING,
    example="min-uniqueness-failure",
)

REMARK_6 = part(
    "min2024:remark6", "Remark 6", APP_E_4, "Filippov solutions have the same branches; the conclusion `filippov`"
)
