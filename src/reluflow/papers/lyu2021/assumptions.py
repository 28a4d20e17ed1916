"""Data assumptions of Lyu, Li, Wang & Arora (2021) [lyu2021], in the corrected forms of the errata."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.best_neuron import MAX_PATTERNS
from reluflow.certificates.hard_margin import linear_separator
from reluflow.geometry.cones import num_open_cones
from reluflow.papers.lyu2021.hinted_data import HintConditions
from reluflow.papers.lyu2021.hinted_data import hinted as hinted_dataset
from reluflow.theory.comparison import Comparison, fails, judgement, positive, undecided
from reluflow.theory.condition import NOT_BINARY, Assumption
from reluflow.theory.facts import MAX_SEPARATOR_ENTRIES, DatasetFacts
from reluflow.theory.output_facts import OutputFacts
from reluflow.theory.separability import LINEARLY_SEPARABLE, ORTHOGONALLY_SEPARABLE, ROUNDING, orthogonal_separability

_SYMMETRY_BUDGET = 20_000  # samples for which the distance to symmetry is computed, not only its truth

_MAX_HINT_SAMPLES = 400  # the search for hints is cubic


def symmetry(facts: DatasetFacts) -> Comparison:
    """Assumption 4.1: with (x, y) the data hold (-x, -y); the margin is minus the largest distance to a partner."""
    X, y = facts.dataset.X + 0.0, facts.dataset.y
    points, mirrored = np.column_stack([X, y]), np.column_stack([-X, -y]) + 0.0
    if np.array_equal(points[np.lexsort(points.T)], mirrored[np.lexsort(mirrored.T)]):
        return judgement(True, 0.0, "every sample has its exact mirror image")
    if facts.dataset.n > _SYMMETRY_BUDGET:
        return fails(f"not exactly symmetric; the distance is not computed for $n$ = {facts.dataset.n}")
    worst = 0.0
    squared = facts.norms**2
    for start in range(0, len(X), 1024):
        block = slice(start, start + 1024)
        distances = np.sqrt(np.maximum(squared[block, None] + squared[None] + 2 * X[block] @ X.T, 0.0))
        worst = max(worst, float(np.min(distances + np.abs(y[block, None] + y[None]), axis=1).max()))
    holds = worst <= 1e-7 * max(1.0, float(facts.norms.max())) and _mirror_within_rounding(facts)
    return judgement(holds, 0.0 if holds else -worst, f"largest distance of a sample to its mirror image {worst:.3g}")


def mean_is_off_boundaries(facts: DatasetFacts) -> Comparison:
    """Assumption 4.5: <mu, x_i> != 0 for every i; the margin is min_i |cos(mu, x_i)|."""
    if not facts.dataset.is_binary:
        return fails(NOT_BINARY)
    mu = facts.mean_signed_sample
    size = float(np.linalg.norm(mu))
    if size <= ROUNDING * float(facts.norms.max()):
        return fails(r"$\mu = 0$", 0.0)
    cosines = np.abs(facts.dataset.X @ mu) / (facts.norms * size)
    return judgement(bool(cosines.min() > ROUNDING), float(cosines.min()), rf"$|\mu|$ = {size:.6g}")


def non_branching(facts: DatasetFacts) -> Comparison:
    """Assumptions 4.6 and A.6: the flow near the aligned networks is unique; known for orthogonally separable data."""
    if orthogonal_separability(facts).holds:
        return judgement(True, None, "orthogonally separable data only refract neurons (App. I.2)")
    return undecided("not decidable by a finite computation; a trajectory that meets a ridge refutes it")


def unit_ball(facts: DatasetFacts | OutputFacts) -> Comparison:
    """Sec. 3: |x_i| <= 1, used by explicit constants only (rescale X and time otherwise)."""
    largest = float(facts.norms.max())
    return judgement(bool(largest <= 1.0 + ROUNDING), 1.0 - largest, f"largest $|x_i|$ = {largest:.6g}")


def principal_direction(facts: DatasetFacts) -> Comparison:
    """Assumption A.1: a unit w_d with mean|P x| / (leak <mu, w_d>) < min_i y_i <w_d, x_i> / max|P x|.

    P projects orthogonally to w_d.
    Judged at the max-margin separator and at the means of the signed samples; A.1 implies A.2 (Lemma G.1), so a
    failing A.2 refutes it.
    """
    if (refusal := _leaky_refusal(facts)) is not None:
        return refusal
    necessary = pairwise_condition(facts)
    if necessary.holds is False:
        return fails("A.2 fails, which A.1 would imply (Lemma G.1)", necessary.margin)
    candidates = [facts.mean_signed_sample, facts.leaky_mean(1), facts.leaky_mean(-1)]
    if facts.separator is not None and facts.separator.separable:
        candidates.append(facts.separator.w)
    best = max((principal_margin(facts, w) for w in candidates), default=-np.inf)
    detail = f"best margin {best:.6g} over the separator and the means"
    if best > 0:
        return judgement(True, best, detail)
    return judgement(None, best, detail + "; another direction may still serve")


def pairwise_condition(facts: DatasetFacts) -> Comparison:
    """Assumption A.2: <mu, z_i> > (1 - leak)/(n leak) sum_j max(-<z_i, z_j>, 0) for every i, with z_i = y_i x_i."""
    if (refusal := _leaky_refusal(facts)) is not None:
        return refusal
    if not facts.pairs.is_complete:
        return undecided(f"too many pairs for $n$ = {facts.dataset.n}")
    z = facts.dataset.X * facts.dataset.y[:, None]
    weight = (1.0 - facts.leak) / (facts.dataset.n * facts.leak)
    slack = z @ facts.mean_signed_sample - weight * facts.pairs.negative_sums
    return positive(float(slack.min()), f"smallest slack {slack.min():.6g} at sample {int(slack.argmin()) + 1}")


def longer_mean(facts: DatasetFacts, sign: int) -> Comparison:
    """Assumption A.3, |mu^+| > |mu^-|, or for sign -1 Assumption A.8, |mu^+| < |mu^-|; neither of equal lengths."""
    if not facts.dataset.is_binary:
        return fails(NOT_BINARY)
    plus, minus = (float(np.linalg.norm(facts.leaky_mean(sign))) for sign in (1, -1))
    kappa = 1.0 - minus / plus if plus > 0 else -np.inf
    if abs(plus - minus) <= ROUNDING * float(facts.norms.max()):
        return positive(0.0, rf"$|\mu^+| = |\mu^-|$ = {plus:.6g} up to rounding, $\kappa = 0$")
    return positive(sign * (plus - minus), rf"$|\mu^+|$ = {plus:.6g}, $|\mu^-|$ = {minus:.6g}, $\kappa$ = {kappa:.6g}")


@dataclass(frozen=True, eq=False)
class Hints:
    """The hints of a dataset: which samples they are, and what Theorem 6.2 asks of them."""

    first: int
    others: tuple[int, int]
    separator: FloatArray
    conditions: HintConditions

    @property
    def margin(self) -> float:
        """eps/2, that of the limit."""
        return 0.5 * self.conditions.eps


def find_hints(facts: DatasetFacts) -> Hints | None:
    """Three positive samples H w*, eps w* + K w_perp, eps w* - K w_perp, w* the max-margin separator of the rest."""
    X = facts.dataset.X
    for first, second, third in _hint_candidates(facts):
        base = facts.dataset.subset(np.setdiff1d(np.arange(facts.dataset.n), (first, second, third)))
        separator, across = linear_separator(base), 0.5 * (X[second] - X[third])
        size = float(np.linalg.norm(X[first]))
        if separator.separable and separator.w @ X[first] > (1.0 - 1e-12) * size:
            sizes = {"H": size, "K": float(np.linalg.norm(across))}
            eps = float(separator.w @ (X[second] + X[third]) / 2)
            needed = hinted_dataset(base, **sizes, eps=eps, leak=facts.leak, w_perp=across).conditions
            return Hints(first, (second, third), separator.w, needed)
    return None


def hinted(facts: DatasetFacts) -> Comparison:
    """Def. 6.1 with the parameters Theorem 6.2 needs, made explicit (errata E6, E11).

    The margin is the smallest relative slack of eps < eps limit and H > max(eps, H_0, H_3).
    """
    if (refusal := _leaky_refusal(facts)) is not None:
        return refusal
    if facts.dataset.n > _MAX_HINT_SAMPLES:
        return undecided(f"hints are not searched among $n$ = {facts.dataset.n} samples")
    found = find_hints(facts)
    if found is None:
        return fails("no three samples are hints for the rest")
    conditions = found.conditions
    needed = max(conditions.eps, conditions.H_0, conditions.H_3)
    slack = min(1.0 - conditions.eps / conditions.eps_limit, 1.0 - needed / conditions.H)
    detail = (
        rf"hints are samples {', '.join(str(k + 1) for k in (found.first, *found.others))}: $H$ = "
        rf"{conditions.H:.6g} (needs {needed:.6g}), $K$ = {conditions.K:.6g} (suboptimal above "
        rf"{conditions.K_min:.6g}), $\varepsilon$ = {conditions.eps:.6g} (below {conditions.eps_limit:.6g})"
    )
    return judgement(conditions.is_admissible, slack, detail)


def _hint_candidates(facts: DatasetFacts) -> Iterator[tuple[int, int, int]]:
    """Triples (i, j, k) of positive samples with x_j + x_k along x_i and x_j - x_k orthogonal to it, to rounding."""
    X = facts.dataset.X
    positive_samples = np.flatnonzero(facts.dataset.y > 0)
    for i in positive_samples:
        unit = X[i] / facts.norms[i]
        others = positive_samples[positive_samples != i]
        along = X[others] @ unit
        across = X[others] - along[:, None] * unit
        scale = facts.norms[others]
        for j in range(len(others)):
            mirrored = np.linalg.norm(across + across[j], axis=1) + np.abs(along - along[j])
            for k in np.flatnonzero(mirrored <= 1e-9 * (scale + scale[j])):
                if k > j and along[j] > 0.0 and np.linalg.norm(across[j]) > 1e-9 * scale[j]:
                    yield int(i), int(others[j]), int(others[k])


def opposite_networks(facts: DatasetFacts, *, sign: int, repaired: bool) -> Comparison:
    """Assumption A.5, all a_k <= 0 on the support of w^+, or for sign -1 A.9, all a_k >= 0 on that of w^- (erratum E5).

    As printed the margin of such networks is below gamma/2; `repaired`, the bound holds for the dual multipliers (A.5*,
    erratum E4).
    """
    if not facts.dataset.is_binary:
        return fails(NOT_BINARY)
    if facts.dataset.X.size > MAX_SEPARATOR_ENTRIES:
        return undecided(f"the max-margin separator is not attempted for $n d$ = {facts.dataset.X.size}")
    if facts.leak == 0.0:
        return undecided("stated for a leak in (0, 1); pass --leak")
    side = facts.leaky.positive if sign == 1 else facts.leaky.negative
    if not side.separator.separable:
        return fails("the data are not linearly separable")
    pulling = int(np.sum(facts.dataset.y[side.closest] == -sign))
    if pulling > 0 and num_open_cones(pulling, facts.rank) > MAX_PATTERNS:
        return undecided(
            f"{pulling} support samples of the other label in dimension {facts.rank} are too many to enumerate"
        )
    other = facts.against_positive if sign == 1 else facts.against_negative
    value = other.dual_multipliers if repaired else other.any_multipliers
    name, symbol = ("V*" if repaired else "V"), "+" if sign == 1 else "-"
    return positive(other.threshold - value, f"gamma^{symbol}/2 = {other.threshold:.6g}, {name} = {value:.6g}")


def _leaky_refusal(facts: DatasetFacts) -> Comparison | None:
    if not facts.dataset.is_binary:
        return fails(NOT_BINARY)
    if facts.leak == 0.0:
        return undecided("stated for a leak in (0, 1); pass --leak")
    return None


def principal_margin(facts: DatasetFacts, w: FloatArray) -> float:
    """The margin of Assumption A.1 for one direction; -inf for 0."""
    size = float(np.linalg.norm(w))
    if size == 0.0:
        return -np.inf
    unit = w / size
    along = facts.dataset.X @ unit
    across = np.linalg.norm(facts.dataset.X - along[:, None] * unit, axis=1)
    across[across <= ROUNDING * facts.norms] = 0.0
    smallest, drift = float((facts.dataset.y * along).min()), float(facts.mean_signed_sample @ unit)
    if smallest <= 0.0:
        return smallest
    if across.max() == 0.0:
        return np.inf
    return smallest / float(across.max()) - float(across.mean()) / (facts.leak * drift)


def _mirror_within_rounding(facts: DatasetFacts) -> bool:
    """Whether mirroring matches samples one to one up to rounding."""
    scale = float(facts.norms.max())
    keys = np.column_stack([facts.dataset.X / scale, facts.dataset.y])
    a = np.round(keys, 9) + 0.0
    b = np.round(-keys, 9) + 0.0
    return bool(np.allclose(a[np.lexsort(a.T)], b[np.lexsort(b.T)], atol=1e-8))


SYMMETRIC_SAMPLES = Assumption(
    "symmetric", "lyu2021", "Assumption 4.1: with $(x, y)$ the data hold $(-x, -y)$", symmetry
)
MEAN_OFF_BOUNDARIES = Assumption(
    "lyu-4.5", "lyu2021", r"Assumption 4.5: $\langle\mu, x_i\rangle \ne 0$ for all $i$", mean_is_off_boundaries
)
NON_BRANCHING = Assumption(
    "non-branching", "lyu2021", "Assumptions 4.6, A.6: the flow near aligned networks is unique", non_branching
)
UNIT_BALL = Assumption("unit-ball", "lyu2021", r"Sec. 3: $|x_i| \le 1$ (explicit constants only)", unit_ball, unit_ball)
PRINCIPAL_DIRECTION = Assumption(
    "principal-direction", "lyu2021", "Assumption A.1: a direction dominates every sample", principal_direction
)
A_2 = Assumption(
    "lyu-a2",
    "lyu2021",
    r"Assumption A.2: $\langle\mu, z_i\rangle > (1 - \mathrm{leak})/(n\,\mathrm{leak})\,\sum_j \max(-\langle z_i, "
    r"z_j\rangle, 0)$",
    pairwise_condition,
)
A_3 = Assumption("lyu-a3", "lyu2021", r"Assumption A.3: $|\mu^+| > |\mu^-|$", partial(longer_mean, sign=1))
A_5 = Assumption(
    "lyu-a5",
    "lyu2021",
    r"Assumption A.5 as printed: negative networks have margin below $\gamma^+/2$ on the support of $w^+$",
    partial(opposite_networks, sign=1, repaired=False),
)
A_5_STAR = Assumption(
    "lyu-a5-star",
    "lyu2021",
    "Assumption A.5* (E4): the same for the dual multipliers of $w^+$",
    partial(opposite_networks, sign=1, repaired=True),
)
A_8 = Assumption("lyu-a8", "lyu2021", r"Assumption A.8: $|\mu^+| < |\mu^-|$", partial(longer_mean, sign=-1))
A_9 = Assumption(
    "lyu-a9",
    "lyu2021",
    "Assumption A.9 (E5), repaired as A.5*: positive networks, support of $w^-$",
    partial(opposite_networks, sign=-1, repaired=True),
)
HINTED = Assumption("hinted", "lyu2021", "Def. 6.1: a separable set with three hints, admissible for Thm 6.2", hinted)

ASSUMPTIONS = (
    LINEARLY_SEPARABLE,
    SYMMETRIC_SAMPLES,
    MEAN_OFF_BOUNDARIES,
    NON_BRANCHING,
    UNIT_BALL,
    PRINCIPAL_DIRECTION,
    A_2,
    A_3,
    A_5,
    A_5_STAR,
    A_8,
    A_9,
    HINTED,
    ORTHOGONALLY_SEPARABLE,
)
