"""What the results share: Assumptions 1 and 2 as hypotheses, the parameter epsilon, the constants [chistikov2023]."""

from __future__ import annotations

import numpy as np

from reluflow.papers.chistikov2023.assumptions import (
    CORRELATED_TEACHER,
    GENERIC_COVARIANCE,
    SPANNING_UNIT_TEACHER,
    correlated_teacher,
    generic_covariance,
    spanning_unit_teacher,
)
from reluflow.papers.chistikov2023.theorems.scene import DELTA_TERMS, scene
from reluflow.theory.comparison import Comparison, judgement, positive, undecided
from reluflow.theory.elsewhere import condition, definition
from reluflow.theory.evidence import Evidence
from reluflow.theory.hypotheses import BALANCED, NO_RIDGE, RELU, SQUARE_LOSS, assumed
from reluflow.theory.measures import Constants
from reluflow.theory.theorem import Hypothesis, Parameter

EPSILON = Parameter("epsilon", 0.25, "the exponent of the analysis, at most 1/4", low=0.0, high=0.250000001)
ON_BOUNDARY = 1e-12  # cosines of a neuron and a sample below this count as 0


def _mean_square(evidence: Evidence) -> Comparison:
    weight = evidence.loss.sample_weight(evidence.dataset.n) * float(evidence.loss.force_at_zero(1.0))
    expected = 1.0 / evidence.dataset.n
    return judgement(
        abs(weight - expected) <= 1e-12 * expected, None, f"a sample of label 1 pulls with {weight:g} at output 0"
    )


def _is_posed(evidence: Evidence) -> bool:
    """Whether there is a teacher at all, without which the start cannot be judged."""
    return correlated_teacher(evidence.facts).holds is True and spanning_unit_teacher(evidence.facts).holds is True


def _start(evidence: Evidence) -> Comparison:
    """Assumption 1(ii): J_+ is not empty, no neuron is on a boundary, no neuron of J_- points along gamma."""
    if not _is_posed(evidence):
        return undecided("not judged without a correlated teacher")
    network = evidence.network
    lengths = np.linalg.norm(network.w, axis=1)
    if np.any(lengths == 0.0):
        return judgement(holds=False, margin=0.0, detail="a neuron is 0")
    here = scene(evidence)
    unit = here.X / np.linalg.norm(here.X, axis=1)[:, None]
    boundary = float(np.min(np.abs(network.w @ unit.T) / lengths[:, None]))
    along = [float(np.sin(here.yardsticks[int(j)].starts[0])) for j in here.negative]
    margin = min(boundary - ON_BOUNDARY, *along, np.inf)
    words = (
        f"$|J_+|$ = {len(here.positive)}, $|J_-|$ = {len(here.negative)}, smallest cosine with a sample {boundary:.3g}"
    )
    return positive(margin if len(here.positive) else -1.0, words)


def _single_crossings(evidence: Evidence) -> Comparison:
    """Assumption 1(iv): no yardstick meets two samples at once."""
    if not _is_posed(evidence) or _start(evidence).holds is not True:
        return undecided("not judged without a correlated teacher and a generic start")
    here = scene(evidence)
    shortest = min((float(np.min(p.lengths, initial=np.inf)) for p in here.yardsticks.values()), default=np.inf)
    return positive(shortest, f"the shortest stage of a yardstick lasts {shortest:.4g}")


def meets_assumption_1(evidence: Evidence) -> bool:
    """Whether every part of Assumption 1 that data and start decide is known to hold."""
    facts = evidence.facts
    of_data = correlated_teacher(facts), spanning_unit_teacher(facts), generic_covariance(facts)
    return all(j.holds is True for j in (*of_data, _start(evidence), _single_crossings(evidence)))


def _small_scale(evidence: Evidence) -> Comparison:
    """Assumption 2, as logarithms."""
    if not meets_assumption_1(evidence):
        return undecided("not judged without Assumption 1, on whose numbers the bound rests")
    here = scene(evidence)
    needed = here.largest_log_scale(evidence.parameter("epsilon"))
    words = rf"$\ln\lambda$ = {here.log_scale:.6g}, at most {needed:.6g} asked for; $\delta$ = {here.delta:.4g}"
    return judgement(here.log_scale <= needed, needed - here.log_scale, words)


def own_scale(evidence: Evidence) -> float:
    """ln of the factor that brings the draw to the scale of Assumption 2; 0 where it is there or has no such scale."""
    if not meets_assumption_1(evidence):
        return 0.0
    here = scene(evidence)
    needed = here.largest_log_scale(evidence.parameter("epsilon"))
    return min(needed * (1.0 + 1e-12) - here.log_scale, 0.0)


MEAN_SQUARE = Hypothesis("mean", "the loss is $1/(2n)$ times the sum of squares", _mean_square, is_setting=True)
SPANNING = assumed(SPANNING_UNIT_TEACHER)
START = Hypothesis(
    "chistikov-a1ii", r"$J_+$ is not empty, no neuron is on a boundary, none of $J_-$ points along $\gamma$", _start
)
SINGLE_CROSSINGS = Hypothesis("chistikov-a1iv", "no yardstick meets two samples at once", _single_crossings)
SMALL_SCALE = Hypothesis(
    "chistikov-a2", r"$\lambda \le (m n^{9 n \Delta^2/\delta^3})^{-3/\varepsilon}$", _small_scale, is_regime=True
)

STATED_FOR = (SQUARE_LOSS, RELU, MEAN_SQUARE, BALANCED)
ASSUMPTION_1 = (assumed(CORRELATED_TEACHER), SPANNING, START, assumed(GENERIC_COVARIANCE), SINGLE_CROSSINGS)
DATA_AND_START = (*STATED_FOR, *ASSUMPTION_1)
SMALL = (*DATA_AND_START, SMALL_SCALE)
RUNS = (*SMALL, NO_RIDGE)


def constants(evidence: Evidence) -> Constants:
    """delta with the term that is least, Delta, the two scales, T_0, T_1, |gamma|, the eigenvalues."""
    here, epsilon = scene(evidence), evidence.parameter("epsilon")
    least = int(np.argmin(here.delta_terms))
    return {
        "delta": here.delta,
        "delta_is": DELTA_TERMS[least],
        "Delta": here.Delta,
        "log_scale": here.log_scale,
        "log_scale_needed": here.largest_log_scale(epsilon),
        "T_0": here.alignment_time,
        "T_1": here.phase_time(epsilon),
        "gamma": here.speed,
        "eta": here.eta.tolist(),
        "num_positive": len(here.positive),
        "num_negative": len(here.negative),
    }


SEC_2 = condition(
    "chistikov2023:sec2",
    "Sec. 2",
    CORRELATED_TEACHER,
    "the standing assumption: all samples within 45 degrees of the teacher",
)
ASM_1I = condition(
    "chistikov2023:asm1i", "Assumption 1(i)", SPANNING_UNIT_TEACHER, "spanning samples and a unit teacher"
)
ASM_1III = condition(
    "chistikov2023:asm1iii", "Assumption 1(iii)", GENERIC_COVARIANCE, "generic directions, eigenvalues and teacher"
)
ASM_1 = definition(
    "chistikov2023:asm1",
    "Assumption 1(ii), (iv)",
    meets_assumption_1,
    "on the start: hypotheses of every result below; (v) is what the flow does",
)
