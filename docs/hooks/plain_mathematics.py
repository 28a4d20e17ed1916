"""Plain mathematics in pages and docstrings becomes MathML while the site is built.

A Markdown extension rather than a filter of the finished HTML: Markdown itself takes `<w, x>` for a tag and the stars
of w* for emphasis, so formulas are set and put aside before it looks.
"""

from __future__ import annotations

import html
import re
from typing import Any

from markdown import Markdown
from markdown.extensions import Extension
from markdown.preprocessors import Preprocessor

from reluflow.typesetting import mathml, typeset
from reluflow.typesetting.formula import NoFormula

TAGS = "a|b|br|code|div|em|figcaption|figure|i|img|kbd|p|pre|span|strong|sub|sup|table|tbody|td|th|thead|tr|ul|li"
TAGS += "|details|summary"
_PROTECTED = re.compile(
    r"(?P<fence>`+).*?(?P=fence)"  # code
    r"|!\[[^\]]*\]"  # what a picture is called
    r"|\]\([^)\s]*(?:\s\"[^\"]*\")?\)"  # where a link leads
    rf"|</?(?:{TAGS})\b[^>]*>|<!--.*?-->|<https?://[^>]*>"  # what is meant as HTML
    r"|https?://[^\s)]+"
    r"|\{:?\s*[.#:][^}]*\}"  # attributes
    r"|\x02[^\x03]*\x03",  # what an earlier extension has put aside
    re.DOTALL,
)
_RAW = re.compile(rf"<(?!/?(?:{TAGS})\b|!--|https?:)")
_CELL = re.compile(r"(?<!\\)\|")
# Alone in a cell, or with "at most" before it: a narrow cell would break it.
_SMALL_NUMBER = re.compile(r"^(\s*(?:at (?:most|least) )?)(-?[\d.]+e-\d+)(\s*)$")
_CODE_LINE = re.compile(r"(?: {4}|\t)")


class PlainMathematics(Extension):
    """Sets the formulas of a page."""

    def extendMarkdown(self, md: Markdown) -> None:
        """After fenced code is put aside, before HTML is looked for."""
        md.preprocessors.register(_Formulas(md), "plain_mathematics", 22)


class _Formulas(Preprocessor):
    def run(self, lines: list[str]) -> list[str]:
        out: list[str] = []
        for block in re.split(r"(\n\s*\n)", "\n".join(lines)):
            out.append(self._block(block, "".join(out)))
        return "".join(out).split("\n")

    def _block(self, block: str, before: str) -> str:
        if not block.strip() or block.lstrip().startswith(":::"):
            return block
        rows = block.split("\n")
        if block.lstrip().startswith(">>> "):  # an example below the one line of a docstring, no quotation
            return self.md.htmlStash.store(f"<pre><code>{html.escape(block.strip())}</code></pre>")
        if all(_CODE_LINE.match(row) for row in rows if row.strip()):
            return self._indented(block, rows, before)
        if all(row.lstrip().startswith("|") for row in rows if row.strip()):
            return "\n".join(self._row(row) for row in rows)
        return self._text(block)

    def _indented(self, block: str, rows: list[str], before: str) -> str:
        """A block of formulas stands alone and large; one within a list is prose, any other is code."""
        last = next((line for line in reversed(before.split("\n")) if line.strip()), "")
        if re.match(r"\s*(?:[-*+]|\d+\.|!!!|\?\?\?)\s", last) or _CODE_LINE.match(last):
            return self._text(block)
        shown = []
        for row in rows:
            parts = [part.strip().rstrip(",.") for part in re.split(r",?\s{3,}", row.strip()) if part.strip()]
            try:
                shown.append('<span class="formula">' + "".join(mathml(part) for part in parts) + "</span>")
            except NoFormula:
                return block
        return self.md.htmlStash.store(f'<div class="formulas">{"".join(shown)}</div>')

    def _row(self, row: str) -> str:
        """A row of a table, cell by cell: between cells stands `|`, within them `\\|`."""
        place, cells = 0, []
        held = {match.start() for match in _CELL.finditer(row)} - {
            at for code in re.finditer(r"(`+).*?\1", row) for at in range(code.start(), code.end())
        }
        for at in [*sorted(held), len(row)]:
            cell = _SMALL_NUMBER.sub(r'\g<1><span class="number">\g<2></span>\g<3>', row[place:at])
            cells.append(self._text(cell.replace("\\|", "|")).replace("|", "\\|"))
            place = at + 1
        return "|".join(cells)

    def _text(self, text: str) -> str:
        out, place = [], 0
        for match in _PROTECTED.finditer(text):
            out += [self._prose(text[place : match.start()]), match.group()]
            place = match.end()
        return "".join([*out, self._prose(text[place:])])

    def _prose(self, text: str) -> str:
        store = self.md.htmlStash.store
        return typeset(text, keep=lambda prose: _RAW.sub("&lt;", prose), store=store)


def on_config(config: Any) -> Any:
    """Give the extension to every page and to every docstring."""
    config.markdown_extensions.append(PlainMathematics())
    return config
