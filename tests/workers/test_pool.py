"""Workers die, are killed, stopped and orphaned; every call but their own goes on, and none of them is left."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import CancelledError
from contextlib import closing
from functools import partial

import pytest

from reluflow.workers import starting
from reluflow.workers.pool import WorkerDied, WorkerPool
from reluflow.workers.starting import ONE_THREAD, Spawning, process_starter
from sweep.sweep_cases import children, descendants
from workers import worker_calls as calls

LONG = 120.0  # a machine may be busy


@pytest.fixture(scope="module")
def starter():
    with closing(process_starter()) as shared:
        yield shared


@pytest.fixture
def pool(starter):
    with WorkerPool(starter, 2) as made:
        yield made


def until(condition):
    deadline = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.02)


def value(task):
    return task.future.result(LONG)


def test_calls_are_done_side_by_side_in_other_processes(pool):
    asleep = [pool.submit(calls.sleep, 0.2) for _ in range(2)]
    assert [value(task) for task in asleep] == [None, None]
    found = {value(pool.submit(calls.process_id)) for _ in range(4)}
    assert os.getpid() not in found
    assert len(found) == 1, "the worker used last is used first"
    squares = [pool.submit(calls.squared, number) for number in range(20)]
    assert [value(task) for task in squares] == [number * number for number in range(20)]


def test_a_death_is_that_of_one_call(pool):
    """Executors of `concurrent.futures` and loky end every call of the pool with the first worker that dies."""
    counted = []
    other = pool.submit(calls.count_until_stopped, on_message=counted.append)
    for call, arguments, status in ((calls.killed, (), -9), (calls.leave_with, (3,), 3)):
        with pytest.raises(WorkerDied) as death:
            value(pool.submit(call, *arguments))
        assert (death.value.status, death.value.has_begun) == (status, True)
    assert value(pool.submit(calls.squared, 3)) == 9
    until(lambda: counted)  # on a busy machine it may begin last
    other.stop()
    assert value(other) > 0


def test_a_worker_that_is_killed_while_it_answers_is_a_death(pool):
    """What has come of its answer is not taken for the beginning of the next one."""
    with pytest.raises(WorkerDied) as death:
        value(pool.submit(calls.killed_while_it_answers))
    assert death.value.status == -9
    assert value(pool.submit(calls.squared, 3)) == 9


def test_errors_come_back(pool):
    with pytest.raises(ZeroDivisionError) as error:
        value(pool.submit(calls.divide, 1, 0))
    assert "return number / by" in "".join(error.value.__notes__)
    with pytest.raises(RuntimeError, match="OddError: 1 and 2"):
        value(pool.submit(calls.fail_oddly))
    with pytest.raises((AttributeError, TypeError), match="pickle"):
        value(pool.submit(calls.unpicklable))
    assert value(pool.submit(calls.squared, 3)) == 9


def test_a_call_reports_and_stops_when_it_is_asked_to(pool):
    heard, started = [], []
    task = pool.submit(calls.count_until_stopped, on_start=lambda: started.append(True), on_message=heard.append)
    until(lambda: len(heard) >= 3)
    task.stop()
    assert value(task) >= 3
    assert heard == list(range(len(heard)))
    assert started == [True]
    task.stop()  # too late, and of no harm to the next call of that worker
    again = pool.submit(calls.count_until_stopped, on_message=heard.append)
    length = len(heard)
    until(lambda: len(heard) >= length + 3)
    again.stop()
    assert value(again) >= 3


def test_a_call_that_waits_is_cancelled_and_one_that_runs_is_killed(starter):
    with WorkerPool(starter, 1) as pool:
        started = []
        running = pool.submit(calls.sleep, 600.0, on_start=lambda: started.append(True))
        waiting = pool.submit(calls.squared, 3)
        until(lambda: started)
        waiting.stop()
        running.kill()
        with pytest.raises(CancelledError):
            value(waiting)
        with pytest.raises(WorkerDied):
            value(running)
        assert value(pool.submit(calls.squared, 4)) == 16


def test_a_worker_without_calls_leaves_and_the_next_call_has_another(starter, tmp_path):
    setup = partial(calls.signed_on, tmp_path)
    with WorkerPool(starter, 1, setup=setup, idle_seconds=0.3) as pool:
        first = value(pool.submit(calls.process_id))
        assert value(pool.submit(calls.set_up_value)) == str(first)
        until(lambda: not list(tmp_path.iterdir()))
        assert value(pool.submit(calls.process_id)) != first
        for pause in (0.28, 0.29, 0.3, 0.31, 0.32):  # also in the moment in which it leaves
            time.sleep(pause)
            assert value(pool.submit(calls.squared, 3)) == 9
    assert not list(tmp_path.iterdir()), "closing leaves the context too"


def test_a_setup_that_fails_is_the_error_of_the_call(starter):
    with WorkerPool(starter, 1, setup=calls.refused) as pool:
        for _ in range(2):
            with pytest.raises(ValueError, match="there is nothing to set up"):
                value(pool.submit(calls.squared, 3))


def test_workers_are_forked_from_one_program_that_may_be_killed():
    with closing(process_starter()) as starter, WorkerPool(starter, 2) as pool:
        server = starter._program.pid
        long = pool.submit(calls.count_until_stopped)
        assert value(pool.submit(calls.parent_id)) == server
        os.kill(server, signal.SIGKILL)
        with pytest.raises(WorkerDied):
            value(pool.submit(calls.killed))
        assert value(pool.submit(calls.squared, 3)) == 9
        assert starter._program.pid != server
        long.stop()
        assert value(long) > 0, "its workers go on"


def test_a_worker_forked_by_a_server_that_died_before_it_said_so_is_not_heard(monkeypatch):
    """It had the connection that the next worker was given as well, and a sweep waited for ever for its answers."""
    with closing(process_starter()) as starter, WorkerPool(starter, 1) as pool:
        send_fds = starting.socket.send_fds
        given = []

        def send_and_kill(control, messages, descriptors):
            given.append(os.fstat(descriptors[0]).st_ino)
            send_fds(control, messages, descriptors)
            if len(given) == 1:
                until(lambda: children(starter._program.pid))  # forked
                os.kill(starter._program.pid, signal.SIGKILL)
                control.recv(1 << 16)  # what it may still have said is lost
            return

        monkeypatch.setattr(starting.socket, "send_fds", send_and_kill)
        assert [value(pool.submit(calls.squared, number)) for number in range(50)] == [k * k for k in range(50)]
    assert len(set(given)) == len(given) == 2


@pytest.mark.parametrize("seconds", ["0.0", "60.0"])
def test_workers_end_with_a_parent_that_is_killed(seconds, tmp_path):
    """Those of `concurrent.futures` and loky go on; here they are killed, or may first end what they are at."""
    program = f"""if True:
        import os, time
        from functools import partial
        from reluflow.workers.pool import WorkerPool
        from reluflow.workers.starting import process_starter
        from workers import worker_calls as calls
        setup, heard = partial(calls.signed_on, {str(tmp_path)!r}), []
        pool = WorkerPool(process_starter(orphan_seconds={seconds}), 2, setup=setup)
        pool.submit(calls.count_until_stopped, on_message=heard.append)
        pool.submit({"calls.count_until_stopped" if seconds == "60.0" else "calls.sleep, 600.0"})
        while len(os.listdir({str(tmp_path)!r})) < 2 or not heard:
            time.sleep(0.02)
        print("ready", flush=True)
        time.sleep(600)
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment)
    assert parent.stdout.readline() == b"ready\n"
    workers = descendants(parent.pid)
    assert len(workers) == 3
    parent.kill()
    parent.communicate()
    until(lambda: not any(_is_alive(pid) for pid in workers))
    if seconds == "60.0":
        assert not list(tmp_path.iterdir()), "they have left in order"


def _is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_the_pool_is_the_same_where_processes_cannot_be_forked():
    """On macOS and Windows `multiprocessing` spawns them; the variables of the workers do not stay in this process."""
    environment = dict(os.environ)
    with closing(Spawning(ONE_THREAD)) as starter, WorkerPool(starter, 1) as pool:
        heard = []
        task = pool.submit(calls.count_until_stopped, on_message=heard.append)
        until(lambda: len(heard) >= 3)
        task.stop()
        assert value(task) >= 3
        with pytest.raises(WorkerDied) as death:
            value(pool.submit(calls.killed))
        assert death.value.status == -9
        assert value(pool.submit(calls.squared, 3)) == 9
    assert dict(os.environ) == environment
