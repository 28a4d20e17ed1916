"""Up to which learning rate does gradient descent follow the flow?"""

import reluflow
from reluflow import viz
from reluflow.viz.step_size_picture import plot_step_size

problem = reluflow.Experiment("three-points", width=20, scale="1e-2").problem()
answer = reluflow.step_size(problem, rates=[0.8, 0.4, 0.1])
print(answer.sentence())
viz.save_figure(plot_step_size(answer), "learning_rates.png")
