"""Plain mathematics, as statements, docstrings and pages write it, set as MathML; no package, no script, no network.

- `tokens`: a text as words, names, numbers and signs.
- `elements`: letters, numbers and whole formulas as MathML.
- `cursor`: a place in the tokens, and what the tokens around it say.
- `formula`: a run of tokens as a formula, or the answer that it is none.
- `prose`: the formulas of a text, found and set; the rest escaped.
- `picture_words`: the same for the words of a picture.
"""

from reluflow.typesetting.formula import mathml
from reluflow.typesetting.prose import plain, typeset

__all__ = ["mathml", "plain", "typeset"]
