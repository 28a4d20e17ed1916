"""Rows of the kernel of several outputs, made in parts where its factors do not fit into memory."""

import numpy as np

from reluflow.dynamics.collocation import outputs_kernel
from reluflow.dynamics.collocation.outputs_kernel import OutputsKernel
from reluflow.geometry.boundary.walls import Walls


def test_rows_made_in_parts_are_the_rows(monkeypatch, rng):
    """A run on 30,912 images in five classes asked for 45 GiB in its third step, and ended with a MemoryError."""
    X, z = rng.standard_normal((9, 4)), rng.standard_normal((5, 7))
    walls = Walls.of(X)
    kernel = OutputsKernel(z, np.ones(5), walls, 0.1, X, heights=z[:, :4] @ walls.normals.T)
    forces = np.array([0, 5, 26])
    whole = kernel.rows(forces)
    monkeypatch.setattr(outputs_kernel, "_MOST_NUMBERS", 4 * kernel.num_factors)
    np.testing.assert_allclose(kernel.rows(forces), whole, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(whole[:, forces].diagonal(), kernel.diagonal()[forces], rtol=1e-12)
