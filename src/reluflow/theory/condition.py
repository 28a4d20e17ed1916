"""Condition: one assumption of one paper, judged on one dataset with a signed margin."""

from __future__ import annotations

import math
from dataclasses import dataclass


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
