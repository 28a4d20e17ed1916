"""Gradient descent held against a result of the flow: what it misses must shrink in proportion to the step size.

On a bounded stretch of time descent is the flow up to a term of the order of the step size, where the flow is unique.
So a result of the flow that concludes inequalities holds for descent up to such a term. How large it is depends on the
data and is measured: the same descent is run at the step size asked for, at a half and at a quarter of it, and a bound
that is missed must be missed by less with every halving, and in proportion over both: where a step falls beside a
kink of the flow changes the error of each rate a little. What does not shrink so is undecided: descent refutes no
result of the flow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from reluflow.dynamics.descent.gradient_descent import AbstractFullBatchDescent
from reluflow.theory.theorem import FLOW_HYPOTHESIS, kind_of
from reluflow.theory.verdict import JudgedHypothesis, MeasuredConclusion, Verdict

_HALVINGS = (1, 2, 4)
_SHRINKS = 1.5  # by which a miss of order 1 in the step size falls per halving, on average at least; in the limit by 2


def judged_for_descent(
    solver: AbstractFullBatchDescent, judge: Callable[[AbstractFullBatchDescent], Verdict]
) -> Verdict:
    """The verdict for descent, of a theorem that holds for it up to a term of the order of the step size.

    Parameters
    ----------
    solver
        The descent asked for.
    judge
        Runs a descent and measures the conclusions; its verdict is `not-applicable` because the run is no flow.
    """
    verdicts: list[Verdict] = []
    for parts in _HALVINGS:
        verdict = judge(replace(solver, lr=solver.lr / parts, iterations=parts * solver.iterations))
        verdicts.append(verdict)
        if verdict.failing_hypotheses != (FLOW_HYPOTHESIS,) or not verdict.conclusions:
            return verdict  # another hypothesis fails, or nothing was measured: descent has no part in it
    first = verdicts[0]
    measured = tuple(_over_rates(parts, solver.lr) for parts in zip(*(v.conclusions for v in verdicts), strict=True))
    rates = f"{solver.lr:g}, a half and a quarter of it"
    follows = JudgedHypothesis(
        "descent-follows",
        "the run is gradient descent, held against the result up to a term of the order of the step size",
        True,
        None,
        f"descent at step size {rates}",
    )
    hypotheses = tuple(follows if h.name == FLOW_HYPOTHESIS else h for h in first.hypotheses)
    kind = kind_of(first.theorem, hypotheses, measured)
    notes = [f"judged for gradient descent at step size {rates}, up to a term of its order"]
    pairs = zip(measured, first.conclusions, strict=True)
    notes += [f"{c.name} is met up to {_miss(flow):.3g}" for c, flow in pairs if c.holds and not flow.holds]
    return replace(first, kind=kind, hypotheses=hypotheses, conclusions=measured, notes=tuple(notes))


def _over_rates(parts: tuple[MeasuredConclusion, ...], lr: float) -> MeasuredConclusion:
    """One conclusion at all three rates: it holds, or is missed by a term of the order of the rate, or is undecided."""
    first = parts[0]
    if all(c.holds for c in parts) or all(c.is_empty for c in parts):
        return first
    if any(c.holds is None for c in parts):
        return replace(next(c for c in parts if c.holds is None), is_empty=False)
    misses = [_miss(c) for c in parts]
    listed = ", ".join(f"{miss:.3g}" for miss in misses)
    where = f"{first.detail}; missed by {listed} at step size {lr:g}, a half and a quarter of it"
    in_proportion = math.isfinite(misses[0]) and misses[-1] <= misses[0] / _SHRINKS ** (len(misses) - 1)
    if in_proportion and all(later <= earlier for earlier, later in pairwise(misses)):
        factor = max(miss * k / lr for miss, k in zip(misses, _HALVINGS, strict=True))
        return replace(first, holds=True, detail=f"{where}, at most {factor:.3g} times the step size")
    return replace(first, holds=None, detail=f"{where}, which does not shrink in proportion")


def _miss(conclusion: MeasuredConclusion) -> float:
    """By how much a conclusion misses its bound; 0 where it holds, infinite where no number says it."""
    if conclusion.holds:
        return 0.0
    return max(-conclusion.slack, 0.0) if conclusion.slack is not None else math.inf
