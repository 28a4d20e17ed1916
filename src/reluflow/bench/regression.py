"""Is this version slower than another: short tasks by both in turn, beside the noise that the turns show themselves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import reluflow
from reluflow.bench import short_tasks
from reluflow.errors import BackendError, InvalidInputError

ROUNDS, REPEATS = 5, 3
TOLERATED = 0.1  # slower by less is never a regression: compilers and layouts in memory do as much
NOISE_FACTOR = 3.0  # times the noise, as measured in this very call


@dataclass(frozen=True)
class VersionComparison:
    """One task in two versions.

    Parameters
    ----------
    name
        The task.
    ours, theirs
        Smallest processor time of this version and of the other, in seconds; nan where it cannot do the task.
    noise
        By how much, relative, a round is typically slower than the best of the same version: the larger of the two.
    reason
        Why it could not be timed; empty where it was.
    """

    name: str
    ours: float
    theirs: float
    noise: float
    reason: str = ""

    @property
    def ratio(self) -> float:
        """Ours over theirs: above 1 this version is slower."""
        return self.ours / self.theirs

    @property
    def bound(self) -> float:
        """The largest ratio that the noise explains."""
        return 1.0 + max(TOLERATED, NOISE_FACTOR * self.noise)

    @property
    def is_regression(self) -> bool:
        """Whether this version is slower than the noise explains; also where only the other can do the task."""
        if self.reason:
            return bool(np.isnan(self.ours) and not np.isnan(self.theirs))
        return self.ratio > self.bound


def compare_versions(
    other: Path, *, rounds: int = ROUNDS, names: Sequence[str] = (), on_round: Callable[[str], None] | None = None
) -> list[VersionComparison]:
    """Time the short tasks by this version and by that in the folder `other`, in turn.

    Parameters
    ----------
    other
        A folder that holds the package `reluflow` of the other version: the `src` of a checkout.
    rounds
        Turns that count; one before them compiles what must be compiled.
    names
        Which tasks; all by default.
    on_round
        Called with what is being done.
    """
    if not (other / "reluflow" / "__init__.py").exists():
        raise InvalidInputError(
            f"`--against` must be a folder that holds the package reluflow, such as the src of a checkout, got {other}."
        )
    if rounds < 2:
        raise InvalidInputError(f"`rounds` must be at least 2, to see how far two differ, got {rounds}.")
    chosen = list(names) or list(short_tasks.TASKS)
    ours: list[dict[str, float | str]] = []
    theirs: list[dict[str, float | str]] = []
    here = Path(reluflow.__file__).resolve().parent.parent
    for turn in range(rounds + 1):
        if on_round is not None:
            on_round("compiling" if turn == 0 else f"round {turn} of {rounds}")
        turns = [(here, ours), (other, theirs)]
        for source, kept in turns if turn % 2 else reversed(turns):  # who comes first changes
            found = _timed_with(source.resolve(), chosen)
            if turn > 0:
                kept.append(found)
    return [judged(name, [row[name] for row in ours], [row[name] for row in theirs]) for name in chosen]


def judged(name: str, ours: Sequence[float | str], theirs: Sequence[float | str]) -> VersionComparison:
    """The comparison of the rounds of one task.

    >>> judged("a", [1.0, 1.02, 1.01], [1.0, 1.01, 1.03]).is_regression
    False
    >>> judged("a", [1.5, 1.52, 1.51], [1.0, 1.01, 1.03]).is_regression
    True
    """
    reasons = [f"this version: {row}" for row in ours if isinstance(row, str)][:1]
    reasons += [f"the other: {row}" for row in theirs if isinstance(row, str)][:1]
    mine = np.array([row for row in ours if not isinstance(row, str)])
    others = np.array([row for row in theirs if not isinstance(row, str)])
    noise = max((float(np.median(rows) / np.min(rows)) - 1.0 for rows in (mine, others) if rows.size), default=np.nan)
    best, best_other = (float(np.min(rows)) if rows.size else np.nan for rows in (mine, others))
    return VersionComparison(name, best, best_other, noise, "; ".join(reasons))


def _timed_with(source: Path, names: Sequence[str]) -> dict[str, float | str]:
    """One process of the version whose source is in this folder."""
    environment = os.environ | {"PYTHONPATH": str(source)}
    command = [sys.executable, short_tasks.__file__, str(REPEATS), *names]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    try:
        found: dict[str, float | str] = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError) as error:
        last = (done.stderr.strip().splitlines() or ["nothing was printed"])[-1]
        raise BackendError(f"the tasks could not be timed with {source}: {last}") from error
    return found
