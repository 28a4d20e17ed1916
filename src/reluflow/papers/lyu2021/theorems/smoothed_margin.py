"""The smoothed margin: Appendix F.2 and the bounds quoted there [lyu2021].

With n L the sum of logistic losses, alpha(theta) = -ln(e^(nL) - 1) and gamma~ = alpha/|theta|^2. Once n L < ln 2 it is
a lower bound of the normalised margin that never falls.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from reluflow.arrays import FloatArray
from reluflow.certificates.limits.certified_limit import LimitIdentified
from reluflow.dynamics.trajectory import Snapshot
from reluflow.network.network import Network, row_norms
from reluflow.papers.lyu2021.theorems.parameters import LATE_MARGIN_ABOVE_1, LOG_HORIZON
from reluflow.papers.lyu2021.theorems.settings import TWELVE_BALANCED_NEURONS
from reluflow.theory.comparison import Comparison, Values, at_least, at_most, judgement, require, undecided
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.hypotheses import LOGISTIC_LOSS, NO_RIDGE, assumed
from reluflow.theory.measures import AtMost
from reluflow.theory.separability import LINEARLY_SEPARABLE
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem

TIME_STEP = 1e-4  # relative distance in time of the snapshots that a derivative is taken from
_KINK = 1e-9  # relative pre-activations below this are those of a sliding neuron


def smoothed_margin(margins: ArrayLike) -> float:
    """alpha = -ln(prod(1 + e^(-q_i)) - 1) of the output margins q, without over- or underflow.

    >>> round(smoothed_margin([800.0, 800.0]), 6)
    799.306853
    """
    q = np.asarray(margins, dtype=np.float64)
    total = float(np.sum(np.logaddexp(0.0, -q)))
    if total > 1e-8:
        return -float(np.log(np.expm1(total)))
    # ln(1 + x) = x e^(-x/2) and e^S - 1 = S e^(S/2), both up to relative terms of second order
    return -float(logsumexp(-q - 0.5 * np.exp(-q))) - 0.5 * total


@dataclass(frozen=True, eq=False)
class MarginState:
    """Everything the appendix computes at one network: margins, the smoothed margin, gradients."""

    network: Network
    X: FloatArray
    y: FloatArray

    @cached_property
    def q(self) -> FloatArray:
        """Output margins y_i f(x_i)."""
        return np.asarray(self.y * self.network.outputs(self.X))

    @cached_property
    def theta(self) -> FloatArray:
        """All parameters as one vector, weights of the neurons counted."""
        factor = np.exp(self.network.log_scale) * np.sqrt(self.network.weight)
        return np.concatenate([(factor[:, None] * self.network.w).ravel(), factor * self.network.a])

    @cached_property
    def norm(self) -> float:
        """|theta|."""
        return float(np.linalg.norm(self.theta))

    @cached_property
    def smooth(self) -> float:
        """alpha(theta)."""
        return smoothed_margin(self.q)

    @property
    def gamma(self) -> float:
        """The normalised margin."""
        return float(self.q.min()) / self.norm**2

    @property
    def smooth_gamma(self) -> float:
        """The smoothed normalised margin gamma~."""
        return self.smooth / self.norm**2

    @cached_property
    def log_g(self) -> FloatArray:
        """ln of g_i = 1/(1 + e^(q_i))."""
        return np.asarray(-np.logaddexp(0.0, self.q))

    @cached_property
    def kappa(self) -> FloatArray:
        """kappa_i = g_i e^(nL)/(e^(nL) - 1) = g_i (1 + e^alpha): the weights of grad q_i in grad alpha."""
        return np.asarray(np.exp(self.log_g + np.logaddexp(0.0, self.smooth)))

    @cached_property
    def gradients(self) -> FloatArray:
        """grad q_i as rows; at a kink the slope of the negative side, so only smooth points are meant."""
        products = self.network.pre_activations(self.X)  # (m, n)
        slopes = np.where(products > 0.0, 1.0, self.network.leak)
        factor = np.exp(self.network.log_scale) * np.sqrt(self.network.weight)
        in_w = (factor * self.network.a)[:, None, None] * slopes[:, :, None] * self.X[None]  # (m, n, d)
        in_a = factor[:, None] * slopes * products
        rows = np.concatenate([in_w.transpose(1, 0, 2).reshape(len(self.y), -1), in_a.T], axis=1)
        return np.asarray(self.y[:, None] * rows)

    @cached_property
    def ascent(self) -> FloatArray:
        """Unit vector along -grad L."""
        weights = np.exp(self.log_g - self.log_g.max())
        direction = weights @ self.gradients
        return np.asarray(direction / np.linalg.norm(direction))

    @property
    def log_gradient_norm(self) -> float:
        """ln |grad L| for the mean loss."""
        weights = np.exp(self.log_g - self.log_g.max())
        return float(np.log(np.linalg.norm(weights @ self.gradients)) + self.log_g.max() - np.log(len(self.y)))

    @property
    def cosine(self) -> float:
        """beta = cos(theta, -grad L)."""
        return float(self.ascent @ self.theta) / self.norm

    @cached_property
    def smooth_gradient(self) -> FloatArray:
        """grad gamma~ = sum_i kappa_i grad q_i/|theta|^2 - 2 alpha theta/|theta|^4 (erratum E18: minus)."""
        pull = self.kappa @ self.gradients
        return np.asarray(pull / self.norm**2 - 2.0 * self.smooth * self.theta / self.norm**4)

    @property
    def is_smooth(self) -> bool:
        """Whether no neuron stands on a boundary, where the gradients have more than one value."""
        products = np.abs(self.network.pre_activations(self.X))
        lengths = row_norms(self.network.w)[:, None] * np.linalg.norm(self.X, axis=1)
        return bool(np.all(products > _KINK * lengths))

    def split(self, vector: FloatArray) -> tuple[float, float]:
        """Norms of the radial and the tangential part of a vector."""
        unit = self.theta / self.norm
        radial = float(vector @ unit)
        return abs(radial), float(np.linalg.norm(vector - radial * unit))


def margin_plan(evidence: Evidence, *, num_times: int = 24, with_neighbours: bool = True) -> FlowPlan:
    """Snapshots, each with a neighbour on either side, spread over ln t up to the wanted margin."""
    last = evidence.parameter("late_margin")
    rate = float(np.linalg.norm(evidence.facts.mean_signed_sample)) / 2.0
    start = np.log((max(0.0, -evidence.network.log_scale) + 3.0) / rate)
    factors = (1.0 - TIME_STEP, 1.0, 1.0 + TIME_STEP) if with_neighbours else (1.0,)
    times = tuple(float(t * f) for t in np.exp(np.linspace(start, start + last, num_times)) for f in factors)
    horizon = evidence.parameters.get("log_horizon", 700.0)
    return FlowPlan(times=times, until=LimitIdentified(smallest_margin=last), log_horizon=horizon)


@computed_once
def states_of(evidence: Evidence) -> list[tuple[Snapshot, MarginState]]:
    """The snapshots with n L < ln 2, with their states."""
    X, y = evidence.dataset.X, evidence.dataset.y
    pairs = [(s, MarginState(s.network, X, y)) for s in evidence.run.snapshots]
    return [(s, state) for s, state in pairs if state.smooth > 0.0]


def smooth_states_of(evidence: Evidence) -> list[tuple[Snapshot, MarginState]]:
    """The late snapshots at which every gradient is single-valued."""
    return [(s, state) for s, state in states_of(evidence) if state.is_smooth]


@dataclass(frozen=True, eq=False)
class LateStates:
    """The networks of the run with n L < ln 2, on the samples whose margins they have."""

    states: tuple[MarginState, ...]


def _late_states(evidence: Evidence) -> LateStates:
    return LateStates(tuple(state for _, state in states_of(evidence)))


def _states(evidence: Evidence) -> tuple[MarginState, ...]:
    return evidence.recorded(LateStates).states


def _loss_gets_small(evidence: Evidence) -> Comparison:
    """n L < ln 2 at several snapshots."""
    count = len(states_of(evidence))
    words = rf"{count} snapshots have $n L < \ln 2$"
    if count < 6 and evidence.run.outcome.is_cut_short:
        return undecided(f"{words}, and the run was cut short")
    return judgement(count >= 6, float(count), words)


SMALL_LOSS_FOR_GOOD = Hypothesis(
    "small-loss", r"$n L < \ln 2$ from some time on", _loss_gets_small, needs_trajectory=True
)

LATE_MARGIN_RUN = (
    LOGISTIC_LOSS,
    assumed(LINEARLY_SEPARABLE),
    NO_RIDGE,
    SMALL_LOSS_FOR_GOOD,
)

# Appendix F.2 ---------------------------------------------------------------------------------------------------------


def _below_margin(evidence: Evidence) -> Values:
    return [state.smooth_gamma / state.gamma for state in _states(evidence)]


def _never_falls(evidence: Evidence) -> Comparison:
    values = np.array([state.smooth_gamma for _, state in states_of(evidence)])
    step = float(np.min(np.diff(values)))
    return at_least(step, 0.0, allowance=1e-9 * float(values[-1]), detail=f"smallest increase {step:.3g}")


def _gap(evidence: Evidence) -> Values:
    """(gamma - gamma~)/bound; the bound is [q_min + ln((1 + e^-q_min)^n - 1)]/|theta|^2."""
    for state in _states(evidence):
        q = float(state.q.min())
        bound = (q - smoothed_margin(np.full(evidence.dataset.n, q))) / state.norm**2
        yield (state.gamma - state.smooth_gamma) / bound if bound > 0.0 else 1.0


APP_F_2 = Theorem(
    "lyu2021:appF.2",
    Reference("lyu2021", "Appendix F.2"),
    r"Once $n L < \ln 2$ the smoothed margin never falls and is below the margin by at most some $\ln n/|\theta|^2$.",
    hypotheses=LATE_MARGIN_RUN,
    conclusions=(
        Conclusion(
            "below",
            r"$\tilde{\gamma} \le \gamma$",
            AtMost(_below_margin, 1.0, allowance=1e-12, words=r"$\tilde{{\gamma}}/\gamma$ is at most {measured:.9g}"),
        ),
        Conclusion("monotone", r"$\tilde{\gamma}$ does not fall", _never_falls),
        Conclusion(
            "gap",
            r"$\gamma - \tilde{\gamma}$ is below its bound",
            AtMost(
                _gap,
                1.0,
                allowance=1e-9,
                words=r"the gap is at most {measured:.6g} of its bound, about $\ln n/|\theta|^2$",
            ),
        ),
    ),
    parameters=(LATE_MARGIN_ABOVE_1, LOG_HORIZON),
    plan=margin_plan,
    record=_late_states,
    setting=TWELVE_BALANCED_NEURONS,
    example="lyu-counterexample-sharp",
    erratum=r"E18: $\alpha(\theta) = l^{-1}(n L)$, with the $n$.",
)

# Appendix F.2.1 -------------------------------------------------------------------------------------------------------

SLIDING = "at too few snapshots are all neurons off the boundaries; sliding neurons have no gradient to speak of"


def _between(evidence: Evidence) -> Comparison:
    """sum kappa_i q_i - alpha, largest over the run, against 2 ln n + 1; and never below 0."""
    values = [float(state.kappa @ state.q) - state.smooth for state in _states(evidence)]
    if min(values) < -1e-9:
        return at_least(min(values), 0.0, allowance=1e-9)
    return at_most(max(values), 2.0 * np.log(evidence.dataset.n) + 1.0)


def _radial(evidence: Evidence) -> Values:
    """|radial part of grad gamma~| |theta|^3 at the smooth states."""
    late = require([state for state in _states(evidence) if state.is_smooth], SLIDING)
    return [state.split(state.smooth_gradient)[0] * state.norm**3 for state in late]


def _radial_bound(evidence: Evidence) -> float:
    return float(2.0 * (2.0 * np.log(evidence.dataset.n) + 1.0))


APP_F_2_1 = Theorem(
    "lyu2021:appF.2.1",
    Reference("lyu2021", "Appendix F.2.1"),
    r"With $\kappa_i = g_i e^{nL}/(e^{nL} - 1)$: $0 \le \sum_i \kappa_i q_i - \alpha \le 2\,\ln n + 1$, and the "
    r"radial part of $\nabla \tilde\gamma$ is at most $2(2\,\ln n + 1)/|\theta|^3$.",
    hypotheses=LATE_MARGIN_RUN,
    conclusions=(
        Conclusion("weighted", r"$0 \le \sum_i \kappa_i q_i - \alpha \le 2\,\ln n + 1$", _between),
        Conclusion(
            "radial",
            r"the radial part of $\nabla \tilde{\gamma}$ is below its bound",
            AtMost(
                _radial,
                _radial_bound,
                words=r"$|\theta|^3$ times the radial part is at most {measured:.4g} against {bound:.4g}",
            ),
        ),
    ),
    parameters=(LATE_MARGIN_ABOVE_1, LOG_HORIZON),
    plan=margin_plan,
    record=_late_states,
    setting=TWELVE_BALANCED_NEURONS,
    example="lyu-counterexample-sharp",
    erratum=r"E18: $\nabla \tilde{\gamma}$ subtracts its radial term.",
)
