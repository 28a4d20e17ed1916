"""Two neurons on symmetric data: Lemmas F.1, F.2, F.3 and the angles in the proof of Theorem 5.5 [lyu2021]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.kkt import normalized_margin
from reluflow.network.network import Network, leaky_relu, row_norms
from reluflow.theory.comparison import Comparison, Values, at_most, judgement, require, requires
from reluflow.theory.evidence import Evidence, drawn
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.lyu2021.limits import separator_of, settled_direction

_NUM_PAIRS = 500
_NUM_STARTS = 30
_STEP = 1e-4  # relative distance in time of the snapshots that a derivative is taken from
_SOON = 50.0  # e-folds of growth that a run may need before steps relative to the time are too long


@dataclass(frozen=True, eq=False)
class FeasiblePairs:
    """Pairs (u_1, u_2), shape (N, d) each, with slopes h_1 at <u_1, x_i> and h_2 at -<u_2, x_i>, shape (N, n) each."""

    first: FloatArray
    second: FloatArray
    slopes_first: FloatArray
    slopes_second: FloatArray


@drawn("pairs")
def feasible_pairs(evidence: Evidence) -> FeasiblePairs:
    """Random pairs with positive margins, and the slopes of the activation at each sample."""
    rng, w, X = np.random.default_rng(0), separator_of(evidence).w, evidence.dataset.X
    shape = (_NUM_PAIRS, w.size)
    first, second = (
        rng.uniform(0.1, 2.0, (_NUM_PAIRS, 1))
        * (w + rng.uniform(0.0, 1.5, (_NUM_PAIRS, 1)) * rng.standard_normal(shape))
        for _ in range(2)
    )
    slopes = (np.where(u @ X.T > 0.0, 1.0, evidence.leak) for u in (first, -second))
    return FeasiblePairs(first, second, *slopes)


def _crossed_margins(evidence: Evidence) -> FloatArray:
    """Crossed margin over the smallest margin of its pair, for pairs with a positive margin."""
    pairs, X, y, leak = feasible_pairs(evidence), evidence.dataset.X, evidence.dataset.y, evidence.leak
    one, two = pairs.first @ X.T, pairs.second @ X.T  # (N, n)
    margins = (y * (leaky_relu(one, leak) - leaky_relu(-two, leak))).min(axis=1)
    crossed = (y * (pairs.slopes_first * two + pairs.slopes_second * one)).min(axis=1)
    feasible = margins > 1e-9
    require(np.any(feasible), "no pair with a positive margin was drawn")
    return np.asarray(crossed[feasible] / margins[feasible])


def named_directions(evidence: Evidence) -> tuple[Network, Network, Network]:
    """(1/2)(w*, -w*, 1, -1), (w*, 0, 1, 0)/sqrt 2 and (0, -w*, 0, -1)/sqrt 2."""
    w, zero, root = separator_of(evidence).w, np.zeros(evidence.dataset.d), np.sqrt(0.5)
    return (
        Network([0.5 * w, -0.5 * w], [0.5, -0.5], leak=evidence.leak),
        Network([root * w, zero], [root, 0.0], leak=evidence.leak),
        Network([zero, -root * w], [0.0, -root], leak=evidence.leak),
    )


@drawn("directions")
def _found_directions(evidence: Evidence) -> list[Network]:
    """KKT directions with a_1 >= 0 >= a_2, each once, from random starts with both neurons or with either alone.

    The best margin in the patterns of a start gives new patterns; where that repeats itself the direction is KKT.
    """
    rng, dataset = np.random.default_rng(0), evidence.dataset
    found: list[Network] = []
    for start in range(_NUM_STARTS):
        w = rng.standard_normal((2, dataset.d))
        if start % 3 > 0:
            w[start % 3 - 1] = 0.0
        network = Network(w, np.array([1.0, -1.0]) * np.linalg.norm(w, axis=1), leak=evidence.leak)
        settled = settled_direction(network, dataset)
        if settled is not None and all(_distance(settled, other) > 1e-6 for other in found):
            found.append(settled)
    return found


def _distance(one: Network, two: Network) -> float:
    return float(np.sqrt(np.sum((one.w - two.w) ** 2) + np.sum((one.a - two.a) ** 2)))


def _all_directions(evidence: Evidence) -> list[Network]:
    """Those named in the lemma and those found."""
    return [*named_directions(evidence), *_found_directions(evidence)]


def _two_active(evidence: Evidence) -> list[Network]:
    return [n for n in _found_directions(evidence) if n.a[0] > 1e-6 and n.a[1] < -1e-6]


@requires(_two_active, "no KKT direction with two active neurons was found")
def _is_mirrored(evidence: Evidence, found: list[Network]) -> Values:
    """Largest of |w_1 + w_2|, |a_1 + a_2|, |a_1 - |w_1|| of each found direction with both neurons active."""
    for n in found:
        yield max(np.linalg.norm(n.w[0] + n.w[1]), abs(n.a[0] + n.a[1]), abs(n.a[0] - np.linalg.norm(n.w[0])))


@requires(_found_directions, "no KKT direction was found from random starts")
def _nothing_else(evidence: Evidence, found: list[Network]) -> Values:
    """Distance of each found direction to the nearest of the three."""
    return [min(_distance(network, other) for other in named_directions(evidence)) for network in found]


def _margins(evidence: Evidence) -> Comparison:
    """Largest relative error of the three margins."""
    gamma, leak = separator_of(evidence).margin, evidence.leak
    expected = (0.25 * (1.0 + leak) * gamma, 0.5 * leak * gamma, 0.5 * leak * gamma)
    measured = [normalized_margin(network, evidence.dataset) for network in named_directions(evidence)]
    worst = float(np.max(np.abs(np.array(measured) - expected))) / gamma
    return at_most(worst, 1e-12, detail=f"margins {', '.join(f'{m:.9g}' for m in measured)}")


def _opposite_pair(evidence: Evidence) -> Comparison:
    signs = np.sort(np.sign(evidence.network.a))
    holds = np.array_equal(signs, [-1.0, 1.0])
    return judgement(holds, None, f"{signs.size} neurons with signs {signs.astype(int).tolist()}")


def _ahead(evidence: Evidence) -> Comparison:
    """From the first snapshot on, as a starting point of the autonomous flow."""
    cosines = _cosines(evidence, require(evidence.run.snapshots, "the run recorded no state")[0].network)
    least = float(cosines.min())
    return judgement(least > 0.0, least, f"sign(a) cos(w, w*) = {cosines.round(4).tolist()}")


def _plan(evidence: Evidence) -> FlowPlan:
    """Triples of snapshots from the alignment on to where every margin is large."""
    rate = growth_rate(evidence)
    start = (6.0 + max(0.0, -evidence.network.log_scale)) / rate
    centres = np.concatenate([np.linspace(4.0 / rate, start, 6), np.geomspace(1.2 * start, 1e3 * start, 10)])
    if evidence.network.log_scale >= -_SOON:
        return FlowPlan(times=tuple(float(t * f) for t in centres for f in (1.0 - _STEP, 1.0, 1.0 + _STEP)))
    waiting = -(evidence.network.log_scale + _SOON) / rate  # before anything is learnt; steps must not grow with it
    steps = _STEP * np.maximum(centres - waiting, 1.0 / rate)
    return FlowPlan(times=tuple(float(t + f * h) for t, h in zip(centres, steps, strict=True) for f in (-1, 0, 1)))


def log_ratio_rate(evidence: Evidence, network: Network, outputs: FloatArray) -> float:
    """d/dt ln(<w_2, -w*>/<w_1, w*>) by the proof's formula, at a network whose neurons are off all boundaries."""
    X, y, w_star, leak = evidence.dataset.X, evidence.dataset.y, separator_of(evidence).w, evidence.leak
    g = 1.0 / (1.0 + np.exp(y * outputs))
    first = np.flatnonzero(y > 0)
    partners = np.array([int(np.argmin(np.sum((X + X[i]) ** 2, axis=1))) for i in first])
    rates = {}
    for k in range(2):
        on = network.w[k] @ X[first].T > 0.0
        sigma = np.where(on, g[first] + leak * g[partners], leak * g[first] + g[partners])
        cosine = np.sign(network.a[k]) * float(network.w[k] @ w_star) / float(np.linalg.norm(network.w[k]))
        rates[float(np.sign(network.a[k]))] = float(sigma @ (X[first] @ w_star)) / (len(y) * cosine)
    return float(rates[-1.0] - rates[1.0])


def _ratio_law(evidence: Evidence) -> Comparison:
    """Largest difference of the measured and the foretold rate, relative to the total force per w* direction."""
    w_star, worst, count = separator_of(evidence).w, 0.0, 0
    snapshots = evidence.run.snapshots
    for before, middle, after in zip(snapshots[::3], snapshots[1::3], snapshots[2::3], strict=True):
        if not np.array_equal(before.network.patterns(evidence.dataset.X), after.network.patterns(evidence.dataset.X)):
            continue
        logs = []
        for each in (before, after):
            along = np.abs(each.network.w @ w_star)
            logs.append(float(np.sign(each.network.a) @ np.log(along)))  # ln<w_1, w*> - ln<w_2, -w*>
        measured = -(logs[1] - logs[0]) / (after.time - before.time)
        g = 1.0 / (1.0 + np.exp(evidence.dataset.y * middle.outputs))
        scale = float(g @ np.abs(evidence.dataset.X @ w_star)) / len(g)
        worst = max(worst, abs(measured - log_ratio_rate(evidence, middle.network, middle.outputs)) / scale)
        count += 1
    require(count >= 3, f"only {count} triples of snapshots lie on smooth pieces")
    return at_most(worst, 1e-5, detail=f"relative difference {worst:.2g} on {count} smooth pieces")


def _cosines(evidence: Evidence, network: Network) -> FloatArray:
    """sign(a) cos(w, w*) of each neuron."""
    return np.asarray(np.sign(network.a) * (network.w @ separator_of(evidence).w) / row_norms(network.w))


def _angles(evidence: Evidence) -> Comparison:
    """Largest of beta_1 = angle(w*, w_1) and beta_2 = angle(-w*, w_2) over the run."""
    cosines = [_cosines(evidence, snapshot.network) for snapshot in evidence.run.snapshots]
    worst = float(np.arccos(np.clip(cosines, -1.0, 1.0)).max())
    return at_most(worst, 0.5 * np.pi, detail=f"angles at most {np.degrees(worst):.4g} degrees")


def growth_rate(evidence: Evidence) -> float:
    """lambda_0."""
    return 0.25 * (1.0 + evidence.leak) * float(np.linalg.norm(evidence.facts.mean_signed_sample))
