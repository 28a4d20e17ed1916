"""Beyond one pool: Dask, and machines that share nothing but a folder."""

import importlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from reluflow.errors import BackendError
from reluflow.experiment import Experiment
from reluflow.sweep.attempts import TASKS
from reluflow.sweep.leases import LEASES, WORKERS
from reluflow.sweep.plan import make_plan
from reluflow.sweep.run import sweep
from reluflow.sweep.segments import RESULTS, StorageError
from reluflow.sweep.worker import Assignment, Worker
from sweep.sweep_cases import SMALL, children, environment, finish, records, session, start

CASE = Experiment("three-points", width=6)
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


@pytest.mark.slow
def test_a_cluster_that_does_not_close_in_time_fails_nothing(tmp_path, monkeypatch):
    """On a busy machine a thousand cases were computed, and then the sweep ended with a sentence on no file at all."""
    import distributed

    close = distributed.LocalCluster.close

    def close_late(cluster, *arguments, **options):
        close(cluster, *arguments, **options)
        raise TimeoutError

    monkeypatch.setattr(distributed.LocalCluster, "close", close_late)
    made = sweep(CASE, over=SMALL, measure=MEASURES, executor="dask", workers=1, out=tmp_path)
    assert (made.computed, made.done) == (6, 6)


def test_a_cluster_that_does_not_start_is_said_in_a_sentence(tmp_path, monkeypatch):
    import distributed

    def fail(**options):
        raise TimeoutError

    monkeypatch.setattr(distributed, "LocalCluster", fail)
    with pytest.raises(BackendError, match="`--executor dask` could not start a cluster on this machine"):
        sweep(CASE, over=SMALL, executor="dask", workers=1, out=tmp_path)


def wait_for(condition, seconds=150):
    """Until it is so."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.1)


def computing_processes(leader):
    """The processes of the session that one leads which compute cases: those forked from a fork server."""
    servers = [pid for pid in session(leader) if b"fork_server" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    return [pid for server in servers for pid in children(server)]


def kill_session(leader):
    """Kill every process of the session that one leads, and see them gone."""
    for pid in session(leader):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not session(leader))


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
        [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard"],
        start_new_session=True,
        **quiet,
    )
    yield address, scheduler, worker
    scheduler.kill()
    kill_session(worker.pid)
    for process in (worker, scheduler):
        process.wait()


def test_a_killed_scheduler_loses_nothing(cluster, tmp_path):
    """What its worker still finishes afterwards it keeps too, so it is counted when that has stopped as well."""
    address, scheduler, nanny = cluster
    words = ["sweep", "three-points", "--over", "seed=0..4999", "--width", "6", "--measure", "loss", "--json"]
    process = start(*words, "--out", tmp_path, "--executor", "dask", "--scheduler", address)
    deadline = time.monotonic() + 150
    while len(records(tmp_path)) < 3 and time.monotonic() < deadline:
        time.sleep(0.5)
    os.kill(scheduler.pid, signal.SIGKILL)
    _, err = process.communicate(timeout=150)
    assert process.returncode == 2, err
    assert "has stopped answering; what was finished is kept" in err
    kill_session(nanny.pid)
    kept = {record.fingerprint for record in records(tmp_path)}
    assert len(kept) >= 3
    more = sweep(CASE, over={"seed": "0..9"}, measure=["loss"], executor="serial", out=tmp_path)
    assert more.done == 10
    assert more.computed == 10 - sum(more.plan.case_at(k).fingerprint() in kept for k in range(10))


@pytest.mark.slow
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
    assert len(names) == len(set(names)) == answer["computed"] == 300, "what a lost worker had written is not repeated"
    assert not any(
        (tmp_path / part).exists() and list((tmp_path / part).iterdir()) for part in (LEASES, WORKERS, TASKS)
    )


@pytest.mark.slow
def test_a_killed_process_of_a_dask_worker_loses_nothing(cluster, tmp_path):
    """The cases run in a process beside the Dask worker; what it had written counts, the rest is given out again."""
    address, _, nanny = cluster
    words = ["sweep", "three-points", "--over", "seed=0..199", "--width", "6", "--measure", "loss", "--json"]
    process = start(*words, "--out", tmp_path, "--executor", "dask", "--scheduler", address)
    for least in (3, 60):
        wait_for(lambda least=least: len(records(tmp_path)) >= least)
        computing = computing_processes(nanny.pid)
        assert len(computing) == 1
        os.kill(computing[0], signal.SIGKILL)
    answer = finish(process)
    assert (answer["done"], answer["failed"], answer["computed"]) == (200, 0, 200)
    names = [record.fingerprint for record in records(tmp_path)]
    assert len(names) == len(set(names)) == 200
    wait_for(lambda: not computing_processes(nanny.pid))


def test_an_attempt_whose_report_was_lost_is_found_by_the_next(tmp_path):
    """Dask gives a task out again where a report dies with its worker; its cases were once computed twice."""
    plan = make_plan(CASE, {"seed": "0..3"}, ["loss"])
    assignment = Assignment(str(tmp_path), "driver", plan, {})
    with Worker(assignment) as first:
        assert first.work((0, 1), mark="driver-7").computed == 2
        assert first.work((2,), mark="driver-8").computed == 1
        assert first.work((0, 1), mark="driver-7").computed == 0, "also where the same worker has it again"
    with Worker(assignment) as second:
        report = second.work((0, 1), mark="driver-7")
        assert (report.computed, report.found) == (0, 2)


@pytest.mark.slow
def test_a_case_that_kills_its_processes_on_dask_is_a_failed_case(cluster, tmp_path):
    address, _, _ = cluster

    def deadly(trajectory):
        if trajectory.problem.network.num_neurons == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return trajectory.loss

    over = {"width": "4,5,6"}
    made = sweep("three-points", over=over, measure=[deadly], executor="dask", scheduler=address, out=tmp_path)
    assert (made.done, made.failed, made.computed) == (2, 1, 3)
    assert made.frame()["error"][1].startswith("The worker died 5 times at this case, last with status -9")


def test_threads_of_one_dask_worker_do_not_share_what_a_measure_keeps(tmp_path):
    """`dask worker` takes as many threads as cores by default. Two cases in one interpreter shared the certificate of
    the last limit: one could be given the other's."""
    import distributed

    case = Experiment("three-points", width=6)
    over, measures = {"scale": "1e-1,1e-3", "seed": "0..9"}, ["kind", "proof", "loss"]
    plain = sweep(case, over=over, measure=measures, executor="serial")
    with distributed.LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=None, silence_logs=50) as local:
        where = local.scheduler_address
        made = sweep(case, over=over, measure=measures, executor="dask", scheduler=where, out=tmp_path)
    assert made.frame().equals(plain.frame())
    assert len(list((tmp_path / RESULTS).iterdir())) == 2, "a process for each thread"


@pytest.mark.slow
@pytest.mark.parametrize("is_killed", [False, True])
def test_a_driver_on_a_local_cluster_stops_or_dies_and_nothing_is_lost_or_left(tmp_path, is_killed):
    words = ["sweep", "three-points", "--over", "seed=0..4999", "--width", "8", "--json", "--out", tmp_path]
    process = start(*words, "--executor", "dask", "--workers", "2", start_new_session=True)
    wait_for(lambda: len(records(tmp_path)) >= 5)
    everyone = session(process.pid)
    assert len(everyone) >= 5, "driver, two Dask workers, two processes that compute"
    if is_killed:
        process.kill()
        process.communicate()
    else:
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
        out, err = process.communicate(timeout=120)
        assert process.returncode == 130, err
        assert "are done and kept" in err
        assert "Traceback" not in err
        answer = json.loads(out)
        assert 5 <= answer["computed"] == answer["done"] == len(records(tmp_path)) < 5000
        assert not list((tmp_path / LEASES).iterdir())
        assert not list((tmp_path / TASKS).iterdir())
    wait_for(lambda: not session(process.pid))
    names = [record.fingerprint for record in records(tmp_path)]
    assert len(names) == len(set(names))
    more = sweep(Experiment("three-points", width=8), over={"seed": "0..29"}, executor="serial", out=tmp_path)
    assert more.computed == 30 - sum(more.plan.case_at(k).fingerprint() in set(names) for k in range(30))


def test_what_a_dask_worker_cannot_write_is_said_as_it_is(cluster, tmp_path):
    """On a full disk the sentence was that the cluster had stopped answering."""
    address, _, _ = cluster
    (tmp_path / WORKERS).write_text("a file where a folder belongs")
    with pytest.raises(StorageError, match="could not be written: File exists; what was finished before is kept"):
        sweep(CASE, over={"seed": "0..3"}, scheduler=address, out=tmp_path)


def test_a_script_without_a_guard_is_told_so(tmp_path):
    """Dask's workers import the script that starts them, which then started a cluster of its own, and so on."""
    script = tmp_path / "mine.py"
    script.write_text(
        "import reluflow\nreluflow.sweep('three-points', over={'seed': '0..3'}, executor='dask', workers=1)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environment(), timeout=240)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert "could not start a cluster on this machine" in last
    assert 'must stand under if __name__ == "__main__":' in last


def test_an_address_where_nobody_answers_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.import_module("reluflow.sweep.executors.dask_cluster"), "CONNECT_S", 1.0)
    with pytest.raises(BackendError, match="must be the address of a running Dask scheduler"):
        sweep(CASE, over={"seed": "0..3"}, scheduler=f"tcp://127.0.0.1:{free_port()}", out=tmp_path)


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
