"""Diagnosis: every data assumption of the papers on one dataset, and which theorems that leaves."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

from reluflow.budget import Budget, count
from reluflow.data.dataset import Dataset
from reluflow.data.in_memory import as_dataset
from reluflow.errors import InvalidInputError
from reluflow.found_papers import found_papers
from reluflow.losses import AbstractLoss, loss_named
from reluflow.tables import RowsToFrame, html_table
from reluflow.theory.comparison import Comparison, undecided
from reluflow.theory.condition import Assumption, Condition, DataHypotheses
from reluflow.theory.facts import DatasetFacts
from reluflow.theory.output_facts import OutputFacts, judged

_OPERATIONS_AN_ASSUMPTION, _OPERATIONS_A_PRODUCT = 1e6, 0.05  # of a sample with another, of 1e9 a second
NOT_JUDGED = "not judged, for the time was spent"


def _separability_first(assumption: Assumption) -> tuple[bool, str]:
    is_separability = "separable" in assumption.key
    return not is_separability, assumption.key if is_separability else ""


@cache
def assumptions() -> tuple[Assumption, ...]:
    """Every assumption on data of the papers, each once: separability first, then in the papers' order."""
    found: dict[str, Assumption] = {}
    for paper in found_papers().values():
        for assumption in paper.values("assumptions", "ASSUMPTIONS", Assumption):
            found.setdefault(assumption.key, assumption)
    return tuple(sorted(found.values(), key=_separability_first))


def assumption_named(key: str) -> Assumption:
    """The assumption of this key."""
    found = {assumption.key: assumption for assumption in assumptions()}
    if key not in found:
        raise InvalidInputError(f"`key` must be one of {', '.join(found)}, got {key!r}.")
    return found[key]


def _judged(assumption: Assumption, facts: DatasetFacts | OutputFacts) -> Comparison:
    """What an assumption says of the data; one of another's package may fail in any way and is then undecided."""
    try:
        return judged(assumption, facts)
    except Exception as error:
        owner = found_papers().get(assumption.paper)
        if owner is None or owner.is_ours:
            raise
        return undecided(f"its judgement fails with {type(error).__name__}: {error}")


@cache
def main_theorems() -> tuple[DataHypotheses, ...]:
    """What is known of the theorems that a diagnosis speaks of, by paper and number."""
    from reluflow.theory.registry import theorems

    found = [replace(t.diagnosed, key=t.key) for t in theorems() if t.diagnosed is not None]
    papers = list(found_papers())
    return tuple(sorted(found, key=lambda t: (papers.index(t.key.partition(":")[0]), _numbered(t.key))))


def _numbered(key: str) -> list[str | int]:
    """The key with its numbers as such, so that thm10 comes after thm2."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", key)]


def conditions_of(theorem: DataHypotheses) -> tuple[str, ...]:
    """Keys of the assumptions among the theorem's own hypotheses, in its order."""
    from reluflow.theory.registry import theorem_named

    known = {assumption.key for assumption in assumptions()} - set(theorem.apart)
    return tuple(h.name for h in theorem_named(theorem.key).hypotheses if h.name in known)


@dataclass(frozen=True)
class Applicability:
    """Whether a theorem's data hypotheses hold: True, False, or None where one of them is undecided."""

    key: str
    applicable: bool | None
    why: str


@dataclass(frozen=True)
class Diagnosis(RowsToFrame):
    """Which assumptions one dataset meets, and which theorems apply to it."""

    dataset: Dataset
    loss: AbstractLoss
    leak: float
    conditions: tuple[Condition, ...]
    theorems: tuple[Applicability, ...]

    def table(self) -> list[dict[str, Any]]:
        """One row per condition, ready for a data frame."""
        return [asdict(condition) for condition in self.conditions]

    def __repr__(self) -> str:
        holding = sum(c.holds is True for c in self.conditions)
        allowed = ", ".join(t.key for t in self.theorems if t.applicable) or "none"
        return (
            f"Diagnosis({self.dataset.name}: {holding} of {len(self.conditions)} conditions hold; "
            f"theorems the data allow: {allowed})"
        )

    def _repr_html_(self) -> str:
        return html_table(repr(self), self.table())

    def __getitem__(self, key: str) -> Condition:
        for condition in self.conditions:
            if condition.key == key:
                return condition
        raise InvalidInputError(f"`key` must be one of {', '.join(c.key for c in self.conditions)}, got {key!r}.")


def diagnose(
    dataset: Dataset,
    loss: AbstractLoss | str | None = None,
    *,
    leak: float = 0.0,
    max_seconds: float = math.inf,
    progress: Callable[[float], None] | None = None,
) -> Diagnosis:
    """Judge every data assumption of the papers on a dataset.

    Parameters
    ----------
    dataset
        At least two samples, none zero; a data frame or anything `as_dataset` takes.
    loss
        A loss or its name; by default the averaged square loss for regression, logistic loss for classification.
    leak
        Negative slope; Lyu et al.'s assumptions depend on it.
    max_seconds
        Processor time allowed; assumptions whose turn has not come by then are undecided.
    progress
        Called with the share of the assumptions that are judged.

    Returns
    -------
    Diagnosis
        `conditions` in a fixed order with signed margins, and `theorems` with the data hypotheses that fail. With
        several classes or targets those assumptions are judged that have a meaning for them; no theorem applies.

    Examples
    --------
    >>> import reluflow
    >>> found = diagnose(reluflow.load("three-points"))
    >>> found["boursier-a5"].holds, round(found["boursier-a5"].margin, 4)
    (False, -0.9658)
    """
    dataset = as_dataset(dataset)
    if dataset.n < 2:
        raise InvalidInputError("a diagnosis compares samples and needs at least 2 of them, got 1; add a sample.")
    dataset.check_samples()
    chosen = loss_named(loss) if isinstance(loss, str) else loss
    given = default_loss(dataset) if chosen is None else chosen
    several = dataset.num_outputs > 1
    facts = OutputFacts(dataset, given, leak) if several else DatasetFacts(dataset, given, leak)
    allowed, conditions = Budget(max_seconds), []
    for number, assumption in enumerate(assumptions(), start=1):
        found = undecided(NOT_JUDGED) if allowed.is_spent else _judged(assumption, facts)
        count(_OPERATIONS_AN_ASSUMPTION + _OPERATIONS_A_PRODUCT * dataset.n * dataset.X.size)
        conditions.append(_condition(assumption, found))
        if progress is not None:
            progress(number / len(assumptions()))
    by_key = {condition.key: condition for condition in conditions}
    theorems = tuple(
        Applicability(theorem.key, False, facts.without_meaning)
        if isinstance(facts, OutputFacts) and "softmax" not in theorem.losses
        else _applicability(theorem, by_key, facts)
        for theorem in main_theorems()
    )
    return Diagnosis(dataset, facts.loss, leak, tuple(conditions), theorems)


def _condition(assumption: Assumption, found: Comparison) -> Condition:
    key, paper, statement = assumption.key, assumption.paper, assumption.statement
    return Condition(key, paper, statement, found.holds, found.margin, found.detail)


def default_loss(dataset: Dataset) -> AbstractLoss:
    """The averaged square loss for regression, the averaged logistic or softmax loss for classification."""
    if dataset.num_outputs > 1:
        return loss_named(dataset.default_loss)
    return loss_named("logistic" if dataset.task == "classification" else "square")


def _applicability(
    theorem: DataHypotheses, conditions: dict[str, Condition], facts: DatasetFacts | OutputFacts
) -> Applicability:
    if facts.loss.name not in theorem.losses:
        return Applicability(
            theorem.key, False, f"stated for the {' or '.join(theorem.losses)} loss, not {facts.loss.name}"
        )
    if theorem.leaks == "relu" and facts.leak != 0.0:
        return Applicability(theorem.key, False, f"stated for ReLU, leak 0, not {facts.leak:g}")
    if theorem.leaks == "leaky" and not 0.0 < facts.leak < 1.0:
        return Applicability(theorem.key, False, f"stated for a leak in (0, 1), not {facts.leak:g}")
    needed = [conditions[key] for key in conditions_of(theorem)]
    failing = [condition for condition in needed if condition.holds is False]
    if failing:
        return Applicability(theorem.key, False, "; ".join(f"{c.key}: {c.detail}" for c in failing))
    open_ones = [condition for condition in needed if condition.holds is None]
    if open_ones:
        return Applicability(theorem.key, None, "; ".join(f"{c.key} is undecided: {c.detail}" for c in open_ones))
    return Applicability(theorem.key, True, f"{', '.join(conditions_of(theorem))} hold{_speed_note(theorem, facts)}")


def _speed_note(theorem: DataHypotheses, facts: DatasetFacts | OutputFacts) -> str:
    """How the theorem's times read for this loss, where it states times for another one."""
    if theorem.total_force is None:
        return ""
    if facts.dataset.num_outputs > 1:
        return ""
    force = facts.loss.sample_weight(facts.dataset.n) * float(facts.loss.force_at_zero(1.0))
    slowdown = theorem.total_force / force
    return "" if slowdown == 1.0 else f"; its times are multiplied by {slowdown:g} for this loss"
