"""The first phase, until T_1: norms grow on J_+, shrink on J_- (Lemma 19), J_- dies (Lemma 4) [chistikov2023]."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.dynamics.trajectory import Snapshot
from reluflow.network import Network
from reluflow.papers.chistikov2023.paper import EXAMPLE, SETTING
from reluflow.papers.chistikov2023.theorems.hypotheses import EPSILON, RUNS, constants, own_scale
from reluflow.papers.chistikov2023.theorems.scene import Scene, scene
from reluflow.theory.comparison import Comparison, Level, Values, at_least, require
from reluflow.theory.elsewhere import part
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.measures import AtMost
from reluflow.theory.theorem import Conclusion, Reference, Theorem

ROUNDING = 1e-8  # unit vectors and logarithms of norms of a run; bounds like 1e-400 are below what doubles can show
LIGHTEST = -650.0  # ln of the least record of a neuron beside its snapshot's scale that keeps all its digits


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


def until_end(evidence: Evidence) -> list[Snapshot]:
    """Snapshots of [0, T_1]."""
    end = scene(evidence).phase_time(evidence.parameter("epsilon"))
    return [s for s in evidence.run.snapshots if s.time <= end]


def log_outputs(snapshot: Snapshot, here: Scene) -> tuple[float, FloatArray]:
    """ln of a factor, and outputs h(x_i) divided by it: they are like lambda^2 and would underflow."""
    network = snapshot.network.replace(log_scale=0.0)
    return 2.0 * snapshot.network.log_scale, network.outputs(here.X)


# Lemma 19 -------------------------------------------------------------------------------------------------------------


def _log_slacks(evidence: Evidence) -> Iterator[float]:
    """Least ln(2 |z_j| lambda^(1 - eps t/T_1)) - ln |w_j| of all neurons, for each time of [0, T_1]."""
    here, epsilon = scene(evidence), evidence.parameter("epsilon")
    end, logs = here.phase_time(epsilon), np.log(2.0 * np.linalg.norm(here.z, axis=1))
    for snapshot in until_end(evidence):
        bound = logs + (1.0 - epsilon * snapshot.time / end) * here.log_scale
        yield float(np.min(bound - log_norms(snapshot.network)))


def _growth(evidence: Evidence) -> Comparison:
    slack = min(_log_slacks(evidence), default=np.inf)
    return at_least(slack, 0.0, detail=f"the nearest norm is a factor {np.exp(slack):.4g} below the bound")


def _moves_back(evidence: Evidence) -> Values:
    """Moves of ln |w_j| against s_j between two snapshots of [0, T_1], for J_+ and J_-."""
    here = scene(evidence)
    active = np.union1d(here.positive, here.negative)
    logs = [log_norms(s.network)[active] for s in until_end(evidence)]
    for before, after in pairwise(logs):
        shown = np.isfinite(after)
        yield -here.signs[active][shown] * (after[shown] - before[shown])


def _log_largest_outputs(evidence: Evidence) -> Values:
    """ln max |h(x_i)| at each time of [0, T_1]."""
    for snapshot in until_end(evidence):
        log_factor, outputs = log_outputs(snapshot, scene(evidence))
        size = float(np.max(np.abs(outputs)))
        yield log_factor + np.log(size) if size > 0.0 else -np.inf


def _log_output_bound(evidence: Evidence) -> float:
    """ln(4 m Delta^3 lambda^(2 - 2 eps))."""
    here, epsilon = scene(evidence), evidence.parameter("epsilon")
    count = max(float(np.sum(here.multiplicity)), 1.0)
    return float(np.log(4.0 * count * here.Delta**3)) + (2.0 - 2.0 * epsilon) * here.log_scale


LEMMA_19 = Theorem(
    "chistikov2023:lemma19",
    Reference("chistikov2023", "Lemma 19, Claim 20"),
    r"On $[0, T_1]$, $|w_j| < 2 |z_j| \lambda^{1 - \varepsilon t/T_1}$; norms grow on $J_+$ and shrink on $J_-$, "
    r"for the outputs stay below $4 m \Delta^3 \lambda^{2 - 2 \varepsilon}$.",
    hypotheses=RUNS,
    conclusions=(
        Conclusion("growth", r"$|w_j| < 2 |z_j| \lambda^{1 - \varepsilon t/T_1}$", _growth),
        Conclusion(
            "monotone",
            r"$s_j d|w_j|/dt \ge 0$",
            AtMost(
                _moves_back,
                0.0,
                allowance=ROUNDING,
                words=r"largest move of $\ln|w_j|$ against $s_j$ is {measured:.2g}",
                without="two snapshots of the first phase",
            ),
        ),
        Conclusion(
            "outputs",
            r"$|h(x_i)| < 4 m \Delta^3 \lambda^{2 - 2 \varepsilon}$",
            AtMost(
                _log_largest_outputs,
                _log_output_bound,
                words=r"$\ln\,\max|h|$ = {measured:.6g} against at most {bound:.6g}",
            ),
        ),
    ),
    constants=constants,
    parameters=(EPSILON,),
    plan=_plan,
    log_scale=own_scale,
    setting=SETTING,
    example=EXAMPLE,
)
CLAIM_20 = part("chistikov2023:claim20", "Claim 20", LEMMA_19, "outputs of the first phase")

# Lemma 4 --------------------------------------------------------------------------------------------------------------

DEAD_STAYS = 1e-12  # relative; seen: 2e-16


def _late(evidence: Evidence) -> list[Snapshot]:
    """Snapshots from T_0 on in whose records the neurons of J_- have not underflown."""
    here = scene(evidence)
    late = [s for s in evidence.run.snapshots if s.time >= here.alignment_time]
    return [s for s in late if np.all(log_norms(s.network)[here.negative] - s.network.log_scale > LIGHTEST)]


def _lengths_when_aligned(evidence: Evidence) -> FloatArray:
    """|w_j(T_0)|/(lambda |z_j|) of J_-."""
    here, late = scene(evidence), require(_late(evidence), "no snapshot from $T_0$ on")
    start = here.log_scale + np.log(np.linalg.norm(here.z[here.negative], axis=1))
    return np.asarray(np.exp(log_norms(late[0].network)[here.negative] - start))


def _moves_of_the_dead(evidence: Evidence) -> Values:
    """|w_j(t) - w_j(T_0)|/|w_j(T_0)| of J_- from T_0 on."""
    here, late = scene(evidence), _late(evidence)
    require(len(late) >= 2, "two snapshots from $T_0$ on")
    first = late[0].network
    for snapshot in late[1:]:
        w, start = snapshot.network.w[here.negative], first.w[here.negative]
        logs = snapshot.network.log_scale - first.log_scale + np.log(np.linalg.norm(w, axis=1))
        sizes = np.exp(logs - np.log(np.linalg.norm(start, axis=1)))  # of two records of different scales
        units = w / np.linalg.norm(w, axis=1)[:, None]
        yield np.linalg.norm(sizes[:, None] * units - start / np.linalg.norm(start, axis=1)[:, None], axis=1)


LEMMA_4 = Theorem(
    "chistikov2023:lemma4",
    Reference("chistikov2023", "Lemma 4"),
    "Every neuron of $J_-$ is at $T_0$ no longer than at the start, and does not move from then on.",
    hypotheses=RUNS,
    conclusions=(
        Conclusion(
            "shrunk",
            r"$|w_j(T_0)| \le \lambda|z_j|$",
            AtMost(
                _lengths_when_aligned,
                1.0,
                allowance=1e-10,
                words=r"largest $|w_j|/(\lambda|z_j|)$ is {measured:.6g}",
                empty="$J_-$ is empty",
            ),
        ),
        Conclusion(
            "constant",
            "$w_j$ is constant from $T_0$ on",
            AtMost(
                _moves_of_the_dead,
                DEAD_STAYS,
                words="they move by at most {measured:.2g}, relative",
                empty="$J_-$ is empty",
            ),
            Level.EXACT,
        ),
    ),
    constants=constants,
    parameters=(EPSILON,),
    plan=_plan,
    log_scale=own_scale,
    setting=SETTING,
    example=EXAMPLE,
    departs="Constancy is checked from $T_0$ on while the record of a dead neuron does not underflow beside the "
    "others.",
)
