"""Symmetric data: the max-margin network is linear, and the flow from small scale finds it; Theorems 4.2, 4.3."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.hard_margin import HardMargin
from reluflow.certificates.kkt import normalized_margin
from reluflow.errors import InvalidInputError
from reluflow.network import Network
from reluflow.network.network import leaky_relu
from reluflow.theory.evidence import Evidence, FlowPlan
from reluflow.theory.hypotheses import data_assumption, no_ridge_met, width_at_least
from reluflow.theory.limit import unit_norm
from reluflow.theory.lyu2021.kkt_directions import limit_identified, until_limit
from reluflow.theory.lyu2021.limits import best_network, limit_of
from reluflow.theory.lyu2021.symmetric_flow import (
    good_embedding,
    log_scale_for_radius,
    small_enough,
    symmetric_flow,
    symmetric_hypotheses,
)
from reluflow.theory.lyu2021.unit_ball import DRAW_SEED, LYU_SETTING, states
from reluflow.theory.measurement import Level, Measurement, at_least, at_most, closes_in, equals, fitted_slope, missing
from reluflow.theory.stating import conclusion, theorems_of
from reluflow.theory.theorem import Conclusion

MARGIN_RTOL = 1e-7  # the cone program's duality gap and Newton's method; below 1e-9 was seen
ROUNDING = 1e-12
_symmetric_theorem = theorems_of("lyu2021", setting=LYU_SETTING, example="lyu-symmetric")
_DATA = (data_assumption("linearly-separable"), data_assumption("symmetric"), width_at_least(2))


def separator_of(evidence: Evidence) -> HardMargin:
    """w* and gamma*, refused where the dataset is too large for them."""
    found = evidence.facts.separator
    if found is None:
        raise InvalidInputError(
            f"`dataset` must have a max-margin separator within reach, got n d = {evidence.dataset.X.size}; "
            "take fewer samples."
        )
    return found


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


@conclusion("margin", "the global max margin is ((1 + leak)/4) gamma*")
def _bracket_value(evidence: Evidence) -> Measurement:
    """How far ((1 + leak)/4) gamma* lies outside the bracket of the global margin, relative."""
    found, value = best_network(evidence), best_margin(evidence)
    outside = max(found.margin - value, value - found.upper, 0.0) / value
    words = f"predicted {value:.9g}, bracket [{found.margin:.9g}, {found.upper:.9g}]"
    return at_most(outside, MARGIN_RTOL, detail=words)


def _is_linear(network: Network | None, evidence: Evidence) -> Measurement:
    """Largest |f(x) - C <w*, x>| over 500 random unit vectors and the samples' directions, relative to C."""
    if network is None:
        return missing("no network classifies every sample")
    coefficient = linear_coefficient(evidence)
    x = np.vstack([np.random.default_rng(DRAW_SEED).standard_normal((500, evidence.dataset.d)), evidence.dataset.X])
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    gap = float(np.max(np.abs(unit_norm(network).outputs(x) - x @ coefficient)) / np.linalg.norm(coefficient))
    return at_most(gap, 1e-5, detail=f"largest relative difference {gap:.2g} on the sphere")


def _pair(evidence: Evidence) -> Callable[[Network], Network]:
    return evidence.witness("pair", lambda: symmetrized)


@conclusion("symmetrized", "the symmetrised pair of any network has no smaller q_min")
def _symmetrized_is_better(evidence: Evidence) -> Measurement:
    """Smallest gain of q_min by the pair, relative to |theta|^2, over the drawn networks."""
    data = evidence.dataset
    gains = []
    for s in states(evidence):
        before, after = (float(np.min(data.y * t.outputs(data.X))) for t in (s.network, _pair(evidence)(s.network)))
        gains.append((after - before) / s.network.squared_norm())
    return at_least(min(gains), 0.0, allowance=ROUNDING)


@conclusion("shorter", "and no larger norm")
def _symmetrized_is_shorter(evidence: Evidence) -> Measurement:
    """Largest |theta'| / |theta| over the drawn networks."""
    ratios = [_pair(evidence)(s.network).squared_norm() / s.network.squared_norm() for s in states(evidence)]
    return at_most(float(np.sqrt(max(ratios))), 1.0, allowance=ROUNDING)


THEOREM_4_2 = _symmetric_theorem(
    "thm4.2",
    "On symmetric data the max-margin network of norm 1 is ((1 + leak)/4) <w*, x>, for every width >= 2.",
    locator="Thm 4.2",
    hypotheses=_DATA,
    predictions=lambda evidence: {"global_margin": best_margin(evidence)},
    conclusions=(
        _bracket_value,
        Conclusion(
            "linear", "the maximiser is linear", lambda evidence: _is_linear(best_network(evidence).network, evidence)
        ),
        _symmetrized_is_better,
        _symmetrized_is_shorter,
    ),
    departs="Leak 0 is allowed too: the proof covers it.",
)


def _activation(evidence: Evidence, z: FloatArray) -> FloatArray:
    return evidence.witness("activation", lambda: leaky_relu)(z, evidence.leak)


@conclusion("odd", "phi(z) - phi(-z) = (1 + leak) z", Level.EXACT)
def _odd_part(evidence: Evidence) -> Measurement:
    """Largest |phi(z) - phi(-z) - (1 + leak) z| / |z| over pre-activations of the drawn networks."""
    z = np.concatenate([(s.network.w @ evidence.dataset.X.T).ravel() for s in states(evidence)])
    gap = np.abs(_activation(evidence, z) - _activation(evidence, -z) - (1.0 + evidence.leak) * z)
    return at_most(float(np.max(gap / np.maximum(np.abs(z), 1e-300))), ROUNDING)


@conclusion("even", "phi(z) + phi(-z) = (1 - leak) |z|", Level.EXACT)
def _even_part(evidence: Evidence) -> Measurement:
    """Largest |phi(z) + phi(-z) - (1 - leak) |z|| / |z|."""
    z = np.concatenate([(s.network.w @ evidence.dataset.X.T).ravel() for s in states(evidence)])
    gap = np.abs(_activation(evidence, z) + _activation(evidence, -z) - (1.0 - evidence.leak) * np.abs(z))
    return at_most(float(np.max(gap / np.maximum(np.abs(z), 1e-300))), ROUNDING)


APPENDIX_C = _symmetric_theorem(
    "appC",
    "phi(z) - phi(-z) = (1 + leak) z and phi(z) + phi(-z) = (1 - leak) |z|.",
    locator="App. C",
    hypotheses=(),
    conclusions=(_odd_part, _even_part),
)


def _plan(evidence: Evidence) -> FlowPlan:
    return replace(until_limit(evidence), sweep=(-np.log(10.0), -2.0 * np.log(10.0)))


@conclusion("margin", "margin of the limit over ((1 + leak)/4) gamma*")
def _limit_margin(evidence: Evidence) -> Measurement:
    """Margin of the limit over ((1 + leak)/4) gamma*."""
    margin = normalized_margin(limit_of(evidence).network, evidence.dataset) / best_margin(evidence)
    return equals(margin, 1.0, atol=MARGIN_RTOL)


@conclusion("half-positive", "positive neurons hold half of sum a_k^2")
def _limit_shares(evidence: Evidence) -> Measurement:
    """Part of sum a_k^2 that the positive neurons of the limit hold."""
    a = limit_of(evidence).network.a
    return equals(float(np.sum(a[a > 0.0] ** 2) / np.sum(a**2)), 0.5, atol=MARGIN_RTOL)


@conclusion("run", "the run's own margin closes in")
def _run_margin(evidence: Evidence) -> Measurement:
    """Gap of the run's own margin to the best, relative, over the snapshots that classify every sample."""
    gaps = []
    for s in evidence.run.snapshots:
        margin = normalized_margin(s.network, evidence.dataset)
        if margin > 0.0:
            gaps.append(1.0 - margin / best_margin(evidence))
    return closes_in(gaps, floor=MARGIN_RTOL)


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


@conclusion("shares", "shares tend to b_k^2/b_+^2", Level.SCALING)
def _shares_follow_embedding(evidence: Evidence) -> Measurement:
    """Order in sigma at which the shares within each sign tend to b_k^2/b_+^2: first order or better."""
    if len(evidence.sweep) < 2:
        return missing("the sweep of scales was not run")
    scales, errors = np.array(_share_errors(evidence)).T
    if errors[0] < RESOLVED_SHARE:
        return missing("the shares differ by rounding alone; the order shows at larger scales only")
    slope = fitted_slope(scales, np.log(errors))
    return at_least(slope, 0.9, detail=f"order {slope:.3f} in sigma; error {errors[-1]:.2g} at the smallest scale")


THEOREM_4_3 = _symmetric_theorem(
    "thm4.3",
    "On symmetric data, from small enough scale and with probability 1 - 2^-(m-1), the flow tends in direction to "
    "f(x) = ((1 + leak)/4) <w*, x>.",
    locator="Thm 4.3",
    hypotheses=(*symmetric_hypotheses(), good_embedding, small_enough, no_ridge_met, limit_identified),
    constants=lambda evidence: {
        "probability": 1.0 - 2.0 ** -(evidence.network.num_neurons - 1),
        "log_size": symmetric_flow(evidence).log_size,
    },
    predictions=lambda evidence: {
        "margin": best_margin(evidence),
        "coefficient": linear_coefficient(evidence).tolist(),
        "shares": (symmetric_flow(evidence).embedding ** 2).tolist(),
    },
    conclusions=(
        _limit_margin,
        Conclusion("linear", "the limit is linear", lambda evidence: _is_linear(limit_of(evidence).network, evidence)),
        _limit_shares,
        _run_margin,
        _shares_follow_embedding,
    ),
    plan=_plan,
    log_scale=partial(log_scale_for_radius, fraction=0.3),
    departs="sigma_max is not explicit in the paper; the scale asked for here is that of Lemma 5.2.",
)


@conclusion("global", "margin of the limit over the upper bound of all networks")
def _attains_global(evidence: Evidence) -> Measurement:
    """Margin of the limit over the certified upper bound of all networks."""
    upper = best_network(evidence).upper
    return at_least(normalized_margin(limit_of(evidence).network, evidence.dataset) / upper, 1.0, allowance=MARGIN_RTOL)


COROLLARY_4_4 = _symmetric_theorem(
    "cor4.4",
    "Under the hypotheses of Theorem 4.3 the flow tends to a global max-margin direction.",
    hypotheses=THEOREM_4_3.hypotheses,
    conclusions=(_attains_global,),
    plan=until_limit,
    log_scale=partial(log_scale_for_radius, fraction=0.3),
    departs="As Theorem 4.3.",
)
