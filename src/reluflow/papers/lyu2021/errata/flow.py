"""Errata of the symmetric case and of the flow: Secs. 4 and 5, Appendices B to F, H and I, Table 1 [lyu2021]."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.integrate import solve_ivp

from reluflow.arrays import FloatArray
from reluflow.certificates.hard_margin import linear_separator
from reluflow.certificates.kkt import kkt_certificate
from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.network.network import Network, leaky_relu
from reluflow.papers.lyu2021.data import table1_split
from reluflow.papers.lyu2021.errata.cone import LEAK, pulling_gradient, separable
from reluflow.theory.comparison import Comparison, above_rounding, at_least, at_most, equals
from reluflow.theory.erratum import Erratum


def _pull_of_mean(share: float) -> Comparison:
    """G(mu-bar) on symmetric data against share (1 + leak) |mu|."""
    data = load("lyu-symmetric")
    mean = (data.y @ data.X) / data.n
    unit = mean / np.linalg.norm(mean)
    value, stated = float(pulling_gradient(data, unit) @ unit), share * (1.0 + LEAK) * float(np.linalg.norm(mean))
    return equals(value, stated, atol=1e-12, detail=rf"$G(\bar{{\mu}})$ = {value:.6g} against {stated:.6g}")


E1 = Erratum(
    "lyu2021:E1",
    partial(_pull_of_mean, 0.5),
    partial(_pull_of_mean, 0.25),
    where="Sec. 5.1",
    printed=r"$\tilde{\mu} = ((1 + \mathrm{leak})/2) \mu$",
    corrected=r"$((1 + \mathrm{leak})/4) \mu$, so $\lambda_0 = ((1 + \mathrm{leak})/4) |\mu|$",
)


def _norm_of_pair(share: float) -> Comparison:
    """|share (w*, -w*, 1, -1)| for a unit vector w*."""
    norm = float(share * np.linalg.norm([0.6, 0.8, -0.6, -0.8, 1.0, -1.0]))
    return equals(norm, 1.0, atol=1e-12, detail=f"$|c (w^*, -w^*, 1, -1)|$ with $c$ = {share:g} is {norm:g}")


E3 = Erratum(
    "lyu2021:E3",
    partial(_norm_of_pair, 0.25),
    partial(_norm_of_pair, 0.5),
    where="Thm 5.5",
    printed="$(1/4)(w^*, -w^*, 1, -1)$",
    corrected="$(1/2)(w^*, -w^*, 1, -1)$, of norm 1",
)


def _embedded(*, printed: bool) -> Comparison:
    """w_1 - a_1 mu-bar of theta-hat read as (w_1, w_2, a_1, a_2), d = 1, mu-bar = 1, b_+ = 2, b_- = -3."""
    plus, minus, mean = 2.0, -3.0, 1.0
    theta = (plus, plus * mean, minus, minus * mean) if printed else (plus * mean, minus * mean, plus, minus)
    gap = abs(theta[0] - theta[2] * mean)
    return at_most(gap, 0.0, detail=rf"$w_1$ = {theta[0]:g}, $a_1 \bar{{\mu}}$ = {theta[2] * mean:g}")


E10 = Erratum(
    "lyu2021:E10",
    partial(_embedded, printed=True),
    partial(_embedded, printed=False),
    where="Lemmas 5.2, 5.4, E.8",
    printed=r"$\hat\theta = (b_+, b_+ \bar\mu, \dots)$",
    corrected=r"$(b_+ \bar\mu, b_- \bar\mu, b_+, b_-)$",
)


def _norm_of_best(factor: float) -> Comparison:
    """|theta|^2 of the balanced two-neuron network with outputs phi(<x, w^+>) - phi(<x, w^->), over |w^+| + |w^-|."""
    w_plus, w_minus = np.array([3.0, 4.0]), np.array([1.0, 0.0])
    sizes = np.sqrt([np.linalg.norm(w_plus), np.linalg.norm(w_minus)])
    network = Network([w_plus / sizes[0], w_minus / sizes[1]], [sizes[0], -sizes[1]])
    ratio = float(network.squared_norm()) / float(np.sum(sizes**2))
    return equals(ratio, factor, atol=1e-12, detail=rf"$|\theta|^2$ = {ratio:g} $(|w^+| + |w^-|)$")


E12 = Erratum(
    "lyu2021:E12",
    partial(_norm_of_best, 1.0),
    partial(_norm_of_best, 2.0),
    where="Thm H.2, Lemma H.3",
    printed=r"$w_k/a_k$; $f = \varphi + \varphi$; $|\theta|^2 = |w^+| + |w^-|$",
    corrected=r"$w_k/|a_k|$; $\varphi(\langle x, w^+\rangle) - \varphi(\langle x, w^-\rangle)$; $2(|w^+| + |w^-|)$",
)


def _forces(*, printed: bool) -> Comparison:
    """A bound of the sum of g_i = 1 - exp(-l_i), 1 - exp(-max l) or 1 - exp(-sum l), against 1 - exp(-nL)."""
    values = np.array([0.3, 0.4, 0.5])
    bound = 1.0 - np.exp(-np.max(values) if printed else -np.sum(values))
    wanted = 1.0 - np.exp(-np.sum(values))
    return at_least(bound, wanted, allowance=1e-15, detail=f"the step gives {bound:.3f}, needed {wanted:.3f}")


E13 = Erratum(
    "lyu2021:E13",
    partial(_forces, printed=True),
    partial(_forces, printed=False),
    where="Lemma B.20",
    printed=r"$\sum_i(1 - e^{-l_i}) \ge 1 - e^{-\max l} \ge 1 - e^{-n L}$",
    corrected=r"the second step goes the wrong way; $1 - \prod_i(1 - g_i) \le \sum_i g_i$ serves",
)


def _rate(power: float) -> Comparison:
    """|grad L|^2 of one neuron with a = 1e4 and a tiny w along w*, over c^power (leak gamma*/2n)^2, c about a^2."""
    facts, w_star = separable()
    data, a = facts.dataset, 1e4
    gamma = float(np.min(data.y * (data.X @ w_star)))
    square = a**2 * float(np.sum(pulling_gradient(data, w_star) ** 2))  # all forces are 1/2
    bound = a ** (2.0 * power) * (LEAK * gamma / (2.0 * data.n)) ** 2
    return at_least(square, bound, detail=f"$-dL/dt$ = {square:.4g} against {bound:.4g}")


E14 = Erratum(
    "lyu2021:E14",
    partial(_rate, 2.0),
    partial(_rate, 1.0),
    where="Thm B.19",
    printed=r"rate $c^2 (\mathrm{leak}\, \gamma^*/(2n))^2$",
    corrected=r"$c (\mathrm{leak}\, \gamma^*/(2n))^2$, with $w^*$ of norm 1",
)


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
    return at_most(
        gap, 1e-8, detail=rf"the gradient of $\tilde{{\gamma}}$ misses the formula by {above_rounding(gap, 1e-08)}"
    )


E18 = Erratum(
    "lyu2021:E18",
    partial(_smoothed_gradient, 1.0),
    partial(_smoothed_gradient, -1.0),
    where="F.9, (47), (54)",
    printed="signs and powers of $L$ and $n$",
    corrected=r"minus, twice the tangential part, no extra $L$, $\ell^{-1}(nL)$",
)


def _output_sign(w: float) -> Comparison:
    """a(t) of one neuron against a constant pull 1, a(0) = 0.5: cosh(t)/2 + w(0) sinh(t), least over t <= 3."""
    times = np.linspace(0.0, 3.0, 301)
    least = float(np.min(0.5 * np.cosh(times) + w * np.sinh(times)))
    return at_least(least, 0.0, detail=f"$a$ falls to {least:.4g} from $a(0) = 0.5$, $w(0)$ = {w:g}")


E19 = Erratum(
    "lyu2021:E19",
    partial(_output_sign, -1.0),
    partial(_output_sign, -0.5),
    where="I.2",
    printed="for all starts, by Thm B.19",
    corrected="for balanced ones, by Cor. B.18",
)


def _pair_coefficient(sign: float) -> Comparison:
    """f of two neurons (w, a), (-w, -a) against ((1 + leak)/2) <u_1 + u_2, x>, u_1 = a_1 w_1 and u_2 = sign a_2 w_2."""
    w, X = np.array([0.6, -0.3]), load("lyu-symmetric").X
    outputs = Network([w, -w], [0.5, -0.5], leak=LEAK).outputs(X)
    stated = 0.5 * (1.0 + LEAK) * X @ (0.5 * w + sign * (-0.5) * (-w))
    gap = float(np.max(np.abs(outputs - stated)))
    return at_most(
        gap, 1e-12, detail=f"with $u_2$ = {'-' if sign < 0 else ''}$a_2 w_2$ the function is missed by {gap:.4f}"
    )


E17 = Erratum(
    "lyu2021:E17",
    partial(_pair_coefficient, -1.0),
    partial(_pair_coefficient, 1.0),
    where="F.2, Thm 5.5",
    printed=r"$u_2 = -a_2 w_2$, $(1 - \gamma^*)/2$, $\max$",
    corrected=r"$a_2 w_2$, $(1 - \mathrm{leak})/2$, $\min$, and $\varepsilon$ at most $\arccos((1 + \mathrm{leak})/2)$",
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
    return at_most(value, bound, detail=rf"error over $r^3$ = {value:.4g} against {name} at $\lambda_0$ = {growth:.3g}")


E9 = Erratum(
    "lyu2021:E9",
    partial(_phase_one_error, printed=True),
    partial(_phase_one_error, printed=False),
    where="Lemma 5.2",
    printed="a constant $C$ for every $r$",
    corrected=r"$C = 4/\lambda_0 + \sqrt{2}$, for $r \le \sqrt{\lambda_0}/2$",
)


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
    missed = above_rounding(residual, 1e-12)
    return at_most(residual, 1e-6, detail=f"the linear classifier misses KKT by {missed} on {name}")


E20 = Erratum(
    "lyu2021:E20",
    partial(_linear_pair, printed=True),
    partial(_linear_pair, printed=False),
    where="Table 1",
    printed="the net converges to the max-margin linear classifier",
    corrected="approximately: data not symmetric",
)
