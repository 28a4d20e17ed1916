"""Letters, numbers and whole formulas as elements of MathML."""

from __future__ import annotations

import html
import re

from reluflow.typesetting.tokens import FUNCTIONS, GREEK, Token

_ROOM = '<mspace width="0" height="0.8em"/>'  # without a mathematical font the bar of a root strikes its letter
_DERIVED = re.compile(r"d(" + "|".join(GREEK) + r"|[A-Za-z])")


def is_letter(token: Token | None) -> bool:
    """Whether a letter or a digit follows."""
    return token is not None and token.kind in ("name", "word", "number")


def is_variable(name: str) -> bool:
    """Whether a name is one letter, a Greek one spelt out, or one with a bar as in wbar."""
    return len(name) == 1 or name in GREEK or (len(name) == 4 and name.endswith("bar") and name != "abar")


def derived(name: str) -> str:
    """The variable of a differential: w of dw, theta of dtheta; nothing for any other name."""
    found = _DERIVED.fullmatch(name)
    return found[1] if found and name not in FUNCTIONS else ""


def identifier(name: str) -> str:
    """A variable, slanted, or a word, upright."""
    if name in GREEK:
        return f"<mi>{GREEK[name]}</mi>"
    if len(name) == 4 and name.endswith("bar"):
        return f'<mover accent="true"><mi>{name[0]}</mi><mo>¯</mo></mover>'
    return f"<mi>{name}</mi>" if len(name) == 1 else f"<mtext>{html.escape(name)}</mtext>"


def square_root(inner: str) -> str:
    """A root whose bar stands clear of a small letter: that of n read as a root of pi."""
    return f"<msqrt>{inner}{_ROOM}</msqrt>"


def number(text: str) -> str:
    """A number, with a power of ten set as one."""
    mantissa, _, exponent = text.partition("e")
    if not exponent:
        return f"<mn>{text}</mn>"
    power = str(int(exponent)).replace("-", "−")
    ten = f"<msup><mn>10</mn><mn>{power}</mn></msup>"
    return ten if mantissa == "1" else f"<mrow><mn>{mantissa}</mn><mo>·</mo>{ten}</mrow>"


def wrapped(inner: str, source: str, *, is_display: bool = False) -> str:
    """The element `math` with its source for who cannot see it."""
    display = ' display="block"' if is_display else ""
    return f'<math{display} alttext="{html.escape(" ".join(source.split()), quote=True)}"><mrow>{inner}</mrow></math>'
