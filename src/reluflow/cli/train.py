"""`reluflow train DATASET`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from reluflow.after_run import Stage
from reluflow.cli.arguments import dataset_argument, json_option, max_seconds_option, max_steps_option, path_option
from reluflow.cli.inputs import note_left_out_bias, note_suggested_leak, reading_of
from reluflow.cli.output import number, predicted_row, print_json, print_table
from reluflow.cli.progress import compile_first, training_bar
from reluflow.cli.run_options import DATA, DESCENT, FLOW, LOSS, VARIANT, GivenOptions, run_options
from reluflow.errors import InvalidInputError

if TYPE_CHECKING:
    from reluflow.certificates.limits.certified_limit import CertifiedLimit
    from reluflow.dynamics.trajectory import Snapshot, Trajectory
    from reluflow.experiment import Experiment


@click.command()
@dataset_argument()
@run_options(
    "method", "until", "horizon", *DATA, *LOSS, "leak", *VARIANT, "width", "scale", "init", "output_bias", "nodes",
    "times", *FLOW, *DESCENT,
)  # fmt: skip
@click.option(
    "--check-rtol", is_flag=True, help="Run the flow again, 100 times as exactly, and name neurons that go elsewhere."
)
@click.option(
    "--certify",
    is_flag=True,
    help="Solve for the limit of a run that ends at a requested time as well, however far it is.",
)
@max_seconds_option(
    None,
    words="Seconds allowed, of processor time; inf: any. Default: for the flow 60 seconds of counted work, so that a "
    "busy machine ends it at the same step.",
)
@max_steps_option
@path_option("--save", "FILE.nc", "Keep the trajectory (netCDF or .zarr).")
@path_option("--save-network", "FILE", "Keep the final network (.npz, .csv, .safetensors); `certify --init` reads it.")
@path_option("--save-experiment", "FILE", "Keep the description of this run (.toml, .json); --experiment reads it.")
@path_option("--checkpoint", "FILE", "Keep the run here now and then, and go on from it if it is there.")
@json_option
def command(
    dataset: str | None,
    *,
    run: GivenOptions,
    check_rtol: bool,
    certify: bool,
    max_seconds: float | None,
    max_steps: int | None,
    save: Path | None,
    save_network: Path | None,
    save_experiment: Path | None,
    checkpoint: Path | None,
    json: bool,
) -> int:
    """Train a network by the exact gradient flow, by gradient descent or by SGD, and certify where it ends.

    The flow is given a minute unless `--max-seconds` is given (`inf`: any time) or there is a `--checkpoint`.
    What a run cut short leaves open is said, and with `--checkpoint` the same command goes on. Where certifying the end
    fails or is left by Ctrl-C, the run is printed all the same, with limit `undecided`. A run to a requested time is
    judged where it ends; the direction it may tend to is solved for where the run has come near it, or with
    `--certify`.

    Example: reluflow train three-points --width 200 --scale 1e-3 --json
    """
    check_places(save, save_network, save_experiment)
    from reluflow.certificates.limits.limit_so_far import limit_so_far
    from reluflow.certificates.limits.undecided import limit_or_undecided
    from reluflow.dynamics.branching import branching_of
    from reluflow.dynamics.checkpoint import Checkpoint
    from reluflow.dynamics.train import train
    from reluflow.dynamics.trajectory import TrainingInterrupted
    from reluflow.warm_up import work_of

    experiment = run.experiment(dataset)
    method = experiment.method
    reading = reading_of(experiment)
    note_suggested_leak(experiment)
    problem = experiment.problem(reading.dataset)
    note_left_out_bias(experiment)
    if check_rtol and method != "flow":
        raise InvalidInputError(f"`--check-rtol` needs --method flow, got {method}; a descent has no tolerance.")
    chosen = experiment.flow_for(problem) if method == "flow" else None
    solver = experiment.solver_for(problem) if chosen is None else chosen.solver
    name, reason = (method, "") if chosen is None else (chosen.name.value, chosen.reason)
    if save_experiment is not None:
        _save_experiment(experiment, save_experiment)
    compile_first(*work_of(solver, problem.loss))
    try:
        with training_bar(_known_end(experiment)) as progress:
            trajectory = train(
                problem,
                solver,
                until=experiment.rule_for(problem),
                times=experiment.times,
                horizon=np.inf if experiment.horizon is None else experiment.horizon,
                max_steps=np.inf if max_steps is None else max_steps,
                max_seconds=_seconds_allowed(max_seconds, method, checkpoint),
                progress=progress,
                checkpoint=None if checkpoint is None else Checkpoint(checkpoint),
            )
    except TrainingInterrupted as interrupt:  # what was done is wanted all the same
        trajectory = interrupt.trajectory
    is_saved = _save(trajectory, save, save_network)
    limit = (limit_or_undecided if certify else limit_so_far)(trajectory, is_left_by_interruption=True)
    branching = None
    if check_rtol and chosen is not None:
        with (
            Stage("Running the flow again, more exactly,", is_left_by_interruption=True),
            training_bar(trajectory.time) as progress,
        ):
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


FLOW_SECONDS = 60.0  # of work, allowed to the flow unless asked otherwise; a descent ends after its iterations


def _seconds_allowed(asked: float | None, method: str, checkpoint: Path | None) -> float:
    """Time allowed to a run; one that is kept on disk is meant to be long."""
    if asked is not None:
        return asked
    return FLOW_SECONDS if method == "flow" and checkpoint is None else np.inf


def check_places(save: Path | None, save_network: Path | None, save_experiment: Path | None) -> None:
    """Refuse places where nothing can be kept before the training, not after it."""
    if save is not None:
        from reluflow.dynamics.storage import check_place

        check_place(save)
    if save_network is not None:
        from reluflow.network.files import check_writable

        check_writable(save_network)
    if save_experiment is not None and save_experiment.suffix.lower() not in (".toml", ".json"):
        raise InvalidInputError(f"`{save_experiment}` must end in .toml or .json, got {save_experiment.suffix!r}.")


def _save_experiment(experiment: Experiment, path: Path) -> None:
    """Keep the description of the run, with the content of its files."""
    pinned = experiment.pinned()
    path.write_text(pinned.to_toml() if path.suffix.lower() == ".toml" else pinned.to_json(), encoding="utf-8")


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


def _known_end(experiment: Experiment) -> float | None:
    """The time at which the run ends at the latest, for the progress bar; None where it ends by itself."""
    ends = [end for end in (experiment.end_time, experiment.horizon) if end is not None]
    if experiment.method != "flow" and experiment.iterations is not None:
        ends.append(experiment.lr * experiment.iterations)
    return min(ends, default=None)


def _as_json(trajectory: Trajectory, limit: CertifiedLimit) -> dict[str, Any]:
    certificate, classes = limit.certificate, trajectory.problem.dataset.classes
    return {
        **({} if classes is None else {"classes": list(classes)}),
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
    """w and a (v of several outputs) with the scale included; their logarithm apart where they do not fit a double."""
    network = snapshot.network
    factor = np.exp(network.log_scale)
    return {
        "t": snapshot.time,
        "loss": snapshot.loss,
        "predictions": snapshot.outputs,
        "w": network.w * factor,
        **({"a": network.a * factor} if network.num_outputs == 1 else {"v": network.v * factor}),
        **({} if network.b is None else {"b": network.b}),
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
        predicted_row(trajectory.problem.dataset, trajectory.predictions),
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
