"""What a neuron does at a boundary: ridge, valley or refraction, and why orthogonally separable data only refract.

Appendix I.2 [lyu2021].
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

import numpy as np

from reluflow.dynamics.event import EventKind
from reluflow.dynamics.problem import TrainingProblem
from reluflow.network.network import Network
from reluflow.theory.evidence import Evidence, FlowPlan
from reluflow.theory.hypotheses import balanced_start, data_assumption, leaky_activation, loss_among
from reluflow.theory.measurement import Level, Measurement, at_least, none_of
from reluflow.theory.stating import conclusion, theorems_of
from reluflow.theory.theorem import Parameter, Setting

_NUM_TIMES = 30


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


def _plan(evidence: Evidence) -> FlowPlan:
    rate = 0.5 * float(np.linalg.norm(evidence.facts.mean_signed_sample))
    last = (max(0.0, -evidence.network.log_scale) + 10.0) / rate * evidence.parameter("stretch")
    return FlowPlan(times=tuple(np.linspace(0.0, last, _NUM_TIMES)))


@conclusion("events", "no neuron slides, dies or meets a ridge", Level.EXACT)
def _only_refraction(evidence: Evidence) -> Measurement:
    events = evidence.run.events
    kinds = (EventKind.RIDGE, EventKind.SLIDE_ENTRY, EventKind.DEATH)
    count = sum(events.count(kind) for kind in kinds)
    passed = events.count(EventKind.REFRACTION)
    return none_of(count, detail=f"{passed} refractions, {count} slides, deaths or ridges")


@conclusion("speed", "a_k y_i <dw_k/dt, x_i> > 0 whatever the slopes")
def _normal_speeds(evidence: Evidence) -> Measurement:
    """Smallest a_k y_i <dw_k/dt, x_i>/(a_k^2 |x_i| sum of forces), over neurons, samples, snapshots and all slopes.

    With z = y x the speed is a_k^2 y_i-signed sum_j eta_j g_j <z_i, z_j>, least where every eta is the leak or 1.
    """
    X, y, leak = evidence.dataset.X, evidence.dataset.y, evidence.leak
    gram = evidence.witness("gram", lambda: (y[:, None] * X) @ (y[:, None] * X).T)
    least = np.where(gram > 0.0, leak * gram, gram)  # the slope that helps least
    worst = np.inf
    for snapshot in evidence.run.snapshots:
        pulls = np.abs(evidence.loss.forces(snapshot.outputs, y))
        worst = min(worst, float(np.min(least @ pulls / (np.linalg.norm(X, axis=1) * pulls.sum()))))
        network = snapshot.network
        products = network.w @ X.T
        slopes = np.where(products > 0.0, 1.0, leak)
        speed = (slopes * pulls) @ gram / (np.linalg.norm(X, axis=1) * pulls.sum())  # times sign(a_k) y_i
        worst = min(worst, float(speed.min()))
    return at_least(worst, 0.0, detail=f"smallest signed normal speed {worst:.4g} per total force and |a_k|")


@conclusion("one-way", "sign(a_k) <w_k, z_i> only grows")
def _signs_grow(evidence: Evidence) -> Measurement:
    """Smallest increase of sign(a_k) <w_k, z_i> between snapshots over the size: each neuron moves one way only."""
    z = evidence.dataset.y[:, None] * evidence.dataset.X
    worst = np.inf
    for before, after in pairwise(evidence.run.snapshots):
        ratio = np.exp(before.network.log_scale - after.network.log_scale)
        early, late = ratio * before.network.w, after.network.w
        grown = np.sign(after.network.a)[:, None] * ((late - early) @ z.T)
        worst = min(worst, float(np.min(grown / np.linalg.norm(late, axis=1)[:, None])))
    return at_least(worst, 0.0)


_theorem = theorems_of(
    "lyu2021",
    setting=Setting(loss="logistic", leak=None, init="lyu-balanced", width=12, scale="1e-3"),
    example="lyu-counterexample-sharp",
)

APPENDIX_I_2 = _theorem(
    "appI.2",
    "On orthogonally separable data <dw_k/dt, x_i> has the sign of a_k y_i, strictly: balanced neurons are only "
    "refracted, and every balanced starting point is non-branching.",
    locator="Appendix I.2",
    hypotheses=(
        loss_among("logistic", "exponential"),
        leaky_activation,
        data_assumption("orthogonally-separable"),
        balanced_start(),
    ),
    conclusions=(_only_refraction, _normal_speeds, _signs_grow),
    parameters=(Parameter("stretch", 3.0, "how many growth times the run is followed for", low=0.0),),
    plan=_plan,
    erratum="E19: sgn a_k is constant because the neurons are balanced (Cor. B.18), so only balanced starts are meant.",
)
