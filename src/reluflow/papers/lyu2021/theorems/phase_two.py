"""Phase II near a well-aligned network: Definition E.3, Theorem E.4, Lemmas E.5 and E.6 [lyu2021].

The well-aligned network is made of the draw: rows b_k (mu-bar, 1), the last neuron set to zero so that both the active
and the zero neurons of the statements occur. All quantities are in unit-ball units.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.network import Network
from reluflow.papers.lyu2021.paper import EXAMPLE, SETTING
from reluflow.papers.lyu2021.theorems.hypotheses import SYMMETRIC
from reluflow.papers.lyu2021.theorems.symmetric_flow import SymmetricFlow, own_network, symmetric_flow
from reluflow.papers.lyu2021.theorems.unit_ball import DRAW_SEED, UnitBall, m_norm
from reluflow.theory.comparison import Comparison, Level, Values, fitted_slope, none_of, require
from reluflow.theory.elsewhere import definition
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.flow_plan import Companion, FlowPlan
from reluflow.theory.hypotheses import no_companion_met_a_ridge
from reluflow.theory.measures import AtLeast, AtMost, Constants
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem

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
    def active(self) -> BoolArray:
        """Which neurons are not zero."""
        return np.asarray(np.linalg.norm(self.rows, axis=1) > 0.0)

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


aligned_start = computed_once(AlignedStart.of)


def _near_network(start: AlignedStart, log_r: float, leak: float) -> Network:
    rows = start.rows + start.strength * np.exp(KAPPA * log_r) * start.perturbation
    return own_network(start.flow, rows, leak, log_scale=log_r)


def _plan(evidence: Evidence) -> FlowPlan:
    start = aligned_start(evidence)
    companions = []
    for k, log_r in enumerate(start.log_radii):
        times = tuple(max(start.flow.ball.own_time(start.flow.phase_two_time(log_r) + t), 0.0) for t in start.times)
        base = own_network(start.flow, start.rows[start.active], evidence.leak, log_scale=log_r)
        companions.append(Companion(f"base {k}", base, times))  # zero neurons never move (Lemma B.17)
        companions.append(Companion(f"near {k}", _near_network(start, log_r, evidence.leak), times))
    return FlowPlan(times=(start.flow.ball.own_time(1.0),), companions=tuple(companions))


def _rows(evidence: Evidence, kind: str, k: int) -> list[FloatArray]:
    """Rows of a run at the recorded times, zero neurons filled in; undecided where not all runs are there."""
    complete = [run for run in evidence.companions.values() if len(run.snapshots) == len(OFFSETS)]
    require(len(complete) == 2 * len(RADII), r"a run from near $r \hat{\theta}$ is missing")
    start, found = aligned_start(evidence), []
    for s in evidence.companions[f"{kind} {k}"].snapshots:
        full = np.zeros_like(start.rows)
        full[start.active if kind == "base" else slice(None)] = start.flow.ball.neurons(s.network)
        found.append(full)
    return found


def _near_runs(evidence: Evidence) -> Iterator[tuple[float, float, FloatArray]]:
    """ln r, t and the rows of every perturbed run at its recorded times."""
    start = aligned_start(evidence)
    for k, log_r in enumerate(start.log_radii):
        for t, rows in zip(start.times, _rows(evidence, "near", k), strict=True):
            yield log_r, t, rows


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


NO_RIDGE_UP_TO_T0 = Hypothesis(
    "non-branching", "no ridge was met up to $t_0$", partial(no_companion_met_a_ridge, count=6), needs_trajectory=True
)

DEF_E_3 = definition(
    "lyu2021:defE.3",
    "Def. E.3",
    is_well_aligned,
    "well-aligned: active neurons maximise $|G|$ and are balanced, the others are zero",
)

EQ_14 = definition("lyu2021:eq14", "Eq. (14)", threshold_time, "$t_0$, up to which Theorem E.4 speaks")

# Thm E.4 --------------------------------------------------------------------------------------------------------------


def _limit_exists(evidence: Evidence) -> Values:
    """|phi(r theta-hat) - phi(r' theta-hat)|_M over (16 m |theta-hat|_M^3/lambda) r^2 e^(lambda t), r > r'.

    The run from r' passes r theta-hat within (4 m |theta-hat|_M^3/lambda) r^3, so Lemma E.6 with kappa = 2 applies.
    """
    start = aligned_start(evidence)
    constant = 16.0 * len(start.rows) * m_norm(start.rows) ** 3 / start.flow.growth
    runs = [_rows(evidence, "base", k) for k in range(len(RADII))]
    for log_r, (wide, narrow) in zip(start.log_radii, pairwise(runs), strict=False):
        for t, one, two in zip(start.times, wide, narrow, strict=True):
            bound = constant * np.exp(2.0 * log_r + start.flow.growth * t) + INTEGRATION * m_norm(two)
            yield m_norm(one - two) / bound


def _stays_near_exponential(evidence: Evidence) -> Values:
    """|phi - e^(lambda t) theta-hat|_M over (4 m |theta-hat|_M^3/lambda) e^(3 lambda t), at the smallest r."""
    start = aligned_start(evidence)
    for t, rows in zip(start.times, _rows(evidence, "base", len(RADII) - 1), strict=True):
        gap = m_norm(rows - np.exp(start.flow.growth * t) * start.rows)
        yield gap / (_deviation_bound(start, t) + INTEGRATION * m_norm(rows))


def _same_limit(evidence: Evidence) -> float:
    """Order in r at which the perturbed runs join the unperturbed ones at t0."""
    gaps = [np.log(m_norm(_rows(evidence, "near", k)[-1] - _rows(evidence, "base", k)[-1])) for k in range(len(RADII))]
    return fitted_slope([-gap for gap in RADII], gaps)


THM_E_4 = Theorem(
    "lyu2021:thmE.4",
    Reference("lyu2021", "Thm E.4"),
    r"From a well-aligned $r \hat{\theta}$, $\varphi(r \hat{\theta}, T_2(r) + t)$ has a limit for $t \le t_0$, "
    r"close to $e^{\lambda t} \hat{\theta}$, and nearby starts have the same one.",
    hypotheses=(*SYMMETRIC, NO_RIDGE_UP_TO_T0),
    conclusions=(
        Conclusion(
            "limit", "difference of runs at $r$ and $r'$ over its bound, of order $r^2$", AtMost(_limit_exists, 1.0)
        ),
        Conclusion(
            "exponential",
            r"distance to $e^{\lambda t} \hat{\theta}$ over its bound",
            AtMost(_stays_near_exponential, 1.0),
        ),
        Conclusion(
            "same-limit",
            "order in $r$ of the perturbed runs' distance",
            AtLeast(
                _same_limit, KAPPA, allowance=0.1, words="order {measured:.4f} in $r$, at least {bound:g} expected"
            ),
            Level.SCALING,
        ),
    ),
    constants=_constants,
    plan=_plan,
    setting=SETTING,
    example=EXAMPLE,
    departs=r"$\hat{\theta}$ is made of the draw: rows $b_k (\bar{\mu}, 1)$, the last one zero.",
)

# Lemma E.5 ------------------------------------------------------------------------------------------------------------


def _patterns_stay(evidence: Evidence) -> Comparison:
    """How many (neuron, sample, time) of the active neurons have another sign than theta-hat."""
    start = aligned_start(evidence)
    signs = np.sign(start.rows[start.active, :-1] @ start.flow.ball.X.T)
    now = [np.sign(rows[start.active, :-1] @ start.flow.ball.X.T) for _, _, rows in _near_runs(evidence)]
    return none_of(int(np.sum(now != signs)), total=np.size(now))


def _norm_stays(evidence: Evidence) -> Values:
    """|theta|_M / (2 e^(lambda t) |theta-hat|_M)."""
    start = aligned_start(evidence)
    for _, t, rows in _near_runs(evidence):
        yield m_norm(rows) / (2.0 * np.exp(start.flow.growth * t) * m_norm(start.rows))


def _part_stays(evidence: Evidence, *, is_active: bool) -> Values:
    """Deviation of the active or of the zero neurons from e^(lambda t) theta-hat, over its bound."""
    start = aligned_start(evidence)
    part = start.active == is_active
    runs = list(_near_runs(evidence))
    require(np.any(part), "there is no such neuron")
    for log_r, t, rows in runs:
        small, growth = start.strength * np.exp(KAPPA * log_r), np.exp(start.flow.growth * t)
        bound = small * growth + _deviation_bound(start, t) if is_active else 2.0 * small * growth
        yield m_norm((rows - growth * start.rows)[part]) / (bound * (1.0 + INTEGRATION))


LEMMA_E_5 = Theorem(
    "lyu2021:lemmaE.5",
    Reference("lyu2021", "Lemma E.5"),
    r"From $|\theta_0 - r \hat{\theta}|_M \le C r^{1+\kappa}$, $r \le r_{\max}$, patterns and sizes stay up to $t_0$.",
    hypotheses=(*SYMMETRIC, NO_RIDGE_UP_TO_T0),
    conclusions=(
        Conclusion("patterns", "active neurons keep their patterns", _patterns_stay, Level.EXACT),
        Conclusion("norm", r"$|\theta|_M$ over $2 e^{\lambda t} |\hat{\theta}|_M$", AtMost(_norm_stays, 1.0)),
        Conclusion(
            "active", "active neurons' deviation over its bound", AtMost(partial(_part_stays, is_active=True), 1.0)
        ),
        Conclusion(
            "zero", "zero neurons' deviation over its bound", AtMost(partial(_part_stays, is_active=False), 1.0)
        ),
    ),
    constants=_constants,
    plan=_plan,
    setting=SETTING,
    example=EXAMPLE,
    departs=r"As Theorem E.4; $C$ is chosen so that the largest $r$ is $r_{\max}$, and $\kappa = 1$.",
)

# Lemma E.6 ------------------------------------------------------------------------------------------------------------


def _runs_stay_together(evidence: Evidence) -> Values:
    """|phi(theta_0) - phi(r theta-hat)|_M / (4 C r^kappa e^(lambda t))."""
    start = aligned_start(evidence)
    bases = (base for k in range(len(RADII)) for base in _rows(evidence, "base", k))
    for base, (log_r, t, near) in zip(bases, _near_runs(evidence), strict=True):
        yield m_norm(near - base) / (4.0 * start.strength * np.exp(KAPPA * log_r + start.flow.growth * t))


LEMMA_E_6 = Theorem(
    "lyu2021:lemmaE.6",
    Reference("lyu2021", "Lemma E.6"),
    r"As Lemma E.5: the runs from $\theta_0$ and from $r \hat{\theta}$ differ by $4 C r^\kappa e^{\lambda t}$ at most.",
    hypotheses=(*SYMMETRIC, NO_RIDGE_UP_TO_T0),
    conclusions=(Conclusion("distance", "distance of the two runs over its bound", AtMost(_runs_stay_together, 1.0)),),
    constants=_constants,
    plan=_plan,
    setting=SETTING,
    example=EXAMPLE,
    erratum="E18: the proof combines (23) and (24).",
    departs="As Lemma E.5.",
)
