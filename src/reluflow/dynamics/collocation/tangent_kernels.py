"""Machine-code kernel for what sliding takes away from the tangent kernel: the samples' parts normal to the walls."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatMatrix, IntVector, SignMatrix
from reluflow.compilation.kernel import borrowing_kernel
from reluflow.dynamics.collocation.tuning import DEPENDENT_SQUARE


@borrowing_kernel(entry=True, fastmath={"reassoc", "contract"})
def normal_rows(
    sides: SignMatrix,
    first_sample: IntVector,
    gram: FloatMatrix,
    outer: FloatMatrix,
    starts: IntVector,
    out: FloatMatrix,
) -> None:
    """For each neuron, what the samples have along an orthonormal basis of its walls' normals, times `outer`.

    Cholesky's decomposition of the samples' Gram matrix, wall by wall; rows `starts[j]` onwards of `out` are written.
    """
    for j in range(sides.shape[0]):
        first, count = starts[j], 0
        for b in range(sides.shape[1]):
            if sides[j, b] != 0:
                continue
            k = first_sample[b]
            row, source = out[first + count], gram[k]
            for place in range(row.shape[0]):
                row[place] = source[place]
            for i in range(count):
                above = out[first + i]
                part = above[k]
                for place in range(row.shape[0]):
                    row[place] -= part * above[place]
            square = row[k]
            if square <= DEPENDENT_SQUARE * source[k]:
                continue
            factor = 1.0 / np.sqrt(square)
            for place in range(row.shape[0]):
                row[place] *= factor
            count += 1
        for i in range(count):
            row = out[first + i]
            for place in range(row.shape[0]):
                row[place] *= outer[j, place]
        out[first + count : starts[j + 1]] = 0.0
