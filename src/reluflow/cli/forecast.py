"""`reluflow forecast DATASET`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from reluflow.cli.arguments import (
    DEFAULT_SECONDS,
    BiasOption,
    BoundOption,
    DatasetArgument,
    FactorOption,
    InitOption,
    JsonOption,
    LeakOption,
    LossOption,
    ReductionName,
    ReductionOption,
    SeedOption,
    WidthOption,
)
from reluflow.cli.inputs import dataset_from, loss_from, network_from, note_suggested_leak
from reluflow.cli.output import number, print_json, print_table, vector
from reluflow.cli.progress import compile_first, stage_spinner

if TYPE_CHECKING:
    from reluflow.jump_process.process import Jump, JumpProcess, Saddle
    from reluflow.network import Network


def command(
    dataset: DatasetArgument,
    *,
    bias: BiasOption = False,
    loss: LossOption = None,
    reduction: ReductionOption = ReductionName.MEAN,
    factor: FactorOption = 1.0,
    leak: LeakOption = 0.0,
    width: WidthOption = "50",
    init: InitOption = "balanced",
    seed: SeedOption = 0,
    rtol: Annotated[float, typer.Option("--rtol", help="Tolerance of the flow between saddles.")] = 1e-10,
    picture: Annotated[
        Path | None,
        typer.Option(
            "--picture", metavar="FILE", help="Draw the staircase with the flow at 1e-10, 1e-100 and 1e-1000 beside it."
        ),
    ] = None,
    max_seconds: BoundOption = DEFAULT_SECONDS,
    json: JsonOption = False,
) -> None:
    """Follow the flow in the limit of vanishing scale: when it jumps, who escapes, between which levels of the loss.

    Times are in units of log(1/scale); the scale does not matter in this limit, only the directions of (w, a).

    Example: reluflow forecast three-points --width 12 --json
    """
    from reluflow.dynamics.problem import TrainingProblem
    from reluflow.jump_process.forecast import forecast
    from reluflow.warm_up import Work

    data = dataset_from(dataset, bias=bias, seed=seed)
    note_suggested_leak(dataset, leak)
    network = network_from(data, init=init, width=width, scale="1", seed=seed, leak=leak)
    problem = TrainingProblem(data, loss_from(data, loss, reduction, factor), network)
    compile_first(Work.ALIGNMENT, Work.EVENT_DRIVEN_FLOW)
    with stage_spinner() as on_stage:
        on_stage(f"aligning {network.num_neurons} neurons")
        process = forecast(problem, rtol=rtol, max_seconds=max_seconds, progress=on_stage)
        if picture is not None:
            from reluflow.jump_process.comparison import flow_beside
            from reluflow.viz.saving import save_figure
            from reluflow.viz.staircase import plot_staircase

            on_stage("running the flow at three scales")
            save_figure(plot_staircase(process, flow_beside(process, problem)), picture)
    if json:
        print_json(_answer(process))
        return
    print(f"{data.name}: {network.num_neurons} neurons ({init}), times in units of log(1/scale)")
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
    print_table(("clock", "loss before", "loss after", "neurons that escape", "along the extremal vector"), rows)
    print(process.sentence())
    print(
        f"The end is a {process.kind}."
        if process.kind != "fading"
        else "The loss of the fitted samples tends to 0 without reaching it."
    )
    for remark in process.remarks if process.is_exact else ():
        print(f"Open, but without consequence: {remark}")


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
