"""Words for a picture: a text in lines that break no formula; matplotlib sets what stands between dollars."""

from __future__ import annotations

import re

from reluflow.formulas import as_unicode, with_formulas

_SHORT_RELATION = re.compile(r"\\(le|ge|ne)(?![A-Za-z])")  # matplotlib knows their longer names alone
_MARK = "\x02"  # around a formula, so that its spaces do not break a line


def picture_lines(text: str, letters: int) -> list[str]:
    r"""A text in lines of about so many letters, none of whose formulas is broken.

    >>> picture_lines(r"Assumption 4.5: $\langle\mu, x_i\rangle \ne 0$ for all $i$", 26)
    ['Assumption 4.5:', '$\\langle\\mu, x_i\\rangle \\neq 0$ for all $i$']
    """
    marked = with_formulas(text, lambda latex: f"${latex.replace(' ', _MARK)}$", lambda prose: prose.replace("`", ""))
    lines, room = [""], letters
    for word in marked.split():
        whole = word.replace(_MARK, " ")
        width = len(as_unicode(whole))
        if width > room and lines[-1]:
            lines.append("")
            room = letters
        drawn = _SHORT_RELATION.sub(r"\\\1q", whole)
        lines[-1] += f" {drawn}" if lines[-1] else drawn
        room -= width + 1
    return lines
