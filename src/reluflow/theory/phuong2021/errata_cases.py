"""Cases for the errata of Phuong & Lampert: the printed form where it fails, the corrected one where it holds."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from reluflow.arrays import FloatArray
from reluflow.certificates.one_class import OneClassVector
from reluflow.data.dataset import Dataset
from reluflow.data.registry import load
from reluflow.dynamics.problem import TrainingProblem
from reluflow.errors import InvalidInputError
from reluflow.losses import LogisticLoss
from reluflow.network import Network
from reluflow.theory.comparison import Comparison, at_least, at_most, closes_in, equals, none_of
from reluflow.theory.evidence import Evidence
from reluflow.theory.facts import DatasetFacts
from reluflow.theory.phuong2021.conditions import support_spans
from reluflow.theory.phuong2021.extremal_directions import extremal_sector, sector_of
from reluflow.theory.phuong2021.two_neuron_limit import TwoNeuronLimit, class_vectors, exact_death, squared_norms
from reluflow.theory.separability import orthogonal_separability


def _facts(dataset: Dataset) -> DatasetFacts:
    return DatasetFacts(dataset, LogisticLoss(), 0.0)


def _toy() -> tuple[Dataset, OneClassVector, OneClassVector]:
    """`phuong-toy` with its w_+ and w_-."""
    data = load("phuong-toy")
    return data, *class_vectors(Evidence(TrainingProblem(data, LogisticLoss(), Network(np.eye(2), [1.0, -1.0]))))


def _toy_limit() -> TwoNeuronLimit:
    """The limit of Theorem 1 there for one neuron of each sign."""
    _, plus, minus = _toy()
    u, z = np.sqrt(squared_norms(plus.norm, minus.norm))
    return TwoNeuronLimit(plus.w, minus.w, np.array([u, 0.0]), np.array([0.0, z]))


def _growth(factor: float) -> Comparison:
    """a^2/a(0)^2 of a light neuron on one sample with nBV = 1 at t = 3, cosh^2 t, against exp(factor t)."""
    grown, bound = float(np.cosh(3.0) ** 2), float(np.exp(3.0 * factor))
    return at_most(grown, bound, detail=f"cosh^2 3 = {grown:.4g} against exp({factor:g} t) = {bound:.4g} at t = 3")


def _negative_side(*, printed: bool) -> Comparison:
    """Least y_i <w_-, x_i> over the negative samples, as Eq. (80) has it, or least <w_-, x_i>."""
    data, _, minus = _toy()
    least = float(np.min((data.X @ minus.w * (data.y if printed else 1.0))[data.y < 0]))
    name = "y_i <w_-, x_i>" if printed else "<w_-, x_i>"
    return at_least(least, 1e-9, detail=f"least {name} over the negative samples is {least:.4g}")


def _ascent(along: tuple[float, float]) -> Comparison:
    """The change of G(w) = max(w_1, 0) - max(w_2, 0) on the circle when (-0.6, 0.8) moves along a direction."""
    start, step = np.array([-0.6, 0.8]), 1e-3 * np.array(along)
    moved = (start + step) / np.linalg.norm(start + step)
    gain = float(np.maximum(moved, 0.0) @ [1.0, -1.0] - np.maximum(start, 0.0) @ [1.0, -1.0])
    return at_most(-gain, 0.0, detail=f"G changes by {gain:.3g} along ({along[0]:g}, {along[1]:g})")


def _strict_maximum(*, printed: bool) -> Comparison:
    """Points of a grid of the circle, at the largest value, with a neighbour as large.

    Of min(cos t, 1/2), a function like any other that is not constant, or of G itself on `phuong-toy`.
    """
    t, data = np.linspace(0.0, 2.0 * np.pi, 3600, endpoint=False), load("phuong-toy")
    circle = np.column_stack([np.cos(t), np.sin(t)])
    values = np.minimum(circle[:, 0], 0.5) if printed else np.maximum(circle @ data.X.T, 0.0) @ data.y
    top = np.flatnonzero(values >= values.max() - 1e-12)
    flat = int(np.sum(np.isin((top + 1) % t.size, top) | np.isin((top - 1) % t.size, top)))
    return none_of(flat, total=top.size, detail=f"{flat} of {top.size} maxima have a neighbour as large")


def _orthants(*, printed: bool) -> Comparison:
    """Half-angle of a round cone of orthogonally separable directions in R^3, against the widest in an orthant.

    Or least cosine within a class of points drawn in an orthant, which is then at least 0.
    """
    if not printed:
        X = np.random.default_rng(0).uniform(0.1, 1.0, size=(12, 3))
        judged = orthogonal_separability(_facts(Dataset(np.vstack([X, -X]), np.repeat([1.0, -1.0], 12))))
        margin = judged.margin or 0.0
        return at_least(margin, 0.0, detail=f"points of opposite orthants are orthogonally separable by {margin:.3g}")
    half, angles = np.radians(44.0), np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False)
    rows = np.column_stack([np.sin(half) * np.cos(angles), np.sin(half) * np.sin(angles), np.full(12, np.cos(half))])
    least = float(np.min(rows @ rows.T))
    inner = np.degrees(np.arctan(np.tan(half) * np.cos(np.pi / 12)))  # the round cone inside the twelve rays
    widest = np.degrees(np.arcsin(1.0 / np.sqrt(3.0)))
    words = (
        f"12 directions with cosines at least {least:.3f} hold a cone of {inner:.4g} degrees, an orthant {widest:.4g}"
    )
    return at_most(float(inner), float(widest), detail=words)


def _span(name: str) -> Comparison:
    """Whether the support samples of each class span R^d, the assumption of Theorem 1."""
    judged = support_spans(_facts(load(name)))
    margin = judged.margin if judged.margin is not None else -1.0
    return at_least(margin if judged.holds else min(margin, -1e-9), 0.0, detail=f"{judged.detail} ({name})")


def _someone_lives(*, printed: bool) -> Comparison:
    """The chance that one of three neurons lives on `phuong-dead-cone`, exactly, held equal to 1 - 2^-3 or above it."""
    data = load("phuong-dead-cone")
    death = exact_death(data.X, LogisticLoss().label_forces(data.y)).average
    lives, stated = 1.0 - death**3, 1.0 - 0.5**3
    words = f"one of 3 neurons lives with probability {lives:.6g}, {'' if printed else 'at least '}{stated:.6g} stated"
    return equals(lives, stated, atol=1e-9, detail=words) if printed else at_least(lives, stated, detail=words)


def _weights_of_limit(*, printed: bool) -> Comparison:
    """f/|theta|^2 of the limit on `phuong-toy` against u s(<w_+, x>) - z s(<w_-, x>) of Eq. (10).

    The constants share their letters with the vectors of Theorem 1: with those vectors' norms, or as corrected.
    """
    (data, plus, minus), limit = _toy(), _toy_limit()
    first, second = (limit.u[0], limit.z[1]) if printed else np.full(2, 0.5 / (plus.norm + minus.norm))
    stated = first * np.maximum(data.X @ plus.w, 0.0) - second * np.maximum(data.X @ minus.w, 0.0)
    gap = float(np.max(np.abs(np.maximum(data.X @ limit.W.T, 0.0) @ limit.a / 2.0 - stated)))
    return at_most(gap, 1e-12, detail=f"with u = {first:.4g}, z = {second:.4g} the limit is missed by {gap:.4f}")


def _case_zero(*, printed: bool) -> Comparison:
    """Samples with the value 0 in Eqs. (13) and (14), over 200 random datasets of Theorem 1's kind in R^2 and R^3."""
    rng, found, total = np.random.default_rng(0), 0, 0
    for d in (2, 3) * 100:
        X = rng.uniform(0.0, 1.0, size=(8, d)) * (rng.uniform(size=(8, d)) > 0.2) * np.repeat([1.0, -1.0], 4)[:, None]
        if not np.all(np.any(X != 0.0, axis=1)):
            continue
        data = Dataset(X, np.repeat([1.0, -1.0], 4))
        facts = _facts(data)
        if orthogonal_separability(facts).holds and support_spans(facts).holds:
            zeros = [extremal_sector(data, 1) == 0, extremal_sector(data, -1) == 0]
            found, total = found + int(np.sum(zeros)), total + 2 * data.n
    words = f"{found} of {total} entries are 0 under the span assumption"
    return at_least(float(found), 1.0, detail=words) if printed else none_of(found, total=total, detail=words)


def _steady_direction(*, printed: bool) -> Comparison:
    """Angle in degrees between w_- of `phuong-toy` and the direction of norm 1e4 along which one neuron's pull points.

    For the loss 1/(1 + q), whose derivative is bounded, Lipschitz and of the right sign, or for the logistic one.
    """
    data, _, minus = _toy()

    X, target = data.X[data.y < 0], float(np.arctan2(minus.w[1], minus.w[0]))

    def across(angle: float) -> float:
        unit = np.array([np.cos(angle), np.sin(angle)])
        q = 1e4 * X @ unit
        forces = (1.0 + q) ** -2.0 if printed else np.exp(np.min(q) - q)
        return float(forces @ X @ [-unit[1], unit[0]])

    reach = np.radians(30.0)  # within it both samples stay active, and the pull turns from one side to the other
    angle = float(brentq(across, target - reach, target + reach, xtol=1e-14))
    away = float(np.degrees(abs(angle - target)))
    name = "1/(1 + q)" if printed else "the logistic loss"
    return at_most(away, 0.1, detail=f"{name} holds a neuron {away:.3g} degrees from w_- at norm 1e4")


def _own_sector(*, printed: bool) -> Comparison:
    """Samples whose sign along sigma-hat in R^n, or along the extremal w-hat, is not sigma-hat's; n = d = 2."""
    data = Dataset([[1.0, 3.0], [-0.5, -1.0]], [1.0, -1.0])
    sigma = extremal_sector(data, 1).astype(float)
    vector = sigma if printed else data.X[0]
    wrong = int(np.sum(np.sign(data.X @ vector) != sigma))
    name = "sigma-hat" if printed else "w-hat"
    return none_of(wrong, total=data.n, detail=f"{name} has another sign than sigma-hat on {wrong} of {data.n} samples")


def _kkt_sum(*, printed: bool) -> Comparison:
    """|theta~ - sum_i lambda_i y_i g_i| of Lemma C.1 on `phuong-toy`, theta~ one neuron a class.

    With g_i of Eq. (90) made with the activations of sample 1 for every i, as the index of its definition reads, or
    with those of sample i.
    """
    data, plus, minus = _toy()
    W = np.array([plus.w / np.sqrt(plus.norm), minus.w / np.sqrt(minus.norm)])
    a = np.array([np.sqrt(plus.norm), -np.sqrt(minus.norm)])
    multipliers = plus.multipliers / plus.norm + minus.multipliers / minus.norm  # Eq. (89)
    total = np.zeros((2, data.d + 1))
    for x, y, multiplier in zip(data.X, data.y, multipliers, strict=True):
        is_on = W @ (data.X[0] if printed else x) > 0.0
        total += multiplier * y * np.column_stack([np.outer(is_on * a, x), np.maximum(W @ x, 0.0)])
    gap = float(np.linalg.norm(total - np.column_stack([W, a])))
    whose = "sample 1" if printed else "each sample"
    return at_most(gap, 1e-9, detail=f"with the activations of {whose} the sum misses theta~ by {gap:.3g}")


def _linear_on_a_sector(*, printed: bool) -> Comparison:
    """How far from linear between two points of one sector: f in the input x, or f at the samples in the weights w."""
    data, one, other = load("phuong-toy"), np.array([1.0, -0.3]), np.array([0.5, 0.9])
    middle = 0.5 * (one + other)
    if not np.array_equal(sector_of(one, data.X), sector_of(other, data.X)):
        raise InvalidInputError("`one` and `other` must lie in one sector.")
    neurons = np.array([[1.0, -0.5], [-0.2, 1.0]])

    def values(point: FloatArray) -> FloatArray:
        return np.maximum(point @ neurons.T, 0.0) if printed else np.maximum(data.X @ point, 0.0)

    gap = float(np.max(np.abs(values(middle) - 0.5 * (values(one) + values(other)))))
    space = "inputs" if printed else "weights"
    return at_most(gap, 1e-12, detail=f"between two {space} of one sector the network is {gap:.3g} from linear")


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
    words = f"s_1 = {after[0]:.4g}, s_2 = {after[1]:.4g}, s_3 = {after[2]:.4g}, which was {before:.4g} at the start"
    if printed:
        return at_most(float(after[2] / after[1]), 1e-3, detail=words)
    return equals(float(after[2] / before), 1.0, atol=0.25, detail=words)


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
