"""Activations change one way only: (7), (8), Definition 1, Lemma 12, Appendix E.2 and the orthogonal case [min2024]."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.event import EventKind
from reluflow.dynamics.trajectory import Outcome
from reluflow.network.network import row_norms
from reluflow.theory.condition import Judgement
from reluflow.theory.evidence import Evidence, FlowPlan
from reluflow.theory.measurement import Measurement, at_least, missing, none_of
from reluflow.theory.min2024.constants import data_constants
from reluflow.theory.min2024.landmarks import landmarks
from reluflow.theory.min2024.moving_neurons import DEAD, Moment, moments
from reluflow.theory.min2024.patterns import disagreements, pattern_history
from reluflow.theory.stating import hypothesis, needs

ROUNDING = 1e-10  # relative; increments of <w_j, x_i> were at least -3e-16 of |w_j||x_i| where they vanish


def _plan(evidence: Evidence) -> FlowPlan:
    """Through alignment and past the fit."""
    marks = landmarks(evidence)
    late = marks.last_fitted
    times = {*np.linspace(0.0, 1.1 * marks.alignment + 0.01, 9), *np.linspace(0.0, late, 5), late + 2.0, late + 20.0}
    return FlowPlan(times=tuple(sorted(float(t) for t in times)))


def _increments(before: Moment, after: Moment) -> FloatArray:
    """Change of s_j y_i <x_i, w_j> between two moments over the larger of the norms |w_j||x_i|, shape (m, n)."""
    scale = np.maximum(before.log_norms, after.log_norms)
    known = np.isfinite(scale)
    with np.errstate(invalid="ignore"):
        shares = [np.exp(np.where(known, moment.log_norms - scale, -np.inf)) for moment in (before, after)]
    change = shares[1][:, None] * after.cosines - shares[0][:, None] * before.cosines
    return np.asarray(before.signs[:, None] * before.data.y * change)


@needs(moments, "at least two snapshots", at_least=2)
def _monotone(evidence: Evidence, found: tuple[Moment, ...]) -> Measurement:
    smallest = min(float(np.min(_increments(one, two))) for one, two in pairwise(found))
    words = f"smallest increment of s_j y_i <x_i, w_j> is {smallest:.3g} of |w_j||x_i| (rounding {ROUNDING:g})"
    return at_least(smallest, 0.0, allowance=ROUNDING, detail=words)


def _allowed(evidence: Evidence) -> Measurement:
    """Positive neurons gain positives and lose negatives, and each hyperplane is crossed at most once."""
    history, signs, y = pattern_history(evidence), np.sign(evidence.network.a), evidence.dataset.y
    wrong = sum(1 for flip in history.flips if flip.is_gain != (signs[flip.neuron] == y[flip.sample]))
    pairs = [(flip.neuron, flip.sample) for flip in history.flips]
    repeated = len(pairs) - len(set(pairs))
    words = f"{wrong} forbidden and {repeated} repeated changes among {len(pairs)}"
    return none_of(wrong + repeated, detail=words)


def _log_agrees(evidence: Evidence) -> Measurement:
    return none_of(disagreements(evidence), detail=f"{disagreements(evidence)} patterns differ from the event log")


def _dead_stay_dead(evidence: Evidence) -> Measurement:
    found, escaped = moments(evidence), 0
    for before, after in pairwise(found):
        escaped += int(np.sum((before.cones == DEAD) & (after.cones != DEAD)))
    ever = int(np.sum(found[-1].cones == DEAD)) if found else 0
    return none_of(escaped, detail=f"{escaped} neurons left S_dead; {ever} are in it at the end")


def _dead_are_frozen(evidence: Evidence) -> Measurement:
    """A neuron of S_dead keeps its norm and direction: its pull vanishes."""
    largest = max(
        (float(np.max(np.abs(moment.pulls[moment.cones == DEAD]), initial=0.0)) for moment in moments(evidence)),
        default=math.nan,
    )
    return at_least(-largest, 0.0, detail=f"largest pull on a dead neuron is {largest:.3g}")


def _traps_hold(evidence: Evidence) -> Measurement:
    """A positive neuron in S_+ stays, a negative one in S_- stays."""
    found, lost, held = moments(evidence), 0, 0
    for before, after in pairwise(found):
        own = before.cones == before.signs
        held += int(np.sum(own))
        lost += int(np.sum(own & (after.cones != before.cones)))
    return none_of(lost, total=held) if held else missing("no neuron in its own cone at any snapshot")


def _few_crossings(evidence: Evidence) -> Measurement:
    m, n = evidence.network.num_neurons, evidence.dataset.n
    count = len(pattern_history(evidence).flips)
    return at_least(m * n - count, 0.0, detail=f"{count} crossings, at most m n = {m * n}")


def _no_branch(evidence: Evidence) -> Measurement:
    """Remark 7: from a start off the hyperplanes the solution never branches."""
    run = evidence.run
    ridges = run.events.count(EventKind.RIDGE) + int(run.outcome is Outcome.RIDGE)
    return none_of(ridges, detail=f"{ridges} branching points met; the run ended with {run.outcome}")


@hypothesis("off-hyperplanes", "no neuron starts on the hyperplane of a sample (Remark 7)")
def _starts_off_boundaries(evidence: Evidence) -> Judgement:
    z = np.abs(evidence.network.pre_activations(evidence.dataset.X))
    norms = row_norms(evidence.network.w)[:, None] * np.linalg.norm(evidence.dataset.X, axis=1)
    smallest = float(np.min(z[norms > 0.0] / norms[norms > 0.0], initial=np.inf))
    return Judgement(smallest > ROUNDING, smallest, f"smallest |cos(w_j, x_i)| at the start is {smallest:.3g}")


@hypothesis("orthogonal", "any two samples are orthogonal: mu = 0")
def _orthogonal_classes(evidence: Evidence) -> Judgement:
    if not evidence.dataset.is_binary:
        return Judgement(False, None, "the labels are not -1 and 1")
    unit = data_constants(evidence).unit_signed
    cosines = unit @ unit.T
    largest = float(np.max(np.abs(cosines - np.diag(np.diag(cosines))), initial=0.0))
    return Judgement(largest <= 1e-12, -largest, f"largest |cosine| of two samples is {largest:.3g}")


def _never_gained(evidence: Evidence) -> Measurement:
    found, gained = moments(evidence), 0
    for before, after in pairwise(found):
        gained += int(np.sum(~before.active & after.active & (np.abs(after.cosines) > 1e-9)))
    return none_of(gained, detail=f"{gained} activations gained over {len(found)} snapshots")


def _membership_is_decided(evidence: Evidence) -> Measurement:
    """The positive neurons of S_+ at the end are those active on all positives at the start, mirrored for S_-.

    Losing samples of the other class is allowed, gaining own ones is not.
    """
    found = moments(evidence)
    first, last = found[0], found[-1]
    wrong = 0
    for sign in (1, -1):
        own = first.data.members(sign)
        chosen = first.signs == sign
        could = np.all(first.active[:, own], axis=1) & chosen
        wrong += int(np.sum((last.cones == sign) & chosen & ~could))
    return none_of(wrong, detail=f"{wrong} neurons reached their cone without all own samples at the start")
