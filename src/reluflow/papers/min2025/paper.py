"""Min, Zhu & Vidal (2025): how it is cited, and the setting its results are stated in."""

from __future__ import annotations

from reluflow.found_papers import Paper
from reluflow.theory.setting import Setting

PAPER = Paper(
    "min2025",
    "Min, Zhu & Vidal",
    2025,
    "Neural Collapse under Gradient Flow on Shallow ReLU Networks for Orthogonally Separable Data",
    "neural collapse of several classes",
    place=7,
)

SETTING = Setting(loss="softmax", reduction="sum", leak=0.0, init="class-pairs", width=6, scale="1e-3")
EXAMPLE = "min2025-a"
