"""`reluflow train DATASET`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from reluflow.after_run import Stage
from reluflow.cli.arguments import (
    BiasOption,
    DatasetArgument,
    FactorOption,
    FrozenOutputOption,
    InitOption,
    JsonOption,
    LeakOption,
    LossOption,
    MaxSecondsOption,
    MaxStepsOption,
    OutputBiasChoice,
    OutputBiasOption,
    ReductionName,
    ReductionOption,
    ScaleOption,
    SeedOption,
    WeightDecayOption,
    WidthOption,
)
from reluflow.cli.inputs import loss_from, network_from, note_suggested_leak, reading_from
from reluflow.cli.output import number, print_json, print_table, vector
from reluflow.cli.progress import compile_first, training_bar
from reluflow.cli.solver_options import DeviceChoice, Method, RidgeChoice, SolverChoice
from reluflow.errors import InvalidInputError

if TYPE_CHECKING:
    from reluflow.dynamics.problem import TrainingProblem
    from reluflow.dynamics.solver import AbstractSolver
    from reluflow.dynamics.stopping import AbstractStoppingRule
    from reluflow.dynamics.trajectory import Snapshot, Trajectory
    from reluflow.endings.limit import CertifiedLimit


def command(
    dataset: DatasetArgument,
    *,
    method: Annotated[
        Method, typer.Option("--method", help="Exact flow, gradient descent or its stochastic form.")
    ] = Method.FLOW,
    until: Annotated[
        str | None,
        typer.Option(
            "--until", metavar="RULE|TIME", help="stationary, aligned, direction, or a time; default: by the loss."
        ),
    ] = None,
    horizon: Annotated[float | None, typer.Option("--horizon", metavar="TIME", help="Give up at this time.")] = None,
    bias: BiasOption = False,
    loss: LossOption = None,
    reduction: ReductionOption = ReductionName.MEAN,
    factor: FactorOption = 1.0,
    leak: LeakOption = 0.0,
    weight_decay: WeightDecayOption = 0.0,
    frozen_output: FrozenOutputOption = False,
    width: WidthOption = "100",
    scale: ScaleOption = "1e-3",
    init: InitOption = "balanced",
    output_bias: OutputBiasOption = OutputBiasChoice.REFUSE,
    seed: SeedOption = 0,
    times: Annotated[str, typer.Option("--times", metavar="T1,T2,...", help="Snapshots at exactly these times.")] = "",
    rtol: Annotated[
        float | None,
        typer.Option("--rtol", help="Tolerance of the flow; default: 1e-10, collocation 1e-7."),
    ] = None,
    flow: Annotated[
        SolverChoice, typer.Option("--solver", help="Solver of the flow; auto takes the faster one.")
    ] = SolverChoice.AUTO,
    device: Annotated[
        DeviceChoice, typer.Option("--device", help="Where collocation makes large products; gpu needs JAX.")
    ] = DeviceChoice.CPU,
    ridge: Annotated[
        RidgeChoice, typer.Option("--ridge", help="What to do where the flow is not unique.")
    ] = RidgeChoice.STOP,
    check_rtol: Annotated[
        bool,
        typer.Option(
            "--check-rtol", help="Run the flow again, 100 times as exactly, and name neurons that go elsewhere."
        ),
    ] = False,
    lr: Annotated[float, typer.Option("--lr", help="Learning rate of gd and sgd.")] = 1e-3,
    iterations: Annotated[int | None, typer.Option("--iterations", help="Iterations of gd and sgd.")] = None,
    batch: Annotated[int, typer.Option("--batch", help="Batch size of sgd.")] = 32,
    max_seconds: MaxSecondsOption = None,
    max_steps: MaxStepsOption = None,
    save: Annotated[
        Path | None, typer.Option("--save", metavar="FILE.nc", help="Keep the trajectory (netCDF or .zarr).")
    ] = None,
    save_network: Annotated[
        Path | None,
        typer.Option(
            "--save-network",
            metavar="FILE",
            help="Keep the final network (.npz, .csv, .safetensors); `certify --init` reads it.",
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint", metavar="FILE", help="Keep the run here now and then, and go on from it if it is there."
        ),
    ] = None,
    json: JsonOption = False,
) -> int:
    """Train a network by the exact gradient flow, by gradient descent or by SGD, and certify where it ends.

    The flow is given a minute unless `--max-seconds` says otherwise (`inf`: any time) or there is a `--checkpoint`.
    What a run cut short leaves open is said, and with `--checkpoint` the same command goes on. Where certifying the end
    fails, the run is printed all the same, with limit `undecided`.

    Example: reluflow train three-points --width 200 --scale 1e-3 --json
    """
    check_places(save, save_network)
    from reluflow.dynamics.checkpoint import Checkpoint
    from reluflow.dynamics.flow.branching import branching_of
    from reluflow.dynamics.problem import TrainingProblem
    from reluflow.dynamics.train import train
    from reluflow.dynamics.trajectory import TrainingInterrupted
    from reluflow.endings.undecided import limit_or_undecided
    from reluflow.warm_up import work_of

    reading = reading_from(dataset, bias=bias, seed=seed)
    data = reading.dataset
    note_suggested_leak(dataset, leak)
    network = network_from(
        data, init=init, width=width, scale=scale, seed=seed, leak=leak, output_bias=output_bias.value
    )
    problem = TrainingProblem(
        data,
        loss_from(data, loss, reduction, factor),
        network,
        weight_decay=weight_decay,
        trains_output_layer=not frozen_output,
    )
    if horizon is not None and not horizon > 0:
        raise InvalidInputError(f"`--horizon` must be positive, got {horizon}.")
    if check_rtol and method is not Method.FLOW:
        raise InvalidInputError(f"`--check-rtol` needs --method flow, got {method.value}; a descent has no tolerance.")
    name, reason = method.value, ""
    if method is Method.FLOW:
        from reluflow.dynamics.flow.choice import choose_flow
        from reluflow.endings.levelling import may_be_stiff

        to_the_end = until in (None, "direction") and may_be_stiff(problem)
        chosen = choose_flow(
            problem,
            solver=flow.value,
            rtol=rtol,
            ridge=ridge.value,
            to_the_end=to_the_end,
            device=device.value,
        )
        solver: AbstractSolver = chosen.solver
        name, reason = chosen.name.value, chosen.reason
    else:
        solver = descent_from(method, lr=lr, iterations=iterations, batch=batch, seed=seed, until=until)
    compile_first(*work_of(solver, problem.loss))
    try:
        with training_bar(_known_end(until, horizon, method, lr, iterations)) as progress:
            trajectory = train(
                problem,
                solver,
                until=_rule(until, method, problem),
                times=requested_times(times),
                horizon=np.inf if horizon is None else horizon,
                max_steps=np.inf if max_steps is None else max_steps,
                max_seconds=_seconds_allowed(max_seconds, method, checkpoint),
                progress=progress,
                checkpoint=None if checkpoint is None else Checkpoint(checkpoint),
            )
    except TrainingInterrupted as interrupt:  # what was done is wanted all the same
        trajectory = interrupt.trajectory
    is_saved = _save(trajectory, save, save_network)
    limit = limit_or_undecided(trajectory)
    branching = None
    if check_rtol:
        with Stage("Running the flow again, more exactly,"), training_bar(trajectory.time) as progress:
            seconds = _seconds_allowed(max_seconds, method, checkpoint)
            branching = branching_of(trajectory, chosen.solver, max_seconds=seconds, progress=progress)
    status = 0 if is_saved else 2
    if json:
        extra = {"branching": None if branching is None else branching.as_dict()} if check_rtol else {}
        print_json({**_as_json(trajectory, limit), "solver": name, "notes": reading.sentences(), **extra})
        return status
    _print(trajectory, limit, reason)
    if branching is not None:
        print(branching.sentence)
    return status


FLOW_SECONDS = 60.0  # allowed to the flow unless asked otherwise; a descent ends after its iterations


def _seconds_allowed(asked: float | None, method: Method, checkpoint: Path | None) -> float:
    """Time allowed to a run; one that is kept on disk is meant to be long."""
    if asked is not None:
        return asked
    return FLOW_SECONDS if method is Method.FLOW and checkpoint is None else np.inf


def check_places(save: Path | None, save_network: Path | None) -> None:
    """Refuse places where nothing can be kept before the training, not after it."""
    if save is not None:
        from reluflow.dynamics.storage import check_place

        check_place(save)
    if save_network is not None:
        from reluflow.network.files import check_writable

        check_writable(save_network)


def _save(trajectory: Trajectory, save: Path | None, save_network: Path | None) -> bool:
    """Keep the run where it was asked for; whether all of that went well."""
    failures = []
    if save is not None:
        from reluflow.dynamics.storage import save_trajectory

        with Stage(f"Saving the trajectory to {save}") as saving:
            save_trajectory(trajectory, save)
        failures.append(saving.failure)
    if save_network is not None:
        from reluflow.network import write_network

        with Stage(f"Saving the network to {save_network}") as saving:
            write_network(trajectory.network, save_network)
        failures.append(saving.failure)
    return not any(failures)


def descent_from(
    method: Method,
    *,
    lr: float,
    iterations: int | None,
    batch: int,
    seed: int,
    until: str | None,
) -> AbstractSolver:
    """The descent asked for, with its settings."""
    if iterations is None:
        end = _as_time(until)
        if end is None:
            raise InvalidInputError(f"`--iterations` must be given with --method {method.value}, or --until TIME.")
        iterations = max(1, round(end / lr)) if lr > 0 else 1
    if method is Method.GD:
        from reluflow.dynamics.descent.gradient_descent import GradientDescent

        return GradientDescent(lr=lr, iterations=iterations)
    from reluflow.dynamics.descent.stochastic_gradient_descent import StochasticGradientDescent

    return StochasticGradientDescent(lr=lr, batch=batch, iterations=iterations, seed=seed)


def _rule(until: str | None, method: Method, problem: TrainingProblem) -> AbstractStoppingRule:
    """The stopping rule asked for; by default the flow runs to its limit and descent through its iterations."""
    from reluflow.dynamics.stopping import Aligned, AtTime, Exhausted, Stationary
    from reluflow.endings.levelling import end_of_training

    rules: dict[str, AbstractStoppingRule] = {
        "stationary": Stationary(),
        "aligned": Aligned(),
        "direction": end_of_training(problem),
    }
    if until is None and method is not Method.FLOW:
        return Exhausted()
    if until is None:
        return end_of_training(problem)
    if until == "direction":
        problem.refuse_variant("`--until direction`", "take stationary or a time.")
    if until == "direction" and not problem.loss.is_classification:
        raise InvalidInputError(f"`--until direction` needs a classification loss, got {problem.loss.name}.")
    if until in rules:
        return rules[until]
    end = _as_time(until)
    if end is None:
        raise InvalidInputError(f"`--until` must be stationary, aligned, direction or a positive time, got {until!r}.")
    return AtTime(end)


def _known_end(
    until: str | None, horizon: float | None, method: Method, lr: float, iterations: int | None
) -> float | None:
    """The time at which the run ends at the latest, for the progress bar; None where it ends by itself."""
    ends = [end for end in (_as_time(until), horizon) if end is not None]
    if method is not Method.FLOW and iterations is not None:
        ends.append(lr * iterations)
    return min(ends, default=None)


def _as_time(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else np.nan
    except ValueError:
        return None
    return value if np.isfinite(value) and value > 0 else None


def requested_times(text: str) -> list[float]:
    """Numbers separated by commas."""
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise InvalidInputError(f"`--times` must be numbers separated by commas, got {text!r}.") from None


def _as_json(trajectory: Trajectory, limit: CertifiedLimit) -> dict[str, Any]:
    certificate = limit.certificate
    return {
        "outcome": trajectory.outcome.code,
        "time": trajectory.time,
        "log_time": trajectory.log_time,
        "loss": trajectory.loss,
        "predictions": trajectory.predictions,
        "weight_decay": trajectory.problem.weight_decay,
        "frozen_output": not trajectory.problem.trains_output_layer,
        "penalty": trajectory.problem.penalty(trajectory.network),
        "steps": trajectory.steps,
        "force_evaluations": trajectory.force_evaluations,
        "crossings": trajectory.crossings,
        "slides": trajectory.slides,
        "balancedness_drift": trajectory.balancedness_drift,
        "phases": [{"name": p.name, "start": p.start, "end": p.end} for p in trajectory.phases],
        "limit": {
            "kind": str(certificate.kind),
            "residuals": certificate.residuals,
            "multipliers": certificate.multipliers,
            "margin": certificate.margin,
            "best_linear_margin": certificate.best_linear_margin,
            "global_margin": certificate.global_margin,
            "distance": limit.distance,
            "proof": limit.is_proof,
            "ignored": list(certificate.ignored),
            "reason": limit.reason,
            "reasons": list(certificate.reasons),
        },
        "snapshots": [_snapshot(snapshot) for snapshot in trajectory.snapshots],
    }


def _snapshot(snapshot: Snapshot) -> dict[str, Any]:
    """w and a with the scale included; their logarithm apart where they do not fit a double."""
    network = snapshot.network
    factor = np.exp(network.log_scale)
    return {
        "t": snapshot.time,
        "loss": snapshot.loss,
        "predictions": snapshot.outputs,
        "w": network.w * factor,
        "a": network.a * factor,
        "log_scale": network.log_scale if factor == 0.0 else 0.0,
    }


def _print(trajectory: Trajectory, limit: CertifiedLimit, reason: str) -> None:
    data = trajectory.problem.dataset
    print(f"{data.name}: {trajectory.method}")
    if reason:
        print(reason)
    if not trajectory.problem.is_plain:
        print(f"Trained with {trajectory.problem.variant}; minimum, saddle and stationary are words of that problem.")
    when = f"t = {trajectory.time:.6g}" if np.isfinite(trajectory.time) else f"log t = {trajectory.log_time:.6g}"
    print(f"{trajectory.outcome.sentence} ({trajectory.outcome.code}, {when})")
    if trajectory.outcome.is_spent:
        print(
            "Where the run ends is left open: give it more by --max-seconds or --max-steps; with --checkpoint FILE the "
            "same command goes on from here."
        )
    rows = [
        ("loss", number(trajectory.loss, 10)),
        ("predictions", vector(trajectory.predictions, 8)),
        ("steps", f"{trajectory.steps} with {trajectory.force_evaluations} force evaluations"),
        ("crossings, slides", f"{trajectory.crossings}, {trajectory.slides}"),
        ("balancedness drift", number(trajectory.balancedness_drift, 3)),
        ("limit", f"{limit.certificate.kind}{'' if limit.is_proof else ' (not a proof)'}"),
    ]
    print_table(("quantity", "value"), rows)
    if trajectory.phases:
        print_table(("phase", "from", "to"), [(p.name, number(p.start), number(p.end)) for p in trajectory.phases])
    print(limit.reason)
    for reason in limit.certificate.reasons:
        print(reason)
