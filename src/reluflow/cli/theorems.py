"""`reluflow theorems`."""

from __future__ import annotations

import click

from reluflow.cli.arguments import json_option
from reluflow.cli.output import print_json, print_table


@click.command()
@click.argument("paper", required=False, metavar="[PAPER]", help="Only this paper, for example min2024.")
@click.option("--coverage", is_flag=True, help="Print what is covered instead: the counts, or all results of PAPER.")
@click.option("--errata", is_flag=True, help="Print the errata of docs/errata.md instead; measures their cases.")
@json_option
def command(paper: str | None, *, coverage: bool, errata: bool, json: bool) -> None:
    """List every encoded result of the papers; `reluflow check KEY` judges one.

    Example: reluflow theorems boursier2024
    """
    from reluflow.theory.coverage import coverage_of, coverage_page, erratum_name
    from reluflow.theory.registry import papers, results_of, theorems

    asked = papers() if paper is None else (paper,)
    for name in asked:
        results_of(name)  # refuses an unknown paper before anything is printed
    if coverage:
        print(coverage_page() if paper is None else coverage_of(paper), end="")
        return
    if errata:
        from reluflow.theory.erratum import errata_page

        print(errata_page(asked), end="")
        return
    listed = theorems(asked)
    if json:
        rows = [
            {
                "key": theorem.key,
                "paper": theorem.paper,
                "reference": str(theorem.reference),
                "statement": theorem.statement,
                "erratum": theorem.erratum or None,
                "errata": list(theorem.errata),
                "parameters": [
                    {"name": p.name, "default": p.default, "meaning": p.meaning} for p in theorem.parameters
                ],
                "example": theorem.example or None,
            }
            for theorem in listed
        ]
        print_json({"theorems": rows})
        return
    print_table(("key", "erratum", "statement"), [(t.key, erratum_name(t), t.statement) for t in listed])
    print(f"{len(listed)} results; judge one with: reluflow check KEY [DATASET]")
