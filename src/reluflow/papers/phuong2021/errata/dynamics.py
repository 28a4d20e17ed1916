"""Errata on the motion and its limit: P1, P7 to P9, P11 and P14 to P16 [phuong2021]."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.optimize import brentq

from reluflow.data.registry import load
from reluflow.losses import LogisticLoss
from reluflow.papers.phuong2021.errata.geometry import toy
from reluflow.papers.phuong2021.theorems.two_neuron_limit import (
    TwoNeuronLimit,
    exact_death,
    squared_norms,
)
from reluflow.theory.comparison import Comparison, above_rounding, at_least, at_most, closes_in, equals
from reluflow.theory.erratum import Erratum


def _toy_limit() -> TwoNeuronLimit:
    """The limit of Theorem 1 there for one neuron of each sign."""
    _, plus, minus = toy()
    u, z = np.sqrt(squared_norms(plus.norm, minus.norm))
    return TwoNeuronLimit(plus.w, minus.w, np.array([u, 0.0]), np.array([0.0, z]))


def _growth(factor: float) -> Comparison:
    """a^2/a(0)^2 of a light neuron on one sample with nBV = 1 at t = 3, cosh^2 t, against exp(factor t)."""
    grown, bound = float(np.cosh(3.0) ** 2), float(np.exp(3.0 * factor))
    return at_most(
        grown, bound, detail=rf"$\cosh^2 3$ = {grown:.4g} against $\exp({factor:g} t)$ = {bound:.4g} at $t = 3$"
    )


P1 = Erratum(
    "phuong2021:P1",
    partial(_growth, 1.0),
    partial(_growth, 2.0),
    where="Lemma A.4, Eq. (58)",
    printed=r"$a^2$ grows at most like $\exp(n B V t)$",
    corrected=r"$\exp(2 n B V t)$",
)


def _someone_lives(*, printed: bool) -> Comparison:
    """The chance that one of three neurons lives on `phuong-dead-cone`, exactly, held equal to 1 - 2^-3 or above it."""
    data = load("phuong-dead-cone")
    death = exact_death(data.X, LogisticLoss().label_forces(data.y)).average
    lives, stated = 1.0 - death**3, 1.0 - 0.5**3
    words = f"one of 3 neurons lives with probability {lives:.6g}, {'' if printed else 'at least '}{stated:.6g} stated"
    return equals(lives, stated, atol=1e-9, detail=words) if printed else at_least(lives, stated, detail=words)


P7 = Erratum(
    "phuong2021:P7",
    partial(_someone_lives, printed=True),
    partial(_someone_lives, printed=False),
    where="Thm 1",
    printed="probability $1 - 2^{-p}$",
    corrected="at least; $u$ and $z$ are normalised as in P16",
)


def _weights_of_limit(*, printed: bool) -> Comparison:
    """f/|theta|^2 of the limit on `phuong-toy` against u s(<w_+, x>) - z s(<w_-, x>) of Eq. (10).

    The constants share their letters with the vectors of Theorem 1: with those vectors' norms, or as corrected.
    """
    (data, plus, minus), limit = toy(), _toy_limit()
    first, second = (limit.u[0], limit.z[1]) if printed else np.full(2, 0.5 / (plus.norm + minus.norm))
    stated = first * np.maximum(data.X @ plus.w, 0.0) - second * np.maximum(data.X @ minus.w, 0.0)
    gap = float(np.max(np.abs(np.maximum(data.X @ limit.W.T, 0.0) @ limit.a / 2.0 - stated)))
    return at_most(gap, 1e-12, detail=f"with $u$ = {first:.4g}, $z$ = {second:.4g} the limit is missed by {gap:.4f}")


P16 = Erratum(
    "phuong2021:P16",
    partial(_weights_of_limit, printed=True),
    partial(_weights_of_limit, printed=False),
    where="Eqs. (10), (70)",
    printed="constants $u$ and $z$",
    corrected="$1/(2(|w_+| + |w_-|))$ each",
)


def _steady_direction(*, printed: bool) -> Comparison:
    """Angle in degrees between w_- of `phuong-toy` and the direction of norm 1e4 along which one neuron's pull points.

    For the loss 1/(1 + q), whose derivative is bounded, Lipschitz and of the right sign, or for the logistic one.
    """
    data, _, minus = toy()

    X, target = data.X[data.y < 0], float(np.arctan2(minus.w[1], minus.w[0]))

    def across(angle: float) -> float:
        unit = np.array([np.cos(angle), np.sin(angle)])
        q = 1e4 * X @ unit
        forces = (1.0 + q) ** -2.0 if printed else np.exp(np.min(q) - q)
        return float(forces @ X @ [-unit[1], unit[0]])

    reach = np.radians(30.0)  # within it both samples stay active, and the pull turns from one side to the other
    angle = float(brentq(across, target - reach, target + reach, xtol=1e-14))
    away = float(np.degrees(abs(angle - target)))
    name = "$1/(1 + q)$" if printed else "the logistic loss"
    return at_most(away, 0.1, detail=f"{name} holds a neuron {away:.3g} degrees from $w_-$ at norm 1e4")


P8 = Erratum(
    "phuong2021:P8",
    partial(_steady_direction, printed=True),
    partial(_steady_direction, printed=False),
    where="Sec. 2",
    printed="any loss of the kind described",
    corrected="the lemmas; Theorem 1 needs an exponential tail",
)


def _kkt_sum(*, printed: bool) -> Comparison:
    """|theta~ - sum_i lambda_i y_i g_i| of Lemma C.1 on `phuong-toy`, theta~ one neuron a class.

    With g_i of Eq. (90) made with the activations of sample 1 for every i, as the index of its definition reads, or
    with those of sample i.
    """
    data, plus, minus = toy()
    W = np.array([plus.w / np.sqrt(plus.norm), minus.w / np.sqrt(minus.norm)])
    a = np.array([np.sqrt(plus.norm), -np.sqrt(minus.norm)])
    multipliers = plus.multipliers / plus.norm + minus.multipliers / minus.norm  # Eq. (89)
    total = np.zeros((2, data.d + 1))
    for x, y, multiplier in zip(data.X, data.y, multipliers, strict=True):
        is_on = W @ (data.X[0] if printed else x) > 0.0
        total += multiplier * y * np.column_stack([np.outer(is_on * a, x), np.maximum(W @ x, 0.0)])
    gap = float(np.linalg.norm(total - np.column_stack([W, a])))
    whose = "sample 1" if printed else "each sample"
    return at_most(
        gap,
        1e-9,
        detail=rf"with the activations of {whose} the sum misses $\tilde{{\theta}}$ by {above_rounding(gap, 1e-09)}",
    )


P11 = Erratum(
    "phuong2021:P11",
    partial(_kkt_sum, printed=True),
    partial(_kkt_sum, printed=False),
    where="Eq. (90)",
    printed=r"$L_\theta$, indices mixed",
    corrected=r"the activation diagonal $I_\theta(x_i)$",
)


def _third_singular_value(*, printed: bool) -> Comparison:
    """s_3 of W after 500 steps of descent on 60 samples of Sec. 5.1, 100 neurons from weights times 0.05.

    Over s_1, or over s_3 at the start.
    """
    data = load("phuong-orthants:n=60")
    rng, width = np.random.default_rng(0), 100
    W = 0.05 * rng.uniform(-1.0, 1.0, size=(width, data.d)) / np.sqrt(data.d)
    a = 0.05 * rng.uniform(-1.0, 1.0, size=width) / np.sqrt(width)
    before = np.linalg.svd(W, compute_uv=False)[2]
    for _ in range(500):
        pre = data.X @ W.T
        active = np.maximum(pre, 0.0)
        forces = data.y / (1.0 + np.exp(data.y * (active @ a))) / data.n
        W, a = W + a[:, None] * ((pre > 0.0) * forces[:, None]).T @ data.X, a + forces @ active
    after = np.linalg.svd(W, compute_uv=False)
    words = (
        f"$s_1$ = {after[0]:.4g}, $s_2$ = {after[1]:.4g}, $s_3$ = {after[2]:.4g}, which was {before:.4g} at the start"
    )
    if printed:
        return at_most(float(after[2] / after[1]), 1e-3, detail=words)
    return equals(float(after[2] / before), 1.0, atol=0.25, detail=words)


P14 = Erratum(
    "phuong2021:P14",
    partial(_third_singular_value, printed=True),
    partial(_third_singular_value, printed=False),
    where="Sec. 5.1",
    printed="all but two singular values are zero",
    corrected="the third is the initial noise",
)


def _from_scale_one(*, printed: bool) -> Comparison:
    """Distance of W/|W| to the limit of Theorem 1 on `phuong-toy`, from one neuron of each sign and norm 1.

    The flow in the time in which the largest force is 1; printed, it should stay away from 0 without a small scale.
    """
    data, limit = load("phuong-toy"), _toy_limit().W
    W, a = np.array([[0.8, -0.6], [-0.6, 0.8]]), np.array([1.0, -1.0])
    distances = [float(np.linalg.norm(W / np.linalg.norm(W) - limit))]
    for _ in range(20_000):
        pre = data.X @ W.T
        margins = data.y * (np.maximum(pre, 0.0) @ a)
        logs = -np.logaddexp(0.0, margins)
        forces = data.y * np.exp(logs - logs.max()) * 1e-2 / float(a @ a)
        W, a = W + a[:, None] * ((pre > 0.0) * forces[:, None]).T @ data.X, a + forces @ np.maximum(pre, 0.0)
    distances.append(float(np.linalg.norm(W / np.linalg.norm(W) - limit)))
    words = f"from scale 1 the distance to the limit falls from {distances[0]:.3g} to {distances[1]:.3g}"
    return at_least(distances[1] / distances[0], 0.5, detail=words) if printed else closes_in(distances, detail=words)


P15 = Erratum(
    "phuong2021:P15",
    partial(_from_scale_one, printed=True),
    partial(_from_scale_one, printed=False),
    where="Sec. 3.1",
    printed=r"small $\lambda$ is crucial",
    corrected="for finite times; for the limit it seems not to be",
)


P9 = Erratum(
    "phuong2021:P9",
    None,
    None,
    where="Lemma A.2, proof",
    printed="Eq. (47)",
    corrected="Eq. (39)",
    unmeasured="the number of an equation: Eq. (47) speaks of limits of sign matrices and has no three terms to "
    "compare",
)
