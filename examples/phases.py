"""The phases of a run: alignment, growth, fitting, convergence, with the loss of the best line."""

import reluflow
from reluflow import viz

problem = reluflow.Experiment("three-points", width=200, scale="1e-3").problem()
trajectory = reluflow.train(problem, reluflow.EventDrivenFlow())
for phase in trajectory.phases:
    print(f"{phase.name}: {phase.start:.4g} to {phase.end:.4g}")
viz.save_figure(viz.plot_loss_phases(trajectory, reference_loss=0.08752), "phases.png")
