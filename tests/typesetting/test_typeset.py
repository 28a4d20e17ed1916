"""Plain mathematics is set as it was written: nothing lost, nothing moved, no word of prose taken for a formula."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

from reluflow.theory.elsewhere import Elsewhere
from reluflow.theory.registry import papers, results_of
from reluflow.typesetting import mathml, typeset
from reluflow.typesetting.formula import NoFormula
from reluflow.typesetting.picture_words import picture_lines
from reluflow.typesetting.tokens import BIG, GREEK, tokens

STATEMENTS = [
    text
    for paper in papers()
    for result in results_of(paper)
    for text in [result.note if isinstance(result, Elsewhere) else result.statement]
]
MATH = re.compile(r"<math[ >].*?</math>")


def shown(text: str) -> str:
    """The text with each formula in brackets, as it was written."""
    marked = typeset(text, keep=str, store=lambda element: f"[[{ElementTree.fromstring(element).get('alttext')}]]")
    return marked


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("h(x) = sum_j a_j max(0, <w_j, x>), the network", "[[h(x) = sum_j a_j max(0, <w_j, x>)]], the network"),
        ("a neuron with a > 0 is a neuron", "a neuron with [[a > 0]] is a neuron"),
        ("Up to tau, |d ln|a_j|/dt| <= D_max", "Up to [[tau]], [[|d ln|a_j|/dt| <= D_max]]"),
        ("the margin |w_+| + |w_-| of S_dead", "the margin [[|w_+| + |w_-|]] of [[S_dead]]"),
        ("In Phase 3 L - L* falls", "In Phase 3 [[L - L*]] falls"),
        ("Theorem 2 holds in 2.0 s for e-fold growth", "Theorem 2 holds in 2.0 s for e-fold growth"),
        ("set `log_scale` and results.json, min2024:thm1", "set `log_scale` and results.json, min2024:thm1"),
        ("the sign of the sum is what it is", "the sign of the sum is what it is"),
        ("at least 2^-|V_+| and (1-eps_0)^(3T)", "at least [[2^-|V_+|]] and [[(1-eps_0)^(3T)]]"),
        ("w = a unit vector", "[[w]] = a unit vector"),
        ("|θ − Σ λ_i ∇q_i| = ε", "[[|θ − Σ λ_i ∇q_i| = ε]]"),
        ("read from /tmp/ds/moons20.csv, or ds/w.csv", "read from /tmp/ds/moons20.csv, or ds/w.csv"),
        ("ds/dt = D/|D|, a/b", "[[ds/dt = D/|D|]], [[a/b]]"),
        ("which conserves a² - |w|², a constant", "which conserves [[a² - |w|²]], a constant"),
        ("phi(<x, w^+>) - phi(<x, w^->); else", "[[phi(<x, w^+>) - phi(<x, w^->)]]; else"),  # `->` was an arrow there
        ("is (pi - theta +- sin theta)/(2 pi), y = +-1", "is [[(pi - theta +- sin theta)/(2 pi)]], [[y = +-1]]"),
        ("App. C and Appendix F, C > 0", "App. C and Appendix F, [[C > 0]]"),  # letters of appendices were set
        ("(b) all in S_+; Assumption 1(i), f(x)", "(b) all in [[S_+]]; Assumption 1(i), [[f(x)]]"),  # so were items
        ("with gamma a neuron", "with [[gamma]] a neuron"),
        ("u <= alpha + int beta u gives exp(int beta)", "[[u <= alpha + int beta u]] gives [[exp(int beta)]]"),
    ],
)
def test_what_is_a_formula_and_what_is_not(text, expected):
    assert shown(text) == expected


def symbols_of(source: str) -> list[str]:
    """What must be seen, in this order; brackets and signs that only group or raise are left out."""
    names = {**GREEK, **BIG, "infinity": "∞", "sqrt": "", "bar": "", "hat": ""}
    signs = {"<=": "≤", ">=": "≥", "!=": "≠", "->": "→", "+-": "±", "-": "−", "*": "∗", "'": "′", "Σ": "∑"}
    found = []
    for token in tokens(re.sub(r"(?<=[_^])\+-", "±", re.sub(r"-(?:bar|hat)\b", "", source))):
        text = token.text
        if token.kind == "power":
            text = token.power
        elif token.kind == "number" and "e" in text:
            mantissa, _, exponent = text.partition("e")
            text = ("" if mantissa == "1" else f"{mantissa}·") + f"10{int(exponent)}".replace("-", "−")
        elif text.startswith("d") and text[1:] in GREEK:
            text = "d" + GREEK[text[1:]]
        elif text in names or text in signs:
            text = names.get(text, signs.get(text, text))
        found.append(re.sub(r"[\s(){}_^~|]|bar\b", "", text).replace("<", "⟨").replace(">", "⟩"))
    return sorted("".join(found).replace("⟨", "<").replace("⟩", ">"))


def symbols_in(element: ElementTree.Element) -> list[str]:
    text = "".join(element.itertext()).replace("⟨", "<").replace("⟩", ">").replace("·", "∗")
    return sorted(re.sub(r"[\s(){}|~∼¯^]", "", text))


def test_no_symbol_of_a_statement_is_lost():
    """Every letter, number and sign of every formula of 320 statements is in its MathML, and no other is."""
    count = 0
    for statement in STATEMENTS:
        for element in MATH.findall(typeset(statement)):
            tree = ElementTree.fromstring(element)
            source = tree.get("alttext")
            expected = [sign for sign in symbols_of(source) if sign != "·"]
            assert "".join(s for s in symbols_in(tree) if s != "·") == "".join(expected), source
            raised = len(re.findall(r"[_^]\(|sqrt\(", source))  # these brackets become an exponent, an index, a root
            assert "".join(tree.itertext()).count("(") == source.count("(") - raised, source
            count += 1
    assert count > 600


def test_no_statement_keeps_an_unset_formula():
    for statement in STATEMENTS:
        rest = re.sub(r"<code>.*?</code>", "", MATH.sub("", typeset(statement)))
        assert not re.search(r"\w_[\w{(+-]|\w\^[\w({+-]|&lt;\w", rest), statement


def test_scripts_fences_and_roots_have_their_elements():
    assert "<msubsup><mi>W</mi><mtext>max</mtext><mn>2</mn></msubsup>" in mathml("W_max^2")
    assert "<mo>⟨</mo><mi>w</mi>" in mathml("<w, x>")
    assert "<msqrt><mi>m</mi><mspace" in mathml("sqrt(m) eps")
    assert "<msup><mn>10</mn><mn>−6</mn></msup>" in mathml("t = 1e-6")
    assert "<mi>d</mi><msub><mi>w</mi><mi>j</mi></msub>" in mathml("dw_j/dt = a_j D")


def test_the_bar_of_a_root_stands_clear_of_its_letter():
    """Where no mathematical font is installed the bar ran through the n of 2/sqrt(n), which read as a root of pi."""
    for source in ("2/sqrt(n)", "sqrt(d/n) = 0.1", "sqrt mu"):
        assert re.search(r'<mspace width="0" height="0\.8em"/></msqrt>', mathml(source)), source


def test_a_minus_before_a_bracket_keeps_the_bracket():
    """2^-(m-1) was set as 2 to the power -m-1."""
    assert "<mo>−</mo><mrow><mo>(</mo><mi>m</mi><mo>−</mo><mn>1</mn><mo>)</mo></mrow>" in mathml("1 - 2^-(m-1)")


def test_prose_is_no_formula():
    with pytest.raises(NoFormula):
        mathml("the loss = small")


def test_the_words_of_a_picture_are_set_by_matplotlib_and_break_no_formula():
    """The report's picture of the assumptions had "<mu, z_i> > (1-leak)/(n leak) sum_j max(-<z_i, z_j>,"."""
    mathtext = pytest.importorskip("matplotlib.mathtext")
    parser = mathtext.MathTextParser("agg")
    for statement in STATEMENTS:
        lines = picture_lines(statement, 60)
        assert all(line.replace(r"\$", "").count("$") % 2 == 0 for line in lines), lines
        for line in lines:
            parser.parse(line)
    assert picture_lines("no w has |w|_2 > 1, as 5 $ say", 60) == [r"no $w$ has ${|w|}_{2}>1$, as 5 \$ say"]
