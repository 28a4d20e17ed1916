"""Phuong & Lampert (2021): how it is cited, and the setting its results are stated in."""

from __future__ import annotations

from reluflow.found_papers import Paper
from reluflow.theory.setting import Setting

PAPER = Paper(
    "phuong2021",
    "Phuong & Lampert",
    2021,
    "The inductive bias of ReLU networks on orthogonally separable data",
    "orthogonally separable data",
    place=5,
)

SETTING = Setting(loss="logistic", reduction="sum", init="sphere", width=8, scale="1e-4")
EXAMPLE = "phuong-toy"
