"""Symmetric data: the max-margin network is linear and the flow finds it; Theorems 4.2, 4.3, 5.5 and 5.6 [lyu2021]."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.kkt import normalized_margin
from reluflow.dynamics.trajectory import Outcome, Trajectory
from reluflow.endings.limit import CertifiedLimit, LimitIdentified, certified_limit, direction_distance, unit_norm
from reluflow.network import Network
from reluflow.network.network import leaky_relu
from reluflow.theory.comparison import (
    Comparison,
    Values,
    at_least,
    at_most,
    closes_in,
    fails,
    fitted_slope,
    judgement,
    require,
    requires,
)
from reluflow.theory.evidence import Evidence, computed_once, given
from reluflow.theory.flow_plan import Companion, FlowPlan
from reluflow.theory.lyu2021.kkt_directions import KKT_RTOL, LOG_HORIZON, until_limit
from reluflow.theory.lyu2021.limits import best_network, limit_margin, limit_of, separator_of
from reluflow.theory.lyu2021.symmetric_flow import symmetric_flow
from reluflow.theory.lyu2021.unit_ball import DRAW_SEED, states, unit_ball

MARGIN_RTOL = 1e-7  # the cone program's duality gap and Newton's method; below 1e-9 was seen
ROUNDING = 1e-12


def linear_coefficient(evidence: Evidence) -> FloatArray:
    """((1 + leak)/4) w*, the linear function every max-margin network of norm 1 computes, shape (d,)."""
    return np.asarray(0.25 * (1.0 + evidence.leak) * separator_of(evidence).w)


def best_margin(evidence: Evidence) -> float:
    """((1 + leak)/4) gamma*."""
    return 0.25 * (1.0 + evidence.leak) * separator_of(evidence).margin


def symmetrized(network: Network) -> Network:
    """Two neurons of opposite sign that do at least as well as the network.

    w_1 = -w_2 = sum a_k w_k / (sqrt 2 A), a_1 = -a_2 = A/sqrt 2, A^2 = sum a_k^2.
    Lyu et al. (2021), proof of Theorem 4.2 [lyu2021].
    """
    size = float(np.linalg.norm(network.a))
    w = network.a @ network.w / (np.sqrt(2.0) * size)
    return network.replace(w=np.stack([w, -w]), a=np.array([size, -size]) / np.sqrt(2.0), weight=np.ones(2))


def _bracket_value(evidence: Evidence) -> Comparison:
    """How far ((1 + leak)/4) gamma* lies outside the bracket of the global margin, relative."""
    found, value = best_network(evidence), best_margin(evidence)
    outside = max(found.margin - value, value - found.upper, 0.0) / value
    words = f"predicted {value:.9g}, bracket [{found.margin:.9g}, {found.upper:.9g}]"
    return at_most(outside, MARGIN_RTOL, detail=words)


def _is_linear(evidence: Evidence, network: Network | None) -> FloatArray:
    """|f(x) - C <w*, x>| over 500 random unit vectors and the samples' directions, relative to C."""
    network = require(network, "no network classifies every sample")
    coefficient = linear_coefficient(evidence)
    x = np.vstack([np.random.default_rng(DRAW_SEED).standard_normal((500, evidence.dataset.d)), evidence.dataset.X])
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray(np.abs(unit_norm(network).outputs(x) - x @ coefficient) / np.linalg.norm(coefficient))


_pair = given("pair", symmetrized)


def _symmetrized_is_better(evidence: Evidence) -> Values:
    """Gain of q_min by the pair, relative to |theta|^2, over the drawn networks."""
    data = evidence.dataset
    for s in states(evidence):
        before, after = (float(np.min(data.y * t.outputs(data.X))) for t in (s.network, _pair(evidence)(s.network)))
        yield (after - before) / s.network.squared_norm()


def _symmetrized_is_shorter(evidence: Evidence) -> Values:
    """|theta'| / |theta| over the drawn networks."""
    return [np.sqrt(_pair(evidence)(s.network).squared_norm() / s.network.squared_norm()) for s in states(evidence)]


_activation = given("activation", leaky_relu)


def _activation_part(evidence: Evidence, *, is_odd: bool) -> FloatArray:
    """|phi(z) - phi(-z) - (1 + leak) z| / |z| over pre-activations of the drawn networks, or the even part of phi."""
    z = np.concatenate([(s.network.w @ evidence.dataset.X.T).ravel() for s in states(evidence)])
    there, back = (_activation(evidence)(sign * z, evidence.leak) for sign in (1.0, -1.0))
    if is_odd:
        gap = np.abs(there - back - (1.0 + evidence.leak) * z)
    else:
        gap = np.abs(there + back - (1.0 - evidence.leak) * np.abs(z))
    return np.asarray(gap / np.maximum(np.abs(z), 1e-300))


def relative_margin(evidence: Evidence, network: Network) -> float:
    """Its margin over ((1 + leak)/4) gamma*."""
    return normalized_margin(network, evidence.dataset) / best_margin(evidence)


def positive_share(evidence: Evidence) -> float:
    """Part of sum a_k^2 that the positive neurons of the limit hold."""
    a = limit_of(evidence).network.a
    return float(np.sum(a[a > 0.0] ** 2) / np.sum(a**2))


def foretold_shares(evidence: Evidence) -> FloatArray:
    """b_k^2."""
    return np.asarray(symmetric_flow(evidence).embedding ** 2)


RESOLVED_SHARE = 1e-11  # error of a share that is more than rounding over a whole run


def _share_errors(evidence: Evidence) -> list[tuple[float, float]]:
    """(ln scale, largest difference of a_k^2/sum to b_k^2/sum within each sign) over the sweep."""
    errors = []
    for each in (evidence, *evidence.sweep):
        b, a = symmetric_flow(each).embedding, each.run.network.a
        gap = 0.0
        for sign in (1.0, -1.0):
            group = np.sign(b) == sign
            share = a[group] ** 2 / np.sum(a[group] ** 2)
            gap = max(gap, float(np.max(np.abs(share - b[group] ** 2 / np.sum(b[group] ** 2)))))
        errors.append((symmetric_flow(each).log_size, gap))
    return errors


def _shares_follow_embedding(evidence: Evidence) -> Comparison:
    """Order in sigma at which the shares within each sign tend to b_k^2/b_+^2: first order or better."""
    require(len(evidence.sweep) >= 2, "the sweep of scales was not run")
    scales, errors = np.array(_share_errors(evidence)).T
    require(errors[0] >= RESOLVED_SHARE, "the shares differ by rounding alone; the order shows at larger scales only")
    slope = fitted_slope(scales, np.log(errors))
    return at_least(slope, 0.9, detail=f"order {slope:.3f} in sigma; error {errors[-1]:.2g} at the smallest scale")


def _attains_global(evidence: Evidence) -> float:
    """Margin of the limit over the certified upper bound of all networks."""
    return limit_margin(evidence) / best_network(evidence).upper


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


def _pair_is_unique(evidence: Evidence) -> Comparison:
    run, limit = require(_pair_run(evidence), _NO_PAIR), _pair_limit(evidence)
    if run.outcome is Outcome.RIDGE:
        return fails("a ridge was met")
    return judgement(True if limit.is_proof else None, None, limit.reason)


def _target(evidence: Evidence) -> Network:
    return opposite_pair(separator_of(evidence).w)


def _limit_is_the_pair(evidence: Evidence) -> float:
    """Distance of the limit to (1/2)(w*, -w*, 1, -1)."""
    return direction_distance(_pair_limit(evidence).network, _target(evidence))


@requires(_pair_run, _NO_PAIR)
def _run_closes_in(evidence: Evidence, run: Trajectory) -> Comparison:
    """Distance of the run's direction to that pair, over the snapshots."""
    return closes_in([direction_distance(unit_norm(s.network), _target(evidence)) for s in run.snapshots])


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
