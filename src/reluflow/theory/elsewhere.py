"""Elsewhere: a named result that is no theorem object, and where it is covered instead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from reluflow.theory.condition import Assumption
from reluflow.theory.theorem import Theorem


@dataclass(frozen=True)
class Elsewhere:
    """A result that is no theorem object: an assumption, a definition, an algorithm, or one that is left out.

    Parameters
    ----------
    key
        `paper:result`.
    locator
        As the paper numbers it.
    status
        `condition` (judged by `reluflow diagnose`), `definition` (computed by a function), `part` (contained in
        another result's check), `ours` (an algorithm or a repair that the paper does not have) or `left out`.
    where
        The condition's key, the function's dotted name, or the containing result's key; empty where left out.
    note
        What it says, or the reason for leaving it out.
    """

    key: str
    locator: str
    status: str
    where: str
    note: str


def condition(key: str, locator: str, assumption: Assumption, note: str) -> Elsewhere:
    """An assumption on data, judged by `reluflow diagnose`."""
    return Elsewhere(key, locator, "condition", assumption.key, note)


def definition(key: str, locator: str, computed_by: Callable[..., Any] | property, note: str) -> Elsewhere:
    """A definition, computed by a function, a class or a property."""
    return Elsewhere(key, locator, "definition", _dotted(computed_by), note)


def part(key: str, locator: str, whole: Theorem, note: str) -> Elsewhere:
    """A name within another result, contained in its check."""
    return Elsewhere(key, locator, "part", whole.key, note)


def ours(key: str, locator: str, computed_by: Callable[..., Any] | property, note: str) -> Elsewhere:
    """An algorithm or a repair that the paper does not have."""
    return Elsewhere(key, locator, "ours", _dotted(computed_by), note)


def left_out(key: str, locator: str, why: str) -> Elsewhere:
    """A result with nothing to compute, for the reason given."""
    return Elsewhere(key, locator, "left out", "", why)


def _dotted(function: Callable[..., Any] | property) -> str:
    named: Any = function.fget if isinstance(function, property) else getattr(function, "func", function)
    return f"{named.__module__}.{named.__qualname__}"
