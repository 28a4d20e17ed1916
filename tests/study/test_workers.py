"""The worker processes of a study: loaded once, deaf to Ctrl-C while they load, replaced when they die."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest

from reluflow.study.task import StudyTask
from reluflow.study.workers import ProcessWorkers
from study.slow_certifying import follow

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
    server = found["parent"].value
    assert server not in (one, two, os.getpid())


@pytest.mark.usefixtures("loaded_workers")
def test_a_task_whose_process_is_killed_is_done_again(tmp_path):
    """A study whose process with the flow was killed went on without a flow."""
    mark = tmp_path / "mark"
    die_once = f"test -e {mark} || {{ touch {mark}; kill -9 $PPID; sleep 5; }}; echo done"
    task = StudyTask("once", subprocess.check_output, (["sh", "-c", die_once],))
    found = _finished(ProcessWorkers(1), task, StudyTask("next", abs, (-2,)))
    assert found["once"].value == b"done\n"
    assert found["next"].value == 2


@pytest.mark.usefixtures("loaded_workers")
def test_a_task_that_always_kills_its_process_is_a_sentence():
    found = _finished(ProcessWorkers(1), StudyTask("gone", os._exit, (3,)), StudyTask("next", abs, (-2,)))
    assert "ended twice" in found["gone"].refusal
    assert found["next"].value == 2


def test_workers_do_not_hear_ctrl_c_before_they_can_answer():
    """Ctrl-C in the first second of a study printed a traceback of every process that was still loading."""
    workers = ProcessWorkers(2)
    workers._starter._program.send_signal(signal.SIGINT)
    found = _finished(workers, StudyTask("here", abs, (-2,)), StudyTask("there", abs, (-3,)))
    assert [found[name].value for name in ("here", "there")] == [2, 3]


@pytest.mark.usefixtures("loaded_workers")
@pytest.mark.parametrize("hurry", [False, True])
def test_a_run_is_handed_in_while_its_end_is_certified(hurry):
    """A study whose time was spent, or that was left by Ctrl-C, while a process certified had no run at all."""
    workers = ProcessWorkers(1)
    try:
        workers.submit(StudyTask("flow", follow, has_progress=True))
        end = time.monotonic() + LONG
        while not workers._runs and time.monotonic() < end:
            assert workers.next_finished(0.2) is None
        (found,) = workers.stop(0.1, hurry=hurry)
    finally:
        workers.close()
    assert not found.is_whole
    assert found.value.trajectory.outcome.code == "stationary"
    assert found.value.limit.certificate.kind.value == "undecided"
    assert "was not finished" in found.value.limit.reason
