"""What a neuron does at a boundary: ridge, valley or refraction, and why orthogonally separable data only refract.

Appendix I.2 [lyu2021].
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.event import EventKind
from reluflow.dynamics.problem import TrainingProblem
from reluflow.network.network import Network
from reluflow.papers.lyu2021.theorems.parameters import STRETCH
from reluflow.papers.lyu2021.theorems.unit_ball import steps_of
from reluflow.theory.comparison import Comparison, Level, Values, none_of
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.hypotheses import BALANCED, FADING_LOSS, LEAKY, assumed
from reluflow.theory.measures import AtLeast
from reluflow.theory.separability import ORTHOGONALLY_SEPARABLE
from reluflow.theory.setting import Setting
from reluflow.theory.theorem import Conclusion, Reference, Theorem


class BoundaryKind(StrEnum):
    """The three pictures of Fig. 3, and the two in which a side does not move."""

    RIDGE = "ridge"
    VALLEY = "valley"
    REFRACTION = "refraction"
    STILL = "still"


@dataclass(frozen=True)
class Boundary:
    """A neuron at <w_k, x_i> = 0: its normal speed <dw_k/dt, x_i> on either side, and what that makes of it.

    Parameters
    ----------
    above, below
        The speeds v_+ and v_- with slope 1 and with the leak.
    kind
        Ridge where both sides push away, valley where both push back, refraction where they agree.
    slope
        The slope with which a neuron can stay: in (leak, 1) at a ridge or a valley, nan otherwise.
    """

    above: float
    below: float
    kind: BoundaryKind
    slope: float


def boundary_at(problem: TrainingProblem, network: Network, neuron: int, sample: int) -> Boundary:
    """Classify the boundary of one sample for one neuron, whose pre-activation there is taken as 0.

    v_+ = B + c and v_- = B + leak c, with B the pull of the other samples and c = a_k g_i y_i |x_i|^2 times the sample
    weight: a valley needs a_k y_i < 0, a ridge a_k y_i > 0.

    References
    ----------
    Lyu et al. (2021), App. I.2, Fig. 3 [lyu2021].
    """
    X, leak = problem.dataset.X, network.leak
    force = problem.loss.forces(network.outputs(X), problem.dataset.y)
    slopes = np.where(network.w[neuron] @ X.T > 0.0, 1.0, leak)
    slopes[sample] = 0.0
    a = float(np.exp(network.log_scale) * network.a[neuron])
    rest = a * float((slopes * force) @ (X @ X[sample]))
    own = a * float(force[sample]) * float(X[sample] @ X[sample])
    above, below = rest + own, rest + leak * own
    if above * below > 0.0:
        return Boundary(above, below, BoundaryKind.REFRACTION, np.nan)
    if above == 0.0 or below == 0.0:
        return Boundary(above, below, BoundaryKind.STILL, np.nan)
    return Boundary(above, below, BoundaryKind.VALLEY if above < 0.0 else BoundaryKind.RIDGE, -rest / own)


# Appendix I.2 ---------------------------------------------------------------------------------------------------------

_NUM_TIMES = 30


def _plan(evidence: Evidence) -> FlowPlan:
    rate = 0.5 * float(np.linalg.norm(evidence.facts.mean_signed_sample))
    last = (max(0.0, -evidence.network.log_scale) + 10.0) / rate * evidence.parameter("stretch")
    return FlowPlan(times=tuple(np.linspace(0.0, last, _NUM_TIMES)))


def _only_refraction(evidence: Evidence) -> Comparison:
    events = evidence.run.events
    kinds = (EventKind.RIDGE, EventKind.SLIDE_ENTRY, EventKind.DEATH)
    count = sum(events.count(kind) for kind in kinds)
    passed = events.count(EventKind.REFRACTION)
    return none_of(count, detail=f"{passed} refractions, {count} slides, deaths or ridges")


@dataclass(frozen=True, eq=False)
class SignedSamples:
    """z = y x, shape (n, d): no <z_i, z_j> is negative on orthogonally separable data."""

    z: FloatArray


def _signed_samples(evidence: Evidence) -> SignedSamples:
    return SignedSamples(evidence.dataset.y[:, None] * evidence.dataset.X)


def _normal_speeds(evidence: Evidence) -> Values:
    """a_k y_i <dw_k/dt, x_i>/(a_k^2 |x_i| sum of forces), over neurons, samples, snapshots and all slopes.

    With z = y x the speed is a_k^2 y_i-signed sum_j eta_j g_j <z_i, z_j>, least where every eta is the leak or 1.
    """
    X, y, leak = evidence.dataset.X, evidence.dataset.y, evidence.leak
    z = evidence.recorded(SignedSamples).z
    gram = z @ z.T
    least = np.where(gram > 0.0, leak * gram, gram)  # the slope that helps least
    for snapshot in evidence.run.snapshots:
        pulls = np.abs(evidence.loss.forces(snapshot.outputs, y))
        size = np.linalg.norm(X, axis=1) * pulls.sum()
        slopes = np.where(snapshot.network.w @ X.T > 0.0, 1.0, leak)
        yield least @ pulls / size
        yield (slopes * pulls) @ gram / size  # times sign(a_k) y_i


def _signs_grow(evidence: Evidence) -> Values:
    """Increases of sign(a_k) <w_k, z_i> between snapshots over the size: each neuron moves one way only."""
    z = evidence.dataset.y[:, None] * evidence.dataset.X
    for early, late, network in steps_of(evidence):
        grown = np.sign(network.a)[:, None] * ((late - early) @ z.T)
        yield grown / np.linalg.norm(late, axis=1)[:, None]


APP_I_2 = Theorem(
    "lyu2021:appI.2",
    Reference("lyu2021", "Appendix I.2"),
    r"On orthogonally separable data $\langle dw_k/dt, x_i\rangle$ has the sign of $a_k y_i$, strictly: balanced "
    r"neurons are only refracted, and every balanced starting point is non-branching.",
    hypotheses=(FADING_LOSS, LEAKY, assumed(ORTHOGONALLY_SEPARABLE), BALANCED),
    conclusions=(
        Conclusion("events", "no neuron slides, dies or meets a ridge", _only_refraction, Level.EXACT),
        Conclusion(
            "speed",
            r"$a_k y_i \langle dw_k/dt, x_i\rangle > 0$ whatever the slopes",
            AtLeast(
                _normal_speeds, 0.0, words="smallest signed normal speed {measured:.4g} per total force and $|a_k|$"
            ),
        ),
        Conclusion(
            "one-way", r"$\operatorname{sign}(a_k) \langle w_k, z_i\rangle$ only grows", AtLeast(_signs_grow, 0.0)
        ),
    ),
    parameters=(STRETCH,),
    plan=_plan,
    record=_signed_samples,
    setting=Setting(loss="logistic", leak=None, init="lyu-balanced", width=12),
    example="lyu-counterexample-sharp",
    erratum=r"E19: $\operatorname{sgn} a_k$ is constant because the neurons are balanced (Cor. B.18), so only "
    r"balanced starts are meant.",
)
