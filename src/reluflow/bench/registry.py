"""Every benchmark by name."""

from __future__ import annotations

from reluflow.bench import dense, flow, geometry, margin, outputs, sweep
from reluflow.bench.benchmark import Benchmark
from reluflow.errors import InvalidInputError

ALL: tuple[Benchmark, ...] = (
    *geometry.BENCHMARKS,
    *margin.BENCHMARKS,
    *flow.BENCHMARKS,
    *dense.BENCHMARKS,
    *outputs.BENCHMARKS,
    *sweep.BENCHMARKS,
)


def benchmarks_named(name: str | None) -> tuple[Benchmark, ...]:
    """The benchmarks whose name is `name` or begins with `name/`; all of them for None."""
    chosen = tuple(b for b in ALL if name is None or b.name == name or b.name.startswith(f"{name}/"))
    if not chosen:
        groups = sorted({b.name.partition("/")[0] for b in ALL} | {b.name for b in ALL})
        raise InvalidInputError(f"`NAME` must be one of {', '.join(groups)}, got {name!r}.")
    return chosen
