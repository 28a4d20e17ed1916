"""SweepFolder: what a sweep keeps in its folder, and what of a plan is already there."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reluflow.arrays import BoolArray, IndexArray
from reluflow.errors import InvalidInputError
from reluflow.sweep.leases import running_cases
from reluflow.sweep.measures import Measure
from reluflow.sweep.plan import Axis, Plan
from reluflow.sweep.segments import DONE, RESULTS, SegmentReader, write_durably
from reluflow.sweep.swept import described_case

PLAN = "sweep.json"
TABLE = "table.parquet"
MISSING_CODE, FAILED_CODE, DONE_CODE = 0, 1, 2


@dataclass
class Progress:
    """Which cases of a plan have a result: a code per case, 25 bytes a case in all.

    Parameters
    ----------
    plan
        The cases.
    folder
        The sweep's folder.
    """

    plan: Plan
    folder: Path
    codes: NDArray[np.uint8] = field(init=False)
    reader: SegmentReader = field(init=False)
    results: Counter[str] = field(default_factory=Counter, init=False)  # read so far, by their writers

    def __post_init__(self) -> None:
        names = self.plan.fingerprints().view("S16").ravel()
        self._order = np.argsort(names, kind="stable")
        self._sorted = names[self._order]
        self.codes = np.zeros(len(self.plan), dtype=np.uint8)
        self.reader = SegmentReader(self.folder)
        self.read()

    def read(self) -> None:
        """Take in the results that have come since."""
        for segment in self.reader.new():
            if not segment.covers(self.plan.identities):
                continue
            self.results[segment.path.parent.name] += len(segment.lines)
            found = list(segment.statuses())
            names = np.array([name for name, _ in found], dtype="S16")
            statuses = np.array([DONE_CODE if status == DONE else FAILED_CODE for _, status in found], dtype=np.uint8)
            is_ours, places = self.places_of(names)
            np.maximum.at(self.codes, places, statuses[is_ours])

    def places_of(self, names: NDArray[np.bytes_]) -> tuple[BoolArray, IndexArray]:
        """Which of these fingerprints are cases of the plan, and the numbers of those that are."""
        spots = np.minimum(np.searchsorted(self._sorted, names), len(self._sorted) - 1)
        is_ours = self._sorted[spots] == names if len(self._sorted) else np.zeros(len(names), dtype=bool)
        return is_ours, self._order[spots[is_ours]]

    def fingerprints(self) -> NDArray[np.bytes_]:
        """The fingerprint of every case, in the plan's order."""
        names = np.empty_like(self._sorted)
        names[self._order] = self._sorted
        return names

    def in_lease_order(self, indices: IndexArray) -> tuple[IndexArray, NDArray[np.uint16]]:
        """These cases by fingerprint, so that those under one lease come together, and the lease of each."""
        prefixes = self.plan_prefixes()
        ordered = indices[np.argsort(prefixes[indices], kind="stable")]
        return ordered, prefixes[ordered]

    def plan_prefixes(self) -> NDArray[np.uint16]:
        """The first 16 bits of every case's fingerprint."""
        prefixes = np.empty(len(self.plan), dtype=np.uint16)
        heads = np.frombuffer(self._sorted.tobytes(), dtype=np.uint8).reshape(-1, 16)[:, :2].astype(np.uint16)
        prefixes[self._order] = heads[:, 0] * np.uint16(256) + heads[:, 1]
        return prefixes

    def computed_by(self, driver: str) -> int:
        """How many results the workers of a sweep have written, as far as was read."""
        return sum(number for writer, number in self.results.items() if writer.startswith(driver))

    def count(self, code: int) -> int:
        """How many cases have this code."""
        return int(np.count_nonzero(self.codes == code))


def open_folder(out: str | os.PathLike[str]) -> Path:
    """Make the folder of a sweep, refusing what cannot be one."""
    folder = Path(out).expanduser()
    try:
        (folder / RESULTS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(f"`{folder}` cannot be the folder of a sweep: {error.strerror or error}.") from error
    return folder


def write_plan(folder: Path, plan: Plan) -> None:
    """Say in the folder what its last sweep was."""
    write_durably(folder / PLAN, (json.dumps(plan.settings(), indent=1) + "\n").encode())


def read_settings(folder: Path) -> dict[str, Any]:
    """What the folder's last sweep was."""
    path = folder / PLAN
    try:
        settings: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInputError(f"`{folder}` must be the folder of a sweep; it has no {PLAN}.") from error
    except ValueError as error:
        raise InvalidInputError(f"`{path}` must be the description of a sweep, got something else: {error}.") from error
    return settings


def plan_of(settings: Mapping[str, Any]) -> Plan:
    """The plan of a folder, to look at and not to run: measures are known by their identity only."""
    base = described_case(settings["base"])
    axes = tuple(Axis(name, tuple(values)) for name, values in settings["over"].items())
    measures = tuple(Measure(word.partition("@")[0], _cannot_run, word) for word in settings["measures"])
    return Plan(base, axes, measures)


def _cannot_run(trajectory: object) -> None:
    raise InvalidInputError("`plan` was read from a folder and is there to be looked at; make it anew to run it.")


def status(out: str | os.PathLike[str]) -> dict[str, int]:
    """How far the last sweep of a folder is: `cases`, `done`, `failed`, `running`; from any process, at any time."""
    folder = Path(out).expanduser()
    known = Progress(plan_of(read_settings(folder)), folder)
    return {
        "cases": len(known.plan),
        "done": known.count(DONE_CODE),
        "failed": known.count(FAILED_CODE),
        "running": running_cases(folder),
    }
