"""The hypotheses the results of Min et al. share, judged on the data and on the drawn neurons [min2024]."""

from __future__ import annotations

import numpy as np

from reluflow.dynamics.event import EventKind
from reluflow.geometry.alignment import align
from reluflow.theory.comparison import Comparison, fails, judgement
from reluflow.theory.evidence import Evidence
from reluflow.theory.min2024.constants import data_constants, starting_cosine
from reluflow.theory.min2024.moving_neurons import cones_of

EXAMPLE = "min-regression-case"
SPATIAL = "orthogonally-separable:n=4,d=3,mu=0.766"  # of the same mu; in the plane a stable rank says nothing


def away_from_the_other_class(evidence: Evidence) -> Comparison:
    """1 minus the largest cosine of Assumption 2; a neuron along the other aggregate to rounding fails."""
    largest = max(starting_cosine(evidence, 1), starting_cosine(evidence, -1))
    margin = 1.0 - largest
    return judgement(margin > 1e-12, margin, f"largest cosine with the other class's aggregate is {largest:.12g}")


def _nonzero(evidence: Evidence) -> Comparison:
    zeros = int(np.sum(~np.any(evidence.network.w != 0.0, axis=1)))
    return judgement(zeros == 0, None, f"{zeros} neurons are zero")


def _at_most(evidence: Evidence, log_bound: float) -> Comparison:
    """log eps against a bound, which a scale set equal to it may miss by the rounding of the sum of two logarithms."""
    log_scale, size = evidence.network.log_scale, max(abs(log_bound), 1.0)
    rounding = 4.0 * float(np.spacing(size)) if np.isfinite(log_bound) else 0.0
    detail = f"log eps = {log_scale:.8g} against at most {log_bound:.8g}"
    return judgement(log_scale <= log_bound + rounding, log_bound - log_scale, detail)


def both_cones_held(evidence: Evidence) -> Comparison:
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
    return judgement(least > 0, float(least), detail)


def _regular(evidence: Evidence) -> Comparison:
    """A run leaves S_dead only where the flow branches and a side was chosen for it."""
    ridges = evidence.run.events.count(EventKind.RIDGE)
    return judgement(ridges == 0, float(-ridges), f"the run met {ridges} points where the flow branches")
