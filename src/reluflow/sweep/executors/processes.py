"""ProcessesExecutor: a pool of worker processes on this machine, each with one thread; any of them may die."""

from __future__ import annotations

import os
import pickle
import selectors
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reluflow.errors import BackendError, InvalidInputError, MissingExtraError, ReluflowError
from reluflow.sweep.executors.executor import AbstractExecutor, TaskSource
from reluflow.sweep.executors.messages import receive, send
from reluflow.sweep.executors.worker_process import ONE_THREAD
from reluflow.sweep.segments import FAILED, Record, SegmentReader, SegmentWriter
from reluflow.sweep.worker import Assignment, Report, writer_name

MOST_DEATHS = 5  # a case that takes this many workers with it, alone each time, is recorded as failed
STOP_S = 10.0  # how long a worker may take to end its case when the sweep is stopped
_PROGRAM = [sys.executable, "-m", "reluflow.sweep.executors.worker_process"]


def available_cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def pickled_assignment(assignment: Assignment) -> bytes:
    """An assignment as bytes; functions defined in a script or a notebook travel by value."""
    try:
        import cloudpickle
    except ModuleNotFoundError:
        try:
            return pickle.dumps(assignment)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise MissingExtraError(
                "Sending your own measures to worker processes needs cloudpickle, which is not installed: "
                "pip install 'reluflow[sweep]'; or use the serial executor."
            ) from error
    return bytes(cloudpickle.dumps(assignment))


@dataclass
class _Member:
    """A worker process, what it is doing, and its name once it has said so."""

    process: subprocess.Popen[bytes]
    task: tuple[int, ...] | None = None
    name: str | None = None


@dataclass
class ProcessesExecutor(AbstractExecutor):
    """Worker processes, by default one per core.

    A worker that dies (killed, out of memory, a crash in compiled code) is replaced, what it had written counts, and
    the rest of its task is given out again, one case at a time. A case that has killed several workers by itself is
    recorded as failed, so that the sweep ends.
    """

    workers: int | None = None
    _deaths: Counter[int] = field(default_factory=Counter, init=False)
    _false_starts: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise InvalidInputError(f"`workers` must be at least 1, got {self.workers}.")

    @property
    def num_workers(self) -> int:
        return self.workers or available_cores()

    def reports(self, assignment: Assignment, source: TaskSource) -> Generator[Report]:
        hello = (list(sys.path), pickled_assignment(assignment))
        again: deque[tuple[int, ...]] = deque()
        members: list[_Member] = []
        watched = selectors.DefaultSelector()

        def next_task() -> tuple[int, ...] | None:
            return again.popleft() if again else source.next_task()

        try:
            while True:
                for member in members:
                    if member.task is None and (task := next_task()) is not None:
                        self._give(member, task)
                while len(members) < self.num_workers and (task := next_task()) is not None:
                    members.append(self._start(hello, watched))
                    self._give(members[-1], task)
                if not any(member.task for member in members):
                    if source.is_finished:
                        return
                    time.sleep(0.2)
                    continue
                for key, _ in watched.select(timeout=0.5):
                    member = key.data
                    message = _read(member)
                    if isinstance(message, str):
                        member.name = message
                    elif isinstance(message, ReluflowError):
                        raise message
                    elif message is not None:
                        member.task = None
                        yield message
                    else:
                        watched.unregister(key.fileobj)
                        members.remove(member)
                        yield from self._after_death(member, assignment, again)
        finally:
            self._stop(members)
            watched.close()

    def _start(self, hello: Any, watched: selectors.BaseSelector) -> _Member:
        process = subprocess.Popen(
            _PROGRAM, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, env={**os.environ, **ONE_THREAD}
        )
        member = _Member(process)
        assert process.stdout is not None
        watched.register(process.stdout, selectors.EVENT_READ, member)
        _tell(member, hello)
        return member

    def _give(self, member: _Member, task: tuple[int, ...]) -> None:
        member.task = task
        _tell(member, task)

    def _after_death(self, member: _Member, assignment: Assignment, again: deque[tuple[int, ...]]) -> Iterator[Report]:
        """Count what a dead worker had written, and give out the rest again."""
        member.process.wait()
        _close(member)
        if member.task is None:
            return
        if member.name is None:  # it died before it took up the task, which is not the fault of any case
            again.append(member.task)
            self._false_starts += 1
            status = member.process.returncode
            if status > 0 and self._false_starts >= MOST_DEATHS:
                raise BackendError(
                    f"Worker processes end with status {status} before they begin; what they say is on standard error. "
                    "What was finished is kept; --executor serial needs no other process."
                )
            return
        self._false_starts = 0
        plan, folder = assignment.plan, Path(assignment.folder)
        written: dict[bytes, str] = {}
        for segment in SegmentReader(folder).of(member.name):
            written.update(segment.statuses())
        names = {index: plan.case_at(index).fingerprint() for index in member.task}
        finished = tuple(index for index in member.task if bytes.fromhex(names[index]) in written)
        failures = sum(written[bytes.fromhex(names[index])] == FAILED for index in finished)
        yield Report(finished, computed=len(finished), failed=failures)
        rest = [index for index in member.task if index not in set(finished)]
        if len(member.task) == 1:
            self._deaths.update(rest)
        for index in rest:
            if self._deaths[index] < MOST_DEATHS:
                again.append((index,))
                continue
            sentence = (
                f"The worker died {MOST_DEATHS} times at this case, last with status {member.process.returncode}; "
                "it may need more memory than there is."
            )
            header = {"base": plan.base.settings(), "names": plan.names, "measures": plan.identities, "columns": []}
            record = Record(names[index], FAILED, plan.values_at(index), (), 0.0, sentence)
            SegmentWriter(folder, writer_name(assignment.driver), header).write([record.line()])
            yield Report((index,), computed=1, failed=1)

    def _stop(self, members: list[_Member]) -> None:
        """Let every worker end its case and write it; end those that take too long."""
        for member in members:
            _close_input(member)
        deadline = time.monotonic() + STOP_S
        for member in members:
            try:
                member.process.wait(timeout=max(deadline - time.monotonic(), 0.0))
            except subprocess.TimeoutExpired:
                member.process.kill()
                member.process.wait()
            except KeyboardInterrupt:
                for other in members:
                    other.process.kill()
                raise
            _close(member)


def _tell(member: _Member, message: Any) -> None:
    """Send a message; a worker that is already dead is noticed when its output ends."""
    assert member.process.stdin is not None
    try:
        send(member.process.stdin, message)
    except (BrokenPipeError, ConnectionResetError):
        return


def _read(member: _Member) -> Any:
    """The next message of a worker, or None where it died, also in the middle of one."""
    assert member.process.stdout is not None
    try:
        return receive(member.process.stdout)
    except (EOFError, ConnectionResetError):
        return None


def _close_input(member: _Member) -> None:
    assert member.process.stdin is not None
    try:
        member.process.stdin.close()
    except BrokenPipeError:
        return


def _close(member: _Member) -> None:
    _close_input(member)
    assert member.process.stdout is not None
    member.process.stdout.close()
