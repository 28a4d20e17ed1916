"""Results on disk: small files of many results each, written by the worker, complete or not there at all.

A sync to disk costs milliseconds, a run may cost less; so a worker gathers what it finishes and writes it about once a
second into a numbered file of its own folder, `results/WRITER/000007.txt`: beside it first, synced, then renamed, then
the folder synced. The last line holds a digest of the rest, so a file that a broken disk or network cut short is seen
and counts as absent. Nothing is ever changed or deleted, and a reader that knows a writer's next number needs no
listing. One line is one case:

    FINGERPRINT done {"over": [...], "measures": [...], "seconds": ...}
    FINGERPRINT failed {"over": [...], "error": "...", "seconds": ...}
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reluflow.data.atomic import replacing
from reluflow.errors import ReluflowError

MAGIC = b"reluflow sweep results 1\n"
RESULTS = "results"
DONE, FAILED = "done", "failed"


class StorageError(ReluflowError, OSError):
    """A result could not be written; what was finished before is kept."""


@dataclass(frozen=True)
class Record:
    """One result.

    Parameters
    ----------
    fingerprint
        The name of the case.
    status
        "done" or "failed".
    over
        Values of the swept names.
    measures
        Values of the measures, in the plan's order; where it failed, None for those that could not be taken, or empty
        where the run itself failed.
    seconds
        What it cost.
    error
        Why it failed, in a sentence; empty where it did not.
    trace
        Where in the code it failed; empty where the sentence says all.
    """

    fingerprint: str
    status: str
    over: tuple[Any, ...]
    measures: tuple[Any, ...]
    seconds: float
    error: str = ""
    trace: str = ""

    def line(self) -> bytes:
        """The record as a line of a segment."""
        body: dict[str, Any] = {"over": self.over, "seconds": round(self.seconds, 6)}
        if self.measures or self.status == DONE:
            body["measures"] = self.measures
        if self.status != DONE:
            body |= {"error": self.error, "trace": self.trace}
        return f"{self.fingerprint} {self.status} {json.dumps(body)}\n".encode()


@dataclass(frozen=True)
class Segment:
    """A whole file of results: its header, and its lines still unparsed."""

    path: Path
    header: Mapping[str, Any]
    lines: tuple[bytes, ...]

    def covers(self, identities: Sequence[str]) -> bool:
        """Whether its results hold all of these measures."""
        return set(identities) <= set(self.header["measures"])

    def statuses(self) -> Iterator[tuple[bytes, str]]:
        """Fingerprint (16 bytes) and status of each result, without parsing the rest."""
        for line in self.lines:
            name, status, _ = line.split(b" ", 2)
            yield bytes.fromhex(name.decode()), status.decode()

    def records(self) -> Iterator[Record]:
        """The results."""
        for line in self.lines:
            name, status, body = line.split(b" ", 2)
            values = json.loads(body)
            yield Record(
                name.decode(),
                status.decode(),
                tuple(values["over"]),
                tuple(values.get("measures", ())),
                values["seconds"],
                values.get("error", ""),
                values.get("trace", ""),
            )


def read_segment(path: Path) -> Segment | None:
    """A whole segment; None for a file that is not there or not whole (with a warning)."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    body, _, last = content.rstrip(b"\n").rpartition(b"\n")
    body += b"\n"
    if not content.startswith(MAGIC) or last != _seal(body):
        warnings.warn(f"`{path}` is not a whole file of results and is left out; its cases run again.", stacklevel=2)
        return None
    _, header, *lines = body.splitlines()
    return Segment(path, json.loads(header), tuple(lines))


def _seal(body: bytes) -> bytes:
    return b"sha256 " + hashlib.sha256(body).hexdigest().encode()


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to disk; a rename is safe only then."""
    if os.name == "nt":
        return  # Windows has no such call; its renames are journaled
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_durably(path: Path, content: bytes) -> None:
    """Put a file in place so that it survives a crash at any moment, whole or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as handle:
            handle.write(content)
        sync_folder(path.parent)
    except OSError as error:
        raise not_written(path, error) from error


def not_written(path: Path, error: OSError) -> StorageError:
    """The sentence for a file of the sweep that could not be written."""
    return StorageError(
        f"`{path}` could not be written: {error.strerror or error}; what was finished before is kept, and the same "
        "command goes on from there."
    )


@dataclass
class SegmentWriter:
    """Writes the results of one worker, a segment at a time.

    Parameters
    ----------
    folder
        The sweep's folder.
    writer
        Name of the worker, its own for ever.
    header
        Base case, swept names and measures: what makes a line of values a result.
    """

    folder: Path
    writer: str
    header: Mapping[str, Any]
    number: int = field(default=0, init=False)

    def write(self, lines: Sequence[bytes]) -> None:
        """Write results; when this returns they are on disk."""
        body = MAGIC + json.dumps(self.header).encode() + b"\n" + b"".join(lines)
        own = self.folder / RESULTS / self.writer
        write_durably(own / segment_name(self.number), body + _seal(body) + b"\n")
        if self.number == 0:
            sync_folder(own.parent)
        self.number += 1


def segment_name(number: int) -> str:
    """The file of a writer's segment with this number."""
    return f"{number:06d}.txt"


@dataclass
class SegmentReader:
    """Reads every segment once; `new()` again gives what has come since."""

    folder: Path
    next_numbers: dict[str, int] = field(default_factory=dict)

    def new(self, *, skips: str = "\x00") -> Iterator[Segment]:
        """Segments not given before, of all writers whose name does not begin with `skips`."""
        try:
            writers = sorted(os.listdir(self.folder / RESULTS))
        except FileNotFoundError:
            return
        for writer in writers:
            if not writer.startswith(skips):
                yield from self.of(writer)

    def of(self, writer: str) -> Iterator[Segment]:
        """Segments of one writer not given before."""
        own = self.folder / RESULTS / writer
        while True:
            number = self.next_numbers.get(writer, 0)
            path = own / segment_name(number)
            segment = read_segment(path)
            if segment is None and not path.exists():
                return
            self.next_numbers[writer] = number + 1
            if segment is not None:
                yield segment
