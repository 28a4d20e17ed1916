"""From small networks to one neuron: the extended embedding, Lemma G.8 and Theorem G.11 [lyu2021]."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.certificates.best_neuron import NeuronOracle
from reluflow.certificates.kkt import normalized_margin
from reluflow.certificates.pattern_margin import max_margin_in_patterns
from reluflow.errors import InvalidInputError
from reluflow.network.network import Network
from reluflow.theory.condition import Judgement
from reluflow.theory.evidence import Evidence, FlowPlan, drawn
from reluflow.theory.hypotheses import balanced_start, data_assumption, leaky_activation, no_ridge_met, regime
from reluflow.theory.limit import unit_norm
from reluflow.theory.lyu2021.cones_of_appendix_g import SETTING, binary_labels, mean_logistic
from reluflow.theory.lyu2021.early_constants import correct_cone
from reluflow.theory.lyu2021.entering_the_cone import off_the_rays
from reluflow.theory.lyu2021.growth_in_the_cone import (
    entry_norm,
    entry_time,
    growth_constants,
    in_cone_at_entry,
    stacked,
    where_entry_exists,
)
from reluflow.theory.lyu2021.non_symmetric_limit import against, side_of, winning_sign
from reluflow.theory.measurement import Level, Measurement, at_least, at_most, equals, missing, nothing
from reluflow.theory.stating import conclusion, needs, theorems_of
from reluflow.theory.theorem import Parameter

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
    shares = np.asarray(b, dtype=np.float64)
    if two.num_neurons != 2 or two.a[0] < 0.0 or two.a[1] > 0.0:
        raise InvalidInputError("`two` must hold a neuron with a >= 0 and one with a <= 0, in this order.")
    size = np.array([np.linalg.norm(shares[shares > 0.0]), np.linalg.norm(shares[shares < 0.0])])
    for k, word in enumerate(("positive", "negative")):
        if size[k] == 0.0 and (np.any(two.w[k]) or two.a[k] != 0.0):
            raise InvalidInputError(f"`b` must have a {word} entry, got none, for neuron {k + 1} is not zero.")
    source = np.where(shares < 0.0, 1, 0)
    part = np.abs(shares) / np.where(size > 0.0, size, 1.0)[source]
    return Network(part[:, None] * two.w[source], part * two.a[source], leak=two.leak, log_scale=two.log_scale)


def _times(evidence: Evidence) -> FloatArray:
    """T12 + t for t of -1, 0 and 1 growth times; in the given units."""
    cone, m = correct_cone(evidence), evidence.network.num_neurons
    log_sigma = evidence.network.log_scale + 0.5 * np.log(cone.factor)
    middle = entry_time(evidence) - (0.5 * np.log(m) + log_sigma) / cone.growth(1)
    return np.asarray(middle + np.array([-1.0, 0.0, 1.0]) / cone.growth(1))


def _after_entry(evidence: Evidence) -> Judgement:
    margin = float(_times(evidence)[0] - entry_time(evidence))
    return Judgement(margin > 0.0, margin, f"T12 - 1/lambda comes {margin:.4g} after T0")


def _plan(evidence: Evidence) -> FlowPlan:
    start = entry_time(evidence)
    later = [float(time) for time in _times(evidence) if time > start]
    return FlowPlan(times=(start, *later), sweep=_SWEEP)


def _late_states(evidence: Evidence) -> list[FloatArray] | None:
    """For every scale, largest first, the neurons at the three times, shape (3, num_neurons, d + 1)."""
    found = []
    for each in (evidence, *evidence.sweep):
        cone = correct_cone(each)
        snapshots = each.run.snapshots[1:]
        if len(snapshots) != 3:
            return None
        found.append(np.array([stacked(s.network, cone) for s in snapshots]))
    return found if len(found) >= 3 else None


def _log_sigmas(evidence: Evidence) -> FloatArray:
    return np.array([each.network.log_scale for each in (evidence, *evidence.sweep)])


@conclusion("losers", "negative neurons vanish like sigma^kappa", Level.SCALING)
@needs(_late_states, _TOO_FEW)
def _losers_vanish(evidence: Evidence, states: list[FloatArray]) -> Measurement:
    """Exponent in sigma of the size of the negative neurons at T12, between the two smallest scales: kappa."""
    negative = evidence.network.a < 0.0
    if not np.any(negative):
        return Measurement(True, 0.0, 0.0, 0.0, "no neuron is negative")
    sizes = np.log([entry_norm(state[1][negative]) for state in states])
    exponents = np.diff(sizes) / np.diff(_log_sigmas(evidence))
    kappa = growth_constants(evidence)["kappa"]
    words = f"negative neurons vanish like sigma^{exponents[-1]:.5g} at T12, foretold sigma^{kappa:.5g}"
    if 0.05 * kappa < abs(exponents[-1] - kappa) < abs(exponents[0] - kappa):
        return missing(f"{words}, and still coming closer; a smaller scale is needed")
    return equals(exponents[-1], kappa, atol=0.05 * kappa, detail=words)


@conclusion("winners", "positive neurons converge as sigma falls", Level.SCALING)
@needs(_late_states, _TOO_FEW)
def _winners_converge(evidence: Evidence, states: list[FloatArray]) -> Measurement:
    """Largest ratio of successive changes of the positive neurons as sigma falls tenfold, over the three times.

    Changes below 1e-9 of their size are those of the integration and count as none.
    """
    positive = evidence.network.a > 0.0
    changes = np.array([[entry_norm((b - a)[k][positive]) for k in range(3)] for a, b in pairwise(states)])
    changes = np.maximum(changes / [entry_norm(state[positive]) for state in states[-1]], 1e-9)
    ratio = float(np.max(changes[1:] / changes[:-1]))
    words = f"each tenfold smaller scale changes them at most {ratio:.4g} times as much as the last"
    return at_most(ratio, 1.0, detail=words)


@conclusion("embedding", "their limit is one neuron in fixed shares")
@needs(_late_states, _TOO_FEW)
def _is_embedded(evidence: Evidence, states: list[FloatArray]) -> Measurement:
    """Distance of the positive neurons at the smallest scale to an embedded single neuron, relative to their size."""
    positive, worst = evidence.network.a > 0.0, 0.0
    for state in states[-1]:
        z = state[positive]
        shares = z[:, -1]
        common = shares @ z / (shares @ shares)  # the single neuron per unit share
        worst = max(worst, entry_norm(z - shares[:, None] * common) / entry_norm(z))
    bound = evidence.parameter("embedding")
    return at_most(worst, bound, detail=f"relative distance {worst:.3g} to pi_b of one neuron")


@conclusion("non-zero", "the limit is not zero")
@needs(_late_states, _TOO_FEW)
def _is_not_zero(evidence: Evidence, states: list[FloatArray]) -> Measurement:
    smallest = min(entry_norm(state) for state in states[-1])
    return at_least(smallest, 0.1 * growth_constants(evidence)["A_bar"])


_theorem = theorems_of("lyu2021", setting=SETTING, example="lyu-counterexample-sharp")

LEMMA_G_8 = _theorem(
    "lemmaG.8",
    "As sigma tends to 0 the network at T12(sigma) + t tends to pi_b of one positive neuron, not zero; the "
    "negative neurons vanish like sigma^kappa.",
    hypotheses=(
        binary_labels,
        mean_logistic(),
        leaky_activation,
        data_assumption("lyu-a2"),
        data_assumption("lyu-a3"),
        balanced_start(),
        off_the_rays(),
        winning_sign(1),
        regime("late", "the first of the times comes after T0", where_entry_exists(_after_entry)),
        in_cone_at_entry(),
        no_ridge_met,
    ),
    conclusions=(_losers_vanish, _winners_converge, _is_embedded, _is_not_zero),
    constants=lambda e: {"T0": entry_time(e), "T12": float(_times(e)[1]), "kappa": growth_constants(e)["kappa"]},
    parameters=(
        Parameter("embedding", 1e-3, "allowed relative distance to one neuron at the smallest scale", low=0.0),
    ),
    plan=_plan,
    log_scale=lambda e: min(0.0, np.log(1e-5) - e.network.log_scale),
    erratum="E2, E11: lambda_0^+ = |mu^+|/2, balanced draw.",
    departs="The limits are read off four scales a factor 10 apart.",
)


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


@conclusion("local-maximum", "no nearby network of these signs has a larger margin")
def _local_maximum(evidence: Evidence) -> Measurement:
    """Largest gain of margin over perturbations of sizes 0.05, 0.01 and 0.002, relative to gamma^+/2."""
    rng = np.random.default_rng(0)
    value = normalized_margin(_one_neuron_network(evidence), evidence.dataset)
    best = max(
        normalized_margin(network, evidence.dataset)
        for size in (0.05, 0.01, 0.002)
        for network in perturbations(evidence, size, 200, rng)
    )
    return at_most(
        best / value - 1.0, 0.0, allowance=1e-12, detail=f"best nearby margin is 1 {best / value - 1.0:+.3g} times it"
    )


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


@conclusion("same-function", "those of equal margin are the same function", Level.EXACT)
def _same_function(evidence: Evidence) -> Measurement:
    """Largest difference of the outputs, at random unit points, of maximisers found nearby and of pi_b(theta^)."""
    centre, others = _one_neuron_network(evidence), _maximisers_nearby(evidence)
    points = np.random.default_rng(2).standard_normal((50, evidence.dataset.d))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    if not others:
        return nothing("no network of equal margin was found nearby")
    worst = max(float(np.max(np.abs(other.outputs(points) - centre.outputs(points)))) for other in others)
    return at_most(
        worst, SAME_OUTPUTS, detail=f"outputs of {len(others)} maximisers nearby differ by up to {worst:.3g}"
    )


THEOREM_G_11 = _theorem(
    "thmG.11",
    "Under A.5* pi_b((w^+, 1)/sqrt 2) locally maximises the margin among networks of the same signs, and nearby "
    "networks of equal margin are the same function.",
    hypotheses=(
        binary_labels,
        leaky_activation,
        data_assumption("linearly-separable"),
        data_assumption("lyu-a5-star"),
        winning_sign(1),
    ),
    conclusions=(_local_maximum, _same_function),
    constants=lambda e: {"V_star": against(e, 1).dual_multipliers, "gamma_plus_half": against(e, 1).threshold},
    erratum="E4: A.5 as printed does not suffice; A.5* does.",
    departs="Nearby networks are sampled, 1200 of them, half along the way up that a failing A.5* opens.",
)
