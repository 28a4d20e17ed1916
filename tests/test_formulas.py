"""Formulas between dollars: every one we have is read by both libraries, and none stands outside its dollars."""

import json
import re
import subprocess
import sys
import unicodedata
from xml.etree import ElementTree

import pytest

from reluflow.cli.main import run
from reluflow.formulas import as_html, as_unicode, in_table, mathml, with_formulas
from reluflow.found_papers import found_papers
from reluflow.theory.condition import Assumption
from reluflow.theory.elsewhere import Elsewhere
from reluflow.theory.erratum import errata_of
from reluflow.theory.registry import results_of, theorems
from reluflow.viz.picture_words import picture_lines


def texts_of(paper: str) -> list[str]:
    """Every sentence that the objects of a paper carry."""
    found = [a.statement for a in found_papers()[paper].values("assumptions", "ASSUMPTIONS", Assumption)]
    for erratum in errata_of(paper):
        found += [erratum.where, erratum.printed, erratum.corrected, erratum.unmeasured]
    for result in results_of(paper):
        if isinstance(result, Elsewhere):
            found += [result.locator, result.note]
            continue
        found += [result.statement, result.reference.locator, result.erratum, result.departs]
        found += [part.statement for part in (*result.hypotheses, *result.conclusions)]
        found += [parameter.meaning for parameter in result.parameters]
    return [text for text in dict.fromkeys(found) if text]


TEXTS = {paper: texts_of(paper) for paper in found_papers()}
# an index, a power, a relation, a norm or the name of a Greek letter in what should be plain prose
LEFT = re.compile(r"<=|>=|[<>^|]|\w_[\w{]| = |\+-|\b(?:sqrt|eps|lambda|tau|mu|theta|sigma|eta|beta|gamma|delta)\b")

SIGNS = {
    "|": "‖", "le": "≤", "ge": "≥", "ne": "≠", "to": "→", "pm": "±", "sum": "∑", "langle": "⟨", "ll": "≪", "in": "∈",
    "lambda": "λ", "varepsilon": "ε", "tau": "τ", "theta": "θ", "mu": "μ", "nabla": "∇", "infty": "∞", "int": "∫",
    "sqrt": "√", "sigma": "σ", "kappa": "κ", "gamma": "γ", "varphi": "φ", "psi": "ψ", "pi": "π",
}  # fmt: skip


@pytest.mark.parametrize("paper", TEXTS)
def test_no_formula_stands_outside_its_dollars(paper):
    for text in TEXTS[paper]:
        assert text.count("$") % 2 == 0, text
        prose = re.sub(r"`[^`]*`", "", with_formulas(text, lambda latex: ""))
        assert not LEFT.search(prose), text


@pytest.mark.parametrize("paper", TEXTS)
def test_both_libraries_know_every_macro(paper):
    """A macro that a library does not know is left in its answer, or dropped from it."""
    for text in TEXTS[paper]:
        assert "\\" not in as_unicode(text), text
        for element in re.findall(r"<math .*?</math>", as_html(text)):
            assert "\\" not in "".join(ElementTree.fromstring(element).itertext()), text


@pytest.mark.parametrize("paper", TEXTS)
def test_the_terminal_loses_no_letter_and_no_sign(paper):
    r"""pylatexenc drops macros that it does not know without a word: `\|`, `\ne` and `\bot` were gone."""
    for text in TEXTS[paper]:
        for latex in re.findall(r"\$([^$]+)\$", text):
            shown = unicodedata.normalize("NFKC", as_unicode(f"${latex}$"))
            for name, sign in SIGNS.items():
                asked = len(re.findall(rf"\\{re.escape(name)}" + ("(?![A-Za-z])" if name.isalpha() else ""), latex))
                assert shown.count(sign) == asked, (latex, shown)


@pytest.mark.parametrize(
    ("latex", "shown"),
    [
        (r"|w_j(t)| \ge |w_j(0)|\, e^{-t (D_{\max} + \lambda^{2-4\varepsilon} S)}",
         "|wⱼ(t)| ≥ |wⱼ(0)| e^(-t (Dₘₐₓ + λ^(2-4ε) S))"),
        (r"\|W\|_F^2 \le 2\|W\|_2^2 + 4 \sqrt{m} \varepsilon W_{\max}^2", "‖W‖_F² ≤ 2‖W‖₂² + 4 √(m) ε Wₘₐₓ²"),
        (r"\langle w_j, x_\pm\rangle \ne 0", "⟨wⱼ, x_±⟩ ≠ 0"),
        (r"\frac{L(t_2)}{a + 1}", "(L(t₂))/(a + 1)"),
        (r"\sum_{k=1}^n \bar w_j^\top x_k", "∑ₖ₌₁ⁿ w̅ⱼ^⊤ xₖ"),
        (r"\mathbb{R}^{d+1}", "ℝᵈ⁺¹"),
        (r"n_\pm X_{\min}", "n_± Xₘᵢₙ"),
        (r"2^{-(m-1)}", "2⁻⁽ᵐ⁻¹⁾"),
        (r"T_{12} \to \infty", "T₁₂ → ∞"),
    ],
)  # fmt: skip
def test_what_a_terminal_shows(latex, shown):
    assert as_unicode(f"${latex}$") == shown


def test_a_page_gets_mathml_with_its_source():
    element = ElementTree.fromstring(mathml(r"W_{\max}^2 > 1"))
    assert element.get("alttext") == r"W_{\max}^2 > 1"
    assert "".join(element.itertext()) == "Wmax2>1"
    assert [child.tag for child in element.iter()][2] == "msubsup"
    assert as_html("a < b, `$x` & $x$") == f"a &lt; b, <code>$x</code> &amp; {mathml('x')}"


def test_signs_stand_as_in_print():
    """Browsers set the minus of exp(-4x) as a difference, put spaces around a slash, and, where no mathematical font
    is installed, ran the bar of 2/sqrt(n) through the n, which read as a root of pi."""
    assert re.search(
        r'<mo form="prefix">&#x02212;</mo><mn>4</mn>.*<mo>&#x02212;</mo><mn>2</mn>', mathml(r"\exp(-4x) - 2")
    )
    assert '<mo lspace="0" rspace="0">&#x0002F;</mo>' in mathml("1/6")
    assert '<mo form="prefix" lspace="0" rspace="0.17em">log</mo><mi>n</mi>' in mathml(r"\log n")
    assert re.search(r'<mspace width="0" height="0\.8em" /></msqrt>', mathml(r"2/\sqrt{n}"))


def test_a_bar_ends_no_cell_of_a_table():
    assert in_table(r"$\|W\|$ and $|w|$") == r"$\Vert W\Vert $ and $\vert w\vert $"
    for bars, plain in ((r"\Vert W\Vert ", r"\|W\|"), (r"\vert w\vert ", "|w|")):
        assert as_unicode(f"${bars}$").replace(" ", "") == as_unicode(f"${plain}$")


def test_matplotlib_sets_every_assumption():
    """The report draws them; matplotlib knows neither `\\le` nor `\\ge`, which it calls `\\leq` and `\\geq`."""
    parser = pytest.importorskip("matplotlib.mathtext").MathTextParser("agg")
    for paper in found_papers():
        for assumption in found_papers()[paper].values("assumptions", "ASSUMPTIONS", Assumption):
            for line in picture_lines(assumption.statement, 60):
                assert line.count("$") % 2 == 0
                parser.parse(line)


def test_a_formula_is_read_once(monkeypatch):
    """A listing sets hundreds of statements, and the lists beside it the same again."""
    read = []

    def reader():
        return lambda latex: read.append(latex) or latex

    monkeypatch.setattr("reluflow.formulas._terminal", reader)
    statements = [f"{theorem.statement} once" for theorem in theorems()]  # not what another test has kept
    for statement in (*statements, *statements):
        as_unicode(statement)
    assert len(read) == sum(statement.count("$") // 2 for statement in set(statements))


def test_json_carries_the_latex_as_written(capsys):
    with pytest.raises(SystemExit):
        run(["theorems", "min2024", "--json"])
    answer = json.loads(capsys.readouterr().out)
    statement = next(row["statement"] for row in answer["theorems"] if row["key"] == "min2024:thm1")
    assert r"$S_{\mathrm{dead}}$" in statement
    code = "import sys, reluflow.theory.registry as r; r.theorems(); print([m for m in sys.modules if 'latex' in m])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
