"""`reluflow bench [NAME]`."""

from __future__ import annotations

import click

from reluflow.cli.arguments import json_option
from reluflow.cli.output import print_json, print_table
from reluflow.cli.progress import stage_spinner


@click.command()
@click.argument("name", required=False, metavar="[NAME]", help="A benchmark or a group such as geometry; default: all.")
@json_option
def command(name: str | None, *, json: bool) -> None:
    """Time our code and a peer in the same run; a ratio above 1 means we are faster.

    Example: reluflow bench geometry --json
    """
    from reluflow.bench.registry import benchmarks_named

    comparisons = []
    with stage_spinner() as on_stage:
        for benchmark in benchmarks_named(name):
            on_stage(benchmark.summary)
            comparisons.extend(benchmark.run())
    if json:
        print_json(
            {
                "benchmarks": [
                    {
                        "name": c.name,
                        "ours_s": c.ours_s,
                        "peer": c.peer,
                        "peer_s": c.peer_s,
                        "ratio": c.ratio,
                        "agreement": c.agreement,
                    }
                    for c in comparisons
                ]
            }
        )
        return
    print_table(
        ("benchmark", "ours", "peer", "ratio", "against, agreement"),
        [
            (
                c.name,
                f"{c.ours_s:.3g} s",
                "-" if c.peer_s is None else f"{c.peer_s:.3g} s",
                "-" if c.ratio is None else f"{c.ratio:.3g}",
                f"{c.peer}; {c.agreement}",
            )
            for c in comparisons
        ],
    )
