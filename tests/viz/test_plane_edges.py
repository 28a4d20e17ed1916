"""Edges of h > 0 in the plane against the signs of h itself."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reluflow.network import Network
from reluflow.viz.plane_edges import edge_angles, edge_rays


@given(seed=st.integers(0, 10_000), width=st.integers(1, 12), leak=st.sampled_from([0.0, 0.2, 1.0]))
def test_h_changes_sign_at_the_edges_and_nowhere_else(seed, width, leak):
    rng = np.random.default_rng(seed)
    network = Network(rng.standard_normal((width, 2)), rng.standard_normal(width), leak=leak)
    edges = edge_angles(network)
    angles = np.linspace(-np.pi, np.pi, 4001)[:-1] + 1e-5
    values = network.outputs(np.column_stack([np.cos(angles), np.sin(angles)]))
    is_positive = values > 1e-12 * np.max(np.abs(values), initial=0.0)
    between = np.searchsorted(edges, angles)
    for number in range(len(edges) + 1):
        assert len(set(is_positive[between == number].tolist())) <= 1
    for low, high in itertools.pairwise(edges):
        if np.count_nonzero((angles > low) & (angles < high)) > 1:
            index = np.searchsorted(angles, high)
            assert is_positive[index - 1] != is_positive[index % len(angles)]


def test_rays_end_at_the_window():
    (up, down) = edge_rays(Network([[1.0, 0.0]], [1.0]), (-1.0, 2.0, -3.0, 4.0))
    np.testing.assert_allclose(np.sort(np.abs(np.stack([up[1], down[1]])[:, 1])), [3.0, 4.0])
    assert edge_rays(Network([[1.0, 0.0]], [1.0]), (1.0, 2.0, -3.0, 4.0)) == ()


def test_a_network_that_is_zero_has_no_edge():
    assert edge_angles(Network([[0.0, 0.0]], [1.0])).size == 0
    assert edge_angles(Network([[1.0, 1.0]], [0.0])).size == 0
