r"""Formulas between dollars, `$\|w_j\| \le 1$`, set by maintained libraries: MathML for pages, Unicode for a terminal.

What stands between dollars is LaTeX, read by latex2mathml and by pylatexenc; nothing here reads mathematics. What
stands between backticks is code and may hold a dollar.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable
from functools import cache
from typing import Any

# fonts with a table of mathematical layout, those of macOS, Windows and Linux among them; without one exponents float
FONT_STYLE = (
    'math { font-family: "STIX Two Math", "Latin Modern Math", "Cambria Math", "Noto Sans Math", '
    '"DejaVu Math TeX Gyre", math; }'
)

_FORMULA = re.compile(r"(?P<code>`[^`]*`)|\$(?P<latex>[^$]+)\$")
_BARS = {r"\|": r"\Vert ", "|": r"\vert "}
_SIGNS = {
    "|": "‖", "Vert": "‖", "vert": "|", "lVert": "‖", "rVert": "‖", "lvert": "|", "rvert": "|", "left": "", "right": "",
    "ne": "≠", "bot": "⊥", "top": "⊤", "dots": "...", "ldots": "...", ",": " ", ":": " ", ";": " ", "colon": ":",
}  # fmt: skip
_SLASH, _MINUS_OR_PLUS = "&#x0002F;", ("&#x02212;", "&#x0002B;")  # as latex2mathml writes them
_BAR = "&#x0007C;"  # of a norm; browsers set it as a relation, with spaces
_CLOSING = ("&#x00029;", "&#x0005D;", "&#x0007C;", "&#x0007D;", "&#x02016;", "!", "&#x02032;")
_FUNCTION = re.compile("[a-z]{2,}")
_RELATIONS = re.compile(r"(?<![_^]) *([≤≥≠≪≫→↦∈∉⊂⊆∼≈≲≳⇒⇔∩∪±]) *")
_BARE_SCRIPT = re.compile(r"([_^])(\\[A-Za-z]+)")
_SPACE = re.compile(r" +(?=\\)|(?<=[^A-Za-z\s]) +")


def with_formulas(text: str, formula: Callable[[str], str], prose: Callable[[str], str] = str) -> str:
    """The text with a function applied to what stands between dollars, and another to the rest.

    >>> with_formulas("for $n$ samples, `$n`", str.upper)
    'for N samples, `$n`'
    """
    parts, place = [], 0
    for found in _FORMULA.finditer(text):
        if found["latex"]:
            parts += [prose(text[place : found.start()]), formula(found["latex"])]
            place = found.end()
    return "".join([*parts, prose(text[place:])])


@cache
def mathml(latex: str) -> str:
    """A formula as an element of a page.

    >>> mathml("n > 1")
    '<math alttext="n &gt; 1" display="inline"><mrow><mi>n</mi><mo>&#x0003E;</mo><mn>1</mn></mrow></math>'
    """
    from xml.etree import ElementTree

    from latex2mathml.converter import convert_to_element

    element = convert_to_element(latex)
    for row in list(element.iter()):
        before = None
        for sign in row:
            if sign.tag == "mo" and sign.text in (_SLASH, _BAR):
                sign.attrib.update(lspace="0", rspace="0")
            elif (
                sign.text in _MINUS_OR_PLUS
                and before is not None
                and before.tag == "mo"
                and before.text not in _CLOSING
            ):
                sign.set("form", "prefix")  # browsers set it as a difference otherwise
            if (
                before is not None
                and before.tag == "mi"
                and _FUNCTION.fullmatch(before.text or "")
                and sign.tag != "mo"
            ):
                before.tag = "mo"  # log n, not logn
                before.attrib.update(form="prefix", lspace="0", rspace="0.17em")
            before = sign
        if row.tag == "msqrt":  # without a mathematical font the bar runs through the letters
            ElementTree.SubElement(row, "mspace", width="0", height="0.8em")
    attributes = {"alttext": latex, "display": element.get("display", "inline")}
    element.attrib.clear()
    element.attrib.update(attributes)
    return ElementTree.tostring(element, encoding="unicode").replace("&amp;#x", "&#x")  # its signs are references


def as_html(text: str) -> str:
    """Prose escaped, its formulas as MathML, what stands between backticks as code.

    >>> as_html("raise `max_steps` & go on")
    'raise <code>max_steps</code> &amp; go on'
    """
    return with_formulas(text, mathml, lambda prose: re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(prose)))


@cache
def as_unicode(text: str) -> str:
    r"""The text with its formulas as a terminal shows them.

    >>> as_unicode(r"$|w_j(t)| \ge e^{-t(D_{\max} + 1)}$ at $t_1$")
    '|wⱼ(t)| ≥ e^(-t(Dₘₐₓ + 1)) at t₁'
    """
    return with_formulas(text, _terminal()) if "$" in text else text


def in_table(text: str) -> str:
    r"""The text as a cell of a Markdown table, where a bar ends a cell.

    >>> in_table(r"$|w|$ against $\|W\|$, x|y")
    '$\\vert w\\vert $ against $\\Vert W\\Vert $, x\\|y'
    """

    def without_bars(latex: str) -> str:
        return "$" + re.sub(r"\\?\|", lambda bar: _BARS[bar.group()], latex) + "$"

    return with_formulas(" ".join(text.split()), without_bars, lambda prose: prose.replace("|", "\\|"))


@cache
def _terminal() -> Callable[[str], str]:
    """pylatexenc from LaTeX to Unicode, with indices, powers and fractions that can be distinguished on one line."""
    from pylatexenc import latex2text, latexwalker, macrospec

    def script(sign: str, kind: str) -> Callable[[Any, Any], str]:
        letters = [letter for letter in map(chr, range(0xB2, 0x2C7E)) if unicodedata.decomposition(letter)[:5] == kind]
        small = {unicodedata.normalize("NFKC", letter).replace("−", "-"): letter for letter in letters} | {" ": ""}

        def written(node: Any, l2tobj: Any) -> str:
            text = l2tobj.nodelist_to_text(node.nodeargd.argnlist).strip()
            if all(letter in small for letter in text.replace("−", "-")):
                return "".join(small[letter] for letter in text.replace("−", "-"))
            return sign + (text if text.isalnum() or len(text) == 1 else f"({text})")

        return written

    def fraction(node: Any, l2tobj: Any) -> str:
        above, below = (l2tobj.nodelist_to_text([part]) for part in node.nodeargd.argnlist)
        return "/".join(part if part.isalnum() else f"({part})" for part in (above, below))

    reading, writing = latexwalker.get_default_latex_context_db(), latex2text.get_default_latex_context_db()
    reading.add_context_category(
        "scripts",
        prepend=True,
        specials=[macrospec.SpecialsSpec(sign, macrospec.MacroStandardArgsParser("{")) for sign in "_^"],
    )
    writing.add_context_category(
        "line",
        prepend=True,
        macros=[
            *(latex2text.MacroTextSpec(name, sign) for name, sign in _SIGNS.items()),
            latex2text.MacroTextSpec("frac", fraction),
        ],
        specials=[
            latex2text.SpecialsTextSpec("_", script("_", "<sub>")),
            latex2text.SpecialsTextSpec("^", script("^", "<supe")),
        ],
    )
    writer = latex2text.LatexNodes2Text(latex_context=writing, strict_latex_spaces="based-on-source")

    @cache
    def shown(latex: str) -> str:
        spaced = _SPACE.sub(
            r"\\ ", _BARE_SCRIPT.sub(r"\1{\2}", latex)
        )  # LaTeX and its reader drop spaces beside macros
        nodes, *_ = latexwalker.LatexWalker(spaced, latex_context=reading, tolerant_parsing=False).get_latex_nodes()
        return " ".join(_RELATIONS.sub(r" \1 ", writer.nodelist_to_text(nodes)).replace("⟨ ", "⟨").split())

    return shown
