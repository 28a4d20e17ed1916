"""AbstractExecutor: takes tasks as workers get free, gives reports as they come."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from typing import Protocol

from reluflow.sweep.worker import Assignment, Report


class TaskSource(Protocol):
    """Where tasks come from."""

    def next_task(self) -> tuple[int, ...] | None:
        """The numbers of the cases of the next task, or None where there is none now."""

    @property
    def is_finished(self) -> bool:
        """Whether no task will come any more, once all reports are in."""


class AbstractExecutor(ABC):
    """Computes the tasks of a source."""

    @property
    @abstractmethod
    def num_workers(self) -> int:
        """How many cases are computed at a time."""

    @abstractmethod
    def reports(self, assignment: Assignment, source: TaskSource) -> Generator[Report]:
        """One report per task, in the order they end; closing the iterator stops the workers between two cases."""
