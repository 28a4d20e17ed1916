"""Condition: one assumption of one paper, judged on one dataset with a signed margin."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reluflow.theory.comparison import Comparison

if TYPE_CHECKING:
    from reluflow.theory.facts import DatasetFacts
    from reluflow.theory.output_facts import OutputFacts

NOT_BINARY = "the labels are not -1 and 1"  # the detail of an assumption that asks for two classes
NOT_CLASSES = "the labels are no classes"  # of one that asks for any number of them


@dataclass(frozen=True)
class Condition:
    """Whether a dataset meets one assumption, and by what margin.

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
        return self.holds is False and self.detail in (NOT_BINARY, NOT_CLASSES)


@dataclass(frozen=True)
class Assumption:
    """A condition before it meets a dataset: its key, its paper, where it stands, how it is judged.

    `judge_outputs` judges data with several outputs, where it has a meaning for them.
    """

    key: str
    paper: str
    statement: str
    judge: Callable[[DatasetFacts], Comparison]
    judge_outputs: Callable[[OutputFacts], Comparison] | None = None


@dataclass(frozen=True)
class DataHypotheses:
    """What `reluflow diagnose` must know to tell whether data allow a theorem; the assumptions are its hypotheses.

    Parameters
    ----------
    losses
        Names of the losses it speaks of.
    leaks
        "any", "relu" for leak 0, or "leaky" for a leak in (0, 1).
    total_force
        Force of one sample at h = 0 for which its times are stated, summed over samples; None if no time is stated.
        Another factor or the mean over samples runs through the same trajectory at another speed.
    apart
        Keys of assumptions of the theorem that say nothing of the data: of the draw, or of the unit of time.
    key
        `paper:result`; filled in by the diagnosis.
    """

    losses: tuple[str, ...] = ("square", "logistic", "exponential")
    leaks: str = "any"
    total_force: float | None = None
    apart: tuple[str, ...] = ()
    key: str = ""
