"""The hypotheses the results of Min et al. share, judged on the data and on the drawn neurons [min2024]."""

from __future__ import annotations

import numpy as np

from reluflow.dynamics.event import EventKind
from reluflow.geometry.alignment import align
from reluflow.theory.condition import Judgement, fails, undecided
from reluflow.theory.evidence import Evidence
from reluflow.theory.hypotheses import balanced_start, data_assumption, loss_among, relu_activation
from reluflow.theory.min2024.constants import data_constants, log_small_scale, proof_constants, starting_cosine
from reluflow.theory.min2024.moving_neurons import cones_of
from reluflow.theory.stating import hypothesis
from reluflow.theory.theorem import Hypothesis, Setting

SETTING = Setting(loss="exponential", reduction="sum", leak=0.0, init="min-balanced", width=12, scale="1e-3")
EXAMPLE = "min-regression-case"
SPATIAL = "orthogonally-separable:n=4,d=3,mu=0.766"  # of the same mu; in the plane a stable rank says nothing


@hypothesis("binary", "labels are -1 and 1")
def _binary(evidence: Evidence) -> Judgement:
    is_binary = evidence.dataset.is_binary
    return Judgement(is_binary, None, "labels -1 and 1" if is_binary else "the labels are not -1 and 1")


def _away_from_the_other_class(evidence: Evidence) -> Judgement:
    """1 minus the largest cosine of Assumption 2; a neuron along the other aggregate to rounding fails."""
    largest = max(starting_cosine(evidence, 1), starting_cosine(evidence, -1))
    margin = 1.0 - largest
    return Judgement(margin > 1e-12, margin, f"largest cosine with the other class's aggregate is {largest:.12g}")


@hypothesis("nonzero-neurons", "no column of W_0 is zero (Remark 2)")
def _nonzero(evidence: Evidence) -> Judgement:
    zeros = int(np.sum(~np.any(evidence.network.w != 0.0, axis=1)))
    return Judgement(zeros == 0, None, f"{zeros} neurons are zero")


@hypothesis("small-scale", "eps <= 1/(4 sqrt(m) X_max W_max^2)", is_regime=True)
def _small_scale(evidence: Evidence) -> Judgement:
    log_scale, bound = evidence.network.log_scale, log_small_scale(evidence)
    detail = f"log eps = {log_scale:.6g} against at most {bound:.6g}"
    return Judgement(log_scale <= bound + _rounding(bound), bound - log_scale, detail)


@hypothesis("scale-28", "eps is at most the bound (28), with the factor 8 of erratum E2", is_regime=True)
def _scale_of_28(evidence: Evidence) -> Judgement:
    constants = proof_constants(evidence)
    bound = constants.log_bound
    detail = f"log eps = {constants.log_scale:.8g} against at most {bound:.8g}"
    return Judgement(constants.log_scale <= bound + _rounding(bound), bound - constants.log_scale, detail)


def _rounding(log_bound: float) -> float:
    """A scale set equal to its bound may miss it by the rounding of the sum of two logarithms."""
    return 4.0 * float(np.spacing(max(abs(log_bound), 1.0))) if np.isfinite(log_bound) else 0.0


def _both_cones_held(evidence: Evidence) -> Judgement:
    """Where the neurons of each sign end in the limit of vanishing scale, in closed form."""
    data, network = data_constants(evidence), evidence.network
    moving = np.any(network.w != 0.0, axis=1)
    ends = align(data.X, evidence.loss.label_forces(data.y), network.w[moving], network.a[moving], leak=network.leak)
    cones, signs = cones_of(ends.patterns > 0, data.y), np.sign(network.a[moving])
    held = {s: int(np.sum((signs == s) & (cones == s))) for s in (1, -1)}
    if not data.classes:
        return fails("no label is -1 or 1")
    least = min(held[sign] for sign in data.classes)
    detail = f"{held[1]} positive and {held[-1]} negative neurons end in the cone of their sign"
    return Judgement(least > 0, float(least), detail)


@hypothesis("regular", "the solution is regular: no branch was chosen", needs_trajectory=True)
def _regular(evidence: Evidence) -> Judgement:
    """A run leaves S_dead only where the flow branches and a side was chosen for it."""
    if evidence.trajectory is None:
        return undecided("no run was made")
    ridges = evidence.trajectory.events.count(EventKind.RIDGE)
    return Judgement(ridges == 0, float(-ridges), f"the run met {ridges} points where the flow branches")


SEPARATED = data_assumption("orthogonally-separable-strict")
UNIT_FORCE = data_assumption("min-loss")
SUMMED = data_assumption("summed-loss")
CLASSIFICATION = loss_among("exponential", "logistic")
RELU = relu_activation
BALANCED = balanced_start()
ASSUMPTION_2 = Hypothesis(
    "min-a2",
    "Assumption 2: no positive neuron starts along x_-, no negative one along x_+",
    _away_from_the_other_class,
)
BOTH_CONES = Hypothesis("both-cones", "the cone of each class present holds a neuron of its sign", _both_cones_held)

APPROXIMATION = (_binary, UNIT_FORCE, SUMMED, BALANCED, _nonzero, _small_scale)
FLOW = (SEPARATED, CLASSIFICATION, UNIT_FORCE, SUMMED, RELU, BALANCED, _nonzero)
REGIME = (*FLOW, ASSUMPTION_2, _scale_of_28)


def log_factor_small(evidence: Evidence) -> float:
    """Factor that meets the scale of Lemmas 1 and 3; 0 where it is met already."""
    return min(0.0, log_small_scale(evidence) - evidence.network.log_scale)


def log_factor_28(evidence: Evidence) -> float:
    """Factor that meets (28); 0 where it is met already."""
    return min(0.0, proof_constants(evidence).log_bound - evidence.network.log_scale)
