"""Trajectories as labelled arrays: to and from xarray, netCDF and Zarr, without loss."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.data.dataset import Dataset
from reluflow.dynamics.event import EventLog
from reluflow.dynamics.problem import TrainingProblem
from reluflow.dynamics.trajectory import Law, Limit, Outcome, Phase, Snapshot, Trajectory
from reluflow.errors import InvalidInputError, MissingExtraError
from reluflow.losses import loss_named
from reluflow.network.network import Network

if TYPE_CHECKING:
    import xarray

FORMAT = "reluflow trajectory 2"


def to_xarray(trajectory: Trajectory) -> xarray.Dataset:
    """The trajectory as one labelled dataset: records over `record`, snapshots over `snapshot`, events over `event`."""
    xr = _xarray()
    problem, start, end = trajectory.problem, trajectory.problem.network, trajectory.network
    snapshots, networks = trajectory.snapshots, [snapshot.network for snapshot in trajectory.snapshots]
    several = ("output",) if problem.num_outputs > 1 else ()
    letter = "v" if several else "a"
    labels = ("sample", *several) if problem.dataset.y.ndim == 2 else ("sample",)
    unknown = np.full(start.num_neurons, np.nan)
    sizes = [unknown if s.log_sizes is None else s.log_sizes for s in snapshots]
    places = {
        "record": len(trajectory.times), "sample": problem.dataset.n, "dimension": start.d, "neuron": start.num_neurons,
        "snapshot": len(snapshots), "event": len(trajectory.events.times),
    }  # fmt: skip
    if several or start.b is not None:
        places["output"] = problem.num_outputs

    def each(values: list[Any], *dimensions: str) -> tuple[tuple[str, ...], FloatArray]:
        """One value for each snapshot, also where there is none."""
        names = ("snapshot", *dimensions)
        return names, np.array(values, dtype=np.float64).reshape([places[name] for name in names])

    variables: dict[str, Any] = {
        "time": ("record", trajectory.times),
        "log_time": ("record", trajectory.log_times),
        "loss": ("record", trajectory.losses),
        "outputs": (("record", "sample", *several), trajectory.outputs),
        "X": (("sample", "dimension"), problem.dataset.X),
        "y": (labels, problem.dataset.y),
        "weight": ("neuron", start.weight),
        "initial_w": (("neuron", "dimension"), start.w),
        f"initial_{letter}": (("neuron", *several), start.v if several else start.a),
        "final_w": (("neuron", "dimension"), end.w),
        f"final_{letter}": (("neuron", *several), end.v if several else end.a),
        "snapshot_time": each([s.time for s in snapshots]),
        "snapshot_log_time": each([s.log_time for s in snapshots]),
        "snapshot_step": ("snapshot", np.array([s.step for s in snapshots], dtype=np.int64)),
        "snapshot_loss": each([s.loss for s in snapshots]),
        "snapshot_outputs": each([s.outputs for s in snapshots], "sample", *several),
        "snapshot_w": each([network.w for network in networks], "neuron", "dimension"),
        f"snapshot_{letter}": each([network.v for network in networks], "neuron", *several),
        "snapshot_log_sizes": each(sizes, "neuron"),
        "snapshot_log_scale": each([network.log_scale for network in networks]),
        "event_neuron": ("event", trajectory.events.neurons),
        "event_sample": ("event", trajectory.events.samples),
        "event_time": ("event", trajectory.events.times),
        "event_code": ("event", trajectory.events.codes),
    }
    if start.b is not None and end.b is not None:
        variables |= {"initial_b": ("output", start.b), "final_b": ("output", end.b)}
        variables["snapshot_b"] = each([network.b for network in networks], "output")
    # what plots are drawn over
    along = ("time", "log_time", "snapshot_time", "event_neuron", "event_sample", "event_time")
    coordinates = {name: np.arange(length) for name, length in places.items()}
    coordinates |= {name: variables.pop(name) for name in along}
    labelled: xarray.Dataset = xr.Dataset(
        variables, coords=coordinates, attrs={"format": FORMAT, "trajectory": json.dumps(_scalars(trajectory))}
    )
    return labelled


def from_xarray(labelled: xarray.Dataset) -> Trajectory:
    """The trajectory that `to_xarray` wrote."""
    if labelled.attrs.get("format") != FORMAT:
        raise InvalidInputError(
            f"the file must hold a `{FORMAT}`, got {labelled.attrs.get('format')!r}; train and save it again."
        )
    scalars = json.loads(labelled.attrs["trajectory"])
    values = {str(name): np.asarray(labelled[name].values) for name in labelled.variables}
    start = Network(
        values["initial_w"],
        **_output_layer(values, "initial"),
        leak=scalars["leak"],
        weight=values["weight"],
        log_scale=scalars["initial_log_scale"],
    )
    end = start.replace(w=values["final_w"], **_output_layer(values, "final"), log_scale=scalars["final_log_scale"])
    data = Dataset(values["X"], values["y"], **scalars["dataset"])
    loss = loss_named(scalars["loss"], reduction=scalars["reduction"], factor=scalars["factor"])
    snapshots = tuple(
        Snapshot(
            time=float(time),
            loss=float(values["snapshot_loss"][k]),
            outputs=values["snapshot_outputs"][k],
            network=start.replace(
                w=values["snapshot_w"][k],
                **{name: value[k] for name, value in _output_layer(values, "snapshot").items()},
                log_scale=float(values["snapshot_log_scale"][k]),
            ),
            log_time=float(values["snapshot_log_time"][k]),
            step=int(values["snapshot_step"][k]),
            log_sizes=_sizes(values, k),
        )
        for k, time in enumerate(values["snapshot_time"])
    )
    return Trajectory(
        problem=TrainingProblem(
            data,
            loss,
            start,
            weight_decay=scalars.get("weight_decay", 0.0),
            trains_output_layer=scalars.get("trains_output_layer", True),
            trains_output_bias=scalars.get("trains_output_bias", True),
        ),
        method=scalars["method"],
        law=Law(scalars["law"]),
        outcome=next(outcome for outcome in Outcome if outcome.code == scalars["outcome"]),
        times=values["time"],
        log_times=values["log_time"],
        losses=values["loss"],
        outputs=values["outputs"],
        snapshots=snapshots,
        events=EventLog(
            values["event_neuron"].astype(np.int64),
            values["event_sample"].astype(np.int64),
            values["event_time"],
            values["event_code"].astype(np.int8),
        ),
        phases=tuple(Phase(*phase) for phase in scalars["phases"]),
        network=end,
        limit=Limit(network=end, **scalars["limit"]),
        time=scalars["time"],
        log_time=scalars["log_time"],
        steps=scalars["steps"],
        force_evaluations=scalars["force_evaluations"],
        balancedness_drift=scalars["balancedness_drift"],
    )


def _output_layer(values: dict[str, Any], moment: str) -> dict[str, Any]:
    """Output weights, as `a` or `v`, and the bias where there is one."""
    return {name: values[key] for name in ("a", "v", "b") if (key := f"{moment}_{name}") in values}


def _sizes(values: dict[str, Any], k: int) -> FloatArray | None:
    """The sizes kept beside a snapshot; None where there were none, as in files of earlier versions."""
    sizes = values["snapshot_log_sizes"][k] if "snapshot_log_sizes" in values else np.array([np.nan])
    return None if np.isnan(sizes).any() else np.asarray(sizes)


def save_trajectory(trajectory: Trajectory, path: str | Path) -> Path:
    """Write to `.nc` (netCDF) or `.zarr`; an existing file is replaced only by a complete one.

    Parameters
    ----------
    trajectory
        A run, finished or not.
    path
        Where to write; needs the extra `storage`.

    Returns
    -------
    Path
        Where it was written.

    Examples
    --------
    >>> import tempfile, reluflow
    >>> problem = reluflow.Experiment("three-points", width=5).problem()
    >>> trajectory = reluflow.train(problem, reluflow.EventDrivenFlow(), until=5.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load_trajectory(save_trajectory(trajectory, f"{folder}/run.nc"))
    >>> bool((again.losses == trajectory.losses).all())
    True
    """
    target = Path(path)
    kind = check_place(target)
    labelled = to_xarray(trajectory)
    with tempfile.TemporaryDirectory(dir=target.resolve().parent, prefix=".reluflow-") as folder:
        partial = Path(folder) / f"trajectory{target.suffix}"
        if kind == "zarr":
            labelled.to_zarr(partial, consolidated=False)
            shutil.rmtree(target, ignore_errors=True)
        else:
            compression = {name: {"zlib": True} for name in labelled.variables if labelled[name].size > 1000}
            labelled.to_netcdf(partial, engine="netcdf4", encoding=compression)
        partial.replace(target)
    return target


def check_place(path: str | Path) -> str:
    """Refuse a place where a trajectory cannot be kept; the kind of file it would be."""
    target = Path(path)
    kind = _kind(target)
    _xarray()
    folder = target.resolve().parent
    if not folder.is_dir():
        raise InvalidInputError(f"`{path}` must lie in a folder that exists.")
    if not os.access(folder, os.W_OK):
        raise InvalidInputError(f"`{path}` must lie in a folder that can be written to.")
    if kind == "netcdf" and target.is_dir():
        raise InvalidInputError(f"`{path}` must be a file to write to, got a folder.")
    return kind


def load_trajectory(path: str | Path) -> Trajectory:
    """Read what `save_trajectory` wrote.

    Parameters
    ----------
    path
        A `.nc` or `.zarr` file.

    Returns
    -------
    Trajectory
        The run, bit by bit.

    Examples
    --------
    >>> import tempfile, reluflow
    >>> problem = reluflow.Experiment("three-points", width=5).problem()
    >>> trajectory = reluflow.train(problem, reluflow.EventDrivenFlow(), until=5.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load_trajectory(save_trajectory(trajectory, f"{folder}/run.nc")).time
    5.0
    """
    target = Path(path)
    kind = _kind(target)
    if not target.exists():
        raise InvalidInputError(f"`{path}` does not exist.")
    xr = _xarray()
    try:
        opened = (
            xr.open_zarr(target, consolidated=False) if kind == "zarr" else xr.open_dataset(target, engine="netcdf4")
        )
        with opened as labelled:
            return from_xarray(labelled.load())
    except (OSError, KeyError, ValueError) as error:
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(f"`{path}` cannot be read as a trajectory: {error}.") from error


def _scalars(trajectory: Trajectory) -> dict[str, Any]:
    problem, limit = trajectory.problem, trajectory.limit
    return {
        "dataset": {
            "task": str(problem.dataset.task),
            "name": problem.dataset.name,
            "provenance": problem.dataset.provenance,
            **({} if problem.dataset.classes is None else {"classes": list(problem.dataset.classes)}),
        },
        "loss": problem.loss.name,
        "reduction": problem.loss.reduction,
        "factor": problem.loss.factor,
        "weight_decay": problem.weight_decay,
        "trains_output_layer": bool(problem.trains_output_layer),
        **({} if problem.network.b is None else {"trains_output_bias": bool(problem.trains_output_bias)}),
        "leak": problem.network.leak,
        "initial_log_scale": problem.network.log_scale,
        "final_log_scale": trajectory.network.log_scale,
        "method": trajectory.method,
        "law": str(trajectory.law),
        "outcome": trajectory.outcome.code,
        "phases": [[phase.name, phase.start, phase.end] for phase in trajectory.phases],
        "limit": {
            "gradient_norm": limit.gradient_norm,
            "is_polished": bool(limit.is_polished),
            "num_iterations": int(limit.num_iterations),
            "reason": limit.reason,
        },
        "time": trajectory.time,
        "log_time": trajectory.log_time,
        "steps": int(trajectory.steps),
        "force_evaluations": int(trajectory.force_evaluations),
        "balancedness_drift": float(trajectory.balancedness_drift),
    }


def _kind(path: Path) -> str:
    kinds = {".nc": "netcdf", ".zarr": "zarr"}
    if path.suffix not in kinds:
        raise InvalidInputError(f"`{path}` must end in .nc (netCDF) or .zarr.")
    return kinds[path.suffix]


def _xarray() -> Any:
    try:
        import xarray
    except ImportError as error:
        raise MissingExtraError(
            "Keeping trajectories needs xarray, which is not installed: pip install 'reluflow[storage]'."
        ) from error
    return xarray
