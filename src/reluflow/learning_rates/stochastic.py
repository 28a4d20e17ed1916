"""How often descent with noise or momentum ends where the flow does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from reluflow.learning_rates.followed_rate import DescentOutcome, follow_rate
from reluflow.learning_rates.reference_flow import ReferenceFlow
from reluflow.learning_rates.watched_descent import DescentRule
from reluflow.wilson import wilson_interval


@dataclass(frozen=True)
class ShareAtLimit:
    """In how many of some trials descent ended at the limit of the flow.

    Parameters
    ----------
    rule
        How it stepped; its seed is that of the first trial.
    ended_there, trials
        How many did, of how many.
    diverged
        How many diverged.
    """

    rule: DescentRule
    ended_there: int
    trials: int
    diverged: int = 0

    @property
    def share(self) -> float:
        """Share of the trials that ended there."""
        return self.ended_there / self.trials if self.trials else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval of 95 % for the probability.

        >>> [round(end, 3) for end in ShareAtLimit(DescentRule(0.1, batch=1), 18, 20).interval]
        [0.699, 0.972]
        """
        return wilson_interval(self.ended_there, self.trials)

    def sentence(self) -> str:
        """In words.

        >>> print(ShareAtLimit(DescentRule(0.1, batch=1), 18, 20).sentence())
        SGD with batches of 1 at learning rate 0.1 ends at the flow's limit in 18 of 20 trials (95 %: 0.70 to 0.97).
        """
        what = "gradient descent" if self.rule.batch is None else f"SGD with batches of {self.rule.batch}"
        what += f" with momentum {self.rule.momentum:g}" if self.rule.momentum else ""
        if self.rule.batch is None:  # nothing is drawn, so that there is one trial
            ends = "ends at the flow's limit" if self.ended_there else "does not end at the flow's limit"
            return f"{what[0].upper()}{what[1:]} at learning rate {self.rule.lr:g} {ends}."
        low, high = self.interval
        return (
            f"{what[0].upper()}{what[1:]} at learning rate {self.rule.lr:g} ends at the flow's limit in "
            f"{self.ended_there} of {self.trials} trials (95 %: {low:.2f} to {high:.2f})."
        )


def share_at_limit(
    reference: ReferenceFlow, rule: DescentRule, *, trials: int = 20, max_seconds: float = np.inf,
    is_spent: Callable[[], bool] = bool,
) -> ShareAtLimit:  # fmt: skip
    """Run descent from the flow's start with seeds one after the other; without batches one trial tells all.

    The noise of batches keeps SGD from settling, so it counts as ending where the exact flow from its last state does.
    After a trial for which `is_spent` says so no other is begun.
    """
    num_trials = trials if rule.batch is not None else 1
    there = diverged = made = 0
    for trial in range(num_trials):
        run = follow_rate(reference, replace(rule, seed=rule.seed + trial), max_seconds=max_seconds)
        if run.same_limit is None:  # the seconds were spent
            break
        there, made = there + run.same_limit, made + 1
        diverged += run.outcome is DescentOutcome.DIVERGED
        if is_spent():
            break
    return ShareAtLimit(rule, there, made, diverged)
