"""What a solution is: Remarks 1, 2, Appendix E.1, E.3, E.4 and inequality (50) [min2024].

In E.3 and E.4 one neuron starts on the hyperplane of one sample and has no solution, or many: the sample is x = (1, 0),
the neuron starts at w = (0, 1), a = 1, and with the exponential loss only w_1 and a move.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError
from reluflow.theory.comparison import Comparison, Values, at_least, at_most, equals, judgement, missing, none_of
from reluflow.theory.evidence import Evidence, drawn
from reluflow.theory.flow_plan import Companion, FlowPlan
from reluflow.theory.min2024.constants import data_constants
from reluflow.theory.min2024.landmarks import landmarks
from reluflow.theory.min2024.moving_neurons import moments

NODES, WEIGHTS = np.polynomial.legendre.leggauss(4)
FINE_NODES, FINE_WEIGHTS = np.polynomial.legendre.leggauss(20)
SMALLEST_PIECE = 1e-3  # pieces between crossings shorter than this are not split off
STEPS = (1e-1, 1e-2, 1e-3)


def _nodes(left: float, right: float, nodes: FloatArray = NODES) -> FloatArray:
    """The nodes of a quadrature, moved from [-1, 1] to [left, right]."""
    return np.asarray(0.5 * (right - left) * (nodes + 1.0) + left)


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
        pieces = [(right - left, _nodes(left, right, FINE_NODES)) for left, right in pairwise(edges)]
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
        states = path(_nodes(left, right, FINE_NODES))
        move, turn = boundary_field(states[:, 0], states[:, 1], label=label, slope_at_zero=slope_at_zero)
        total += 0.5 * (right - left) * np.array([FINE_WEIGHTS @ move, FINE_WEIGHTS @ turn])
    ends = path(np.array([0.0, end]))
    return float(np.linalg.norm(ends[1] - ends[0] - total))


def _short_plan(evidence: Evidence) -> FlowPlan:
    return FlowPlan(times=(0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0))


def _stays_balanced(evidence: Evidence) -> Values:
    for snapshot in evidence.run.snapshots:
        w_square = np.sum(snapshot.network.w**2, axis=1)
        present = w_square > 0.0
        yield np.abs(snapshot.network.balancedness()[present]) / w_square[present]


def _first_descent_step(evidence: Evidence) -> Comparison:
    """a^2 - |w|^2 after one step of descent, over eta^2 |w|^2 |G|^2: it is cos^2(w, G) - 1 <= 0."""
    network, step = evidence.network, evidence.parameter("step")
    first = moments(evidence)[0]
    w, a, pulls = network.w, network.a, first.pulls
    moved_w, moved_a = evidence.witness(
        "first step", lambda: (w + step * a[:, None] * pulls, a + step * np.sum(w * pulls, axis=1))
    )
    size = step**2 * np.sum(w**2, axis=1) * np.sum(pulls**2, axis=1)
    moving = size > 0.0
    left = (moved_a**2 - np.sum(moved_w**2, axis=1))[moving]
    right = step**2 * (np.sum(w * pulls, axis=1) ** 2 - np.sum(w**2, axis=1) * np.sum(pulls**2, axis=1))[moving]
    rounding = 1e-13 * np.sum(w**2, axis=1)[moving] / size[moving]
    gap = float(np.max(np.abs(left - right) / size[moving] - rounding))
    largest = float(np.max(right / size[moving]))
    words = f"largest drift {largest:.3g} eta^2 |w|^2 |G|^2, formula off by {gap:.3g}"
    return at_most(max(gap, largest), 0.0, allowance=1e-12, detail=words)


def _zeroed_plan(evidence: Evidence) -> FlowPlan:
    """The short plan, and beside it the same network with its first neuron at zero."""
    plan, start = _short_plan(evidence), evidence.network
    keep = np.arange(start.num_neurons) > 0
    zeroed = start.replace(w=np.where(keep[:, None], start.w, 0.0), a=np.where(keep, start.a, 0.0))
    return replace(plan, companions=(Companion("zeroed", zeroed, plan.times),))


def _zeros_stay_zero(evidence: Evidence) -> Comparison:
    """Neurons that start at zero, of the run and of its companion, over all snapshots and the end."""
    moved = total = 0
    for run in (evidence.run, evidence.companions.get("zeroed")):
        if run is not None:
            begin = run.problem.network
            still = ~np.any(begin.w != 0.0, axis=1) & (begin.a == 0.0)
            for network in (*(s.network for s in run.snapshots), run.network):
                total += int(np.sum(still))
                moved += int(np.sum(np.any(network.w[still] != 0.0, axis=1) | (network.a[still] != 0.0)))
    return none_of(moved, total=total, detail=f"{moved} of {total} states of neurons that start at zero are not zero")


def _quadrature_plan(evidence: Evidence) -> FlowPlan:
    pieces = _pieces(evidence)
    return FlowPlan(times=tuple(sorted({t for piece in pieces for t in (*_nodes(*piece).tolist(), *piece)})))


def _pieces(evidence: Evidence) -> list[tuple[float, float]]:
    """Intervals between predicted crossings, each short enough for four nodes."""
    marks = landmarks(evidence)
    edges = [0.0]
    for crossing in (*marks.crossings, marks.alignment + 0.4):
        if crossing - edges[-1] > SMALLEST_PIECE:
            pieces = math.ceil((crossing - edges[-1]) / 0.2)
            edges += list(np.linspace(edges[-1], crossing, pieces + 1)[1:])
    return [(float(a), float(b)) for a, b in pairwise(edges)]


def _caratheodory_residual(evidence: Evidence) -> Comparison:
    """|theta(t) - theta(s) - int_s^t F| over |theta(s)|, summed over the pieces between predicted crossings."""
    by_time = {moment.time: moment for moment in moments(evidence)}
    scale, total = evidence.network.log_scale, 0.0
    try:
        for left, right in _pieces(evidence):
            integral = np.zeros((evidence.network.num_neurons, evidence.dataset.d + 1))
            for node, weight in zip(_nodes(left, right).tolist(), WEIGHTS, strict=True):
                moment = by_time[node]
                factor = 0.5 * (right - left) * weight * math.exp(moment.network.log_scale - scale)
                w, a = moment.network.w, moment.network.a
                integral += factor * np.column_stack([a[:, None] * moment.pulls, np.sum(w * moment.pulls, axis=1)])
            states = [by_time[t].network for t in (left, right)]
            start, end = (np.column_stack([n.w, n.a]) * math.exp(n.log_scale - scale) for n in states)
            total += float(np.linalg.norm(end - start - integral) / np.linalg.norm(start))
    except KeyError as error:
        return missing(f"a snapshot at time {error.args[0]}")
    allowed = evidence.parameter("rtol") + _kink_allowance(evidence)
    return at_most(
        total, allowed, detail=f"the integral equation is met to {total:.3g} relative, allowed {allowed:.3g}"
    )


def _kink_allowance(evidence: Evidence) -> float:
    """What a kink off the edges of its piece can do to the quadrature: its distance times twice the largest pull."""
    data, edges = data_constants(evidence), np.array([t for piece in _pieces(evidence) for t in piece])
    times = np.array([event.time for event in evidence.run.events if event.time < edges[-1]])
    shifts = np.min(np.abs(times[:, None] - edges), axis=1) if times.size else np.zeros(1)
    return float(2.0 * data.n * data.largest_norm * np.sum(shifts))


def _sublevel_growth(evidence: Evidence) -> Values:
    """|grad L|/(X_max L(0) |theta|), at most 1 on the sublevel set of L(0)."""
    bound = data_constants(evidence).largest_norm * evidence.problem.initial_loss
    for moment in moments(evidence):
        w, a = moment.network.w / moment.gauge, moment.network.a / moment.gauge
        size = math.sqrt(float(np.sum(a**2) + np.sum(w**2)))
        yield math.sqrt(moment.gauged_gradient_square) / (bound * size)


def _one_sample(evidence: Evidence, label: float) -> Comparison:
    data = evidence.dataset
    fits = data.n == 1 and data.d == 2 and data.y[0] == label and np.array_equal(data.X[0], [1.0, 0.0])
    return judgement(bool(fits), None, f"{data.n} samples in dimension {data.d}")


def _euler_stops(evidence: Evidence) -> Values:
    """Euler with sigma'(0) = c moves to -eta c and stays; deviations from that over the steps tried."""
    slope = evidence.parameter("slope")
    return (np.abs(_euler(evidence, step)[1:] + step * slope) for step in STEPS)


def _euler(evidence: Evidence, step: float) -> FloatArray:
    """w_1 along Euler's steps from the hyperplane, with sigma'(0) = c."""
    slope = evidence.parameter("slope")
    return evidence.witness(
        f"euler {step:g}", lambda: euler_path(label=-1.0, slope_at_zero=slope, step=step, num_steps=50)
    )


def _limit_is_no_solution(evidence: Evidence) -> Comparison:
    """The limit of Euler's paths, extrapolated to step 0, put into the integral equation by quadrature."""
    slope, time = evidence.parameter("slope"), evidence.parameter("time")
    coarse, fine = (float(_euler(evidence, step)[-1]) for step in STEPS[-2:])
    extrapolated = fine + (fine - coarse) * STEPS[-1] / (STEPS[-2] - STEPS[-1])
    limit = 0.0 if abs(extrapolated) <= 1e-9 * slope else extrapolated

    def path(times: FloatArray) -> FloatArray:
        return np.column_stack([np.where(times > 0.0, limit, 0.0), np.ones_like(times)])

    residual = path_residual(path, time, label=-1.0, slope_at_zero=slope)
    words = (
        f"Euler tends to w_1 = {limit:.3g}, whose integral equation misses by {residual:.6g}; c t = {slope * time:.6g}"
    )
    return equals(residual, slope * time, atol=1e-9 * slope * time, detail=words)


@drawn("resting")
def _resting(evidence: Evidence) -> Callable[[FloatArray], FloatArray]:
    """The path that stays at w_1 = 0, a = 1."""
    return lambda t: np.column_stack([np.zeros_like(t), np.ones_like(t)])


def _constant_solves(evidence: Evidence, label: float) -> float:
    end = evidence.parameter("time")
    return path_residual(_resting(evidence), end, label=label, slope_at_zero=0.0)


def _filippov_rests(evidence: Evidence) -> float:
    """Remark 6: how far the velocity of the resting path is from the segment between those on the two sides."""
    end, tiny = evidence.parameter("time"), 1e-12
    states = _resting(evidence)(np.array([0.0, end]))
    velocity = (states[1] - states[0]) / end
    sides = [
        np.ravel(boundary_field(np.array([w]), states[:1, 1], label=1.0, slope_at_zero=0.0)) for w in (-tiny, tiny)
    ]
    share = float(np.clip((velocity - sides[0]) @ (sides[1] - sides[0]) / np.sum((sides[1] - sides[0]) ** 2), 0.0, 1.0))
    return float(np.linalg.norm(velocity - sides[0] - share * (sides[1] - sides[0])))


def _leaving_solves(evidence: Evidence) -> Values:
    """Residual of 'wait, then leave' for three waits."""
    end = evidence.parameter("time")
    for wait in (0.0, 0.25 * end, 0.7 * end):
        path = evidence.witness(f"leaving {wait:g}", partial(LeavingPath, wait))
        breaks = (wait, *(wait + t for t in (0.1, 0.3, 1.0)))
        yield path_residual(path, end, label=1.0, slope_at_zero=0.0, breaks=breaks)


def _solutions_differ(evidence: Evidence) -> Comparison:
    end, path = evidence.parameter("time"), evidence.witness("leaving 0", LeavingPath)
    distance = float(abs(path(np.array([end]))[0, 0]))
    words = f"at t = {end:g} the leaving solution has w_1 = {distance:.6g}, the constant one 0"
    return at_least(distance, 1e-6, detail=words)
