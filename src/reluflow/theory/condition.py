"""Condition: one assumption of one paper, judged on one dataset with a signed margin."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from operator import eq, ge, gt, le, lt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reluflow.theory.facts import DatasetFacts

NOT_BINARY = "the labels are not -1 and 1"  # the detail of an assumption that asks for two classes


@dataclass(frozen=True)
class Condition:
    """What a dataset says to one assumption.

    Parameters
    ----------
    key
        Stable name, as in `reluflow diagnose --json`.
    paper
        Key in references.bib.
    statement
        The assumption in one sentence, in its corrected form where the paper has an erratum.
    holds
        True, False, or None where it cannot be decided here; `detail` then says why.
    margin
        Signed distance to the boundary of the assumption: positive inside. None where there is no number.
    detail
        The measured quantities behind the verdict, in words.
    """

    key: str
    paper: str
    statement: str
    holds: bool | None
    margin: float | None
    detail: str

    def __post_init__(self) -> None:
        if self.holds is not None:
            object.__setattr__(self, "holds", bool(self.holds))  # a NumPy boolean is not the True that callers test for
        if self.margin is not None and not math.isfinite(self.margin):
            object.__setattr__(self, "margin", None)

    @property
    def is_for_other_labels(self) -> bool:
        """Whether it speaks of labels of another kind than these, which is not to fail."""
        return self.holds is False and self.detail == NOT_BINARY


@dataclass(frozen=True)
class Judgement:
    """Verdict, margin and detail, before they are attached to an assumption."""

    holds: bool | None
    margin: float | None
    detail: str


def undecided(why: str) -> Judgement:
    """The judgement of a condition that is out of reach, with the reason."""
    return Judgement(holds=None, margin=None, detail=why)


def fails(why: str, margin: float | None = None) -> Judgement:
    """The judgement of a condition that fails for a reason that is not its own inequality."""
    return Judgement(holds=False, margin=margin, detail=why)


def positive(margin: float, detail: str) -> Judgement:
    """Holds exactly when the margin is above 0."""
    return Judgement(holds=bool(margin > 0.0), margin=float(margin), detail=detail)


_COMPARED = {"above": gt, "at_least": ge, "below": lt, "at_most": le, "equals": eq}


def compared(number: float, side: str, bound: float, words: str, evidence: object = None) -> Judgement:
    """A number that must be `above`, `at_least`, `below` or `at_most` a bound; one that `equals` it has no margin.

    >>> compared(3, "at_least", 2, "{number} against {bound}")
    Judgement(holds=True, margin=1.0, detail='3 against 2')
    """
    gap = bound - number if side in ("below", "at_most") else number - bound
    margin = None if side == "equals" else float(gap)
    told = words.format(number=number, bound=bound, evidence=evidence)
    return Judgement(bool(_COMPARED[side](number, bound)), margin, told)


@dataclass(frozen=True)
class Assumption:
    """A condition before it meets a dataset: its key, its paper, where it stands, how it is judged."""

    key: str
    paper: str
    statement: str
    judge: Callable[[DatasetFacts], Judgement]


@dataclass(frozen=True)
class DataHypotheses:
    """The data part of a theorem's hypotheses, read off the theorem itself.

    Parameters
    ----------
    key
        `paper:result`.
    losses
        Names of the losses it speaks of.
    leaks
        "any", "relu" for leak 0, or "leaky" for a leak in (0, 1).
    total_force
        Force of one sample at h = 0 for which its times are stated, summed over samples; None if no time is stated.
        Another factor or the mean over samples runs through the same trajectory at another speed.
    apart
        Assumptions of the theorem that say nothing of the data: of the draw, or of the unit of time.
    """

    key: str
    losses: tuple[str, ...] = ("square", "logistic", "exponential")
    leaks: str = "any"
    total_force: float | None = None
    apart: tuple[str, ...] = ()
