"""Boursier & Flammarion (2024): how it is cited, and the settings its results are stated in."""

from __future__ import annotations

from reluflow.found_papers import Paper
from reluflow.theory.setting import Setting

PAPER = Paper(
    "boursier2024",
    "Boursier & Flammarion",
    2024,
    "Early alignment in two-layer networks training is a two-edged sword",
    "early alignment is a two-edged sword",
    place=1,
)

SETTING = Setting()
PHASES_SETTING = Setting(width=20)  # of the phases of Theorems 2 and 4
EXAMPLE = "three-point-box-worst:eta=0.09"
THREE_POINTS = "three-points"
OBTUSE_PAIR = "obtuse-pair"
