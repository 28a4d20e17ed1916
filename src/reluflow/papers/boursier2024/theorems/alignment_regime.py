"""The regime of early alignment: its constants on one problem, its scale, its times, its hypotheses [boursier2024]."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial, wraps
from typing import Concatenate, ParamSpec, TypeVar

import numpy as np

from reluflow.arrays import BoolArray
from reluflow.geometry.boundary.decision import Ridge
from reluflow.geometry.thresholds import AlignmentConstants, alignment_constants
from reluflow.papers.boursier2024.assumptions import GENERAL_POSITION, NO_DEAD_SADDLE, NO_SADDLE, SMOOTH_LOSS
from reluflow.papers.boursier2024.theorems.neuron_states import NeuronStates, log_lambda, satisfies_condition_1
from reluflow.theory.comparison import Comparison, judgement, require
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.facts import MAX_FACES
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.hypotheses import DOMINATED, assumed
from reluflow.theory.measures import Constants
from reluflow.theory.theorem import Hypothesis, Parameter

EPS = Parameter(
    "eps", 0.1, r"length of the alignment phase, $\tau = -\varepsilon\,\ln(\lambda)/D_{\max}$", low=0.0, high=1.0 / 3.0
)
ALPHA_0 = Parameter(
    "alpha_0",
    1.0,
    "how far from the repelling direction neurons start, at most 1 (Condition 1)",
    low=0.0,
    high=1.0000000000000002,
)

TOO_MANY = "the constants are minima over more cones than can be visited"
AT_TAU = 1e-9  # relative; a snapshot this close to tau is the one at tau

More = ParamSpec("More")
Found = TypeVar("Found")


@computed_once
def constants_of(evidence: Evidence) -> AlignmentConstants | None:
    """The constants of App. D.1, or None where there are too many cones to visit."""
    facts = evidence.facts
    if not facts.has_affordable_cones:
        return None
    return alignment_constants(facts.dataset, facts.loss, leak=facts.leak, extremal=facts.extremal, max_cones=MAX_FACES)


@computed_once
def recorded_states(evidence: Evidence) -> tuple[NeuronStates, ...]:
    """The neurons at all recorded times."""
    return tuple(NeuronStates.at(s, evidence.problem) for s in evidence.run.snapshots)


def states_of(evidence: Evidence) -> tuple[NeuronStates, ...]:
    """The neurons at the recorded times up to tau."""
    tau = tau_of(evidence) or 0.0
    return tuple(states for states in recorded_states(evidence) if states.time <= tau * (1.0 + AT_TAU))


def reaches_tau(evidence: Evidence) -> bool:
    """Whether the run was recorded at tau."""
    tau = tau_of(evidence)
    if tau is None or evidence.trajectory is None:
        return False
    return any(abs(snapshot.time - tau) <= AT_TAU * tau for snapshot in evidence.trajectory.snapshots)


@computed_once
def start_of(evidence: Evidence) -> NeuronStates:
    """The neurons at time 0, with or without a run."""
    network = evidence.network
    return NeuronStates(evidence.problem, 0.0, network, network.outputs(evidence.dataset.X))


def met_at_start(evidence: Evidence, alpha_0: float) -> BoolArray:
    """Neurons with Condition 1 on this run: part (1) at the start, part (2) at the recorded times."""
    was_zero = np.zeros(evidence.network.num_neurons, dtype=bool)
    leaves_zero = was_zero.copy()
    for states in states_of(evidence):
        is_zero = ~np.any(states.shape.w, axis=1)
        leaves_zero |= was_zero & ~is_zero
        was_zero |= is_zero
    return satisfies_condition_1(start_of(evidence), alpha_0) & ~leaves_zero


def alpha_of(evidence: Evidence) -> float:
    """alpha_0 where the result leaves it to its reader, else 1."""
    return float(evidence.parameters.get("alpha_0", 1.0))


def settling_time(constants: AlignmentConstants, evidence: Evidence, *, saddles: bool = False) -> float:
    """Bound on t_2 in Theorem 1; infinite on degenerate data, where D_min or alpha_min is 0.

    With saddles that of Theorem 3, half of the other for alpha_0 = 1: <D, w/a> starts above 0.
    """
    if constants.d_min * constants.alpha_min == 0.0:
        return math.inf
    return 0.5 * constants.t2_bound(1.0) if saddles else constants.t2_bound(alpha_of(evidence))


def log_lambda_star(constants: AlignmentConstants, evidence: Evidence) -> float:
    """ln lambda* of Eq. (22)."""
    return constants.log_lambda_star(evidence.parameter("eps"), alpha_of(evidence))


def tau_of(evidence: Evidence) -> float | None:
    """End of the alignment phase for the scale of this network; None where there is none (lambda >= 1)."""
    constants = constants_of(evidence)
    log_scale = log_lambda(evidence.network)
    if constants is None or log_scale >= 0.0:
        return None
    return constants.tau(log_scale, evidence.parameter("eps"))


def log_output_bound(evidence: Evidence) -> float:
    """ln lambda^(2 - 4 eps), the bound on sum_j a_j^2 up to tau."""
    return (2.0 - 4.0 * evidence.parameter("eps")) * log_lambda(evidence.network)


def bend_bound(evidence: Evidence, constants: AlignmentConstants) -> float:
    """lambda^(2 - 4 eps) S, the bound on |D(w, theta) - D(w, 0)| up to tau."""
    return float(np.exp(log_output_bound(evidence))) * constants.mean_square


def alignment_times(tau: float, d_max: float, *, count: int = 7) -> tuple[float, ...]:
    """Times in [0, tau]: evenly spaced, and finer towards 0, where neurons change cones."""
    first = min(0.1 / d_max, 0.1 * tau)
    times = {0.0, *np.linspace(0.0, tau, count).tolist(), *np.geomspace(first, tau, count).tolist()}
    return (*sorted(t for t in times if t < tau * (1.0 - 1e-9)), tau)


def alignment_plan(evidence: Evidence, *, ridge: Ridge = "stop") -> FlowPlan | None:
    """Snapshots up to tau; no run where there is no alignment phase to speak of.

    With ridge `stay` no neuron leaves a cone it could stay in (Condition 2(2)).
    """
    constants, tau = constants_of(evidence), tau_of(evidence)
    if constants is None or tau is None:
        return None
    return FlowPlan(times=alignment_times(tau, constants.d_max), ridge=ridge)


def bring_to(
    target: Callable[Concatenate[AlignmentConstants, Evidence, More], float],
) -> Callable[Concatenate[Evidence, More], float]:
    """The `log_scale` of a theorem: the factor that brings ln lambda to a finite target."""

    @wraps(target)
    def factor(evidence: Evidence, /, *args: More.args, **kwargs: More.kwargs) -> float:
        constants = constants_of(evidence)
        aim = -math.inf if constants is None else target(constants, evidence, *args, **kwargs)
        return aim - log_lambda(evidence.network) if math.isfinite(aim) else 0.0

    return factor


def just_below_lambda_star(constants: AlignmentConstants, evidence: Evidence) -> float:
    """ln lambda a little below Eq. (22), where the outputs still bend the forces visibly."""
    return log_lambda_star(constants, evidence) - 0.1


def settled_before_tau(constants: AlignmentConstants, evidence: Evidence, *, saddles: bool) -> float:
    """ln lambda at which the bound on t_2 is reached just before tau (erratum E2)."""
    needed = -settling_time(constants, evidence, saddles=saddles) * constants.d_max / evidence.parameter("eps")
    return min(log_lambda_star(constants, evidence), needed) - 0.1


@bring_to
def log_scale_below_star(constants: AlignmentConstants, evidence: Evidence) -> float:
    """ln lambda just below Eq. (22)."""
    return just_below_lambda_star(constants, evidence)


@bring_to
def log_scale_settled(constants: AlignmentConstants, evidence: Evidence, *, saddles: bool) -> float:
    """ln lambda at which every neuron has settled just before tau."""
    return settled_before_tau(constants, evidence, saddles=saddles)


def alignment_numbers(evidence: Evidence) -> Constants:
    """The constants of the data in Theorems 1 and 3; none where there are too many cones to visit."""
    found = constants_of(evidence)
    if found is None:
        return {}
    return {
        "D_max": found.d_max,
        "D_min": found.d_min,
        "alpha_min": found.alpha_min,
        "delta_0": found.delta_0,
        "S": found.mean_square,
    }


def on_run(
    measure: Callable[Concatenate[Evidence, AlignmentConstants, More], Found],
) -> Callable[Concatenate[Evidence, More], Found]:
    """A conclusion about the alignment phase: undecided where the constants or the run are missing."""

    @wraps(measure)
    def measured(evidence: Evidence, /, *args: More.args, **kwargs: More.kwargs) -> Found:
        constants = require(constants_of(evidence), TOO_MANY)
        run = require(evidence.trajectory, r"no run was made: there is an alignment phase only for $\lambda < 1$")
        require(reaches_tau(evidence), rf"the run was not recorded at $\tau$: {run.outcome.sentence}")
        require(
            not any(np.any(states.shape.is_lost) for states in states_of(evidence)),
            "neurons have grown apart by more than $e^{700}$, which one network of doubles cannot hold",
        )
        return measure(evidence, constants, *args, **kwargs)

    return measured


def _judge_nonzero(evidence: Evidence) -> Comparison:
    zeros = int(np.sum(evidence.network.a == 0.0))
    return judgement(zeros == 0, float(-zeros), f"{zeros} neurons have $a_j = 0$; leave them out, they never move")


def _judge_constants(evidence: Evidence) -> Comparison:
    constants = require(constants_of(evidence), TOO_MANY)
    smallest = min(constants.alpha_min, constants.d_min, constants.delta_0, constants.label_bound)
    words = (
        rf"$\alpha_{{\min}}$ {constants.alpha_min:.4g}, $D_{{\min}}$ {constants.d_min:.4g}, $\delta_0$ "
        rf"{constants.delta_0:.4g}"
    )
    return judgement(smallest > 0.0, smallest, words)


def _judge_scale(evidence: Evidence) -> Comparison:
    constants = require(constants_of(evidence), r"$\lambda^*$ needs every cone, and there are too many")
    here, threshold = log_lambda(evidence.network), log_lambda_star(constants, evidence)
    return judgement(
        here < threshold, threshold - here, rf"$\ln\lambda$ = {here:.6g} against $\ln\lambda^*$ = {threshold:.6g}"
    )


def _settles_before_tau(evidence: Evidence, *, saddles: bool) -> Comparison:
    """The bound on t_2 of Theorem 1, or of Theorem 3, is at most tau (erratum E2)."""
    constants = require(constants_of(evidence), "the bound on $t_2$ needs every cone, and there are too many")
    limit, tau = settling_time(constants, evidence, saddles=saddles), tau_of(evidence) or 0.0
    return judgement(limit <= tau, tau - limit, rf"$t_2$ is at most {limit:.6g} against $\tau$ = {tau:.6g}")


NONZERO = Hypothesis("nonzero", r"every neuron starts with $a_j \ne 0$, so that $w_j/a_j$ is defined", _judge_nonzero)
POSITIVE_CONSTANTS = Hypothesis(
    "positive-constants", r"Lemmas 9, 10: $\alpha_{\min}$, $D_{\min}$ and $\delta_0$ are positive", _judge_constants
)
SMALL_SCALE = Hypothesis(
    "small-scale", r"$\lambda < \lambda^*$ of Eq. (22), and $\lambda < 1$", _judge_scale, is_regime=True
)
SETTLED = Hypothesis(
    "settled-before-tau",
    r"the bound on $t_2$ is at most $\tau$ (E2)",
    partial(_settles_before_tau, saddles=False),
    is_regime=True,
)
SETTLED_WITH_SADDLES = Hypothesis(
    "settled-before-tau",
    r"the bound on $t_2$, $2 D_{\max}/(D_{\min} \alpha_{\min})^2$, is at most $\tau$ (E2)",
    partial(_settles_before_tau, saddles=True),
    is_regime=True,
)

GENERIC_DATA = (assumed(SMOOTH_LOSS), assumed(GENERAL_POSITION), POSITIVE_CONSTANTS)
ALIGNMENT_SETTING = (*GENERIC_DATA, NONZERO, DOMINATED)
NO_SADDLES = (assumed(NO_SADDLE), assumed(NO_DEAD_SADDLE))
