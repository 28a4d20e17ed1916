"""Inputs in three dimensions: the sphere of directions with its activation cones and extremal vectors."""

import numpy as np

import reluflow
from reluflow import viz

rng = np.random.default_rng(3)
X = rng.standard_normal((5, 3))
data = reluflow.Dataset(X, np.sign(X[:, 0] + 0.5 * X[:, 2]), name="five points")
network = reluflow.balanced_initialization(data, width=1000, scale=1e-3, rng=rng)
problem = reluflow.TrainingProblem(data, reluflow.LogisticLoss(), network)
print(reluflow.extremal_vectors(problem))
print(reluflow.align(problem))
viz.save_figure(viz.plot_sphere_geometry(data, reluflow.LogisticLoss()), "sphere_of_directions.png")
