"""Phase II near a well-aligned network: Definition E.3, Theorem E.4, Lemmas E.5 and E.6 [lyu2021].

The well-aligned network is made of the draw: rows b_k (mu-bar, 1), the last neuron set to zero so that both the active
and the zero neurons of the statements occur. All quantities are in unit-ball units.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.dynamics.trajectory import Outcome
from reluflow.network import Network
from reluflow.theory.condition import Judgement, undecided
from reluflow.theory.evidence import Companion, Evidence, FlowPlan, kept
from reluflow.theory.lyu2021.symmetric_flow import SymmetricFlow, own_network, symmetric_flow, symmetric_hypotheses
from reluflow.theory.lyu2021.unit_ball import DRAW_SEED, LYU_SETTING, UnitBall, m_norm
from reluflow.theory.measurement import Level, Measurement, at_least, at_most, fitted_slope, missing, none_of
from reluflow.theory.stating import hypothesis, theorems_of
from reluflow.theory.theorem import Conclusion, Constants

OFFSETS = (3.0, 2.0, 1.0, 0.5, 0.0)  # lambda (t0 - t) at the recorded times
RADII = (3.0, 4.5, 6.0)  # lambda t0 - ln r of the runs, so that T2(r) + t >= 0 at every recorded time
KAPPA = 1.0  # power of the perturbation C r^(1 + kappa)
INTEGRATION = 1e-9  # relative; the runs have rtol 1e-10


def is_well_aligned(rows: FloatArray, X: FloatArray, y: FloatArray, leak: float, growth: float) -> bool:
    """Def. E.3: active neurons have |G(w/|w|)| = lambda, a = sgn(G) |w| and no <w, x_i> = 0; the others are zero.

    `growth` is lambda, the largest |G| on the sphere, G(w) = (1/2n) sum_i y_i phi(<w, x_i>).
    """
    w, a = rows[:, :-1], rows[:, -1]
    lengths = np.linalg.norm(w, axis=1)
    active = np.linalg.norm(rows, axis=1) > 0.0
    if not np.any(active) or np.any(lengths[active] == 0.0):
        return False
    unit = w[active] / lengths[active, None]
    products = unit @ X.T
    potential = np.maximum(products, leak * products) @ y / (2.0 * len(y))
    attains = np.abs(np.abs(potential) - growth) <= 1e-9 * growth
    balanced = np.abs(a[active] - np.sign(potential) * lengths[active]) <= 1e-9 * lengths[active]
    return bool(np.all(attains & balanced) and np.min(np.abs(products)) > 0.0)


def threshold_time(rows: FloatArray, ball: UnitBall, growth: float) -> float:
    """t0 = (1/2 lambda) ln(lambda Delta / (16 m |theta|_M^2)), Delta = min |<w_k, x_i>| / |theta|_M (Eq. (14))."""
    size = m_norm(rows)
    return float(np.log(growth * clearance(rows, ball) / (16.0 * len(rows) * size**2)) / (2.0 * growth))


def clearance(rows: FloatArray, ball: UnitBall) -> float:
    """Delta = min over active neurons and samples of |<w_k, x_i>| / |theta|_M, in (0, 1]."""
    active = rows[np.linalg.norm(rows, axis=1) > 0.0]
    return float(np.min(np.abs(active[:, :-1] @ ball.X.T)) / m_norm(rows))


@dataclass(frozen=True, eq=False)
class AlignedStart:
    """The well-aligned network of a draw, the perturbation of it, and the times of Theorem E.4."""

    flow: SymmetricFlow
    rows: FloatArray  # (m, d + 1), theta-hat
    perturbation: FloatArray  # (m, d + 1), M-norm 1
    threshold: float  # t0
    strength: float  # C of |theta_0 - r theta-hat|_M <= C r^(1 + kappa)

    @property
    def log_radii(self) -> tuple[float, ...]:
        """ln r of the runs, largest first."""
        return tuple(self.flow.growth * self.threshold - gap for gap in RADII)

    @property
    def times(self) -> tuple[float, ...]:
        """The t at which runs are compared, up to t0."""
        return tuple(self.threshold - offset / self.flow.growth for offset in OFFSETS)

    @classmethod
    def of(cls, evidence: Evidence) -> AlignedStart:
        flow = symmetric_flow(evidence)
        rows = flow.aligned.copy()
        if len(rows) > 1:
            rows[-1] = 0.0
        noise = np.random.default_rng(DRAW_SEED).standard_normal(rows.shape)
        threshold = threshold_time(rows, flow.ball, flow.growth)
        largest = np.exp(flow.growth * threshold - RADII[0])
        # the C for which the largest r is exactly r_max = (|theta|_M Delta / 8C)^(1/kappa)
        strength = m_norm(rows) * clearance(rows, flow.ball) / (8.0 * largest**KAPPA)
        return cls(flow, rows, noise / m_norm(noise), threshold, float(strength))


@kept
def aligned_start(evidence: Evidence) -> AlignedStart:
    """The well-aligned start of a draw, computed once."""
    return AlignedStart.of(evidence)


def _base_network(start: AlignedStart, log_r: float, leak: float) -> Network:
    """r theta-hat without its zero neurons, which never move (Lemma B.17)."""
    active = start.rows[np.linalg.norm(start.rows, axis=1) > 0.0]
    return own_network(start.flow, active, leak, log_scale=log_r)


def _near_network(start: AlignedStart, log_r: float, leak: float) -> Network:
    rows = start.rows + start.strength * np.exp(KAPPA * log_r) * start.perturbation
    return own_network(start.flow, rows, leak, log_scale=log_r)


def _plan(evidence: Evidence) -> FlowPlan:
    start = aligned_start(evidence)
    companions = []
    for k, log_r in enumerate(start.log_radii):
        times = tuple(max(start.flow.ball.own_time(start.flow.phase_two_time(log_r) + t), 0.0) for t in start.times)
        companions.append(Companion(f"base {k}", _base_network(start, log_r, evidence.leak), times))
        companions.append(Companion(f"near {k}", _near_network(start, log_r, evidence.leak), times))
    return FlowPlan(times=(start.flow.ball.own_time(1.0),), companions=tuple(companions))


def _rows(evidence: Evidence, kind: str, k: int) -> list[FloatArray]:
    """Rows of a run at the recorded times, zero neurons filled in."""
    start, found = aligned_start(evidence), []
    active = np.linalg.norm(start.rows, axis=1) > 0.0
    for s in evidence.companions[f"{kind} {k}"].snapshots:
        recorded = start.flow.ball.neurons(s.network)
        full = np.zeros_like(start.rows)
        full[active if kind == "base" else slice(None)] = recorded
        found.append(full)
    return found


@hypothesis("non-branching", "no ridge was met up to t0", needs_trajectory=True)
def _runs_are_unique(evidence: Evidence) -> Judgement:
    if len(evidence.companions) < 2 * len(RADII):
        return undecided("the runs from r theta-hat were not made")
    met = [name for name, run in evidence.companions.items() if run.outcome is Outcome.RIDGE]
    return Judgement(not met, None, f"a ridge was met by {', '.join(met)}" if met else "no ridge was met")


def _with_runs(measure: Callable[[Evidence], Measurement]) -> Callable[[Evidence], Measurement]:
    """The measurement where all runs are there; missing evidence where one is not."""

    def guarded(evidence: Evidence) -> Measurement:
        complete = [run for run in evidence.companions.values() if len(run.snapshots) == len(OFFSETS)]
        return (
            measure(evidence) if len(complete) == 2 * len(RADII) else missing("a run from near r theta-hat is missing")
        )

    return guarded


def _constants(evidence: Evidence) -> Constants:
    start = aligned_start(evidence)
    return {
        "lambda": start.flow.growth,
        "Delta": clearance(start.rows, start.flow.ball),
        "t0": start.threshold,
        "M_norm": m_norm(start.rows),
        "C": start.strength,
        "log_r": list(start.log_radii),
    }


def _deviation_bound(start: AlignedStart, t: float) -> float:
    """(4 m |theta|_M^3/lambda) e^(3 lambda t)."""
    growth = start.flow.growth
    return float(4.0 * len(start.rows) * m_norm(start.rows) ** 3 / growth * np.exp(3.0 * growth * t))


def _limit_exists(evidence: Evidence) -> Measurement:
    """Largest |phi(r theta-hat) - phi(r' theta-hat)|_M over (16 m |theta-hat|_M^3/lambda) r^2 e^(lambda t), r > r'.

    The run from r' passes r theta-hat within (4 m |theta-hat|_M^3/lambda) r^3, so Lemma E.6 with kappa = 2 applies.
    """
    start, ratios = aligned_start(evidence), []
    constant = 16.0 * len(start.rows) * m_norm(start.rows) ** 3 / start.flow.growth
    runs = [_rows(evidence, "base", k) for k in range(len(RADII))]
    for log_r, (wide, narrow) in zip(start.log_radii, pairwise(runs), strict=False):
        for t, one, two in zip(start.times, wide, narrow, strict=True):
            bound = constant * np.exp(2.0 * log_r + start.flow.growth * t) + INTEGRATION * m_norm(two)
            ratios.append(m_norm(one - two) / bound)
    return at_most(float(max(ratios)), 1.0)


def _stays_near_exponential(evidence: Evidence) -> Measurement:
    """Largest |phi - e^(lambda t) theta-hat|_M over (4 m |theta-hat|_M^3/lambda) e^(3 lambda t), at the smallest r."""
    start, ratios = aligned_start(evidence), []
    for t, rows in zip(start.times, _rows(evidence, "base", len(RADII) - 1), strict=True):
        gap = m_norm(rows - np.exp(start.flow.growth * t) * start.rows)
        ratios.append(gap / (_deviation_bound(start, t) + INTEGRATION * m_norm(rows)))
    return at_most(max(ratios), 1.0)


def _same_limit(evidence: Evidence) -> Measurement:
    """Order in r at which the perturbed runs join the unperturbed ones at t0."""
    gaps = [np.log(m_norm(_rows(evidence, "near", k)[-1] - _rows(evidence, "base", k)[-1])) for k in range(len(RADII))]
    slope = fitted_slope([-gap for gap in RADII], gaps)
    return at_least(slope, KAPPA, allowance=0.1, detail=f"order {slope:.4f} in r, at least {KAPPA:g} expected")


_phase_theorem = theorems_of(
    "lyu2021",
    hypotheses=(*symmetric_hypotheses(), _runs_are_unique),
    constants=_constants,
    plan=_plan,
    setting=LYU_SETTING,
    example="lyu-symmetric",
)

THEOREM_E4 = _phase_theorem(
    "thmE.4",
    "From a well-aligned r theta-hat, phi(r theta-hat, T2(r) + t) has a limit for t <= t0, close to "
    "e^(lambda t) theta-hat, and nearby starts have the same one.",
    locator="Thm E.4",
    conclusions=(
        Conclusion("limit", "difference of runs at r and r' over its bound, of order r^2", _with_runs(_limit_exists)),
        Conclusion(
            "exponential", "distance to e^(lambda t) theta-hat over its bound", _with_runs(_stays_near_exponential)
        ),
        Conclusion("same-limit", "order in r of the perturbed runs' distance", _with_runs(_same_limit), Level.SCALING),
    ),
    departs="theta-hat is made of the draw: rows b_k (mu-bar, 1), the last one zero.",
)


def _patterns_stay(evidence: Evidence) -> Measurement:
    """How many (neuron, sample, time) of the active neurons have another sign than theta-hat."""
    start, changed, total = aligned_start(evidence), 0, 0
    active = np.linalg.norm(start.rows, axis=1) > 0.0
    signs = np.sign(start.rows[active, :-1] @ start.flow.ball.X.T)
    for k in range(len(RADII)):
        for rows in _rows(evidence, "near", k):
            now = np.sign(rows[active, :-1] @ start.flow.ball.X.T)
            changed += int(np.sum(now != signs))
            total += now.size
    return none_of(changed, total=total)


def _norm_stays(evidence: Evidence) -> Measurement:
    """Largest |theta|_M / (2 e^(lambda t) |theta-hat|_M)."""
    start, ratios = aligned_start(evidence), []
    for k in range(len(RADII)):
        for t, rows in zip(start.times, _rows(evidence, "near", k), strict=True):
            ratios.append(m_norm(rows) / (2.0 * np.exp(start.flow.growth * t) * m_norm(start.rows)))
    return at_most(max(ratios), 1.0)


def _part_stays(evidence: Evidence, *, is_active: bool) -> Measurement:
    """Largest deviation of the active or of the zero neurons from e^(lambda t) theta-hat, over its bound."""
    start, ratios = aligned_start(evidence), []
    part = (np.linalg.norm(start.rows, axis=1) > 0.0) == is_active
    if not np.any(part):
        return missing("there is no such neuron")
    for k, log_r in enumerate(start.log_radii):
        small = start.strength * np.exp(KAPPA * log_r)
        for t, rows in zip(start.times, _rows(evidence, "near", k), strict=True):
            growth = np.exp(start.flow.growth * t)
            gap = m_norm((rows - growth * start.rows)[part])
            bound = small * growth + _deviation_bound(start, t) if is_active else 2.0 * small * growth
            ratios.append(gap / (bound * (1.0 + INTEGRATION)))
    return at_most(float(max(ratios)), 1.0)


LEMMA_E5 = _phase_theorem(
    "lemmaE.5",
    "From |theta_0 - r theta-hat|_M <= C r^(1 + kappa), r <= r_max, patterns and sizes stay up to t0.",
    conclusions=(
        Conclusion("patterns", "active neurons keep their patterns", _with_runs(_patterns_stay), Level.EXACT),
        Conclusion("norm", "|theta|_M over 2 e^(lambda t) |theta-hat|_M", _with_runs(_norm_stays)),
        Conclusion(
            "active", "active neurons' deviation over its bound", _with_runs(partial(_part_stays, is_active=True))
        ),
        Conclusion("zero", "zero neurons' deviation over its bound", _with_runs(partial(_part_stays, is_active=False))),
    ),
    departs="As Theorem E.4; C is chosen so that the largest r is r_max, and kappa = 1.",
)


def _runs_stay_together(evidence: Evidence) -> Measurement:
    """Largest |phi(theta_0) - phi(r theta-hat)|_M / (4 C r^kappa e^(lambda t))."""
    start, ratios = aligned_start(evidence), []
    for k, log_r in enumerate(start.log_radii):
        bases, nears = (_rows(evidence, kind, k) for kind in ("base", "near"))
        for t, base, near in zip(start.times, bases, nears, strict=True):
            bound = 4.0 * start.strength * np.exp(KAPPA * log_r + start.flow.growth * t)
            ratios.append(m_norm(near - base) / bound)
    return at_most(float(max(ratios)), 1.0)


LEMMA_E6 = _phase_theorem(
    "lemmaE.6",
    "As Lemma E.5: the runs from theta_0 and from r theta-hat differ by 4 C r^kappa e^(lambda t) at most.",
    conclusions=(Conclusion("distance", "distance of the two runs over its bound", _with_runs(_runs_stay_together)),),
    erratum="E18: the proof combines (23) and (24).",
    departs="As Lemma E.5.",
)
