"""Cases for the errata of Chistikov, Englert & Lazic: the printed form fails, the corrected one holds."""

from __future__ import annotations

import numpy as np

from reluflow.data.published import chistikov2023 as data
from reluflow.geometry.alignment import DEAD, align
from reluflow.losses import SquareLoss
from reluflow.theory.chistikov2023.bundle import LimitPath, limit_path
from reluflow.theory.chistikov2023.conditions import generic_covariance
from reluflow.theory.chistikov2023.scene import Scene
from reluflow.theory.comparison import Comparison, at_least, at_most, equals
from reluflow.theory.facts import DatasetFacts


def _case() -> tuple[Scene, LimitPath]:
    """The two samples with one neuron along the first, and the path of its bundle as lambda -> 0."""
    samples = data.two_samples()
    teacher = np.array([1.0, 0.0])
    here = Scene(samples.X, samples.y, teacher, samples.X[:1], np.ones(1), np.ones(1), -50.0)
    return here, limit_path(here)


def _start_of_bundle(power: int) -> Comparison:
    """|V| of one balanced neuron of norm lambda = 1e-10 against lambda^power."""
    scale = 1e-10
    w = scale * np.array([0.6, 0.8])
    length = float(np.linalg.norm(np.linalg.norm(w) * w))
    return at_least(length, scale**power, allowance=1e-12 * scale**power)


def _pull_late(*, printed: bool) -> Comparison:
    """Largest ln|g| - ln of the bound from T_2 on."""
    here, path = _case()
    late = path.times >= 0.0
    logs = np.log(np.linalg.norm((here.teacher - path.V[late]) @ here.H, axis=1))
    times, top, least = path.times[late], float(here.eta[0]), float(here.eta[-1])
    if printed:
        bounds = np.log(top) - 0.625 * here.speed * times
    else:
        bounds = 0.5 * np.log(top * here.speed) - least * here.speed * times / (5.0 * top)
    worst = float(np.max(logs - bounds))
    return at_most(worst, 0.0, detail=f"|g| is at most {np.exp(worst):.3g} times the bound until |v* - V| = 1e-6")


def _length(*, printed: bool) -> Comparison:
    """Largest |V|/r_1 on the path in S_1 against |gamma|/eta_1, or against 1."""
    here, path = _case()
    r = path.V @ here.spectrum[1][:, 0] / here.nu[0]
    ratio = float(np.max((np.linalg.norm(path.V, axis=1) / r)[r <= 1.0]))
    return at_most(ratio, here.speed / float(here.eta[0]) if printed else 1.0, allowance=1e-6)


def _third_coordinate(divisor: float) -> Comparison:
    """r = (1.001, 0.46, 0.13) of S_2 with eta = (1, 0.9, 0.5): r_3 against eta_3/(divisor eta_1)."""
    return at_least(0.13, 0.5 / divisor)


def _generic(*, printed: bool) -> Comparison:
    dataset = data.simplex() if printed else data.minimal()
    judged = generic_covariance(DatasetFacts(dataset, SquareLoss()))
    return at_least(judged.margin or 0.0, 1e-10, detail=f"{dataset.name}: {judged.detail}")


def _still_moves(*, printed: bool) -> Comparison:
    """|theta(2T) - theta(T)| at T = 1e6 of a path along which the integral of |dtheta/dt|^2 is finite.

    ln(1 + t), where it is 1, or exp(-t), along which also L = theta^2/2 <= exp(-2t) and the steps are summable.
    """
    ends = np.array([1e6, 2e6])
    moved = abs(float(np.diff(np.log1p(ends) if printed else np.exp(-ends))[0]))
    path = "ln(1 + t)" if printed else "exp(-t)"
    return at_most(moved, 1e-3, detail=f"theta = {path} moves by {moved:.3g} between t = 1e6 and 2e6")


def _scene_of_width(m: int) -> Scene:
    """m positive neurons z ~ N(0, I/(dm)) on `chistikov-plane`."""
    samples = data.plane()
    z = np.random.default_rng(0).standard_normal((m, samples.d)) / np.sqrt(samples.d * m)
    teacher = DatasetFacts(samples, SquareLoss()).least_squares
    return Scene(samples.X, samples.y, teacher, z, np.ones(m), np.ones(m), -50.0)


def _log_scales(*, printed: bool) -> Comparison:
    """ln(1/lambda) of Assumption 2 at m = 400 over that at m = 25, where a polynomial has about ln 400/ln 25.

    With each width's own delta, or with the delta and Delta of the first.
    """
    few, many = _scene_of_width(25), _scene_of_width(400)
    power = 9.0 * len(few.y) * few.Delta**2 / few.delta**3 * np.log(len(few.y))
    ratio = many.largest_log_scale(0.25) / few.largest_log_scale(0.25)
    if not printed:
        ratio = float((np.log(400.0) + power) / (np.log(25.0) + power))
    words = f"ln(1/lambda) grows {ratio:.4g} times from m = 25 to 400"
    return at_most(
        ratio, np.log(400.0) / np.log(25.0), detail=f"{words}; delta goes from {few.delta:.3g} to {many.delta:.3g}"
    )


def _time_of_a_step(*, printed: bool) -> Comparison:
    """A step of 0.01 on the code's loss, mean (h - y)^2, over the flow of mean (h - y)^2/2 for a time."""
    samples, time = data.two_samples(), 0.01 if printed else 0.02
    pulls = [SquareLoss(factor=factor).label_forces(samples.y) @ samples.X for factor in (2.0, 1.0)]
    ratio = float(0.01 * np.linalg.norm(pulls[0]) / (time * np.linalg.norm(pulls[1])))
    return equals(ratio, 1.0, atol=1e-12, detail=f"a step moves {ratio:g} times as far as the flow in {time:g}")


def _distance_of_teacher(*, printed: bool) -> Comparison:
    """|v* - mu| of an uncentred teacher in R^10000, a sample mu + N(0, (rho/d) I) of unit length, rho = sqrt 2 - 1."""
    d, rho = 10_000, np.sqrt(2.0) - 1.0
    centre = np.eye(1, d)[0]
    sample = centre + np.sqrt(rho / d) * np.random.default_rng(0).standard_normal(d)
    distance = float(np.linalg.norm(sample / np.linalg.norm(sample) - centre))
    stated = float(np.sqrt(rho)) if printed else float(np.sqrt(2.0 - 2.0 * 2.0**-0.25))
    return equals(distance, stated, atol=0.01, detail=f"|v* - mu| = {distance:.4f} against {stated:.4f}")


def _last_line(power: int) -> Comparison:
    """The end of the proof of (ix), -5 eta_1 |V| |v* - V|^power, between the line before it and (ix) on the path.

    The least of its excess over (ix), with the second power, and of the excess of -5 |V| |g| |v* - V| over it.
    """
    here, path = _case()
    away, lengths = here.teacher - path.V, np.linalg.norm(path.V, axis=1)
    distances, pulls = np.linalg.norm(away, axis=1), np.linalg.norm(away @ here.H, axis=1)
    line = -5.0 * float(here.eta[0]) * lengths * distances**power
    gives = line + 5.0 * float(here.eta[0]) * lengths * distances**2
    follows = -5.0 * lengths * pulls * distances - line
    least = float(min(np.min(gives), np.min(follows)))
    return at_least(least, 0.0, detail=f"the last line exceeds (ix), and is exceeded, by {least:.4g} at least")


def _normal_bound(*, printed: bool) -> Comparison:
    """sqrt(1 + 3 z^2), |f|/(|V||g|) where <V, g> = z |V||g|, against 1 + z for z = lambda^(eps/3) = 0.1."""
    z = 0.1
    value, stated = float(np.sqrt(1.0 + 3.0 * z**2)), 1.0 + z
    words = f"|f|/(|V||g|) = {value:.4f}, {'' if printed else 'at most '}{stated:g} stated"
    return equals(value, stated, atol=1e-12, detail=words) if printed else at_most(value, stated, detail=words)


def _longest_sample(*, printed: bool) -> Comparison:
    """max |x_i|^2 against Delta^2 of a scene whose longest neuron shape is longer than every sample."""
    samples = data.two_samples()
    here = Scene(samples.X, samples.y, np.array([1.0, 0.0]), 3.0 * samples.X[:1], np.ones(1), np.ones(1), -50.0)
    value, square = float(np.max(np.sum(here.X**2, axis=1))), here.Delta**2
    words = f"max |x_i|^2 = {value:.4g}, Delta^2 = {square:.4g}"
    return equals(value, square, atol=1e-9, detail=words) if printed else at_most(value, square, detail=words)


def _widest_group(*, printed: bool) -> Comparison:
    """Largest angle in degrees between the living neurons of one group at the end of alignment, two opposite teachers.

    40 neurons of random signs on four samples; groups by the side of the first teacher, or by the output's sign.
    """
    X, y = np.array([[1.0, 0.1], [1.0, -0.2], [-1.0, 0.1], [-1.0, -0.2]]), np.array([1.0, 1.0, -3.0, -3.0])
    rng = np.random.default_rng(0)
    w, a = rng.standard_normal((40, 2)), rng.choice([-1.0, 1.0], size=40)
    ended = align(X, y, w, a * np.linalg.norm(w, axis=1))
    group = (ended.ends != DEAD) & (w[:, 0] > 0.0 if printed else a > 0.0)
    unit = ended.directions[group]
    widest = float(np.degrees(np.max(np.arccos(np.clip(unit @ unit.T, -1.0, 1.0)))))
    by = "by the first teacher" if printed else "by the sign of a"
    return at_most(widest, 1.0, detail=f"grouped {by}, {len(unit)} neurons end within {widest:.3g} degrees")


def _small_angle(*, printed: bool) -> Comparison:
    """An angle of 1e-6 degrees, read with arccos of the inner product in doubles, or with the arctangent."""
    angle = np.radians(1e-6)
    one, other = np.array([0.6, 0.8]), np.array([[0.6, -0.8], [0.8, 0.6]]) @ [np.cos(angle), np.sin(angle)]
    apart, together = np.linalg.norm(one - other), np.linalg.norm(one + other)
    read = np.arccos(min(one @ other, 1.0)) if printed else 2.0 * np.arctan2(apart, together)
    ratio = float(read / angle)
    return equals(ratio, 1.0, atol=1e-6, detail=f"an angle of 1e-6 degrees is read as {1e-6 * ratio:.3g}")
