"""A run as a moving picture: neurons turn first, then grow, then fit the line."""

from pathlib import Path

import numpy as np

import reluflow
from reluflow.viz.function_frames import function_frames
from reluflow.viz.run_animation import save_run_animation

experiment = reluflow.Experiment("three-points", width=60, scale="1e-3")
problem = experiment.problem()
times = np.concatenate([np.linspace(0.0, 9.0, 30), np.linspace(9.2, 13.0, 30), np.geomspace(13.5, 60.0, 10)])
trajectory = reluflow.train(problem, reluflow.EventDrivenFlow(), times=times, until=61.0)

networks = [snapshot.network for snapshot in trajectory.snapshots]
weights = np.array([network.w * np.exp(network.log_scale) for network in networks])
norms = np.linalg.norm(weights, axis=2)
shown = np.maximum(1.0 + np.log10(norms / norms.max()) / 5.0, 1e-3)  # distance from the centre: five decades of size
places = weights / norms[..., None] * shown[..., None]
signs = np.array([np.sign(network.a) for network in networks])
captions = [f"t = {snapshot.time:.1f}     loss {snapshot.loss:.4f}" for snapshot in trajectory.snapshots]

frames = function_frames(networks, problem.dataset)
print(save_run_animation(places, signs, captions, frames, Path("moving_picture.gif"), frames_per_second=10))
