"""Why did my wide network fit a straight line? The three points of Boursier & Flammarion (2024) in twenty lines."""

import numpy as np

import reluflow
from reluflow import viz

data = reluflow.load("three-points")
loss = reluflow.SquareLoss()

network = reluflow.balanced_initialization(data, width=1000, scale=1e-3, rng=np.random.default_rng(0))
problem = reluflow.TrainingProblem(data, loss, network)

# One extremal vector: every positive neuron that is not dead turns towards it, whatever the width.
print(reluflow.extremal_vectors(problem).vectors)

# The exact flow from a small balanced initialisation ends on the least-squares line, with a loss that is not zero.
trajectory = reluflow.train(problem, reluflow.EventDrivenFlow())
for phase in trajectory.phases:
    print(f"{phase.name}: {phase.start:.3g} to {phase.end:.3g}")
limit = reluflow.certified_limit(trajectory)
print(trajectory.predictions, trajectory.loss, limit.certificate.kind)

viz.save_figure(viz.plot_plane_geometry(data, loss), "geometry.png")
viz.save_figure(viz.plot_network_function(limit.network, data), "function.png")
