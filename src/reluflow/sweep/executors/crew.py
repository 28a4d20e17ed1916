"""Crew: what a Dask worker keeps to compute cases of a sweep: processes of its own, one for each of its threads.

A Dask worker talks, measures itself and answers in the same process that runs its tasks. Beside runs that go back and
forth between Python and short kernels that costs: with Dask's statistical profiler, which is on by default, a case of
three points took up to a third more processor time. And the tasks of a worker with several threads would share one
interpreter and what is kept in it from one measure to the next. So a case is computed in a plain process, as on one
machine, and the Dask worker waits.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from dataclasses import dataclass, field

from reluflow.errors import ReluflowError
from reluflow.sweep.executors.member import Member, let_go
from reluflow.sweep.worker import Report

PATIENCE_S = 60.0  # a process without a task leaves after this long, should nobody say that the sweep is over


@dataclass(frozen=True)
class ProcessDeath:
    """What a task gave whose process died.

    Parameters
    ----------
    status
        How it ended.
    had_begun
        Whether it had taken up the task.
    """

    status: int
    had_begun: bool


@dataclass
class Crew:
    """The processes of one sweep in one Dask worker."""

    assignment: bytes
    _members: list[Member] = field(default_factory=list, init=False)
    _free: list[Member] = field(default_factory=list, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def work(self, task: tuple[int, ...], mark: str) -> Report | ProcessDeath:
        """Have a task done; as many at a time as there are callers."""
        member = self._take()
        member.give(task, mark)
        answer = member.read()
        if isinstance(answer, str):
            member.name = answer
            answer = member.read()
        if isinstance(answer, Report):
            with self._lock:
                self._free.append(member)
            return answer
        with self._lock:
            self._members.remove(member)
        status = member.process.wait()
        member.close()
        if isinstance(answer, ReluflowError):
            raise answer
        return ProcessDeath(status, had_begun=member.name is not None)

    def stop(self) -> None:
        """Let all end their cases, write them and leave."""
        with self._lock:
            members = list(self._members)
        let_go(members)

    def _take(self) -> Member:
        with self._lock:
            while self._free:
                member = self._free.pop()
                if member.process.poll() is None:
                    return member
                self._members.remove(member)  # it had nothing to do for too long
                member.close()
            member = Member.start(self.assignment, patience_s=PATIENCE_S)
            self._members.append(member)
            return member


_crews: dict[str, Crew] = {}
_crews_lock = threading.Lock()


def work_on(
    driver: str, mark: str, task: tuple[int, ...], assignment: bytes | None = None
) -> Report | ProcessDeath | None:
    """What a Dask worker runs: a task of the sweep `driver`; None where it has not been told what that is."""
    with _crews_lock:
        if driver not in _crews:
            if assignment is None:
                return None
            _crews[driver] = Crew(assignment)
        crew = _crews[driver]
    return crew.work(task, mark)


async def disband(driver: str) -> None:
    """What every Dask worker runs when a sweep ends or is stopped; its other work goes on meanwhile."""
    with _crews_lock:
        crew = _crews.pop(driver, None)
    if crew is not None:
        await asyncio.to_thread(crew.stop)


def dask_setup(worker: object) -> None:
    """What a Dask worker of a local cluster runs first: Ctrl-C reaches the whole group, and the driver decides."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
