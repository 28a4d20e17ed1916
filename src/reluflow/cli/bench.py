"""`reluflow bench [NAME]`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reluflow.cli.arguments import json_option, path_option
from reluflow.cli.output import print_json, print_table
from reluflow.cli.progress import stage_spinner

if TYPE_CHECKING:
    from reluflow.bench.regression import VersionComparison


@click.command()
@click.argument("name", required=False, metavar="[NAME]", help="A benchmark or a group such as geometry; default: all.")
@path_option("--history", "FILE.jsonl", "Keep what was measured in this file, one line per machine and version.")
@path_option("--draw", "FILE.svg", "Draw the --history into this file; nothing is timed.")
@path_option(
    "--against", "SRC", "Time short tasks by this version and by that in this folder in turn; status 1 if slower."
)
@json_option
def command(name: str | None, *, history: Path | None, draw: Path | None, against: Path | None, json: bool) -> int:
    """Time our code and a peer in the same run; a ratio above 1 means we are faster.

    The table is Markdown, to be pasted. `--against` compares two versions instead, in processor time, and fails where
    this one is slower by more than three times the noise that is measured in the same call, and by more than a tenth.

    Example: reluflow bench geometry --json
    """
    from reluflow.bench.history import keep_in_history, markdown_table
    from reluflow.bench.registry import benchmarks_named
    from reluflow.errors import InvalidInputError

    if against is not None:
        if name is not None or history is not None or draw is not None:
            raise InvalidInputError("`--against` must stand alone: it times tasks of its own and keeps no history.")
        return _compare(against, json=json)
    if draw is not None:
        if history is None or name is not None:
            raise InvalidInputError("`--draw` must come with `--history` and no `NAME`: it draws that file.")
        return _draw(history, draw, json=json)
    timings = []
    with stage_spinner() as on_stage:
        for benchmark in benchmarks_named(name):
            on_stage(benchmark.summary)
            timings.extend(benchmark.run())
    if history is not None:
        keep_in_history(history, timings)
    if json:
        print_json(
            {
                "benchmarks": [
                    {
                        "name": timing.name,
                        "ours_s": timing.ours_s,
                        "peer": timing.peer,
                        "peer_s": timing.peer_s,
                        "ratio": timing.ratio,
                        "agreement": timing.agreement,
                    }
                    for timing in timings
                ]
            }
        )
        return 0
    print(markdown_table(timings))
    return 0


def _draw(history: Path, target: Path, *, json: bool) -> int:
    """The picture of a history."""
    from reluflow.bench.history import read_history
    from reluflow.bench.history_picture import plot_history
    from reluflow.viz.saving import save_figure

    lines = read_history(history)
    save_figure(plot_history(lines), target)
    if json:
        print_json({"lines": len(lines), "file": str(target)})
    else:
        print(f"{target}: {len(lines)} line{'' if len(lines) == 1 else 's'} of {history}")
    return 0


def _compare(other: Path, *, json: bool) -> int:
    """The short tasks of two versions, and status 1 where this one is slower."""
    from reluflow.bench.regression import compare_versions

    with stage_spinner() as on_stage:
        found = compare_versions(other, on_round=on_stage)
    worse = [comparison.name for comparison in found if comparison.is_regression]
    if json:
        rows = [
            {
                "name": row.name,
                "ours_s": row.ours,
                "other_s": row.theirs,
                "ratio": row.ratio,
                "noise": row.noise,
                "bound": row.bound,
                "is_regression": row.is_regression,
                "reason": row.reason,
            }
            for row in found
        ]
        print_json({"tasks": rows, "slower": worse})
    else:
        print_table(("task", "this version", "the other", "ratio", "at most"), [_words_of(row) for row in found])
        print(f"Slower than the noise explains: {', '.join(worse)}." if worse else "No task is slower than the noise.")
    return 1 if worse else 0


def _words_of(row: VersionComparison) -> tuple[str, ...]:
    if row.reason:
        return row.name, "-", "-", "-", row.reason
    return row.name, f"{row.ours:.4g} s", f"{row.theirs:.4g} s", f"{row.ratio:.3f}", f"{row.bound:.3f}"
