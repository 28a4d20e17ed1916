"""Phuong & Lampert (2021): every result with numerical content, in the paper's order [phuong2021].

A key alone is a theorem of this folder; else key, locator, status, place and note, as in `registry.results_table`.
"""

from __future__ import annotations

from reluflow.theory.registry import results_table

RESULTS = results_table(
    "phuong2021",
    r"""
def1 | Definition 1 | definition | theory.phuong2021.sectors.sector_of | the sector of w, the signs of <w, x_i>; a
    subset of weight space, not of input space (erratum P12)
def2 | Definition 2 | definition | theory.phuong2021.sectors.strict_extrema | extremal directions: strict local
    maxima and minima of G on the unit sphere
lemma1
lemma2
lemma3
sec3.1
thm1
cor1
lemmaA.1
lemmaA.2
lemmaA.3
lemmaA.4
lemmaB.1
lemmaC.1
""",
)
