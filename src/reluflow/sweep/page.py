"""The page of a sweep: one file that needs no network; point at a cell for its case, click for its command."""

from __future__ import annotations

import base64
import math
from html import escape
from pathlib import Path

from reluflow.sweep.result import SweepResult
from reluflow.sweep.segments import write_durably
from reluflow.sweep.summary import Cell, Summary

_STOPS = ("#00224e", "#35456c", "#666970", "#948e77", "#c8b866", "#fee838")  # matplotlib's cividis at six places
_CELL = 22
MOST_CELLS = 20_000

_STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#222}
svg{max-width:100%;height:auto}rect.cell{cursor:pointer}rect.cell:hover,rect.cell:focus{stroke:#d55e00;stroke-width:2}
#case{height:6.6em;overflow:auto;white-space:pre-wrap;background:#f3f3f3;padding:.5rem .8rem;
font-family:ui-monospace,monospace;font-size:13px}
img{max-width:100%}table{border-collapse:collapse}
td,th{padding:.15rem .6rem;text-align:left;border-bottom:1px solid #ddd}"""

_SCRIPT = """const show=document.getElementById('case');
for(const cell of document.querySelectorAll('rect.cell')){
 const lab=cell.dataset.lab?'\\n'+cell.dataset.lab:'';
 const tell=()=>{show.textContent=cell.dataset.words+'\\n'+cell.dataset.command+lab};
 cell.addEventListener('mouseenter',tell);cell.addEventListener('focus',tell);
 const copy=async()=>{tell();try{await navigator.clipboard.writeText(cell.dataset.command);
  show.textContent=cell.dataset.words+'\\nCopied: '+cell.dataset.command+lab}
  catch(e){show.textContent=cell.dataset.words+'\\nCopy this: '+cell.dataset.command+lab}};
 cell.addEventListener('click',copy);
 cell.addEventListener('keydown',e=>{if(e.key==='Enter')copy()});}"""


def write_page(summary: Summary, result: SweepResult, picture: Path, title: str) -> Path:
    """Write the page beside the table."""
    image = base64.b64encode(picture.read_bytes()).decode()
    measures = ", ".join(measure.name for measure in result.plan.measures)
    over = "".join(
        f"<tr><td>{escape(axis.name)}</td><td>{len(axis.values)}</td><td>{escape(_few(axis.values))}</td></tr>"
        for axis in result.plan.axes
    )
    content = f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>
<meta name="viewport" content="width=device-width,initial-scale=1"><style>{_STYLE}</style></head><body>
<h1>{escape(title)}</h1>
<p>{result.cases} cases of <code>{escape(result.plan.base.data)}</code>: {result.done} done,
{result.failed} failed.
Measures: {escape(measures)}. Base case: <code>{escape(result.plan.base.command())}</code></p>
<img alt="{escape(summary.quantity)}" src="data:image/png;base64,{image}">
<h2>{escape(summary.quantity)}</h2>
<p>Point at a cell for its case; click it to copy the command that makes its first run alone.
The line that begins <code>reluflow lab</code> opens the same run in the laboratory.</p>
<pre id="case" aria-live="polite"></pre>
{_grids(summary)}
<h2>What was swept</h2><table><tr><th>name</th><th>values</th><th></th></tr>{over}</table>
<script>{_SCRIPT}</script></body></html>
"""
    path = picture.with_name("index.html")
    write_durably(path, content.encode())
    return path


def _few(values: tuple[object, ...]) -> str:
    texts = [str(value) for value in values]
    return ", ".join(texts if len(texts) <= 12 else [*texts[:5], "...", *texts[-3:]])


def _grids(summary: Summary) -> str:
    """One grid of cells per value of the third setting."""
    if len(summary.cells) > MOST_CELLS:
        return f"<p>{len(summary.cells)} points are too many for a page; the table has them all.</p>"
    finite = [cell.value for cell in summary.cells if math.isfinite(cell.value)]
    low, high = (0.0, 1.0) if summary.is_probability or not finite else (min(finite), max(finite))
    if len(summary.names) < 3:
        return _grid(summary, summary.cells, low, high)
    parts = []
    for place, value in enumerate(summary.values[2]):
        cells = tuple(cell for cell in summary.cells if cell.place[2] == place)
        parts.append(f"<h3>{escape(summary.names[2])} = {escape(str(value))}</h3>{_grid(summary, cells, low, high)}")
    return "".join(parts)


def _grid(summary: Summary, cells: tuple[Cell, ...], low: float, high: float) -> str:
    columns = len(summary.values[0])
    rows = len(summary.values[1]) if len(summary.names) > 1 else 1
    left = 90
    shapes = []
    for cell in cells:
        row = cell.place[1] if len(cell.place) > 1 else 0
        x, y = left + _CELL * cell.place[0], _CELL * row
        words = escape(cell.words, quote=True)
        shapes.append(
            f'<rect class="cell" tabindex="0" x="{x}" y="{y}" width="{_CELL - 1}" height="{_CELL - 1}" '
            f'fill="{colour(cell.value, low, high)}" data-words="{words}" '
            f'data-command="{escape(cell.command, quote=True)}" '
            f'data-lab="{escape(cell.lab or "", quote=True)}"><title>{words}</title></rect>'
        )
    if len(summary.names) > 1:
        for row, value in enumerate(summary.values[1]):
            shapes.append(_text(left - 6, _CELL * row + 15, "end", _short(value)))
    height = _CELL * rows
    for column, value in enumerate(summary.values[0]):
        x = left + _CELL * column + 14
        shapes.append(
            f'<g transform="translate({x},{height + 6}) rotate(60)">{_text(0, 0, "start", _short(value))}</g>'
        )
    names = " across, ".join(summary.names[:2]) + (" down" if len(summary.names) > 1 else " across")
    return (
        f'<p>{escape(names)}</p><svg viewBox="0 0 {left + _CELL * columns + 40} {height + 80}" '
        f'width="{left + _CELL * columns + 40}" role="img">{"".join(shapes)}</svg>'
    )


def _text(x: float, y: float, anchor: str, words: str) -> str:
    return f'<text x="{x}" y="{y}" font-size="11" text-anchor="{anchor}">{escape(words)}</text>'


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def colour(value: float, low: float, high: float) -> str:
    """A colour between dark blue (low) and yellow (high); grey where there is no value.

    >>> colour(0.0, 0.0, 1.0), colour(1.0, 0.0, 1.0), colour(float("nan"), 0.0, 1.0)
    ('#00224e', '#fee838', '#dddddd')
    """
    if not math.isfinite(value):
        return "#dddddd"
    share = 0.0 if high <= low else min(max((value - low) / (high - low), 0.0), 1.0)
    at = share * (len(_STOPS) - 1)
    place = min(int(at), len(_STOPS) - 2)
    one, two = (tuple(int(stop[k : k + 2], 16) for k in (1, 3, 5)) for stop in _STOPS[place : place + 2])
    mixed = (round(a + (at - place) * (b - a)) for a, b in zip(one, two, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)
