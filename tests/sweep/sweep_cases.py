"""Small sweeps that several tests use, and how to look into their folders."""

import json
import os
import subprocess
import sys
from pathlib import Path

from reluflow.sweep.segments import SegmentReader

SOURCE = str(Path(__file__).resolve().parents[2] / "src")
SMALL = {"scale": "1e-1,1e-3", "seed": "0..2"}


def records(folder):
    """Every record in a folder, duplicates included."""
    return [record for segment in SegmentReader(Path(folder)).new() for record in segment.records()]


def environment(**more):
    path = os.pathsep.join([SOURCE, *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path, "NUMBA_NUM_THREADS": "1", **more}


def start(*words, **options):
    """Start `reluflow` in a process of its own."""
    code = "from reluflow.cli.main import run; run()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(**options.pop("env", {})),
        **options,
    )


def finish(process, timeout=240):
    out, err = process.communicate(timeout=timeout)
    assert process.returncode == 0, err
    return json.loads(out)


def children(pid):
    """Processes whose parent is `pid`."""
    return _processes_with(pid, 1)


def descendants(pid):
    """Processes that a process has started, and those that these have."""
    found = children(pid)
    return found + [other for child in found for other in descendants(child)]


def session(leader):
    """Processes of the session that a process leads, itself included."""
    return _processes_with(leader, 3)


def _processes_with(number, field):
    """Processes that have not ended, with this number in this field after the name in their `stat`."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(words[field]) == number and words[0] != "Z":
            found.append(int(path.parent.name))
    return found
