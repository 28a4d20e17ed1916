"""Cases for the errata of Lyu et al.: the printed form measured where it fails, the corrected one where it holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.integrate import solve_ivp

from reluflow.arrays import FloatArray
from reluflow.certificates.hard_margin import linear_separator
from reluflow.certificates.kkt import kkt_certificate
from reluflow.certificates.network_margin import network_margin
from reluflow.data.dataset import Dataset
from reluflow.data.published.lyu2021 import table1_split
from reluflow.data.published.lyu2021_hinted import figure1_right, hinted
from reluflow.data.registry import load
from reluflow.dynamics.problem import TrainingProblem
from reluflow.errors import InvalidInputError
from reluflow.losses import LogisticLoss
from reluflow.network.network import Network, leaky_relu, row_norms
from reluflow.theory.comparison import Comparison, at_least, at_most, equals
from reluflow.theory.evidence import Evidence
from reluflow.theory.facts import DatasetFacts
from reluflow.theory.lyu2021 import conditions
from reluflow.theory.lyu2021.early_constants import correct_cone
from reluflow.theory.lyu2021.growth_in_the_cone import entry_sizes, growth_plan, growth_scale, window

LEAK = 0.5


def _gradient(data: Dataset, w: FloatArray) -> FloatArray:
    """The gradient of G(w) = (1/2n) sum_i y_i phi(<w, x_i>) off the boundaries."""
    return np.asarray(0.5 * (data.y * np.where(data.X @ w > 0.0, 1.0, LEAK)) @ data.X / data.n)


def _pull_of_mean(share: float) -> Comparison:
    """G(mu-bar) on symmetric data against share (1 + leak) |mu|."""
    data = load("lyu-symmetric")
    mean = (data.y @ data.X) / data.n
    unit = mean / np.linalg.norm(mean)
    value, stated = float(_gradient(data, unit) @ unit), share * (1.0 + LEAK) * float(np.linalg.norm(mean))
    return equals(value, stated, atol=1e-12, detail=f"G(mu-bar) = {value:.6g} against {stated:.6g}")


def _separable() -> tuple[DatasetFacts, FloatArray]:
    """Data with a separator w*, which classifies every sample and so lies in C."""
    facts = DatasetFacts(load("lyu-counterexample-sharp"), LogisticLoss(), LEAK)
    if facts.separator is None:
        raise InvalidInputError("`dataset` must be small enough to be separated, got one that is not.")
    return facts, facts.separator.w


def _gradient_on_the_cone(share: float) -> Comparison:
    """|grad G - share mu^+| at a point of C."""
    facts, w = _separable()
    gap = float(np.linalg.norm(_gradient(facts.dataset, w) - share * facts.leaky_mean(1)))
    return at_most(gap, 1e-12, detail=f"|grad G - {share:g} mu^+| = {gap:.4g} on C")


def _gradient_on_the_opposite_cone(sign: int) -> Comparison:
    """|grad G - mu/2| at a point of -C, for mu made of x_i^- as printed, which is x_i^+, or with slopes exchanged."""
    facts, w = _separable()
    gap = float(np.linalg.norm(_gradient(facts.dataset, -w) - 0.5 * facts.leaky_mean(sign)))
    name = "x_i^+" if sign > 0 else "x_i^-"
    return at_most(gap, 1e-12, detail=f"|grad G - (1/2) mean of y_i {name}| = {gap:.4g} on -C")


def _excluded_ray(side: float) -> Comparison:
    """How fast the direction of a positive neuron on side * mu^- turns: it stands still on an excluded ray."""
    facts, _ = _separable()
    unit = side * facts.leaky_mean(-1) / np.linalg.norm(facts.leaky_mean(-1))
    pull = _gradient(facts.dataset, unit)
    speed = float(np.linalg.norm(pull - (pull @ unit) * unit))
    return at_most(speed, 1e-12, detail=f"the direction {'+' if side > 0 else '-'}mu^- turns at the speed {speed:.4g}")


def _norm_of_pair(share: float) -> Comparison:
    """|share (w*, -w*, 1, -1)| for a unit vector w*."""
    norm = float(share * np.linalg.norm([0.6, 0.8, -0.6, -0.8, 1.0, -1.0]))
    return equals(norm, 1.0, atol=1e-12, detail=f"|{share:g} (w*, -w*, 1, -1)| = {norm:g}")


def _other_sign(case: tuple[str, float]) -> Comparison:
    """gamma^+/2 - V*, positive where no negative neuron can grow beside w^+ (A.5*), on data with A.5."""
    name, leak = case
    facts = DatasetFacts(load(name), LogisticLoss(), leak)
    printed = conditions.opposite_networks(facts, sign=1, repaired=False).margin
    margin = conditions.opposite_networks(facts, sign=1, repaired=True).margin
    value = float("nan") if margin is None else float(margin)
    return at_least(value, 0.0, detail=f"A.5 has margin {printed or 0.0:.4g} on {name}, gamma^+/2 - V* is {value:.4g}")


def _opposite_networks(*, printed: bool) -> Comparison:
    """gamma^-/2 minus the margin of networks with a_k <= 0, w^- itself among them, or V* of those with a_k >= 0."""
    facts = DatasetFacts(load("lyu-counterexample-sharp").with_flipped_labels(), LogisticLoss(), LEAK)
    side, data = facts.leaky.negative, facts.dataset
    network = Network([-side.w / np.linalg.norm(side.w)], [-1.0], leak=LEAK)
    own = float(np.min(data.y * network.outputs(data.X))) / 2.0
    margin = conditions.opposite_networks(facts, sign=-1, repaired=True).margin or 0.0
    value = 0.5 * side.margin - own if printed else margin
    name = "a_k <= 0" if printed else "a_k >= 0"
    return at_least(value, 1e-9, detail=f"gamma^-/2 exceeds the margin of networks with {name} by {value:.4g}")


def _suboptimal(*, printed: bool) -> Comparison:
    """The best margin over eps/2 on hinted data, K at half or twice eps sqrt((3 + leak)/(1 - leak))."""
    instance = figure1_right(leak=LEAK)
    known = instance.conditions
    K = (0.5 if printed else 2.0) * known.eps * float(np.sqrt((3.0 + LEAK) / (1.0 - LEAK)))
    base = instance.dataset.subset(np.arange(3, instance.dataset.n))
    data = hinted(base, H=known.H, K=K, eps=known.eps, leak=LEAK).dataset
    ratio = network_margin(data, LEAK).margin / (0.5 * known.eps)
    return at_least(ratio, 1.0 + 1e-6, detail=f"the best margin is {ratio:.7g} times eps/2 at K = {K:.4g}")


def _embedded(*, printed: bool) -> Comparison:
    """w_1 - a_1 mu-bar of theta-hat read as (w_1, w_2, a_1, a_2), d = 1, mu-bar = 1, b_+ = 2, b_- = -3."""
    plus, minus, mean = 2.0, -3.0, 1.0
    theta = (plus, plus * mean, minus, minus * mean) if printed else (plus * mean, minus * mean, plus, minus)
    gap = abs(theta[0] - theta[2] * mean)
    return at_most(gap, 0.0, detail=f"w_1 = {theta[0]:g}, a_1 mu-bar = {theta[2] * mean:g}")


def _probability(*, printed: bool) -> Comparison:
    """Share of 100,000 balanced draws of two neurons with a positive one, against 0.9 or 1 - 2^-m."""
    draws = np.random.default_rng(0).standard_normal((100_000, 2)) > 0.0
    share = float(np.mean(np.any(draws, axis=1)))
    words = f"{share:.4g} of 100,000 draws with m = 2 have a positive neuron"
    return at_least(share, 0.9, detail=words) if printed else equals(share, 0.75, atol=6e-3, detail=words)


def _norm_of_best(factor: float) -> Comparison:
    """|theta|^2 of the balanced two-neuron network with outputs phi(<x, w^+>) - phi(<x, w^->), over |w^+| + |w^-|."""
    w_plus, w_minus = np.array([3.0, 4.0]), np.array([1.0, 0.0])
    sizes = np.sqrt([np.linalg.norm(w_plus), np.linalg.norm(w_minus)])
    network = Network([w_plus / sizes[0], w_minus / sizes[1]], [sizes[0], -sizes[1]])
    ratio = float(network.squared_norm()) / float(np.sum(sizes**2))
    return equals(ratio, factor, atol=1e-12, detail=f"|theta|^2 = {ratio:g} (|w^+| + |w^-|)")


def _forces(*, printed: bool) -> Comparison:
    """A bound of the sum of g_i = 1 - exp(-l_i), 1 - exp(-max l) or 1 - exp(-sum l), against 1 - exp(-nL)."""
    values = np.array([0.3, 0.4, 0.5])
    bound = 1.0 - np.exp(-np.max(values) if printed else -np.sum(values))
    wanted = 1.0 - np.exp(-np.sum(values))
    return at_least(bound, wanted, allowance=1e-15, detail=f"the step gives {bound:.3f}, needed {wanted:.3f}")


def _rate(power: float) -> Comparison:
    """|grad L|^2 of one neuron with a = 1e4 and a tiny w along w*, over c^power (leak gamma*/2n)^2, c about a^2."""
    facts, w_star = _separable()
    data, a = facts.dataset, 1e4
    gamma = float(np.min(data.y * (data.X @ w_star)))
    square = a**2 * float(np.sum(_gradient(data, w_star) ** 2))  # all forces are 1/2
    bound = a ** (2.0 * power) * (LEAK * gamma / (2.0 * data.n)) ** 2
    return at_least(square, bound, detail=f"-dL/dt = {square:.4g} against {bound:.4g}")


_PAIRWISE_ONLY = Dataset([[1.0, 1.2], [1.0, -1.1], [0.3, 0.25]], [1.0, 1.0, 1.0], name="three points in a wedge")


def _principal_margin(facts: DatasetFacts) -> float:
    """The best margin of Assumption A.1 over those of 3,600 directions of the plane that separate the samples."""
    angles = np.linspace(0.0, 2.0 * np.pi, 3600, endpoint=False)
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    separates = np.all(facts.dataset.y * (directions @ facts.dataset.X.T) > 0.0, axis=1)
    return max(conditions.principal_margin(facts, w) for w in directions[separates])


def _implication(*, printed: bool) -> Comparison:
    """The margin of A.1 where A.2 holds, or that of A.2 where A.1 holds."""
    data = _PAIRWISE_ONLY if printed else Dataset([[1.0, 0.1], [0.9, -0.1]], [1.0, 1.0], name="a thin wedge")
    facts = DatasetFacts(data, LogisticLoss(), LEAK)
    first, second = _principal_margin(facts), conditions.pairwise_condition(facts).margin
    words = f"A.1 has margin {first:.4g}, A.2 {second or 0.0:.4g} on {data.name}"
    return at_least(first if printed else second or 0.0, 0.0, detail=words)


def _smoothed_gradient(sign: float) -> Comparison:
    """grad gamma~ by differences against n grad L/(|theta|^2 l'(alpha)) + sign 2 alpha theta/|theta|^4.

    gamma~ = alpha/|theta|^2 with alpha = l^-1(nL), for two neurons.
    """
    data = load("lyu-symmetric")
    theta = np.array([0.9, 0.4, -0.7, -0.5, 1.1, -0.8])  # w_1, w_2, a_1, a_2

    def total(z: FloatArray) -> float:
        outputs = sum(z[4 + j] * leaky_relu(data.X @ z[2 * j : 2 * j + 2], LEAK) for j in range(2))
        return float(np.sum(np.log1p(np.exp(-data.y * outputs))))

    def alpha(z: FloatArray) -> float:
        return float(-np.log(np.expm1(total(z))))

    def by_differences(function: Callable[[FloatArray], float]) -> FloatArray:
        return np.array([(function(theta + e) - function(theta - e)) / 2e-6 for e in 1e-6 * np.eye(6)])

    square = float(theta @ theta)
    slope = -1.0 / (1.0 + np.exp(alpha(theta)))  # l'(alpha)
    stated = by_differences(total) / (square * slope) + sign * 2.0 * alpha(theta) * theta / square**2
    gap = float(np.max(np.abs(by_differences(lambda z: alpha(z) / float(z @ z)) - stated)))
    return at_most(gap, 1e-8, detail=f"the gradient of gamma~ misses the formula by {gap:.3g}")


def _output_sign(w: float) -> Comparison:
    """a(t) of one neuron against a constant pull 1, a(0) = 0.5: cosh(t)/2 + w(0) sinh(t), least over t <= 3."""
    times = np.linspace(0.0, 3.0, 301)
    least = float(np.min(0.5 * np.cosh(times) + w * np.sinh(times)))
    return at_least(least, 0.0, detail=f"a falls to {least:.4g} from a(0) = 0.5, w(0) = {w:g}")


def _pair_coefficient(sign: float) -> Comparison:
    """f of two neurons (w, a), (-w, -a) against ((1 + leak)/2) <u_1 + u_2, x>, u_1 = a_1 w_1 and u_2 = sign a_2 w_2."""
    w, X = np.array([0.6, -0.3]), load("lyu-symmetric").X
    outputs = Network([w, -w], [0.5, -0.5], leak=LEAK).outputs(X)
    stated = 0.5 * (1.0 + LEAK) * X @ (0.5 * w + sign * (-0.5) * (-w))
    gap = float(np.max(np.abs(outputs - stated)))
    return at_most(
        gap, 1e-12, detail=f"with u_2 = {'-' if sign < 0 else ''}a_2 w_2 the function is missed by {gap:.4f}"
    )


_MEAN_BESIDE_ZERO = Dataset([[1.0, 0.002], [-0.996, 0.002]], [1.0, 1.0]).symmetrized()  # |mu| = 0.003


def _phase_one_error(*, printed: bool) -> Comparison:
    """|Delta theta|_M sqrt(m)/r^3 of Lemma 5.2 for one neuron along mu-bar, r = 0.01, on data with a small mean.

    Against the C that serves `lyu-symmetric`, for it is called universal, or against their own 4/lambda_0 + sqrt 2.
    """
    data, r = _MEAN_BESIDE_ZERO, 0.01
    mean = data.y @ data.X / data.n
    unit, growth = mean / np.linalg.norm(mean), 0.25 * (1.0 + LEAK) * float(np.linalg.norm(mean))

    def velocity(_: float, neuron: FloatArray) -> FloatArray:
        w, a = neuron[:2], neuron[2]
        pre = data.X @ w
        forces = data.y / (1.0 + np.exp(data.y * a * leaky_relu(pre, LEAK))) / data.n
        slopes = np.where(pre > 0.0, 1.0, LEAK)
        return np.append(a * ((forces * slopes) @ data.X), forces @ leaky_relu(pre, LEAK))

    start, time = r**3 * np.append(unit, 1.0), -2.0 * np.log(r) / growth
    end = solve_ivp(velocity, (0.0, time), start, rtol=1e-10, atol=1e-16).y[:, -1]
    error = end - r * np.append(unit, 1.0)  # b-bar = 1
    value = max(float(np.linalg.norm(error[:2])), abs(float(error[2]))) / r**3
    other = load("lyu-symmetric")
    served = 0.25 * (1.0 + LEAK) * float(np.linalg.norm(other.y @ other.X / other.n))
    bound = 4.0 / (served if printed else growth) + np.sqrt(2.0)
    name = f"the {bound:.4g} of lyu-symmetric" if printed else f"{bound:.4g}"
    return at_most(value, bound, detail=f"error/r^3 = {value:.4g} against {name} at lambda_0 = {growth:.3g}")


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
    return at_most(used, end, detail=f"T0 + T1 = {used:.4g}, T0 = {entry:.4g}, the window ends at {end:.4g}")


def _linear_pair(*, printed: bool) -> Comparison:
    """By how much the max-margin linear classifier, as two neurons, misses the KKT conditions every limit meets.

    On the samples of Table 1, n = 20 in R^51 with leak 1/2, or on the same with (-x, -y) added.
    """
    data = table1_split(np.random.default_rng(0), n=20, num_test=1, shift=0.45, d=50).train
    data = data if printed else data.symmetrized()
    separator = linear_separator(data).w
    residual = kkt_certificate(
        Network([separator, -separator], [1.0, -1.0], leak=LEAK), data, active_rtol=1e-6
    ).residual
    name = "Table 1's samples" if printed else "the symmetrised ones"
    missed = f"{residual:.3g}" if residual > 1e-12 else "less than 1e-12"  # the digits of rounding differ by machine
    return at_most(residual, 1e-6, detail=f"the linear classifier misses KKT by {missed} on {name}")
