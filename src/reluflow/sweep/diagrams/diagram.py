"""Diagram: a registered phase diagram."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from reluflow.sweep.executors.executor import AbstractExecutor
from reluflow.sweep.run import ShowProgress


@dataclass(frozen=True)
class Made:
    """What making a diagram gave: sentences with the measured numbers, and the files."""

    findings: tuple[str, ...]
    files: tuple[Path, ...]


class AbstractDiagram(ABC):
    """A phase diagram by name."""

    name: str
    title: str

    @abstractmethod
    def make(
        self, out: Path, executor: AbstractExecutor, *, is_quick: bool = False, progress: ShowProgress | None = None
    ) -> Made:
        """Compute what is missing, draw it into `out`, and say what was found."""
