"""A state as the `reluflow` command and as Python lines, to copy and run elsewhere."""

from __future__ import annotations

from dataclasses import replace

from reluflow.experiment import Experiment

DATA_FILE, NEURON_FILE = "data.csv", "neurons.csv"


def command_line(state: Experiment, *, verb: str = "train") -> str:
    """The command that gives the same run; data and neurons placed by hand are read from the files the page offers.

    >>> from reluflow.lab.state import read_state
    >>> command_line(read_state({"scale": "1e-400"}))
    'reluflow train three-points --loss square --width 60 --scale 1e-400 --rtol 1e-05'
    """
    usual = Experiment("three-points")
    if state.X is not None:
        state = replace(state, data=DATA_FILE, X=None, y=None)
    if state.neurons is not None:  # the file holds them with their scale
        state = replace(state, init=NEURON_FILE, neurons=None, width=usual.width, scale=usual.scale, seed=usual.seed)
    if state.width != "inf" or verb == "study":
        state = replace(state, nodes=usual.nodes)
    if verb == "study":  # which chooses its own solver, and runs the flow
        state = replace(state, method="flow", rtol=None, lr=usual.lr, iterations=None)
    return state.command(verb)


def python_lines(state: Experiment) -> str:
    """The same run in Python, complete in itself."""
    return (state if state.width == "inf" else replace(state, nodes=Experiment("three-points").nodes)).python_lines()
