"""`reluflow reproduce [PAPER[/FIGURE]]`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reluflow.cli.arguments import json_option, path_option
from reluflow.cli.output import print_json, print_table, print_text
from reluflow.errors import InvalidInputError

if TYPE_CHECKING:
    from reluflow.papers.registry import Entry
    from reluflow.papers.reproduction import Reproduction

MARKS = {True: "✓", False: "✗", None: "?"}
INTERRUPTED = 130


@click.command()
@click.argument(
    "name", required=False, metavar="[PAPER[/FIGURE]]", help="A paper or one figure; without it, lists what there is."
)
@click.option("--quick", is_flag=True, help="Small sizes, seconds each (the default).")
@click.option("--full", is_flag=True, help="The papers' own sizes, minutes each.")
@click.option("--all", "everything", is_flag=True, help="Every figure and table of every paper.")
@path_option("--out", "DIR", "Where files go.", default=Path("out/reproduce"))
@path_option("--table", "FILE.md", "Also write all claims of the --out folder as Markdown.")
@path_option("--pages", "DIR", "Also write a Markdown page per figure made, and their index.")
@click.option("--fresh", is_flag=True, help="Compute again what is kept, and keep the new.")
@click.option("--no-cache", is_flag=True, help="Compute everything and keep nothing.")
@json_option
def command(
    name: str | None,
    *,
    quick: bool,
    full: bool,
    everything: bool,
    out: Path,
    table: Path | None,
    pages: Path | None,
    fresh: bool,
    no_cache: bool,
    json: bool,
) -> int:
    """Redraw the figures and tables of the papers and judge their claims from the numbers.

    Results are kept in $RELUFLOW_CACHE or the user's cache folder, so that drawing again is instant and a run that was
    interrupted goes on where it was. The folder of --out gets one index.html with everything made there so far.

    Example: reluflow reproduce boursier2024/fig2 --quick
    """
    from reluflow.papers.figure import Size
    from reluflow.papers.registry import all_entries, entries_named

    if quick and full:
        raise InvalidInputError("`--quick` and `--full` exclude each other; give one.")
    if name is not None and everything:
        raise InvalidInputError(f"`--all` makes every figure; leave out {name!r} or `--all`.")
    if name is None and not everything:
        if table is not None or pages is not None:
            option = "--table" if table is not None else "--pages"
            raise InvalidInputError(f"`{option}` needs something to make: name a paper or a figure, or give `--all`.")
        _list(all_entries(), as_json=json)
        return 0
    entries = all_entries() if name is None else entries_named(name)
    size = Size.FULL if full else Size.QUICK
    made, is_interrupted = _make(entries, size, out, is_fresh=fresh, keeps=not no_cache)
    if table is not None:
        from reluflow.papers.claims_table import write_claims_table
        from reluflow.papers.reproduction import read_record

        write_claims_table(read_record(out), table)  # like the gallery: everything made in that folder so far
    if pages is not None:
        from reluflow.papers.pages import write_pages

        write_pages(made, pages)
    if json:
        print_json({"figures": [_as_json(item) for item in made]})
    else:
        _print(made, out, table)
    if is_interrupted:
        click.echo(f"Interrupted; {len(made)} of {len(entries)} are done and kept.", err=True)
        return INTERRUPTED
    return 1 if any(item.has_failed for item in made) else 0


def _make(
    entries: tuple[Entry, ...], size: Any, out: Path, *, is_fresh: bool, keeps: bool
) -> tuple[list[Reproduction], bool]:
    """Make the figures, writing the record after each, so that Ctrl-C and a crash keep what is finished."""
    from reluflow.data.atomic import locked
    from reluflow.papers.gallery import write_gallery
    from reluflow.papers.reproduction import add_to_record, merged, read_record, reproduce_all
    from reluflow.papers.store import ResultStore, cache_folder

    store = ResultStore(cache_folder()) if keeps else None
    read_record(out)  # refused now rather than after the first figure
    made: list[Reproduction] = []
    is_interrupted = False
    with _figure_bar(entries) as show:
        try:
            runs = reproduce_all(
                entries, size, out, store=store, is_fresh=is_fresh, progress=show, goes_on=len(entries) > 1
            )
            for item in runs:
                made.append(item)
                add_to_record([item], out)
        except KeyboardInterrupt:
            is_interrupted = True
        if made:
            with locked(out):
                write_gallery(merged(read_record(out), made), out)
    return made, is_interrupted


def _list(entries: tuple[Entry, ...], *, as_json: bool) -> None:
    if as_json:
        listed = [{"key": entry.key, "files": [], "claims": [], "seconds": 0.0} for entry in entries]
        print_json({"figures": listed})
        return
    print_table(("figure", "title"), [(entry.key, entry.title) for entry in entries])
    if entries:
        print(f"Make one with: reluflow reproduce {entries[0].key}; all with: reluflow reproduce --all")


def _as_json(item: Reproduction) -> dict[str, Any]:
    return {
        "key": item.key,
        "files": [str(path) for path in item.files],
        "claims": [
            {
                "text": claim.text,
                "holds": claim.holds,
                "measured": claim.measured,
                "expected": claim.expected,
                "source": claim.source,
            }
            for claim in item.claims
        ],
        "seconds": item.seconds,
    }


def _print(made: list[Reproduction], out: Path, table: Path | None) -> None:
    from reluflow.papers.claim import in_words
    from reluflow.papers.gallery import PAGE

    for item in made:
        rows = []
        for claim in item.claims:
            known = " Known:" if claim.finding and claim.holds is False else ""
            words = f"{claim.text} (expected {in_words(claim.expected)}).{known} {claim.why}".rstrip()
            rows.append((MARKS[claim.holds], in_words(claim.measured), claim.source, words))
        print_text(f"{item.key}  {item.title}  ({item.size}, {item.seconds:.1f} s)")
        if item.problem:
            print(f"  Could not be {'drawn' if item.claims else 'made'}: {item.problem}")
        if rows:
            print_table(("", "measured", "source", "claim"), rows)
        for path in item.files:
            print(f"  {path}")
        print()
    if made:
        print(f"Gallery: {out / PAGE}")
    if table is not None:
        print(f"Claims: {table}")


@contextmanager
def _figure_bar(entries: tuple[Entry, ...]) -> Iterator[Callable[[Entry, float, str], None] | None]:
    """A bar over all figures with the time left, on a terminal only."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("starting", total=len(entries))

        def show(entry: Entry, share: float, words: str) -> None:
            place = entries.index(entry)
            text = f"{entry.key} ({place + 1} of {len(entries)}): {words}; Ctrl-C keeps what is done"
            progress.update(task, description=text, completed=place + share)

        yield show
