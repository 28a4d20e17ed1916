"""Is a small scale needed? A conjecture of ours on what Section 3.1 says [phuong2021]."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from reluflow.papers.phuong2021.paper import EXAMPLE, SETTING
from reluflow.papers.phuong2021.theorems.max_margin_limit import (
    LATE,
    LOG_TIME,
    distances,
    falls,
    late_networks,
    late_plan,
)
from reluflow.papers.phuong2021.theorems.motion import one_way
from reluflow.papers.phuong2021.theorems.sectors import two_groups
from reluflow.theory.comparison import Comparison, Level, Source, at_most, fitted_slope
from reluflow.theory.evidence import Evidence
from reluflow.theory.measures import Constants
from reluflow.theory.theorem import Conclusion, Reference, Theorem


def _left_behind(evidence: Evidence) -> Comparison:
    """Share of |W|^2 in neurons that are in no extremal sector, at the last time against the first."""
    shares = []
    for _, network in late_networks(evidence):
        code = two_groups(network, evidence.dataset)
        squares = np.sum(network.w**2, axis=1)
        shares.append(float(np.sum(squares[np.abs(code) != 1]) / np.sum(squares)))
    return at_most(
        shares[-1], max(shares[0], 1e-12), detail=f"share {shares[0]:.3g} at first, {shares[-1]:.3g} at last"
    )


def _exponent(evidence: Evidence) -> Constants:
    """Slope of log distance against log log t over the last three times, and the one it tends to.

    A neuron keeps its component orthogonal to its group while its norm grows like (log t)^(1/2), so for a start that is
    not small the distance of W falls like (log t)^(-1/2); from a small scale this part has a small factor.
    """
    logs, found = [log for log, _ in late_networks(evidence)][-3:], distances(evidence, "W")[-3:]
    if len(found) < 2 or min(found) <= 0.0:
        return {}
    return {"fitted_exponent": fitted_slope(np.log(logs), np.log(found)), "asymptotic_exponent": -0.5}


SEC_3_1 = Theorem(
    "phuong2021:sec3.1",
    Reference("phuong2021", "Sec. 3.1"),
    "Conjecture: on orthogonally separable data the limit of Theorem 1 does not need a small scale, which changes the "
    "time only; activations are one-way at every scale, and neurons left behind lose their share.",
    hypotheses=LATE,
    conclusions=(
        Conclusion(
            "one-way",
            r"every $y_k \operatorname{sign}(a_j) \langle w_j, x_k\rangle$ never decreases",
            one_way,
            Level.EXACT,
        ),
        Conclusion("left-behind", "neurons in no extremal sector do not gain in share", _left_behind),
        Conclusion(
            "W",
            "the distance to the limit of Theorem 1 falls",
            partial(falls, find=partial(distances, part="W"), by_root=False),
            Level.EXACT,
        ),
    ),
    predictions=_exponent,
    parameters=(LOG_TIME,),
    plan=late_plan,
    setting=replace(SETTING, scale="1"),
    example=EXAMPLE,
    erratum="P15: the paper calls a small scale crucial; for the limit it appears not to be, for finite times it is.",
    source=Source.RELUFLOW,
    departs="Not in the paper: a conjecture of ours with a sketched proof, not a theorem.",
)
