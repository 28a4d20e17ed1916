"""A place in a list of tokens, and what can be said by looking at the tokens around it."""

from __future__ import annotations

from collections.abc import Sequence

from reluflow.typesetting.elements import derived, is_variable
from reluflow.typesetting.tokens import BIG, FUNCTIONS, GREEK, Token

RELATIONS = ("=", "<", ">", "<=", ">=", "!=", "->", "<<", ">>", "≤", "≥", "≠", "→", "∈", "⊂", "~")
BINARY = ("+", "-", "*", "/", "±", "+-", "·", "−", "×", "∪", "∩")
ARTICLES = ("a", "A", "I")
WORDS = ("leak", "width", "scale", "step", "own", "weight", "slope")  # they may stand in a bracket: (1 + leak)/2


class Cursor:
    """Where a reader stands in its tokens."""

    def __init__(self, pieces: Sequence[Token], place: int) -> None:
        self.pieces = pieces
        self.place = place
        self.scripts = 0  # depth of brackets after _ or ^

    def peek(self, ahead: int = 0) -> Token | None:
        place = self.place + ahead
        return self.pieces[place] if place < len(self.pieces) else None

    def is_space(self, ahead: int = 0) -> bool:
        token = self.peek(ahead)
        return token is not None and token.kind == "space"

    def text(self, ahead: int = 0) -> str:
        token = self.peek(ahead)
        return token.text if token is not None else ""

    def take(self) -> Token:
        token = self.pieces[self.place]
        self.place += 1
        return token

    def skip_space(self) -> None:
        while self.is_space():
            self.place += 1

    def starts_operand(self, token: Token) -> bool:
        if token.kind == "number":
            return True
        if token.kind == "name":
            return (
                is_variable(token.text)
                or token.text in (*FUNCTIONS, *BIG, *WORDS, "infinity")
                or bool(derived(token.text))
                or self.is_product_at(token)
            )
        return token.text in ("(", "[", "{", "|", "<", "-", "+", "±", "+-", "∇", "∑", "Σ", "√", "∞", "−")

    def is_product_at(self, token: Token) -> bool:
        back, self.place = self.place, self.pieces.index(token)
        try:
            return self.is_product(token.text)
        finally:
            self.place = back

    def is_product(self, name: str) -> bool:
        """Two letters side by side: in an exponent, e^(-ct), or an outer product, uv^T."""
        if len(name) != 2 or name in GREEK or name in (*FUNCTIONS, "of", "in", "if", "or", "at"):
            return False
        return (bool(self.scripts) and not derived(name)) or (self.text(1) == "^" and self.text(2) == "T")

    def argument_after(self, ahead: int) -> bool:
        token = self.peek(ahead)
        if token is None:
            return False
        return (
            token.kind == "number"
            or token.text == "|"
            or (token.kind == "name" and is_variable(token.text) and token.text not in ARTICLES)
        )

    def goes_on(self) -> bool:
        """Whether an `a` after a sign is the weight and not the article: what comes next is no word."""
        if self.text() not in ARTICLES:
            return False
        token = self.peek(2 if self.is_space(1) else 1)
        return token is None or (token.kind not in ("word", "code", "other") and self.is_no_word(token))

    def is_no_word(self, token: Token) -> bool:
        return token.kind != "name" or self.starts_operand(token)

    def ends_term(self) -> bool:
        """Whether the identity matrix is meant and not a person: a sign comes next."""
        ahead = 2 if self.is_space(1) else 1
        return self.text(ahead) in (*BINARY, *RELATIONS)

    def relation_after(self) -> bool:
        """Whether a sign follows that only a formula has, as in `a > 0`; before it, an article is an article."""
        back = self.place
        self.place += 1
        self.skip_space()
        sign = self.text()
        self.place = back
        return sign in RELATIONS and sign != "~"

    def is_inner(self) -> bool:
        """Whether a `<` opens an inner product: nothing but space before it or an operand beside, a comma inside."""
        if self.text() != "<" or self.is_space(1):
            return False
        depth, ahead, has_comma = 0, 1, False
        while (token := self.peek(ahead)) is not None and ahead < 60:
            if token.text == "<" and not self.is_space(ahead + 1):
                depth += 1
            elif token.text == ">" and not self.is_space(ahead - 1):
                if depth == 0:
                    return has_comma
                depth -= 1
            elif token.text == "," and depth == 0:
                has_comma = True
            elif token.kind in ("code", "other"):
                return False
            ahead += 1
        return False

    def opens_bar(self, back: int, is_open: bool) -> bool:
        """Whether a `|` inside a norm opens another: where an operand may stand, or with space before it only."""
        return is_open or (self.place > back and not self.ends_after())

    def ends_after(self) -> bool:
        token = self.peek(1)
        return token is None or token.kind == "space" or token.text in (")", ",", ".", ";", ">", "/", "^", "_")
