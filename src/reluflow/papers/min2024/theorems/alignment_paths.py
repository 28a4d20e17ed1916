"""How fast neurons align: the speed at a boundary, dwell times, paths of patterns, and (30) [min2024]."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.geometry.alignment import Alignment, align
from reluflow.papers.min2024.data import two_points
from reluflow.papers.min2024.paper import EXAMPLE, SETTING
from reluflow.papers.min2024.theorems.alignment_scale import unit_rate
from reluflow.papers.min2024.theorems.constants import (
    Path,
    alignment_constants,
    data_constants,
    log_bound,
    longest_path_by_search,
    path_length,
    proof_constants,
    travelled,
)
from reluflow.papers.min2024.theorems.landmarks import alignment_plan, crossing_plan
from reluflow.papers.min2024.theorems.moving_neurons import DEAD, OUTSIDE, cones_of, moments_until
from reluflow.papers.min2024.theorems.pattern_history import Stay, alignment_time, pattern_history
from reluflow.papers.min2024.theorems.shared_hypotheses import REGIME
from reluflow.theory.comparison import (
    Comparison,
    Level,
    Source,
    Values,
    at_most,
    fitted_slope,
    missing,
    none_of,
    nothing,
    require,
    worst_compared,
)
from reluflow.theory.evidence import Evidence
from reluflow.theory.measures import AtLeast, AtMost, ScaledDownTo
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem

ANGLES = (0.1, 0.03, 0.01, 0.003, 0.001)  # of the two samples of App. A.2; mu = sin t
AT_BOUNDARY = 1e-7  # cosine within which a snapshot at a predicted crossing stands on the hyperplane


# At a boundary --------------------------------------------------------------------------------------------------------


def _boundary_speed(evidence: Evidence) -> Comparison:
    """s_j d/dt <u_j, y_i x_i/|x_i|> at <w_j, x_i> = 0, for neurons active on some other sample."""
    data, speeds = data_constants(evidence), []
    for moment in moments_until(evidence, proof_constants(evidence).horizon):
        on = np.abs(moment.cosines) < AT_BOUNDARY
        elsewhere = np.any(moment.cosines > AT_BOUNDARY, axis=1)
        for j, i in np.argwhere(on & elsewhere[:, None]):
            pull = (np.where(moment.cosines[j] > AT_BOUNDARY, 1.0, 0.0) * moment.forces) @ data.X
            across = pull - (pull @ moment.directions[j]) * moment.directions[j]
            speeds.append(float(moment.ratios[j] * (across @ data.unit_signed[i])))
    require(speeds or not pattern_history(evidence).flips, "no snapshot holds a living neuron on a hyperplane")
    bound = data.mu**1.5 * data.smallest_norm / 2.0
    words = "slowest of {count} crossings {measured:.6g}, at least {bound:.6g}"
    return worst_compared(speeds, "at_least", bound, words=words, empty="no neuron met a hyperplane")


BOUNDARY_SPEED = Theorem(
    "min2024:boundary-speed",
    Reference("min2024", "App. C.2, Eqs. (7), (8)"),
    r"At $\langle w_j, x_i\rangle = 0$ a neuron that is alive has "
    r"$s_j d/dt \langle w_j/|w_j|, y_i x_i/|x_i|\rangle \ge \mu^{3/2} X_{\min}/2$.",
    hypotheses=REGIME,
    conclusions=(Conclusion("speed", "slowest crossing on $[0, T]$", _boundary_speed),),
    constants=alignment_constants,
    plan=crossing_plan,
    log_scale=ScaledDownTo(log_bound),
    setting=SETTING,
    example=EXAMPLE,
)


# Dwell times ----------------------------------------------------------------------------------------------------------


def _wandering(evidence: Evidence) -> list[tuple[Stay, int, int]]:
    """The stays outside the traps of their neuron that ended in [0, T], each with its cone and its neuron's sign."""
    y, signs, horizon = evidence.dataset.y, np.sign(evidence.network.a), proof_constants(evidence).horizon
    found = []
    for stay in pattern_history(evidence).stays:
        cone, sign = int(cones_of(stay.active[None, :], y)[0]), int(signs[stay.neuron])
        if cone not in (DEAD, sign) and stay.start < horizon:
            found.append((stay, cone, sign))
    return found


def _dwell(evidence: Evidence) -> Comparison:
    """Length of every stay outside the traps over 4/(kappa sqrt(mu) X_min n_a)."""
    horizon, rate = proof_constants(evidence).horizon, unit_rate(evidence)
    ratios = [(min(s.end, horizon) - s.start) * rate * s.num_active / 4.0 for s, _, _ in _wandering(evidence)]
    worst = max(ratios, default=0.0)
    return at_most(worst, 1.0, detail=f"longest of {len(ratios)} stays is {worst:.6g} of its bound")


def _seen(evidence: Evidence, ratios: list[FloatArray], where: str, chosen: Callable[[int, int], bool]) -> Comparison:
    """Speeds over their bounds, at least 1; where no snapshot shows any, not enough evidence or nothing to show."""
    if ratios:
        return worst_compared(
            ratios, "at_least", 1.0, words="smallest speed over its bound is {measured:.6g} in {count} cases"
        )
    missed = sum(chosen(cone, sign) for _, cone, sign in _wandering(evidence))
    if missed:
        return missing(f"a snapshot during one of {missed} stays {where}")
    return nothing(f"no neuron was ever {where}")


def _turning_towards(evidence: Evidence) -> Comparison:
    """(a) outside S_+, S_-, S_dead: s d/dt cos(w_j, x_a) >= xi sqrt(mu) n_a X_min/2; ratio of the two sides."""
    data, xi, ratios = data_constants(evidence), proof_constants(evidence).xi, []
    for moment in moments_until(evidence, proof_constants(evidence).horizon):
        chosen = moment.cones == OUTSIDE
        if np.any(chosen):
            sums = moment.active_sums[chosen]
            speeds = np.sum(moment.turning[chosen] * sums, axis=1) / np.linalg.norm(sums, axis=1)
            bounds = 0.5 * xi * math.sqrt(data.mu) * moment.active[chosen].sum(axis=1) * data.smallest_norm
            ratios.append(speeds * moment.signs[chosen] / bounds)
    return _seen(evidence, ratios, "outside all three cones", lambda cone, sign: cone == OUTSIDE)


def _turning_away(evidence: Evidence) -> Comparison:
    """(b) in the other sign's cone: d/dt cos(w_j, x_other) <= -zeta sqrt(mu) n_a X_min/2; ratio of the two sides."""
    data, constants, ratios = data_constants(evidence), proof_constants(evidence), []
    for moment in moments_until(evidence, constants.horizon):
        for sign in (1, -1):
            chosen = (moment.cones == -sign) & (moment.signs == sign)
            if np.any(chosen):
                other = data.total(-sign) / np.linalg.norm(data.total(-sign))
                bound = 0.5 * constants.zeta * math.sqrt(data.mu) * data.count(-sign) * data.smallest_norm
                ratios.append(-(moment.turning[chosen] @ other) / bound)
    return _seen(evidence, ratios, "in the cone of the other sign", lambda cone, sign: cone == -sign)


def _cap_not_entered(evidence: Evidence) -> Values:
    """cos(w_j, x_-) <= sqrt(1 - zeta) on [0, T] for positive neurons, mirrored for negative ones."""
    data = data_constants(evidence)
    for moment in moments_until(evidence, proof_constants(evidence).horizon):
        for other in data.classes:
            towards = data.total(other) / np.linalg.norm(data.total(other))
            yield moment.directions[moment.signs == -other] @ towards


def _edge_cosine(evidence: Evidence) -> float:
    return proof_constants(evidence).edge_cosine


DWELL_TIME = Theorem(
    "min2024:dwell-time",
    Reference("min2024", "App. C.2"),
    r"Outside its traps a neuron keeps a pattern for at most $4/(\kappa \sqrt{\mu} X_{\min} n_a)$.",
    hypotheses=REGIME,
    conclusions=(
        Conclusion("dwell", "longest stay over its bound is at most 1", _dwell),
        Conclusion("towards", r"outside all cones $\cos(w_j, x_a)$ moves fast enough", _turning_towards),
        Conclusion("away", "in the other sign's cone the neuron turns away from its aggregate", _turning_away),
        Conclusion(
            "cap",
            "no neuron enters the cap around the other class's aggregate",
            AtMost(
                _cap_not_entered,
                _edge_cosine,
                allowance=1e-12,
                words="largest cosine {measured:.9g}, at most {bound:.9g}",
            ),
        ),
    ),
    constants=alignment_constants,
    plan=alignment_plan,
    log_scale=ScaledDownTo(log_bound),
    setting=SETTING,
    example=EXAMPLE,
)


# Paths ----------------------------------------------------------------------------------------------------------------


def paths_of(evidence: Evidence) -> list[list[tuple[int, int]]]:
    """For every neuron the pairs (own active samples, other active samples) it goes through."""
    history, signs, y = pattern_history(evidence), np.sign(evidence.network.a), evidence.dataset.y
    found = []
    for j in range(evidence.network.num_neurons):
        own = y == signs[j]
        found.append([(int(np.sum(s.active & own)), int(np.sum(s.active & ~own))) for s in history.of(j)])
    return found


def _paths_are_valid(evidence: Evidence) -> Comparison:
    """Own samples are only gained, others only lost, and (0, 0) only ends a path (erratum E6)."""
    steps = [step for path in paths_of(evidence) for step in pairwise(path)]
    valid = sum(a != b and b[0] >= a[0] and b[1] <= a[1] and a != (0, 0) for a, b in steps)
    return none_of(len(steps) - valid, total=len(steps))


def _paths_end(evidence: Evidence) -> Comparison:
    data, signs = data_constants(evidence), np.sign(evidence.network.a)
    ends = [path[-1] for path in paths_of(evidence)]
    wrong = sum(1 for j, end in enumerate(ends) if end not in ((data.count(int(signs[j])), 0), (0, 0)))
    return none_of(wrong, total=len(ends))


def _travel_times(evidence: Evidence) -> Values:
    """Settling time of every neuron over the travel time of its own path; a neuron in its trap has neither."""
    rate, settled = unit_rate(evidence), pattern_history(evidence).settling_times()
    for path, time in zip(paths_of(evidence), settled, strict=True):
        travel = sum(4.0 / (rate * (own + other)) for own, other in path[:-1])
        yield float(time) / travel if travel > 0.0 else (0.0 if time == 0.0 else math.inf)


@dataclass(frozen=True)
class LongestPaths:
    """The longest valid paths by search, of a positive and of a negative neuron."""

    positive: Path
    negative: Path


def _longest_paths(evidence: Evidence) -> LongestPaths:
    plus, minus = data_constants(evidence).count(1), data_constants(evidence).count(-1)
    return LongestPaths(longest_path_by_search(plus, minus), longest_path_by_search(minus, plus))


def _maximal_path(evidence: Evidence) -> Values:
    """No path is longer than the maximal one: dynamic programming against the formula."""
    data, found = data_constants(evidence), evidence.recorded(LongestPaths)
    plus, minus = data.count(1), data.count(-1)
    lengths = travelled(found.positive), travelled(found.negative)
    return [lengths[0] - path_length(plus, minus), lengths[1] - path_length(minus, plus)]


PATHS = Theorem(
    "min2024:paths",
    Reference("min2024", "App. C.2, paths"),
    r"A neuron gains own samples and loses others until it is in its trap; no path takes longer than "
    r"$(4/(\kappa \sqrt{\mu} X_{\min})) (H_{\mathrm{other}} + 1/2 + H_{\mathrm{own} - 1})$.",
    hypotheses=REGIME,
    conclusions=(
        Conclusion("valid", "every step gains own or loses other samples", _paths_are_valid, Level.EXACT),
        Conclusion("end", "every path ends with all own samples alone, or dead", _paths_end, Level.EXACT),
        Conclusion(
            "travel",
            "no neuron needs longer than the travel time of its path",
            AtMost(_travel_times, 1.0, words="largest settling time over travel time is {measured:.6g}"),
        ),
        Conclusion(
            "maximal",
            "no valid path is longer than the maximal one",
            AtMost(
                _maximal_path,
                0.0,
                allowance=1e-12,
                words="the longest path by search exceeds the formula by {measured:.3g}",
            ),
            Level.EXACT,
        ),
    ),
    constants=alignment_constants,
    plan=alignment_plan,
    record=_longest_paths,
    log_scale=ScaledDownTo(log_bound),
    setting=SETTING,
    example=EXAMPLE,
    erratum="E6: condition 2 on paths is printed with both inequalities reversed.",
)


# Equation (30) --------------------------------------------------------------------------------------------------------


def _aligned_by(evidence: Evidence, time: float, name: str) -> Comparison:
    """tau_align is at most a time."""
    measured = alignment_time(evidence)
    words = f"every neuron is in its trap from {measured:.6g} on, {name} = {time:.6g}"
    return at_most(measured, time, detail=words)


def aligned_by_t_1(evidence: Evidence) -> Comparison:
    """tau_align is at most t_1 of (30)."""
    return _aligned_by(evidence, proof_constants(evidence).t_1, "t_1")


def aligned_by_t_1_sharp(evidence: Evidence) -> Comparison:
    """tau_align is at most the bound by separation of variables."""
    return _aligned_by(evidence, proof_constants(evidence).t_1_sharp, "t_1_sharp")


def _aligned_by_t_1_harmonic(evidence: Evidence) -> Comparison:
    return _aligned_by(evidence, proof_constants(evidence).t_1_harmonic, "t_1_harmonic")


@dataclass(frozen=True, eq=False)
class AlignmentsOfTwoSamples:
    """Neurons carried to their end at vanishing scale by two samples, for each of `ANGLES`."""

    ends: tuple[Alignment, ...]


def _aligned_by_two_points(evidence: Evidence) -> AlignmentsOfTwoSamples:
    """60 positive neurons spread over the circle, for each cosine sin t."""
    angles = np.linspace(0.0, 2.0 * np.pi, 60, endpoint=False) + 0.05
    w = np.column_stack([np.cos(angles), np.sin(angles)])
    return AlignmentsOfTwoSamples(tuple(align(two_points(t).X, [1.0, 1.0], w, np.ones(60)) for t in ANGLES))


def _order_in_mu(evidence: Evidence) -> float:
    """Exponent in mu of the exact alignment time, the last change of a pattern, where the cosine mu tends to 0."""
    last = [float(np.max(end.times)) for end in evidence.recorded(AlignmentsOfTwoSamples).ends]
    return fitted_slope(np.log(np.sin(ANGLES)), np.log(last))


def _num_samples(evidence: Evidence) -> int:
    return evidence.dataset.n


EQ_30 = Theorem(
    "min2024:eq30",
    Reference("min2024", "Eq. (30)"),
    r"Every neuron is in its trap by $t_1 = 16\,\log n/(\kappa \sqrt{\mu} X_{\min})$.",
    hypotheses=(
        *REGIME,
        Hypothesis(
            "two-samples",
            r"$n \ge 2$: for $n = 1$ the formula gives $t_1 = 0$ (erratum E7)",
            AtLeast(_num_samples, 2, words="$n$ = {number}"),
        ),
    ),
    conclusions=(
        Conclusion("aligned", r"$\tau_{\mathrm{align}}$ is at most $t_1$", aligned_by_t_1),
        Conclusion(
            "harmonic",
            r"$\tau_{\mathrm{align}}$ is at most the time of the maximal path, itself at most $t_1$",
            _aligned_by_t_1_harmonic,
        ),
        Conclusion(
            "order",
            r"the exact time for two samples grows at most like $\mu^{-1/2}$",
            AtLeast(
                _order_in_mu,
                -0.5,
                words=r"the alignment time scales like $\mu$ to the power {measured:.4g}, claimed $-1/2$",
            ),
            Level.SCALING,
        ),
    ),
    constants=alignment_constants,
    plan=alignment_plan,
    record=_aligned_by_two_points,
    log_scale=ScaledDownTo(log_bound),
    setting=SETTING,
    example=EXAMPLE,
    erratum=r"E3: $\kappa \le \mu^2$, so $t_1$ is of order $\mu^{-5/2}\,\log n$, not $\mu^{-1/2}\,\log n$; E7: "
    r"$n = 1$ is excluded.",
)


SHARP_ALIGNMENT = Theorem(
    "min2024:sharp-alignment",
    Reference("min2024", "App. C.2, by separation of variables"),
    r"Every neuron is in its trap by $4\,\operatorname{artanh}(\sqrt{1 - \kappa})/(\sqrt{\mu} X_{\min})$ times the "
    r"maximal path, which is of order $\log(1/\kappa)\,\log n/\sqrt{\mu}$, and never above the harmonic form.",
    hypotheses=REGIME,
    conclusions=(Conclusion("aligned", r"$\tau_{\mathrm{align}}$ is at most it", aligned_by_t_1_sharp),),
    constants=alignment_constants,
    plan=alignment_plan,
    log_scale=ScaledDownTo(log_bound),
    setting=SETTING,
    example=EXAMPLE,
    source=Source.RELUFLOW,
    departs=r"Not in the paper: its proof with $1 - \cos^2$ kept instead of bounded by $\kappa$.",
)
