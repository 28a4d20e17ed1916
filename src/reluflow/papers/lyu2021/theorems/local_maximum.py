"""Why the one neuron stays alone: Lemma G.10 and Theorem G.11 [lyu2021]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.certificates.best_neuron import NeuronOracle
from reluflow.certificates.kkt import normalized_margin
from reluflow.certificates.limits.directions import unit_norm
from reluflow.certificates.network_margin import NetworkMargin, network_margin
from reluflow.certificates.pattern_margin import max_margin_in_patterns
from reluflow.data.dataset import Dataset
from reluflow.network.network import Network, leaky_relu
from reluflow.papers.lyu2021.assumptions import A_5_STAR
from reluflow.papers.lyu2021.theorems.hypotheses import BINARY_LABELS
from reluflow.papers.lyu2021.theorems.non_symmetric_limit import SOME_POSITIVE, against, side_of
from reluflow.papers.lyu2021.theorems.one_neuron import half_margin
from reluflow.papers.lyu2021.theorems.settings import BALANCED_SETTING
from reluflow.theory.comparison import (
    Comparison,
    Level,
    at_most,
    nothing,
    worst_compared,
)
from reluflow.theory.evidence import Evidence
from reluflow.theory.hypotheses import LEAKY, assumed
from reluflow.theory.measures import AtMost, Quantities
from reluflow.theory.separability import LINEARLY_SEPARABLE
from reluflow.theory.setting import Setting
from reluflow.theory.theorem import Conclusion, Reference, Theorem

# Lemma G.10 -----------------------------------------------------------------------------------------------------------


def _restricted(evidence: Evidence) -> NetworkMargin:
    """The best network of negative neurons on S^+, with the multipliers that bound it."""
    return network_margin(_closest(evidence), evidence.leak, signs=(-1,))


def _closest(evidence: Evidence) -> Dataset:
    """S^+."""
    return evidence.dataset.subset(side_of(evidence, 1).closest)


def _primal_value(evidence: Evidence) -> float:
    """The margin of the explicit negative network, recomputed; 0, the margin of no network, where none was found."""
    network = evidence.recorded(NetworkMargin).network
    if network is None:
        return 0.0
    return normalized_margin(network, _closest(evidence)) if np.all(network.a <= 0.0) else np.nan


def _dual_value(evidence: Evidence) -> float:
    """Half the best gain of a negative unit neuron under the multipliers, over many directions."""
    found, closest = evidence.recorded(NetworkMargin), _closest(evidence)
    rng = np.random.default_rng(0)
    units = rng.standard_normal((20_000, closest.d))
    if found.network is not None:
        units = np.vstack([units, found.network.w])
    units /= np.linalg.norm(units, axis=1)[:, None]
    gains = -leaky_relu(units @ closest.X.T, evidence.leak) @ (found.multipliers * closest.y)
    return 0.5 * float(gains.max())


def _no_gap(evidence: Evidence) -> Comparison:
    found = evidence.recorded(NetworkMargin)
    primal, scale = _primal_value(evidence), side_of(evidence, 1).margin
    gap = abs(found.upper - primal)
    words = f"primal {primal:.9g}, dual {found.upper:.9g}"
    return at_most(gap, 1e-7 * scale, detail=words) if np.isfinite(gap) else at_most(np.inf, 1e-7 * scale, detail=words)


def _dual_bounds_gains(evidence: Evidence) -> Comparison:
    found, scale = evidence.recorded(NetworkMargin), side_of(evidence, 1).margin
    return at_most(_dual_value(evidence), found.upper, allowance=1e-7 * scale)


def _dual_bound(evidence: Evidence) -> float:
    return evidence.recorded(NetworkMargin).upper


LEMMA_G_10 = Theorem(
    "lyu2021:lemmaG.10",
    Reference("lyu2021", "Lemma G.10"),
    r"The best margin on $S^+$ of networks with all $a_k \le 0$ equals the smallest, over multipliers on $S^+$, of "
    r"half the best gain of a negative neuron.",
    hypotheses=(LEAKY, assumed(LINEARLY_SEPARABLE)),
    conclusions=(
        Conclusion("no-gap", "an explicit network attains what explicit multipliers allow", _no_gap, Level.EXACT),
        Conclusion("dual", "no sampled negative neuron gains more than the multipliers allow", _dual_bounds_gains),
    ),
    constants=Quantities({"V": _dual_bound, "gamma_plus_half": half_margin}),
    record=_restricted,
    setting=Setting(loss="logistic", leak=None, init="lyu-balanced", width=6),
    example="lyu-counterexample",
)

# Theorem G.11 ---------------------------------------------------------------------------------------------------------

NUM_SOLVED = 10  # of each kind of perturbation
EQUAL_MARGIN, SAME_OUTPUTS = 1e-9, 1e-6  # relative; the programs are solved to 1e-12 or better


@dataclass(frozen=True, eq=False)
class MaximiserAndNeighbours:
    """pi_b((w^+, 1)/sqrt 2), and networks of equal margin found near it."""

    network: Network
    neighbours: tuple[Network, ...]


def _maximiser_and_neighbours(evidence: Evidence) -> MaximiserAndNeighbours:
    network = _one_neuron_network(evidence)
    return MaximiserAndNeighbours(network, tuple(_maximisers_nearby(evidence, network)))


def _one_neuron_network(evidence: Evidence) -> Network:
    """pi_b((w^+, 1)/sqrt 2) in the shares of the positive output weights, zero on the others."""
    a = np.maximum(evidence.network.a, 0.0)
    a = a / np.linalg.norm(a) * np.sqrt(0.5)
    return Network(a[:, None] * side_of(evidence, 1).w, a, leak=evidence.leak)


def perturbations(
    evidence: Evidence, centre: Network, size: float, count: int, rng: np.random.Generator
) -> list[Network]:
    """Unit networks near the centre, pi_b(theta^), whose output weights keep their signs.

    Random ones, and ones whose losing neurons point where the dual multipliers of w^+ reward them most while the
    winning ones lean against the change: the way up that Assumption A.5* closes.
    """
    signs, found = np.sign(evidence.network.a), []
    for _ in range(count):
        dw, da = rng.standard_normal(centre.w.shape), rng.standard_normal(centre.a.shape)
        scale = size / np.sqrt(np.sum(dw**2) + np.sum(da**2))
        a = centre.a + scale * da
        found.append(unit_norm(centre.replace(w=centre.w + scale * dw, a=np.where(signs * a > 0.0, a, 0.0))))
    dataset, losing = evidence.dataset, signs < 0.0
    if not np.any(losing):
        return found
    multipliers = against(evidence, 1).multipliers
    rewarded = NeuronOracle(dataset.X, dataset.y, evidence.leak, signs=(-1,)).best(multipliers * dataset.y)
    best = rewarded.vector / rewarded.value
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
    centre = evidence.recorded(MaximiserAndNeighbours).network
    value = normalized_margin(centre, evidence.dataset)
    best = max(
        normalized_margin(network, evidence.dataset)
        for size in (0.05, 0.01, 0.002)
        for network in perturbations(evidence, centre, size, 200, rng)
    )
    return best / value - 1.0


def _maximisers_nearby(evidence: Evidence, centre: Network) -> list[Network]:
    """Networks of equal margin, one per perturbation: the best direction in its patterns, by a conic program."""
    rng, dataset = np.random.default_rng(1), evidence.dataset
    found = []
    for near in perturbations(evidence, centre, 0.01, NUM_SOLVED, rng):
        solved = unit_norm(max_margin_in_patterns(near, dataset))
        if abs(normalized_margin(solved, dataset) / normalized_margin(centre, dataset) - 1.0) <= EQUAL_MARGIN:
            found.append(solved)
    return found


def _same_function(evidence: Evidence) -> Comparison:
    """Largest difference of the outputs, at random unit points, of maximisers found nearby and of pi_b(theta^)."""
    record = evidence.recorded(MaximiserAndNeighbours)
    centre, others = record.network, record.neighbours
    points = np.random.default_rng(2).standard_normal((50, evidence.dataset.d))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    if not others:
        return nothing("no network of equal margin was found nearby")
    gaps = (np.abs(other.outputs(points) - centre.outputs(points)) for other in others)
    words = f"outputs of {len(others)} maximisers nearby differ by up to {{measured:.3g}}"
    return worst_compared(gaps, "at_most", SAME_OUTPUTS, words=words)


def _dual_value_of_winner(evidence: Evidence) -> float:
    return against(evidence, 1).dual_multipliers


def _winner_threshold(evidence: Evidence) -> float:
    return against(evidence, 1).threshold


THM_G_11 = Theorem(
    "lyu2021:thmG.11",
    Reference("lyu2021", "Theorem G.11"),
    r"Under A.5*, $\pi_b((w^+, 1)/\sqrt{2})$ locally maximises the margin among networks of the same signs, and "
    r"nearby networks of equal margin are the same function.",
    hypotheses=(BINARY_LABELS, LEAKY, assumed(LINEARLY_SEPARABLE), assumed(A_5_STAR), SOME_POSITIVE),
    conclusions=(
        Conclusion(
            "local-maximum",
            "no nearby network of these signs has a larger margin",
            AtMost(_local_maximum, 0.0, allowance=1e-12, words="best nearby margin is 1 {measured:+.3g} times it"),
        ),
        Conclusion("same-function", "those of equal margin are the same function", _same_function, Level.EXACT),
    ),
    constants=Quantities({"V_star": _dual_value_of_winner, "gamma_plus_half": _winner_threshold}),
    record=_maximiser_and_neighbours,
    setting=BALANCED_SETTING,
    example="lyu-counterexample-sharp",
    erratum="E4: A.5 as printed does not suffice; A.5* does.",
    departs="Nearby networks are sampled, 1200 of them, half along the way up that a failing A.5* opens.",
)
