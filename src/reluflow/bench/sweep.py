"""Benchmarks of sweeps: two workers against one, Dask against one, what a case costs beyond its run, a million cases.

Each is timed through the command line in processes of its own, as a user would run it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from reluflow.bench.benchmark import Benchmark, Comparison

CASES, WIDTH = 10_000, 200
SIZE_VARIABLE = "RELUFLOW_BENCH_SWEEP_CASES"  # fewer cases, to try it out


def _sweep(out: Path, cases: int, *options: str) -> tuple[dict[str, Any], float]:
    """Sweep three points over seeds; gives its JSON and the peak memory of the parent in MiB."""
    words = [
        "sweep",
        "three-points",
        "--width",
        str(WIDTH),
        "--over",
        f"seed=0..{cases - 1}",
        "--measure",
        "loss,outcome",
    ]
    code = (
        "import resource, sys\n"
        "from reluflow.cli.main import run\n"
        "try:\n    run()\n"
        "finally:\n    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words, "--out", str(out), "--json", *options],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout), float(done.stderr.split()[-1]) / 1024


def _size() -> int:
    return int(os.environ.get(SIZE_VARIABLE, CASES))


def two_workers() -> list[Comparison]:
    """10,000 cases of three points, m = 200: two processes, and two Dask workers, against one process."""
    cases = _size()
    comparisons = []
    with tempfile.TemporaryDirectory() as folder:
        _sweep(Path(folder, "warm"), 4, "--executor", "serial")  # compiles
        one, _ = _sweep(Path(folder, "one"), cases, "--executor", "processes", "--workers", "1")
        two, memory = _sweep(Path(folder, "two"), cases, "--executor", "processes", "--workers", "2")
        _, less = _sweep(Path(folder, "less"), max(cases // 10, 4), "--executor", "processes", "--workers", "2")
        note = (
            f"{_differences(Path(folder, 'one'), Path(folder, 'two'))} of {cases} rows differ; the driver's peak was "
            f"{memory:.0f} MiB, with a tenth of the cases {less:.0f} MiB"
        )
        comparisons.append(Comparison("sweep/two-processes", two["seconds"], "one process", one["seconds"], note))
        overhead = 1e3 * (one["seconds"] - _run_seconds(Path(folder, "one"))) / cases
        note = f"{overhead:.3g} ms a case beyond the runs themselves, the start of the worker included"
        comparisons.append(
            Comparison("sweep/overhead", one["seconds"], "the runs alone", _run_seconds(Path(folder, "one")), note)
        )
        try:
            dask, _ = _sweep(Path(folder, "dask"), cases, "--executor", "dask", "--workers", "2")
        except subprocess.CalledProcessError as error:
            comparisons.append(
                Comparison("sweep/two-dask-workers", float("nan"), "one process", None, str(error.stderr)[-200:])
            )
        else:
            note = f"{_differences(Path(folder, 'one'), Path(folder, 'dask'))} of {cases} rows differ"
            comparisons.append(
                Comparison("sweep/two-dask-workers", dask["seconds"], "one process", one["seconds"], note)
            )
    return comparisons


def _differences(one: Path, two: Path) -> int:
    import pandas

    first, second = (pandas.read_parquet(folder / "table.parquet") for folder in (one, two))
    return int((first.astype(str) != second.astype(str)).any(axis=1).sum())


def _run_seconds(folder: Path) -> float:
    """What the runs of a folder took by themselves, from their records."""
    total = 0.0
    for path in (folder / "results").rglob("*.txt"):
        for line in path.read_bytes().splitlines()[2:-1]:
            total += json.loads(line.split(b" ", 2)[2])["seconds"]
    return total


def many_cases(cases: int) -> list[Comparison]:
    """List, resume and tabulate 100,000 and ten times as many cases: results made up, files real."""
    return [
        _tabulated(cases // 10, "sweep/tabulate-tenth", None),
        _tabulated(cases, "sweep/tabulate", None),
    ]


def _tabulated(cases: int, name: str, peer: float | None) -> Comparison:
    with tempfile.TemporaryDirectory() as folder:
        code = (
            "import sys, time, resource\n"
            "from pathlib import Path\n"
            "from reluflow.sweep.plan import make_plan\n"
            "from reluflow.sweep.segments import Record, SegmentWriter\n"
            "from reluflow.sweep.store import Progress, write_plan\n"
            "from reluflow.sweep.table import write_table\n"
            "folder, cases = Path(sys.argv[1]), int(sys.argv[2])\n"
            "plan = make_plan('three-points', {'seed': range(cases)}, ['outcome', 'loss'])\n"
            "header = {'base': plan.base.settings(), 'names': plan.names, 'measures': plan.identities, 'columns': []}\n"
            "writer = SegmentWriter(folder, 'made-up', header)\n"
            "names = plan.fingerprints()\n"
            "for start in range(0, cases, 200):\n"
            "    few = range(start, min(start + 200, cases))\n"
            "    done = [Record(bytes(names[k]).hex(), 'done', (k,), ('stationary', 1 / (k + 1)), 0.01) for k in few]\n"
            "    writer.write([record.line() for record in done])\n"
            "began = time.perf_counter()\n"
            "write_plan(folder, plan)\n"
            "known = Progress(plan, folder)\n"
            "assert known.count(2) == cases\n"
            "listed = time.perf_counter() - began\n"
            "counts = write_table(plan, folder)\n"
            "assert counts['done'] == cases\n"
            "print(listed, time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)\n"
        )
        words = [sys.executable, "-c", code, folder, str(cases)]
        began = time.perf_counter()
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        listed, seconds, memory = map(float, done.stdout.split())
        note = (
            f"{cases:,} cases: read for resuming in {listed:.3g} s, with the table {seconds:.3g} s, "
            f"{1e6 * seconds / cases:.3g} us a case, {memory:.0f} MiB; {time.perf_counter() - began:.0f} s in all"
        )
        return Comparison(name, seconds, "its own cost is linear", peer, note)


BENCHMARKS = (
    Benchmark("sweep/workers", "a sweep on two workers against one", two_workers),
    Benchmark("sweep/million", "a million cases listed, resumed, tabulated", partial(many_cases, 1_000_000)),
)
