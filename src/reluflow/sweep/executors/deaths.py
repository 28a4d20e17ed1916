"""Deaths: what becomes of a task whose worker process died."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from reluflow.errors import BackendError
from reluflow.sweep.segments import FAILED, Record, SegmentReader, SegmentWriter
from reluflow.sweep.worker import Assignment, Report, segment_header, writer_name

MOST_DEATHS = 5  # a case that takes this many workers with it, alone each time, is recorded as failed


@dataclass
class Deaths:
    """The deaths of one sweep.

    What a dead worker had written counts; the rest of its task is given out again, one case at a time. A case that has
    killed several workers by itself is recorded as failed, so that the sweep ends. A worker that ends before it takes
    up its task is no case's fault; several such in a row end the sweep.
    """

    assignment: Assignment
    _counts: Counter[int] = field(default_factory=Counter, init=False)
    _false_starts: int = field(default=0, init=False)

    def before_the_task(self, status: int | None) -> None:
        """Note a worker that ended before it took up its task; raises where none seems able to."""
        self._false_starts += 1
        if status is not None and status > 0 and self._false_starts >= MOST_DEATHS:
            raise BackendError(
                f"Worker processes end with status {status} before they begin; what they say is on standard error. "
                "What was finished is kept; --executor serial needs no other process."
            )

    def during(
        self, task: tuple[int, ...], writers: Iterable[str], ended: str
    ) -> tuple[list[Report], list[tuple[int, ...]]]:
        """Settle a task in which a worker died.

        Parameters
        ----------
        task
            Its cases.
        writers
            Names of the workers that had it.
        ended
            How the last of them ended, for the sentence of a case that fails.

        Returns
        -------
        list of Report, list of tasks
            What is known of its cases, and what is to be given out again.
        """
        self._false_starts = 0
        plan, folder = self.assignment.plan, Path(self.assignment.folder)
        reader = SegmentReader(folder)
        written: dict[bytes, str] = {}
        for writer in writers:
            for segment in reader.of(writer):
                written.update(segment.statuses())
        names = {index: plan.case_at(index).fingerprint() for index in task}
        finished = tuple(index for index in task if bytes.fromhex(names[index]) in written)
        failures = sum(written[bytes.fromhex(names[index])] == FAILED for index in finished)
        reports = [Report(finished, computed=len(finished), failed=failures)]
        again: list[tuple[int, ...]] = []
        rest = [index for index in task if index not in set(finished)]
        if len(task) == 1:
            self._counts.update(rest)
        for index in rest:
            if self._counts[index] < MOST_DEATHS:
                again.append((index,))
                continue
            sentence = (
                f"The worker died {MOST_DEATHS} times at this case, last with {ended}; it may need more memory than "
                "there is."
            )
            record = Record(names[index], FAILED, plan.values_at(index), (), 0.0, sentence)
            SegmentWriter(folder, writer_name(self.assignment.driver), segment_header(plan)).write([record.line()])
            reports.append(Report((index,), computed=1, failed=1))
        return reports, again
