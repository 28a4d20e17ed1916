"""The last phase: two neurons on symmetric data, Theorem 5.5; starts near a maximiser, Theorem 5.6 [lyu2021]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.kkt import normalized_margin
from reluflow.certificates.limits.certified_limit import CertifiedLimit, LimitIdentified, certified_limit
from reluflow.certificates.limits.directions import direction_distance, unit_norm
from reluflow.dynamics.trajectory import Outcome, Trajectory
from reluflow.network import Network
from reluflow.papers.lyu2021.assumptions import SYMMETRIC_SAMPLES
from reluflow.papers.lyu2021.paper import EXAMPLE
from reluflow.papers.lyu2021.theorems.hypotheses import MEAN_LOSS
from reluflow.papers.lyu2021.theorems.kkt_directions import KKT_RTOL, LOG_HORIZON, until_limit
from reluflow.papers.lyu2021.theorems.limits import best_margin_found, best_network, separator_of
from reluflow.papers.lyu2021.theorems.linear_maximiser import MARGIN_RTOL, best_margin, relative_margin
from reluflow.papers.lyu2021.theorems.parameters import REACH, START_MARGIN, chosen
from reluflow.papers.lyu2021.theorems.unit_ball import DRAW_SEED, unit_ball
from reluflow.theory.comparison import (
    Comparison,
    Source,
    Values,
    certified,
    closes_in,
    fails,
    judgement,
    require,
    requires,
)
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.flow_plan import Companion, FlowPlan
from reluflow.theory.hypotheses import LEAKY, NO_RIDGE, TWO_NEURONS_OR_MORE, assumed
from reluflow.theory.measures import AtLeast, AtMost, Equals, Quantities
from reluflow.theory.separability import LINEARLY_SEPARABLE
from reluflow.theory.setting import Setting
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem

# Thm 5.5 --------------------------------------------------------------------------------------------------------------

_NO_PAIR = "no run of the pair was made"


def opposite_pair(separator: FloatArray) -> Network:
    """(1/2)(w*, -w*, 1, -1), the limit of Theorem 5.5 (erratum E3: the paper prints 1/4, a vector of norm 1/2)."""
    signs = np.array([1.0, -1.0])
    return Network(0.5 * np.outer(signs, separator), 0.5 * signs)


def opposite_start(network: Network, separator: FloatArray) -> Network:
    """The first two neurons, balanced, with a_1 > 0 > a_2 and <w_1, w*> > 0 > <w_2, w*>; w is mirrored where needed."""
    w, signs = network.w[:2], np.array([1.0, -1.0])
    side = np.where(signs * (w @ separator) < 0.0, -1.0, 1.0)
    return network.replace(w=side[:, None] * w, a=signs * np.linalg.norm(w, axis=1), weight=np.ones(2))


def _pair_plan(evidence: Evidence) -> FlowPlan:
    whole = until_limit(evidence)
    start = opposite_start(evidence.network, separator_of(evidence).w)
    return FlowPlan(
        times=whole.times[:1],
        companions=(Companion("pair", start, whole.times, whole.until),),
        log_horizon=whole.log_horizon,
    )


def _pair_run(evidence: Evidence) -> Trajectory | None:
    return evidence.companions.get("pair")


@computed_once
def _pair_limit(evidence: Evidence) -> CertifiedLimit:
    return certified_limit(require(_pair_run(evidence), _NO_PAIR))


def _relative_pair_margin(evidence: Evidence) -> float:
    """Margin of the limit over ((1 + leak)/4) gamma*."""
    return relative_margin(evidence, _pair_limit(evidence).network)


def _pair_is_unique(evidence: Evidence) -> Comparison:
    run, limit = require(_pair_run(evidence), _NO_PAIR), _pair_limit(evidence)
    if run.outcome is Outcome.RIDGE:
        return fails("a ridge was met")
    return judgement(True if limit.is_proof else None, None, limit.reason)


PAIR_LIMIT = Hypothesis(
    "pair-limit", "the pair's flow met no ridge and its limit is identified", _pair_is_unique, needs_trajectory=True
)


def _target(evidence: Evidence) -> Network:
    return opposite_pair(separator_of(evidence).w)


def _limit_is_the_pair(evidence: Evidence) -> float:
    """Distance of the limit to (1/2)(w*, -w*, 1, -1)."""
    return direction_distance(_pair_limit(evidence).network, _target(evidence))


@requires(_pair_run, _NO_PAIR)
def _run_closes_in(evidence: Evidence, run: Trajectory) -> Comparison:
    """Distance of the run's direction to that pair, over the snapshots."""
    return closes_in([direction_distance(unit_norm(s.network), _target(evidence)) for s in run.snapshots])


@dataclass(frozen=True)
class _OfThePair:
    """A measure of the pair's limit, which the hypothesis `pair-limit` has proved."""

    measure: Callable[[Evidence], Comparison]

    def __call__(self, evidence: Evidence) -> Comparison:
        require(_pair_limit(evidence).is_proof, _NO_PAIR)
        return certified(self.measure(evidence))


THM_5_5 = Theorem(
    "lyu2021:thm5.5",
    Reference("lyu2021", "Thm 5.5"),
    "On symmetric data two balanced neurons, each on its side of $w^*$, tend to $(1/2)(w^*, -w^*, 1, -1)$.",
    hypotheses=(
        MEAN_LOSS,
        LEAKY,
        assumed(LINEARLY_SEPARABLE),
        assumed(SYMMETRIC_SAMPLES),
        TWO_NEURONS_OR_MORE,
        PAIR_LIMIT,
    ),
    conclusions=(
        Conclusion(
            "pair",
            "distance of the limit to $(1/2)(w^*, -w^*, 1, -1)$",
            _OfThePair(AtMost(_limit_is_the_pair, 1e-6)),
            is_asymptotic=True,
        ),
        Conclusion(
            "run",
            "the run's own direction closes in",
            _run_closes_in,
            source=Source.RELUFLOW,
            is_asymptotic=True,
        ),
        Conclusion(
            "margin",
            r"margin of the limit over $((1 + \mathrm{leak})/4) \gamma^*$",
            _OfThePair(Equals(_relative_pair_margin, 1.0, allowance=MARGIN_RTOL)),
            is_asymptotic=True,
        ),
    ),
    predictions=Quantities({"margin": best_margin}),
    plan=_pair_plan,
    setting=Setting(loss="logistic", leak=None, init="lyu-balanced", width=2, scale="1e-2"),
    example=EXAMPLE,
    erratum="E3: the limit is $(1/2)(w^*, -w^*, 1, -1)$, of norm 1; the paper prints 1/4.",
    departs="The start is made of the first two neurons of the draw: balanced and put on their sides of $w^*$.",
)

# Thm 5.6 --------------------------------------------------------------------------------------------------------------

_SIZES = (0.1, 0.01, 0.001)


def _maximiser(evidence: Evidence) -> Network | None:
    """The best network with every neuron split in two, so that a whole family of equal margin lies around it."""
    found = best_network(evidence).network
    if found is None:
        return None
    parts = np.array([0.8, 0.6])  # their squares sum to 1, so the function and the norm are kept
    network = unit_norm(found)
    return network.replace(
        w=np.vstack([p * network.w for p in parts]),
        a=np.concatenate([p * network.a for p in parts]),
        weight=np.tile(network.weight, 2),
    )


def _has_maximiser(evidence: Evidence) -> Comparison:
    if not evidence.dataset.is_binary:
        return fails("the labels are not -1 and 1")
    found = best_network(evidence)
    if found.network is None:
        return fails("no network that classifies every sample was found")
    words = f"margin {found.margin:.9g}, gap {found.gap:.2g}"
    return judgement(True if found.gap <= MARGIN_RTOL else None, MARGIN_RTOL - found.gap, words)


MAX_MARGIN_DIRECTION = Hypothesis(
    "max-margin-direction", "a local-max-margin direction is known: the global one", _has_maximiser
)


def _perturbed_plan(evidence: Evidence) -> FlowPlan:
    best, ball = _maximiser(evidence), unit_ball(evidence)
    times = (1.0 / ball.radius,)
    if best is None:
        return FlowPlan(times=times)
    rng = np.random.default_rng(DRAW_SEED)
    noise = rng.standard_normal((best.num_neurons, best.d + 1))
    noise /= np.linalg.norm(noise)
    # rho^2 times the margin is the smallest output margin at the start
    log_norm = 0.5 * float(np.log(evidence.parameter("start_margin") / best_network(evidence).margin))
    companions = tuple(
        Companion(
            f"size {size:g}",
            unit_norm(best.replace(w=best.w + size * noise[:, :-1], a=best.a + size * noise[:, -1])).scaled(log_norm),
            until=LimitIdentified(kkt=KKT_RTOL, smallest_margin=1.5 * evidence.parameter("start_margin")),
        )
        for size in _SIZES
    )
    return FlowPlan(times=times, companions=companions, log_horizon=LOG_HORIZON)


@computed_once
def _limits(evidence: Evidence) -> list[tuple[float, Network]] | None:
    """(size of the perturbation, limit) of every companion, or None where one has no certified limit."""
    found = []
    for size in _SIZES:
        run = evidence.companions.get(f"size {size:g}")
        limit = certified_limit(run) if run is not None else None
        if limit is None or not limit.is_proof:
            return None
        found.append((size, limit.network))
    return found


_NO_LIMITS = "the perturbed runs, or their limits, are missing"


@requires(_limits, _NO_LIMITS)
def _same_margin(evidence: Evidence, limits: list[tuple[float, Network]]) -> Values:
    """Margin of each limit over that of the maximiser."""
    return [normalized_margin(network, evidence.dataset) / best_network(evidence).margin for _, network in limits]


@requires(_limits, _NO_LIMITS)
def _nearby(evidence: Evidence, limits: list[tuple[float, Network]]) -> Values:
    """Distance of each limit to the maximiser over the size of the perturbation."""
    best = require(_maximiser(evidence), _NO_LIMITS)
    return [direction_distance(network, best) / size for size, network in limits]


THM_5_6 = Theorem(
    "lyu2021:thm5.6",
    Reference("lyu2021", "Thm 5.6"),
    "Started long and close enough to a local-max-margin direction, the flow tends to one of equal margin.",
    hypotheses=(MEAN_LOSS, MAX_MARGIN_DIRECTION, NO_RIDGE),
    conclusions=(
        Conclusion(
            "margin",
            "margin of the limits over that of the maximiser",
            AtLeast(_same_margin, 1.0, allowance=MARGIN_RTOL),
        ),
        Conclusion(
            "distance",
            "distance of the limits to it, over the size of the perturbation",
            AtMost(_nearby, partial(chosen, parameter=REACH)),
            source=Source.RELUFLOW,
        ),
    ),
    constants=Quantities({"margin": best_margin_found}),
    parameters=(START_MARGIN, REACH),
    plan=_perturbed_plan,
    setting=Setting(loss="logistic", leak=None, init="lyu-gaussian", width=4),
    example=EXAMPLE,
    departs="The theorem asserts that some radius and norm suffice, for every local-max-margin direction of any "
    "homogeneous network: three perturbations of the global maximiser of two layers are tried, from the norm that "
    "`start_margin` fixes. How near the limit stays, over the size of the perturbation, is ours.",
)
