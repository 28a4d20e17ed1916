"""index.html: every reproduced figure on one page, with its claims, settings and command; no network needed."""

from __future__ import annotations

import base64
import html
import json
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

import reluflow
from reluflow.data.atomic import replacing
from reluflow.formulas import FONT_STYLE, as_html, as_unicode
from reluflow.papers.claim import Claim, in_words, tallies
from reluflow.papers.registry import papers
from reluflow.papers.reproduction import Reproduction

PAGE = "index.html"

_MEDIA = {".png": "image/png", ".gif": "image/gif", ".svg": "image/svg+xml", ".jpg": "image/jpeg"}
_VERDICTS = {True: ("yes", "✓", "holds"), False: ("no", "✗", "does not hold"), None: ("open", "?", "not decided")}

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 0 auto; padding: 1rem; }
body { color: #1a1a1a; background: #fff; overflow-wrap: break-word; }
h1 { font-size: 1.6rem; line-height: 1.25; }
h2 { font-size: 1.3rem; line-height: 1.3; margin-top: 2.5rem; border-bottom: 2px solid #0072b2; padding-bottom: .2rem; }
h3 { font-size: 1.1rem; line-height: 1.35; margin: 2rem 0 .25rem; }
a { color: #00558a; } nav ul { list-style: none; padding: 0; display: grid; gap: .8rem; }
nav ul { grid-template-columns: repeat(auto-fill, minmax(14rem, 1fr)); }
nav li { border: 1px solid #ccc; padding: .5rem; font-size: .9rem; }
nav img.thumbnail { display: block; width: 100%; height: 8rem; object-fit: contain; margin-bottom: .3rem; }
.key { font-family: ui-monospace, monospace; font-size: .9em; color: #444; }
.shows { color: #333; max-width: 46rem; }
figure { margin: 1rem 0; } img { max-width: 100%; height: auto; }
@media screen and (max-width: 42rem) { figure { overflow-x: auto; } img { max-width: none; width: 42rem; } }
 figcaption { color: #444; font-size: .85rem; }
ul.claims { list-style: none; padding: 0; } ul.claims li { padding: .4rem .6rem; margin: .3rem 0; background: #f6f7f9; }
ul.claims li { border-left: 5px solid #555; }
ul.claims li.yes { border-left-style: solid; border-color: #007a55; }
ul.claims li.no { border-left-style: double; border-color: #b34700; }
ul.claims li.open { border-left-style: dotted; border-color: #555; }
.yes .mark { color: #005a3c; } .no .mark { color: #8a3300; } .open .mark { color: #444; }
.mark { font-weight: 700; white-space: nowrap; } .numbers, .why { display: block; font-size: .88rem; color: #333; }
.problem { background: #fff4e5; border-left: 5px double #b34700; padding: .5rem .75rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .88rem; }
th, td { text-align: left; vertical-align: top; padding: .2rem .6rem .2rem 0; border-bottom: 1px solid #ddd; }
details td { overflow-wrap: anywhere; }
code { font-size: .9em; background: #f0f2f4; padding: .1rem .3rem; overflow-wrap: anywhere; }
details { margin: .4rem 0; } summary { cursor: pointer; color: #00558a; }
iframe { width: 100%; height: 34rem; border: 1px solid #ccc; }
.sum { background: #f3f6fa; border-left: 4px solid #0072b2; padding: .5rem 1rem; }
@media print {
  body { max-width: none; font-size: 11pt; } figure, ul.claims li { break-inside: avoid; }
  h2, h3 { break-after: avoid; } iframe, .interactive { display: none; }
}
"""


def write_gallery(made: Iterable[Reproduction], folder: Path) -> Path:
    """Write the self-contained page of everything reproduced in a folder.

    Parameters
    ----------
    made
        What to show, in this order; a file that is no longer there is named and not shown.
    folder
        Where `index.html` goes; an existing one is replaced only by a complete one.
    """
    items = tuple(made)
    shown = [paper for paper in papers() if any(item.key.startswith(f"{paper}/") for item in items)]
    body = [
        "<h1>reluflow reproduce: figures, tables and claims of the papers</h1>",
        f'<p class="sum">{_summary(items)}</p>',
        '<nav aria-label="Figures"><ul>',
        *(
            f'<li><a href="#{_anchor(item)}">{_thumbnail(item)}{html.escape(item.key)}</a> {_tally(item)}</li>'
            for item in items
        ),
        "</ul></nav>",
    ]
    for paper in shown:
        body.append(f'<h2 id="{paper}">{html.escape(papers()[paper])} <span class="key">[{paper}]</span></h2>')
        body.extend(_section(item, folder) for item in items if item.key.startswith(f"{paper}/"))
    body.append(
        f"<p>reluflow {reluflow.__version__}, NumPy {np.__version__}, Python {platform.python_version()}. "
        "The same numbers stand in results.json beside this page.</p>"
    )
    page = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>reluflow reproduce</title>\n<style>{FONT_STYLE}{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(body)
        + "\n</main>\n</body>\n</html>\n"
    )
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / PAGE) as stream:
        stream.write(page.encode())
    return folder / PAGE


def _summary(items: Sequence[Reproduction]) -> str:
    own, ours = tallies(claim for item in items for claim in item.claims)
    number = "1 figure or table" if len(items) == 1 else f"{len(items)} figures and tables"
    sentences = [f"{number}. Of {own.total} statements of the papers {own.holding} hold, {own.failing} do not"]
    if own.failing:
        sentences[0] += f" ({own.known} of these known and explained)"
    if own.undecided:
        sentences[0] += f", {own.undecided} are not decided at this size"
    if ours.total:
        sentences.append(f"Of {ours.total} statements of ours {ours.in_words}")
    if problems := sum(bool(item.problem) for item in items):
        sentences.append(f"{problems} could not be made")
    return html.escape(". ".join(sentences) + ".")


def _tally(item: Reproduction) -> str:
    if item.problem and not item.claims:
        return f"{as_html(item.title)} (could not be made)"
    own, ours = tallies(item.claims)
    beside = f"; ours: {ours.in_words}" if ours.total else ""
    return f"{as_html(item.title)} (the paper's statements: {own.in_words}{beside})"


def _thumbnail(item: Reproduction) -> str:
    """The first still picture, small; it says nothing that the words beside it do not."""
    from reluflow.viz.saving import reduced_png

    still = next((path for path in item.files if path.suffix == ".png" and path.is_file()), None)
    if still is None:
        return ""
    data = base64.b64encode(reduced_png(still, colours=64, box=(320, 200))).decode()
    return f'<img alt="" class="thumbnail" src="data:image/png;base64,{data}">'


def _section(item: Reproduction, folder: Path) -> str:
    parts = [f'<section aria-labelledby="{_anchor(item)}">']
    parts.append(
        f'<h3 id="{_anchor(item)}">{as_html(item.title)} <span class="key">{html.escape(item.key)}</span></h3>'
    )
    parts.extend(f'<p class="shows">{as_html(" ".join(text.split()))}</p>' for text in item.shows.split("\n\n") if text)
    if item.problem:
        what = "Could not be drawn." if item.claims else "Could not be made."
        parts.append(f'<p class="problem"><strong>{what}</strong> {html.escape(item.problem)}</p>')
    parts.extend(_file(item, path, folder) for path in item.files)
    if item.claims:
        parts.append(f'<ul class="claims">{"".join(_claim(claim) for claim in item.claims)}</ul>')
    parts.append(
        f"<p>Computed at {html.escape(item.size_in_words)} in {_seconds(item.computing_seconds)} of one core's time. "
        "To make it again: "
        f"<code>{html.escape(item.command)}</code></p>"
    )
    if item.settings:
        rows = "".join(
            f'<tr><th scope="row">{html.escape(str(name))}</th><td>{html.escape(_setting(value))}</td></tr>'
            for name, value in item.settings.items()
        )
        parts.append(f'<details><summary>Settings</summary><div class="scroll"><table>{rows}</table></div></details>')
    parts.append("</section>")
    return "\n".join(parts)


def _claim(claim: Claim) -> str:
    css, mark, words = _VERDICTS[claim.holds]
    if claim.finding and claim.holds is False:
        words += ", known"
    numbers = f"Measured {in_words(claim.measured)}; expected {in_words(claim.expected)}."
    why = f'<span class="why">{as_html(claim.remark)}</span>' if claim.why else ""
    who = "ours, not the paper's" if claim.is_ours else claim.source
    return (
        f'<li class="{css}"><span class="mark"><span aria-hidden="true">{mark}</span> {words}:</span> '
        f'{as_html(claim.text)} <em>({as_html(who)})</em><span class="numbers">{html.escape(numbers)}</span>{why}</li>'
    )


def _file(item: Reproduction, path: Path, folder: Path) -> str:
    name = html.escape(path.name)
    if not path.is_file():
        return f"<p>{name} is no longer there.</p>"
    if path.suffix == ".html":  # inside the page, so that the page alone is enough
        page = html.escape(path.read_text(encoding="utf-8"), quote=True)
        frame = f'<iframe title="{name}" loading="lazy" sandbox="allow-scripts" srcdoc="{page}"></iframe>'
        return f'<details class="interactive"><summary>Interactive: {name}</summary>{frame}</details>'
    if path.suffix not in _MEDIA:
        return f"<p>Also written: <code>{html.escape(path.relative_to(folder).as_posix())}</code></p>"
    data = base64.b64encode(path.read_bytes()).decode()
    alt = html.escape(_alternative(item, path), quote=True)
    picture = (
        f'<figure tabindex="0"><img alt="{alt}" loading="lazy" src="data:{_MEDIA[path.suffix]};base64,{data}">'
        f"<figcaption>{as_html(item.title)}: {name}, {item.size} size</figcaption></figure>"
    )
    if path.suffix == ".gif":  # what moves is shown to who asks for it
        return f'<details class="interactive"><summary>Animation: {name}</summary>{picture}</details>'
    return picture


def _alternative(item: Reproduction, path: Path) -> str:
    """What a picture shows for who cannot see it: the title, the words on the figure and what was measured."""
    measured = "; ".join(f"{claim.text}: {in_words(claim.measured)}" for claim in item.claims[:4])
    shows = " ".join(item.shows.split("\n\n")[0].split())
    words = f"{item.title} ({path.stem}). {shows} {f'Measured: {measured}.' if measured else ''}"
    return as_unicode(" ".join(words.split()))


def _seconds(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def _setting(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _anchor(item: Reproduction) -> str:
    return html.escape(item.key.replace("/", "-"), quote=True)
