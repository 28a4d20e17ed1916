"""Lyu, Li, Wang & Arora (2021): how it is cited, and the setting most of its results are stated in."""

from __future__ import annotations

from reluflow.found_papers import Paper
from reluflow.theory.setting import Setting

PAPER = Paper(
    "lyu2021",
    "Lyu, Li, Wang & Arora",
    2021,
    "Gradient Descent on Two-layer Nets: Margin Maximization and Simplicity Bias",
    "margin maximisation and simplicity bias",
    place=3,
)

SETTING = Setting(loss="logistic", leak=None, init="lyu-gaussian", width=6, scale="1e-3")
EXAMPLE = "lyu-symmetric"
