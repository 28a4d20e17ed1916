"""Machine-code kernels that sum the neurons' outputs from their pre-activations."""

from __future__ import annotations

from reluflow.arrays import FloatCube, FloatMatrix, SingleMatrix
from reluflow.compilation.kernel import borrowing_kernel


@borrowing_kernel(entry=True)
def add_outputs(heights: FloatMatrix, weights: FloatCube, leak: float, outputs: FloatCube) -> None:
    """Add sum_j weights[c, j, p] sigma(heights[j P + p, k]) to `outputs` (K, P, n), for weights of shape (K, m, P)."""
    num_outputs, num_neurons, num_points = weights.shape
    for j in range(num_neurons):
        for point in range(num_points):
            row = heights[j * num_points + point]
            for c in range(num_outputs):  # while the row is at hand
                weight, total = weights[c, j, point], outputs[c, point]
                for k in range(row.shape[0]):
                    total[k] += weight * max(row[k], leak * row[k])


@borrowing_kernel(entry=True)
def add_changed_outputs(
    heights: FloatMatrix, changes: SingleMatrix, weights: FloatCube, leak: float, outputs: FloatCube
) -> None:
    """The same where pre-activations are heights[j, k] + changes[j P + p, k], the changes in single precision."""
    num_outputs, num_neurons, num_points = weights.shape
    for j in range(num_neurons):
        start = heights[j]
        for point in range(num_points):
            row = changes[j * num_points + point]
            for c in range(num_outputs):
                weight, total = weights[c, j, point], outputs[c, point]
                for k in range(row.shape[0]):
                    height = start[k] + row[k]
                    total[k] += weight * max(height, leak * height)
