"""Verdict: whether a theorem holds for one problem and one run, with every margin and slack."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from reluflow.formulas import as_unicode
from reluflow.tables import RowsToFrame, html_table
from reluflow.theory.comparison import Level, Source

if TYPE_CHECKING:
    from reluflow.theory.theorem import Theorem


class VerdictKind(StrEnum):
    """The four answers."""

    HOLDS = "holds"
    FAILS = "fails"
    NOT_APPLICABLE = "not-applicable"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class JudgedHypothesis:
    """A hypothesis with its judgement: True, False, or None where it could not be decided."""

    name: str
    statement: str
    holds: bool | None
    margin: float | None
    detail: str
    is_regime: bool = False

    def __post_init__(self) -> None:
        if self.holds is not None:
            object.__setattr__(self, "holds", bool(self.holds))
        if self.margin is not None and not math.isfinite(self.margin):
            object.__setattr__(self, "margin", None)


@dataclass(frozen=True)
class MeasuredConclusion:
    """A conclusion with what was measured, the bound it was held against and the slack, positive where it holds."""

    name: str
    statement: str
    level: Level
    holds: bool | None
    measured: float | None
    bound: float | None
    slack: float | None
    detail: str
    is_empty: bool = False
    is_certified: bool = False
    source: Source = Source.PAPER
    is_asymptotic: bool = False


_HIDDEN = ("is_regime", "is_empty", "is_certified")


def _as_dict(part: JudgedHypothesis | MeasuredConclusion) -> dict[str, Any]:
    """Its fields but those of the judgement alone, ready for JSON."""
    return {name: str(v) if isinstance(v, StrEnum) else v for name, v in vars(part).items() if name not in _HIDDEN}


def deciding(theorem: Theorem, conclusions: tuple[MeasuredConclusion, ...]) -> tuple[MeasuredConclusion, ...]:
    """The conclusions that decide: those of the paper, or all where the whole statement is ours."""
    if theorem.source is Source.RELUFLOW:
        return conclusions
    return tuple(c for c in conclusions if c.source is Source.PAPER)


@dataclass(frozen=True, repr=False)
class Verdict(RowsToFrame):
    """Whether a theorem holds for one problem.

    Parameters
    ----------
    theorem
        The result.
    kind
        `holds`, `fails`, `not-applicable` or `inconclusive`.
    hypotheses
        In the paper's order, with signed margins.
    constants, predictions
        The numbers of the statement for these data; empty where the hypotheses fail.
    conclusions
        In the paper's order, with slack; empty where a hypothesis on the data fails. Those of the paper decide, those
        that are ours are reported beside them.
    notes
        Sentences on how the verdict came about: by a second, more exact run, or by descent at several rates.
    """

    theorem: Theorem
    kind: VerdictKind
    hypotheses: tuple[JudgedHypothesis, ...]
    constants: Mapping[str, Any]
    predictions: Mapping[str, Any]
    conclusions: tuple[MeasuredConclusion, ...]
    notes: tuple[str, ...] = ()

    @property
    def deciding(self) -> tuple[MeasuredConclusion, ...]:
        """The conclusions that decide: those of the paper, or all where the whole statement is ours."""
        return deciding(self.theorem, self.conclusions)

    @property
    def also_measured(self) -> tuple[MeasuredConclusion, ...]:
        """The conclusions that are ours beside the paper's, and decide nothing."""
        return tuple(c for c in self.conclusions if c not in self.deciding)

    @property
    def failing_hypotheses(self) -> tuple[str, ...]:
        """Names of the hypotheses that fail."""
        return tuple(h.name for h in self.hypotheses if h.holds is False)

    @property
    def failing_conclusions(self) -> tuple[str, ...]:
        """Names of the conclusions that fail, those included that decide nothing."""
        return tuple(c.name for c in self.conclusions if c.holds is False)

    @property
    def failing_deciding(self) -> tuple[str, ...]:
        """Names of the conclusions that fail and decide."""
        return tuple(c.name for c in self.deciding if c.holds is False)

    def conclusion(self, name: str) -> MeasuredConclusion:
        """The conclusion of this name."""
        return next(c for c in self.conclusions if c.name == name)

    def hypothesis(self, name: str) -> JudgedHypothesis:
        """The hypothesis of this name."""
        return next(h for h in self.hypotheses if h.name == name)

    @property
    def why(self) -> str:
        """One sentence that gives the reason for the verdict."""
        return "; ".join((self._reason(), *self.notes, *self._beside()))

    def _beside(self) -> list[str]:
        """What is ours and does not hold, said beside the reason."""
        return [
            f"also measured, not in the paper: {c.name} is not so ({c.detail})"
            for c in self.also_measured
            if c.holds is False and self.kind is not VerdictKind.NOT_APPLICABLE
        ]

    def _reason(self) -> str:
        if self.kind is VerdictKind.NOT_APPLICABLE:
            failing = [h for h in self.hypotheses if h.holds is False]
            return "not applicable: " + "; ".join(f"{h.name} fails ({h.detail})" for h in failing)
        if self.kind is VerdictKind.FAILS:
            failed = [c for c in self.deciding if c.holds is False]
            return "fails: " + "; ".join(f"{c.name} ({c.detail})" for c in failed)
        if self.kind is VerdictKind.INCONCLUSIVE:
            if self.conclusions and not self.deciding:
                return "inconclusive: every conclusion measured here is ours, none is the paper's"
            by_detail: dict[str, list[str]] = {}  # many conclusions are open for one reason: the run was cut short
            open_ones = [(h.name, h.detail) for h in self.hypotheses if h.holds is None]
            open_ones += [(c.name, c.detail) for c in self.deciding if c.holds is None]
            for name, detail in open_ones:
                by_detail.setdefault(detail, []).append(name)
            return "inconclusive: " + "; ".join(
                f"{', '.join(names)} {'are' if len(names) > 1 else 'is'} undecided ({detail})"
                for detail, names in by_detail.items()
            )
        words = ["holds"]
        slacks = {c.name: c.slack for c in self.deciding if c.slack is not None and c.level is not Level.EXACT}
        if slacks:
            tightest = min(slacks, key=slacks.__getitem__)
            least = slacks[tightest]
            shown = f"{least:.4g}" if least >= 0.0 else f"0 up to the allowance for rounding, {least:.2g}"
            words.append(f"the smallest slack is {shown} ({tightest})")
        words += [f"{c.name} has {c.detail}" for c in self.deciding if c.is_empty]
        return "; ".join(words)

    def as_json(self) -> dict[str, Any]:
        """The verdict as the command line prints it."""
        return {
            "theorem": self.theorem.key,
            "reference": str(self.theorem.reference),
            "statement": self.theorem.statement,
            "source": str(self.theorem.source),
            "verdict": str(self.kind),
            "why": self.why,
            "hypotheses": [_as_dict(h) for h in self.hypotheses],
            "constants": dict(self.constants),
            "predictions": dict(self.predictions),
            "notes": list(self.notes),
            "conclusions": [_as_dict(c) for c in self.conclusions],
            "erratum": self.theorem.erratum or None,
            "errata": list(self.theorem.errata),
            "departs": self.theorem.departs or None,
        }

    def table(self) -> list[dict[str, Any]]:
        """One row per hypothesis and conclusion, ready for a data frame."""
        rows: list[tuple[Any, ...]] = [("hypothesis", h.name, h.holds, None, None, h.margin) for h in self.hypotheses]
        rows += [("conclusion", c.name, c.holds, c.measured, c.bound, c.slack) for c in self.conclusions]
        return [dict(zip(("what", "name", "holds", "measured", "bound", "slack"), row, strict=True)) for row in rows]

    def __repr__(self) -> str:
        return f"Verdict({self.theorem.key}, {as_unicode(self.why)})"

    def _repr_html_(self) -> str:
        return html_table(repr(self), self.table())
