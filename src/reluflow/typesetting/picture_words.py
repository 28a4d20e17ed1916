"""Words for a picture: the formulas of a text as matplotlib sets them, in lines that break no formula."""

from __future__ import annotations

import html
from xml.etree import ElementTree

from reluflow.typesetting.prose import typeset

_ACCENTS = {"¯": r"\bar", "^": r"\hat", "~": r"\tilde", "˜": r"\tilde"}
_SIGNS = {"−": "-", "∗": "*", "{": r"\{", "}": r"\}", "%": r"\%"} | {
    sign: rf"\{name} "
    for sign, name in {
        "⟨": "langle",
        "⟩": "rangle",
        "≤": "leq",
        "≥": "geq",
        "≠": "neq",
        "→": "rightarrow",
        "±": "pm",
        "·": "cdot",
        "×": "times",
        "∑": "sum",
        "′": "prime",
    }.items()
}
_MARK = "\x02"  # around a formula, between the prose and its own


def picture_lines(text: str, letters: int) -> list[str]:
    r"""A text in lines of about so many letters, with `$` around its formulas; none of them is broken.

    >>> picture_lines("Assumption 4.5: <mu, x_i> != 0 for all i", 26)
    ['Assumption 4.5: $\\langle μ,\\,{x}_{i}\\rangle \\neq 0$', 'for all $i$']
    """
    marked = typeset(text, keep=lambda prose: prose.replace("`", ""), store=lambda formula: _MARK + formula + _MARK)
    lines: list[str] = [""]
    room = letters
    for number, part in enumerate(marked.split(_MARK)):
        for word, width in [_formula(part)] if number % 2 else [(w.replace("$", r"\$"), len(w)) for w in _words(part)]:
            if width > room and lines[-1].strip() and not _is_mark(word):
                lines.append("")
                room = letters
            lines[-1] += word if lines[-1] else word.lstrip()
            room -= width
    return [line.strip() for line in lines]


def _words(prose: str) -> list[str]:
    """Words with the spaces before them; a space alone keeps a formula apart."""
    words = prose.split(" ")
    return [words[0], *(f" {word}" for word in words[1:])] if prose else []


def _is_mark(word: str) -> bool:
    """Whether it is a full stop, a comma or a bracket, which stays with what it closes."""
    return not word.startswith(" ") and not any(letter.isalnum() or letter in "$(" for letter in word)


def _formula(mathml: str) -> tuple[str, int]:
    """A formula between dollar signs, and how many letters it has."""
    element = ElementTree.fromstring(mathml)  # our own, from `typeset`
    return f"${_inside(element)}$", len("".join(element.itertext()))


def _inside(element: ElementTree.Element) -> str:
    parts = [_inside(child) for child in element]
    words = html.unescape(element.text or "")
    match element.tag:
        case "mi" if len(words) > 1:
            return rf"\,\mathrm{{{words}}}\,"
        case "mi" | "mn":
            return words
        case "mo":
            return _SIGNS.get(words, words)
        case "mtext":
            return rf"\mathrm{{{words.replace(' ', chr(92) + ' ').replace('_', chr(92) + '_')}}}"
        case "msub":
            return f"{{{parts[0]}}}_{{{parts[1]}}}"
        case "msup":
            return f"{{{parts[0]}}}^{{{parts[1]}}}"
        case "msubsup" | "munderover":
            return f"{{{parts[0]}}}_{{{parts[1]}}}^{{{parts[2]}}}"
        case "msqrt":
            return rf"\sqrt{{{''.join(parts)}}}"
        case "mfrac":
            return rf"\frac{{{parts[0]}}}{{{parts[1]}}}"
        case "mover":
            return f"{_ACCENTS[parts[1]]}{{{parts[0]}}}" if parts[1] in _ACCENTS else f"{{{parts[0]}}}^{{{parts[1]}}}"
        case "mspace":
            return "" if element.get("width") == "0" else r"\,"
        case _:
            return "".join(parts)
