"""The limit of vanishing scale: the loss falls in steps, and the flow at small scales approaches them."""

import numpy as np

import reluflow
from reluflow import viz
from reluflow.vanishing_scale.comparison import flow_beside

data = reluflow.Dataset(np.eye(4), [1.0, 0.6, -0.8, -0.3], name="four orthogonal samples")
network = reluflow.balanced_initialization(data, width=12, scale=1.0, rng=np.random.default_rng(5))
problem = reluflow.TrainingProblem(data, reluflow.SquareLoss(), network)
process = reluflow.forecast(problem)
print(process.sentence())
runs = flow_beside(process, problem, scales=("1e-10", "1e-100", "1e-1000"))
viz.save_figure(viz.plot_staircase(process, runs), "staircase.png")
