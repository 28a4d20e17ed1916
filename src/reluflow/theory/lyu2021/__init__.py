"""Lyu, Li, Wang & Arora (2021), every result with numerical content, in the paper's order [lyu2021]."""

from __future__ import annotations

from reluflow.theory.lyu2021 import general_results, symmetric_results
from reluflow.theory.registry import Elsewhere
from reluflow.theory.theorem import Theorem

RESULTS: tuple[Theorem | Elsewhere, ...] = (*symmetric_results.RESULTS, *general_results.RESULTS)
