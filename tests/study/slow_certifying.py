"""A task of a study whose run ends at once and whose end takes ten minutes to certify, for the process that does it."""

import time

import reluflow
from reluflow.study import flow_summary


def follow(on_step, on_run):
    flow_summary.limit_or_undecided = lambda run, **options: time.sleep(600)
    problem = reluflow.Experiment("three-points", width=5).problem()
    return flow_summary.follow_flow(problem, on_step=on_step, on_run=on_run)
