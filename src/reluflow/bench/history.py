"""The history of the benchmarks: one line of JSON per machine and version, and the table that one can paste."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from reluflow.bench.benchmark import Timing
from reluflow.data.atomic import replacing
from reluflow.errors import InvalidInputError
from reluflow.numerics_version import NUMERICS_VERSION


@dataclass(frozen=True)
class Machine:
    """Where it was measured."""

    processor: str
    cores: int
    system: str
    python: str

    @classmethod
    def here(cls) -> Machine:
        """Of this process."""
        return cls(_processor(), os.cpu_count() or 1, platform.system(), ".".join(platform.python_version_tuple()[:2]))

    def __str__(self) -> str:
        return f"{self.processor}, {self.cores} cores, {self.system}, Python {self.python}"


@dataclass(frozen=True)
class HistoryLine:
    """What one version took on one machine.

    Parameters
    ----------
    machine, version, numerics
        Which; a line is replaced by a later one of the same three.
    date
        Day of the last measurement, UTC.
    seconds
        Ours, by the name of the benchmark.
    ratios
        The peer's time over ours, of those that have a peer.
    """

    machine: Machine
    version: str
    numerics: int
    date: str
    seconds: dict[str, float]
    ratios: dict[str, float]

    @classmethod
    def of(cls, timings: Sequence[Timing]) -> HistoryLine:
        """What was measured here and now."""
        seconds = {timing.name: timing.ours_s for timing in timings}
        ratios = {timing.name: timing.ratio for timing in timings if timing.ratio is not None}
        day = datetime.now(UTC).date().isoformat()
        return cls(Machine.here(), version("reluflow"), NUMERICS_VERSION, day, seconds, ratios)

    @property
    def key(self) -> tuple[Machine, str, int]:
        """What there is one line of."""
        return self.machine, self.version, self.numerics

    def with_later(self, later: HistoryLine) -> HistoryLine:
        """Both together: benchmarks that were run again have their later numbers."""
        kept = {name: ratio for name, ratio in self.ratios.items() if name not in later.seconds}
        return replace(later, seconds=self.seconds | later.seconds, ratios=kept | later.ratios)


def read_history(path: Path) -> list[HistoryLine]:
    """The lines of a history, in the order in which machines and versions came; none where there is no file."""
    if not path.exists():
        return []
    lines = []
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not text.strip():
            continue
        try:
            lines.append(_line_of(json.loads(text)))
        except (ValueError, TypeError, KeyError) as error:
            raise InvalidInputError(
                f"`{path}` must hold one line of JSON per machine and version, got {text[:60]!r} on line {number}; "
                "remove that line to go on."
            ) from error
    return lines


def keep_in_history(path: Path, timings: Sequence[Timing]) -> list[HistoryLine]:
    """Add measurements to a history, which is made where there is none, and return all of it."""
    lines = {line.key: line for line in read_history(path)}
    new = HistoryLine.of(timings)
    lines[new.key] = lines[new.key].with_later(new) if new.key in lines else new
    with replacing(path) as handle:
        for line in lines.values():
            handle.write((json.dumps(asdict(line), sort_keys=True) + "\n").encode())
    return list(lines.values())


def markdown_table(timings: Sequence[Timing]) -> str:
    """The timings as a table for a page, an issue or a changelog, with where and by which version they were measured.

    >>> print(markdown_table([Timing("a/b", 0.5, "peer", 2.0, "equal")]).splitlines()[-1])
    | a/b | 0.5 s | 2 s | 4 | peer; equal |
    """
    rows = [
        (
            timing.name,
            f"{timing.ours_s:.3g} s",
            "" if timing.peer_s is None else f"{timing.peer_s:.3g} s",
            "" if timing.ratio is None else f"{timing.ratio:.3g}",
            (f"{timing.peer}; " if timing.peer != "none" else "") + timing.agreement,
        )
        for timing in timings
    ]
    head = ("benchmark", "ours", "peer", "ratio", "against, agreement")
    lines = [f"reluflow {version('reluflow')}, numerics {NUMERICS_VERSION}, on {Machine.here()}", ""]
    lines += [_row(head), _row(("---", "---:", "---:", "---:", "---"))]
    return "\n".join([*lines, *(_row(row) for row in rows)])


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _line_of(values: dict[str, Any]) -> HistoryLine:
    return HistoryLine(
        machine=Machine(**values["machine"]),
        version=str(values["version"]),
        numerics=int(values["numerics"]),
        date=str(values["date"]),
        seconds={str(name): float(value) for name, value in values["seconds"].items()},
        ratios={str(name): float(value) for name, value in values["ratios"].items()},
    )


def _processor() -> str:
    """The model of the processor as the system names it."""
    info = Path("/proc/cpuinfo")
    if sys.platform.startswith("linux") and info.exists():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name" and value.strip():
                return value.strip()
    return platform.processor() or platform.machine() or "unknown processor"
