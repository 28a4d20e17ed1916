"""Theorem 8, Claim 36 and Remark 38: whether the rank-one limit is the interpolator of least norm [chistikov2023]."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.network import Network
from reluflow.theory.chistikov2023.conditions import spanning_unit_teacher
from reluflow.theory.chistikov2023.interpolators import MAX_DIMENSION, interpolation
from reluflow.theory.comparison import Comparison, at_most, judgement, none_of, require, undecided
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.measures import Constants

NUM_DRAWS = 2000
GAIN = 1e-9  # of the largest gain above 1 that is rounding
ALONG = 1e-6  # distance of two unit vectors that are the same


def _square(evidence: Evidence) -> Comparison:
    n, d = evidence.dataset.X.shape
    return judgement(n == d, float(-abs(n - d)), f"n = {n}, d = {d}")


def _acute(evidence: Evidence) -> Comparison:
    """Angles below 90 degrees and labels of one neuron: all the proof needs of the standing assumption."""
    data, teacher = evidence.dataset, evidence.facts.least_squares
    size = float(np.linalg.norm(data.y))
    residual = float(np.linalg.norm(data.y - data.X @ teacher))
    least = float(np.min(data.y / np.maximum(evidence.facts.norms, np.finfo(float).tiny)))
    holds = residual <= 1e-9 * size and least > 0.0
    return judgement(holds, least, f"least cosine with the teacher {least:.4g}, labels fitted to {residual:.2g}")


def _is_posed(evidence: Evidence) -> bool:
    judged = _square(evidence), spanning_unit_teacher(evidence.facts), _acute(evidence)
    return evidence.loss.name == "square" and evidence.leak == 0.0 and all(j.holds is True for j in judged)


@computed_once
def criterion(evidence: Evidence) -> tuple[float, bool]:
    """M as far as it is searched for, and whether its sign is sure."""
    about = interpolation(evidence)
    value = about.best.value
    return value, value > 0.0 or about.is_exhaustive or about.is_surely_negative


def _has_sign(evidence: Evidence, wanted: int) -> Comparison:
    if not _is_posed(evidence):
        return undecided("not judged without n = d samples of one teacher")
    if evidence.dataset.d > MAX_DIMENSION:
        return undecided(f"not searched for d = {evidence.dataset.d}, above {MAX_DIMENSION}")
    value, is_sure = criterion(evidence)
    if not is_sure:
        return undecided(f"the largest value found is {value:.6g}, but the search over three or more is not exhaustive")
    return judgement(wanted * value > 0.0, wanted * value, f"M = {value:.8g}")


def _constants(evidence: Evidence) -> Constants:
    about = interpolation(evidence)
    return {
        "M": about.best.value,
        "largest_gain": about.gains.upper,
        "least_norm_squared_at_least": 2.0 / about.gains.upper,
        "rank_one_norm_squared": 2.0,
    }


# Theorem 8(i) ---------------------------------------------------------------------------------------------------------


def _no_better(evidence: Evidence) -> Comparison:
    """Largest gain of a unit neuron for the multipliers of the teacher: 1 at the teacher itself."""
    gains = interpolation(evidence).gains
    require(gains.is_exact, "the patterns are too many to enumerate")
    words = f"largest gain {gains.upper:.12g}, so every interpolator has |theta|^2 >= {2.0 / gains.upper:.10g}"
    return at_most(gains.upper, 1.0, allowance=GAIN, detail=words)


def _only_one(evidence: Evidence) -> Comparison:
    """Patterns whose best neuron gains 1 and is not the teacher."""
    about = interpolation(evidence)
    lengths = about.gains.values
    best = lengths >= 1.0 - GAIN
    unit = about.gains.vectors[best] / lengths[best][:, None]
    stray = int(np.sum(np.linalg.norm(unit - about.teacher, axis=1) > ALONG))
    return none_of(stray, total=len(lengths), detail=f"{stray} other neurons gain as much, of {len(lengths)} patterns")


# Theorem 8(ii) --------------------------------------------------------------------------------------------------------


@computed_once
def witness(evidence: Evidence) -> tuple[float, Network]:
    """xi and the two neurons of the proof."""
    return interpolation(evidence).two_neurons()


def _fits(evidence: Evidence) -> Comparison:
    about, network = interpolation(evidence), witness(evidence)[1]
    gap = float(np.max(np.abs(network.outputs(about.X) - about.X @ about.teacher)))
    return at_most(gap, 1e-9, detail=f"largest residual {gap:.2g} on unit samples")


def _shorter(evidence: Evidence) -> Comparison:
    xi, network = witness(evidence)
    square = float(np.sum(network.w**2) + np.sum(network.a**2))
    return at_most(square, 2.0 - xi**2, allowance=1e-12, detail=f"|theta|^2 = {square:.10g}, xi = {xi:.6g}")


def _below_two(evidence: Evidence) -> Comparison:
    """Twice sum |a_j w_j| of the two neurons, their squared norm once balanced."""
    network = witness(evidence)[1]
    square = 2.0 * float(np.abs(network.a) @ np.linalg.norm(network.w, axis=1))
    return at_most(square, 2.0 - 1e-12, detail=f"|theta|^2 = {square:.10g} once balanced, against 2")


# Claim 36 and Remark 38 -----------------------------------------------------------------------------------------------


@computed_once
def drawn(evidence: Evidence) -> FloatArray:
    """Random unit neurons, shape (k, d)."""
    w = np.random.default_rng(0).standard_normal((NUM_DRAWS, evidence.dataset.d))
    return np.asarray(w / np.linalg.norm(w, axis=1)[:, None])


def _active_part(evidence: Evidence) -> Comparison:
    """Largest |<p, v*>| of a unit neuron, p = sum of <w, x_k> chi_k over the samples inside."""
    about = interpolation(evidence)
    parts = np.maximum(drawn(evidence) @ about.X.T, 0.0) @ about.dual.T
    return at_most(float(np.max(np.abs(parts @ about.teacher))), 1.0, allowance=1e-12)


def _plane(evidence: Evidence) -> Comparison:
    d = evidence.dataset.d
    return judgement(d == 2, float(2 - d), f"d = {d}")


def _negative(evidence: Evidence) -> Comparison:
    return at_most(criterion(evidence)[0], -1e-12, detail=f"M = {criterion(evidence)[0]:.8g}")


def _thm8ii_predictions(evidence: Evidence) -> Constants:
    return {"xi": witness(evidence)[0]}
