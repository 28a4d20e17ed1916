"""The second phase: the bundle starts near u_1 (Prop. 24), stays together and stays in S (Lemma 28) [chistikov2023]."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.papers.chistikov2023.paper import EXAMPLE, SETTING
from reluflow.papers.chistikov2023.theorems.bundle import Bundle, bundles, escape_time, path_of, second_phase_times
from reluflow.papers.chistikov2023.theorems.hypotheses import DATA_AND_START, EPSILON, RUNS, constants, own_scale
from reluflow.papers.chistikov2023.theorems.phase_one import ROUNDING
from reluflow.papers.chistikov2023.theorems.polar_form import pulls
from reluflow.papers.chistikov2023.theorems.scene import Scene, scene
from reluflow.theory.comparison import Comparison, Level, Values, at_least, none_of, require
from reluflow.theory.elsewhere import left_out
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.measures import AtLeast, AtMost, Constants
from reluflow.theory.theorem import Conclusion, Reference, Theorem

# Proposition 24 -------------------------------------------------------------------------------------------------------


def _cosines(evidence: Evidence) -> FloatArray:
    """<x_i, u_1>/|x_i|: u_1 = (1/(n eta_1)) sum <x_i, u_1> x_i, so positive coefficients put it inside."""
    here = evidence.recorded(Scene)
    return np.asarray(here.X @ here.spectrum[1][:, 0] / np.linalg.norm(here.X, axis=1))


def _first_coordinate(evidence: Evidence) -> float:
    """nu_1*."""
    return float(evidence.recorded(Scene).nu[0])


PROP_24 = Theorem(
    "chistikov2023:prop24",
    Reference("chistikov2023", "Prop. 24"),
    r"The first eigenvector $u_1$ of $H$ lies inside the cone of the samples, so $\nu_1^* > 1/\sqrt{2}$.",
    hypotheses=DATA_AND_START,
    conclusions=(
        Conclusion(
            "cone",
            "$u_1$ is a combination of the samples with positive coefficients",
            AtLeast(_cosines, 0.0, words="the least coefficient comes from a cosine {measured:.4g}"),
        ),
        Conclusion("coordinate", r"$\nu_1^* > 1/\sqrt{2}$", AtLeast(_first_coordinate, float(np.sqrt(0.5)))),
    ),
    record=scene,
    setting=SETTING,
    example=EXAMPLE,
)

# Lemma 28 -------------------------------------------------------------------------------------------------------------

EXACTLY = 1e-9  # relative; seen: 1e-15
UNKNOWN_RTOL = 1e-10  # of a stored run, which does not say what it was computed to


def second_phase_plan(evidence: Evidence) -> FlowPlan:
    """From T_1 to near the teacher."""
    return FlowPlan(times=second_phase_times(evidence))


def predicted_path(evidence: Evidence) -> Constants:
    """T_2 and when the coordinates of the bundle pass those of the teacher, as lambda -> 0."""
    path = path_of(evidence)
    return {"T_2": escape_time(scene(evidence), path), "handovers_after_T_2": list(path.handovers)}


def _power(evidence: Evidence, *, factor: float, share: float) -> float:
    """factor lambda^(share eps), 0 where it underflows."""
    return factor * float(np.exp(share * evidence.parameter("epsilon") * scene(evidence).log_scale))


def _spreads(evidence: Evidence) -> Values:
    """1 - cos of two neurons of J_+ from T_1 on, from the distance of the unit vectors."""
    here = scene(evidence)
    if len(here.positive) < 2:
        return
    start = here.phase_time(evidence.parameter("epsilon"))
    for snapshot in require([s for s in evidence.run.snapshots if s.time >= start], "no snapshot from $T_1$ on"):
        w = snapshot.network.w[here.positive]
        unit = w / np.linalg.norm(w, axis=1)[:, None]
        yield 0.5 * np.max(np.sum((unit[:, None] - unit[None]) ** 2, axis=2))


def _accuracy(evidence: Evidence) -> float:
    """How exactly V is known, relative to the teacher: a hundred times the tolerance of the run."""
    return 100.0 * (evidence.rtol or UNKNOWN_RTOL)


def _best_slack(b: Bundle, least_cosine: float, accuracy: float) -> float:
    """The slack in S; where it is negative, the largest of a V that the run cannot tell from this one.

    Near the teacher the upper constraint of S is steep: (1 - r)^(1/2) moves by 1e-5 where r moves by 1e-10.
    """
    slack = b.slack(least_cosine)
    if slack >= 0.0 or b.log_factor < -600.0:
        return slack
    size, axes = accuracy * b.length, b.here.spectrum[1].T
    moves = (sign * size * axis for axis in axes for sign in (-1.0, 1.0))
    return max(slack, *(replace(b, log_factor=0.0, v=b.V + move).slack(least_cosine) for move in moves))


def _inside(evidence: Evidence) -> Comparison:
    least_cosine, accuracy = _power(evidence, factor=1.0, share=1.0 / 3.0), _accuracy(evidence)
    least, at = min((_best_slack(b, least_cosine, accuracy), b.time) for b in bundles(evidence))
    return at_least(least, 0.0, detail=f"least slack {least:.4g} at $t$ = {at:.6g}, {len(bundles(evidence))} times")


def _parts(evidence: Evidence) -> list[int]:
    """The part of S at every time; a coordinate that has passed the teacher's is behind it only beyond the accuracy."""
    parts, passed, accuracy = [], np.zeros(len(scene(evidence).eta), dtype=bool), _accuracy(evidence)
    for b in bundles(evidence):
        passed = (b.ratios > 1.0) | (passed & (b.ratios > 1.0 - accuracy))
        parts.append(int(np.argmin(passed)) + 1 if not np.all(passed) else len(passed) + 1)
    return parts


def _in_order(evidence: Evidence) -> Comparison:
    """It starts in S_1 and never goes back; a part that is not seen was left between two recorded times."""
    parts = _parts(evidence)
    wrong = int(parts[0] != 1) + sum(after < before for before, after in pairwise(parts))
    return none_of(wrong, total=len(parts), detail=f"$S_{parts[0]}$ to $S_{parts[-1]}$, {wrong} steps back")


def _linear_gaps(evidence: Evidence) -> Values:
    """|h(x_i) - <V, x_i>|, relative to |V|, where V is in the range of doubles."""
    here, by_time = scene(evidence), {b.time: b for b in bundles(evidence)}
    for snapshot in evidence.run.snapshots:
        bundle = by_time.get(snapshot.time)
        if bundle is not None and bundle.log_factor >= -600.0:
            yield np.abs(snapshot.outputs - here.X @ bundle.V) / bundle.length


def _pull_gaps(evidence: Evidence) -> Values:
    """|g_j - g|/|g| of J_+, g_j from the samples inside the neuron and the recorded outputs, g = H (v* - V).

    Both are small differences near the teacher, so |g| counts as at least 1e-4 |gamma|.
    """
    here, by_time = scene(evidence), {b.time: b for b in bundles(evidence)}
    for snapshot in evidence.run.snapshots:
        bundle = by_time.get(snapshot.time)
        if bundle is not None:
            gap = np.linalg.norm(pulls(evidence, snapshot)[here.positive] - bundle.g, axis=1)
            yield gap / max(float(np.linalg.norm(bundle.g)), 1e-4 * here.speed)


def _kinks(evidence: Evidence) -> Comparison:
    """Meetings of a neuron of J_+ with a sample after T_1, at which dV/dt would jump."""
    here, events = scene(evidence), evidence.run.events
    late = events.times > here.phase_time(evidence.parameter("epsilon"))
    wrong = int(np.sum(late & np.isin(events.neurons, here.positive)))
    return none_of(wrong, total=len(bundles(evidence)), detail=f"{wrong} meetings of $J_+$ and a sample after $T_1$")


def _velocity_gaps(evidence: Evidence) -> Values:
    """|dV/dt - f|/|f|."""
    for b in bundles(evidence):
        yield np.linalg.norm(b.per_length - b.flow_per_length) / np.linalg.norm(b.flow_per_length)


def _rate(b: Bundle) -> float:
    """d|V|^2/dt divided by |V|^2 |g|."""
    return float(2.0 * b.unit @ b.per_length / np.linalg.norm(b.g))


def _rates(evidence: Evidence) -> Values:
    return [_rate(b) for b in bundles(evidence)]


def _rates_in_first_part(evidence: Evidence) -> Values:
    return [_rate(b) for b in bundles(evidence) if b.part == 1]


def _least_rate_in_first_part(evidence: Evidence) -> float:
    here = scene(evidence)
    return float((here.eta[-1] * here.nu[-1] / here.speed) ** 2)


def _closing_rates(evidence: Evidence) -> Values:
    """-d|v* - V|^2/dt over |V| |v* - V|^2."""
    for b in bundles(evidence):
        gap = scene(evidence).teacher - b.V
        yield 2.0 * gap @ b.per_length / (gap @ gap)


def _largest_closing_rate(evidence: Evidence) -> float:
    return 5.0 * float(scene(evidence).eta[0])


LEMMA_28 = Theorem(
    "chistikov2023:lemma28",
    Reference("chistikov2023", "Lemma 28"),
    r"From $T_1$ on the neurons of $J_+$ stay together, the network is the one vector $V$ on the samples, $V$ "
    r"stays in $S$ and visits $S_1, \dots, S_d$ in this order, moving like a perfectly aligned bundle, "
    r"differentiably, its norm growing.",
    hypotheses=RUNS,
    conclusions=(
        Conclusion(
            "together",
            r"(i) $1 - \cos(w_j, w_{j'}) < 4 \lambda^\varepsilon$ on $J_+$",
            AtMost(
                _spreads,
                partial(_power, factor=4.0, share=1.0),
                allowance=ROUNDING**2,
                words=rf"largest $1 - \cos$ is {{measured:.2g}}, bound {{bound:.2g}}, rounding {ROUNDING**2:g}",
                empty="$J_+$ holds one neuron",
            ),
        ),
        Conclusion("in-S", "(ii) $V$ is in $S$", _inside),
        Conclusion("order", "(ii) the parts of $S$ are visited in their order", _in_order, Level.EXACT),
        Conclusion(
            "linear",
            r"(iii) $h(x_i) = \langle V, x_i\rangle$",
            AtMost(_linear_gaps, EXACTLY, words="largest difference {measured:.2g} relative to $|V|$"),
            Level.EXACT,
        ),
        Conclusion(
            "same-pull",
            "(iv) $g_j = g$ on $J_+$",
            AtMost(_pull_gaps, EXACTLY, words="largest difference {measured:.2g} relative to $|g|$"),
            Level.EXACT,
        ),
        Conclusion("smooth", "(v) $V$ is differentiable", _kinks, Level.EXACT),
        Conclusion(
            "velocity",
            r"(vi) $|dV/dt - f| \le 3 \lambda^{\varepsilon/2} |f|$",
            AtMost(
                _velocity_gaps,
                partial(_power, factor=3.0, share=0.5),
                allowance=EXACTLY,
                words="relative difference {measured:.2g}",
            ),
        ),
        Conclusion(
            "grows-in-S1",
            r"(vii) $d|V|^2/dt \ge (\eta_d \nu_d^*/|\gamma|)^2 |V|^2 |g|$ in $S_1$",
            AtLeast(_rates_in_first_part, _least_rate_in_first_part, without="no snapshot in $S_1$"),
        ),
        Conclusion(
            "grows",
            r"(viii) $d|V|^2/dt \ge 3 \lambda^{\varepsilon/3} |V|^2 |g|$",
            AtLeast(_rates, partial(_power, factor=3.0, share=1.0 / 3.0)),
        ),
        Conclusion(
            "not-too-fast",
            r"(ix) $d|v^* - V|^2/dt \ge -5 \eta_1 |V| |v^* - V|^2$",
            AtMost(_closing_rates, _largest_closing_rate),
        ),
    ),
    constants=constants,
    predictions=predicted_path,
    parameters=(EPSILON,),
    plan=second_phase_plan,
    log_scale=own_scale,
    setting=SETTING,
    example=EXAMPLE,
    erratum="E4, E5, E10, E11: slips in the proofs of Props. 26, 27 and of this lemma; the statement stands.",
    departs="Velocities are evaluated from the neurons, not differenced. The run goes to $|v^* - V| = 10^{-6}$; "
    "bounds below rounding are met to rounding.",
)
CLAIM_29 = left_out("chistikov2023:claim29", "Claims 29, 30", "steps of the proof of Lemma 28")
