"""Pieces of a self-contained HTML page: tables, figures, the frame around them."""

from __future__ import annotations

import base64
import html
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reluflow.formulas import FONT_STYLE, as_html

STYLE = """
:root {
  color-scheme: light dark; --ink: #1a1a1a; --paper: #fff; --quiet: #444; --line: #ddd; --link: #00527f;
  --box: #f3f6fa; --code: #f5f5f5; --yes: #005a3c; --no: #8a3300; --open: #555;
}
@media (prefers-color-scheme: dark) { :root {
  --ink: #e9eef3; --paper: #12181f; --quiet: #a9b5c1; --line: #39444e; --link: #7fc4f5;
  --box: #1b242d; --code: #1b242d; --yes: #2fc79a; --no: #ffb08a; --open: #a9b5c1;
} }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; }
body { color: var(--ink); background: var(--paper); overflow-wrap: break-word; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.25rem; margin-top: 2.2rem; } h3 { font-size: 1.05rem; }
a { color: var(--link); }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1rem; padding: 0; list-style: none; font-size: .95rem; }
nav a { display: inline-block; padding: .25rem 0; }
.summary { background: var(--box); border-left: 4px solid #0072b2; padding: .5rem 1rem; }
figure { margin: 1rem 0; } img { max-width: 100%; height: auto; background: #fff; }
figcaption { color: var(--quiet); font-size: .9rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .9rem; width: 100%; }
caption { text-align: left; font-weight: 600; padding: .25rem 0; }
th, td { text-align: left; vertical-align: top; padding: .25rem .5rem; border-bottom: 1px solid var(--line); }
td { font-variant-numeric: tabular-nums; }
.yes { color: var(--yes); } .no { color: var(--no); } .open { color: var(--open); }
pre { background: var(--code); padding: .5rem; overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
details { margin: .25rem 0; } summary { cursor: pointer; padding: .25rem 0; }
.playing iframe { display: block; width: 100%; height: 41rem; border: 1px solid var(--line); border-radius: .3rem; }
@media (min-width: 76rem) { .playing iframe { width: 74rem; margin-left: calc(50% - 37rem); } }
td.words { min-width: 16rem; }
@media (max-width: 40rem) {
  body { padding: .6rem; } table { font-size: .85rem; } th, td { padding: .2rem .35rem; }
  td.words { min-width: 11rem; } figure { overflow-x: auto; } figure img { max-width: none; width: 36rem; }
  .playing iframe { height: 48rem; }
  figcaption::after { content: " (The picture goes on to the right.)"; }
  .stacked thead { display: none; } .stacked tr, .stacked td { display: block; border: 0; padding: .1rem 0; }
  .stacked tr { border-bottom: 1px solid var(--line); padding: .4rem 0; } .stacked td:first-child { font-weight: 600; }
  .stacked td:nth-child(n + 2):not(.words)::before { content: attr(data-column) ": "; color: var(--open); }
}
@media (scripting: none) { .playing { display: none; } }
@media print {
  :root { color-scheme: light; --ink: #1a1a1a; --paper: #fff; --quiet: #444; --line: #ddd; --link: #00527f;
    --box: #f3f6fa; --code: #f5f5f5; --yes: #005a3c; --no: #8a3300; --open: #555; }
  body { max-width: none; } figure, tr { break-inside: avoid; } nav, .playing, .playing-words { display: none; }
}
"""

# nothing is fetched; the page of the run inside the report inherits this and says the same itself
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"

_SYMBOLS = {True: ("yes", "✓ yes"), False: ("no", "✗ no"), None: ("open", "? open")}


@dataclass(frozen=True)
class Mark:
    """A cell that answers yes, no or open, in words as well as in colour."""

    value: bool | None
    words: str = ""


@dataclass(frozen=True)
class Typeset:
    """A cell whose formulas are set."""

    text: str


Cell = str | Mark | Typeset


def escape(text: str) -> str:
    """Text as HTML."""
    return html.escape(text)


def table(header: Sequence[str], rows: Sequence[Sequence[Cell]], *, label: str) -> str:
    """A table; `label` names it for screen readers.

    On a narrow screen it scrolls sideways, and one with sentences in it stands cell below cell.
    """
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in header)
    lines = "".join(
        f"<tr>{''.join(_cell(cell, name) for cell, name in zip(row, header, strict=True))}</tr>" for row in rows
    )
    css = ' class="stacked"' if any(isinstance(cell, Typeset) for row in rows for cell in row) else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}">'
        f"<table{css}><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>"
    )


def _cell(cell: Cell, column: str) -> str:
    named = f' data-column="{escape(column)}"'
    if isinstance(cell, Mark):
        css, words = _SYMBOLS[cell.value]
        return f'<td class="{css}"{named}>{escape(cell.words or words)}</td>'
    if isinstance(cell, Typeset):
        return f'<td class="words"{named}>{as_html(cell.text)}</td>'
    return f"<td{named}>{as_html(cell)}</td>"


def figure(path: Path, caption: str) -> str:
    """A PNG file embedded with its caption."""
    data = base64.b64encode(path.read_bytes()).decode()
    return (
        f'<figure><img alt="{escape(caption)}" src="data:image/png;base64,{data}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def paragraphs(sentences: Sequence[str]) -> str:
    """One paragraph per sentence."""
    return "".join(f"<p>{as_html(sentence)}</p>" for sentence in sentences)


def section(name: str, title: str, *parts: str) -> str:
    """A section with its heading, which the table of contents links to."""
    heading = f'<h2 id="{name}-title">{escape(title)}</h2>'
    return f'<section id="{name}" aria-labelledby="{name}-title">{heading}{"".join(parts)}</section>'


def document(title: str, body: Sequence[str], *, data: Any, is_growing: bool = False) -> str:
    """The whole page, with its numbers inside as JSON; one that is still growing is read again every few seconds."""
    again = '<meta http-equiv="refresh" content="3">\n' if is_growing else ""
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n<title>{escape(title)}</title>\n{again}'
        f"<style>{FONT_STYLE}{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(body)
        + f'\n<script type="application/json" id="study">{embedded_json(data)}</script>\n</main>\n</body>\n</html>\n'
    )


def embedded_json(data: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    return json.dumps(data, allow_nan=False).replace("<", "\\u003c")


def number(value: float | None) -> str:
    """A number for a table, or a dash."""
    return "-" if value is None or not math.isfinite(value) else f"{value:.6g}"


def vector(values: np.ndarray[Any, np.dtype[np.float64]]) -> str:
    """A short vector for a table."""
    items = [f"{value:.5g}" for value in values]
    return "(" + ", ".join(items if len(items) <= 6 else [*items[:5], "..."]) + ")"
