"""Where the late phase ends: for two neurons on symmetric data (Theorem 5.5), near a local maximiser (Theorem 5.6)."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.kkt import normalized_margin
from reluflow.dynamics.trajectory import Outcome, Trajectory
from reluflow.network import Network
from reluflow.theory.condition import Judgement, fails, undecided
from reluflow.theory.evidence import Companion, Evidence, FlowPlan, kept
from reluflow.theory.hypotheses import data_assumption, leaky_activation, no_ridge_met, width_at_least
from reluflow.theory.limit import CertifiedLimit, LimitIdentified, certified_limit, direction_distance, unit_norm
from reluflow.theory.lyu2021.kkt_directions import KKT_RTOL, LOG_HORIZON, until_limit
from reluflow.theory.lyu2021.limits import best_network
from reluflow.theory.lyu2021.symmetric_margin import MARGIN_RTOL, best_margin, separator_of
from reluflow.theory.lyu2021.unit_ball import DRAW_SEED, mean_logistic, unit_ball
from reluflow.theory.measurement import Measurement, at_least, at_most, closes_in, equals, missing
from reluflow.theory.stating import conclusion, hypothesis, needs, theorems_of
from reluflow.theory.theorem import Parameter, Setting

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


@kept
def _pair_limit(evidence: Evidence) -> CertifiedLimit | None:
    run = _pair_run(evidence)
    return None if run is None else certified_limit(run)


@hypothesis("pair-limit", "the pair's flow met no ridge and its limit is identified", needs_trajectory=True)
def _pair_is_unique(evidence: Evidence) -> Judgement:
    run, limit = _pair_run(evidence), _pair_limit(evidence)
    if run is None or limit is None:
        return undecided("no run of the pair was made")
    if run.outcome is Outcome.RIDGE:
        return fails("a ridge was met")
    return Judgement(True if limit.is_proof else None, None, limit.reason)


def _target(evidence: Evidence) -> Network:
    return opposite_pair(separator_of(evidence).w)


@conclusion("pair", "distance of the limit to (1/2)(w*, -w*, 1, -1)")
def _limit_is_the_pair(evidence: Evidence) -> Measurement:
    """Distance of the limit to (1/2)(w*, -w*, 1, -1)."""
    limit = _pair_limit(evidence)
    return missing(_NO_PAIR) if limit is None else at_most(direction_distance(limit.network, _target(evidence)), 1e-6)


@conclusion("run", "the run's own direction closes in")
@needs(_pair_run, _NO_PAIR)
def _run_closes_in(evidence: Evidence, run: Trajectory) -> Measurement:
    """Distance of the run's direction to that pair, over the snapshots."""
    return closes_in([direction_distance(unit_norm(s.network), _target(evidence)) for s in run.snapshots])


@conclusion("margin", "margin of the limit over ((1 + leak)/4) gamma*")
@needs(_pair_limit, _NO_PAIR)
def _pair_margin(evidence: Evidence, limit: CertifiedLimit) -> Measurement:
    """Margin of the limit over ((1 + leak)/4) gamma*."""
    return equals(normalized_margin(limit.network, evidence.dataset) / best_margin(evidence), 1.0, atol=MARGIN_RTOL)


_theorem = theorems_of(
    "lyu2021",
    setting=Setting(loss="logistic", leak=None, init="lyu-balanced", width=2, scale="1e-2"),
    example="lyu-symmetric",
)

THEOREM_5_5 = _theorem(
    "thm5.5",
    "On symmetric data two balanced neurons, each on its side of w*, tend to (1/2)(w*, -w*, 1, -1).",
    locator="Thm 5.5",
    hypotheses=(
        mean_logistic(),
        leaky_activation,
        data_assumption("linearly-separable"),
        data_assumption("symmetric"),
        width_at_least(2),
        _pair_is_unique,
    ),
    predictions=lambda evidence: {"margin": best_margin(evidence)},
    conclusions=(_limit_is_the_pair, _run_closes_in, _pair_margin),
    plan=_pair_plan,
    erratum="E3: the limit is (1/2)(w*, -w*, 1, -1), of norm 1; the paper prints 1/4.",
    departs="The start is made of the first two neurons of the draw: balanced and put on their sides of w*.",
)

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


@hypothesis("max-margin-direction", "a local-max-margin direction is known: the global one")
def _has_maximiser(evidence: Evidence) -> Judgement:
    if not evidence.dataset.is_binary:
        return fails("the labels are not -1 and 1")
    found = best_network(evidence)
    if found.network is None:
        return fails("no network that classifies every sample was found")
    words = f"margin {found.margin:.9g}, gap {found.gap:.2g}"
    return Judgement(True if found.gap <= MARGIN_RTOL else None, MARGIN_RTOL - found.gap, words)


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


@kept
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


@conclusion("margin", "margin of the limits over that of the maximiser")
@needs(_limits, _NO_LIMITS)
def _same_margin(evidence: Evidence, limits: list[tuple[float, Network]]) -> Measurement:
    """Smallest margin of a limit over that of the maximiser."""
    margins = [normalized_margin(network, evidence.dataset) for _, network in limits]
    return at_least(min(margins) / best_network(evidence).margin, 1.0, allowance=MARGIN_RTOL)


@conclusion("distance", "distance of the limits to it, over the size of the perturbation")
def _nearby(evidence: Evidence) -> Measurement:
    """Largest distance of a limit to the maximiser over the size of the perturbation."""
    limits, best = _limits(evidence), _maximiser(evidence)
    if limits is None or best is None:
        return missing(_NO_LIMITS)
    distances = [direction_distance(network, best) / size for size, network in limits]
    return at_most(max(distances), evidence.parameter("reach"))


THEOREM_5_6 = _theorem(
    "thm5.6",
    "Started long and close enough to a local-max-margin direction, the flow tends to one of equal margin.",
    locator="Thm 5.6",
    hypotheses=(mean_logistic(), _has_maximiser, no_ridge_met),
    constants=lambda evidence: {"margin": best_network(evidence).margin},
    conclusions=(_same_margin, _nearby),
    parameters=(
        Parameter("start_margin", 30.0, "smallest output margin at the start, which fixes the norm", low=1.0),
        Parameter("reach", 3.0, "largest distance travelled to be accepted, over the perturbation", low=0.0),
    ),
    plan=_perturbed_plan,
    setting=Setting(loss="logistic", leak=None, init="lyu-gaussian", width=4, scale="1e-3"),
    departs="The theorem asserts that some radius and norm suffice: three perturbations of the maximiser are tried.",
)
