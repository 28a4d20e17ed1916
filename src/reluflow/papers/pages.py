"""A Markdown page per figure: its picture, what the paper says beside what was measured, the command; their index."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from reluflow.data.atomic import locked, replacing
from reluflow.formulas import as_unicode, in_table
from reluflow.papers.claim import Claim, Tally, in_words, tallies
from reluflow.papers.figure import Size
from reluflow.papers.registry import papers
from reluflow.papers.reproduction import Reproduction, merged, read_record, write_record

_MARKS = {True: "✓", False: "✗", None: "?"}
_SHOWN = (".png", ".gif")
_PICTURE_BYTES = 600_000  # a larger one stays where it was made


def write_pages(made: Iterable[Reproduction], folder: Path) -> tuple[Path, ...]:
    """Write a page for each figure and table made, its pictures beside it, and the index `<folder>.md` of all.

    What the folder shows is recorded there, so that the index also has the figures of earlier calls.

    Parameters
    ----------
    made
        The figures whose pages are written anew.
    folder
        Where pages and pictures go.
    """
    folder.mkdir(parents=True, exist_ok=True)
    items = tuple(replace(item, files=_copied(item, folder)) for item in made)
    texts = {folder / f"{page_name(item.key)}.md": figure_page(item) for item in items}
    with locked(folder):
        shown = merged(read_record(folder), items)
        texts[folder.with_suffix(".md")] = index_page(shown, folder.name)
        for path, text in texts.items():
            with replacing(path) as stream:
                stream.write(text.encode())
        write_record(shown, folder)
    return tuple(texts)


def page_name(key: str) -> str:
    """The name of a figure's page.

    >>> page_name("min2024/fig5")
    'min2024-fig5'
    """
    return key.replace("/", "-")


def figure_page(item: Reproduction) -> str:
    """The page of one figure as Markdown; its files are beside the page."""
    paper = item.key.partition("/")[0]
    lines = [f"# {item.title}", "", f"*{papers()[paper]}* [{paper}]. {_verdict(item)}", ""]
    for path in item.files:
        lines += [
            f"[![{html.escape(as_unicode(item.title), quote=False)}]({path.name})]({path.name})",
            "",
        ]  # opens at its own size
    if item.files:
        size = f"{item.picture_size} size" if item.picture_size else item.size_in_words
        lines += [f"*Drawn by reluflow at {size}.*{_other_size(item)}", ""]
    lines += [item.shows, ""] if item.shows else []
    if item.problem:
        lines += [f"**Could not be made.** {item.problem}", ""]
    if item.claims:
        lines += ["## What is said and what was measured", ""]
        lines += ["| | statement | who says it | asked for | measured |", "| --- | --- | --- | --- | --- |"]
        lines += [_claim_row(claim) for claim in item.claims]
        lines += ["", _legend(item.claims), ""]
    lines += ["## Make it again", ""]
    beside = f", beside {item.device}" if item.device else ""
    lines += [f"Computed at {item.size_in_words} in {seconds_in_words(item.computing_seconds)}{beside}.", ""]
    lines += ["```sh", item.command, "```", ""]
    lines += _settings(item)
    return "\n".join(lines).rstrip() + "\n"


def index_page(items: tuple[Reproduction, ...], folder: str) -> str:
    """The index: for each paper its figures with a small picture, how many statements hold, and at what size."""
    own, ours = tallies(claim for item in items for claim in item.claims)
    quick = [item.key for item in items if item.size is Size.QUICK]
    drawn = [item.key for item in items if item.size is Size.FULL and item.picture_size is Size.QUICK]
    lines = [
        "# Reproductions",
        "",
        f"The papers make {own.total} statements on these {len(items)} figures and tables: {own.holding} hold, "
        f"{own.failing} do not ({own.known} of these known and explained on their page) and {own.undecided} are open "
        f"at the size run. Beside them stand {ours.total} statements of ours, checks and sharper forms, of which "
        f"{ours.holding} hold. Each page has the picture, what the "
        "paper says beside what was measured, the time and the command. "
        "`reluflow reproduce --all --full --pages DIR` writes them"
        + (f"; at quick size so far: {', '.join(quick)}" if quick else "")
        + (f"; of {', '.join(drawn)} only the picture is at quick size." if drawn else "."),
    ]
    for paper, words in papers().items():
        chosen = [item for item in items if item.key.startswith(f"{paper}/")]
        if not chosen:
            continue
        lines += ["", f"## {words} [{paper}]", "", '<div class="gallery" markdown>', ""]
        for item in chosen:
            page = f"{folder}/{page_name(item.key)}.md"
            label, _, rest = item.title.partition(": ")
            lines += ['<div class="card" markdown>', ""]
            if stills := [path.name for path in item.files if path.suffix == ".png"]:
                lines += [f"[![{label}]({folder}/{stills[0]})]({page})", ""]
            lines += [f"**[{label}]({page})** {rest} *({_tally(item)}; {_size(item)})*", "", "</div>", ""]
        lines += ["</div>"]
    return "\n".join(lines) + "\n"


def seconds_in_words(seconds: float) -> str:
    """A duration for the reader; a figure drawn from another's run took none of its own.

    >>> seconds_in_words(0.0), seconds_in_words(12.34), seconds_in_words(600)
    ('no time of its own (from another run)', "12.3 s of one core's time", "10.0 min of one core's time")
    """
    if seconds < 0.05:
        return "no time of its own (from another run)"
    return (f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.1f} min") + " of one core's time"


def _verdict(item: Reproduction) -> str:
    own, ours = tallies(item.claims)
    if not item.claims:
        return ""
    if own.total == own.holding:
        words = "The paper's one statement holds" if own.total == 1 else f"All {own.total} statements of the paper hold"
    else:
        words = f"Of {own.total} statements of the paper {own.in_words}"
    return f"{words if own.total else 'The paper says nothing in words'}{_of_ours(ours)}."


def _of_ours(ours: Tally) -> str:
    return f"; of {ours.total} of ours {ours.in_words}" if ours.total else ""


def _tally(item: Reproduction) -> str:
    own, ours = tallies(item.claims)
    return f"{own.in_words}{f'; ours: {ours.in_words}' if ours.total else ''}"


def _size(item: Reproduction) -> str:
    return f"{item.size}{', smaller than the paper' if item.reduced else ''}"


def _other_size(item: Reproduction) -> str:
    is_other = item.picture_size not in (None, item.size)
    return f" *The numbers below are from a run at {item.size} size.*" if is_other else ""


def _claim_row(claim: Claim) -> str:
    text = claim.text + (f" *{claim.remark}*" if claim.why else "")
    cells = (_MARKS[claim.holds], text, claim.source, in_words(claim.expected), in_words(claim.measured))
    return "| " + " | ".join(in_table(cell) for cell in cells) + " |"


def _legend(claims: tuple[Claim, ...]) -> str:
    words = ["✓ holds, ✗ does not, ? is open at this size."]
    if any(claim.is_ours for claim in claims):
        words.append("A statement of ours is not the paper's: it is a check of our own, or a sharper form.")
    return " ".join(words)


def _settings(item: Reproduction) -> list[str]:
    if not item.settings:
        return []
    rows = "".join(
        f"<tr><td><code>{html.escape(str(name))}</code></td><td><code>{html.escape(json.dumps(value))}</code></td></tr>"
        for name, value in item.settings.items()
    )
    return [f"<details><summary>Settings</summary><table>{rows}</table></details>"]


def _copied(item: Reproduction, folder: Path) -> tuple[Path, ...]:
    """The pictures of a figure beside its page, a still one in few colours; those too large are left out."""
    copies = []
    for path in item.files:
        if path.suffix not in _SHOWN or not path.is_file():
            continue
        if path.parent == folder:  # one of the record's, which is there already
            copies.append(path)
            continue
        data = _small(path) if path.suffix == ".png" else path.read_bytes()
        if len(data) > _PICTURE_BYTES:
            continue
        name = f"{page_name(item.key)}{path.stem.removeprefix(item.key.partition('/')[2])}{path.suffix}"
        with replacing(folder / name) as stream:
            stream.write(data)
        copies.append(folder / name)
    return tuple(copies)


def _small(path: Path) -> bytes:
    from reluflow.viz.saving import reduced_png

    return min((reduced_png(path, colours=128), path.read_bytes()), key=len)
