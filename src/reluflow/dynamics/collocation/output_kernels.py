"""Machine-code kernels that sum the neurons' outputs from their pre-activations."""

from __future__ import annotations

from reluflow.arrays import FloatMatrix, SingleMatrix
from reluflow.compilation.kernel import borrowing_kernel


@borrowing_kernel(entry=True)
def add_outputs(heights: FloatMatrix, weights: FloatMatrix, leak: float, outputs: FloatMatrix) -> None:
    """Add sum_j weights[j, p] sigma(heights[j P + p, k]) to `outputs` (P, n), for weights of shape (m, P)."""
    num_neurons, num_points = weights.shape
    for j in range(num_neurons):
        for point in range(num_points):
            weight, row, total = weights[j, point], heights[j * num_points + point], outputs[point]
            for k in range(row.shape[0]):
                total[k] += weight * max(row[k], leak * row[k])


@borrowing_kernel(entry=True)
def add_changed_outputs(
    heights: FloatMatrix, changes: SingleMatrix, weights: FloatMatrix, leak: float, outputs: FloatMatrix
) -> None:
    """The same where pre-activations are heights[j, k] + changes[j P + p, k], the changes in single precision."""
    num_neurons, num_points = weights.shape
    for j in range(num_neurons):
        start = heights[j]
        for point in range(num_points):
            weight, row, total = weights[j, point], changes[j * num_points + point], outputs[point]
            for k in range(row.shape[0]):
                height = start[k] + row[k]
                total[k] += weight * max(height, leak * height)
