"""What a worker does with the cases it is given: lease, look, compute, write, release, report."""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from reluflow.errors import ReluflowError
from reluflow.experiment import Experiment
from reluflow.sweep.attempts import begin
from reluflow.sweep.leases import Leases, bucket_of
from reluflow.sweep.measures import Measure
from reluflow.sweep.plan import Plan
from reluflow.sweep.segments import DONE, FAILED, Record, Segment, SegmentReader, SegmentWriter, StorageError
from reluflow.sweep.training import finished_run, one_thread

FLUSH_S = 1.0  # finished results wait at most this long for the disk


@dataclass(frozen=True)
class Assignment:
    """What all workers of a sweep are told once.

    Parameters
    ----------
    folder
        Where results go.
    driver
        Name of the sweep at work; its workers' names begin with it.
    plan
        The cases.
    known
        For each writer, the number of its first segment that the driver has not read.
    """

    folder: str
    driver: str
    plan: Plan
    known: Mapping[str, int]


@dataclass(frozen=True)
class Report:
    """What became of a task.

    Parameters
    ----------
    indices
        The cases of the task.
    computed, failed
        How many were computed here, and how many of these failed.
    found
        How many another sweep had finished meanwhile.
    busy
        Cases a live worker of another sweep is computing.
    seconds
        Spent on the runs themselves.
    left
        Cases not begun because the sweep was stopped.
    """

    indices: tuple[int, ...]
    computed: int = 0
    failed: int = 0
    found: int = 0
    busy: tuple[int, ...] = ()
    seconds: float = 0.0
    left: tuple[int, ...] = ()


def writer_name(driver: str) -> str:
    """A name no other worker has had or will have."""
    host = "".join(letter for letter in socket.gethostname() if letter.isalnum())[:16]
    return f"{driver}-{host}-{os.getpid()}-{secrets.token_hex(3)}"


def segment_header(plan: Plan) -> dict[str, Any]:
    """What makes the lines of a segment results: the base case, the swept names, the measures."""
    columns = [measure.name for measure in plan.measures]
    return {"base": plan.base.to_document(), "names": plan.names, "measures": plan.identities, "columns": columns}


@dataclass
class Worker:
    """Computes cases of one sweep. Use as a context, which signs it on and off."""

    assignment: Assignment
    name: str = field(init=False)

    def __post_init__(self) -> None:
        self.name = writer_name(self.assignment.driver)
        folder = Path(self.assignment.folder)
        self._leases = Leases(folder, self.name)
        self._reader = SegmentReader(folder, dict(self.assignment.known))
        self._writer = SegmentWriter(folder, self.name, segment_header(self.assignment.plan))
        self._elsewhere: dict[bytes, str] = {}
        self._pending: list[bytes] = []
        self._lock, self._write_lock = threading.Lock(), threading.Lock()
        self._last_flush = time.monotonic()
        self._trouble: StorageError | None = None
        self._contexts = ExitStack()

    def __enter__(self) -> Self:
        self._contexts.enter_context(one_thread())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._contexts.close()
        self._leases.close()

    def work(
        self, indices: Sequence[int], should_stop: Callable[[], bool] = lambda: False, *, mark: str = ""
    ) -> Report:
        """Compute the cases of a task that nobody else has computed or is computing.

        Parameters
        ----------
        indices
            Numbers of cases in the plan; those that share a lease must come together.
        should_stop
            Asked between cases; what is finished is written before this returns.
        mark
            Name of the task where it may be given out again by others than the driver; workers that had it before are
            then known by it, and what they had written is not computed again.
        """
        plan = self.assignment.plan
        cases = {index: plan.case_at(index) for index in indices}
        names = {index: case.fingerprint() for index, case in cases.items()}
        buckets: dict[str, list[int]] = {}
        for index in indices:
            buckets.setdefault(bucket_of(names[index]), []).append(index)
        held: list[str] = []
        busy: list[int] = []
        left: list[int] = []
        computed = failed = found = 0
        seconds = 0.0
        ended = threading.Event()
        background = threading.Thread(target=self._keep_alive, args=(ended,), daemon=True)
        background.start()
        try:
            for bucket, members in buckets.items():
                broken = self._leases.take(bucket, len(members))
                if broken is None:
                    busy.extend(members)
                    continue
                held.append(bucket)
                if broken:  # its worker may have written results we have not seen
                    self._note(self._reader.of(broken))
            for earlier in begin(Path(self.assignment.folder), mark, self.name) if mark else ():
                self._note(self._reader.of(earlier))
            self._note(self._reader.new(skips=self.assignment.driver))
            for bucket in held:
                for index in buckets[bucket]:
                    if bytes.fromhex(names[index]) in self._elsewhere:
                        found += 1
                    elif should_stop():
                        left.append(index)
                    else:
                        record = compute(cases[index], names[index], plan.values_at(index), plan.measures)
                        with self._lock:
                            self._pending.append(record.line())
                        computed += 1
                        failed += record.status == FAILED
                        seconds += record.seconds
                        if self._trouble is not None:
                            raise self._trouble
        finally:
            ended.set()
            background.join()
            try:
                self.flush()
            finally:
                for bucket in held:
                    self._leases.release(bucket)
        return Report(tuple(indices), computed, failed, found, tuple(busy), seconds, tuple(left))

    def flush(self) -> None:
        """Write what is finished; when this returns it is on disk."""
        with self._write_lock:
            with self._lock:
                lines, self._pending = self._pending, []
                self._last_flush = time.monotonic()
            if lines:
                self._writer.write(lines)

    def _keep_alive(self, ended: threading.Event) -> None:
        while not ended.wait(0.2):
            self._leases.beat()
            if self._pending and time.monotonic() - self._last_flush >= FLUSH_S:
                try:
                    self.flush()
                except StorageError as error:
                    self._trouble = error
                    return

    def _note(self, segments: Iterable[Segment]) -> None:
        identities = self.assignment.plan.identities
        for segment in segments:
            if segment.covers(identities):
                self._elsewhere.update(segment.statuses())


def compute(case: Experiment, fingerprint: str, over: Sequence[object], measures: Sequence[Measure]) -> Record:
    """Run a case and take its measures; whatever goes wrong in it becomes its result.

    A measure that cannot be taken is None, its case has failed, and the other measures of the run are kept.

    >>> record = compute(Experiment("three-points", loss="logistic"), "", (), ())
    >>> record.status, record.error[:47]
    ('failed', '`y` must hold only the labels -1 and 1 for a cl')
    """
    began = time.perf_counter()
    values: list[Any] = []
    failures: list[tuple[str, str]] = []
    try:
        trajectory = finished_run(case)
        for measure in measures:
            try:
                values.append(measure(trajectory))
            except Exception as error:
                values.append(None)
                words = str(error) if isinstance(error, ReluflowError) else f"{type(error).__name__}: {error}"
                named = words if len(measures) == 1 else f"`{measure.name}`: {words}"
                failures.append((named, traceback.format_exc(limit=-8)))
    except ReluflowError as error:
        return Record(fingerprint, FAILED, tuple(over), (), time.perf_counter() - began, str(error))
    except MemoryError:
        sentence = "The case needs more memory than there is; take fewer samples or neurons, or fewer workers."
        return Record(fingerprint, FAILED, tuple(over), (), time.perf_counter() - began, sentence)
    except Exception as error:
        sentence = f"{type(error).__name__}: {error}"
        trace = traceback.format_exc(limit=-8)
        return Record(fingerprint, FAILED, tuple(over), (), time.perf_counter() - began, sentence, trace)
    seconds = time.perf_counter() - began
    if failures:
        sentences, traces = zip(*failures, strict=True)
        return Record(fingerprint, FAILED, tuple(over), tuple(values), seconds, " ".join(sentences), "\n".join(traces))
    return Record(fingerprint, DONE, tuple(over), tuple(values), seconds)
