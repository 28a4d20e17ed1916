"""A text as words, names, numbers and signs."""

from __future__ import annotations

import re
from dataclasses import dataclass

GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "eps": "ε", "zeta": "ζ", "eta": "η",
    "theta": "θ", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ",
    "tau": "τ", "phi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "ell": "ℓ",
    "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Sigma": "Σ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω",
}  # fmt: skip
BIG = {"sum": "∑", "prod": "∏", "int": "∫"}
FUNCTIONS = (
    "max", "min", "exp", "ln", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "artanh", "arcosh", "arccos",
    "sign", "sgn", "inf", "sup", "span", "rank", "argmax", "argmin", "grad", "sqrt", "erf", "cot", "sec", "arctan",
    "subdiff", "cone", "lim",
)  # fmt: skip
_SIGNS = {"<=": "≤", ">=": "≥", "!=": "≠", "->": "→", "+-": "±", "<<": "≪", ">>": "≫", "-": "−", "*": "·", "~": "∼"}
_POWERS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")

_TOKEN = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<code>`+[^`]*`+)
  | (?P<word>https?://\S+ | (?<![\w)\]|}])[~.]{0,2}/(?:[\w.-]+/)+[\w.-]*\w
      | (?:[\w-]+/)+[\w-]+\.(?:csv|tsv|txt|dat|np[yz]|parquet|json|toml|html|md|png|pt|py)\b
      | [A-Za-z]\w+(?:\.\w+)+ | [a-z]+\d{4}\w*[:/]\w+
      | [A-Za-z][A-Za-z']*-(?!bar\b|hat\b|\d)[A-Za-z]\w*(?:-\w+)* | \d+-(?!GREEK(?:\b|_))[A-Za-z]\w+(?:-\w+)*
      | (?![tT]\d+\b)[A-Za-z]+\d\w* | \d+(?:st|nd|rd|th|D|d|L|px)\b | [A-Za-z]+'s\b | e\.g\. | i\.e\. | [A-Z]\.(?=\d) )
  | (?P<number>(?:\d{1,3}(?:,\d{3})+ | \d+)(?:\.\d+)?(?:e[+-]?\d+\b)?)
  | (?P<name>[Α-Ωα-ωℓ∂∇]|[A-Za-z]+)
  | (?P<power>[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+)
  | (?P<sign><=|>=|!=|(?<![\^_])(?:->|\+-)|<<|>>|[-+*/=<>|(),;:.\[\]{}^_'~!?%&"±·≤≥≠→∈∞−×∑Σ√∪∩⊂])
  | (?P<other>.)
    """.replace("GREEK", "(?:" + "|".join(GREEK) + ")"),
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Token:
    """A piece of a text: its kind (`space`, `code`, `word`, `number`, `name`, `power`, `sign`, `other`) and its text.

    `start` and `stop` say where it stands.
    """

    kind: str
    text: str
    start: int
    stop: int

    @property
    def sign(self) -> str:
        """What is drawn for an operator."""
        return _SIGNS.get(self.text, self.text)

    @property
    def power(self) -> str:
        """A raised number such as ² as an ordinary one."""
        return self.text.translate(_POWERS).replace("-", "−")


def tokens(text: str) -> list[Token]:
    """Cut a text into pieces that give it back when joined.

    Examples
    --------
    >>> [token.text for token in tokens("a_j > 0")]
    ['a', '_', 'j', ' ', '>', ' ', '0']
    """
    return [
        Token(found.lastgroup or "other", found.group(), found.start(), found.end()) for found in _TOKEN.finditer(text)
    ]
