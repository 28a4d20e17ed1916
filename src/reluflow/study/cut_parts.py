"""The parts of a study that a limit on time or work cut short: part, limit, what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from reluflow.dynamics.trajectory import Outcome
from reluflow.geometry.alignment_statuses import NOT_FOLLOWED
from reluflow.study.allowed import FLOW_SHARE, GEOMETRY_SHARE, Allowed

if TYPE_CHECKING:
    from reluflow.study.flow_summary import FlowSummary
    from reluflow.study.whole_study import Study


@dataclass(frozen=True)
class CutPart:
    """A part of a study that is not complete.

    Parameters
    ----------
    part
        What was being done.
    limit
        What cut it short, in words with its number.
    missing
        What is not known for that reason.
    """

    part: str
    limit: str
    missing: str


def parts_cut_in(found: Study, allowed: Allowed) -> list[CutPart]:
    """The results of a study that say themselves that they are not complete, and what limits those parts had."""
    parts: list[CutPart] = []
    run_limit = _run_limit(found.flow, allowed)
    geometry_limit = allowed.in_words(GEOMETRY_SHARE)
    flow = found.flow
    if flow is not None and flow.trajectory.outcome.is_spent:
        missing = f"its end; it took {flow.trajectory.steps:,} steps"
        parts.append(CutPart("the first run", run_limit, missing))
    elif flow is not None and flow.descent is not None:
        missing = f"the exact flow after t = {flow.descent.exact_until:.5g}; gradient descent went on from there"
        parts.append(CutPart("the first run", run_limit, missing))
    if found.extremal is not None and not found.extremal.exact:
        parts.append(CutPart("extremal vectors", "cones are too many to visit", f"completeness: {found.extremal.why}"))
    if found.alignment is not None:
        left = int(np.sum(found.alignment.statuses == NOT_FOLLOWED))
        if left:
            missing = f"{left:,} of {len(found.alignment.ends):,} neurons were not followed"
            parts.append(CutPart("alignment at vanishing scale", geometry_limit, missing))
    if found.process is not None and "time was spent" in found.process.why.lower():
        parts.append(CutPart("path at vanishing scale", geometry_limit, "the rest of its jumps"))
    return parts


def _run_limit(flow: FlowSummary | None, allowed: Allowed) -> str:
    """What cut the first run, or its exact part, short: its steps or its seconds."""
    if flow is None:
        return ""
    outcome = flow.trajectory.outcome
    why = outcome.code if flow.descent is None or outcome.is_spent else flow.descent.why
    return allowed.in_words(FLOW_SHARE) if why == Outcome.MAX_SECONDS.code else f"{flow.max_steps:,.0f} steps"
