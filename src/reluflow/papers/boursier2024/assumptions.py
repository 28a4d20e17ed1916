"""Data assumptions of Boursier & Flammarion (2024) [boursier2024], in the corrected forms of the errata."""

from __future__ import annotations

from functools import lru_cache, partial
from itertools import permutations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.budget import count
from reluflow.geometry.arrangement import TIE
from reluflow.geometry.general_position import smallest_subset_singular_value
from reluflow.geometry.pairs import pair_summary
from reluflow.papers.boursier2024.data import three_point_box_worst
from reluflow.theory.comparison import Comparison, fails, judgement, positive, undecided
from reluflow.theory.condition import Assumption
from reluflow.theory.facts import MAX_SUBSETS, DatasetFacts
from reluflow.theory.output_facts import OutputFacts

_OPERATIONS_A_CONE = 1e4  # with one facet, of 1e9 a second
LARGEST_PRINTED_ETA = 1.0 / 6.0  # Theorem 2 and Lemma 8 as printed


def loss_is_smooth(facts: DatasetFacts) -> Comparison:
    """Assumption 1: dl/dh is 1-Lipschitz in h and not 0 at h = 0 unless y = 0.

    The margin is 1 minus the Lipschitz constant of the loss times its factor (erratum E1: the half-square loss
    meets it, the square without one half does not).
    """
    if facts.loss.name == "exponential":
        return fails("the derivative of the exponential loss is not Lipschitz")
    h = np.linspace(-50.0, 50.0, 20_001)
    labels = np.array([-1.0, 1.0])
    constant = facts.loss.factor * max(float(np.max(facts.loss.curvature(h, np.full_like(h, y)))) for y in labels)
    forces = facts.loss.force_at_zero(facts.dataset.y)
    if np.any((forces == 0.0) & (facts.dataset.y != 0.0)):
        return fails(r"a sample with $y \ne 0$ has no force at $h = 0$")
    return judgement(constant <= 1.0, 1.0 - constant, f"Lipschitz constant {constant:.6g}")


def samples_have_densities(facts: DatasetFacts) -> Comparison:
    """Assumption 2: the samples are independent with densities; no finite dataset can show it."""
    return undecided("a statement about the law of the data; `general-position` is its deterministic certificate")


def general_position(facts: DatasetFacts) -> Comparison:
    """Lemma 2: any d samples with their forces are independent, and no D_u lies on the boundary of its cone."""
    found = facts.general_position
    if found is None:
        return undecided(f"too many subsets of {facts.dataset.d} samples, and {_too_many_cones(facts)}")
    return judgement(found.holds, None if found.holds is None else found.margin, found.detail)


def no_saddle(facts: DatasetFacts) -> Comparison:
    """Theorem 1: no extremal vector is a saddle of G on the sphere; faces with D_u = 0 are `no_dead_saddle`."""
    if not facts.has_affordable_cones:
        return undecided(_too_many_cones(facts))
    extremal = facts.extremal
    if not extremal.exact:
        return undecided("the extremal vectors could not be enumerated exactly")
    saddles = sum(kind == "saddle" for kind in extremal.kinds)
    count = f"{len(extremal.kinds)} extremal vector{'s' if len(extremal.kinds) != 1 else ''}"
    detail = f"{count}, {saddles} of them {'saddles' if saddles != 1 else 'a saddle'}"
    return judgement(saddles == 0, float(-saddles), detail)


def samples_in_general_position(facts: OutputFacts) -> Comparison:
    """Lemma 2 for several outputs: any d samples are independent, all pull, no extremal pair is on a boundary."""
    forces = facts.loss.label_forces(facts.dataset.y, facts.dataset.num_outputs)
    idle = np.flatnonzero(~np.any(forces, axis=1))
    if idle.size:
        return fails(f"sample {idle[0] + 1} has no force")
    if repeated := facts.dataset.num_repeated:
        return fails(f"{repeated} sample{'s repeat' if repeated > 1 else ' repeats'} an earlier one")
    found = smallest_subset_singular_value(facts.dataset.X, max_subsets=MAX_SUBSETS)
    if found is None:
        return undecided(f"there are more than {MAX_SUBSETS} subsets of {facts.dataset.d} samples")
    names = ", ".join(str(k + 1) for k in found[1])
    detail = f"the samples closest to dependent are {names}, with least singular value {found[0]:.3g}"
    if found[0] <= TIE:
        return judgement(False, found[0] - TIE, detail)
    if facts.extremal is None or not facts.extremal.exact:
        return undecided(f"{detail}; there are too many cones to visit for the boundaries of their extremal pairs")
    if facts.extremal.degenerate:
        return fails(f"{detail}; {'; '.join(facts.extremal.degenerate)}")
    return positive(found[0] - TIE, f"{detail}; no extremal pair is on the boundary of its cone")


def no_saddle_among_pairs(facts: OutputFacts) -> Comparison:
    """The same of extremal pairs: each is a maximum of |Gamma| on the sphere."""
    pairs = facts.extremal
    if pairs is None or not pairs.exact:
        return undecided("there are too many cones to visit")
    saddles, left_open = pairs.kinds.count("saddle"), pairs.kinds.count("open")
    detail = f"{len(pairs)} extremal pair{'s' if len(pairs) != 1 else ''}, {saddles} of them saddles"
    if left_open and not saddles:
        return undecided(f"{detail}; the kind of {left_open} is open")
    return judgement(saddles == 0, float(-saddles), detail)


def no_dead_saddle(facts: DatasetFacts) -> Comparison:
    """Erratum E14: a face with D_u = 0 is critical too, and G must not take both signs around it."""
    if not facts.has_affordable_cones:
        return undecided(_too_many_cones(facts))
    found = len(facts.extremal.dead_saddles)
    return judgement(found == 0, float(-found), f"{found} cones with $D_u = 0$ around which $G$ takes both signs")


def acute_positive_data(facts: DatasetFacts) -> Comparison:
    """Assumption 4: <x_k, x_k'> > 0, y_k > 0, n >= d, any d samples independent."""
    X, y = facts.dataset.X, facts.dataset.y
    n, d = X.shape
    if not np.all(y > 0):
        return fails(f"smallest label {y.min():.6g}", float(y.min() / (np.abs(y).max() or 1.0)))
    if n < d:
        return fails(f"$n$ = {n} is below $d$ = {d}", float(n - d))
    pairs = facts.pairs if facts.dataset.is_binary else pair_summary(X, np.ones(n))
    smallest = min(1.0, pairs.min_same_class)
    if smallest <= 0.0:
        return fails(f"smallest cosine between samples {smallest:.6g}", smallest)
    if not pairs.is_complete:
        return undecided(f"too many pairs for $n$ = {n}")
    generic = facts.general_position
    independence = None if generic is None else generic.smallest_singular_value
    if independence is None:
        return undecided(
            f"smallest cosine {smallest:.6g}, but the independence of all {d}-subsets of {n} samples is out of reach"
        )
    detail = (
        f"smallest cosine {smallest:.6g}, smallest label {y.min():.6g}, "
        f"smallest singular value of {d} unit samples {independence:.3g}"
    )
    margin = min(smallest, float(y.min() / y.max()), independence)
    return judgement(margin > 1e-12, margin, detail)


def facet_condition(facts: DatasetFacts) -> Comparison:
    """Assumption 5: y_k |x_k|^2 > |y| sqrt(sum_{k' != k} <x_k', x_k>^2) for every facet k of the all-active cone."""
    if not facts.has_affordable_cones:
        return undecided(_too_many_cones(facts))
    facets = facts.active_facets
    if facets.size == 0:
        return judgement(True, None, "the all-active cone has no facet, nothing to check")
    X, y = facts.dataset.X, facts.dataset.y
    gram = X[facets] @ X.T
    own = facts.norms[facets] ** 2
    others = np.sqrt(np.maximum(np.sum(gram**2, axis=1) - own**2, 0.0))
    left, right = y[facets] * own, np.linalg.norm(y) * others
    sides = "; ".join(
        f"sample {k + 1}: {a:.4g} against {b:.4g}" for k, a, b in list(zip(facets, left, right, strict=True))[:4]
    )
    return positive(float(np.min(left - right)), sides)


def residual_condition(facts: DatasetFacts) -> Comparison:
    """Assumption 6: at the least-squares line beta*, adding any neuron of mixed pattern raises the loss.

    With rho = y - X beta*: rho_k > 0 on the facets of the all-active cone; G(w) = c sum rho_k s(<w, x_k>) is
    positive on every ray with facets on both sides; and u_k <D, x_k> > 0 for every facet k that a mixed cone u
    touches, for all admissible D. The margin is the smallest of these numbers, made scale free.
    """
    if not facts.has_affordable_cones:
        return undecided(_too_many_cones(facts))
    if facts.rank < facts.dataset.d:
        return fails(rf"$X^\top X$ is singular: rank {facts.rank} in dimension {facts.dataset.d}")
    if not np.any(facts.dataset.y):
        return fails("all labels are 0, so there is no residual", 0.0)
    X, facets, cones = facts.dataset.X, facts.active_facets, facts.cones
    rho, label = facts.dataset.y - X @ facts.least_squares, np.abs(facts.dataset.y).max()
    size, is_ray = float(label) * float(facts.norms.max()), cones.dimensions == 1
    at_facets = cones.patterns[is_ray][:, facets]
    is_mixed_ray = np.any(at_facets > 0, axis=1) & np.any(at_facets < 0, axis=1)
    potential = np.maximum(cones.witnesses[is_ray] @ X.T, 0.0) @ rho / size
    parts = {
        "residual on the facets": float(np.min(rho[facets], initial=np.inf)) / label,
        "$G$ on mixed rays": float(np.min(potential[is_mixed_ray], initial=np.inf)),
        "push away from the facets": least_facet_push(facts, rho) / (size * facts.norms.max()),
    }
    return positive(min(parts.values()), "; ".join(f"{name} {value:.4g}" for name, value in parts.items()))


@lru_cache(maxsize=1)
def largest_safe_eta() -> float:
    """The eta up to which Assumption 5 holds on the whole Assumption 3 box (erratum E3: 0.0977, not 1/6).

    Root of the Assumption 5 margin at the worst corner of the box, which a search over all corners found.
    """
    from scipy.optimize import brentq

    def worst_margin(eta: float) -> float:
        dataset = three_point_box_worst(eta)
        X, y = dataset.X, dataset.y
        others = {k: np.sqrt(sum((X[j] @ X[k]) ** 2 for j in range(3) if j != k)) for k in (0, 2)}
        return float(min(y[k] * X[k] @ X[k] - np.linalg.norm(y) * others[k] for k in others))

    return float(brentq(worst_margin, 1e-3, LARGEST_PRINTED_ETA, xtol=1e-13))


def smallest_eta(X: FloatArray, y: FloatArray) -> tuple[float, float]:
    """Smallest eta whose Assumption 3 box holds the three samples in this order, and how far they miss its fixed sides.

    The fixed sides do not move with eta: -1 < x_1 and 1 <= its second coordinate, and so on. The second number is 0
    when they are met, and the strict ones count as met only off the boundary.
    """
    (p1, q1), (p2, q2), (p3, q3) = X
    violation = max(1.0 - q1, 1.0 - y[0], 1.0 - q3, 1.0 - y[2], 0.0)
    violation = max(violation, -1.0 - p1, p3 - 1.0, -y[1])
    if p1 <= -1.0 or p3 >= 1.0 or y[1] <= 0.0:
        violation = max(violation, np.finfo(float).tiny)
    eta = max(p1 + 1.0, q1 - 1.0, y[0] - 1.0, abs(p2), abs(q2 - 1.0), y[1], 1.0 - p3, q3 - 1.0, y[2] - 1.0)
    return float(eta), float(violation)


def three_point_box(facts: DatasetFacts, *, corrected: bool) -> Comparison:
    """Assumption 3 with eta < 1/6, as printed in Theorem 2, or with the eta for which Lemma 8 is true (erratum E3)."""
    limit = largest_safe_eta() if corrected else LARGEST_PRINTED_ETA
    name = f"{limit:.5f} (E3)" if corrected else "1/6"
    if (facts.dataset.n, facts.dataset.d) != (3, 2):
        return fails(f"needs 3 samples in dimension 2, got {facts.dataset.n} in dimension {facts.dataset.d}")
    orders = [list(order) for order in permutations(range(3))]
    fits = [smallest_eta(facts.dataset.X[order], facts.dataset.y[order]) for order in orders]
    eta, violation = min(fits, key=lambda fit: (fit[1], fit[0]))
    if violation > 0.0:
        return fails(rf"a side of the box that does not depend on $\eta$ is missed by {violation:.4g}", -violation)
    return positive(limit - eta, rf"smallest $\eta$ {eta:.6g}, allowed below {name}")


def _too_many_cones(facts: DatasetFacts) -> str:
    return f"too many activation cones for $n$ = {facts.dataset.n} in dimension {facts.rank}"


def least_facet_push(facts: DatasetFacts, rho: FloatArray) -> float:
    """Least inf_D u_k <D, x_k>, D over the slopes u leaves free, over mixed u and the facets k its closed cone touches.

    n times Eq. (51) for the residuals rho of the averaged half-square loss.
    """
    X, cones, least = facts.dataset.X, facts.cones, np.inf
    ray_patterns = cones.patterns[cones.dimensions == 1]
    mixed = cones.patterns[np.any(cones.patterns > 0, axis=1) & np.any(cones.patterns < 0, axis=1)]
    for k in facts.active_facets:
        products = rho * (X @ X[k])  # contribution of each sample to <D, x_k> at slope 1
        rays_on_k = ray_patterns[ray_patterns[:, k] == 0]
        count(_OPERATIONS_A_CONE * len(mixed))
        for u in mixed[mixed[:, k] != 0]:
            if np.any(np.all((rays_on_k == 0) | (rays_on_k == u), axis=1)):
                terms = u[k] * products
                least = min(least, float(terms[u > 0].sum() + np.minimum(terms[u == 0], 0.0).sum()))
    return least


SMOOTH_LOSS = Assumption(
    "boursier-a1",
    "boursier2024",
    r"Assumption 1: $d\ell/dh$ is 1-Lipschitz and not 0 at $h = 0$ unless $y = 0$",
    loss_is_smooth,
)
DENSITIES = Assumption(
    "boursier-a2", "boursier2024", "Assumption 2: independent samples with densities", samples_have_densities
)
GENERAL_POSITION = Assumption(
    "general-position",
    "boursier2024",
    "Lemma 2: samples independent, no $D_u$ on the boundary of its cone",
    general_position,
    samples_in_general_position,
)
NO_SADDLE = Assumption(
    "no-saddle", "boursier2024", "Theorem 1: no extremal vector is a saddle of $G$", no_saddle, no_saddle_among_pairs
)
NO_DEAD_SADDLE = Assumption(
    "no-dead-saddle",
    "boursier2024",
    "Theorem 1 (E14): no saddle of $G$ on a cone with $D_u = 0$ either",
    no_dead_saddle,
)
THREE_POINT_BOX = Assumption(
    "three-point-box",
    "boursier2024",
    r"Assumption 3 with $\eta < 1/6$, as printed in Thm 2",
    partial(three_point_box, corrected=False),
)
THREE_POINT_BOX_CORRECTED = Assumption(
    "three-point-box-corrected",
    "boursier2024",
    r"Assumption 3 with the $\eta$ for which Lemma 8 is true (E3)",
    partial(three_point_box, corrected=True),
)
ACUTE_POSITIVE_DATA = Assumption(
    "boursier-a4",
    "boursier2024",
    r"Assumption 4: acute samples, positive labels, $n \ge d$, independent",
    acute_positive_data,
)
FACET_CONDITION = Assumption(
    "boursier-a5", "boursier2024", "Assumption 5: a single active neuron stays active on all samples", facet_condition
)
RESIDUAL_CONDITION = Assumption(
    "boursier-a6",
    "boursier2024",
    "Assumption 6: no mixed neuron lowers the loss at the least-squares line",
    residual_condition,
)

ASSUMPTIONS = (
    SMOOTH_LOSS,
    DENSITIES,
    GENERAL_POSITION,
    NO_SADDLE,
    NO_DEAD_SADDLE,
    THREE_POINT_BOX,
    THREE_POINT_BOX_CORRECTED,
    ACUTE_POSITIVE_DATA,
    FACET_CONDITION,
    RESIDUAL_CONDITION,
)
