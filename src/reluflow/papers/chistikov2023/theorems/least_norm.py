"""Theorem 8, Claim 36 and Remark 38: whether the rank-one limit is the interpolator of least norm [chistikov2023]."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.papers.chistikov2023.assumptions import spanning_unit_teacher
from reluflow.papers.chistikov2023.data import fan, simplex
from reluflow.papers.chistikov2023.paper import EXAMPLE, SETTING
from reluflow.papers.chistikov2023.theorems.hypotheses import SPANNING
from reluflow.papers.chistikov2023.theorems.interpolators import (
    MAX_DIMENSION,
    Interpolation,
    TwoNeurons,
    interpolation,
)
from reluflow.theory.comparison import Comparison, at_most, judgement, none_of, require, undecided
from reluflow.theory.elsewhere import definition, part
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.hypotheses import RELU, SQUARE_LOSS, TWO_NEURONS_OR_MORE
from reluflow.theory.measures import AtMost, Constants, Quantities
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem

GAIN = 1e-9  # of the largest gain above 1 that is rounding
ALONG = 1e-6  # distance of two unit vectors that are the same


def _square(evidence: Evidence) -> Comparison:
    n, d = evidence.dataset.X.shape
    return judgement(n == d, float(-abs(n - d)), f"$n$ = {n}, $d$ = {d}")


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


def _has_sign(evidence: Evidence, *, wanted: int) -> Comparison:
    if not _is_posed(evidence):
        return undecided("not judged without $n = d$ samples of one teacher")
    if evidence.dataset.d > MAX_DIMENSION:
        return undecided(f"not searched for $d$ = {evidence.dataset.d}, above {MAX_DIMENSION}")
    value, is_sure = criterion(evidence)
    if not is_sure:
        return undecided(f"the largest value found is {value:.6g}, but the search over three or more is not exhaustive")
    return judgement(wanted * value > 0.0, wanted * value, f"$M$ = {value:.8g}")


SQUARE_DATA = (
    SQUARE_LOSS,
    RELU,
    Hypothesis("square-data", "Assumption 3: $n = d$", _square),
    SPANNING,
    Hypothesis("acute", "the labels are those of one neuron within 90 degrees of every sample", _acute),
)
NEGATIVE_CRITERION = Hypothesis("criterion", "$M < 0$", partial(_has_sign, wanted=-1))
POSITIVE_CRITERION = Hypothesis("criterion", "$M > 0$", partial(_has_sign, wanted=1))


def _numbers(about: Interpolation) -> Constants:
    return {
        "M": about.best.value,
        "largest_gain": about.gains.upper,
        "least_norm_squared_at_least": 2.0 / about.gains.upper,
        "rank_one_norm_squared": 2.0,
    }


def _constants(evidence: Evidence) -> Constants:
    return _numbers(evidence.recorded(Interpolation))


# Theorem 8(i) ---------------------------------------------------------------------------------------------------------


def _no_better(evidence: Evidence) -> Comparison:
    """Largest gain of a unit neuron for the multipliers of the teacher: 1 at the teacher itself."""
    gains = evidence.recorded(Interpolation).gains
    require(gains.is_exact, "the patterns are too many to enumerate")
    words = (
        rf"largest gain {gains.upper:.12g}, so every interpolator has $|\theta|^2$ at least {2.0 / gains.upper:.10g}"
    )
    return at_most(gains.upper, 1.0, allowance=GAIN, detail=words)


def _only_one(evidence: Evidence) -> Comparison:
    """Patterns whose best neuron gains 1 and is not the teacher."""
    about = evidence.recorded(Interpolation)
    lengths = about.gains.values
    best = lengths >= 1.0 - GAIN
    unit = about.gains.vectors[best] / lengths[best][:, None]
    stray = int(np.sum(np.linalg.norm(unit - about.teacher, axis=1) > ALONG))
    return none_of(stray, total=len(lengths), detail=f"{stray} other neurons gain as much, of {len(lengths)} patterns")


THM_8I = Theorem(
    "chistikov2023:thm8i",
    Reference("chistikov2023", "Thm 8(i)"),
    r"If $n = d$ and $M < 0$, the balanced rank-one networks of the teacher are all the interpolators of least "
    r"norm, $|\theta|^2 = 2$.",
    hypotheses=(*SQUARE_DATA, TWO_NEURONS_OR_MORE, NEGATIVE_CRITERION),
    conclusions=(
        Conclusion("least", r"no interpolator has $|\theta|^2 < 2$", _no_better),
        Conclusion("only", "all neurons of an interpolator of least norm are along the teacher", _only_one),
    ),
    constants=_constants,
    record=interpolation,
    setting=SETTING,
    example="chistikov-minimal",
    erratum="E6: Example 37 breaks Assumption 1(iii); the proof needs Assumption 1(i) and acute angles only.",
    departs=r"$M$ is searched for over pairs of cones, its sign sure for $d \le 3$ or where the inverse Gram "
    r"matrix decides; the conclusion is measured on the dual, by enumeration of patterns.",
)
ASM_3 = part("chistikov2023:asm3", "Assumption 3", THM_8I, r"$n = d$, $m > 1$, $M \ne 0$")
REMARK_38III = part("chistikov2023:remark38iii", "Remark 38(iii)", THM_8I, "Theorem 8 needs Assumption 1(i) only")

# Theorem 8(ii) --------------------------------------------------------------------------------------------------------


def _two_neurons(evidence: Evidence) -> TwoNeurons:
    return interpolation(evidence).two_neurons()


def _constants_of_the_two(evidence: Evidence) -> Constants:
    return _numbers(evidence.recorded(TwoNeurons).about)


def _xi(evidence: Evidence) -> float:
    return evidence.recorded(TwoNeurons).xi


def _residuals(evidence: Evidence) -> FloatArray:
    """|h(x_i) - <v*, x_i>| on unit samples."""
    about, network = evidence.recorded(TwoNeurons).about, evidence.recorded(TwoNeurons).network
    return np.asarray(np.abs(network.outputs(about.X) - about.X @ about.teacher))


def _shorter(evidence: Evidence) -> Comparison:
    xi, network = _xi(evidence), evidence.recorded(TwoNeurons).network
    square = float(np.sum(network.w**2) + np.sum(network.a**2))
    return at_most(square, 2.0 - xi**2, allowance=1e-12, detail=rf"$|\theta|^2$ = {square:.10g}, $\xi$ = {xi:.6g}")


def _balanced_square(evidence: Evidence) -> float:
    """Twice sum |a_j w_j| of the two neurons, their squared norm once balanced."""
    network = evidence.recorded(TwoNeurons).network
    return 2.0 * float(np.abs(network.a) @ np.linalg.norm(network.w, axis=1))


THM_8II = Theorem(
    "chistikov2023:thm8ii",
    Reference("chistikov2023", "Thm 8(ii)"),
    "If $n = d$ and $M > 0$, no balanced rank-one network of the teacher has least norm: two neurons do better.",
    hypotheses=(*SQUARE_DATA, TWO_NEURONS_OR_MORE, POSITIVE_CRITERION),
    conclusions=(
        Conclusion(
            "fits",
            "the two neurons of the proof fit the labels",
            AtMost(_residuals, 1e-9, words="largest residual {measured:.2g} on unit samples"),
        ),
        Conclusion("shorter", r"their squared norm is at most $2 - \xi^2$", _shorter),
        Conclusion(
            "not-least",
            "which is below 2, that of the rank-one networks",
            AtMost(_balanced_square, 2.0 - 1e-12, words=r"$|\theta|^2$ = {measured:.10g} once balanced, against 2"),
        ),
    ),
    constants=_constants_of_the_two,
    predictions=Quantities({"xi": _xi}),
    record=_two_neurons,
    setting=SETTING,
    example="chistikov-not-minimal",
    erratum="E6: Example 37 breaks Assumption 1(iii); the proof needs Assumption 1(i) and acute angles only.",
    departs="The two neurons are a witness, not the interpolator of least norm.",
)
EX_37 = definition("chistikov2023:ex37", "Example 37, $M < 0$", simplex, "the dataset `chistikov-simplex`")
EX_37B = definition("chistikov2023:ex37b", "Example 37, $M > 0$", fan, "the dataset `chistikov-fan`")

# Claim 36 -------------------------------------------------------------------------------------------------------------

NUM_DRAWS = 2000


@dataclass(frozen=True, eq=False)
class UnitNeurons:
    """Random unit neurons beside the samples, in rows, shape (k, d)."""

    about: Interpolation
    w: FloatArray


def _unit_neurons(evidence: Evidence) -> UnitNeurons:
    w = np.random.default_rng(0).standard_normal((NUM_DRAWS, evidence.dataset.d))
    return UnitNeurons(interpolation(evidence), w / np.linalg.norm(w, axis=1)[:, None])


def _constants_of_draws(evidence: Evidence) -> Constants:
    return _numbers(evidence.recorded(UnitNeurons).about)


def _active_parts(evidence: Evidence) -> FloatArray:
    """|<p, v*>| of unit neurons, p = sum of <w, x_k> chi_k over the samples inside."""
    about = evidence.recorded(UnitNeurons).about
    parts = np.maximum(evidence.recorded(UnitNeurons).w @ about.X.T, 0.0) @ about.dual.T
    return np.asarray(np.abs(parts @ about.teacher))


CLAIM_36 = Theorem(
    "chistikov2023:claim36",
    Reference("chistikov2023", "Claim 36"),
    "If $M < 0$, the part $p$ of a neuron $w$ in the dual basis of samples inside reaches at most $|w|$ along $v^*$.",
    hypotheses=(*SQUARE_DATA, NEGATIVE_CRITERION),
    conclusions=(
        Conclusion("part", r"$|\langle p, v^*\rangle| \le |w|$", AtMost(_active_parts, 1.0, allowance=1e-12)),
    ),
    constants=_constants_of_draws,
    record=_unit_neurons,
    setting=SETTING,
    example="chistikov-minimal",
    departs="Measured on 2000 random neurons.",
)

# Remark 38 ------------------------------------------------------------------------------------------------------------


def _plane(evidence: Evidence) -> Comparison:
    d = evidence.dataset.d
    return judgement(d == 2, float(2 - d), f"$d$ = {d}")


def _largest_value(evidence: Evidence) -> float:
    """M."""
    return evidence.recorded(Interpolation).best.value


REMARK_38 = Theorem(
    "chistikov2023:remark38",
    Reference("chistikov2023", "Remark 38(ii)"),
    "In the plane $M < 0$ always.",
    hypotheses=(*SQUARE_DATA, Hypothesis("plane", "$d = 2$", _plane)),
    conclusions=(Conclusion("negative", "$M < 0$", AtMost(_largest_value, -1e-12, words="$M$ = {measured:.8g}")),),
    constants=_constants,
    record=interpolation,
    setting=SETTING,
    example=EXAMPLE,
)
