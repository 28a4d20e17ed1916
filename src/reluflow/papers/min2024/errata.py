"""Errata of Min et al. (2024), ICLR version: what is printed, where it fails, and what holds instead [min2024]."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.geometry.alignment import align_until
from reluflow.losses import ExponentialLoss, LogisticLoss
from reluflow.papers.min2024.paper import EXAMPLE, SPATIAL
from reluflow.papers.min2024.theorems.constants import DataConstants
from reluflow.papers.min2024.theorems.counterexamples import LeavingPath, path_residual, resting_path
from reluflow.papers.min2024.theorems.low_rank import stable_rank_limit
from reluflow.theory.comparison import Comparison, at_least, at_most, equals, none_of
from reluflow.theory.erratum import Erratum
from reluflow.theory.facts import DatasetFacts


def _facts(dataset: Dataset) -> DatasetFacts:
    return DatasetFacts(dataset, ExponentialLoss(reduction="sum"), 0.0)


def _constants(dataset: Dataset) -> DataConstants:
    facts = _facts(dataset)
    return DataConstants(dataset.X, dataset.y, facts.pairs.mu, float(facts.norms.min()), float(facts.norms.max()))


def _cap(*, printed: bool) -> Comparison:
    """A neuron 10 degrees from x_-: the cap of parameter zeta around x_- must not hold it, and must lie in S_-."""
    data = _constants(load(EXAMPLE))
    cosine = math.cos(math.radians(10.0))
    zeta_1, zeta_2 = data.cap, 1.0 - cosine**2
    zeta = max(zeta_1, zeta_2) if printed else min(zeta_1, zeta_2)
    is_inside, holds_none = zeta <= zeta_1, cosine <= math.sqrt(1.0 - zeta) + 1e-15
    words = (
        rf"$\zeta$ = {zeta:.4g} of $\zeta_1$ = {zeta_1:.4g} (inside $S_-$) and $\zeta_2$ = {zeta_2:.4g} (no "
        rf"neuron inside)"
    )
    return none_of(int(not is_inside) + int(not holds_none), total=2, detail=words)


E1 = Erratum(
    "min2024:E1",
    partial(_cap, printed=True),
    partial(_cap, printed=False),
    where="App. C.2",
    printed=r"$\zeta = \max(\zeta_1, \zeta_2)$",
    corrected="the minimum: the cap must be inside $S_-$ and hold no neuron",
)


def _output_bound(factor: float) -> Comparison:
    """Lemma 3's bound on |f| at the eps of (28) with this factor, over (29), on the example with m = 10, W_max = 1."""
    data = _constants(load(EXAMPLE))
    unit = data.mu**2 * math.sqrt(data.mu) * data.smallest_norm
    eps = unit / (factor * math.sqrt(10.0) * data.n * data.largest_norm**2)
    ratio = 2.0 * eps * math.sqrt(10.0) * data.largest_norm / (unit / (4.0 * data.n * data.largest_norm))
    return at_most(ratio, 1.0, allowance=1e-12, detail=f"with {factor:g} in (28) Lemma 3 gives {ratio:.4g} times (29)")


E2 = Erratum(
    "min2024:E2",
    partial(_output_bound, 4.0),
    partial(_output_bound, 8.0),
    where="Eqs. (28), (29)",
    printed="the factor 4 in (28)",
    corrected="8, or the sharp form of Lemma 3: (29) is twice as strict",
)


def _order_of_t_1(power: float) -> Comparison:
    """Exponent of t_1 of (30) in mu between two nearly orthogonal pairs, against -power."""
    times = []
    for name in ("min-correlated", "min-nearly-orthogonal"):
        data = _constants(load(name))
        kappa = min(data.mu**2, data.cap)
        times.append((math.log(data.mu), math.log(16.0 * math.log(data.n) / (kappa * math.sqrt(data.mu)))))
    (x_1, y_1), (x_2, y_2) = times
    slope = (y_2 - y_1) / (x_2 - x_1)
    return equals(
        slope, -power, atol=0.01, detail=rf"$t_1$ grows like $\mu$ to the power {slope:.4g}, claimed {-power:g}"
    )


E3 = Erratum(
    "min2024:E3",
    partial(_order_of_t_1, 0.5),
    partial(_order_of_t_1, 2.5),
    where="Thm 1, Eq. (30)",
    printed=r"$t_1 = O(\log n/\sqrt{\mu})$",
    corrected=r"$\kappa \le \mu^2$ is hidden: $t_1$ is of order $\mu^{-5/2}\,\log n$; separation of variables "
    r"gives $\mu^{-1/2}$ up to a logarithm of $\mu$",
)


def _unit_force(factor: float) -> Comparison:
    """Lemma 2: the largest |force(h, y) - y| - 2|h| on [-1, 1] of so many times the logistic loss, at most 0."""
    loss, h = LogisticLoss(reduction="sum", factor=factor), np.linspace(-1.0, 1.0, 2001)
    excess = max(
        float(np.max(np.abs(loss.factor * loss.force(h, np.full_like(h, y)) - y) - 2.0 * np.abs(h)))
        for y in (-1.0, 1.0)
    )
    name = f"{loss.factor:g} times the {loss.name} loss"
    return at_most(
        excess, 0.0, allowance=1e-15, detail=f"largest $|F - y| - 2|h|$ of the force $F$ of {name} is {excess:.3g}"
    )


E4 = Erratum(
    "min2024:E4",
    partial(_unit_force, 1.0),
    partial(_unit_force, 2.0),
    where="Lemma 2",
    printed=r"$\ln(1 + \exp(-y f))$",
    corrected=r"twice that: $|F - y| \le 2|h|$ asks for a force $F$ of 1 at $h = 0$",
)


def _path_steps(*, printed: bool) -> Comparison:
    """Steps of the paths of 36 positive neurons that break condition 2, as printed or with both inequalities turned."""
    dataset, angles = load(EXAMPLE), np.linspace(0.0, 2.0 * np.pi, 36, endpoint=False) + 0.01
    w = np.column_stack([np.cos(angles), np.sin(angles)])
    events = align_until(dataset.X, dataset.y, w, np.ones(36), 4.0).events
    is_gain = (w @ dataset.X.T <= 0.0)[events.neurons, events.samples]  # no hyperplane is met twice
    grows_and_sheds = is_gain == (dataset.y > 0)[events.samples]
    broken = int(np.sum(grows_and_sheds == printed))
    return none_of(broken, total=len(is_gain), detail=f"{broken} of {len(is_gain)} steps break condition 2")


E6 = Erratum(
    "min2024:E6",
    partial(_path_steps, printed=True),
    partial(_path_steps, printed=False),
    where="App. C.2, paths",
    printed="condition 2 with $k_+$ falling or $k_-$ rising",
    corrected="both inequalities the other way",
)


def _time_of_one_sample(*, printed: bool) -> Comparison:
    """When a negative neuron 60 degrees from one positive sample dies, against t_1 as printed or in harmonic form."""
    data = _constants(Dataset([[1.0, 0.0]], [1.0]))
    angle = math.radians(60.0)  # d(cos)/dt = -(1 - cos^2)|x| until cos = 0
    needed = math.atanh(math.cos(angle)) / data.smallest_norm
    kappa = min(data.cap, 1.0 - math.cos(angle) ** 2)
    unit = kappa * math.sqrt(data.mu) * data.smallest_norm
    t_1 = 16.0 * math.log(data.n) / unit if printed else 4.0 / unit
    return at_most(needed, t_1, detail=f"the neuron dies at $t$ = {needed:.4g}, $t_1$ = {t_1:.4g} for $n = 1$")


E7 = Erratum(
    "min2024:E7",
    partial(_time_of_one_sample, printed=True),
    partial(_time_of_one_sample, printed=False),
    where="Eq. (30)",
    printed=r"$t_1 = 16\,\log n/(\dots)$ for every $n$",
    corrected=r"$n \ge 2$: for $n = 1$ it is 0, which no neuron meets",
)


def _opposite_classes(*, printed: bool) -> Comparison:
    """|x_+ + x_-|/|x_+|, 0 as the proof of Lemma 8 has it, or least cos(-x_-, y_i x_i): -x_- is in the dual of K."""
    data = _constants(load(EXAMPLE))
    plus, minus = data.total(1), data.total(-1)
    if printed:
        gap = float(np.linalg.norm(plus + minus) / np.linalg.norm(plus))
        return at_most(gap, 1e-12, detail=f"$|x_+ + x_-|$ = {gap:.4g} $|x_+|$")
    least = float(np.min(data.unit_signed @ -minus)) / float(np.linalg.norm(minus))
    return at_least(
        least, data.mu, detail=rf"least $\cos(-x_-, y_i x_i)$ = {least:.4g}, at least $\mu$ = {data.mu:.4g}"
    )


E8 = Erratum(
    "min2024:E8",
    partial(_opposite_classes, printed=True),
    partial(_opposite_classes, printed=False),
    where="Lemma 8, proof",
    printed="$x_+ = -x_-$",
    corrected="not in general; $-x_-$ in $K$ serves, the statement stands",
)


def _stable_rank(*, printed: bool) -> Comparison:
    """The limit of the stable rank on the example in R^3, against 2 or at most 2/(1 + mu)."""
    facts = _facts(load(SPATIAL))
    limit, bound = stable_rank_limit(facts.one_class), 2.0 / (1.0 + facts.pairs.mu)
    if printed:
        return equals(limit, 2.0, atol=1e-6, detail=f"the stable rank tends to {limit:.6g}")
    return at_most(limit, bound, detail=f"the stable rank tends to {limit:.6g}, at most {bound:.6g}")


E9 = Erratum(
    "min2024:E9",
    partial(_stable_rank, printed=True),
    partial(_stable_rank, printed=False),
    where="App. D.3",
    printed="the stable rank tends to 2",
    corrected=r"its limit is at most $2/(1 + \mu)$",
)


def _turning(cosine: float) -> Comparison:
    """(37) for a neuron at this cosine to x_+, pulled by x_a = 3/2 x_+ in length, at cosine 1/3 to x_+ and on its side.

    d cos/dt = (1/3 - cos cos(w, x_a)) |x_a| against (1/3 - cos) |x_+|/2: the bound replaces |x_a| by a smaller number.
    """
    between = math.cos(math.acos(1.0 / 3.0) - math.acos(cosine))
    speed, bound = 1.5 * (1.0 / 3.0 - cosine * between), 0.5 * (1.0 / 3.0 - cosine)
    return at_least(
        speed, bound, detail=rf"$d\cos/dt$ = {speed:.4g} against {bound:.4g} at $\cos$ = {cosine:g}, $|x_+| = 1$"
    )


E10 = Erratum(
    "min2024:E10",
    partial(_turning, 0.9),
    partial(_turning, 0.25),
    where="Eq. (37)",
    printed="for every cosine",
    corrected="for cosines up to 1/3",
)


def _closed(*, printed: bool) -> Comparison:
    """The limit 0 of the output weights 1, 1/2, 1/4, ..., all in the set for s_j = 1: must be in it too."""
    members = 0.5 ** np.arange(1100.0)  # the last ones are 0 in doubles, as in the limit
    limit = float(members[-1])
    words = f"the limit {limit:g} of positive weights has sign {np.sign(limit):g}"
    return equals(float(np.sign(limit)), 1.0, atol=0.0, detail=words) if printed else at_least(limit, 0.0, detail=words)


E11 = Erratum(
    "min2024:E11",
    partial(_closed, printed=True),
    partial(_closed, printed=False),
    where="App. E.5",
    printed=r"the set $\operatorname{sign}(a_j) = \operatorname{sign}(a_j(0))$ is closed",
    corrected=r"$s_j a_j \ge 0$ is; a square is missing in (50)",
)


def _leaves_dead_cone(*, printed: bool) -> Comparison:
    """w_1 at t = 2 of a solution from S_dead for x = (1, 0): of one that leaves, or of the regular one, which stays."""
    path = LeavingPath() if printed else resting_path
    residual = path_residual(path, 2.0, label=1.0, slope_at_zero=0.0)
    reached = float(path(np.array([2.0]))[0, 0])
    words = f"the path ends at $w_1$ = {reached:.4g}, and misses the equation by {residual:.6f}"
    return at_most(reached if residual <= 1e-9 else -math.inf, 0.0, detail=words)  # what solves nothing breaks nothing


E5 = Erratum(
    "min2024:E5",
    partial(_leaves_dead_cone, printed=True),
    partial(_leaves_dead_cone, printed=False),
    where="Lemma 12",
    printed="(a) for any solution; (b), (c) argued in a circle",
    corrected="(a) for regular ones; (b), (c) by (7), (8)",
)


def _growth_in_steps(reduction: str) -> Comparison:
    """Iterations after which f is of order 1 in Figure 5: scale 1e-6, step 2e-3, 50 neurons, digits 0 and 1."""
    data = load("mnist-0-1")
    weight = 1.0 if reduction == "sum" else 1.0 / data.n
    pull = max(float(np.linalg.norm(weight * data.X[data.y == sign].sum(axis=0))) for sign in (-1.0, 1.0))
    squared_size = 1e-12 * data.d  # |w|^2, which grows like exp(2 pull t)
    steps = -math.log(50 * squared_size) / (2.0 * pull) / 2e-3
    words = f"with the {reduction} over the samples neurons grow to order 1 in about {steps:.3g} iterations"
    return at_least(steps, 300.0, detail=f"{words}; Figure 5 shows the loss fall after some 3,000")


E12 = Erratum(
    "min2024:E12",
    partial(_growth_in_steps, "sum"),
    partial(_growth_in_steps, "mean"),
    where="Sec. 5, Fig. 5; App. A",
    printed=r"the loss is the sum $\sum_i \ell(y_i, f(x_i))$",
    corrected="in the figures it is the mean: with the sum everything comes $n$ times sooner, in about one step",
)


ERRATA = (E1, E2, E3, E4, E5, E6, E7, E8, E9, E10, E11, E12)
