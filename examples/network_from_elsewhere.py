"""A network trained elsewhere: is it a minimum, and where would the flow take it?"""

import numpy as np

import reluflow
from reluflow import viz

data = reluflow.load("three-points")
w, bias, a = np.array([[0.1], [-0.2]]), np.array([0.8, 0.1]), np.array([0.8, 0.3])
network = reluflow.Network.from_arrays(w, a, hidden_bias=bias)
place = reluflow.assess(reluflow.TrainingProblem(data, "square", network))
print(place)
viz.save_figure(viz.plot_network_function(place.limit.network, data), "network_from_elsewhere.png")
