"""The processes of a study, seen from the one that hands out tasks: one program, which loads once and then divides."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

_PROGRAM = [sys.executable, "-m", "reluflow.study.worker_process"]
_ONE_THREAD = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_LEAVING_SECONDS = 2.0  # what a program that is still loading may take to notice that nobody needs it
DIVIDES = sys.platform == "linux"  # elsewhere the libraries of the system may not survive a fork


@dataclass(frozen=True, eq=False)
class StudyTask:
    """A call with a name; `is_told` if it takes `on_step`, to say how far it is and to stop when it is asked to.

    `is_kept` unless what comes of it is of no use to a later call.
    """

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    is_told: bool = False
    is_kept: bool = True


class WorkerFamily:
    """One program and its workers.

    Where a process can divide, the modules every task needs are loaded once, in a second or so, and the program
    then divides into its workers and stays to pass on signals; elsewhere it is its only worker. It ends with its
    workers when this process does, however that ends.

    Parameters
    ----------
    size
        Workers; 1 where `DIVIDES` is false.
    """

    def __init__(self, size: int) -> None:
        theirs: list[tuple[int, int]] = []
        self.members: list[FamilyMember] = []
        for index in range(size):
            tasks_out, tasks_in = os.pipe()
            answers_out, answers_in = os.pipe()
            theirs.append((tasks_out, answers_in))
            member = FamilyMember(
                self, index, Connection(tasks_in, readable=False), Connection(answers_out, writable=False)
            )
            self.members.append(member)
        environment = {**os.environ, **_ONE_THREAD, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        given = [f"{tasks}:{answers}" for tasks, answers in theirs]
        with _deaf():
            self._process = subprocess.Popen(
                [*_PROGRAM, *given],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                env=environment,
                pass_fds=[end for pair in theirs for end in pair],
                bufsize=0,
            )
        for pair in theirs:
            for end in pair:
                os.close(end)
        self._left = size

    def send(self, index: int, number: signal.Signals) -> None:
        """Have a signal passed on to a worker."""
        if not DIVIDES:
            self._process.send_signal(number)
            return
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(bytes([index, number]))
        except (BrokenPipeError, ConnectionResetError):
            return  # the program is dead; its workers leave when their tasks do

    def leave(self) -> None:
        """One worker less; the program ends with the last one."""
        self._left -= 1
        if self._left:
            return
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(_LEAVING_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class FamilyMember:
    """A worker process and what it is doing."""

    def __init__(self, family: WorkerFamily, index: int, tasks: Connection, answers: Connection) -> None:
        self.answers = answers
        self.task: StudyTask | None = None
        self._family = family
        self._index = index
        self._tasks = tasks

    def give(self, task: StudyTask) -> None:
        """Send it a task."""
        self.task = task
        try:
            self._tasks.send((task.name, task.function, task.arguments, task.is_told))
        except (BrokenPipeError, ConnectionResetError):
            return  # it is dead, which is noticed when its answers end

    def interrupt(self) -> None:
        """Ask it to hand in what it has."""
        self._family.send(self._index, signal.SIGINT)

    def end(self) -> None:
        """End the process at once."""
        self._family.send(self._index, signal.SIGKILL)
        self._tasks.close()
        self.answers.close()
        self.task = None
        self._family.leave()


def started_members(number: int) -> list[FamilyMember]:
    """So many workers, which load what they need while the caller goes on."""
    if DIVIDES:
        return WorkerFamily(number).members
    return [WorkerFamily(1).members[0] for _ in range(number)]


@contextmanager
def _deaf() -> Iterator[None]:
    """A process started in here does not hear Ctrl-C until it can answer it; here it comes through afterwards."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
