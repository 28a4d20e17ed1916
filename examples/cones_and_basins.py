"""Activation cones, extremal vectors and basins of four points in two classes: all of it before training."""

import reluflow
from reluflow import viz

problem = reluflow.Experiment("min-toy").problem()
cones = reluflow.activation_cones(problem.dataset.X)
print(f"{len(cones)} cones; {reluflow.extremal_vectors(problem)}")
viz.save_figure(viz.plot_plane_geometry(problem.dataset, problem.loss), "cones_and_basins.png")
