"""Two neurons on symmetric data: Lemmas F.1, F.2, F.3 and the angles in the proof of Theorem 5.5 [lyu2021]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.kkt import normalized_margin
from reluflow.network.network import Network, leaky_relu, row_norms
from reluflow.papers.lyu2021.assumptions import SYMMETRIC_SAMPLES
from reluflow.papers.lyu2021.paper import EXAMPLE
from reluflow.papers.lyu2021.theorems.hypotheses import MEAN_LOGISTIC
from reluflow.papers.lyu2021.theorems.limits import kkt_residuals, separator_of, settled_direction
from reluflow.papers.lyu2021.theorems.settings import TWO_NEURONS
from reluflow.theory.comparison import Comparison, Level, Values, at_most, judgement, require, requires
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.hypotheses import BALANCED, assumed
from reluflow.theory.measures import AtLeast, AtMost, Quantities
from reluflow.theory.separability import LINEARLY_SEPARABLE
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem

_NUM_STARTS = 30


def named_directions(evidence: Evidence) -> tuple[Network, Network, Network]:
    """(1/2)(w*, -w*, 1, -1), (w*, 0, 1, 0)/sqrt 2 and (0, -w*, 0, -1)/sqrt 2."""
    w, zero, root = separator_of(evidence).w, np.zeros(evidence.dataset.d), np.sqrt(0.5)
    return (
        Network([0.5 * w, -0.5 * w], [0.5, -0.5], leak=evidence.leak),
        Network([root * w, zero], [root, 0.0], leak=evidence.leak),
        Network([zero, -root * w], [0.0, -root], leak=evidence.leak),
    )


@dataclass(frozen=True, eq=False)
class PairDirections:
    """The three directions that Lemma F.3 names, and KKT directions found from random starts."""

    named: tuple[Network, ...]
    found: tuple[Network, ...]


def _found_directions(evidence: Evidence) -> PairDirections:
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
    return PairDirections(named_directions(evidence), tuple(found))


def _directions(evidence: Evidence) -> tuple[Network, ...]:
    return evidence.recorded(PairDirections).found


def _named(evidence: Evidence) -> tuple[Network, ...]:
    return evidence.recorded(PairDirections).named


def _distance(one: Network, two: Network) -> float:
    return float(np.sqrt(np.sum((one.w - two.w) ** 2) + np.sum((one.a - two.a) ** 2)))


def _all_directions(evidence: Evidence) -> list[Network]:
    """Those named in the lemma and those found."""
    return [*_named(evidence), *_directions(evidence)]


def _direction_residuals(evidence: Evidence) -> list[float]:
    return kkt_residuals(evidence, _all_directions(evidence), rtol=1e-7)


# Lemma F.1 ------------------------------------------------------------------------------------------------------------

_NUM_PAIRS = 500


@dataclass(frozen=True, eq=False)
class FeasiblePairs:
    """Pairs (u_1, u_2), shape (N, d) each, with slopes h_1 at <u_1, x_i> and h_2 at -<u_2, x_i>, shape (N, n) each."""

    first: FloatArray
    second: FloatArray
    slopes_first: FloatArray
    slopes_second: FloatArray


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
    pairs, X, y, leak = evidence.recorded(FeasiblePairs), evidence.dataset.X, evidence.dataset.y, evidence.leak
    one, two = pairs.first @ X.T, pairs.second @ X.T  # (N, n)
    margins = (y * (leaky_relu(one, leak) - leaky_relu(-two, leak))).min(axis=1)
    crossed = (y * (pairs.slopes_first * two + pairs.slopes_second * one)).min(axis=1)
    feasible = margins > 1e-9
    require(np.any(feasible), "no pair with a positive margin was drawn")
    return np.asarray(crossed[feasible] / margins[feasible])


LEMMA_F_1 = Theorem(
    "lyu2021:lemmaF.1",
    Reference("lyu2021", "Lemma F.1"),
    r"On symmetric data, if $y(\varphi(\langle u_1, x\rangle) - \varphi(-\langle u_2, x\rangle)) \ge 1$ for all "
    r"samples then $y(h_1 \langle u_2, x\rangle + h_2 \langle u_1, x\rangle) \ge 1$ for all slopes $h_1$ at "
    r"$\langle u_1, x\rangle$ and $h_2$ at $-\langle u_2, x\rangle$.",
    hypotheses=(assumed(LINEARLY_SEPARABLE), assumed(SYMMETRIC_SAMPLES)),
    conclusions=(
        Conclusion(
            "crossed",
            "crossing the slopes keeps the margin",
            AtLeast(_crossed_margins, 1.0, allowance=1e-12, words="ratio at least {measured:.9g} over {count} pairs"),
        ),
    ),
    record=feasible_pairs,
    setting=TWO_NEURONS,
    example=EXAMPLE,
    departs="Drawn pairs; both sides are scaled to smallest margin 1 together.",
)

# Lemma F.2 ------------------------------------------------------------------------------------------------------------


def _two_active(evidence: Evidence) -> list[Network]:
    return [n for n in _directions(evidence) if n.a[0] > 1e-6 and n.a[1] < -1e-6]


@requires(_two_active, "no KKT direction with two active neurons was found")
def _is_mirrored(evidence: Evidence, found: list[Network]) -> Values:
    """Largest of |w_1 + w_2|, |a_1 + a_2|, |a_1 - |w_1|| of each found direction with both neurons active."""
    for n in found:
        yield max(np.linalg.norm(n.w[0] + n.w[1]), abs(n.a[0] + n.a[1]), abs(n.a[0] - np.linalg.norm(n.w[0])))


LEMMA_F_2 = Theorem(
    "lyu2021:lemmaF.2",
    Reference("lyu2021", "Lemma F.2"),
    "On symmetric data a KKT direction of two neurons with $a_1 > 0 > a_2$ has $w_1 = -w_2$, $a_1 = -a_2 = |w_1|$.",
    hypotheses=(assumed(LINEARLY_SEPARABLE), assumed(SYMMETRIC_SAMPLES)),
    conclusions=(
        Conclusion(
            "kkt",
            "the directions satisfy the KKT conditions",
            AtMost(_direction_residuals, 1e-7, words="largest KKT residual {measured:.2g} of {count} directions"),
            Level.EXACT,
        ),
        Conclusion(
            "mirrored",
            "$w_1 = -w_2$ and $a_1 = -a_2 = |w_1|$",
            AtMost(_is_mirrored, 1e-6, words="off by at most {measured:.2g} in {count} directions"),
            Level.EXACT,
        ),
    ),
    record=_found_directions,
    setting=TWO_NEURONS,
    example=EXAMPLE,
    erratum="E17: in the proof $u_2 = a_2 w_2$.",
    departs="KKT directions are searched from 30 random starts.",
)

# Lemma F.3 ------------------------------------------------------------------------------------------------------------


@requires(_directions, "no KKT direction was found from random starts")
def _nothing_else(evidence: Evidence, found: tuple[Network, ...]) -> Values:
    """Distance of each found direction to the nearest of the three."""
    return [min(_distance(network, other) for other in _named(evidence)) for network in found]


def _margins(evidence: Evidence) -> Comparison:
    """Largest relative error of the three margins."""
    gamma, leak = separator_of(evidence).margin, evidence.leak
    expected = (0.25 * (1.0 + leak) * gamma, 0.5 * leak * gamma, 0.5 * leak * gamma)
    measured = [normalized_margin(network, evidence.dataset) for network in _named(evidence)]
    worst = float(np.max(np.abs(np.array(measured) - expected))) / gamma
    return at_most(worst, 1e-12, detail=f"margins {', '.join(f'{m:.9g}' for m in measured)}")


def _linear_margin(evidence: Evidence) -> float:
    return separator_of(evidence).margin


LEMMA_F_3 = Theorem(
    "lyu2021:lemmaF.3",
    Reference("lyu2021", "Lemma F.3"),
    r"On symmetric data the KKT directions of two neurons with $a_1 \ge 0 \ge a_2$ are $(1/2)(w^*, -w^*, 1, -1)$, "
    r"$(w^*, 0, 1, 0)/\sqrt{2}$ and $(0, -w^*, 0, -1)/\sqrt{2}$, of margins $(1 + \mathrm{leak}) \gamma^*/4$ and "
    r"$\mathrm{leak}\, \gamma^*/2$ twice.",
    hypotheses=(assumed(LINEARLY_SEPARABLE), assumed(SYMMETRIC_SAMPLES)),
    conclusions=(
        Conclusion(
            "kkt",
            "the three satisfy the KKT conditions",
            AtMost(_direction_residuals, 1e-7, words="largest KKT residual {measured:.2g} of {count} directions"),
            Level.EXACT,
        ),
        Conclusion("margins", "their margins are as stated", _margins, Level.EXACT),
        Conclusion(
            "nothing-else",
            "random starts find no other",
            AtMost(
                _nothing_else, 1e-6, words="{count} different directions, at most {measured:.2g} from one of the three"
            ),
        ),
    ),
    constants=Quantities({"linear_margin": _linear_margin}),
    record=_found_directions,
    setting=TWO_NEURONS,
    example=EXAMPLE,
    erratum=r"E3: the first has the factor 1/2, not 1/4; E17: the last is $(0, -w^*, 0, -1)/\sqrt{2}$.",
    departs="KKT directions are searched from 30 random starts.",
)

# Appendix F.1, proof of Theorem 5.5 -----------------------------------------------------------------------------------

_STEP = 1e-4  # relative distance in time of the snapshots that a derivative is taken from
_SOON = 50.0  # e-folds of growth that a run may need before steps relative to the time are too long


def _opposite_pair(evidence: Evidence) -> Comparison:
    signs = np.sort(np.sign(evidence.network.a))
    holds = np.array_equal(signs, [-1.0, 1.0])
    return judgement(holds, None, f"{signs.size} neurons with signs {signs.astype(int).tolist()}")


OPPOSITE_PAIR = Hypothesis("opposite-pair", "two neurons, one of each sign", _opposite_pair)


def _ahead(evidence: Evidence) -> Comparison:
    """From the first snapshot on, as a starting point of the autonomous flow."""
    cosines = _cosines(evidence, require(evidence.run.snapshots, "the run recorded no state")[0].network)
    least = float(cosines.min())
    return judgement(least > 0.0, least, rf"$\operatorname{{sign}}(a)\,\cos(w, w^*)$ = {cosines.round(4).tolist()}")


PAIR_AHEAD = Hypothesis(
    "ahead",
    r"$\langle w_1, w^*\rangle > 0 > \langle w_2, w^*\rangle$ at the first recorded time",
    _ahead,
    needs_trajectory=True,
)


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
    """Largest difference of the change of the ratio and its predicted rate, by Simpson's rule over three snapshots.

    Relative to the total force per w* direction.
    """
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
        rates = [log_ratio_rate(evidence, each.network, each.outputs) for each in (before, middle, after)]
        predicted = (rates[0] + 4.0 * rates[1] + rates[2]) / 6.0
        g = 1.0 / (1.0 + np.exp(evidence.dataset.y * middle.outputs))
        scale = float(g @ np.abs(evidence.dataset.X @ w_star)) / len(g)
        worst = max(worst, abs(measured - predicted) / scale)
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


APP_F_1 = Theorem(
    "lyu2021:appF.1",
    Reference("lyu2021", "Appendix F.1, proof of Theorem 5.5"),
    r"On symmetric data the angles of $w_1$ to $w^*$ and of $w_2$ to $-w^*$ stay below 90 degrees, and "
    r"$d/dt\,\ln(\langle w_2, -w^*\rangle/\langle w_1, w^*\rangle)$ is the proof's sum of forces over cosines.",
    hypotheses=(
        MEAN_LOGISTIC,
        assumed(LINEARLY_SEPARABLE),
        assumed(SYMMETRIC_SAMPLES),
        BALANCED,
        OPPOSITE_PAIR,
        PAIR_AHEAD,
    ),
    conclusions=(
        Conclusion("angles", "both angles stay below 90 degrees", _angles),
        Conclusion("rate", "the ratio changes at the predicted rate", _ratio_law, Level.EXACT),
    ),
    constants=Quantities({"lambda_0": growth_rate}),
    plan=_plan,
    setting=TWO_NEURONS,
    example=EXAMPLE,
    erratum=r"E17: $(1 - \mathrm{leak})/2$, $\min$ for $\max$, and $\cos\varepsilon > \mathrm{leak}$ in the use of "
    r"this quantity.",
    departs="Judged from the first recorded time on, after alignment; the flow is autonomous.",
)
