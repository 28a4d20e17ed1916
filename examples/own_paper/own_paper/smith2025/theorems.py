"""Theorem 1: the loss falls."""

from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.hypotheses import LOGISTIC_LOSS
from reluflow.theory.measures import AtMost
from reluflow.theory.setting import Setting
from reluflow.theory.theorem import Conclusion, Reference, Theorem


def loss_at_1_over_loss_at_0(evidence: Evidence) -> float:
    """L(1) / L(0)."""
    return evidence.run.snapshots[-1].loss / evidence.run.snapshots[0].loss


def plan(evidence: Evidence) -> FlowPlan:
    """Snapshots at times 0 and 1."""
    return FlowPlan(times=(0.0, 1.0))


THEOREM_1 = Theorem(
    "smith2025:thm1",
    Reference("smith2025", "Theorem 1"),
    "The logistic loss never rises: L(1) <= L(0).",
    hypotheses=(LOGISTIC_LOSS,),
    conclusions=(Conclusion("fall", "L(1) <= L(0)", AtMost(loss_at_1_over_loss_at_0, 1.0)),),
    plan=plan,
    setting=Setting(loss="logistic"),
    example="smith-two-points",
)
RESULTS = (THEOREM_1,)
