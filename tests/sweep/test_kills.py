"""Sweeps are killed, really, at random moments: nothing finished is lost, nothing is computed twice."""

import os
import signal
import sys
import time

import numpy as np
import pytest

from reluflow.errors import BackendError
from reluflow.experiment import Experiment
from reluflow.sweep.leases import LEASES
from reluflow.sweep.run import sweep
from sweep.sweep_cases import descendants, finish, records, start


def words(folder, cases):
    over = ["--over", f"seed=0..{cases // 4 - 1}", "--over", "scale=1e-1..1e-4:log:4"]
    options = ["--width", "8", "--measure", "loss,end", "--workers", "2", "--out", folder, "--json"]
    return ["sweep", "three-points", *over, *options]


def kill_at_random(folder, cases, kills, rng, longest):
    """Kill the parent or one of its workers until `kills` have hit; gives what each kill hit."""
    hits = []
    process = None
    while len(hits) < kills:
        if process is None or process.poll() is not None:
            process = start(*words(folder, cases))
            began = time.monotonic()
        time.sleep(float(rng.uniform(0.0, longest)))
        if process.poll() is not None:
            _, err = process.communicate()
            assert process.returncode == 0, err
            return hits
        workers = descendants(process.pid)  # the fork server too
        target = int(rng.choice(workers)) if workers and rng.random() < 0.6 else process.pid
        try:
            os.kill(target, signal.SIGKILL)
        except ProcessLookupError:
            continue
        hits.append("parent" if target == process.pid else "worker")
        if target == process.pid:
            process.communicate()
            assert time.monotonic() - began < 300
    if process is not None and process.poll() is None:
        process.kill()
        process.communicate()
    return hits


def survives(folder, cases, kills, seed, longest=3.0):
    rng = np.random.default_rng(seed)
    seen = set()
    hits = []
    while len(hits) < kills:
        more = kill_at_random(folder, cases, kills - len(hits), rng, longest)
        now = {record.fingerprint for record in records(folder)}
        assert seen <= now, "something finished was lost"
        seen = now
        if not more and len(seen) == cases:
            break  # finished before all kills were spent
        hits += more
    answer = finish(start(*words(folder, cases)))
    assert (answer["cases"], answer["done"], answer["failed"]) == (cases, cases, 0)
    found = records(folder)
    names = [record.fingerprint for record in found]
    assert len(set(names)) == cases
    assert len(names) == cases, f"{len(names) - cases} cases were computed twice"
    assert not list((folder / LEASES).iterdir())
    return hits


def test_a_sweep_survives_four_kills(tmp_path):
    hits = survives(tmp_path / "killed", 80, 4, seed=5, longest=1.2)  # in two seconds all is done
    assert hits
    plain = sweep(
        Experiment("three-points", width=8),
        over={"seed": "0..3", "scale": "1e-1..1e-4:log:4"},
        measure=["loss", "end"],
        executor="serial",
    ).frame()
    killed = sweep(
        Experiment("three-points", width=8),
        over={"seed": "0..3", "scale": "1e-1..1e-4:log:4"},
        measure=["loss", "end"],
        executor="serial",
        out=tmp_path / "killed",
    )
    assert killed.computed == 0
    assert killed.frame().equals(plain), "the same bits as a sweep nobody disturbed"


@pytest.mark.slow
def test_a_sweep_survives_a_hundred_kills(tmp_path):
    hits = survives(tmp_path, 4000, 100, seed=17)
    assert len(hits) == 100
    assert {"parent", "worker"} <= set(hits)


def test_workers_that_cannot_start_are_no_case_s_fault(tmp_path, monkeypatch):
    """Sources that vanished under a running sweep once made 48 failed cases of workers that could not import them."""
    from reluflow.workers import starting

    program = [sys.executable, "-c", "raise SystemExit(3)"]
    monkeypatch.setattr(starting, "_PROGRAM", program)
    with pytest.raises(BackendError, match="end with status 3 before they begin"):
        sweep("three-points", over={"seed": "0..3"}, executor="processes", workers=1, out=tmp_path)
    assert records(tmp_path) == []


@pytest.mark.usefixtures("loaded_workers")
def test_a_case_that_kills_its_workers_is_a_failed_case(tmp_path):
    def deadly(trajectory):
        if trajectory.problem.network.num_neurons == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return trajectory.loss

    made = sweep(
        "three-points", over={"width": "4,5,6"}, measure=[deadly], executor="processes", workers=1, out=tmp_path
    )
    assert (made.done, made.failed) == (2, 1)
    assert made.frame()["error"][1].startswith("The worker died 5 times at this case, last with status -9")
