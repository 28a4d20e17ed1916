"""`reluflow forecast DATASET`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from reluflow.cli.arguments import dataset_argument, json_option, max_seconds_option, path_option
from reluflow.cli.inputs import dataset_of
from reluflow.cli.output import number, print_json, print_table, vector
from reluflow.cli.progress import compile_first, stage_spinner
from reluflow.cli.run_options import DATA, LOSS, GivenOptions, run_options

if TYPE_CHECKING:
    from reluflow.network import Network
    from reluflow.vanishing_scale.process import Jump, JumpProcess, Saddle


@click.command()
@dataset_argument()
@run_options(
    *DATA,
    *LOSS,
    "leak",
    "width",
    "init",
    "rtol",
    width=50,
    scale="1",
    rtol=1e-10,
    words={"rtol": "Tolerance of the flow between saddles."},
)
@path_option("--picture", "FILE", "Draw the staircase with the flow at 1e-10, 1e-100 and 1e-1000 beside it.")
@max_seconds_option()
@json_option
def command(dataset: str | None, *, run: GivenOptions, picture: Path | None, max_seconds: float, json: bool) -> None:
    """Follow the flow in the limit of vanishing scale: when it jumps, who escapes, between which levels of the loss.

    Times are in units of log(1/scale); the scale does not matter in this limit, only the directions of (w, a).

    Example: reluflow forecast three-points --width 12 --json
    """
    from reluflow.vanishing_scale.forecast import forecast
    from reluflow.warm_up import Work

    experiment = run.experiment(dataset)
    data = dataset_of(experiment)
    problem = experiment.problem(data)
    network = problem.network
    compile_first(Work.ALIGNMENT, Work.EVENT_DRIVEN_FLOW)
    with stage_spinner() as on_stage:
        on_stage(f"aligning {network.num_neurons} neurons")
        process = forecast(problem, rtol=experiment.rtol or 1e-10, max_seconds=max_seconds, progress=on_stage)
        if picture is not None:
            from reluflow.vanishing_scale.comparison import flow_beside
            from reluflow.viz.saving import save_figure
            from reluflow.viz.staircase import plot_staircase

            on_stage("running the flow at three scales")
            save_figure(plot_staircase(process, flow_beside(process, problem)), picture)
    if json:
        print_json(_answer(process))
        return
    print(f"{data.name}: {network.num_neurons} neurons ({experiment.init}), times in units of log(1/scale)")
    rows = [
        (
            number(jump.clock, 7),
            number(jump.loss_before, 7),
            number(jump.loss_after, 7),
            str(len(jump.neurons)),
            "; ".join(vector(D) for D, _ in jump.bundles()),
        )
        for jump in process.jumps
    ]
    if rows:
        print_table(("clock", "loss before", "loss after", "neurons that escape", "along the extremal vector"), rows)
    print(process.sentence())
    print(_words_of_end(process))
    for remark in process.remarks if process.is_exact else ():
        print(f"Open, but without consequence: {remark}")


def _words_of_end(process: JumpProcess) -> str:
    from reluflow.certificates.certificate import Kind

    if process.kind == "fading":
        return "The loss of the fitted samples tends to 0 without reaching it."
    if process.kind == Kind.NOT_STATIONARY:
        return "The last state found is not stationary: the path goes on from there."
    if process.kind == Kind.UNDECIDED:
        return "What the last state found is was not decided."
    point = "point" if process.kind == Kind.STATIONARY else ""
    return f"{'The end' if process.is_exact else 'The last state found'} is a {process.kind} {point}".rstrip() + "."


def _answer(process: JumpProcess) -> dict[str, Any]:
    return {
        "jumps": [_jump(jump, saddle) for jump, saddle in zip(process.jumps, process.saddles[1:], strict=True)],
        "end": {
            "loss": process.loss,
            "kind": process.kind,
            "proof": process.certificate.is_proved and process.is_exact and process.kind != "fading",
            "network": _neurons(process.network),
            "ignored": np.flatnonzero(~process.faded) if np.any(process.faded) else [],
        },
        "start": {"loss": process.saddles[0].loss},
        "exact": process.is_exact,
        "why": process.why or None,
        "remarks": list(process.remarks),
    }


def _jump(jump: Jump, saddle: Saddle) -> dict[str, Any]:
    bundles = jump.bundles()
    return {
        "clock": jump.clock,
        "loss_before": jump.loss_before,
        "loss_after": jump.loss_after,
        "neurons": jump.neurons,
        "extremal": bundles[0][0],
        "bundles": [{"extremal": D, "rate": float(np.linalg.norm(D)), "neurons": members} for D, members in bundles],
        "delay": jump.delay,
        "fallen_asleep": jump.fallen_asleep,
        "saddle": {
            "kind": str(saddle.certificate.kind),
            "stationarity": saddle.certificate.residuals.get("stationarity"),
            "forces": saddle.forces,
            "network": _neurons(saddle.network),
        },
    }


def _neurons(network: Network) -> list[dict[str, Any]]:
    """The neurons that are awake."""
    awake = np.flatnonzero(np.any(network.w != 0.0, axis=1) | (network.a != 0.0))
    return [{"neuron": int(j), "w": network.w[j], "a": network.a[j]} for j in awake]
