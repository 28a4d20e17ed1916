"""Loading the machine code of a run before the first page needs it; on a new machine it is compiled here, once."""

from __future__ import annotations

import importlib
import math


def load_machine_code() -> None:
    """Load, in the process that workers are forked from, what is compiled: they share it, and start with it.

    Not the kernels of descent, whose threads would be started here and be missing in a forked process.
    """
    from reluflow.compilation.parallel import load_compiled
    from reluflow.warm_up import Work

    importlib.import_module("reluflow.lab.answering")
    parallel = {Work.DESCENT, Work.GROUPED_DESCENT}
    load_compiled(module for work in Work if work not in parallel for module in work.modules)


def load_kernels() -> None:
    """Follow small runs through everything a run of a page goes through: both solvers, the limit, descent.

    What is compiled depends on kinds of arrays, not on their sizes, so small problems load all that large ones need.
    """
    from reluflow.dynamics.collocation.collocation_flow import CollocationFlow
    from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
    from reluflow.dynamics.train import train
    from reluflow.lab import adapter
    from reluflow.lab.state import read_state

    for settings in _PROBLEMS:
        state = read_state(settings)
        problem = adapter.problem_of(state)
        adapter.geometry_of(problem)
        for solver in (CollocationFlow(max_steps=_STEPS), EventDrivenFlow(max_steps=_STEPS)):
            trajectory = train(problem, solver, until=state.rule_for(problem))
            adapter.limit_of(trajectory)
    descent = read_state({"method": "gd", "width": 6, "iterations": 50})
    adapter.run_of(descent, adapter.problem_of(descent), lambda run: None)


_STEPS = 200
_CIRCLE = [[math.cos(1 + 0.9 * k), math.sin(1 + 0.9 * k)] for k in range(7)]
_PROBLEMS = (
    {"width": 200},
    {"width": 6, "leak": 0.5},
    {"name": "min-toy", "loss": "logistic", "width": 6},
    {"name": "lyu-orthogonal", "loss": "logistic", "leak": 0.5, "width": 6},
    {"name": "warm", "X": _CIRCLE, "y": [1.0, 1.0, -1.0, -1.0, -1.0, 1.0, 1.0], "loss": "logistic", "width": 12},
    {"name": "warm", "X": _CIRCLE, "y": [float(k % 3) for k in range(7)], "width": 12, "scale": "0.1"},
)
