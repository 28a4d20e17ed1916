"""`reluflow extremal DATASET`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from reluflow.cli.arguments import dataset_argument, json_option, max_seconds_option
from reluflow.cli.inputs import dataset_of, note
from reluflow.cli.output import number, print_json, print_table, vector
from reluflow.cli.progress import compile_first, share_bar
from reluflow.cli.run_options import DATA, LOSS, GivenOptions, run_options

if TYPE_CHECKING:
    from reluflow.arrays import SignArray

MOST_SIGNS = 40  # of a pattern, in a table


@click.command()
@dataset_argument()
@run_options(*DATA, *LOSS, "leak")
@max_seconds_option()
@json_option
def command(dataset: str | None, *, run: GivenOptions, max_seconds: float, json: bool) -> None:
    """List all extremal vectors: the directions neurons can align with as the scale vanishes.

    Where there are too many cones to visit, neurons are followed from many starts, and `--max-seconds` bounds that.

    Example: reluflow extremal three-points --json
    """
    from reluflow.geometry.extremal import extremal_vectors
    from reluflow.geometry.thresholds import subgradient_range
    from reluflow.warm_up import Work

    experiment = run.experiment(dataset)
    data, leak = dataset_of(experiment), experiment.leak
    chosen = experiment.loss_for(data)
    compile_first(Work.EXTREMAL_VECTORS)
    with share_bar("following neurons to where they settle") as progress:
        found = extremal_vectors(data, chosen, leak=leak, max_seconds=max_seconds, progress=progress)
    d_max, d_min = subgradient_range(data, chosen, leak=leak) or (None, None)
    if found.degenerate:
        note("; ".join(found.degenerate))
    if json:
        print_json(
            {
                "count": len(found.norms),
                "d_max": d_max,
                "d_min": d_min,
                "exact": found.exact,
                "why": found.why or None,
                "vectors": [
                    {"vector": v, "norm": size, "kind": str(kind), "side": int(side), "pattern": pattern}
                    for v, size, kind, side, pattern in zip(
                        found.vectors, found.norms, found.kinds, found.sides, found.patterns, strict=True
                    )
                ],
            }
        )
        return
    how = "all of them, by enumeration" if found.exact else "those found by search; there may be more"
    count = "1 extremal vector" if len(found.norms) == 1 else f"{len(found.norms)} extremal vectors"
    print(f"{data.name}: {count} ({how}); D_max = {number(d_max)}, D_min = {number(d_min)}")
    if found.why:
        print(f"The list may not be complete: {found.why}.")
    print_table(
        ("D", "|D|", "kind", "side", "pattern"),
        [
            (vector(v), number(size), str(kind), f"{int(side):+d}", _pattern(pattern))
            for v, size, kind, side, pattern in zip(
                found.vectors, found.norms, found.kinds, found.sides, found.patterns, strict=True
            )
        ],
    )


def _pattern(signs: SignArray) -> str:
    """One character per sample, the first of many; --json holds all."""
    shown = "".join("-0+"[int(u) + 1] for u in signs[:MOST_SIGNS])
    return shown if len(signs) <= MOST_SIGNS else f"{shown}... {len(signs)} signs"
