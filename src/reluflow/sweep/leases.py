"""Leases: which worker computes which cases, so that two sweeps over one folder share the work and never repeat it.

Cases are claimed by the first four hexadecimal digits of their fingerprint, so sweeps that overlap only in part agree
on what a lease covers. A lease is a file made with O_EXCL that names its worker; each worker keeps a file alive by
touching it. A lease whose worker is gone is broken: at once where its process can be looked up, after a silence of
`SILENCE_S` where it ran on another machine. Breaking is a rename, so of two that try only one succeeds; were a lease
ever broken wrongly, a case would be computed twice with the same result, and nothing would be lost.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import time
from dataclasses import dataclass, field
from pathlib import Path

from reluflow.sweep.attempts import TASKS, begun
from reluflow.sweep.segments import not_written

LEASES, WORKERS = "leases", "workers"
BUCKET_DIGITS = 4
BEAT_S = 5.0
SILENCE_S = 120.0
NOBODY = "nobody"  # owner of a lease whose worker died before it wrote its name


def bucket_of(fingerprint: str) -> str:
    """The lease that covers a case."""
    return fingerprint[:BUCKET_DIGITS]


def machine_identity() -> str:
    """A name shared by exactly the processes that see each other's process ids: host, boot and process namespace."""
    parts = [socket.gethostname()]
    with contextlib.suppress(OSError):  # where there is no /proc, the host's name has to do
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip()[:8])
        parts.append(os.readlink("/proc/self/ns/pid"))
    return " ".join(parts)


def process_start(pid: int) -> str | None:
    """When a process of this machine began, in the kernel's own ticks; "" where unknown, None where it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        if Path("/proc/self/stat").exists():
            return None
        return "" if _answers(pid) else None
    except OSError:
        return ""
    state, *rest = text.rpartition(")")[2].split()
    return None if state in ("Z", "X") else rest[18]


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


@dataclass
class Leases:
    """The leases of one worker.

    Parameters
    ----------
    folder
        The sweep's folder.
    worker
        Name of the worker, its own for ever.
    """

    folder: Path
    worker: str
    _beat: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        me = {"machine": machine_identity(), "pid": os.getpid(), "start": process_start(os.getpid())}
        try:
            for name in (LEASES, WORKERS):
                (self.folder / name).mkdir(parents=True, exist_ok=True)
            self._alive.write_text(json.dumps(me))
        except OSError as error:
            raise not_written(self._alive, error) from error
        self._beat = time.monotonic()

    @property
    def _alive(self) -> Path:
        return self.folder / WORKERS / self.worker

    def beat(self) -> None:
        """Say that this worker is alive, every few seconds at most."""
        if time.monotonic() - self._beat >= BEAT_S:
            self._beat = time.monotonic()
            with contextlib.suppress(FileNotFoundError):
                os.utime(self._alive)

    def take(self, bucket: str, count: int) -> str | None:
        """Claim a bucket of `count` cases.

        Returns
        -------
        str or None
            "" if it was free, the name of the worker whose stale lease was broken, None if a live worker has it.
        """
        path = self.folder / LEASES / bucket
        broken = ""
        for _ in range(3):
            try:
                descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
            except FileExistsError:
                owner = self._owner(path)
                if owner is None:
                    continue  # released in between
                if is_alive(self.folder, owner):
                    return None
                if not break_lease(path, owner):
                    return None
                broken = owner
                continue
            except OSError as error:
                raise not_written(path, error) from error
            try:
                with os.fdopen(descriptor, "w") as handle:
                    handle.write(f"{self.worker} {count}")
            except OSError as error:  # as on a full disk
                path.unlink(missing_ok=True)
                raise not_written(path, error) from error
            return broken
        return None

    def release(self, bucket: str) -> None:
        """Give a lease back; one that was broken meanwhile is left to its new owner."""
        path = self.folder / LEASES / bucket
        if self._owner(path) == self.worker:
            path.unlink(missing_ok=True)

    def close(self) -> None:
        """Sign off."""
        self._alive.unlink(missing_ok=True)

    @staticmethod
    def _owner(path: Path) -> str | None:
        """Who holds a lease; None where nobody does. A file still empty belongs to a worker just writing its name."""
        for attempt in range(20):
            try:
                words = path.read_text().split()
            except FileNotFoundError:
                return None
            if words:
                return words[0]
            time.sleep(0.005 * (attempt > 2))
        return NOBODY  # killed between making the file and writing into it


def break_lease(path: Path, owner: str) -> bool:
    """Take a stale lease away; False where another was quicker."""
    aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        os.rename(path, aside)
    except FileNotFoundError:
        return False
    words = aside.read_text().split()
    is_the_stale_one = (words[0] if words else NOBODY) == owner
    if not is_the_stale_one:
        with contextlib.suppress(FileExistsError):
            os.link(aside, path)  # a fresh lease, made since we looked: put it back
    aside.unlink()
    return is_the_stale_one


def is_alive(folder: Path, worker: str) -> bool:
    """Whether a worker still computes, as far as this machine can tell."""
    path = folder / WORKERS / worker
    try:
        who = json.loads(path.read_text())
        last = path.stat().st_mtime
    except (OSError, ValueError):
        return False
    if who.get("machine") == machine_identity():
        return bool(process_start(int(who["pid"])) == who.get("start"))
    try:
        return _now(folder) - last < SILENCE_S
    except OSError:  # the clock cannot be read on a full disk; nobody is given up for that
        return True


def _now(folder: Path) -> float:
    """The time by the clock of the folder's file system, which other machines' marks are made with."""
    probe = folder / WORKERS / f".clock-{os.getpid()}"
    probe.touch()
    try:
        return probe.stat().st_mtime
    finally:
        probe.unlink(missing_ok=True)


def running_cases(folder: Path) -> int:
    """How many cases live workers have claimed."""
    try:
        paths = [path for path in (folder / LEASES).iterdir() if not path.name.startswith(".")]
    except FileNotFoundError:
        return 0
    alive: dict[str, bool] = {}
    total = 0
    for path in paths:
        try:
            words = path.read_text().split()
        except FileNotFoundError:
            continue
        if len(words) == 2:
            if words[0] not in alive:
                alive[words[0]] = is_alive(folder, words[0])
            total += int(words[1]) if alive[words[0]] else 0
    return total


def remove_traces_of_the_dead(folder: Path) -> None:
    """Delete stale leases, the marks of workers that are gone, and those of tasks that only such workers had."""
    for path in sorted((folder / LEASES).glob("*")):
        try:
            words = path.read_text().split()
        except FileNotFoundError:
            continue
        if words and not is_alive(folder, words[0]):
            break_lease(path, words[0])
    for path in sorted((folder / WORKERS).glob("*")):
        if not is_alive(folder, path.name):
            path.unlink(missing_ok=True)
    for path in sorted((folder / TASKS).glob("*")):
        if not any(is_alive(folder, worker) for worker in begun(folder, path.name)):  # else another sweep's
            path.unlink(missing_ok=True)
