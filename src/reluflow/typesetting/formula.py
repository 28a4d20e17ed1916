"""A run of tokens as a formula in MathML, or the answer that it is none.

A formula is set as it is written, in one line: nothing is moved over a fraction bar, so that no reading is forced on
`2 D_max/(D_min alpha)^2`. Raised and lowered parts, brackets, norms, inner products, roots and signs are set.
"""

from __future__ import annotations

import html
from collections.abc import Sequence

from reluflow.typesetting.cursor import ARTICLES, BINARY, RELATIONS, WORDS, Cursor
from reluflow.typesetting.elements import derived, identifier, is_letter, is_variable, number, square_root, wrapped
from reluflow.typesetting.tokens import BIG, FUNCTIONS, GREEK, Token, tokens

_CLOSING = {"(": ")", "[": "]", "{": "}"}
_ACCENTS = {"bar": "¯", "hat": "^"}


class NoFormula(Exception):
    """What was tried is not a formula."""


class _Parser(Cursor):
    """Reads atoms from a list of tokens; `is_certain` tells whether one of them can be nothing but mathematics."""

    def __init__(self, pieces: Sequence[Token], place: int) -> None:
        super().__init__(pieces, place)
        self.is_certain = False
        self.awaits = False  # a function without brackets was read: its argument comes

    def line(self, closing: str = "") -> str:
        """Operands and signs up to the closing sign; without one, as far as they go."""
        parts: list[str] = []
        is_open = True  # an operand may stand here
        complete = (self.place, 0)  # where a formula could end: after an operand
        while True:
            back = self.place
            self.skip_space()
            token = self.peek()
            if (
                closing
                and token is not None
                and token.text == closing
                and (closing != "|" or not self.opens_bar(back, is_open))
            ):
                return "".join(parts)
            try:
                part, is_operator = self._next(back, is_open, bool(closing), bool(parts))
            except NoFormula:
                if closing:
                    raise
                self.place = complete[0]
                return "".join(parts[: complete[1]])
            parts.append(part)
            is_open = is_operator
            if not is_open:
                complete = (self.place, len(parts))

    def _next(self, back: int, is_open: bool, is_inside: bool, has_begun: bool) -> tuple[str, bool]:
        token = self.peek()
        if token is None:
            raise NoFormula
        if token.kind == "sign" and token.text in (*RELATIONS, *BINARY) and not (token.text == "<" and self.is_inner()):
            return self._operator(token, is_open, is_inside, has_begun), True
        if is_inside and token.text in (",", ";", ":", "..."):
            self.take()
            return f'<mo separator="true">{token.text}</mo><mspace width="0.2em"/>', True
        if is_inside and token.text == "." and self.text(1) == "." and self.text(2) == ".":
            self.place += 3
            return "<mo>…</mo>", True
        gap = ""
        if not is_open:  # two operands side by side
            if not self._may_follow(token, is_inside, self.place > back):
                raise NoFormula
            gap = '<mspace width="0.17em"/>' if self.place > back else ""
        self.awaits = False
        part = gap + self._scripted(is_inside or (is_open and has_begun and self.goes_on()))
        return part, self.awaits

    def _operator(self, token: Token, is_open: bool, is_inside: bool, has_begun: bool) -> str:
        is_prefix = token.text in ("+", "-", "−", "±", "+-") and is_open
        if is_open and not is_prefix:
            raise NoFormula
        if is_prefix and not is_inside and has_begun and not self.is_space(-1):
            raise NoFormula
        if token.text == "*" and not self.is_space(-1):
            raise NoFormula
        self.take()
        mark = self.place
        self.skip_space()
        ahead = self.peek()
        if ahead is None or not self.starts_operand(ahead) or (is_prefix and self.place > mark):
            raise NoFormula
        self.place = mark
        if token.text in RELATIONS or (token.text in ("+", "·", "−", "±", "+-", "×") and not is_prefix):
            self.is_certain = True
        form = ' form="prefix"' if is_prefix else ' lspace="0" rspace="0"' if token.text == "/" else ""
        return f"<mo{form}>{html.escape(token.sign)}</mo>"

    def _may_follow(self, token: Token, is_inside: bool, has_space: bool) -> bool:
        """Whether an operand may stand beside the one before: `2 |D| lambda S`, never a word."""
        if token.kind == "number":
            return is_inside
        if token.kind == "name":
            if token.text in ARTICLES or (token.text == "s" and not is_inside):
                return is_inside or self.text(1) in ("_", "^", "(") or (token.text == "I" and self.ends_term())
            return self.starts_operand(token)
        if token.text == "|":
            return True
        if token.text == "<":
            return self.is_inner()
        if token.text == "{":
            return not has_space
        return (token.text in ("(", "[") and (is_inside or not has_space)) or token.text in ("∑", "√", "∇")

    def _scripted(self, is_inside: bool) -> str:
        base, is_big = self._atom(is_inside)
        awaits = self.awaits  # what is raised or lowered may hold functions of its own
        before = ""
        if len(is_big) == 1:  # of a product of two letters the second takes what is raised
            before, base, is_big = base, identifier(is_big), ""
        lowered = raised = ""
        marks = ""
        while True:
            token = self.peek()
            if token is None:
                break
            if token.kind == "number" and self.text(-1) in ("t", "T") and not lowered:
                lowered = f"<mn>{self.take().text}</mn>"  # t0
            elif token.text == "_" and not lowered:
                self.take()
                lowered = self._script(is_lowered=True)
            elif token.text == "^" and not raised:
                self.take()
                raised = self._script(is_lowered=False)
            elif token.kind == "power" and not raised:
                raised = f"<mn>{self.take().power}</mn>"
            elif token.text == "'" and not is_letter(self.peek(1)):
                self.take()
                marks += "<mo>′</mo>"
            elif token.text == "*" and not is_letter(self.peek(1)) and self.text(1) != "*" and not raised:
                self.take()
                marks += "<mo>∗</mo>"
            elif token.text == "~" and not self.is_space(-1) and self.text(1) not in ("=",):
                self.take()
                base = f'<mover accent="true">{base}<mo>~</mo></mover>'
                self.is_certain = True
                continue
            elif token.text == "-" and self.text(1) in _ACCENTS:
                base = f'<mover accent="true">{base}<mo>{_ACCENTS[self.text(1)]}</mo></mover>'
                self.place += 2
            else:
                break
            self.is_certain = True
        self.awaits = awaits
        raised = f"<mrow>{raised}{marks}</mrow>" if marks else raised
        if lowered and raised:
            tag = "munderover" if is_big == "limits" else "msubsup"
            return f"{before}<{tag}>{base}{lowered}{raised}</{tag}>"
        if lowered:
            return f"{before}<msub>{base}{lowered}</msub>"
        return before + (f"<msup>{base}{raised}</msup>" if raised else base)

    def _script(self, *, is_lowered: bool) -> str:
        token = self.peek()
        if token is None:
            raise NoFormula
        if token.text in ("{", "("):
            self.take()
            self.scripts += 1
            inner = self.line(_CLOSING[token.text])
            self.scripts -= 1
            self.take()
            return f"<mrow>{inner}</mrow>"
        if token.text in ("+", "-"):
            self.take()
            if token.text == "+" and self.text() == "-" and not is_letter(self.peek(1)):
                self.take()
                return "<mo>±</mo>"
            ahead = self.peek()
            if not is_lowered and self.text() == "|":
                back = self.place
                try:
                    return f"<mrow><mo>{token.sign}</mo>{self._fence('|', '|', '|')}</mrow>"
                except NoFormula:  # the bar closes a norm that is open, as in |mu^-|
                    self.place = back
            if not is_lowered and ahead is not None and (ahead.kind in ("number", "name") or ahead.text == "("):
                rest = self._bracket("(") if self.text() == "(" else self._script(is_lowered=False)
                return f"<mrow><mo>{token.sign}</mo>{rest}</mrow>"  # 2^-(m-1) keeps its brackets
            return f"<mo>{token.sign}</mo>"
        if token.kind == "number":
            self.take()
            if is_lowered and (ahead := self.peek()) is not None and ahead.kind == "name" and ahead.start == token.stop:
                return f"<mrow>{number(token.text)}{identifier(self.take().text)}</mrow>"
            return number(token.text)
        if token.kind == "word" and is_lowered:  # S_dead2, x_i1
            return f"<mtext>{html.escape(self.take().text)}</mtext>"
        if token.kind == "name":
            name = self.take().text
            if is_lowered and not is_variable(name) and len(name) == 2 and set(name) <= set("ijklmnpqrst"):
                return f"<mrow>{''.join(identifier(letter) for letter in name)}</mrow>"  # two indices, w_jk
            inner = identifier(name)
            if (self.text() in ("*", "'")) and not is_letter(self.peek(1)) and is_lowered and self.text() == "'":
                self.take()
                inner = f"<msup>{inner}<mo>′</mo></msup>"
            return inner
        if token.text in ("*", "'", "∞"):
            return f"<mo>{self.take().sign}</mo>"
        raise NoFormula

    def _atom(self, is_inside: bool) -> tuple[str, str]:
        token = self.peek()
        if token is None:
            raise NoFormula
        if token.kind == "number":
            self.take()
            return number(token.text), ""
        if token.kind == "name":
            return self._name(token, is_inside)
        if token.text == "<" and self.is_inner():
            return self._fence("⟨", "⟩", ">"), ""
        if token.text == "|":
            return self._fence("|", "|", "|"), ""
        if token.text in ("(", "[", "{"):
            return self._bracket(token.text), ""
        if token.text in ("∑", "Σ"):
            self.take()
            self.is_certain = True
            return "<mo>∑</mo>", "limits"
        if token.text in ("∇", "∞"):
            self.take()
            return f"<mi>{token.text}</mi>", ""
        if token.text == "√":
            self.take()
            self.is_certain = True
            return square_root(self._atom(is_inside)[0]), ""
        raise NoFormula

    def _name(self, token: Token, is_inside: bool) -> tuple[str, str]:
        name = token.text
        following, follows = self.peek(1), self.text(1)
        if name == "Σ" or name in BIG:
            is_bare = name == "int" and self.is_space(1) and self.argument_after(2)
            is_bare = is_bare or (self.is_certain and self.text(2) in ("(", "|", "<"))
            if name != "Σ" and follows not in ("_", "^") and not is_bare:
                raise NoFormula
            self.take()
            self.is_certain = self.awaits = True
            return f"<mo>{BIG.get(name, '∑')}</mo>", "limits" if name != "int" else ""
        if name == "sqrt":
            self.take()
            self.skip_space()
            if self.text() == "(":
                self.take()
                inner = self.line(")")
                self.take()
            else:
                inner = self._atom(is_inside)[0]
            self.is_certain = True
            return square_root(inner), ""
        if name in FUNCTIONS:
            is_bare = is_inside and follows in ("|", ")", " ", ",")
            if (
                follows not in ("(", "{", "_", "^", "|")
                and not (self.is_space(1) and self.argument_after(2))
                and not is_bare
            ):
                raise NoFormula
            if follows == "_" and len(self.text(2)) > 1 and self.text(2) not in GREEK:
                raise NoFormula  # log_scale is a name in code
            self.take()
            if follows == "(":
                self.is_certain = self.awaits = True
                return f"<mi>{name}</mi>", ""
            gap = '<mspace width="0.17em"/>' if self.is_space() else ""
            self.is_certain = self.is_certain or follows == "_"
            self.awaits = follows != "^" and self.argument_after(1 if gap else 0)
            return f"<mrow><mi>{name}</mi>{gap}</mrow>" if gap else f"<mi>{name}</mi>", ""
        if name == "infinity":
            self.take()
            return "<mi>∞</mi>", ""
        if name in WORDS and (is_inside or follows == "_"):
            self.take()
            return f"<mtext>{name}</mtext>", ""
        if self.is_product(name):
            self.take()
            return "".join(identifier(letter) for letter in name[:-1]), name[-1]
        if not is_variable(name):
            if inner := derived(name):
                if follows not in ("_", "/", "~", "^") and self.text(-1) != "/":
                    raise NoFormula
                self.take()
                self.is_certain = True
                lowered = self._lowered_inside(inner)
                return f"<mrow><mi>d</mi>{lowered}</mrow>", ""
            raise NoFormula
        has_marks = follows in ("_", "^", "'", "~", "*", "(", "/") or getattr(following, "kind", "") == "power"
        if name in ("a", "A", "I", "s") and not is_inside and not has_marks:
            if not self.relation_after() and not (name == "I" and self.is_certain and self.ends_term()):
                raise NoFormula
        elif name not in ARTICLES:
            self.is_certain = True
        self.take()
        return identifier(name), ""

    def _lowered_inside(self, inner: str) -> str:
        """The variable of a differential with its index: in dw_j/dt the j belongs to w."""
        base = identifier(inner)
        if self.text() != "_":
            return base
        self.take()
        return f"<msub>{base}{self._script(is_lowered=True)}</msub>"

    def _fence(self, left: str, right: str, closing: str) -> str:
        self.take()
        if self.is_space() and closing != "|":
            raise NoFormula
        inner = self.line(closing)
        if not inner:
            raise NoFormula
        self.take()
        self.is_certain = True
        return f"<mrow><mo>{left}</mo>{inner}<mo>{right}</mo></mrow>"

    def _bracket(self, opening: str) -> str:
        self.take()
        inner = self.line(_CLOSING[opening])
        closing = self.text()
        self.take()
        return f"<mrow><mo>{opening}</mo>{inner}<mo>{closing}</mo></mrow>"


def read(pieces: Sequence[Token], place: int) -> tuple[str, int]:
    """The formula that begins at a place and where it ends; ("", place) where none does."""
    parser = _Parser(pieces, place)
    inner = parser.line()
    return (inner, parser.place) if inner and parser.is_certain else ("", place)


def mathml(source: str, *, is_display: bool = False) -> str:
    """A whole text as one formula; `NoFormula` where it is none.

    Examples
    --------
    >>> mathml("a_j > 0")
    '<math alttext="a_j &gt; 0"><mrow><msub><mi>a</mi><mi>j</mi></msub><mo>&gt;</mo><mn>0</mn></mrow></math>'
    """
    pieces = tokens(source.strip())
    parser = _Parser(pieces, 0)
    inner = parser.line()
    if parser.place < len(pieces) or not inner:
        raise NoFormula(f"`{source}` is not a formula from its beginning to its end.")
    return wrapped(inner, source, is_display=is_display)
