"""How far descent may be from the flow, to first order in the learning rate, computed along the flow alone.

Descent at rate lr follows theta' = -g - (lr/2) H g up to terms of order lr^2, with g the gradient and H the Hessian, as
long as its neurons meet no wall at another time than the flow's. So the distance e of the parameters obeys
|e|' <= -lambda_min(H) |e| + (lr/2) |H g|, and an output is at most max_k |dh_k/dtheta| |e| away.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.learning_rates.reference_flow import ReferenceFlow
from reluflow.learning_rates.sharpness import Hessian
from reluflow.processor_time import ProcessorTime


@dataclass(frozen=True, eq=False)
class AlongTheFlow:
    """Curvature along the flow, at some times, shape (T,) each.

    Parameters
    ----------
    times
        When.
    largest, smallest
        Ends of the spectrum of the Hessian.
    bound
        Largest distance of an output of descent from the flow's, per unit of lr, to first order, while no gate differs.
    """

    times: FloatArray
    largest: FloatArray
    smallest: FloatArray
    bound: FloatArray

    def bound_at(self, time: float) -> float:
        """The bound at a time, per unit of lr."""
        return float(np.interp(time, self.times, self.bound))


def curvature_along(reference: ReferenceFlow, *, num_times: int = 48, max_seconds: float = np.inf) -> AlongTheFlow:
    """Measure the Hessian along the flow up to the horizon of the comparison, or as far as the seconds last."""
    allowed = ProcessorTime(max_seconds)
    end = reference.horizon
    late = np.linspace(0.0, end, num_times // 2)
    times = np.unique(np.concatenate([late, np.geomspace(end * 1e-3, end, num_times // 2)]))
    networks = reference.snapshots_at(times, max_seconds=0.5 * max_seconds)
    measured = []
    for network in networks:
        measured.append(_numbers(Hessian(reference.problem, network)))
        if allowed.is_spent:
            break
    times = times[: len(measured)]
    smallest, largest, source, reach = np.array(measured).T
    parameters = np.zeros(len(times))  # bound of |e| / lr
    for at in range(1, len(times)):
        span = times[at] - times[at - 1]
        with np.errstate(over="ignore"):  # beyond doubles the bound is infinite: it says nothing there
            growth = np.exp(-0.5 * span * (smallest[at] + smallest[at - 1]))
            parameters[at] = growth * (parameters[at - 1] + 0.25 * span * source[at - 1]) + 0.25 * span * source[at]
    return AlongTheFlow(times, largest, smallest, reach * parameters)


def _numbers(hessian: Hessian) -> tuple[float, float, float, float]:
    """Both ends of the spectrum, |H g|, and the largest derivative of an output."""
    low, high = hessian.ends()
    return low, high, float(np.linalg.norm(hessian.times(hessian.gradient))), hessian.largest_derivative
