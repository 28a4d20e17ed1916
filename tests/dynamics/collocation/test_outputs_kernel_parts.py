"""Rows of the kernel of several outputs, made block by block without its factors."""

import tracemalloc

import numpy as np
import pytest

from reluflow.dynamics.collocation.outputs_kernel import OutputsKernel
from reluflow.geometry.boundary.walls import Walls


@pytest.mark.parametrize("moves_outputs", [True, False])
@pytest.mark.parametrize("bias_rate", [0.0, 0.3])
def test_rows_are_products_of_the_factors_with_slides(moves_outputs, bias_rate, rng):
    """Some forces of a sample without the others, as of vector regression; two neurons slide, one on two walls."""
    X, z = rng.standard_normal((9, 4)), rng.standard_normal((5, 7))
    walls = Walls.of(X)
    for j, on in ((1, [2]), (3, [4, 6])):
        basis, _ = np.linalg.qr(walls.normals[on].T)
        z[j, :4] -= basis @ (basis.T @ z[j, :4])
    options = {"heights": z[:, :4] @ walls.normals.T, "moves_outputs": moves_outputs, "bias_rate": bias_rate}
    kernel = OutputsKernel(z, rng.uniform(0.5, 2.0, 5), walls, 0.1, X, **options)
    forces, every = np.array([0, 5, 6, 7, 8, 26]), np.arange(27)
    np.testing.assert_allclose(kernel.rows(forces), kernel.factors(forces) @ kernel.factors(every).T, atol=1e-12)
    np.testing.assert_allclose(kernel.rows(every).diagonal(), kernel.diagonal(), atol=1e-12)


@pytest.mark.parametrize("bias_rate", [0.0, 0.3])
@pytest.mark.parametrize("precision", [np.float64, np.float32])
def test_products_among_some_samples_with_the_kernel_made_or_not(precision, bias_rate, rng):
    """Every product went over all samples, in double precision and neuron by neuron, though few bent the forces."""
    X, z = rng.standard_normal((30, 40)), rng.standard_normal((6, 43))
    walls = Walls.of(X)
    for j, on in ((1, [2]), (3, [4, 6])):
        basis, _ = np.linalg.qr(walls.normals[on].T)
        z[j, :40] -= basis @ (basis.T @ z[j, :40])
    options = {"heights": z[:, :40] @ walls.normals.T, "bias_rate": bias_rate}
    kernel = OutputsKernel(z, rng.uniform(0.5, 2.0, 6), walls, 0.1, X, **options)
    some = np.array([0, 2, 3, 4, 6, 20])
    forces = (3 * some[:, None] + np.arange(3)).ravel()
    columns = rng.standard_normal((18, 5))
    expected = kernel.rows(forces)[:, forces] @ columns
    part = kernel.among(some, np.dtype(precision))
    blocks = part.in_blocks(1000)
    assert part.in_blocks(1) is None
    for made_or_not in (part, blocks):
        found = made_or_not.times(columns.astype(precision))
        assert found.dtype == precision
        np.testing.assert_allclose(found, expected, atol=50.0 * np.finfo(precision).eps * np.max(np.abs(expected)))


@pytest.mark.parametrize("moves_outputs", [True, False])
def test_neurons_of_one_pattern_take_the_columns_of_their_pattern(moves_outputs, rng):
    """Twenty neurons in three patterns, one of which slides, move the outputs as d K weights of each do."""
    X = rng.standard_normal((9, 2))
    walls = Walls.of(X)
    one, two = rng.standard_normal((2, 2))
    directions = np.repeat([one, two, -one], [9, 10, 1], axis=0)
    directions[9:19] -= np.outer(directions[9:19] @ walls.normals[4], walls.normals[4])
    z = np.hstack([rng.uniform(0.5, 2.0, (20, 1)) * directions, rng.standard_normal((20, 3))])
    options = {"heights": z[:, :2] @ walls.normals.T, "moves_outputs": moves_outputs, "bias_rate": 0.1}
    kernel = OutputsKernel(z, rng.uniform(0.5, 2.0, 20), walls, 0.1, X, **options)
    assert kernel.num_factors == 2 * 6 + (5 if moves_outputs else 2) + 3
    every = np.arange(27)
    np.testing.assert_allclose(kernel.rows(every), kernel.factors(every) @ kernel.factors(every).T, atol=1e-12)


def test_rows_take_little_memory_beside_themselves(rng):
    """A run on 30,912 images in five classes asked for 45 GiB in its third step, and ended with a MemoryError."""
    X, z = rng.standard_normal((300, 40)), rng.standard_normal((60, 43))
    walls = Walls.of(X)
    kernel = OutputsKernel(z, np.ones(60), walls, 0.0, X, heights=z[:, :40] @ walls.normals.T)
    tracemalloc.start()
    rows = kernel.rows(np.arange(0, 900, 90))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert kernel.num_factors * 900 * 8 > 50 * rows.nbytes
    assert peak < 10 * rows.nbytes
