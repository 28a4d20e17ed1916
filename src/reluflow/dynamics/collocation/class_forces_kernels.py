"""Machine-code kernel for the forces of classes relative to a rate."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import BoolVector, FloatCube, FloatVector, IntVector
from reluflow.compilation.kernel import borrowing_kernel
from reluflow.dynamics.shared.flow_kernels import LARGEST_LOG_FORCE


@borrowing_kernel(entry=True)
def share_out(
    logs: FloatCube, own: IntVector, counted: BoolVector, shares: FloatCube, forces: FloatCube, log_rates: FloatVector
) -> None:
    """Sizes of forces and forces relative to the rate, and ln of that, from ln |dl/dh|; arrays (P, n, K) and (P,).

    The rate is the sum over the samples that are `counted` of what pulls the output of their own class up. That is the
    sum of what pulls the others down, so that the forces on a sample cancel to rounding.
    """
    num_points, n, num_outputs = logs.shape
    for point in range(num_points):
        top = -np.inf
        for k in range(n):
            if counted[k]:
                top = max(top, logs[point, k, own[k]])
        total = 0.0
        for k in range(n):
            if counted[k]:
                total += np.exp(logs[point, k, own[k]] - top)
        log_rates[point] = top + np.log(total)
        for k in range(n):
            sum_of_others = 0.0
            for c in range(num_outputs):
                share = np.exp(min(logs[point, k, c] - top, LARGEST_LOG_FORCE)) / total
                shares[point, k, c] = share
                forces[point, k, c] = -share
                if c != own[k]:
                    sum_of_others += share
            forces[point, k, own[k]] = sum_of_others
