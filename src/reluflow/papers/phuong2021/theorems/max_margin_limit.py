"""Where training ends: runs to log t = 600, read for Theorem 1 and Corollary 1 [phuong2021]."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from reluflow.arrays import FloatArray, IntArray
from reluflow.certificates.limits.directions import unit_norm
from reluflow.certificates.pattern_margin import max_margin_in_patterns
from reluflow.data.dataset import Dataset
from reluflow.dynamics.stopping import Exhausted
from reluflow.network import Network
from reluflow.papers.phuong2021.assumptions import SUPPORT_SPANS
from reluflow.papers.phuong2021.paper import EXAMPLE, SETTING
from reluflow.papers.phuong2021.theorems.sectors import LEFT, Sign, two_groups
from reluflow.papers.phuong2021.theorems.two_neuron_limit import (
    Death,
    TwoNeuronLimit,
    both_groups_chance,
    class_vectors,
    death_measurement,
    group_square,
    limit_of,
    log_dead_bound,
    one_neuron_death,
)
from reluflow.theory.comparison import Comparison, Level, Source, at_most, judgement, nothing, require, undecided
from reluflow.theory.condition import DataHypotheses
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.hypotheses import BALANCED, FADING_LOSS, RELU, assumed
from reluflow.theory.measures import AtMost, Constants, Quantities
from reluflow.theory.separability import ORTHOGONALLY_SEPARABLE
from reluflow.theory.theorem import Conclusion, Hypothesis, Parameter, Reference, Theorem

SOLVED = 1e-7  # the direction solved for in the final patterns is exact to about 1e-9


_GROUPS = {"J+": 1, "J-": -1, "dead": 0, "unsorted": LEFT}  # as `two_groups` codes them


def late_plan(evidence: Evidence) -> FlowPlan:
    """Snapshots at time 0 and at four times, even in log log t."""
    logs = np.geomspace(20.0, evidence.parameter("log_time"), 4)
    return FlowPlan(times=(0.0, *np.exp(logs)), until=Exhausted(), horizon=float(np.exp(logs[-1])))


def late_networks(evidence: Evidence) -> list[tuple[float, Network]]:
    """log t and network of the snapshots after time 0."""
    return [(float(np.log(s.time)), s.network) for s in evidence.run.snapshots if s.time > 1.0]


@computed_once
def limit(evidence: Evidence) -> TwoNeuronLimit:
    """The closed-form limit for the groups and shares of the last snapshot."""
    return limit_of(late_networks(evidence)[-1][1], evidence)


def _is_late(evidence: Evidence) -> Comparison:
    count = len(late_networks(evidence))
    words = f"{count} late snapshots; the run ended: {evidence.run.outcome}"
    if count < 2 and evidence.run.outcome.is_cut_short:
        return undecided(words)
    return judgement(count >= 2, float(count - 2), words)


def _last_groups(evidence: Evidence) -> IntArray:
    """The group of each neuron at the last time."""
    require(_is_late(evidence).holds, "there is no late snapshot")
    return two_groups(late_networks(evidence)[-1][1], evidence.dataset)


def _all_sorted(evidence: Evidence) -> Comparison:
    counts = {name: int(np.sum(_last_groups(evidence) == code)) for name, code in _GROUPS.items()}
    words = f"{counts['J+']} in $J_+$, {counts['J-']} in $J_-$, {counts['dead']} dead, {counts['unsorted']} unsorted"
    return judgement(counts["unsorted"] == 0, float(-counts["unsorted"]), f"{words} at the last time")


def _someone_lives(evidence: Evidence) -> Comparison:
    alive = int(np.sum(_last_groups(evidence) != 0))
    return judgement(alive > 0, float(alive), f"{alive} neurons are not dead")


def relative(network: Network) -> tuple[FloatArray, FloatArray]:
    """W/|W| and a/|a|, the weights of the neurons counted."""
    root = np.sqrt(network.weight)
    w, a = network.w * root[:, None], network.a * root
    return np.asarray(w / np.linalg.norm(w)), np.asarray(a / np.linalg.norm(a))


def distances(evidence: Evidence, part: str) -> list[float]:
    """Distance of W/|W| (part "W") or a/|a| from the limit at each late time."""
    target = limit(evidence)
    found = []
    for _, network in late_networks(evidence):
        W, a = relative(network)
        found.append(float(np.linalg.norm(W - target.W) if part == "W" else np.linalg.norm(a - target.a)))
    return found


def falls(evidence: Evidence, find: Callable[[Evidence], list[float]], *, by_root: bool) -> Comparison:
    """The last distance against C (log t)^(-1/2) and the largest earlier one; without `by_root`, the one before it.

    A distance may pass through a small value on its way, so with a rate to meet successive ones need not fall.
    """
    found = find(evidence)
    require(len(found) >= 2, "fewer than two late snapshots")
    logs = [log for log, _ in late_networks(evidence)]
    bound = found[-2]
    if by_root:
        bound = min(max(found[:-1]), evidence.parameter("closeness") / np.sqrt(logs[-1]))
    values = ", ".join(rf"{distance:.3g} at $\log t$ = {log:.4g}" for log, distance in zip(logs, found, strict=True))
    return at_most(found[-1], bound, allowance=1e-12, detail=f"distance {values}")


def _seen(evidence: Evidence, signs: list[int]) -> Dataset:
    """The samples of these classes."""
    keep = np.isin(evidence.dataset.y, signs)
    return Dataset(evidence.dataset.X[keep], evidence.dataset.y[keep])


@computed_once
def solved_limit(evidence: Evidence) -> Network:
    """The direction the last state tends to, by a conic program in its patterns, on the classes that have a group."""
    last = unit_norm(late_networks(evidence)[-1][1])
    code = two_groups(last, evidence.dataset)
    return max_margin_in_patterns(last, _seen(evidence, [sign for sign in (1, -1) if np.any(code == sign)]))


def limit_predictions(evidence: Evidence) -> Constants:
    """The closed values of |u|^2, |z|^2, the growth rates and the weights of the function."""
    target = limit(evidence)
    first, second = target.function_weights
    plus, minus = class_vectors(evidence)
    return {
        "u_squared": float(target.u @ target.u),
        "z_squared": float(target.z @ target.z),
        "nu_plus": plus.norm if np.any(target.u) else 0.0,
        "nu_minus": minus.norm if np.any(target.z) else 0.0,
        "function_u": first,
        "function_z": second,
    }


def _exact_limit(evidence: Evidence) -> float:
    """Distance of the solved direction from the closed form, W and a together."""
    (W, a), target = relative(solved_limit(evidence)), limit(evidence)
    return float(np.hypot(np.linalg.norm(W - target.W), np.linalg.norm(a - target.a)))


def _still_allowed(evidence: Evidence) -> float:
    """C/log t at the last time: limits are approached logarithmically; 0.2/log t was the largest distance seen."""
    return evidence.parameter("closeness") / late_networks(evidence)[-1][0]


def _share(evidence: Evidence, sign: Sign) -> Comparison:
    """|u|^2 (|z|^2) read off the last state, against its closed form."""
    target = limit(evidence)
    vector, wanted = (target.w_plus, target.u) if sign == 1 else (target.w_minus, target.z)
    W, _ = relative(late_networks(evidence)[-1][1])
    measured = np.where(
        two_groups(late_networks(evidence)[-1][1], evidence.dataset) == sign, W @ vector / (vector @ vector), 0.0
    )
    expected = float(wanted @ wanted)
    error = abs(float(measured @ measured) - expected) / max(expected, 1.0)
    words = f"{float(measured @ measured):.8g} at the last time, limit {expected:.8g}"
    return at_most(error, _still_allowed(evidence), detail=words)


def _growth(evidence: Evidence, sign: Sign) -> Comparison:
    """Growth of |W_+|^2 per unit of log t + log log t between the last two times, against |w_+|."""
    late = late_networks(evidence)[-2:]
    require(len(late) >= 2, "fewer than two late snapshots")
    squares = [group_square(network, evidence, sign) for _, network in late]
    lengths = [vector.norm for vector in class_vectors(evidence)]
    if squares[-1] == 0.0:
        return nothing("the group is empty")
    rate = (squares[1] - squares[0]) / (late[1][0] + np.log(late[1][0]) - late[0][0] - np.log(late[0][0]))
    expected = lengths[0] if sign == 1 else lengths[1]
    words = rf"{rate:.8g} against $|w|$ = {expected:.8g}; $|W|^2/\log t$ is {squares[1] / late[1][0]:.6g}"
    return at_most(abs(rate / expected - 1.0), _still_allowed(evidence), detail=words)


LATE = (
    FADING_LOSS,
    RELU,
    BALANCED,
    assumed(ORTHOGONALLY_SEPARABLE),
    assumed(SUPPORT_SPANS),
    Hypothesis("late-run", "the run reaches at least two of its late times", _is_late, needs_trajectory=True),
    Hypothesis("not-all-dead", "some neuron survives, the event of Theorem 1", _someone_lives, needs_trajectory=True),
)
ALL_SORTED = Hypothesis(
    "small-scale",
    "every neuron has been sorted by the end of the run",
    _all_sorted,
    is_regime=True,
    needs_trajectory=True,
)
LOG_TIME = Parameter("log_time", 600.0, "logarithm of the last time of the run", low=25.0, high=600.5999999999999)
CLOSENESS = Parameter(
    "closeness", 1.0, r"$C$ of the $C/\log t$ by which shares and growth rates may still differ", low=0.0
)


def _class_vector(evidence: Evidence, sign: Sign) -> FloatArray:
    plus, minus = class_vectors(evidence)
    return plus.w if sign == 1 else minus.w


def _death_positive(evidence: Evidence) -> float:
    return evidence.recorded(Death).positive


def _death_negative(evidence: Evidence) -> float:
    return evidence.recorded(Death).negative


def _death_is_exact(evidence: Evidence) -> bool:
    return evidence.recorded(Death).is_exact


THM_1 = Theorem(
    "phuong2021:thm1",
    Reference("phuong2021", "Theorem 1"),
    r"$W/|W|$ tends to $u w_+^\top + z w_-^\top$ and $a/|a|$ to $u|w_+| - z|w_-|$ with $u, z \ge 0$, "
    r"$u_j z_j = 0$; with both groups $|u|^2 = 1/(|w_+|(|w_+| + |w_-|))$, $|z|^2 = 1/(|w_-|(|w_+| + |w_-|))$ and "
    r"$|W_+|^2/\log t \to |w_+|$; with probability at least $1 - 2^{-m}$ over the draw.",
    hypotheses=(*LATE, ALL_SORTED),
    conclusions=(
        Conclusion(
            "W",
            r"Eq. (8): $|W/|W| - (u w_+^\top + z w_-^\top)|$ falls",
            partial(falls, find=partial(distances, part="W"), by_root=True),
            Level.EXACT,
            Source.RELUFLOW,
        ),
        Conclusion(
            "a",
            "Eq. (9): $|a/|a| - (u|w_+| - z|w_-|)|$ falls",
            partial(falls, find=partial(distances, part="a"), by_root=True),
            Level.EXACT,
            Source.RELUFLOW,
        ),
        Conclusion(
            "limit",
            "Eqs. (8), (9): the direction the run tends to is that limit",
            AtMost(_exact_limit, SOLVED, words="the direction solved for in the final patterns is {measured:.2g} away"),
            Level.EXACT,
        ),
        Conclusion("u", "$|u|^2$ takes its closed value", partial(_share, sign=1), Level.SCALING, Source.RELUFLOW),
        Conclusion("z", "$|z|^2$ takes its closed value", partial(_share, sign=-1), Level.SCALING, Source.RELUFLOW),
        Conclusion(
            "growth-plus",
            r"$|W_+|^2$ grows like $|w_+| (\log t + \log\,\log t)$",
            partial(_growth, sign=1),
            Level.SCALING,
            Source.RELUFLOW,
        ),
        Conclusion(
            "growth-minus",
            r"$|W_-|^2$ grows like $|w_-| (\log t + \log\,\log t)$",
            partial(_growth, sign=-1),
            Level.SCALING,
            Source.RELUFLOW,
        ),
        Conclusion("probability", "a neuron dies with probability at most 1/2", death_measurement),
    ),
    constants=Quantities(
        {
            "w_plus": partial(_class_vector, sign=1),
            "w_minus": partial(_class_vector, sign=-1),
            "death_positive": _death_positive,
            "death_negative": _death_negative,
            "death_is_exact": _death_is_exact,
            "both_groups_probability": both_groups_chance,
            "log_dead_probability_bound": log_dead_bound,
        }
    ),
    predictions=limit_predictions,
    parameters=(LOG_TIME, CLOSENESS),
    plan=late_plan,
    record=one_neuron_death,
    setting=SETTING,
    example=EXAMPLE,
    erratum="P7, P8, P16: 'at least' $1 - 2^{-m}$, the norms of $u$ and $z$, and an exponential tail of the loss "
    "are supplied.",
    departs="The scale's threshold is not explicit: the check asks that every neuron is sorted by the last time. The "
    "approach is logarithmic, so the limit itself is solved for in the final patterns, and that decides.",
    diagnosed=DataHypotheses(losses=("logistic", "exponential"), leaks="relu"),
)

# Corollary 1 ----------------------------------------------------------------------------------------------------------


def _probes(evidence: Evidence) -> FloatArray:
    X = np.random.default_rng(0).standard_normal((200, evidence.dataset.d))
    return np.asarray(X / np.linalg.norm(X, axis=1)[:, None])


def _limit_function(evidence: Evidence) -> FloatArray:
    """f(x)/|theta|^2 of the limit at the probes."""
    return limit(evidence).function(_probes(evidence))


def _function_error(evidence: Evidence, network: Network) -> float:
    """Largest difference of f(x)/|theta|^2 of a network from that, over the probes."""
    return float(np.max(np.abs(unit_norm(network).outputs(_probes(evidence)) - _limit_function(evidence))))


def function_errors(evidence: Evidence) -> list[float]:
    """The same at each late time."""
    return [_function_error(evidence, network) for _, network in late_networks(evidence)]


def _limit_error(evidence: Evidence) -> float:
    return _function_error(evidence, solved_limit(evidence))


def _function_weight(evidence: Evidence, index: int) -> float:
    return limit(evidence).function_weights[index]


COR_1 = Theorem(
    "phuong2021:cor1",
    Reference("phuong2021", "Corollary 1"),
    r"$f(x)/|\theta|^2$ tends to $u s(\langle w_+, x\rangle) - z s(\langle w_-, x\rangle)$; with both groups "
    r"$u = z = 1/(2 (|w_+| + |w_-|))$, so the function learnt is "
    r"$s(\langle w_+, x\rangle) - s(\langle w_-, x\rangle)$ up to scale.",
    hypotheses=(*LATE, ALL_SORTED),
    conclusions=(
        Conclusion(
            "function",
            "the largest error on 200 unit $x$ falls",
            partial(falls, find=function_errors, by_root=True),
            Level.EXACT,
            Source.RELUFLOW,
        ),
        Conclusion("limit", "the function of the limit is the stated one", AtMost(_limit_error, SOLVED), Level.EXACT),
    ),
    predictions=Quantities(
        {"function_u": partial(_function_weight, index=0), "function_z": partial(_function_weight, index=1)}
    ),
    parameters=(LOG_TIME, CLOSENESS),
    plan=late_plan,
    setting=SETTING,
    example=EXAMPLE,
    erratum="P16: the constants $u$ and $z$ are left open in Eq. (10); with both groups they are equal.",
)
