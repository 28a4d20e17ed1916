"""The first phase: neurons follow their yardsticks until T_1 (Lemmas 3, 4, 5 with 19, 21, 23) [chistikov2023]."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.dynamics.trajectory import Snapshot
from reluflow.network import Network
from reluflow.theory.chistikov2023.scene import Scene, scene
from reluflow.theory.comparison import Comparison, at_least, at_most, fitted_slope, none_of, nothing, require
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import FlowPlan

TIMES = 1e-8  # crossing times of the flow against closed forms, relative; seen: 1e-12
ROUNDING = 1e-8  # unit vectors and logarithms of norms of a run; bounds like 1e-400 are below what doubles can show
DEAD_STAYS = 1e-12  # relative; seen: 2e-16
LIGHTEST = -650.0  # ln of the least record of a neuron beside its snapshot's scale that keeps all its digits
DECADES = (3.5, 4.0, 4.5)  # scales 10^-x of the sweeps of crossing times: above rounding, below the next order


def log_norms(network: Network) -> FloatArray:
    """ln |w_j|, the scale included; -inf where a dead neuron is so light beside the others that its record is 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(network.log_scale + np.log(np.linalg.norm(network.w, axis=1)))


def is_shown(network: Network) -> BoolArray:
    """Neurons whose record keeps its digits; a snapshot has one scale, beside which dead neurons may underflow."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.linalg.norm(network.w, axis=1)) > LIGHTEST)


def first_phase_times(evidence: Evidence) -> tuple[float, ...]:
    """0, the middle of every stage, T_0, and on to T_1 (or 2 T_0 where the scale is too large for that order)."""
    here = scene(evidence)
    middles = {
        float(0.5 * (p.times[k] + p.times[k + 1])) for p in here.yardsticks.values() for k in range(len(p.samples))
    }
    end, start = here.phase_time(evidence.parameter("epsilon")), here.alignment_time
    last = max(end, 2.0 * start)
    later = {start + share * (last - start) for share in (0.0, 0.25, 0.5, 0.75, 1.0)}
    soon = {1.5 * start, 2.0 * start}
    return tuple(sorted({0.0, *middles, *soon, *later, *({end} if end > 0.0 else set())}))


def _plan(evidence: Evidence) -> FlowPlan:
    return FlowPlan(times=first_phase_times(evidence))


def _until_end(evidence: Evidence) -> list[Snapshot]:
    """Snapshots of [0, T_1]."""
    end = scene(evidence).phase_time(evidence.parameter("epsilon"))
    return [s for s in evidence.run.snapshots if s.time <= end]


def _at_end(evidence: Evidence) -> Snapshot | None:
    end = scene(evidence).phase_time(evidence.parameter("epsilon"))
    return next((s for s in evidence.run.snapshots if s.time == end), None)


def met(evidence: Evidence) -> dict[int, tuple[list[int], list[float]]]:
    """Samples and times of every neuron of J_+ and J_- in the run."""
    events = evidence.run.events
    return {
        j: (events.samples[events.neurons == j].tolist(), events.times[events.neurons == j].tolist())
        for j in scene(evidence).yardsticks
    }


# Lemma 3 --------------------------------------------------------------------------------------------------------------


def _order(evidence: Evidence) -> Comparison:
    paths, found = scene(evidence).yardsticks, met(evidence)
    wrong = sum(found[j][0] != path.samples.tolist() for j, path in paths.items())
    total = sum(len(path.samples) for path in paths.values())
    return none_of(
        wrong,
        total=total,
        detail=f"{wrong} of {len(paths)} neurons meet other samples or in another order; {total} met",
    )


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
    largest, here = latest_difference(evidence), scene(evidence)
    largest = require(largest, "the run does not meet the samples of the yardsticks")
    log_bound = (1.0 - 2.0 * evidence.parameter("epsilon")) * here.log_scale
    words = f"largest |t - tau| is {largest:.2g}, bound exp({log_bound:.4g}), rounding {TIMES:g} relative"
    return at_most(largest, np.exp(log_bound), allowance=TIMES * here.alignment_time, detail=words)


def _times_order(evidence: Evidence) -> Comparison:
    """Slope of ln max |t - tau| in ln lambda over the sweep."""
    pairs = [(scene(e).log_scale, latest_difference(e)) for e in evidence.sweep]
    require(len(pairs) >= 2, "no sweep of scales")
    require(
        not any(gap is None for _, gap in pairs),
        "at some scale of the sweep the samples are not met as the yardsticks do",
    )
    gaps = [float(gap) for _, gap in pairs if gap is not None]
    if min(gaps) <= 0.0:
        return nothing("no neuron meets a sample")
    slope = fitted_slope([log_scale for log_scale, _ in pairs], np.log(gaps))
    return at_least(slope, 1.0 - 2.0 * evidence.parameter("epsilon"), detail=f"|t - tau| falls like lambda^{slope:.4g}")


def log_outputs(snapshot: Snapshot, here: Scene) -> tuple[float, FloatArray]:
    """ln of a factor, and outputs h(x_i) divided by it: they are like lambda^2 and would underflow."""
    network = snapshot.network.replace(log_scale=0.0)
    return 2.0 * snapshot.network.log_scale, network.outputs(here.X)


def _force(evidence: Evidence) -> Comparison:
    """Least (2 - eps) ln lambda - ln |gamma_I - g_j| over the times of stages, in units of ln(1/lambda)."""
    here, epsilon, slack = scene(evidence), evidence.parameter("epsilon"), np.inf
    for snapshot in _until_end(evidence):
        log_factor, outputs = log_outputs(snapshot, here)
        for path in here.yardsticks.values():
            stage = path.stage_at(snapshot.time)
            if stage == len(path.samples):
                continue  # the lemma speaks of the stages up to the last crossing
            size = float(np.linalg.norm((path.inside[stage] * outputs) @ here.X / len(here.y)))
            log_gap = log_factor + np.log(size) if size > 0.0 else -np.inf
            slack = min(slack, ((2.0 - epsilon) * here.log_scale - log_gap) / -here.log_scale)
    if not np.isfinite(slack):
        return nothing("no neuron meets a sample")
    return at_least(slack, 0.0, detail=f"|gamma_I - g| is below lambda^(2 - eps) by lambda^{slack:.4g}")


def _follows(evidence: Evidence) -> Comparison:
    """Largest distance of the unit vectors of neuron and yardstick on [0, T_1]."""
    here, worst = scene(evidence), -np.inf
    for snapshot in _until_end(evidence):
        shown = is_shown(snapshot.network)
        for j, path in here.yardsticks.items():
            if not shown[j]:
                continue
            unit = snapshot.network.w[j] / np.linalg.norm(snapshot.network.w[j])
            worst = max(worst, float(np.linalg.norm(unit - path.direction_at(snapshot.time))))
    log_bound = (1.0 - 2.0 * evidence.parameter("epsilon")) * here.log_scale
    words = f"largest distance {worst:.2g}, bound exp({log_bound:.4g}), rounding {ROUNDING:g}"
    return at_most(worst, np.exp(log_bound), allowance=ROUNDING, detail=words)


def _lemma_3_plan(evidence: Evidence) -> FlowPlan:
    here = scene(evidence).log_scale
    return FlowPlan(times=first_phase_times(evidence), sweep=tuple(-np.log(10.0) * x - here for x in DECADES))


# Lemma 19 -------------------------------------------------------------------------------------------------------------


def _growth(evidence: Evidence) -> Comparison:
    """Least ln(2 |z_j| lambda^(1 - eps t/T_1)) - ln |w_j| on [0, T_1], all neurons."""
    here, epsilon = scene(evidence), evidence.parameter("epsilon")
    end, slack = here.phase_time(epsilon), np.inf
    logs = np.log(2.0 * np.linalg.norm(here.z, axis=1))
    for snapshot in _until_end(evidence):
        bound = logs + (1.0 - epsilon * snapshot.time / end) * here.log_scale
        slack = min(slack, float(np.min(bound - log_norms(snapshot.network))))
    return at_least(slack, 0.0, detail=f"the nearest norm is a factor {np.exp(slack):.4g} below the bound")


def _monotone(evidence: Evidence) -> Comparison:
    """Largest move of ln |w_j| against s_j between two snapshots of [0, T_1], for J_+ and J_-."""
    here, worst = scene(evidence), -np.inf
    active = np.union1d(here.positive, here.negative)
    logs = [log_norms(s.network)[active] for s in _until_end(evidence)]
    for before, after in pairwise(logs):
        shown = np.isfinite(after)
        moves = -here.signs[active][shown] * (after[shown] - before[shown])
        worst = max(worst, float(np.max(moves, initial=-np.inf)))
    require(np.isfinite(worst), "two snapshots of the first phase")
    return at_most(worst, 0.0, allowance=ROUNDING, detail=f"largest move of ln|w_j| against s_j is {worst:.2g}")


def _outputs(evidence: Evidence) -> Comparison:
    """Least ln(4 m Delta^3 lambda^(2 - 2 eps)) - ln |h(x_i)| on [0, T_1], in units of ln(1/lambda)."""
    here, epsilon, largest = scene(evidence), evidence.parameter("epsilon"), -np.inf
    for snapshot in _until_end(evidence):
        log_factor, outputs = log_outputs(snapshot, here)
        size = float(np.max(np.abs(outputs)))
        largest = max(largest, log_factor + np.log(size) if size > 0.0 else -np.inf)
    count = max(float(np.sum(here.multiplicity)), 1.0)
    bound = float(np.log(4.0 * count * here.Delta**3)) + (2.0 - 2.0 * epsilon) * here.log_scale
    return at_most(largest, bound, detail=f"ln max|h| = {largest:.6g} against at most {bound:.6g}")


# Lemma 4 --------------------------------------------------------------------------------------------------------------


def _late(evidence: Evidence) -> list[Snapshot]:
    """Snapshots from T_0 on in whose records the neurons of J_- have not underflown."""
    here = scene(evidence)
    late = [s for s in evidence.run.snapshots if s.time >= here.alignment_time]
    return [s for s in late if np.all(log_norms(s.network)[here.negative] - s.network.log_scale > LIGHTEST)]


def _shrunk(evidence: Evidence) -> Comparison:
    here, late = scene(evidence), _late(evidence)
    require(late, "no snapshot from T_0 on")
    if not len(here.negative):
        return nothing("J- is empty")
    start = here.log_scale + np.log(np.linalg.norm(here.z[here.negative], axis=1))
    worst = float(np.max(log_norms(late[0].network)[here.negative] - start))
    return at_most(np.exp(worst), 1.0, allowance=1e-10, detail=f"largest |w_j|/(lambda |z_j|) is {np.exp(worst):.6g}")


def _constant(evidence: Evidence) -> Comparison:
    here, late = scene(evidence), _late(evidence)
    require(len(late) >= 2, "two snapshots from T_0 on")
    if not len(here.negative):
        return nothing("J- is empty")
    first, worst = late[0].network, 0.0
    for snapshot in late[1:]:
        factor = np.exp(snapshot.network.log_scale - first.log_scale)
        gap = np.linalg.norm(factor * snapshot.network.w - first.w, axis=1) / np.linalg.norm(first.w, axis=1)
        worst = max(worst, float(np.max(gap[here.negative])))
    return at_most(worst, DEAD_STAYS, detail=f"they move by at most {worst:.2g}, relative")


# Lemma 5 --------------------------------------------------------------------------------------------------------------


def _all_inside(evidence: Evidence) -> Comparison:
    """Pairs of a neuron of J_+ and a sample that is not inside from T_0 to T_1."""
    here = scene(evidence)
    states = [s for s in _until_end(evidence) if s.time >= here.alignment_time]
    require(states, "no snapshot between T_0 and T_1")
    outside = sum(int(np.sum(here.X @ s.network.w[here.positive].T <= 0.0)) for s in states)
    return none_of(outside, total=len(states) * len(here.positive) * len(here.y))


def misalignment(evidence: Evidence) -> float | None:
    """Largest 1 - cos(w_j, gamma) of J_+ at T_1, from the distance of the unit vectors."""
    here, end = scene(evidence), _at_end(evidence)
    if end is None or not len(here.positive):
        return None
    unit = end.network.w[here.positive]
    unit = unit / np.linalg.norm(unit, axis=1)[:, None]
    return float(0.5 * np.max(np.sum((unit - here.gamma / here.speed) ** 2, axis=1)))


def _aligned(evidence: Evidence) -> Comparison:
    largest = misalignment(evidence)
    largest = require(largest, "no snapshot at T_1")
    log_bound = evidence.parameter("epsilon") * scene(evidence).log_scale
    words = f"largest 1 - cos is {largest:.2g}, bound exp({log_bound:.4g}), rounding {ROUNDING**2:g}"
    return at_most(largest, np.exp(log_bound), allowance=ROUNDING**2, detail=words)


def _aligned_order(evidence: Evidence) -> Comparison:
    pairs = [(scene(e).log_scale, misalignment(e)) for e in evidence.sweep]
    found = [(log_scale, value) for log_scale, value in pairs if value is not None and value > 0.0]
    require(len(found) >= 2, "two scales of the sweep with a snapshot at T_1")
    slope = fitted_slope([log_scale for log_scale, _ in found], np.log([value for _, value in found]))
    return at_least(slope, evidence.parameter("epsilon"), detail=f"1 - cos falls like lambda^{slope:.4g}")


def _norm(evidence: Evidence) -> Comparison:
    """Largest |ln |alpha_j| - ln |w_j/lambda|| of J_+ at T_1."""
    here, end = scene(evidence), _at_end(evidence)
    end = require(end, "no snapshot at T_1")
    logs = log_norms(end.network) - here.log_scale
    worst = max(abs(here.yardsticks[int(j)].log_norm_at(end.time) - float(logs[j])) for j in here.positive)
    log_bound = (1.0 - 3.0 * evidence.parameter("epsilon")) * here.log_scale
    room = 1e-9 + 1e-13 * abs(here.log_scale)
    words = f"largest difference {worst:.2g}, bound exp({log_bound:.4g}), rounding {room:.2g}"
    return at_most(worst, np.exp(log_bound), allowance=room, detail=words)


def _lemma_5_plan(evidence: Evidence) -> FlowPlan:
    """The sweep starts where T_0 = T_1/3, so that all are aligned at T_1, and stays above rounding."""
    here, epsilon = scene(evidence), evidence.parameter("epsilon")
    largest = -3.0 * here.alignment_time * here.speed / epsilon
    ladder = [largest - 3.0 * k - here.log_scale for k in range(3)]
    return FlowPlan(times=first_phase_times(evidence), sweep=tuple(ladder))
