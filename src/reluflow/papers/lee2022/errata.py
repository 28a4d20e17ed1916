"""Errata of Lee, Sim & Ye (2022): what is printed, measured where it fails, and what holds instead [lee2022]."""

from __future__ import annotations

from functools import partial
from itertools import accumulate, repeat

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.data.dataset import Dataset
from reluflow.losses import SquareLoss
from reluflow.papers.lee2022.assumptions import active_covariance_is_definite
from reluflow.papers.lee2022.single_neuron.angle import overlap
from reluflow.papers.lee2022.single_neuron.balanced_neuron import BalancedNeuron
from reluflow.papers.lee2022.single_neuron.bounds import magnitude_band
from reluflow.papers.lee2022.single_neuron.comparison import comparison_solution, inflection, printed_upper_curve
from reluflow.papers.lee2022.single_neuron.euler_error import euler_prediction, printed_euler_bound
from reluflow.papers.lee2022.single_neuron.gaussian_moments import half_space_moment
from reluflow.papers.lee2022.single_neuron.one_layer import one_layer_flow
from reluflow.papers.lee2022.single_neuron.phases import switches
from reluflow.papers.lee2022.single_neuron.population import NeuronParameters, population_gradient
from reluflow.papers.lee2022.theorems.deep_flow import printed_antiderivative
from reluflow.papers.lee2022.theorems.gaussian_moments import ActiveArc
from reluflow.theory.comparison import Comparison, at_least, at_most, equals
from reluflow.theory.erratum import Erratum
from reluflow.theory.facts import DatasetFacts


def _curve_start(*, printed: bool) -> Comparison:
    """The upper curve of Theorem 3.8 at t = 0, q = 2, v_0 = 0.3, eps_0 = 0.5, v* = 1: it must start at v_0."""
    curve = printed_upper_curve(2, 0.3, 0.5, 1.0, [0.0]) if printed else comparison_solution(2, 0.3, 1.0, [0.0])
    return equals(float(curve[0]), 0.3, atol=1e-9, detail=f"the upper curve starts at {curve[0]:.6g}, $v_0 = 0.3$")


E1 = Erratum(
    "lee2022:E1",
    partial(_curve_start, printed=True),
    partial(_curve_start, printed=False),
    where="Thm 3.8",
    printed=r"$\varepsilon_0$ in the $v_0$-term of both curves",
    corrected=r"the same $\varepsilon$ in both terms of a curve",
)


def _early_upper(*, printed: bool) -> Comparison:
    """|w| at t = 1e-3, about its start 0.01, against the upper curve of Eq. (8) or of Theorem 3.3 with v* = 1."""
    decay = float(np.exp(-0.5e-3))
    value, bound = 0.01 * decay, (1.0 - decay) + (0.0 if printed else 0.01 * decay)
    return at_most(value, bound, detail=f"$|w|$ = {value:.4g} at $t = 0.001$ against {bound:.4g}")


E2 = Erratum(
    "lee2022:E2",
    partial(_early_upper, printed=True),
    partial(_early_upper, printed=False),
    where="Eq. (8)",
    printed="$|w| < (1 - e^{-t/2}) v^*$ for $|w_0|$ near 0",
    corrected=r"false near $t = 0$ for any start; late it holds exactly if $\pi\,\cos\varphi_0 + \sin\varphi_0 > 0$",
)


def _antiderivative(*, printed: bool) -> Comparison:
    """dF/dv of the printed 2F1 at v = 0.5, A = 1, q = 2, against -1/(v^q (v^(q+1) +- A))."""
    step = 1e-5
    ends = printed_antiderivative(2, np.array([0.5 - step, 0.5 + step]), 1.0)
    slope, other = float(np.diff(ends)[0]) / (2.0 * step), 1.0 if printed else -1.0
    wanted = 1.0 / (0.25 * (0.125 + other))
    return equals(
        slope, wanted, atol=1e-6, detail=rf"$dF/dv$ = {slope:.6g} against $1/(v^q (v^{{q+1}} \pm A))$ = {wanted:.6g}"
    )


E3 = Erratum(
    "lee2022:E3",
    partial(_antiderivative, printed=True),
    partial(_antiderivative, printed=False),
    where="Eq. (15)",
    printed=r"$v^{q+1} + V(1 - \varepsilon)$",
    corrected="minus: only it gives the printed 2F1 and Eq. (9)",
)


def _euler(*, printed: bool) -> Comparison:
    """Largest error of Euler's method on g(e^-t), g = x - (1 - k) x^2/2, k = 0.0025, at eta = 0.002.

    Against the printed bound, or of the corrected leading term against 10 eta^2.
    """
    kappa, eta, steps = 0.0025, 0.002, np.arange(4001.0)

    def curve(x: FloatArray) -> FloatArray:
        return np.asarray(x - 0.5 * (1.0 - kappa) * x**2)

    def slope(x: FloatArray) -> FloatArray:
        return np.asarray(1.0 - (1.0 - kappa) * x)

    def step(w: float, _: object) -> float:  # dw/dt = -x g'(x) at the x with g(x) = w
        x = (1.0 - np.sqrt(1.0 - 2.0 * (1.0 - kappa) * w)) / (1.0 - kappa)
        return float(w - eta * x * (1.0 - (1.0 - kappa) * x))

    start = float(curve(np.ones(1))[0])
    iterates = np.array(list(accumulate(repeat(None, 4000), step, initial=start)))
    leading = euler_prediction(curve, slope, steps, rate=1.0, step_size=eta)
    predicted = curve(np.asarray((1.0 - eta) ** steps)) if printed else leading
    bound = printed_euler_bound(rate=1.0, step_size=eta, curvature=1.0 - kappa)
    error = float(np.max(np.abs(iterates - predicted)))
    return at_most(error, bound, detail=rf"error {error:.4g} against {bound:.4g} at $\eta$ = {eta:g}")


E4 = Erratum(
    "lee2022:E4",
    partial(_euler, printed=True),
    partial(_euler, printed=False),
    where="Thm 4.1",
    printed=r"$1 - c \eta M_1 M_2$, $c \eta M_3/(2(2 - c \eta))$",
    corrected="not a bound; its leading term is",
)


def _first_step(*, printed: bool) -> Comparison:
    """One step of descent for q = 1 from v_0 = 0.01, phi_0 = 3, at eta = 0.1, over the lower bound of Theorem A.3."""
    start, eta = BalancedNeuron(1, 0.01, phi=3.0), 0.1
    level = start.overlap
    value = start.magnitude * (1.0 + 0.5 * eta * (level - start.magnitude**2))
    decay = (1.0 - level * eta) if printed else np.exp(-level * eta)
    bound = float(np.sqrt(level / ((1.0 - decay) + level / start.magnitude**2 * decay)))
    allowed = 0.0 if printed else eta * bound
    words = rf"$v$ after one step {value:.6g}, lower bound {bound:.6g}, $O(\eta)$ allowed {allowed:.2g}"
    return at_least(value, bound, allowance=allowed, detail=words)


E5 = Erratum(
    "lee2022:E5",
    partial(_first_step, printed=True),
    partial(_first_step, printed=False),
    where="Thm A.3",
    printed="strict bounds for descent",
    corrected=r"up to $O(\eta)$; the step must be small beside $1/(v^*)^2$",
)


def _cube(*, printed: bool) -> Comparison:
    """(1 - c eta)^(3T), what the proof has, against the printed (1 - 3 c eta)^T, c eta = 0.1 and T = 5."""
    proved, stated = 0.9**15, 0.7**5
    value = stated if printed else proved
    return at_most(
        abs(value / proved - 1.0), 1e-12, detail=rf"{value:.6g} against $(1 - c \eta)^{{3T}}$ = {proved:.6g}"
    )


E6 = Erratum(
    "lee2022:E6",
    partial(_cube, printed=True),
    partial(_cube, printed=False),
    where="Thms 4.2, A.2",
    printed=r"$(1 - 3 c \eta)^T$",
    corrected=r"$(1 - c \eta)^{3T}$",
)


_ACTIVE_ON_ONE = Dataset([[1.0, 0.0], [-0.5, 1.0], [-0.5, -1.0]], [1.0, 0.0, 0.0])  # of full rank, w* = (1, 0)
_ACTIVE_ON_TWO = Dataset([[1.0, 0.5], [1.0, -0.5], [-2.0, 0.0]], [1.0, 1.0, 0.0])


def _second_fit(*, printed: bool) -> Comparison:
    """How far from w* = (1, 0) the loss still vanishes: at (1, 1/2) on the first set, only at w* on the second."""
    data = _ACTIVE_ON_ONE if printed else _ACTIVE_ON_TWO
    w = np.array([1.0, 0.5])
    loss = 0.5 * float(np.mean((np.maximum(data.X @ w, 0.0) - data.y) ** 2))
    least = active_covariance_is_definite(DatasetFacts(data, SquareLoss(), 0.0)).margin
    words = (
        f"$L(1, 1/2)$ = {loss:.4g}, $w^* = (1, 0)$, where the active inputs have least eigenvalue {least or 0.0:.4g}"
    )
    return at_least(loss, 1e-12, detail=words)


E7 = Erratum(
    "lee2022:E7",
    partial(_second_fit, printed=True),
    partial(_second_fit, printed=False),
    where="Prop. B.2",
    printed="a full-rank covariance suffices",
    corrected="of the inputs on which the teacher is active",
)


def _cosine_tail(*, printed: bool) -> Comparison:
    """P(cos > 0.99) in R^2, arccos(eps)/pi, against (1 - eps^2)^(d/2), or P(|cos| > eps) against 2 exp(-d eps^2/2)."""
    eps = 0.99
    one_sided = float(np.arccos(eps) / np.pi)
    value, bound = (one_sided, 1.0 - eps**2) if printed else (2.0 * one_sided, 2.0 * float(np.exp(-(eps**2))))
    return at_most(
        value, bound, detail=rf"probability {value:.4g} against {bound:.4g}, $d = 2$, $\varepsilon$ = {eps:g}"
    )


E8 = Erratum(
    "lee2022:E8",
    partial(_cosine_tail, printed=True),
    partial(_cosine_tail, printed=False),
    where="Prop. C.1",
    printed="one-sided, with a factor 2",
    corrected=r"two-sided $|\cos|$; one step is false for small $d$, not the end",
)


def _comparison(*, printed: bool) -> Comparison:
    """Largest u - v for two solutions from 0 with one right-hand side: t^2/4 and 0 for sqrt|x|, 0 and 0 for x."""
    times = np.linspace(0.0, 1.0, 101)
    u, slope = (times**2 / 4.0, times / 2.0) if printed else (0.0 * times, 0.0 * times)
    residual = float(np.max(np.abs(slope - (np.sqrt(np.abs(u)) if printed else u))))
    name = r"\sqrt{|x|}" if printed else "x"
    words = f"$u - v$ = {np.max(u):g} at $t = 1$, residuals {residual:g}, $f = g = {name}$"
    return at_most(float(np.max(u)), 0.0, allowance=residual, detail=f"{words}, $u(0) = v(0) = 0$")


E9 = Erratum(
    "lee2022:E9",
    partial(_comparison, printed=True),
    partial(_comparison, printed=False),
    where="Lemma C.2",
    printed="no condition on $f$ and $g$",
    corrected=r"Lipschitz: $f = g = \sqrt{|x|}$ is a counterexample",
)


def _convex(*, printed: bool) -> Comparison:
    """Least second difference of the curve of Theorem 3.8, q = 1, A = 1, from 0.05: all of it, or below the bend."""
    times = np.linspace(0.0, 12.0, 241)
    curve = comparison_solution(1, 0.05, 1.0, times)
    bends = np.diff(curve, 2)
    seen = np.ones(bends.size, dtype=bool) if printed else curve[2:] <= inflection(1, 1.0)
    least = float(np.min(bends[seen]))
    where = "over the whole curve" if printed else f"below {inflection(1, 1.0):.4g}"
    return at_least(least, 0.0, allowance=1e-13, detail=f"least second difference {least:.3g} {where}")


E10 = Erratum(
    "lee2022:E10",
    partial(_convex, printed=True),
    partial(_convex, printed=False),
    where="App. D.1",
    printed="all bounds are convex",
    corrected="from below convex up to $(q A/(2 q + 1))^{1/(q+1)}$, concave later",
)


def _phases(phi: float) -> Comparison:
    """Changes of direction of |w| from 2 v*, q = 0: one is claimed."""
    found = len(switches(one_layer_flow(BalancedNeuron(0, 2.0, phi=phi), np.linspace(0.0, 30.0, 3001))))
    return equals(float(found), 1.0, atol=0.0, detail=rf"{found} turns of $|w|$ from $2 v^*$ at $\varphi_0$ = {phi:g}")


E11 = Erratum(
    "lee2022:E11",
    partial(_phases, 2.6),
    partial(_phases, 1.0),
    where="Sec. 5.2",
    printed="every large start has two phases",
    corrected=r"for $q = 0$ only if $\varphi_0 v^*/|w_0| + \pi\,\cos\varphi_0 + \sin\varphi_0 > 0$",
)


def _large_start(*, printed: bool) -> Comparison:
    """|w_0| over |w*| (root mean squares of 10,000 draws, d = 100) at k = 2k*, which Sec. 5.1 calls |w_0| > 2|w*|."""
    rng, k_star = np.random.default_rng(0), 0.3
    sizes = [np.sqrt(k) if printed else k for k in (2.0 * k_star, k_star)]
    start, target = (np.sqrt(np.mean(np.sum((s * rng.standard_normal((10_000, 100))) ** 2, axis=1))) for s in sizes)
    name = "variance" if printed else "standard deviation"
    return equals(start / target, 2.0, atol=0.02, detail=f"$|w_0|$ = {start / target:.4g} $|w^*|$ with $k$ the {name}")


E12 = Erratum(
    "lee2022:E12",
    partial(_large_start, printed=True),
    partial(_large_start, printed=False),
    where="App. D.3",
    printed="weights $N(0, k)$",
    corrected="$k$ is the standard deviation",
)


def _angle(*, printed: bool) -> Comparison:
    """phi of the flow late on, from the angle theta to the teacher, against pi, where Theorem 3.2 sends it."""
    gap = float(one_layer_flow(BalancedNeuron(0, 1.0, phi=1.5), [0.0, 60.0]).gap[-1])
    phi = np.pi * gap if printed else np.pi - gap
    return equals(phi, np.pi, atol=1e-6, detail=rf"$\varphi$ = {phi:.6g} at $\theta$ = {gap:.2g}")


E13 = Erratum(
    "lee2022:E13",
    partial(_angle, printed=True),
    partial(_angle, printed=False),
    where="abstract",
    printed=r"$\varphi = \pi \theta$",
    corrected=r"$\varphi = \pi - \theta$",
)


def _balance(norm: float) -> Comparison:
    """dv/dt of a scalar layer v = 1, q = 1, against Eq. (9): the layers agree with each other, |w| is `norm`."""
    one, other = NeuronParameters([norm, 0.0], [1.0]), NeuronParameters([0.0, 1.2], [1.0])
    moved = -float(population_gradient(one, other).v[0])
    stated = -0.5 * (1.0 - 1.2 * float(overlap(0.5 * np.pi)))
    return equals(
        moved, stated, atol=1e-12, detail=f"with $|w|$ = {norm:g} $v$ moves at {moved:.6g}, Eq. (9) says {stated:.6g}"
    )


E14 = Erratum(
    "lee2022:E14",
    partial(_balance, 0.5),
    partial(_balance, 1.0),
    where="Secs. 2, 3.2",
    printed="$m > 1$ layers, balance from $k = 1$",
    corrected=r"$q \ge 1$, with $v_0 = |w|$ in the balance",
)


def _eigenvalues(*, printed: bool) -> Comparison:
    """(pi - theta +- sin theta)/(2 pi) at theta = 1 against the eigenvalues of E[1{u} xx^T] or E[1{u} 1{v} xx^T]."""
    theta = 1.0
    matrix = half_space_moment(2) if printed else ActiveArc.at(theta).moment
    stated = (np.pi - theta + np.array([-1.0, 1.0]) * np.sin(theta)) / (2.0 * np.pi)
    gap = float(np.max(np.abs(np.linalg.eigvalsh(matrix) - stated)))
    name = "one indicator" if printed else "two indicators"
    words = rf"the matrix of {name} misses $(\pi - \theta \pm \sin\theta)/(2\pi)$ by {gap:.4f} at $\theta = 1$"
    return at_most(gap, 1e-12, detail=words)


E15 = Erratum(
    "lee2022:E15",
    partial(_eigenvalues, printed=True),
    partial(_eigenvalues, printed=False),
    where="Lemma 2.1",
    printed="the matrix of one indicator",
    corrected="of two indicators",
)


def _layer_velocity(v_2: float) -> Comparison:
    """dv_2/dt of f = v_1 s(v_2 s(<w, x>)), v_1 = 1, with s'(0) = 0, over 4,000 Gaussian inputs."""
    X = np.random.default_rng(0).standard_normal((4000, 2))
    hidden, target = np.maximum(X @ [1.0, 0.2], 0.0), np.maximum(X @ [0.3, 1.0], 0.0)
    slope = v_2 * hidden > 0.0
    speed = float(np.mean((target - np.maximum(v_2 * hidden, 0.0)) * slope * hidden))
    return at_least(speed, 1e-12, detail=f"$dv_2/dt$ = {speed:.4g} at $v_2$ = {v_2:g}")


E16 = Erratum(
    "lee2022:E16",
    partial(_layer_velocity, 0.0),
    partial(_layer_velocity, 1e-09),
    where="Prop. 3.5",
    printed="$dv_k/dt > 0$ at $v_k = 0$",
    corrected="it is 0 there; the limit from above serves",
)


def _loose_curve(*, printed: bool) -> Comparison:
    """Distance of a bound of Theorem 3.3 from |w| at t = 15, |w_0| = v* = 1, phi_0 = pi/2, over v*.

    Sec. 5.2 calls the green curves of Figure 2 too loose: in its caption they are the upper bounds.
    """
    start = BalancedNeuron(0, 1.0, phi=0.5 * np.pi)
    band, value = magnitude_band(start, [15.0]), float(one_layer_flow(start, [15.0]).magnitude[0])
    gap = float(band.upper[0]) - value if printed else value - float(band.lower[0])
    name = "upper" if printed else "lower"
    return at_least(gap, 0.1, detail=f"at $t = 15$ the {name} bound is {gap:.4f} $v^*$ away from $|w|$")


E17 = Erratum(
    "lee2022:E17",
    partial(_loose_curve, printed=True),
    partial(_loose_curve, printed=False),
    where="Figs. 1 to 3",
    printed="green and orange in the captions",
    corrected="exchanged: lower green, upper orange",
)


def _strict(time: float) -> Comparison:
    """Slack of Theorem 3.3 at one time."""
    start = BalancedNeuron(0, 0.5, phi=1.0)
    slack = float(magnitude_band(start, [time]).slack(one_layer_flow(start, [time]).magnitude)[0])
    return at_least(slack, 1e-12, detail=f"slack {slack:.3g} at $t$ = {time:g}")


E18 = Erratum(
    "lee2022:E18",
    partial(_strict, 0.0),
    partial(_strict, 0.1),
    where="Thm 3.3 and others",
    printed="strict for all $t$",
    corrected="equality at $t = 0$",
)


ERRATA = (E1, E2, E3, E4, E5, E6, E7, E8, E9, E10, E11, E12, E13, E14, E15, E16, E17, E18)
