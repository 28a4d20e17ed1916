"""The formulas of a text, found and set; the rest escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence

from reluflow.typesetting.elements import wrapped
from reluflow.typesetting.formula import read
from reluflow.typesetting.tokens import Token, tokens

_LABELS = (
    "Phase",
    "Theorem",
    "Eq",
    "Equation",
    "Figure",
    "Fig",
    "Lemma",
    "Assumption",
    "Condition",
    "Step",
    "Table",
    "Sec",
)
_CODE = re.compile(r"`([^`]+)`")
_SIGNS = {"<=": "≤", ">=": "≥", "->": "→", "!=": "≠"}


def plain(prose: str) -> str:
    """Prose escaped, with what stands between backticks as code.

    >>> plain("raise `max_steps` & go on")
    'raise <code>max_steps</code> &amp; go on'
    """
    return _CODE.sub(r"<code>\1</code>", html.escape(prose))


def typeset(text: str, *, keep: Callable[[str], str] = plain, store: Callable[[str], str] = str) -> str:
    """Set every formula of a text.

    Parameters
    ----------
    text
        Prose with plain mathematics in it: "until tau = -eps ln(lambda)/D_max, <w_j, x_k> > 0".
    keep
        What becomes of the prose between the formulas; it is escaped unless said otherwise.
    store
        What becomes of the MathML of each formula.

    Examples
    --------
    >>> typeset("a neuron with w > 1")
    'a neuron with <math alttext="w &gt; 1"><mrow><mi>w</mi><mo>&gt;</mo><mn>1</mn></mrow></math>'
    """
    pieces = tokens(text)
    parts: list[str] = []
    prose: list[str] = []
    place = 0
    while place < len(pieces):
        inner, stop = read(pieces, place) if _may_begin(pieces, place) else ("", place)
        if not inner:
            prose.append(_sign(pieces[place]))
            place += 1
            continue
        parts += [keep("".join(prose)), store(wrapped(inner, text[pieces[place].start : pieces[stop - 1].stop]))]
        prose.clear()
        place = stop
    return "".join([*parts, keep("".join(prose))])


def _may_begin(pieces: Sequence[Token], place: int) -> bool:
    """A formula begins after a space or a sign, never in a word, and never with the number of a theorem."""
    if pieces[place].kind in ("space", "code", "word", "other"):
        return False
    before = pieces[place - 1] if place else None
    if before is None:
        return True
    if before.kind == "number":  # 2b of Phase 2b
        return False
    if before.kind == "space" and pieces[place].kind == "number" and place > 1:
        label = pieces[place - 2].text
        return label.rstrip("s.") not in _LABELS and pieces[place - 2].text != "."
    return before.kind in ("space", "sign", "other") and before.text not in ("_", "^", "'")


def _sign(token: Token) -> str:
    return _SIGNS.get(token.text, token.text) if token.kind == "sign" else token.text
