"""Chistikov, Englert & Lazic (2023): how it is cited, and the setting its results are stated in."""

from __future__ import annotations

from reluflow.found_papers import Paper
from reluflow.theory.setting import Setting

PAPER = Paper(
    "chistikov2023",
    "Chistikov, Englert & Lazic",
    2023,
    "Learning a Neuron by a Shallow ReLU Network: Dynamics and Implicit Bias for Correlated Inputs",
    "one neuron learnt from correlated inputs",
    place=6,
)

SETTING = Setting(width=4, scale="1e-3")
EXAMPLE = "chistikov-two-samples"
