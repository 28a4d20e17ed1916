"""Names of phases stay within the picture."""

import numpy as np

import reluflow
from reluflow.viz.loss_phases import plot_loss_phases


def test_the_name_of_a_short_last_phase_is_not_cut():
    """A run that ended soon after it began to converge had the letters "convergenc" at the edge of its report."""
    data = reluflow.load("three-points")
    network = reluflow.balanced_initialization(data, width=20, scale=1e-3, rng=np.random.default_rng(0))
    problem = reluflow.TrainingProblem(data, reluflow.SquareLoss(), network)
    run = reluflow.train(problem, reluflow.EventDrivenFlow(rtol=1e-8))
    last = next(phase for phase in run.phases if phase.name == "convergence")
    cut = reluflow.train(problem, reluflow.EventDrivenFlow(rtol=1e-8), until=1.01 * last.start)
    figure = plot_loss_phases(cut)
    figure.canvas.draw()
    for words in figure.axes[0].texts:
        box = words.get_window_extent()
        assert box.x0 >= 0.0
        assert box.x1 <= figure.bbox.x1, words.get_text()
