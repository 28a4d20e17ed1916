"""Every applicable theorem's verdict on one dataset, each in its own setting and at its own scale."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from reluflow.data.dataset import Dataset
from reluflow.errors import ReluflowError
from reluflow.experiments.check import check, example_problem
from reluflow.theory.theorem import Theorem
from reluflow.theory.verdict import Verdict, VerdictKind

MOST_STEPS = 4_000  # of a theorem's own run: seconds; `reluflow check` gives it all the time it needs


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


def ask_theorems(
    dataset: Dataset,
    theorems: Iterable[Theorem],
    *,
    leak: float,
    seed: int = 0,
    on_theorem: Callable[[str], None] | None = None,
) -> tuple[TheoremAnswer, ...]:
    """Ask each theorem for its verdict on a dataset.

    Each is asked in the setting it is stated in (its loss, its initialisation) and at the scale it asks for; where it
    is stated for any leak, at the given one. A question that cannot be put (labels its loss refuses, constants out of
    reach) is answered with the sentence that says so.
    """
    answers = []
    for theorem in theorems:
        if on_theorem is not None:
            on_theorem(f"asking {theorem.key}")
        answers.append(_ask(theorem, dataset, leak=leak, seed=seed))
    return tuple(answers)


def _ask(theorem: Theorem, dataset: Dataset, *, leak: float, seed: int) -> TheoremAnswer:
    if theorem.setting.loss != "square" and not dataset.is_binary:
        return TheoremAnswer(theorem, None, f"stated for the {theorem.setting.loss} loss and labels -1 and 1")
    try:
        problem = example_problem(theorem, dataset, seed=seed, leak=leak)
        verdict = check(theorem, problem, at_own_scale=True, max_steps=MOST_STEPS)
    except ReluflowError as error:
        return TheoremAnswer(theorem, None, str(error))
    return TheoremAnswer(theorem, verdict, verdict.why)
