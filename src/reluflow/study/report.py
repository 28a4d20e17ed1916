"""report.html: one file, no network needed, readable without JavaScript, with the numbers inside as JSON."""

from __future__ import annotations

import base64
import html
import json
import math
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import reluflow
from reluflow.data.atomic import replacing
from reluflow.study.pictures import Picture
from reluflow.study.story import Study

_SYMBOLS = {True: ("yes", "✓ yes"), False: ("no", "✗ no"), None: ("open", "? open")}

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; }
body { color: #1a1a1a; background: #fff; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2rem; }
.story { background: #f3f6fa; border-left: 4px solid #0072b2; padding: .5rem 1rem; }
figure { margin: 1rem 0; } img { max-width: 100%; height: auto; } figcaption { color: #444; font-size: .9rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .9rem; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .25rem .5rem; border-bottom: 1px solid #ddd; }
td.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
.yes { color: #005a3c; } .no { color: #8a3300; } .open { color: #555; }
pre { background: #f5f5f5; padding: .5rem; overflow-x: auto; }
@media print { body { max-width: none; } figure { break-inside: avoid; } }
"""


def write_report(found: Study, pictures: Sequence[Picture], path: Path, *, command: str) -> Path:
    """Write the self-contained report of a study.

    Parameters
    ----------
    found
        The study.
    pictures
        PNG files to embed.
    path
        Where the report goes; an existing file is replaced only by a complete one.
    command
        The exact command that reproduces it.
    """
    title = f"reluflow study: {found.dataset.name}"
    body = [
        f"<h1>{html.escape(title)}</h1>",
        '<div class="story">',
        *(f"<p>{html.escape(sentence)}</p>" for sentence in found.sentences()),
        "</div>",
        *(_figure(picture) for picture in pictures),
        "<h2>Assumptions</h2>",
        _table(
            ("condition", "paper", "holds", "margin", "measured"),
            [
                (c.key, c.paper, _verdict(c.holds), _number(c.margin), f"{c.statement}. {c.detail}")
                for c in found.diagnosis.conditions
            ],
        ),
        "<h2>Theorems whose data hypotheses hold</h2>",
        _table(
            ("theorem", "data allow it", "why"),
            [(t.key, _verdict(t.applicable), t.why) for t in found.diagnosis.theorems],
        ),
        "<h2>Extremal vectors</h2>",
        _table(
            ("D", "|D|", "kind", "side", "pattern"),
            [
                (
                    _vector(vector),
                    _number(norm),
                    kind,
                    f"{int(side):+d}",
                    _short("".join("-0+"[int(u) + 1] for u in pattern)),
                )
                for vector, norm, kind, side, pattern in zip(
                    found.extremal.vectors[:50],
                    found.extremal.norms[:50],
                    found.extremal.kinds[:50],
                    found.extremal.sides[:50],
                    found.extremal.patterns[:50],
                    strict=True,
                )
            ],
        ),
        "<h2>To reproduce</h2>",
        f"<pre>{html.escape(command)}</pre>",
        f"<p>reluflow {reluflow.__version__}, NumPy {np.__version__}, Python {platform.python_version()}.</p>",
        f'<script type="application/json" id="study">{_embedded_json(found)}</script>',
    ]
    page = (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{html.escape(title)}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n" + "\n".join(body) + "\n</main>\n</body>\n</html>\n"
    )
    with replacing(path) as stream:
        stream.write(page.encode())
    return path


def as_json(found: Study) -> dict[str, Any]:
    """The numbers of a study as plain JSON values."""
    data = found.dataset
    return {
        "dataset": {"name": data.name, "n": data.n, "d": data.d, "task": str(data.task)},
        "loss": {"name": found.loss.name, "reduction": found.loss.reduction, "factor": found.loss.factor},
        "leak": found.leak,
        "story": found.sentences(),
        "conditions": [
            {"key": c.key, "paper": c.paper, "holds": c.holds, "margin": c.margin, "detail": c.detail}
            for c in found.diagnosis.conditions
        ],
        "theorems": [{"key": t.key, "applicable": t.applicable, "why": t.why} for t in found.diagnosis.theorems],
        "extremal": {
            "exact": found.extremal.exact,
            "vectors": found.extremal.vectors.tolist(),
            "norms": found.extremal.norms.tolist(),
            "kinds": list(found.extremal.kinds),
        },
        "alignment": {"counts": found.alignment.counts, "width": found.width, "seed": found.seed},
    }


def _embedded_json(found: Study) -> str:
    return json.dumps(as_json(found), allow_nan=False).replace("</", "<\\/")


def _figure(picture: Picture) -> str:
    data = base64.b64encode(picture.path.read_bytes()).decode()
    caption = html.escape(picture.caption)
    return (
        f'<figure><img alt="{caption}" src="data:image/png;base64,{data}"><figcaption>{caption}</figcaption></figure>'
    )


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in header)
    lines = "".join(f"<tr>{''.join(_cell(cell) for cell in row)}</tr>" for row in rows)
    return f'<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>'


def _cell(text: str) -> str:
    for css, words in _SYMBOLS.values():
        if text == words:
            return f'<td class="{css}">{text}</td>'
    return f"<td>{html.escape(text)}</td>"


def _verdict(value: bool | None) -> str:
    return _SYMBOLS[value][1]


def _number(value: float | None) -> str:
    return "-" if value is None or not math.isfinite(value) else f"{value:.6g}"


def _vector(values: np.ndarray[Any, np.dtype[np.float64]]) -> str:
    items = [f"{value:.5g}" for value in values]
    return "(" + ", ".join(items if len(items) <= 6 else [*items[:5], "..."]) + ")"


def _short(pattern: str) -> str:
    return pattern if len(pattern) <= 40 else pattern[:37] + "..."
