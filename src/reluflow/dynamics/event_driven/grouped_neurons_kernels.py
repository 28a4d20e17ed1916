"""Machine-code kernels over the neurons of a group; tall thin products that a threaded BLAS would only slow down."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reluflow.arrays import BoolVector, FloatArray, FloatCube, FloatMatrix, FloatVector, IntVector, SignVector
from reluflow.compilation.kernel import kernel


class Members(NamedTuple):
    """The neurons as the kernels see and change them; m neurons, G groups."""

    group: IntVector  # (m,)
    shapes: FloatMatrix  # (m, d + 1)
    mass: FloatVector  # (m,) weight e^(2 log norm)
    output_sign: SignVector  # (m,)
    can_change_sign: BoolVector  # (m,)
    expiry: FloatVector  # (m,) a neuron need not be looked at before the path of its group exceeds this
    path: FloatVector  # (G,) how far pre-activations can have moved since the frame of a group was last reset


@kernel()
def moment_of_group(shapes: FloatMatrix, mass: FloatVector, group: IntVector, g: int) -> FloatArray:
    """sum of mass c c^T over the neurons of group g, shape (d + 1, d + 1)."""
    width = shapes.shape[1]
    moment = np.zeros((width, width))
    for j in range(group.shape[0]):
        if group[j] == g:
            for p in range(width):
                factor = mass[j] * shapes[j, p]
                for q in range(p + 1):
                    moment[p, q] += factor * shapes[j, q]
    for p in range(width):
        for q in range(p):
            moment[q, p] = moment[p, q]
    return moment


@kernel()
def through_frames(
    shapes: FloatMatrix, group: IntVector, neurons: IntVector, frames: FloatCube, row_of_group: IntVector
) -> FloatArray:
    """Rows (w, a) of some neurons: their coefficients times the frame of their group, where it has one."""
    width = shapes.shape[1]
    z = np.empty((neurons.shape[0], width))
    for index in range(neurons.shape[0]):
        j = neurons[index]
        row = row_of_group[group[j]]
        for i in range(width):
            if row < 0:
                z[index, i] = shapes[j, i]
            else:
                total = 0.0
                for e in range(width):
                    total += shapes[j, e] * frames[row, e, i]
                z[index, i] = total
    return z


@kernel()
def heights_of(z: FloatMatrix, normals: FloatMatrix) -> FloatArray:
    """<w, normal> for every neuron and wall, shape (m, B)."""
    num_walls, d = normals.shape
    heights = np.empty((z.shape[0], num_walls))
    for j in range(z.shape[0]):
        for b in range(num_walls):
            total = 0.0
            for i in range(d):
                total += z[j, i] * normals[b, i]
            heights[j, b] = total
    return heights
