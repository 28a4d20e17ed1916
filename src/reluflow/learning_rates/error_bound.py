"""How far descent may be from the flow, to first order in the learning rate, computed along the flow alone.

Descent at rate lr follows theta' = -g - (lr/2) H g up to terms of order lr^2, with g the gradient and H the Hessian.
So between two walls the distance e of the parameters obeys |e|' <= -lambda_min(H) |e| + (lr/2) |H g|, and an output is
at most max_k |dh_k/dtheta| |e| away. Where a neuron of the flow crosses a wall the velocity jumps, from F to F + D, and
two things are added: descent crosses at another time, which multiplies e by at most the norm of I + D n^T / <n, F>,
with n the normal of the wall; and it crosses in the middle of a step, which adds at most lr |D|. Where the flow slides
along a wall descent chatters across it, and no bound is given from there on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.budget import Budget, count
from reluflow.dynamics.event import Event, EventKind
from reluflow.learning_rates.reference_flow import ReferenceFlow
from reluflow.learning_rates.sharpness import Hessian, piece_of
from reluflow.network import Network

_OPERATIONS_A_HESSIAN = 1e3  # at both ends of a stretch, for each product of a neuron with a sample, of 1e9 a second
_CROSSINGS = (EventKind.REFRACTION, EventKind.DEATH)
_MOST_PER_TIME = 4  # crossings for each time that is asked for: with more of them there is no bound from the first on


@dataclass(frozen=True, eq=False)
class AlongTheFlow:
    """Curvature along the flow, at some times, shape (T,) each; a time at which a wall is crossed stands there twice.

    Parameters
    ----------
    times
        When.
    largest, smallest
        Ends of the spectrum of the Hessian.
    bound
        Largest distance of an output of descent from the flow's, per unit of lr, to first order, while no gate differs;
        infinite where there is none.
    """

    times: FloatArray
    largest: FloatArray
    smallest: FloatArray
    bound: FloatArray

    def bound_at(self, time: float) -> float:
        """The bound at a time, per unit of lr: that of the next time at which it is known."""
        at = int(np.searchsorted(self.times, time))
        return float(self.bound[at]) if at < len(self.bound) else np.inf

    def largest_bound(self, until: float) -> float:
        """The largest bound up to a time, per unit of lr; infinite where it is not known up to there."""
        return max(self.bound_at(until), float(np.max(self.bound[self.times <= until], initial=0.0)))


def curvature_along(reference: ReferenceFlow, *, num_times: int = 48, max_seconds: float = np.inf) -> AlongTheFlow:
    """Measure the Hessian along the flow up to the horizon of the comparison, or as far as the seconds last."""
    allowed = Budget(max_seconds)
    end = reference.horizon
    grid = np.concatenate([np.linspace(0.0, end, num_times // 2), np.geomspace(end * 1e-3, end, num_times // 2)])
    events, until = _crossings(reference, _MOST_PER_TIME * num_times)
    cuts = np.array([event.time for event in events])
    times = np.unique(np.concatenate([grid, cuts, [min(until, end)]]))
    middles = 0.5 * (times[:-1] + times[1:])  # whose pattern is that of all of the stretch between two times
    asked = np.unique(np.concatenate([times, middles]))
    networks = dict(zip(asked.tolist(), reference.snapshots_at(asked, max_seconds=0.5 * max_seconds), strict=False))
    found: list[tuple[float, float, float, float]] = []  # time, largest, smallest, bound per lr
    distance, before = 0.0, None  # of the parameters, over lr
    for start, stop, middle in zip(times[:-1].tolist(), times[1:].tolist(), middles.tolist(), strict=True):
        if stop not in networks or (allowed.is_spent and found):
            break
        slopes = piece_of(networks[middle], reference.problem.dataset.X)
        if before is not None:
            for event in (event for event in events if event.time == start):
                factor, step = _crossing(reference, networks[start], event, before, slopes)
                distance = factor * distance + step
        first, last = (_numbers(Hessian(reference.problem, networks[at], slopes)) for at in (start, stop))
        if before is None or start in cuts:
            found.append((start, first[1], first[0], _reached(first[3], distance)))
        distance = _grown(distance, stop - start, max(-first[0], -last[0]), 0.5 * max(first[2], last[2]))
        distance = np.inf if stop > until else distance
        found.append((stop, last[1], last[0], _reached(last[3], distance)))
        count(_OPERATIONS_A_HESSIAN * reference.problem.network.num_neurons * reference.problem.dataset.X.size)
        before = slopes
    columns = np.array(found).T if found else np.zeros((4, 0))
    return AlongTheFlow(*columns)


def _crossings(reference: ReferenceFlow, most: int) -> tuple[list[Event], float]:
    """The crossings of the flow within the comparison, and up to when the bound is one of crossings alone."""
    within = [event for event in reference.trajectory.events if event.time < reference.horizon]
    slides = [event.time for event in within if event.kind is EventKind.SLIDE_ENTRY]
    until = min(slides, default=np.inf)
    events = [one for one in within if one.kind in _CROSSINGS and one.sample >= 0 and 0.0 < one.time < until]
    return (events, until) if len(events) <= most else ([], events[0].time)


def _grown(distance: float, span: float, rate: float, source: float) -> float:
    """The distance a while later where it grows at most at this rate and from this source."""
    with np.errstate(over="ignore", invalid="ignore"):  # beyond doubles the bound is infinite: it says nothing there
        factor = np.exp(rate * span)
        from_source = source * (np.expm1(rate * span) / rate if abs(rate * span) > 1e-12 else span)
        found = factor * distance + from_source
    return float(found) if np.isfinite(found) else np.inf


def _reached(derivative: float, distance: float) -> float:
    return derivative * distance if derivative > 0.0 else 0.0


def _crossing(
    reference: ReferenceFlow, network: Network, event: Event, before: FloatArray, after: FloatArray
) -> tuple[float, float]:
    """By how much a crossing multiplies the distance at most, and what the middle of a step adds, over lr."""
    problem, at, j = reference.problem, network.materialized(), event.neuron
    X, normal = problem.dataset.X, problem.dataset.X[event.sample]
    forces = problem.loss.forces(at.outputs(X), problem.dataset.y)
    jump = at.a[j] * (((after[j] - before[j]) * forces) @ X)
    speed = float(normal @ (at.a[j] * ((before[j] * forces) @ X)))
    if not np.any(jump):
        return 1.0, 0.0
    if speed == 0.0:
        return np.inf, np.inf
    along, size = float(normal @ jump) / speed, float(np.linalg.norm(jump) * np.linalg.norm(normal)) / abs(speed)
    trace = 2.0 + 2.0 * along + size**2  # of M^T M in the plane of the jump and the normal, with M = I + D n^T / <n, F>
    largest = 0.5 * (trace + np.sqrt(max(trace**2 - 4.0 * (1.0 + along) ** 2, 0.0)))
    return float(np.sqrt(largest)), float(np.sqrt(at.weight[j]) * np.linalg.norm(jump))


def _numbers(hessian: Hessian) -> tuple[float, float, float, float]:
    """Both ends of the spectrum, |H g|, and the largest derivative of an output."""
    low, high = hessian.ends()
    return low, high, float(np.linalg.norm(hessian.times(hessian.gradient))), hessian.largest_derivative
