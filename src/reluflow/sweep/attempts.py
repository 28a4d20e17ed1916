"""Attempts: which workers have begun a task that a cluster may give out again by itself.

Dask gives a task to another worker where it takes the first for dead. The first may have written results before it
died, or have finished and only its report was lost; whoever has the task next finds its name here and reads what it
wrote. The name is noted after the leases are taken and before anything is computed, so what was written before the
leases were given back is always seen.
"""

from __future__ import annotations

from pathlib import Path

from reluflow.sweep.segments import not_written

TASKS = "tasks"


def begin(folder: Path, mark: str, worker: str) -> list[str]:
    """Note that a worker begins a task; gives the workers that had begun it before."""
    path = folder / TASKS / mark
    before = begun(folder, mark)
    try:
        path.parent.mkdir(exist_ok=True)
        with path.open("a") as handle:
            handle.write(f"{worker}\n")  # one short line in append mode: never mixed with another's
    except OSError as error:
        raise not_written(path, error) from error
    return before


def begun(folder: Path, mark: str) -> list[str]:
    """The workers that have begun a task."""
    try:
        return (folder / TASKS / mark).read_text().split()
    except FileNotFoundError:
        return []


def forget(folder: Path, mark: str) -> None:
    """The report of a task has come; nobody will begin it again."""
    (folder / TASKS / mark).unlink(missing_ok=True)
