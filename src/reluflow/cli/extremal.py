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
    from reluflow.geometry.extremal_pairs import ExtremalPairs

MOST_SIGNS = 40  # of a pattern, in a table


@click.command()
@dataset_argument()
@run_options(*DATA, *LOSS, "leak")
@max_seconds_option()
@json_option
def command(dataset: str | None, *, run: GivenOptions, max_seconds: float, json: bool) -> None:
    """List all extremal vectors: the directions neurons can align with as the scale vanishes.

    With several outputs they are pairs: rate times the direction u of w, and the direction q of v.

    Where there are too many cones to visit, neurons are followed from many starts, and `--max-seconds` bounds that.

    Example: reluflow extremal three-points --json
    """
    from reluflow.geometry.extremal import extremal_vectors
    from reluflow.geometry.extremal_pairs import extremal_pairs
    from reluflow.geometry.thresholds import subgradient_range
    from reluflow.warm_up import Work

    experiment = run.experiment(dataset)
    data, leak = dataset_of(experiment), experiment.leak
    chosen = experiment.loss_for(data)
    compile_first(Work.EXTREMAL_VECTORS)
    if data.num_outputs > 1:
        with share_bar("visiting cones or following neurons") as progress:
            pairs = extremal_pairs(data, chosen, leak=leak, max_seconds=max_seconds, progress=progress)
        if pairs.degenerate:
            note("; ".join(pairs.degenerate))
        _print_pairs(pairs, data.name, json=json)
        return
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


def _print_pairs(found: ExtremalPairs, name: str, *, json: bool) -> None:
    """The pairs of data with several outputs."""
    if json:
        rows = zip(found.vectors, found.outputs, found.norms, found.kinds, found.sides, found.patterns, strict=True)
        vectors = [
            {
                "vector": v,
                "norm": rate,
                "kind": str(kind),
                "side": int(side),
                "pattern": pattern,
                "output": output,
                "rate": rate,
            }
            for v, output, rate, kind, side, pattern in rows
        ]
        head = {"count": len(found), "d_max": found.d_max, "d_min": found.d_min, "exact": found.exact}
        print_json(head | {"why": found.why or None, "vectors": vectors})
        return
    how = "all of them, by enumeration" if found.exact else "those found by search; there may be more"
    count = "1 extremal pair" if len(found) == 1 else f"{len(found)} extremal pairs"
    print(f"{name}: {count} ({how}); D_max = {number(found.d_max)}, D_min = {number(found.d_min)}")
    if found.why:
        print(f"The list may not be complete: {found.why}.")
    print_table(
        ("rate u", "output q", "rate", "kind", "pattern"),
        [
            (vector(v), vector(output), number(rate), str(kind), _pattern(pattern))
            for v, output, rate, kind, pattern in zip(
                found.vectors, found.outputs, found.norms, found.kinds, found.patterns, strict=True
            )
        ],
    )


def _pattern(signs: SignArray) -> str:
    """One character per sample, the first of many; --json holds all."""
    shown = "".join("-0+"[int(u) + 1] for u in signs[:MOST_SIGNS])
    return shown if len(signs) <= MOST_SIGNS else f"{shown}... {len(signs)} signs"
