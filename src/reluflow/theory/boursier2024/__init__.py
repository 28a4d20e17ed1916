"""Boursier & Flammarion (2024), every result with numerical content, in the paper's order [boursier2024]."""

from __future__ import annotations

from reluflow.theory.boursier2024 import alignment_results, convergence_results
from reluflow.theory.registry import Elsewhere
from reluflow.theory.theorem import Theorem

RESULTS: tuple[Theorem | Elsewhere, ...] = (*alignment_results.RESULTS, *convergence_results.RESULTS)
