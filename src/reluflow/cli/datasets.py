"""`reluflow datasets`."""

from __future__ import annotations

import click

from reluflow.cli.arguments import json_option
from reluflow.cli.output import print_json, print_table


@click.command()
@json_option
def command(*, json: bool) -> None:
    """List the registered datasets: name, n, d, task, paper.

    Example: reluflow datasets --json
    """
    from reluflow.data.registry import registered_datasets

    entries = registered_datasets()
    if json:
        print_json(
            {
                "datasets": [
                    {"name": e.name, "n": e.n, "d": e.d, "task": str(e.task), "paper": e.paper, "summary": e.summary}
                    for e in entries
                ]
            }
        )
        return
    rows = [(e.name, str(e.n), str(e.d), str(e.task), e.paper, e.summary) for e in entries]
    print_table(("name", "n", "d", "task", "paper", "what it is"), rows)
