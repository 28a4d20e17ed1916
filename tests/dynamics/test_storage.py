"""Trajectories survive netCDF, Zarr and xarray without losing a bit."""

import numpy as np
import pytest

from problems import small_problem
from reluflow.dynamics.event_driven.event_driven_flow import EventDrivenFlow
from reluflow.dynamics.stopping import AtTime
from reluflow.dynamics.storage import from_xarray, load_trajectory, save_trajectory, to_xarray
from reluflow.dynamics.train import train
from reluflow.errors import InvalidInputError
from reluflow.losses import SquareLoss


@pytest.fixture(scope="module")
def trajectory():
    problem = small_problem(width=12, scale="1e-400", loss=SquareLoss(factor=2.0))
    return train(problem, EventDrivenFlow(), until=AtTime(700.0), times=[0.0, 1.5, 650.0])


def assert_same(one, two):
    for field in ("times", "log_times", "losses", "outputs"):
        assert np.array_equal(getattr(one, field), getattr(two, field)), field
    for field in (
        "method",
        "outcome",
        "time",
        "log_time",
        "steps",
        "force_evaluations",
        "balancedness_drift",
        "phases",
    ):
        assert getattr(one, field) == getattr(two, field), field
    assert list(one.events) == list(two.events)
    for mine, theirs in zip(one.snapshots, two.snapshots, strict=True):
        assert (mine.time, mine.loss) == (theirs.time, theirs.loss)
        assert np.array_equal(mine.network.w, theirs.network.w)
        assert np.array_equal(mine.network.a, theirs.network.a)
        assert mine.network.log_scale == theirs.network.log_scale
        assert (mine.log_sizes is None) == (theirs.log_sizes is None)
        assert mine.log_sizes is None or np.array_equal(mine.log_sizes, theirs.log_sizes)
    assert one.problem.dataset == two.problem.dataset
    assert one.problem.loss == two.problem.loss
    assert np.array_equal(one.network.w, two.network.w)
    assert one.limit.reason == two.limit.reason


def test_sizes_below_a_double_are_kept(trajectory):
    """At scale 1e-400 neurons that never grow are lighter than e^-690 beside those that have fitted."""
    last = trajectory.snapshots[-1]
    assert last.log_sizes is not None
    assert last.log_sizes.min() < -900.0
    assert trajectory.snapshots[0].log_sizes is None


def test_xarray_round_trip(trajectory):
    assert_same(from_xarray(to_xarray(trajectory)), trajectory)


@pytest.mark.parametrize("name", ["run.nc", "run.zarr"])
def test_file_round_trip(trajectory, tmp_path, name):
    save_trajectory(trajectory, tmp_path / name)
    save_trajectory(trajectory, tmp_path / name)  # replaces
    assert_same(load_trajectory(tmp_path / name), trajectory)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_without_snapshots_or_events(tmp_path):
    short = train(small_problem(width=2, scale=1e-3), EventDrivenFlow(), until=AtTime(1e-3))
    assert_same(load_trajectory(save_trajectory(short, tmp_path / "short.nc")), short)


def test_refusals(trajectory, tmp_path):
    with pytest.raises(InvalidInputError, match=r"must end in .nc \(netCDF\) or .zarr"):
        save_trajectory(trajectory, tmp_path / "run.csv")
    with pytest.raises(InvalidInputError, match="does not exist"):
        load_trajectory(tmp_path / "none.nc")
    with pytest.raises(InvalidInputError, match="folder that exists"):
        save_trajectory(trajectory, tmp_path / "no" / "run.nc")
    (tmp_path / "bad.nc").write_bytes(b"not a file of ours")
    with pytest.raises(InvalidInputError, match="cannot be read as a trajectory"):
        load_trajectory(tmp_path / "bad.nc")
    import xarray

    xarray.Dataset({"x": 1.0}).to_netcdf(tmp_path / "other.nc", engine="netcdf4")
    with pytest.raises(InvalidInputError, match="must hold a `reluflow trajectory 2`"):
        load_trajectory(tmp_path / "other.nc")
