"""A state as the `reluflow` command and as Python lines, to copy and run elsewhere."""

from __future__ import annotations

import shlex

from reluflow.losses import LOSSES
from reluflow.web.state import INFINITE_NODES, RTOL, RunState

DATA_FILE, NEURON_FILE = "data.csv", "neurons.csv"


def command_line(state: RunState, *, verb: str = "train") -> str:
    """The command that gives the same run; data and neurons placed by hand are read from the files the page offers.

    >>> from reluflow.web.state import read_state
    >>> command_line(read_state({"scale": "1e-400"}))
    'reluflow train three-points --loss square --width 60 --scale 1e-400 --init balanced --seed 0 --rtol 1e-05'
    """
    words = ["reluflow", verb, state.name if state.X is None else DATA_FILE]
    if state.bias:
        words.append("--bias")
    words += ["--loss", state.loss]
    if state.reduction != "mean":
        words += ["--reduction", state.reduction]
    if state.factor != 1.0:
        words += ["--factor", repr(state.factor)]
    if state.leak != 0.0:
        words += ["--leak", repr(state.leak)]
    if state.w is not None:
        words += ["--init", NEURON_FILE]
    else:
        words += ["--width", "inf" if state.width is None else str(state.width), "--scale", state.scale]
        words += ["--init", state.init, "--seed", str(state.seed)]
    if state.method == "gd" and verb == "train":
        words += ["--method", "gd", "--lr", repr(state.lr), "--iterations", str(state.iterations)]
    elif verb == "train":
        words += ["--rtol", repr(RTOL)]
    return shlex.join(words)


def python_lines(state: RunState) -> str:
    """The same run in Python, complete in itself."""
    lines = ["import reluflow"]
    loss = LOSSES[state.loss].__name__
    if state.X is not None and state.y is not None:
        lines += [
            f"X = {_rows(state.X.tolist())}",
            f"y = {state.y.tolist()!r}",
            f"data = reluflow.Dataset(X, y, name={state.name!r})",
        ]
    else:
        lines.append(f"data = reluflow.load({state.name!r}, seed={state.seed})")
    if state.bias:
        lines.append("data = data.with_bias()")
    lines.append(f"loss = reluflow.{loss}(reduction={state.reduction!r}, factor={state.factor!r})")
    if state.w is not None and state.a is not None:
        lines += [
            "from reluflow.network import log_of_scale",
            f"w = {_rows(state.w.tolist())}",
            f"a = {state.a.tolist()!r}",
            f"network = reluflow.Network(w, a, leak={state.leak!r}, log_scale=log_of_scale({state.scale!r}))",
        ]
    elif state.width is None:
        lines += [
            "from reluflow.network import circle_quadrature",
            "network = circle_quadrature(",
            f"    data, num_nodes={INFINITE_NODES}, scale={state.scale!r}, leak={state.leak!r}",
            ")",
        ]
    else:
        lines += [
            "from reluflow.network import initialization_named, neuron_rng",
            f"network = initialization_named({state.init!r})(",
            f"    data, width={state.width}, scale={state.scale!r}, rng=neuron_rng({state.seed}), leak={state.leak!r}",
            ")",
        ]
    lines.append("problem = reluflow.TrainingProblem(data, loss, network)")
    if state.method == "gd":
        lines += [
            "from reluflow.dynamics.stopping import Exhausted",
            f"solver = reluflow.GradientDescent(lr={state.lr!r}, iterations={state.iterations})",
            "trajectory = reluflow.train(problem, solver, until=Exhausted())",
        ]
    else:
        lines += [
            "from reluflow.endings.levelling import may_be_stiff",
            f"solver = reluflow.choose_flow(problem, rtol={RTOL!r}, to_the_end=may_be_stiff(problem)).solver",
            "trajectory = reluflow.train(problem, solver, until=reluflow.end_of_training(problem))",
        ]
    lines += ["print(trajectory)", "print(reluflow.certified_limit(trajectory))"]
    return "\n".join(lines) + "\n"


def _rows(rows: list[list[float]]) -> str:
    return "[" + ", ".join(repr(row) for row in rows) + "]"
