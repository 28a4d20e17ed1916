"""The way of a neuron into its last cone, and in it: Eqs. (33), (34), (36) and (39), Remark 4 [boursier2024]."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.geometry.thresholds import AlignmentConstants
from reluflow.papers.boursier2024.paper import SETTING, THREE_POINTS
from reluflow.papers.boursier2024.theorems.alignment_inequalities import bent_speed, compared, slack
from reluflow.papers.boursier2024.theorems.alignment_regime import (
    ALIGNMENT_SETTING,
    ALPHA_0,
    EPS,
    NO_SADDLES,
    SETTLED,
    SETTLED_WITH_SADDLES,
    SMALL_SCALE,
    alignment_plan,
    alpha_of,
    bend_bound,
    bring_to,
    just_below_lambda_star,
    log_scale_below_star,
    log_scale_settled,
    met_at_start,
    on_run,
    settling_time,
    start_of,
    states_of,
)
from reluflow.papers.boursier2024.theorems.neuron_states import NeuronStates, satisfies_condition_2
from reluflow.theory.comparison import Comparison, Values, at_least, at_most, nothing, require
from reluflow.theory.elsewhere import part
from reluflow.theory.evidence import Evidence
from reluflow.theory.measures import AtLeast, Constants
from reluflow.theory.theorem import Conclusion, Reference, Theorem

NEVER_SETTLED = r"no neuron with the condition is alive in its last cone before $\tau$"


def _met(evidence: Evidence) -> BoolArray:
    return met_at_start(evidence, alpha_of(evidence))


def _ended(states: NeuronStates, start: NeuronStates) -> BoolArray:
    """Eq. (33), or Eq. (34): opposite to D in a cone that is not the first one."""
    has_moved = np.any(states.patterns != start.patterns, axis=1)
    return np.asarray(states.is_final | ((states.sides == -states.signs) & has_moved))


def _first_times(evidence: Evidence) -> FloatArray:
    """First recorded time at which each neuron has ended, infinite if never."""
    states, times = states_of(evidence), np.full(evidence.network.num_neurons, np.inf)
    for here in reversed(states):
        times[_ended(here, states[0])] = here.time
    return times


@on_run
def settles_in_time(evidence: Evidence, constants: AlignmentConstants, *, saddles: bool) -> Comparison:
    """Every neuron with the condition is in its last cone by the bound on t_2 of Theorem 1, or of Theorem 3."""
    times = require(_first_times(evidence)[_met(evidence)], "no neuron satisfies the condition at the start")
    return at_most(float(np.max(times)), settling_time(constants, evidence, saddles=saddles))


@on_run
def _steady_ascent(evidence: Evidence, constants: AlignmentConstants) -> Comparison:
    """While a neuron has not ended, <w/a, D> gains D_min^2 min(alpha_min, alpha_0)^2 / 2 per unit of time."""
    met, states = _met(evidence), states_of(evidence)
    rate = 0.5 * (constants.d_min * min(constants.alpha_min, alpha_of(evidence))) ** 2
    worst, count = np.inf, 0
    for before, after in pairwise(states):
        still = met & ~_ended(after, states[0])
        gained = (after.alignments - before.alignments)[still] / (after.time - before.time)
        worst, count = min(worst, float(np.min(gained, initial=np.inf))), count + int(np.sum(still))
    if count == 0 and np.all(_ended(states[0], states[0])[met]):
        return nothing(f"all {int(np.sum(met))} neurons with the condition start in their last cone")
    require(count != 0, "every neuron has ended at the first recorded time after 0")
    return at_least(worst, rate, detail=f"slowest ascent {worst:.6g} against {rate:.6g}, {count} stretches")


EQ_33 = Theorem(
    "boursier2024:eq33",
    Reference("boursier2024", "Eqs. (33), (34)"),
    r"A neuron with Condition 1 has entered its last cone by "
    r"$t_2 \le 4 D_{\max}/(D_{\min}\,\min(\alpha_{\min}, \alpha_0))^2$; until then $\langle w/a, D\rangle$ grows "
    r"at rate $D_{\min}^2\,\min(\alpha_{\min}, \alpha_0)^2/2$ or faster.",
    hypotheses=(*ALIGNMENT_SETTING, *NO_SADDLES, SMALL_SCALE, SETTLED),
    conclusions=(
        Conclusion(
            "t_2", "every neuron with Condition 1 is in its last cone by $t_2$", partial(settles_in_time, saddles=False)
        ),
        Conclusion("ascent", r"until then $\langle w/a, D\rangle$ grows at the stated rate", _steady_ascent),
    ),
    parameters=(EPS, ALPHA_0),
    plan=alignment_plan,
    log_scale=partial(log_scale_settled, saddles=False),
    setting=SETTING,
    example=THREE_POINTS,
    erratum=r"E2: $t_2 \le \tau$ is a hypothesis on the scale, and not the trivial case the proof takes it for.",
)

EQ_34 = part(
    "boursier2024:eq34", "Eq. (34)", EQ_33, "the second way to end: opposite to $D$ in a cone that is not the first"
)

EQ_39 = Theorem(
    "boursier2024:eq39",
    Reference("boursier2024", "Eq. (39)"),
    r"A neuron with Condition 2 has entered its last cone by $t_2 \le 2 D_{\max}/(D_{\min} \alpha_{\min})^2$, with "
    r"saddles or without; until then $\langle w/a, D\rangle$ grows at rate $D_{\min}^2 \alpha_{\min}^2/2$ or faster.",
    hypotheses=(*ALIGNMENT_SETTING, SMALL_SCALE, SETTLED_WITH_SADDLES),
    conclusions=(
        Conclusion(
            "t_2", "every neuron with Condition 2 is in its last cone by $t_2$", partial(settles_in_time, saddles=True)
        ),
        Conclusion("ascent", r"until then $\langle w/a, D\rangle$ grows at the stated rate", _steady_ascent),
    ),
    parameters=(EPS,),
    plan=partial(alignment_plan, ridge="stay"),
    log_scale=partial(log_scale_settled, saddles=True),
    setting=SETTING,
    example="linear-teacher:n=3,d=3",
    erratum=r"E2: $t_2 \le \tau$ is a hypothesis on the scale.",
)

# Eq. (36) -------------------------------------------------------------------------------------------------------------


def _after_settling(evidence: Evidence) -> Iterator[tuple[NeuronStates, NeuronStates, BoolArray]]:
    """Pairs (entry, later) of recorded times with the living neurons that are in their last cone from `entry` on."""
    states, times, met = states_of(evidence), _first_times(evidence), _met(evidence)
    for index, entry in enumerate(states):
        new = met & (times == entry.time) & ~entry.is_dead & (entry.sides == entry.signs)
        if np.any(new):
            yield from ((entry, later, new) for later in states[index + 1 :])


@on_run
def _hyperbolic(evidence: Evidence, constants: AlignmentConstants) -> Comparison:
    """<w/a, D> >= c_j tanh(c_j (t - t_0)), t_0 from equality at the first recorded time in the last cone."""
    slacks = (slack(*stretch, bend_bound(evidence, constants)) for stretch in _after_settling(evidence))
    return compared(slacks, r"$\langle w/a, D\rangle$ exceeds $c_j \tanh$ by {:.4g} or more", without=NEVER_SETTLED)


@on_run
def _exponential(evidence: Evidence, constants: AlignmentConstants) -> Values:
    """<w/a, D> >= c_j (1 - 4/min(alpha_min, alpha_0)^2 exp(-c_j (t - t_2)))."""
    factor = 4.0 / min(constants.alpha_min, alpha_of(evidence)) ** 2
    for entry, later, new in _after_settling(evidence):
        c = bent_speed(entry.speeds[new], bend_bound(evidence, constants))
        yield later.alignments[new] - c * (1.0 - factor * np.exp(-c * (later.time - entry.time)))


@bring_to
def log_scale_of_lifetimes(constants: AlignmentConstants, evidence: Evidence) -> float:
    """ln lambda below Eq. (22) for which tau is ten times 1/|D| of the shortest extremal vector."""
    shortest = float(np.min(evidence.facts.extremal.norms, initial=constants.d_max))
    lifetimes = -10.0 * constants.d_max / (shortest * evidence.parameter("eps"))
    return min(just_below_lambda_star(constants, evidence), lifetimes)


EQ_36 = Theorem(
    "boursier2024:eq36",
    Reference("boursier2024", "Eq. (36)"),
    r"In its last cone, up to $\tau$, $\langle w/a, D\rangle \ge c_j\,\tanh(c_j (t - t_0))$ with "
    r"$c_j^2 = |D|^2 - 2 |D| \lambda^{2 - 4\varepsilon} S$, and "
    r"$\langle w/a, D\rangle \ge c_j (1 - (4/\min(\alpha_{\min}, \alpha_0)^2)\,\exp(-c_j (t - t_2)))$.",
    hypotheses=(*ALIGNMENT_SETTING, *NO_SADDLES, SMALL_SCALE),
    conclusions=(
        Conclusion("tanh", r"$\langle w/a, D\rangle$ stays above the hyperbolic tangent", _hyperbolic),
        Conclusion(
            "exponential",
            r"$\langle w/a, D\rangle$ stays above the exponential",
            AtLeast(_exponential, 0.0, allowance=1e-14, without=NEVER_SETTLED),
        ),
    ),
    parameters=(EPS, ALPHA_0),
    plan=alignment_plan,
    log_scale=log_scale_of_lifetimes,
    setting=SETTING,
    example=THREE_POINTS,
    holds_for_descent=True,
)

# Remark 4 -------------------------------------------------------------------------------------------------------------


@on_run
def _stays_positive(evidence: Evidence, constants: AlignmentConstants) -> Comparison:
    """<w/a, D> of neurons that start with it positive stays above its start, or above c_j once it has passed that."""
    start, bend = start_of(evidence), bend_bound(evidence, constants)
    met = satisfies_condition_2(start)
    require(np.any(met), r"no neuron starts with $\langle w/a, D\rangle > 0$")
    least, worst = np.inf, np.inf
    for here in states_of(evidence):
        floor = np.minimum(start.alignments, bent_speed(here.speeds, bend))
        least = min(least, float(np.min(here.alignments[met])))
        worst = min(worst, float(np.min((here.alignments - floor)[met])))
    return at_least(
        worst, 0.0, allowance=1e-12, detail=rf"{int(np.sum(met))} neurons, least $\langle w/a, D\rangle$ {least:.4g}"
    )


def _falling_sums(evidence: Evidence) -> Constants:
    """How many neurons have |D| + <w/a, D> smaller at a later recorded time."""
    if evidence.trajectory is None:
        return {}
    sums = np.array([states.speeds + states.alignments for states in states_of(evidence)])
    return {"neurons_with_falling_sum": int(np.sum(np.any(np.diff(sums, axis=0) < -1e-9, axis=0)))}


REMARK_4 = Theorem(
    "boursier2024:remark4",
    Reference("boursier2024", "Remark 4"),
    r"A neuron that starts with $\langle w/a, D\rangle > 0$ keeps it: the quantity grows until the last cone. "
    r"$|D| + \langle w/a, D\rangle$ need not grow, for $|D|$ jumps between cones; $c_j$ is that of Eq. (36).",
    hypotheses=(*ALIGNMENT_SETTING, SMALL_SCALE),
    conclusions=(
        Conclusion(
            "positive", r"$\langle w/a, D\rangle$ is at least the smaller of its start and $c_j$", _stays_positive
        ),
    ),
    constants=_falling_sums,
    parameters=(EPS,),
    plan=partial(alignment_plan, ridge="stay"),
    log_scale=log_scale_below_star,
    setting=SETTING,
    example=THREE_POINTS,
)
