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
    "App",
    "Appendix",
)
_ITEMS = ("a", "b", "c", "d", "e", "f", "g", "i", "v", "x", "M", "P")  # (M) and (P) are problems of lyu2021
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
    if pieces[place].kind in ("space", "code", "word", "other") or _is_item(pieces, place):
        return False
    before = pieces[place - 1] if place else None
    if before is None:
        return True
    if before.kind == "number":  # 2b of Phase 2b
        return False
    if before.kind == "space" and place > 1 and (pieces[place].kind == "number" or _is_letter(pieces[place])):
        is_labelled = _label_before(pieces, place - 2)
        return not is_labelled and (pieces[place].kind != "number" or pieces[place - 2].text != ".")
    return before.kind in ("space", "sign", "other") and before.text not in ("_", "^", "'")


def _is_letter(token: Token) -> bool:
    """Whether it may be the letter of an appendix."""
    return token.kind == "name" and len(token.text) == 1 and token.text.isupper()


def _label_before(pieces: Sequence[Token], place: int) -> bool:
    """Whether the word there, or the one before its full stop, is one that numbers and letters of a paper follow."""
    if pieces[place].text == "." and place > 0:
        place -= 1
    return pieces[place].text.rstrip("s.") in _LABELS


def _is_item(pieces: Sequence[Token], place: int) -> bool:
    """Whether a letter alone in brackets comes here, as in panel (b) or Assumption 1(i); f(x) begins before them."""
    opens = place if pieces[place].text == "(" else place - 1
    if opens < 0 or len(pieces) < opens + 3 or (pieces[opens].text, pieces[opens + 2].text) != ("(", ")"):
        return False
    inner, before = pieces[opens + 1].text, pieces[opens - 1] if opens else None
    return inner in _ITEMS and (before is None or before.kind in ("space", "number") or before.text == "|")


def _sign(token: Token) -> str:
    return _SIGNS.get(token.text, token.text) if token.kind == "sign" else token.text
