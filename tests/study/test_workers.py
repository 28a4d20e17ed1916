"""The processes of a study: loaded once, deaf while they load, replaced when they die, gone when nobody needs them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from reluflow.study.worker_family import StudyTask
from reluflow.study.workers import ProcessWorkers

LONG = 300.0  # a machine may be busy


def _finished(workers, *tasks):
    try:
        for task in tasks:
            workers.submit(task)
        found = [workers.next_finished(LONG) for _ in tasks]
    finally:
        workers.close()
    return {finished.name: finished for finished in found}


def test_what_tasks_need_is_loaded_once():
    """Two workers each loaded it for themselves, a second of a core at the start of every study."""
    tasks = [StudyTask(name, subprocess.check_output, (["sh", "-c", "echo $PPID; sleep 1"],)) for name in "ab"]
    parents = StudyTask("parent", os.getppid)
    found = _finished(ProcessWorkers(2), *tasks, parents)
    one, two = (int(found[name].value) for name in "ab")
    assert one != two
    family = found["parent"].value
    assert family not in (one, two, os.getpid())


def test_a_task_whose_process_is_killed_is_done_again(tmp_path):
    """A study whose process with the flow was killed went on without a flow."""
    mark = tmp_path / "mark"
    die_once = f"test -e {mark} || {{ touch {mark}; kill -9 $PPID; sleep 5; }}; echo done"
    task = StudyTask("once", subprocess.check_output, (["sh", "-c", die_once],))
    found = _finished(ProcessWorkers(1), task, StudyTask("next", abs, (-2,)))
    assert found["once"].value == b"done\n"
    assert found["next"].value == 2


def test_a_task_that_always_kills_its_process_is_a_sentence():
    found = _finished(ProcessWorkers(1), StudyTask("gone", os._exit, (3,)), StudyTask("next", abs, (-2,)))
    assert "ended twice" in found["gone"].refusal
    assert found["next"].value == 2


def test_workers_do_not_hear_ctrl_c_before_they_can_answer():
    """Ctrl-C in the first second of a study printed a traceback of every process that was still loading."""
    workers = ProcessWorkers(2)
    workers._members[0]._family._process.send_signal(signal.SIGINT)
    found = _finished(workers, StudyTask("here", abs, (-2,)), StudyTask("there", abs, (-3,)))
    assert [found[name].value for name in ("here", "there")] == [2, 3]


def test_workers_end_with_their_parent_however_it_ends(tmp_path):
    """After kill -9 of a study its processes went on computing what nobody would read."""
    program = """if True:
        import os, sys, time
        from reluflow.study.worker_family import StudyTask
        from reluflow.study.workers import ProcessWorkers
        workers = ProcessWorkers(2)
        for name in "ab":
            workers.submit(StudyTask(name, os.getpid))
        pids = [workers.next_finished(300.0).value for _ in "ab"]
        for name in "cd":
            workers.submit(StudyTask(name, time.sleep, (600.0,)))
        print(*pids, flush=True)
        os.kill(os.getpid(), 9)
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False)
    assert run.returncode == -signal.SIGKILL, run.stderr
    left = {int(pid) for pid in run.stdout.split()}
    assert left
    end = time.monotonic() + 60.0
    while left and time.monotonic() < end:
        left = {pid for pid in left if _is_alive(pid)}
        time.sleep(0.1)
    assert not left


def _is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
