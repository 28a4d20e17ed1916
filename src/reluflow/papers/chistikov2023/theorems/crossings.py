"""Propositions 2, 13 and 14: which samples the yardsticks meet, in which order and when; no run is needed."""

from __future__ import annotations

import numpy as np

from reluflow.geometry.alignment import AlignedState, align_until
from reluflow.papers.chistikov2023.paper import EXAMPLE, SETTING
from reluflow.papers.chistikov2023.theorems.hypotheses import DATA_AND_START
from reluflow.papers.chistikov2023.theorems.scene import scene
from reluflow.theory.comparison import Comparison, Level, Values, none_of
from reluflow.theory.elsewhere import part
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.measures import AtLeast, AtMost, Constants
from reluflow.theory.theorem import Conclusion, Reference, Theorem

# Proposition 2 --------------------------------------------------------------------------------------------------------


def boosted(evidence: Evidence) -> AlignedState:
    """The same neurons at T_0 by `geometry.align_until`, with every crossing on the way."""
    here = scene(evidence)
    norms = np.linalg.norm(here.z, axis=1)
    return align_until(here.X, here.y / len(here.y), here.z, here.signs * norms, here.alignment_time)


@computed_once
def crossings(evidence: Evidence) -> dict[int, tuple[list[int], list[float]]]:
    """Samples and times of every active neuron, in order, as `align_until` has them."""
    events, active = evidence.recorded(AlignedState).events, scene(evidence).yardsticks
    found = {}
    for j in active:
        rows = np.flatnonzero(events.neurons == j)
        rows = rows[np.argsort(events.times[rows], kind="stable")]
        found[j] = ([int(i) for i in events.samples[rows]], [float(t) for t in events.times[rows]])
    return found


def _one_way(evidence: Evidence) -> Comparison:
    """Crossings that are not the first meeting with a sample of I_{-s}(z), or samples of it that are never met."""
    here, wrong, total = scene(evidence), 0, 0
    for j, (samples, _) in crossings(evidence).items():
        waiting = set(np.flatnonzero(np.sign(here.X @ here.z[j]) == -here.signs[j]).tolist())
        wrong += len(samples) - len(set(samples)) + len(waiting ^ set(samples))
        total += len(waiting)
    return none_of(wrong, total=total, detail=f"{wrong} of {total} crossings are not one each of $I_{{-s}}(z)$")


def _times_between(evidence: Evidence) -> Values:
    """Times between two crossings of one neuron, the start included."""
    return [np.diff([0.0, *times]) for _, times in crossings(evidence).values() if times]


PROP_2 = Theorem(
    "chistikov2023:prop2",
    Reference("chistikov2023", "Prop. 2"),
    "In the limit of vanishing scale a positive neuron gains, one after the other and for good, the samples it did "
    "not have inside; a negative one loses those it had; at each crossing it meets one sample alone.",
    hypotheses=DATA_AND_START,
    conclusions=(
        Conclusion("one-way", "each sample of $I_{-s}(z)$ is met once, no other is", _one_way, Level.EXACT),
        Conclusion(
            "one-at-a-time",
            r"$0 < \tau^1 < \dots < \tau_j^{n_j}$",
            AtLeast(_times_between, 1e-14, empty="no neuron meets a sample"),
            Level.EXACT,
        ),
    ),
    record=boosted,
    setting=SETTING,
    example=EXAMPLE,
    departs="Measured on `geometry.align_until`, whose boosts know nothing of the proposition.",
)

# Propositions 13 and 14 -----------------------------------------------------------------------------------------------


def _order(evidence: Evidence) -> Comparison:
    found, paths = crossings(evidence), scene(evidence).yardsticks
    wrong = sum(found[j][0] != path.samples.tolist() for j, path in paths.items())
    return none_of(wrong, total=len(paths), detail=f"{wrong} of {len(paths)} neurons meet samples in another order")


def _time_gaps(evidence: Evidence) -> Values:
    """|t - tau|/tau of every crossing."""
    for j, path in scene(evidence).yardsticks.items():
        for t, tau in zip(crossings(evidence)[j][1], path.times[1:], strict=False):
            yield abs(t - tau) / tau


def _direction_gaps(evidence: Evidence) -> Values:
    """Distances of the unit vectors at T_0."""
    w, time = evidence.recorded(AlignedState).w, scene(evidence).alignment_time
    for j, path in scene(evidence).yardsticks.items():
        yield np.linalg.norm(w[j] / np.linalg.norm(w[j]) - path.direction_at(time))


def _norm_gaps(evidence: Evidence) -> Values:
    """Differences of ln |alpha| at T_0."""
    state, time = evidence.recorded(AlignedState), scene(evidence).alignment_time
    for j, path in scene(evidence).yardsticks.items():
        yield abs(float(state.log_norms[j] + np.log(np.linalg.norm(state.w[j]))) - path.log_norm_at(time))


def _stages(evidence: Evidence) -> Constants:
    """Samples and times of every neuron."""
    return {
        f"neuron {j}": [[int(i), float(t)] for i, t in zip(path.samples, path.times[1:], strict=True)]
        for j, path in scene(evidence).yardsticks.items()
    }


SAME = 1e-9  # relative; two closed forms of one number, seen: 6e-14

PROP_14 = Theorem(
    "chistikov2023:prop14",
    Reference("chistikov2023", "Prop. 14"),
    "The samples a yardstick meets, their order, their times, its direction and (Prop. 13) its norm follow from a "
    "recursion in closed form.",
    hypotheses=DATA_AND_START,
    conclusions=(
        Conclusion("order", "(i): which sample is met next", _order, Level.EXACT),
        Conclusion(
            "times",
            "(ii), (vi): when",
            AtMost(
                _time_gaps,
                SAME,
                words="{count} crossings agree to {measured:.2g}, relative",
                empty="no neuron meets a sample",
            ),
            Level.EXACT,
        ),
        Conclusion(
            "direction",
            "(x): the unit vector at $T_0$",
            AtMost(_direction_gaps, 1e-8, words="unit vectors at $T_0$ agree to {measured:.2g}"),
            Level.EXACT,
        ),
        Conclusion(
            "norm",
            "Prop. 13: the norm at $T_0$",
            AtMost(_norm_gaps, 1e-8, words=r"$\ln|\alpha|$ at $T_0$ agrees to {measured:.2g}"),
            Level.EXACT,
        ),
    ),
    predictions=_stages,
    record=boosted,
    setting=SETTING,
    example=EXAMPLE,
    departs="Held against `geometry.align_until`, which goes from one hyperplane to the next by Lorentz boosts.",
)
PROP_13 = part("chistikov2023:prop13", "Prop. 13", PROP_14, "the norm of a yardstick")
