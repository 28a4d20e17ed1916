"""Every applicable theorem's verdict on one dataset, each in its own setting and at its own scale."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from reluflow.data.dataset import Dataset
from reluflow.errors import ReluflowError
from reluflow.theory.check import check, example_problem
from reluflow.theory.registry import theorem_named
from reluflow.theory.theorem import Theorem
from reluflow.theory.verdict import Verdict, VerdictKind

MOST_STEPS = 1_500  # of a theorem's own run: seconds; `reluflow check` gives it all the time it needs


@dataclass(frozen=True)
class TheoremAnswer:
    """What one theorem says of a dataset: a verdict, or a sentence where it could not be asked.

    Parameters
    ----------
    theorem
        The result.
    verdict
        Its verdict, or None.
    sentence
        The reason of the verdict, or why there is none.
    """

    theorem: Theorem
    verdict: Verdict | None
    sentence: str

    @property
    def word(self) -> str:
        """`holds`, `fails`, `not-applicable`, `inconclusive` or `not asked`."""
        return str(self.verdict.kind) if self.verdict is not None else "not asked"

    @property
    def is_applicable(self) -> bool:
        """Whether its hypotheses hold, so that it says something here."""
        return self.verdict is not None and self.verdict.kind in (VerdictKind.HOLDS, VerdictKind.FAILS)


def ask_theorem(
    key: str, dataset: Dataset, leak: float, seed: int = 0, *, max_seconds: float = float("inf")
) -> dict[str, Any]:
    """Ask the theorem of this key for its verdict on a dataset, as plain values for `answer_of`.

    It is asked in the setting it is stated in (its loss, its initialisation) and at the scale it asks for; where it is
    stated for any leak, at the given one. A question that cannot be put (labels its loss refuses, constants out of
    reach) is answered with the sentence that says so.
    """
    return _plain(ask(theorem_named(key), dataset, leak, seed, max_seconds=max_seconds))


def ask(
    theorem: Theorem, dataset: Dataset, leak: float, seed: int = 0, *, max_seconds: float = float("inf")
) -> TheoremAnswer:
    """Ask one theorem; see `ask_theorem`."""
    if theorem.setting.loss != "square" and not dataset.is_binary:
        return TheoremAnswer(theorem, None, f"stated for the {theorem.setting.loss} loss and labels -1 and 1")
    try:
        problem = example_problem(theorem, dataset, seed=seed, leak=leak)
        verdict = check(theorem, problem, at_own_scale=True, max_steps=MOST_STEPS, max_seconds=max_seconds)
    except ReluflowError as error:
        return TheoremAnswer(theorem, None, str(error))
    return TheoremAnswer(theorem, verdict, verdict.why)


def _plain(answer: TheoremAnswer) -> dict[str, Any]:
    """An answer without its theorem, whose functions do not travel between processes."""
    verdict = answer.verdict
    values = None
    if verdict is not None:
        values = {f.name: getattr(verdict, f.name) for f in fields(verdict) if f.name != "theorem"}
    return {"sentence": answer.sentence, "verdict": values}


def answer_of(theorem: Theorem, plain: dict[str, Any]) -> TheoremAnswer:
    """The answer that `ask_theorem` gave."""
    values = plain["verdict"]
    verdict = None if values is None else Verdict(theorem=theorem, **values)
    return TheoremAnswer(theorem, verdict, plain["sentence"])
