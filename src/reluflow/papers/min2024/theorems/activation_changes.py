"""Activations change one way: (7), (8), Definition 1, Lemma 12, App. E.2, orthogonal data [min2024]."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from reluflow.dynamics.event import EventKind
from reluflow.dynamics.trajectory import Outcome
from reluflow.network.network import row_norms
from reluflow.papers.min2024.assumptions import CORRELATED
from reluflow.papers.min2024.paper import EXAMPLE, SETTING
from reluflow.papers.min2024.theorems.constants import data_constants
from reluflow.papers.min2024.theorems.landmarks import landmarks
from reluflow.papers.min2024.theorems.moving_neurons import DEAD, Moment, moments
from reluflow.papers.min2024.theorems.pattern_history import disagreements, forbidden_flips, pattern_history
from reluflow.papers.min2024.theorems.shared_hypotheses import BINARY, FLOW, LOSS, NONZERO_NEURONS, REGULAR
from reluflow.theory.comparison import Comparison, Level, Values, at_least, fails, judgement, missing, none_of, requires
from reluflow.theory.condition import NOT_BINARY
from reluflow.theory.elsewhere import part
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.hypotheses import BALANCED, RELU, assumed
from reluflow.theory.measures import AtLeast
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem

ROUNDING = 1e-10  # relative; increments of <w_j, x_i> were at least -3e-16 of |w_j||x_i| where they vanish


def _plan(evidence: Evidence) -> FlowPlan:
    """Through alignment and past the fit."""
    marks = landmarks(evidence)
    late = marks.last_fitted
    times = {*np.linspace(0.0, 1.1 * marks.alignment + 0.01, 9), *np.linspace(0.0, late, 5), late + 2.0, late + 20.0}
    return FlowPlan(times=tuple(sorted(float(t) for t in times)))


def _steps(evidence: Evidence) -> Iterator[tuple[Moment, Moment]]:
    """Every snapshot with the next."""
    return pairwise(moments(evidence))


# Definition 1 and Lemma 12 --------------------------------------------------------------------------------------------


def _dead_stay_dead(evidence: Evidence) -> Comparison:
    found = moments(evidence)
    escaped = sum(int(np.sum((a.cones == DEAD) & (b.cones != DEAD))) for a, b in pairwise(found))
    ever = int(np.sum(found[-1].cones == DEAD)) if found else 0
    return none_of(escaped, detail=rf"{escaped} neurons left $S_{{\mathrm{{dead}}}}$; {ever} are in it at the end")


def _dead_are_frozen(evidence: Evidence) -> Comparison:
    """A neuron of S_dead keeps its norm and direction: its pull vanishes."""
    largest = max(
        (float(np.max(np.abs(moment.pulls[moment.cones == DEAD]), initial=0.0)) for moment in moments(evidence)),
        default=math.nan,
    )
    return at_least(-largest, 0.0, detail=f"largest pull on a dead neuron is {largest:.3g}")


DEF_1 = Theorem(
    "min2024:def1",
    Reference("min2024", "Def. 1"),
    r"A solution is regular if a neuron that enters $S_{\mathrm{dead}}$ stays there.",
    hypotheses=(BINARY, RELU),
    conclusions=(
        Conclusion("absorbing", r"no neuron leaves $S_{\mathrm{dead}}$", _dead_stay_dead, Level.EXACT),
        Conclusion("frozen", r"nothing pulls a neuron of $S_{\mathrm{dead}}$", _dead_are_frozen, Level.EXACT),
    ),
    plan=_plan,
    setting=SETTING,
    example="min-toy",
)


def _traps_hold(evidence: Evidence) -> Comparison:
    """A positive neuron in S_+ stays, a negative one in S_- stays."""
    held = sum(int(np.sum(a.cones == a.signs)) for a, _ in _steps(evidence))
    lost = sum(int(np.sum((a.cones == a.signs) & (a.cones != b.cones))) for a, b in _steps(evidence))
    return none_of(lost, total=held) if held else missing("no neuron in its own cone at any snapshot")


LEMMA_12 = Theorem(
    "min2024:lemma12",
    Reference("min2024", "Lemma 12"),
    r"$S_{\mathrm{dead}}$ absorbs regular solutions; positive neurons stay in $S_+$ and negative ones in $S_-$ "
    r"once there.",
    hypotheses=(*FLOW, REGULAR),
    conclusions=(
        Conclusion("dead", r"no neuron leaves $S_{\mathrm{dead}}$", _dead_stay_dead, Level.EXACT),
        Conclusion("own-cone", "no neuron leaves the cone of its sign", _traps_hold, Level.EXACT),
    ),
    plan=_plan,
    setting=SETTING,
    example=EXAMPLE,
    erratum="E5: part (a) needs a regular solution, against the printed 'any'; (b), (c) follow from (7), (8).",
)


# Equations (7) and (8) ------------------------------------------------------------------------------------------------


@requires(moments, "at least two snapshots", at_least=2)
def _monotone(evidence: Evidence, found: tuple[Moment, ...]) -> Values:
    """Change of s_j y_i <x_i, w_j> between two moments over the larger of the norms |w_j||x_i|."""
    for before, after in pairwise(found):
        scale = np.maximum(before.log_norms, after.log_norms)
        known = np.isfinite(scale)
        with np.errstate(invalid="ignore"):
            shares = [np.exp(np.where(known, moment.log_norms - scale, -np.inf)) for moment in (before, after)]
        change = shares[1][:, None] * after.cosines - shares[0][:, None] * before.cosines
        yield before.signs[:, None] * before.data.y * change


def _allowed(evidence: Evidence) -> Comparison:
    """Positive neurons gain positives and lose negatives, and each hyperplane is crossed at most once."""
    wrong, pairs = forbidden_flips(evidence), [(f.neuron, f.sample) for f in pattern_history(evidence).flips]
    repeated = len(pairs) - len(set(pairs))
    return none_of(wrong + repeated, detail=f"{wrong} forbidden and {repeated} repeated changes among {len(pairs)}")


def _log_agrees(evidence: Evidence) -> Comparison:
    return none_of(disagreements(evidence), detail=f"{disagreements(evidence)} patterns differ from the event log")


EQ_7 = Theorem(
    "min2024:eq7",
    Reference("min2024", "Eqs. (7), (8)"),
    r"$s_j y_i \langle x_i, w_j\rangle$ grows for every neuron that is not dead, so activations change one way, "
    r"each once.",
    hypotheses=(assumed(CORRELATED), LOSS, BALANCED, NONZERO_NEURONS),
    conclusions=(
        Conclusion(
            "monotone",
            r"$s_j y_i \langle x_i, w_j\rangle$ does not decrease between snapshots",
            AtLeast(
                _monotone,
                0.0,
                allowance=ROUNDING,
                words=r"smallest increment of $s_j y_i \langle x_i, w_j\rangle$ is {measured:.3g} of $|w_j||x_i|$ "
                r"(rounding 1e-10)",
            ),
        ),
        Conclusion("one-way", "no forbidden and no repeated change of activation", _allowed, Level.EXACT),
        Conclusion("event-log", "the event log and the snapshots show the same patterns", _log_agrees, Level.EXACT),
    ),
    plan=_plan,
    setting=SETTING,
    example=EXAMPLE,
    departs="(7) and (8) speak of the boundary and of $[0, T]$; here of every snapshot, which is stronger.",
)

EQ_8 = part("min2024:eq8", "Eq. (8)", EQ_7, "the mirror image of (7) for negative neurons, checked with it")


# Appendix E.2 ---------------------------------------------------------------------------------------------------------


def _few_crossings(evidence: Evidence) -> Comparison:
    most, count = evidence.network.num_neurons * evidence.dataset.n, len(pattern_history(evidence).flips)
    return at_least(most - count, 0.0, detail=f"{count} crossings, at most $m n$ = {most}")


def _no_branch(evidence: Evidence) -> Comparison:
    """Remark 7: from a start off the hyperplanes the solution never branches."""
    run = evidence.run
    ridges = run.events.count(EventKind.RIDGE) + int(run.outcome is Outcome.RIDGE)
    return none_of(ridges, detail=f"{ridges} branching points met; the run ended with {run.outcome}")


def _starts_off_boundaries(evidence: Evidence) -> Comparison:
    z = np.abs(evidence.network.pre_activations(evidence.dataset.X))
    norms = row_norms(evidence.network.w)[:, None] * np.linalg.norm(evidence.dataset.X, axis=1)
    smallest = float(np.min(z[norms > 0.0] / norms[norms > 0.0], initial=np.inf))
    return judgement(smallest > ROUNDING, smallest, rf"smallest $|\cos(w_j, x_i)|$ at the start is {smallest:.3g}")


APP_E_2 = Theorem(
    "min2024:appE.2",
    Reference("min2024", "App. E.2"),
    "Under Assumption 1 regular solutions exist for all time: every hyperplane is crossed one way, at most $m n$ "
    "crossings happen, and neurons that start off the hyperplanes meet no branching point.",
    hypotheses=(
        assumed(CORRELATED),
        LOSS,
        RELU,
        BALANCED,
        NONZERO_NEURONS,
        Hypothesis(
            "off-hyperplanes", "no neuron starts on the hyperplane of a sample (Remark 7)", _starts_off_boundaries
        ),
    ),
    conclusions=(
        Conclusion(
            "pushed",
            r"$y_i s_j \langle x_i, w_j\rangle$ does not decrease between snapshots: (46), integrated",
            AtLeast(
                _monotone,
                0.0,
                allowance=ROUNDING,
                words=r"smallest increment of $s_j y_i \langle x_i, w_j\rangle$ is {measured:.3g} of $|w_j||x_i|$ "
                r"(rounding 1e-10)",
            ),
        ),
        Conclusion("one-way", "each hyperplane is crossed at most once, the allowed way", _allowed, Level.EXACT),
        Conclusion("count", "at most $m n$ crossings", _few_crossings),
        Conclusion("unbranched", "the run met no branching point (Remark 7)", _no_branch, Level.EXACT),
    ),
    plan=_plan,
    setting=SETTING,
    example=EXAMPLE,
    erratum="(46) is printed with the opposite sign of the gradient.",
)

REMARK_7 = part(
    "min2024:remark7",
    "Remark 7",
    APP_E_2,
    "neurons drawn off the hyperplanes (`off-hyperplanes`) meet no branching point (`unbranched`)",
)


# Orthogonal data ------------------------------------------------------------------------------------------------------


def _orthogonal_classes(evidence: Evidence) -> Comparison:
    if not evidence.dataset.is_binary:
        return fails(NOT_BINARY)
    unit = data_constants(evidence).unit_signed
    cosines = unit @ unit.T
    largest = float(np.max(np.abs(cosines - np.diag(np.diag(cosines))), initial=0.0))
    return judgement(largest <= 1e-12, -largest, f"largest |cosine| of two samples is {largest:.3g}")


def _never_gained(evidence: Evidence) -> Comparison:
    gained = [np.sum(~a.active & b.active & (np.abs(b.cosines) > 1e-9)) for a, b in _steps(evidence)]
    detail = f"{int(np.sum(gained))} activations gained over {len(moments(evidence))} snapshots"
    return none_of(int(np.sum(gained)), detail=detail)


def _membership_is_decided(evidence: Evidence) -> Comparison:
    """The positive neurons of S_+ at the end are those active on all positives at the start, mirrored for S_-.

    Losing samples of the other class is allowed, gaining own ones is not.
    """
    first, last, wrong = moments(evidence)[0], moments(evidence)[-1], 0
    for sign in (1, -1):
        could = np.all(first.active[:, first.data.members(sign)], axis=1)
        wrong += int(np.sum((last.cones == sign) & (first.signs == sign) & ~could))
    return none_of(wrong, detail=f"{wrong} neurons reached their cone without all own samples at the start")


ORTHOGONAL_COMPARISON = Theorem(
    "min2024:orthogonal-comparison",
    Reference("min2024", "Sec. 3.3, comparison with orthogonal data"),
    r"On orthogonal data ($\mu = 0$) no activation is ever gained, so only neurons active on all samples of their "
    r"class at the start end in its cone.",
    hypotheses=(
        Hypothesis("orthogonal", r"any two samples are orthogonal: $\mu = 0$", _orthogonal_classes),
        LOSS,
        RELU,
        BALANCED,
        NONZERO_NEURONS,
    ),
    conclusions=(
        Conclusion("no-gain", "no neuron becomes active on a sample", _never_gained, Level.EXACT),
        Conclusion("membership", "the cones hold no newcomer", _membership_is_decided, Level.EXACT),
    ),
    plan=_plan,
    setting=SETTING,
    example="min-orthogonal",
)
