"""Confirmation: no `fails` is given before a second run, a hundred times as exact, gives the same.

What a run was computed to limits what can be read off it: a bound that is missed by less than the numbers move when
the run is made more exactly is not missed. So the second run decides, and the bound of each conclusion is widened by
the change between the two runs, which is the error of the first and far above that of the second.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from reluflow.theory.evidence import Evidence
from reluflow.theory.verdict import MeasuredConclusion, Verdict, VerdictKind

REFINEMENT = 100.0


def confirmed(verdict: Verdict, evidence: Evidence, rerun: Callable[[], tuple[Verdict, Evidence]]) -> Verdict:
    """The verdict where it is not `fails`; else that of a second run, or `inconclusive` where none can confirm it.

    Parameters
    ----------
    verdict
        That on the first run.
    evidence
        The first run.
    rerun
        Makes the second run, `REFINEMENT` times as exact, and judges it.
    """
    if verdict.kind is not VerdictKind.FAILS or not evidence.has_run or evidence.rtol == 0.0:
        return verdict  # what no solver computed has nothing to be refined
    failed = ", ".join(verdict.failing_deciding)
    if evidence.rtol is None:
        return _unconfirmed(verdict, f"the run fails in {failed}, but names no tolerance, so that no other confirms it")
    second, finer = rerun()
    if finer.rtol is None or not finer.rtol < evidence.rtol:
        why = f"the run fails in {failed}, but at rtol {evidence.rtol:g} no more exact one can confirm it"
        return _unconfirmed(verdict, why)
    runs = f"a second run at rtol {finer.rtol:g} instead of {evidence.rtol:g}"
    if second.kind is not VerdictKind.FAILS:
        return replace(second, notes=(*second.notes, f"{runs} decided: the first failed in {failed}"))
    widened = tuple(_widened(c, verdict.conclusion(c.name)) for c in second.conclusions)
    judged = replace(second, conclusions=widened)
    if not judged.failing_deciding:
        return _unconfirmed(judged, f"{runs} fails by less than the two differ")
    return replace(judged, notes=(*judged.notes, f"confirmed by {runs}"))


def _widened(conclusion: MeasuredConclusion, first: MeasuredConclusion) -> MeasuredConclusion:
    """A conclusion that fails by no more than it moved from the first run to this one is undecided."""
    before, now, bound = first.measured, conclusion.measured, conclusion.bound
    if conclusion.holds is not False or before is None or now is None or bound is None:
        return conclusion
    moved = abs(now - before)
    if not 0.0 < moved < math.inf or abs(now - bound) > moved:
        return conclusion
    detail = f"{conclusion.detail}, which is within {moved:.2g}, the change from one run to a more exact one"
    return replace(conclusion, holds=None, detail=detail)


def _unconfirmed(verdict: Verdict, why: str) -> Verdict:
    return replace(verdict, kind=VerdictKind.INCONCLUSIVE, notes=(*verdict.notes, why))
