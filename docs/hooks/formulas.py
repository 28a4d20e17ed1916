"""Formulas between dollars in pages and docstrings become MathML while the site is built; no script, no network.

A Markdown extension rather than a filter of the finished HTML: Markdown takes the underscores and stars of LaTeX for
emphasis, so formulas are set and put aside before it looks. A formula between two lines `$$` stands alone.
"""

from __future__ import annotations

import html
import re
from typing import Any

from markdown import Markdown
from markdown.extensions import Extension
from markdown.preprocessors import Preprocessor

from reluflow.formulas import mathml, with_formulas

_DISPLAY = re.compile(r"^\$\$\n(.*?)\n\$\$$", re.MULTILINE | re.DOTALL)
# Alone in a cell, or with "at most" before it: a narrow cell would break it.
_SMALL_NUMBER = re.compile(r"(?<=\| )((?:at (?:most|least) )?)(-?[\d.]+e-\d+)(?= *\|)")
QUAD = r"\qquad"  # between formulas of one row, which a narrow screen may break there
_EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)


class Formulas(Extension):
    """Sets the formulas of a page."""

    def extendMarkdown(self, md: Markdown) -> None:
        """After fenced code is put aside, before HTML is looked for."""
        md.preprocessors.register(_Formulas(md), "formulas", 22)


class _Formulas(Preprocessor):
    def run(self, lines: list[str]) -> list[str]:
        store = self.md.htmlStash.store
        text = _DISPLAY.sub(lambda found: store(_alone(found[1])), "\n".join(lines))
        text = _EXAMPLE.sub(lambda found: store(_code(found[0])), text)
        text = with_formulas(text, lambda latex: store(mathml(latex)))
        return _SMALL_NUMBER.sub(r'\1<span class="number">\2</span>', text).split("\n")


def _alone(latex: str) -> str:
    rows = "".join(
        f'<span class="formula">{" ".join(_large(part.strip()) for part in row.split(QUAD))}</span>'
        for row in latex.split("\n")
    )
    return f'<div class="formulas">{rows}</div>'


def _large(latex: str) -> str:
    """Fractions and sums at full size."""
    return mathml(latex).replace('display="inline"', 'display="inline" displaystyle="true"', 1)


def _code(example: str) -> str:
    """An example below the one line of a docstring, which Markdown would take for a quotation."""
    return f"<pre><code>{html.escape(example.strip())}</code></pre>"


def on_config(config: Any) -> Any:
    """Give the extension to every page and to every docstring."""
    config.markdown_extensions.append(Formulas())
    return config
