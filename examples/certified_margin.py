"""A classifier to its limit: the direction it tends to, its margin, and the largest margin of any network."""

import reluflow
from reluflow import viz

problem = reluflow.Experiment("min-toy", width=20, scale="1e-3").problem()
trajectory = reluflow.train(problem, reluflow.choose_flow(problem).solver, until=reluflow.LimitIdentified())
limit = reluflow.certified_limit(trajectory)
print(limit)
print(f"its margin: {limit.certificate.margin:.4f}; of any network: {limit.certificate.global_margin:.4f}")
viz.save_figure(viz.plot_network_function(limit.network, problem.dataset), "certified_margin.png")
