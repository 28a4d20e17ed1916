"""Min, Mallada & Vidal (2024): how it is cited, and the setting its results are stated in."""

from __future__ import annotations

from reluflow.found_papers import Paper
from reluflow.theory.setting import Setting

PAPER = Paper(
    "min2024",
    "Min, Mallada & Vidal",
    2024,
    "Early Neuron Alignment in Two-layer ReLU Networks with Small Initialization",
    "early neuron alignment",
    place=2,
)

SETTING = Setting(loss="exponential", reduction="sum", leak=0.0, init="min-balanced", width=12, scale="1e-3")
EXAMPLE = "min-regression-case"
SPATIAL = "orthogonally-separable:n=4,d=3,mu=0.766"  # of the same mu; in the plane a stable rank says nothing
