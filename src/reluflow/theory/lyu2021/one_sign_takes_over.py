"""From small networks to one neuron: Lemmas A.4, G.8 and G.10, Theorems G.9 and G.11 [lyu2021]."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.certificates.best_neuron import NeuronOracle
from reluflow.certificates.kkt import kkt_certificate, normalized_margin
from reluflow.certificates.network_margin import NetworkMargin, network_margin
from reluflow.certificates.pattern_margin import max_margin_in_patterns
from reluflow.data.dataset import Dataset
from reluflow.endings.limit import LimitIdentified, unit_norm
from reluflow.errors import InvalidInputError
from reluflow.network.network import Network, leaky_relu
from reluflow.theory.comparison import (
    Comparison,
    Values,
    at_least,
    at_most,
    equals,
    judgement,
    missing,
    nothing,
    require,
    requires,
    worst_compared,
)
from reluflow.theory.evidence import Evidence, drawn
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.lyu2021.early_constants import correct_cone
from reluflow.theory.lyu2021.growth_in_the_cone import entry_time, growth_constants, stacked
from reluflow.theory.lyu2021.non_symmetric_limit import against, side_of
from reluflow.theory.lyu2021.symmetric_flow import embed, network_of
from reluflow.theory.lyu2021.unit_ball import m_norm, neuron_rows
from reluflow.theory.measures import Constants

_NUM_DIRECTIONS = 150


@drawn("direction")
def _one_neuron(evidence: Evidence) -> Network:
    """(w^+, 1)/sqrt 2, the direction Lemma A.4 names."""
    return Network(side_of(evidence, 1).w[None] / np.sqrt(2.0), [np.sqrt(0.5)], leak=evidence.leak)


def _half_margin(evidence: Evidence) -> float:
    """gamma^+/2."""
    return 0.5 * side_of(evidence, 1).margin


def _margin(evidence: Evidence) -> Comparison:
    expected = _half_margin(evidence)
    return equals(normalized_margin(_one_neuron(evidence), evidence.dataset), expected, atol=1e-10 * expected)


def _nothing_else(evidence: Evidence) -> Comparison:
    """KKT residual over distance to w^+, smallest among random directions that classify every sample.

    With a > 0 and positive margins the outputs are <z_i^+, w>, a concave problem: its only KKT direction is w^+.
    """
    side = side_of(evidence, 1)
    rng = np.random.default_rng(0)
    spread = rng.standard_normal((_NUM_DIRECTIONS, side.w.size)) * rng.uniform(0.0, 1.0, (_NUM_DIRECTIONS, 1))
    units = side.w + spread
    units /= np.linalg.norm(units, axis=1)[:, None]
    units = units[np.all(units @ side.rows.T > 0.0, axis=1)]
    far = np.linalg.norm(units - side.w, axis=1) > 1e-3
    residuals = evidence.witness(
        "other residuals",
        lambda: [
            kkt_certificate(Network(u[None], [1.0], leak=evidence.leak), evidence.dataset).residual
            / np.linalg.norm(u - side.w)
            for u in units[far]
        ],
    )
    smallest = float(min(residuals, default=np.inf))
    return at_least(
        smallest, 1e-6, detail=f"residual at least {smallest:.3g} times the distance, {len(residuals)} directions"
    )


def _width_one_constants(evidence: Evidence) -> Constants:
    plus, minus = side_of(evidence, 1).margin, side_of(evidence, -1).margin
    return {"gamma_plus": plus, "gamma_minus": minus, "width_one_optimum": 0.5 * max(plus, minus)}


def _points_ahead(evidence: Evidence) -> Comparison:
    require(evidence.dataset.is_binary, "the labels are not -1 and 1")
    separator, network = evidence.facts.separator, evidence.network
    if separator is None or not separator.separable:
        return judgement(False, None, "there is no separator w*")
    cosine = float(network.w[0] @ separator.w / np.linalg.norm(network.w[0]))
    return judgement(cosine > 0.0, cosine, f"cos(w_1, w*) = {cosine:.4g}")


def _single_positive(evidence: Evidence) -> Comparison:
    a = evidence.network.a
    return judgement(a.size == 1 and a[0] > 0.0, None, f"{a.size} neurons, a_1 = {a[0]:.3g}")


@drawn("bracket")
def _restricted(evidence: Evidence) -> NetworkMargin:
    """The best network of negative neurons on S^+, with the multipliers that bound it."""
    return network_margin(_closest(evidence), evidence.leak, signs=(-1,))


def _closest(evidence: Evidence) -> Dataset:
    """S^+."""
    return evidence.dataset.subset(side_of(evidence, 1).closest)


def _primal_value(evidence: Evidence) -> float:
    """The margin of the explicit negative network, recomputed; 0, the margin of no network, where none was found."""
    network = _restricted(evidence).network
    if network is None:
        return 0.0
    return normalized_margin(network, _closest(evidence)) if np.all(network.a <= 0.0) else np.nan


def _dual_value(evidence: Evidence) -> float:
    """Half the best gain of a negative unit neuron under the multipliers, over many directions."""
    found, closest = _restricted(evidence), _closest(evidence)
    rng = np.random.default_rng(0)
    units = rng.standard_normal((20_000, closest.d))
    if found.network is not None:
        units = np.vstack([units, found.network.w])
    units /= np.linalg.norm(units, axis=1)[:, None]
    gains = -leaky_relu(units @ closest.X.T, evidence.leak) @ (found.multipliers * closest.y)
    return 0.5 * float(gains.max())


def _no_gap(evidence: Evidence) -> Comparison:
    found = _restricted(evidence)
    primal, scale = _primal_value(evidence), side_of(evidence, 1).margin
    gap = abs(found.upper - primal)
    words = f"primal {primal:.9g}, dual {found.upper:.9g}"
    return at_most(gap, 1e-7 * scale, detail=words) if np.isfinite(gap) else at_most(np.inf, 1e-7 * scale, detail=words)


def _dual_bounds_gains(evidence: Evidence) -> Comparison:
    found, scale = _restricted(evidence), side_of(evidence, 1).margin
    return at_most(_dual_value(evidence), found.upper, allowance=1e-7 * scale)


def _thmg_9_plan(evidence: Evidence) -> FlowPlan:
    return FlowPlan(until=LimitIdentified(), log_horizon=700.0)


_TOO_FEW = "three scales with snapshots at T12 - 1/lambda, T12 and T12 + 1/lambda are needed"
NUM_SOLVED = 10  # of each kind of perturbation
EQUAL_MARGIN, SAME_OUTPUTS = 1e-9, 1e-6  # relative; the programs are solved to 1e-12 or better
_SWEEP = tuple(-np.log(10.0) * k for k in (1, 2, 3))


def extended_embedding(two: Network, b: ArrayLike) -> Network:
    """pi_b: spread a positive and a negative neuron over as many as b has entries, in the shares b_k/b_+ and b_k/b_-.

    An entry 0 gives a zero neuron. The function, the norm and the gradient are kept.

    Parameters
    ----------
    two
        Neuron 1 with a_1 >= 0 and neuron 2 with a_2 <= 0.
    b
        Compatible with them: where b has no positive entry neuron 1 is zero, where no negative one neuron 2 is.

    References
    ----------
    Lyu et al. (2021), Sec. 5.2 and App. G.4 [lyu2021].

    Examples
    --------
    >>> extended_embedding(Network([[2.0], [0.0]], [2.0, 0.0]), [3.0, 4.0, 0.0]).a
    array([1.2, 1.6, 0. ])
    """
    if two.num_neurons != 2 or two.a[0] < 0.0 or two.a[1] > 0.0:
        raise InvalidInputError("`two` must hold a neuron with a >= 0 and one with a <= 0, in this order.")
    return network_of(embed(neuron_rows(two), b), two.leak, log_scale=two.log_scale)


def _times(evidence: Evidence) -> FloatArray:
    """T12 + t for t of -1, 0 and 1 growth times; in the given units."""
    cone, m = correct_cone(evidence), evidence.network.num_neurons
    log_sigma = evidence.network.log_scale + 0.5 * np.log(cone.factor)
    middle = entry_time(evidence) - (0.5 * np.log(m) + log_sigma) / cone.growth(1)
    return np.asarray(middle + np.array([-1.0, 0.0, 1.0]) / cone.growth(1))


def _time_after_entry(evidence: Evidence) -> float:
    return float(_times(evidence)[0] - entry_time(evidence))


def _plan(evidence: Evidence) -> FlowPlan:
    start = entry_time(evidence)
    later = [float(time) for time in _times(evidence) if time > start]
    return FlowPlan(times=(start, *later), sweep=_SWEEP)


def _late_states(evidence: Evidence) -> list[FloatArray] | None:
    """For every scale, largest first, the neurons at the three times, shape (3, num_neurons, d + 1)."""
    runs = (evidence, *evidence.sweep)
    if any(len(each.run.snapshots) != 4 for each in runs) or len(runs) < 3:
        return None
    return [np.array([stacked(s.network, correct_cone(e)) for s in e.run.snapshots[1:]]) for e in runs]


@requires(_late_states, _TOO_FEW)
def _losers_vanish(evidence: Evidence, states: list[FloatArray]) -> Comparison:
    """Exponent in sigma of the size of the negative neurons at T12, between the two smallest scales: kappa."""
    negative = evidence.network.a < 0.0
    if not np.any(negative):
        return nothing("no neuron is negative")
    sizes = np.log([m_norm(state[1][negative]) for state in states])
    exponents = np.diff(sizes) / np.diff([each.network.log_scale for each in (evidence, *evidence.sweep)])
    kappa = growth_constants(evidence)["kappa"]
    words = f"negative neurons vanish like sigma^{exponents[-1]:.5g} at T12, foretold sigma^{kappa:.5g}"
    if 0.05 * kappa < abs(exponents[-1] - kappa) < abs(exponents[0] - kappa):
        return missing(f"{words}, and still coming closer; a smaller scale is needed")
    return equals(exponents[-1], kappa, atol=0.05 * kappa, detail=words)


@requires(_late_states, _TOO_FEW)
def _winners_converge(evidence: Evidence, states: list[FloatArray]) -> float:
    """Largest ratio of successive changes of the positive neurons as sigma falls tenfold, over the three times.

    Changes below 1e-9 of their size are those of the integration and count as none.
    """
    positive = evidence.network.a > 0.0
    changes = np.array([[m_norm((b - a)[k][positive]) for k in range(3)] for a, b in pairwise(states)])
    changes = np.maximum(changes / [m_norm(state[positive]) for state in states[-1]], 1e-9)
    return float(np.max(changes[1:] / changes[:-1]))


@requires(_late_states, _TOO_FEW)
def _is_embedded(evidence: Evidence, states: list[FloatArray]) -> Values:
    """Distance of the positive neurons at the smallest scale to an embedded single neuron, relative to their size."""
    for state in states[-1]:
        z = state[evidence.network.a > 0.0]
        shares = z[:, -1]
        common = shares @ z / (shares @ shares)  # the single neuron per unit share
        yield m_norm(z - shares[:, None] * common) / m_norm(z)


@requires(_late_states, _TOO_FEW)
def _sizes(evidence: Evidence, states: list[FloatArray]) -> Values:
    return [m_norm(state) for state in states[-1]]


def _least_size(evidence: Evidence) -> float:
    return 0.1 * growth_constants(evidence)["A_bar"]


@drawn("network")
def _one_neuron_network(evidence: Evidence) -> Network:
    """pi_b((w^+, 1)/sqrt 2) in the shares of the positive output weights, zero on the others."""
    a = np.maximum(evidence.network.a, 0.0)
    a = a / np.linalg.norm(a) * np.sqrt(0.5)
    return Network(a[:, None] * side_of(evidence, 1).w, a, leak=evidence.leak)


def perturbations(evidence: Evidence, size: float, count: int, rng: np.random.Generator) -> list[Network]:
    """Unit networks near pi_b(theta^) whose output weights keep their signs.

    Random ones, and ones whose losing neurons point where the dual multipliers of w^+ reward them most while the
    winning ones lean against the change: the way up that Assumption A.5* closes.
    """
    centre, signs = _one_neuron_network(evidence), np.sign(evidence.network.a)
    found = []
    for _ in range(count):
        dw, da = rng.standard_normal(centre.w.shape), rng.standard_normal(centre.a.shape)
        scale = size / np.sqrt(np.sum(dw**2) + np.sum(da**2))
        a = centre.a + scale * da
        found.append(unit_norm(centre.replace(w=centre.w + scale * dw, a=np.where(signs * a > 0.0, a, 0.0))))
    dataset, losing = evidence.dataset, signs < 0.0
    if not np.any(losing):
        return found
    multipliers = against(evidence, 1).multipliers
    gains = NeuronOracle(dataset.X, dataset.y, evidence.leak, signs=(-1,)).gains(multipliers * dataset.y)
    best = gains.vectors[np.argmax(gains.values)]
    best = best / np.linalg.norm(best)
    for _ in range(count):
        lean = rng.standard_normal(best.size) * rng.uniform(0.0, size)
        w = centre.w + centre.a[:, None] * lean
        w[losing], a = size * best, centre.a.copy()
        a[losing] = -size
        found.append(unit_norm(centre.replace(w=w, a=a)))
    return found


def _local_maximum(evidence: Evidence) -> float:
    """Largest gain of margin over perturbations of sizes 0.05, 0.01 and 0.002, relative to gamma^+/2."""
    rng = np.random.default_rng(0)
    value = normalized_margin(_one_neuron_network(evidence), evidence.dataset)
    best = max(
        normalized_margin(network, evidence.dataset)
        for size in (0.05, 0.01, 0.002)
        for network in perturbations(evidence, size, 200, rng)
    )
    return best / value - 1.0


@drawn("maximisers")
def _maximisers_nearby(evidence: Evidence) -> list[Network]:
    """Networks of equal margin, one per perturbation: the best direction in its patterns, by a conic program."""
    rng, dataset = np.random.default_rng(1), evidence.dataset
    centre = _one_neuron_network(evidence)
    found = []
    for near in perturbations(evidence, 0.01, NUM_SOLVED, rng):
        solved = unit_norm(max_margin_in_patterns(near, dataset))
        if abs(normalized_margin(solved, dataset) / normalized_margin(centre, dataset) - 1.0) <= EQUAL_MARGIN:
            found.append(solved)
    return found


def _same_function(evidence: Evidence) -> Comparison:
    """Largest difference of the outputs, at random unit points, of maximisers found nearby and of pi_b(theta^)."""
    centre, others = _one_neuron_network(evidence), _maximisers_nearby(evidence)
    points = np.random.default_rng(2).standard_normal((50, evidence.dataset.d))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    if not others:
        return nothing("no network of equal margin was found nearby")
    gaps = (np.abs(other.outputs(points) - centre.outputs(points)) for other in others)
    words = f"outputs of {len(others)} maximisers nearby differ by up to {{measured:.3g}}"
    return worst_compared(gaps, "at_most", SAME_OUTPUTS, words=words)
