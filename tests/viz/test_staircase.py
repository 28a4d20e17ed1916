"""The staircase: levels and clocks of the process, one line per run, on one clock."""

import numpy as np
import pytest

import reluflow
from reluflow.vanishing_scale.comparison import flow_beside
from reluflow.viz import plot_staircase


def test_levels_and_runs_are_drawn():
    data = reluflow.Dataset(np.eye(2), [1.0, -0.5])
    w = np.array([[1.0, -0.2], [-0.3, 1.0]])
    network = reluflow.Network(w, np.linalg.norm(w, axis=1) * [1.0, -1.0])
    problem = reluflow.TrainingProblem(data, reluflow.SquareLoss(), network)
    process = reluflow.forecast(problem)
    runs = flow_beside(process, problem, scales=("1e-10",))
    axes = plot_staircase(process, runs).axes[0]
    stairs = axes.patches[0].get_data()
    assert stairs.values == pytest.approx([0.3125, 0.0625, 0.0], abs=1e-9)
    assert stairs.edges[:3] == pytest.approx([0.0, 2.0, 4.0], abs=1e-9)
    (line,) = axes.get_lines()
    assert line.get_xdata()[-1] == pytest.approx(runs[0].trajectory.times[-1] / (10 * np.log(10)))
    assert len(plot_staircase(process).axes[0].get_lines()) == 0
