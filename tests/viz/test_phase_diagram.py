import numpy as np
import pytest

from reluflow.errors import InvalidInputError
from reluflow.viz.phase_diagram import PhaseMap, Threshold, Zone, cell_edges, plot_phase_maps


def step_map(**more):
    x, y = [1.0, 2.0, 3.0, 4.0], [1e-3, 1e-2, 1e-1]
    values = np.where(np.arange(4) < 2, 0.0, 1.0) * np.ones((3, 1))
    return PhaseMap("title", "x", "y", "share", x, y, values, y_scale="log", limits=(0.0, 1.0), **more)


def test_the_boundary_runs_where_the_quantity_passes_the_level():
    figure = plot_phase_maps([step_map()])
    boundary = next(part for part in figure.axes[0].collections if part.get_gid() == "boundary")
    points = np.concatenate([path.vertices for path in boundary.get_paths()])
    np.testing.assert_allclose(points[:, 0], 2.5)


def test_what_a_theory_says_is_in_the_legend():
    zone, line = Zone(1.5, 2.5, "a theorem's box"), Threshold((1.0, 4.0), (1e-3, 1e-1), "a theorem's line")
    figure = plot_phase_maps([step_map(zones=[zone], thresholds=[line])])
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert labels == ["measured boundary (0.5)", "a theorem's box", "a theorem's line"]


def test_cells_meet_half_way():
    np.testing.assert_allclose(cell_edges([1.0, 3.0], "linear"), [0.0, 2.0, 4.0])
    np.testing.assert_allclose(cell_edges([1e-4, 1e-2, 1.0], "log"), [1e-5, 1e-3, 1e-1, 10.0])
    np.testing.assert_allclose(cell_edges([5.0], "linear"), [4.5, 5.5])


def test_refusals():
    with pytest.raises(InvalidInputError, match="`maps` must hold at least one"):
        plot_phase_maps([])
    with pytest.raises(InvalidInputError, match="`values` must have shape"):
        plot_phase_maps([PhaseMap("", "", "", "", [1.0, 2.0], [1.0], np.zeros((2, 2)))])
