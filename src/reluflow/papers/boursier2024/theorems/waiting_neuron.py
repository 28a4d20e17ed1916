"""Example 1: a neuron that starts at 0 may leave at any time [boursier2024]."""

from __future__ import annotations

from functools import partial

import numpy as np

from reluflow.papers.boursier2024.assumptions import SMOOTH_LOSS
from reluflow.papers.boursier2024.paper import SETTING
from reluflow.theory.comparison import Comparison, Level, judgement, require
from reluflow.theory.elsewhere import part
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import Companion, FlowPlan
from reluflow.theory.hypotheses import RELU, assumed
from reluflow.theory.measures import AtLeast, AtMost
from reluflow.theory.theorem import Conclusion, Hypothesis, Parameter, Reference, Theorem

WAITING_TIME = Parameter("until", 3.0, "time up to which the runs are followed", low=0.0)


def _one_sample(evidence: Evidence) -> Comparison:
    n, d = evidence.dataset.n, evidence.dataset.d
    return judgement((n, d) == (1, 1), None, f"{n} samples in dimension {d}")


ONE_SAMPLE = Hypothesis("one-sample", "one sample in dimension 1", _one_sample)


WAITS = 1  # the recorded time at which the third solution leaves


def _waiting_plan(evidence: Evidence) -> FlowPlan:
    """From w = 0 and a y > 0, the size of the given network: a run that stays, one that leaves, one that does later.

    The third follows the first up to a recorded time and goes on by a run of its own from there.
    """
    times = tuple(np.linspace(0.0, evidence.parameter("until"), 4).tolist())
    force, given = float(evidence.loss.label_forces(evidence.dataset.y)[0]), evidence.network
    network = given.replace(w=np.zeros_like(given.w), a=np.sign(force) * np.abs(given.a))
    staying = Companion("staying", network, times, ridge="stay")
    leaving = Companion("leaving", network, times, ridge="positive")
    later = Companion("later", network, tuple(time - times[WAITS] for time in times[WAITS:]), ridge="positive")
    return FlowPlan(times, ridge="stay", companions=(staying, leaving, later))


def _farthest(evidence: Evidence, name: str) -> float:
    """The largest |w|/|a| of a companion at its last snapshot.

    The solution that leaves, w = a(0) sinh(t r x) while the output is small, is away from 0 at once.
    """
    without = f"no {name} run from $w = 0$ was made"
    last = require(require(evidence.companions.get(name), without).snapshots, without)[-1].network
    return float(np.max(np.abs(last.w) / np.abs(last.a)[:, None]))


def _farthest_after_waiting(evidence: Evidence) -> float:
    """|w|/|a| at the end of the solution that waits; 0 where its two pieces do not join."""
    without = "no run was made that waits at $w = 0$"
    waited = require(require(evidence.companions.get("staying"), without).snapshots, without)[WAITS].network
    goes_on = require(require(evidence.companions.get("later"), without).snapshots, without)[0].network
    joins = np.array_equal(waited.w, goes_on.w) and np.allclose(waited.a, goes_on.a, rtol=1e-12, atol=0.0)
    return _farthest(evidence, "later") if joins and waited.log_scale == goes_on.log_scale else 0.0


EXAMPLE_1 = Theorem(
    "boursier2024:example1",
    Reference("boursier2024", "Example 1"),
    "One sample in one dimension, ReLU, $w(0) = 0$ and $a y > 0$: solutions leave 0 at any time or never, and "
    "only the one that never does meets Condition 2(2).",
    hypotheses=(assumed(SMOOTH_LOSS), RELU, ONE_SAMPLE),
    conclusions=(
        Conclusion(
            "stays",
            "one solution from $w = 0$ stays there",
            AtMost(
                partial(_farthest, name="staying"),
                0.0,
                words="$|w|/|a|$ = {measured:.3g} at the end with the policy to stay",
            ),
            Level.EXACT,
        ),
        Conclusion(
            "leaves",
            "another one from the same start leaves at once",
            AtLeast(
                partial(_farthest, name="leaving"),
                1e-6,
                words="$|w|/|a|$ = {measured:.6g} at the end with the policy to leave",
            ),
        ),
        Conclusion(
            "later",
            "a third one stays for a while and leaves then",
            AtLeast(
                _farthest_after_waiting,
                1e-6,
                words="$|w|/|a|$ = {measured:.6g} at the end of a solution that stayed for a third of the time",
            ),
        ),
    ),
    parameters=(WAITING_TIME,),
    plan=_waiting_plan,
    setting=SETTING,
    example="one-point",
    departs="The start is the given network with $w = 0$ and the sign of $a$ that pulls; one later time of "
    "leaving is tried.",
)

EQ_38 = part("boursier2024:eq38", "Eq. (38)", EXAMPLE_1, "the inclusion of one neuron on one sample")
