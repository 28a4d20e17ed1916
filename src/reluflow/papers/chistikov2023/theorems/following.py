"""Neurons follow their yardsticks (Lemmas 3 and 21) and point along gamma at T_1 (Lemmas 5 and 23) [chistikov2023]."""

from __future__ import annotations

import numpy as np

from reluflow.dynamics.trajectory import Snapshot
from reluflow.papers.chistikov2023.paper import EXAMPLE, SETTING
from reluflow.papers.chistikov2023.theorems.hypotheses import EPSILON, RUNS, constants, own_scale
from reluflow.papers.chistikov2023.theorems.phase_one import (
    ROUNDING,
    first_phase_times,
    is_shown,
    log_norms,
    log_outputs,
    until_end,
)
from reluflow.papers.chistikov2023.theorems.scene import scene
from reluflow.theory.comparison import Comparison, Level, Source, Values, fitted_slope, none_of, require, worst_compared
from reluflow.theory.elsewhere import part
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.measures import AtLeast
from reluflow.theory.theorem import Conclusion, Reference, Theorem


def below_power(
    evidence: Evidence, found: float | Values, exponent: float, what: str, *, allowance: float, rounding: str
) -> Comparison:
    """The largest of some values against lambda^exponent, which may be far below doubles, allowing for rounding."""
    log_bound = exponent * scene(evidence).log_scale
    words = f"{what} {{measured:.2g}}, bound exp({log_bound:.4g}), rounding {rounding}"
    bound = float(np.exp(log_bound))
    return worst_compared(
        found, "at_most", bound, allowance=allowance, words=words, empty="no recorded time up to $T_1$"
    )


# Lemma 3 --------------------------------------------------------------------------------------------------------------

TIMES = 1e-8  # crossing times of the flow against closed forms, relative; seen: 1e-12
DECADES = (3.5, 4.0, 4.5)  # scales 10^-x for the crossing times: above rounding, below the next order


def _lemma_3_plan(evidence: Evidence) -> FlowPlan:
    here = scene(evidence).log_scale
    return FlowPlan(times=first_phase_times(evidence), other_scales=tuple(-np.log(10.0) * x - here for x in DECADES))


def _difference_exponent(evidence: Evidence) -> float:
    return 1.0 - 2.0 * evidence.parameter("epsilon")


def met(evidence: Evidence) -> dict[int, tuple[list[int], list[float]]]:
    """Samples and times of every neuron of J_+ and J_- in the run."""
    events = evidence.run.events
    return {
        j: (events.samples[events.neurons == j].tolist(), events.times[events.neurons == j].tolist())
        for j in scene(evidence).yardsticks
    }


def _order(evidence: Evidence) -> Comparison:
    paths, found = scene(evidence).yardsticks, met(evidence)
    wrong = sum(found[j][0] != path.samples.tolist() for j, path in paths.items())
    total = sum(len(path.samples) for path in paths.values())
    words = f"{wrong} of {len(paths)} neurons meet other samples or in another order; {total} met"
    return none_of(wrong, total=total, detail=words)


def _force_slacks(evidence: Evidence) -> Values:
    """(2 - eps) ln lambda - ln |gamma_I - g_j| over the times of stages, in units of ln(1/lambda)."""
    here, epsilon = scene(evidence), evidence.parameter("epsilon")
    for snapshot in until_end(evidence):
        log_factor, outputs = log_outputs(snapshot, here)
        for path in here.yardsticks.values():
            stage = path.stage_at(snapshot.time)
            if stage == len(path.samples):
                continue  # the lemma speaks of the stages up to the last crossing
            size = float(np.linalg.norm((path.inside[stage] * outputs) @ here.X / len(here.y)))
            if size > 0.0:
                yield ((2.0 - epsilon) * here.log_scale - (log_factor + np.log(size))) / -here.log_scale


def _distances(evidence: Evidence) -> Values:
    """Distances of the unit vectors of neuron and yardstick on [0, T_1]."""
    for snapshot in until_end(evidence):
        shown = is_shown(snapshot.network)
        for j, path in scene(evidence).yardsticks.items():
            if shown[j]:
                unit = snapshot.network.w[j] / np.linalg.norm(snapshot.network.w[j])
                yield np.linalg.norm(unit - path.direction_at(snapshot.time))


def _follows(evidence: Evidence) -> Comparison:
    found, exponent = _distances(evidence), _difference_exponent(evidence)
    return below_power(evidence, found, exponent, "largest distance", allowance=ROUNDING, rounding=f"{ROUNDING:g}")


def latest_difference(evidence: Evidence) -> float | None:
    """Largest |t - tau| over all crossings; None where the samples met are not those of the yardsticks."""
    differences = [0.0]
    found = met(evidence)
    for j, path in scene(evidence).yardsticks.items():
        if found[j][0] != path.samples.tolist():
            return None
        differences += [abs(t - tau) for t, tau in zip(found[j][1], path.times[1:], strict=True)]
    return max(differences)


def _times(evidence: Evidence) -> Comparison:
    largest = require(latest_difference(evidence), "the run does not meet the samples of the yardsticks")
    exponent, allowance = _difference_exponent(evidence), TIMES * scene(evidence).alignment_time
    words, rounding = r"largest $|t - \tau|$ is", f"{TIMES:g} relative"
    return below_power(evidence, largest, exponent, words, allowance=allowance, rounding=rounding)


def _order_of_times(evidence: Evidence) -> Values:
    """Slope of ln max |t - tau| in ln lambda over the scales."""
    require(len(evidence.other_scales) >= 2, "no runs at other scales")
    without = "at some scale the samples are not met as the yardsticks do"
    gaps = [require(latest_difference(e), without) for e in evidence.other_scales]
    return [fitted_slope([scene(e).log_scale for e in evidence.other_scales], np.log(gaps))] if min(gaps) > 0.0 else []


LEMMA_3 = Theorem(
    "chistikov2023:lemma3",
    Reference("chistikov2023", "Lemma 3, Lemma 21"),
    r"Until $T_1$ every neuron of $J_+$ and $J_-$ meets the samples of its yardstick in order, at times that "
    r"differ by at most $\lambda^{1 - 2 \varepsilon}$, under forces and in directions that differ by as little.",
    hypotheses=RUNS,
    conclusions=(
        Conclusion("order", "(i), (ii) the samples met are those of the yardstick", _order, Level.EXACT),
        Conclusion(
            "force",
            r"(iii) $|\gamma_I - g_j| \le \lambda^{2 - \varepsilon}$",
            AtLeast(
                _force_slacks,
                0.0,
                words=r"$|\gamma_I - g|$ is below $\lambda^{{2 - \varepsilon}}$ by $\lambda$ to the power "
                r"{measured:.4g}",
                empty="no neuron meets a sample",
            ),
        ),
        Conclusion("direction", r"(iv) $|\alpha/|\alpha| - w/|w||$ is at most $\lambda^{1 - 2 \varepsilon}$", _follows),
        Conclusion("times", r"(v) $|\tau - t| \le \lambda^{1 - 2 \varepsilon}$", _times),
        Conclusion(
            "times-order",
            r"(v) $|\tau - t|$ is of order $1 - 2 \varepsilon$ or more",
            AtLeast(
                _order_of_times,
                _difference_exponent,
                words=r"$|t - \tau|$ falls like $\lambda$ to the power {measured:.4g}",
                empty="no neuron meets a sample",
            ),
            Level.SCALING,
            Source.RELUFLOW,
        ),
    ),
    constants=constants,
    parameters=(EPSILON,),
    plan=_lemma_3_plan,
    log_scale=own_scale,
    setting=SETTING,
    example=EXAMPLE,
    departs="(iv) and (v) are bounds far below rounding at the theorem's scale: there they are met to rounding, and "
    "the order of (v) is fitted over larger scales.",
)
LEMMA_21 = part("chistikov2023:lemma21", "Lemma 21", LEMMA_3, "the long form of Lemma 3")

# Lemma 5 --------------------------------------------------------------------------------------------------------------


def _lemma_5_plan(evidence: Evidence) -> FlowPlan:
    """The scales start where T_0 = T_1/3, so that all are aligned at T_1, and stay above rounding."""
    here, epsilon = scene(evidence), evidence.parameter("epsilon")
    largest = -3.0 * here.alignment_time * here.speed / epsilon
    ladder = [largest - 3.0 * k - here.log_scale for k in range(3)]
    return FlowPlan(times=first_phase_times(evidence), other_scales=tuple(ladder))


def _all_inside(evidence: Evidence) -> Comparison:
    """Pairs of a neuron of J_+ and a sample that is not inside from T_0 to T_1."""
    here = scene(evidence)
    states = [s for s in until_end(evidence) if s.time >= here.alignment_time]
    require(states, "no snapshot between $T_0$ and $T_1$")
    outside = sum(int(np.sum(here.X @ s.network.w[here.positive].T <= 0.0)) for s in states)
    return none_of(outside, total=len(states) * len(here.positive) * len(here.y))


def _at_end(evidence: Evidence) -> Snapshot | None:
    end = scene(evidence).phase_time(evidence.parameter("epsilon"))
    return next((s for s in evidence.run.snapshots if s.time == end), None)


def misalignment(evidence: Evidence) -> float | None:
    """Largest 1 - cos(w_j, gamma) of J_+ at T_1, from the distance of the unit vectors."""
    here, end = scene(evidence), _at_end(evidence)
    if end is None or not len(here.positive):
        return None
    unit = end.network.w[here.positive]
    unit = unit / np.linalg.norm(unit, axis=1)[:, None]
    return float(0.5 * np.max(np.sum((unit - here.gamma / here.speed) ** 2, axis=1)))


def _alignment_exponent(evidence: Evidence) -> float:
    return evidence.parameter("epsilon")


def _aligned(evidence: Evidence) -> Comparison:
    largest, allowance = require(misalignment(evidence), "no snapshot at $T_1$"), ROUNDING**2
    exponent = _alignment_exponent(evidence)
    return below_power(
        evidence, largest, exponent, r"largest $1 - \cos$ is", allowance=allowance, rounding=f"{allowance:g}"
    )


def _order_of_alignment(evidence: Evidence) -> float:
    """Slope of ln(1 - cos) in ln lambda over the scales."""
    pairs = [(scene(e).log_scale, misalignment(e)) for e in evidence.other_scales]
    found = [(log_scale, value) for log_scale, value in pairs if value is not None and value > 0.0]
    require(len(found) >= 2, "two scales with a snapshot at $T_1$")
    return fitted_slope([log_scale for log_scale, _ in found], np.log([value for _, value in found]))


def _norm(evidence: Evidence) -> Comparison:
    """|ln |alpha_j| - ln |w_j/lambda|| of J_+ at T_1."""
    here, end = scene(evidence), require(_at_end(evidence), "no snapshot at $T_1$")
    logs = log_norms(end.network) - here.log_scale
    gaps = [abs(here.yardsticks[int(j)].log_norm_at(end.time) - float(logs[j])) for j in here.positive]
    exponent, allowance = 1.0 - 3.0 * evidence.parameter("epsilon"), 1e-9 + 1e-13 * abs(here.log_scale)
    return below_power(evidence, gaps, exponent, "largest difference", allowance=allowance, rounding=f"{allowance:.2g}")


LEMMA_5 = Theorem(
    "chistikov2023:lemma5",
    Reference("chistikov2023", "Lemma 5, Lemma 23"),
    r"From the last crossing to $T_1$ every neuron of $J_+$ has all samples inside; at $T_1$ it points along "
    r"$\gamma$ up to $1 - \cos \le \lambda^\varepsilon$, and its norm is that of its yardstick.",
    hypotheses=RUNS,
    conclusions=(
        Conclusion("inside", "all samples are inside from $T_0$ to $T_1$", _all_inside, Level.EXACT),
        Conclusion("aligned", r"(iii) $\cos(w_j, \gamma) \ge 1 - \lambda^\varepsilon$ at $T_1$", _aligned),
        Conclusion(
            "aligned-order",
            r"(iii) $1 - \cos$ is of order $\varepsilon$ or more",
            AtLeast(
                _order_of_alignment,
                _alignment_exponent,
                words=r"$1 - \cos$ falls like $\lambda$ to the power {measured:.4g}",
            ),
            Level.SCALING,
            Source.RELUFLOW,
        ),
        Conclusion(
            "norm", r"(iv) $|\ln|\alpha_j| - \ln|w_j/\lambda|| \le \lambda^{1 - 3 \varepsilon}$ at $T_1$", _norm
        ),
    ),
    constants=constants,
    parameters=(EPSILON,),
    plan=_lemma_5_plan,
    log_scale=own_scale,
    setting=SETTING,
    example=EXAMPLE,
    departs="(iii) and (iv) are below rounding at the theorem's scale: there they are met to rounding, and the order "
    "of (iii) is fitted at larger scales.",
)
PROP_22 = part("chistikov2023:prop22", "Prop. 22", LEMMA_5, "the last stage of a positive yardstick")
LEMMA_23 = part("chistikov2023:lemma23", "Lemma 23", LEMMA_5, "the long form of Lemma 5; its (i) is left out")
