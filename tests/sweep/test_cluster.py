"""Beyond one pool: Dask, and machines that share nothing but a folder."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reluflow.errors import BackendError
from reluflow.sweep.case import Case
from reluflow.sweep.run import sweep
from sweep.sweep_cases import SMALL, children, environment, finish, records, start

CASE = Case("three-points", width=6)
MEASURES = ["outcome", "loss", "end"]


def test_a_local_dask_cluster_gives_the_same_bits_and_leaves_this_process_able_to_compile(tmp_path):
    """The cluster once left NUMBA_NUM_THREADS=1 in the environment: compiling anything later in the process failed."""
    import numba
    import numpy as np

    numba.njit(parallel=True)(_doubled)(np.ones(2))  # the threads run: from here on Numba refuses another number
    plain = sweep(CASE, over=SMALL, measure=MEASURES, executor="serial")
    made = sweep(CASE, over=SMALL, measure=MEASURES, executor="dask", workers=2, out=tmp_path)
    assert (made.computed, made.done) == (6, 6)
    assert made.frame().equals(plain.frame())
    assert numba.njit(_doubled)(np.ones(3)).tolist() == [2, 2, 2]


def _doubled(values):
    return 2 * values


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def cluster():
    """A scheduler and a worker, as on a cluster: processes of their own, found by address."""
    address = f"tcp://127.0.0.1:{(port := free_port())}"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environment()}
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port)]
    scheduler = subprocess.Popen([*dask, "--dashboard-address", ":0", "--no-dashboard"], **quiet)
    worker = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard"], **quiet
    )
    yield address, scheduler, worker
    for process in (worker, scheduler):
        process.kill()
        process.wait()


def test_a_killed_scheduler_loses_nothing(cluster, tmp_path):
    address, scheduler, _ = cluster
    words = ["sweep", "three-points", "--over", "seed=0..4999", "--width", "6", "--measure", "loss", "--json"]
    process = start(*words, "--out", tmp_path, "--executor", "dask", "--scheduler", address)
    deadline = time.monotonic() + 150
    while len(records(tmp_path)) < 3 and time.monotonic() < deadline:
        time.sleep(0.5)
    os.kill(scheduler.pid, signal.SIGKILL)
    _, err = process.communicate(timeout=150)
    assert process.returncode == 2, err
    assert "has stopped answering; what was finished is kept" in err
    kept = {record.fingerprint for record in records(tmp_path)}
    assert len(kept) >= 3
    more = sweep(CASE, over={"seed": "0..9"}, measure=["loss"], executor="serial", out=tmp_path)
    assert more.done == 10
    assert more.computed == 10 - sum(more.plan.case_at(k).fingerprint() in kept for k in range(10))


def test_a_killed_dask_worker_loses_nothing(cluster, tmp_path):
    """kill -9 of the worker in the middle of its cases: its nanny starts another, which goes on where it stopped."""
    address, _, nanny = cluster
    words = ["sweep", "three-points", "--over", "seed=0..299", "--width", "6", "--measure", "loss", "--json"]
    process = start(*words, "--out", tmp_path, "--executor", "dask", "--scheduler", address)
    deadline = time.monotonic() + 150
    while len(records(tmp_path)) < 3 and time.monotonic() < deadline:
        time.sleep(0.1)
    kept = {record.fingerprint for record in records(tmp_path)}
    killed = [pid for pid in children(nanny.pid) if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    assert killed
    assert process.poll() is None, "the sweep was over before anything was killed"
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    answer = finish(process)
    assert (answer["done"], answer["failed"]) == (300, 0)
    names = [record.fingerprint for record in records(tmp_path)]
    assert 3 <= len(kept) < 300
    assert kept <= set(names)
    assert len(set(names)) == 300
    # where a report dies with its worker, after the results were written, Dask gives its task out again
    found = {}
    for record in records(tmp_path):
        assert found.setdefault(record.fingerprint, record.measures) == record.measures


def test_an_address_where_nobody_answers_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("reluflow.sweep.executors.dask_cluster.CONNECT_S", 1.0)
    with pytest.raises(BackendError, match="must be the address of a running Dask scheduler"):
        sweep(CASE, over={"seed": "0..3"}, executor="dask", scheduler=f"tcp://127.0.0.1:{free_port()}", out=tmp_path)


def container():
    """Words that run a command with process ids, a host name and mounts of its own, where this machine allows it."""
    if shutil.which("unshare") is None:
        return []
    words = ["unshare", "--pid", "--fork", "--uts", "--mount-proc"]
    return words if subprocess.run([*words, "true"], capture_output=True).returncode == 0 else []


def test_two_containers_with_one_shared_folder_share_the_work(tmp_path):
    """Separate homes, separate process ids; each sees the other only through the folder."""
    code = "from reluflow.cli.main import run; run()"
    words = ["sweep", "three-points", "--over", "seed=0..39", "--width", "6", "--measure", "loss", "--workers", "1"]
    both = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        both.append(
            subprocess.Popen(
                [*container(), sys.executable, "-c", code, *words, "--json", "--out", str(tmp_path / "shared")],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=environment(HOME=str(tmp_path / name)),
            )
        )
    answers = [finish(process) for process in both]
    assert [answer["done"] for answer in answers] == [40, 40]
    assert sum(answer["computed"] for answer in answers) == 40
    names = [record.fingerprint for record in records(tmp_path / "shared")]
    assert len(names) == len(set(names)) == 40
