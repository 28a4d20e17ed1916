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
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from reluflow.bench.benchmark import Benchmark, Timing

CASES, WIDTH = 10_000, 200
SIZE_VARIABLE = "RELUFLOW_BENCH_SWEEP_CASES"  # fewer cases, to try it out
SHORT_CASES = 3_000  # of one step of descent, where what a case costs beyond its run is all there is
_DRIVER = """
import json, resource, sys
from reluflow.cli.main import run
try:
    run()
finally:
    spent = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu = sum(one.ru_utime + one.ru_stime for one in spent)
    print(json.dumps([cpu, spent[0].ru_maxrss / 1024]), file=sys.stderr)
"""


@dataclass(frozen=True)
class _Swept:
    """What a sweep took.

    Parameters
    ----------
    seconds, processor_seconds
        On the clock as the sweep tells it, and of all its processes together, their start included.
    memory
        Largest memory of the driver in MiB.
    folder
        Where its results are.
    """

    seconds: float
    processor_seconds: float
    memory: float
    folder: Path

    def run_seconds(self) -> float:
        """What the runs took by themselves, from their records."""
        total = 0.0
        for path in (self.folder / "results").rglob("*.txt"):
            for line in path.read_bytes().splitlines()[2:-1]:
                total += json.loads(line.split(b" ", 2)[2])["seconds"]
        return total


def _sweep(out: Path, cases: int, *options: str) -> _Swept:
    """Sweep three points over seeds through the command line."""
    words = ["sweep", "three-points", "--width", str(WIDTH), "--over", f"seed=0..{cases - 1}"]
    words += ["--measure", "loss,outcome", "--out", str(out), "--json", *options]
    done = subprocess.run([sys.executable, "-c", _DRIVER, *words], capture_output=True, text=True, check=True)
    cpu, memory = json.loads(done.stderr.splitlines()[-1])
    return _Swept(json.loads(done.stdout)["seconds"], cpu, memory, out)


def _size() -> int:
    return int(os.environ.get(SIZE_VARIABLE, CASES))


def two_workers() -> list[Timing]:
    """10,000 cases of three points, m = 200: two processes, and two Dask workers, against one process."""
    cases = _size()
    comparisons = []
    with tempfile.TemporaryDirectory() as folder:
        _sweep(Path(folder, "warm"), 4, "--executor", "serial")  # compiles
        one = _sweep(Path(folder, "one"), cases, "--executor", "processes", "--workers", "1")
        two = _sweep(Path(folder, "two"), cases, "--executor", "processes", "--workers", "2")
        less = _sweep(Path(folder, "less"), max(cases // 10, 4), "--executor", "processes", "--workers", "2")
        note = (
            f"{differing_rows(one.folder, two.folder)} of {cases} rows differ; processor time "
            f"{one.processor_seconds:.4g} s with one worker, {two.processor_seconds:.4g} s with two; "
            f"driver's peak {two.memory:.0f} MiB, with a tenth of the cases {less.memory:.0f} MiB"
        )
        comparisons.append(Timing("sweep/two-processes", two.seconds, "one process", one.seconds, note))
        try:
            dask = _sweep(Path(folder, "dask"), cases, "--executor", "dask", "--workers", "2")
        except subprocess.CalledProcessError as error:
            comparisons.append(
                Timing("sweep/two-dask-workers", float("nan"), "one process", None, str(error.stderr)[-200:])
            )
        else:
            note = f"{differing_rows(one.folder, dask.folder)} of {cases} rows differ"
            comparisons.append(Timing("sweep/two-dask-workers", dask.seconds, "one process", one.seconds, note))
    return comparisons


def overhead() -> list[Timing]:
    """What a case costs beyond its run: many runs of one step, the start of the processes taken out by a difference."""
    cases = min(SHORT_CASES, _size())
    fewer = max(cases // 10, 4)
    options = ("--executor", "processes", "--workers", "1", "--method", "gd", "--iterations", "1")
    with tempfile.TemporaryDirectory() as folder:
        few = _sweep(Path(folder, "few"), fewer, *options)
        many = _sweep(Path(folder, "many"), cases, *options)
        runs = many.run_seconds() - few.run_seconds()
        clock, processor = many.seconds - few.seconds, many.processor_seconds - few.processor_seconds
        each = 1e3 / (cases - fewer)
        note = (
            f"{each * (clock - runs):.3g} ms a case beyond the runs on the clock, {each * (processor - runs):.3g} ms "
            f"of processor time ({cases - fewer} runs of {each * runs:.3g} ms each)"
        )
        return [Timing("sweep/overhead", clock, "the runs alone", runs, note)]


def differing_rows(one: Path, two: Path) -> int:
    """Rows of two tables that are not the same to the last bit."""
    import pandas

    first, second = (pandas.read_parquet(folder / "table.parquet") for folder in (one, two))
    same = (first == second) | (first.isna() & second.isna())
    return int((~same).any(axis=1).sum())


def many_cases(cases: int) -> list[Timing]:
    """List, resume and tabulate cases, a tenth and a hundredth as many: results made up, files real."""
    names = ("sweep/tabulate-hundredth", "sweep/tabulate-tenth", "sweep/tabulate")
    return [_tabulated(cases // part, name, None) for part, name in zip((100, 10, 1), names, strict=True)]


def _tabulated(cases: int, name: str, peer: float | None) -> Timing:
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
            "began, cpu = time.perf_counter(), time.process_time()\n"
            "write_plan(folder, plan)\n"
            "known = Progress(plan, folder)\n"
            "assert known.count(2) == cases\n"
            "listed = time.perf_counter() - began\n"
            "counts = write_table(plan, folder)\n"
            "assert counts['done'] == cases\n"
            "print(listed, time.perf_counter() - began, time.process_time() - cpu,\n"
            "      resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)\n"
        )
        words = [sys.executable, "-c", code, folder, str(cases)]
        began = time.perf_counter()
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        listed, seconds, processor, memory = map(float, done.stdout.split())
        note = (
            f"{cases:,} cases: read for resuming in {listed:.3g} s, with the table {seconds:.3g} s, "
            f"{1e6 * processor / cases:.3g} us of processor time a case, {memory:.0f} MiB; "
            f"{time.perf_counter() - began:.0f} s in all"
        )
        return Timing(name, seconds, "its own cost is linear", peer, note)


BENCHMARKS = (
    Benchmark("sweep/workers", "a sweep on two workers against one", two_workers),
    Benchmark("sweep/overhead", "what a case costs beyond its run", overhead),
    Benchmark("sweep/million", "a million cases listed, resumed, tabulated", partial(many_cases, 1_000_000)),
)
