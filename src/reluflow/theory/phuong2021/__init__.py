"""Phuong & Lampert (2021), every result with numerical content, in the paper's order [phuong2021]."""

from __future__ import annotations

from reluflow.theory.phuong2021.early_sorting import LEMMA_1, LEMMA_3
from reluflow.theory.phuong2021.extremal_directions import LEMMA_2, LEMMA_A_1, LEMMA_A_2
from reluflow.theory.phuong2021.learnt_function import COROLLARY_1, LARGE_SCALE
from reluflow.theory.phuong2021.margin_point import LEMMA_C_1
from reluflow.theory.phuong2021.max_margin_results import THEOREM_1
from reluflow.theory.phuong2021.motion import LEMMA_A_3, LEMMA_A_4, LEMMA_B_1
from reluflow.theory.registry import Elsewhere
from reluflow.theory.theorem import Theorem

_SECTORS = "reluflow.theory.phuong2021.sectors"
_TEST = "tests/theory/phuong2021/test_extremal_directions.py"

RESULTS: tuple[Theorem | Elsewhere, ...] = (
    Elsewhere(
        "phuong2021:def1",
        "Definition 1",
        "definition",
        f"{_SECTORS}.sector_of",
        "the sector of w, the signs of <w, x_i>; a subset of weight space, not of input space (erratum P12)",
        _TEST,
    ),
    Elsewhere(
        "phuong2021:def2",
        "Definition 2",
        "definition",
        f"{_SECTORS}.strict_extrema",
        "extremal directions: strict local maxima and minima of G on the unit sphere",
        _TEST,
    ),
    LEMMA_1,
    LEMMA_2,
    LEMMA_3,
    LARGE_SCALE,
    THEOREM_1,
    COROLLARY_1,
    LEMMA_A_1,
    LEMMA_A_2,
    LEMMA_A_3,
    LEMMA_A_4,
    LEMMA_B_1,
    LEMMA_C_1,
)
