"""Errata of Sec. 6 and of Appendices A and G: the cone of correct signs, one sign that wins [lyu2021]."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.network_margin import network_margin
from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.dynamics.problem import TrainingProblem
from reluflow.errors import InvalidInputError
from reluflow.losses import LogisticLoss
from reluflow.network.network import Network, row_norms
from reluflow.papers.lyu2021 import assumptions
from reluflow.papers.lyu2021.hinted_data import figure1_right, hinted
from reluflow.papers.lyu2021.theorems.early_constants import correct_cone
from reluflow.papers.lyu2021.theorems.growth_in_the_cone import entry_sizes, growth_plan, growth_scale, window
from reluflow.theory.comparison import Comparison, at_least, at_most, equals
from reluflow.theory.erratum import Erratum
from reluflow.theory.evidence import Evidence
from reluflow.theory.facts import DatasetFacts

LEAK = 0.5


def pulling_gradient(data: Dataset, w: FloatArray) -> FloatArray:
    """The gradient of G(w) = (1/2n) sum_i y_i phi(<w, x_i>) off the boundaries."""
    return np.asarray(0.5 * (data.y * np.where(data.X @ w > 0.0, 1.0, LEAK)) @ data.X / data.n)


def separable() -> tuple[DatasetFacts, FloatArray]:
    """Data with a separator w*, which classifies every sample and so lies in C."""
    facts = DatasetFacts(load("lyu-counterexample-sharp"), LogisticLoss(), LEAK)
    if facts.separator is None:
        raise InvalidInputError("`dataset` must be small enough to be separated, got one that is not.")
    return facts, facts.separator.w


def _gradient_on_the_cone(share: float) -> Comparison:
    """|grad G - share mu^+| at a point of C."""
    facts, w = separable()
    gap = float(np.linalg.norm(pulling_gradient(facts.dataset, w) - share * facts.leaky_mean(1)))
    return at_most(gap, 1e-12, detail=rf"$|\nabla G - c \mu^+|$ with $c$ = {share:g} is {gap:.4g} on $C$")


E2 = Erratum(
    "lyu2021:E2",
    partial(_gradient_on_the_cone, 1.0),
    partial(_gradient_on_the_cone, 0.5),
    where="App. G",
    printed=r"the subgradient of $G$ on $C$ is $\mu^+$",
    corrected=r"$\mu^+/2$, and $\lambda_0^+ = |\mu^+|/2$; $\kappa$ is unaffected",
)


def _gradient_on_the_opposite_cone(sign: int) -> Comparison:
    """|grad G - mu/2| at a point of -C, for mu made of x_i^- as printed, which is x_i^+, or with slopes exchanged."""
    facts, w = separable()
    gap = float(np.linalg.norm(pulling_gradient(facts.dataset, -w) - 0.5 * facts.leaky_mean(sign)))
    name = "$x_i^+$" if sign > 0 else "$x_i^-$"
    return at_most(gap, 1e-12, detail=rf"distance of $\nabla G$ to half the mean of $y_i$ {name} is {gap:.4g} on $-C$")


E8 = Erratum(
    "lyu2021:E8",
    partial(_gradient_on_the_opposite_cone, 1),
    partial(_gradient_on_the_opposite_cone, -1),
    where="App. A, G.1",
    printed="$x_i^-$ is defined as $x_i^+$",
    corrected="with the slopes exchanged",
)


def _excluded_ray(side: float) -> Comparison:
    """How fast the direction of a positive neuron on side * mu^- turns: it stands still on an excluded ray."""
    facts, _ = separable()
    unit = side * facts.leaky_mean(-1) / np.linalg.norm(facts.leaky_mean(-1))
    pull = pulling_gradient(facts.dataset, unit)
    speed = float(np.linalg.norm(pull - (pull @ unit) * unit))
    return at_most(
        speed, 1e-12, detail=rf"the direction {'+' if side > 0 else '-'}$\mu^-$ turns at the speed {speed:.4g}"
    )


E7 = Erratum(
    "lyu2021:E7",
    partial(_excluded_ray, 1.0),
    partial(_excluded_ray, -1.0),
    where="G.3, G.4",
    printed=r"the excluded rays are $+\mu^-$ and $-\mu^+$",
    corrected=r"$-\mu^-$ for $a > 0$ and $+\mu^+$ for $a < 0$",
)


def _other_sign(case: tuple[str, float]) -> Comparison:
    """gamma^+/2 - V*, positive where no negative neuron can grow beside w^+ (A.5*), on data with A.5."""
    name, leak = case
    facts = DatasetFacts(load(name), LogisticLoss(), leak)
    printed = assumptions.opposite_networks(facts, sign=1, repaired=False).margin
    margin = assumptions.opposite_networks(facts, sign=1, repaired=True).margin
    value = float("nan") if margin is None else float(margin)
    return at_least(
        value, 0.0, detail=rf"A.5 has margin {printed or 0.0:.4g} on {name}, $\gamma^+/2 - V^*$ is {value:.4g}"
    )


E4 = Erratum(
    "lyu2021:E4",
    partial(_other_sign, ("lyu-counterexample", 0.1)),
    partial(_other_sign, ("lyu-counterexample-sharp", 0.5)),
    where="Thms A.7 and G.11",
    printed="Assumption A.5",
    corrected=r"A.5*: the dual multipliers of $w^+$ themselves must give $V^* < \gamma^+/2$; on three points A.5 "
    r"holds and the flow tends to a two-neuron network of margin 0.66087 instead of 1/2",
)


def _opposite_networks(*, printed: bool) -> Comparison:
    """gamma^-/2 minus the margin of networks with a_k <= 0, w^- itself among them, or V* of those with a_k >= 0."""
    facts = DatasetFacts(load("lyu-counterexample-sharp").with_flipped_labels(), LogisticLoss(), LEAK)
    side, data = facts.leaky.negative, facts.dataset
    network = Network([-side.w / np.linalg.norm(side.w)], [-1.0], leak=LEAK)
    own = float(np.min(data.y * network.outputs(data.X))) / 2.0
    margin = assumptions.opposite_networks(facts, sign=-1, repaired=True).margin or 0.0
    value = 0.5 * side.margin - own if printed else margin
    name = r"$a_k \le 0$" if printed else r"$a_k \ge 0$"
    return at_least(value, 1e-9, detail=rf"$\gamma^-/2$ exceeds the margin of networks with {name} by {value:.4g}")


E5 = Erratum(
    "lyu2021:E5",
    partial(_opposite_networks, printed=True),
    partial(_opposite_networks, printed=False),
    where="Thm A.10, A.9",
    printed=r"$a_k \le 0$",
    corrected=r"$a_k \ge 0$, with the mirrored A.6 and A.5*; $w^-$ lacks an index",
)


def _suboptimal(*, printed: bool) -> Comparison:
    """The best margin over eps/2 on hinted data, K at half or twice eps sqrt((3 + leak)/(1 - leak))."""
    instance = figure1_right(leak=LEAK)
    known = instance.conditions
    K = (0.5 if printed else 2.0) * known.eps * float(np.sqrt((3.0 + LEAK) / (1.0 - LEAK)))
    base = instance.dataset.subset(np.arange(3, instance.dataset.n))
    data = hinted(base, H=known.H, K=K, eps=known.eps, leak=LEAK).dataset
    ratio = network_margin(data, LEAK).margin / (0.5 * known.eps)
    return at_least(ratio, 1.0 + 1e-6, detail=rf"the best margin is {ratio:.7g} times $\varepsilon/2$ at $K$ = {K:.4g}")


E6 = Erratum(
    "lyu2021:E6",
    partial(_suboptimal, printed=True),
    partial(_suboptimal, printed=False),
    where="Thm 6.2, Lemma A.4, Thm G.9",
    printed=r"$\gamma^+/2$ is a suboptimal margin",
    corrected=r"for $m \ge 3$ exactly if $K > \varepsilon \sqrt{(3 + \mathrm{leak})/(1 - \mathrm{leak})}$; for "
    r"$m = 1$ it is optimal among $a_1 \ge 0$",
)


def _probability(*, printed: bool) -> Comparison:
    """Share of 100,000 balanced draws of two neurons with a positive one, against 0.9 or 1 - 2^-m."""
    draws = np.random.default_rng(0).standard_normal((100_000, 2)) > 0.0
    share = float(np.mean(np.any(draws, axis=1)))
    words = f"{share:.4g} of 100,000 draws with $m = 2$ have a positive neuron"
    return at_least(share, 0.9, detail=words) if printed else equals(share, 0.75, atol=6e-3, detail=words)


E11 = Erratum(
    "lyu2021:E11",
    partial(_probability, printed=True),
    partial(_probability, printed=False),
    where="Thm 6.2, A.7, A.10, App. G",
    printed=r"probability $1 - \delta$ over $D_{\mathrm{init}}$",
    corrected="$1 - 2^{-m}$ over the balanced draw",
)


_PAIRWISE_ONLY = Dataset([[1.0, 1.2], [1.0, -1.1], [0.3, 0.25]], [1.0, 1.0, 1.0], name="three points in a wedge")


def _principal_margin(facts: DatasetFacts) -> float:
    """The best margin of Assumption A.1 over those of 3,600 directions of the plane that separate the samples."""
    angles = np.linspace(0.0, 2.0 * np.pi, 3600, endpoint=False)
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    separates = np.all(facts.dataset.y * (directions @ facts.dataset.X.T) > 0.0, axis=1)
    return max(assumptions.principal_margin(facts, w) for w in directions[separates])


def _implication(*, printed: bool) -> Comparison:
    """The margin of A.1 where A.2 holds, or that of A.2 where A.1 holds."""
    data = _PAIRWISE_ONLY if printed else Dataset([[1.0, 0.1], [0.9, -0.1]], [1.0, 1.0], name="a thin wedge")
    facts = DatasetFacts(data, LogisticLoss(), LEAK)
    first, second = _principal_margin(facts), assumptions.pairwise_condition(facts).margin
    words = f"A.1 has margin {first:.4g}, A.2 {second or 0.0:.4g} on {data.name}"
    return at_least(first if printed else second or 0.0, 0.0, detail=words)


E15 = Erratum(
    "lyu2021:E15",
    partial(_implication, printed=True),
    partial(_implication, printed=False),
    where="App. A, G.1",
    printed="A.1 is weaker than A.2",
    corrected="it is stronger; the half-angle is an arctan",
)


def _growth_window(*, printed: bool) -> Comparison:
    """T0 + T1, where Lemma G.5 uses Lemma G.7, against the end of the window, with T0 added to it or not.

    Two neurons, one far outside the cone of correct signs, at the scale where r is half of r_max.
    """
    w = np.array([[-1.0, 0.6], [0.3, -0.2]])
    network = Network(w, row_norms(w) * [1.0, -1.0], leak=LEAK)
    problem = TrainingProblem(load("lyu-counterexample-sharp"), LogisticLoss(), network)
    evidence = Evidence(replace(problem, network=network.scaled(growth_scale(Evidence(problem)))))
    entry, used = growth_plan(evidence).times
    log_size = evidence.network.log_scale + 0.5 * np.log(correct_cone(evidence).factor) + entry_sizes(evidence).max()
    end = window(evidence, float(log_size)) + (0.0 if printed else entry)
    return at_most(used, end, detail=f"$T_0 + T_1$ = {used:.4g}, $T_0$ = {entry:.4g}, the window ends at {end:.4g}")


E16 = Erratum(
    "lyu2021:E16",
    partial(_growth_window, printed=True),
    partial(_growth_window, printed=False),
    where="G.4, G.5, G.7",
    printed=r"$\sqrt{\varepsilon/m}$, max for min, $C_1$, the window",
    corrected=r"$\sqrt{\varepsilon/(2m)}$, min, $C_1 = \sigma_{\max}/r_{\max}^3$, the window begins at $T_0$",
)
