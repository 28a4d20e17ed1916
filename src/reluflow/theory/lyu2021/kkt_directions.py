"""Where the flow of a homogeneous network tends: Theorem 3.1, Lemma B.9; what drives its loss to zero: Theorem B.19."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.kkt import KKTCertificate, kkt_certificate
from reluflow.dynamics.stopping import FirstOf, LossBelow, Stationary
from reluflow.dynamics.trajectory import Snapshot
from reluflow.endings.limit import LimitIdentified, direction_distance, unit_norm
from reluflow.network import Network
from reluflow.theory.comparison import (
    Comparison,
    Values,
    at_least,
    at_most,
    closes_in,
    fails,
    judgement,
    missing,
    require,
    requires,
    undecided,
)
from reluflow.theory.evidence import Evidence, drawn
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.lyu2021.limits import limit_of, proved_limit
from reluflow.theory.lyu2021.smoothed_margin import smoothed_margin
from reluflow.theory.lyu2021.unit_ball import even_times, unit_ball, velocity_at

KKT_RTOL = 1e-9  # residual of a solved limit relative to |theta|; 1e-15 to 1e-11 were seen
INTEGRATION = 1e-9  # relative; the runs have rtol 1e-10
ROUNDING = 1e-12
NUM_TIMES = 25
LOG_HORIZON = 1e4  # ln t at which the search for a limit is given up


def until_limit(evidence: Evidence) -> FlowPlan:
    """Snapshots over six decades of unit-ball time, then on until the limit is identified or the run is stationary."""
    times = np.geomspace(1.0, 1e6, NUM_TIMES) / unit_ball(evidence).radius
    until = FirstOf((LimitIdentified(kkt=KKT_RTOL), Stationary()))
    return FlowPlan(times=tuple(float(t) for t in times), until=until, log_horizon=LOG_HORIZON)


def _limit_identified(evidence: Evidence) -> Comparison:
    """The run ended by itself and the direction it tends to is certified."""
    limit = limit_of(evidence)
    return judgement(True if limit.is_proof else None, None, limit.reason)


def _classified(evidence: Evidence) -> list[Snapshot]:
    """The snapshots with n L < ln 2."""
    return [s for s in evidence.run.snapshots if evidence.dataset.n * s.loss < np.log(2.0)]


def _tail(evidence: Evidence) -> list[tuple[float, float]]:
    """(L, smoothed margin) at those of them whose loss is above 0."""
    return [
        (s.loss, smoothed_margin(evidence.dataset.y * s.outputs) * float(np.exp(-2.0 * _log_norm(s.network))))
        for s in _classified(evidence)
        if s.loss > 0.0
    ]


_TOO_FEW = "fewer than two snapshots have n L < ln 2"
_NO_CHANGE = "snapshots late enough for a change that a double can show"
_ROUNDING = 1e-10  # gains of |theta|^2 below this fraction of it are lost in rounding


def _small_loss(evidence: Evidence) -> Comparison:
    run = evidence.run
    lowest = evidence.dataset.n * float(np.min(run.losses)) / float(np.log(2.0))
    words = f"smallest n L / ln 2 on the run is {lowest:.3g}"
    if lowest >= 1.0 and run.outcome.is_cut_short:
        return undecided(f"{words}, and it was cut short")
    return judgement(lowest < 1.0, 1.0 - lowest, words)


def loss_vanishes(evidence: Evidence) -> Comparison:
    """n L / ln 2 at the end of the run, at most e^-5, and falling at every snapshot."""
    losses = [row[0] for row in _tail(evidence)]
    require(len(losses) >= 2, _TOO_FEW)
    require(_has_moved(evidence), _NO_CHANGE)
    rise = float(np.max(np.diff(np.log(losses))))
    if rise >= 0.0:
        return at_most(rise, -np.finfo(float).tiny, detail=f"ln L changes by {rise:.3g} between two snapshots")
    final = evidence.dataset.n * evidence.run.loss / float(np.log(2.0))
    return at_most(final, float(np.exp(-5.0)), detail=f"n L / ln 2 = {final:.3g} at the end, falling at every snapshot")


def norm_grows(evidence: Evidence) -> Comparison:
    """Smallest growth of |theta|^2 between snapshots with n L < ln 2, over its least: it never comes to rest.

    d|theta|^2/dt = (4/n) sum g_i q_i with g_i >= l_i/(2 ln 2) and q_i >= -ln(e^(nL) - 1), which grows as L falls. So
    between s and t it gains at least (2/ln 2) L(t) (-ln(e^(nL(s)) - 1)) (t - s), whose sum diverges.
    """
    gains = require(_gains(evidence), _TOO_FEW)
    ratios = [(after - before) / least for before, after, least in gains if least > _ROUNDING * before]
    require(ratios, _NO_CHANGE)
    words = f"|theta|^2 grows from {gains[0][0]:.6g} to {gains[-1][1]:.6g}, at least {min(ratios):.4g} times its least"
    return at_least(min(ratios), 1.0, detail=words)


def _gains(evidence: Evidence) -> list[tuple[float, float, float]]:
    """|theta|^2 at either end of each stretch between snapshots with n L < ln 2, and the least it must gain there."""
    n = evidence.dataset.n
    tail = [(s.time, s.loss, float(np.exp(2.0 * _log_norm(s.network)))) for s in _classified(evidence) if s.loss > 0.0]
    return [
        (size_0, size_1, 2.0 / np.log(2.0) * loss_1 * -np.log(np.expm1(n * loss_0)) * (t_1 - t_0))
        for (t_0, loss_0, size_0), (t_1, loss_1, size_1) in pairwise(tail)
    ]


def _has_moved(evidence: Evidence) -> bool:
    """Whether the theorem asks for a change between snapshots that a double can show.

    A network that starts with margin 36 has to gain 1e-14 of its norm by t = 1: nothing that could be measured.
    """
    return any(least > _ROUNDING * before for before, _, least in _gains(evidence))


def _log_norm(network: Network) -> float:
    return 0.5 * float(np.log(network.replace(log_scale=0.0).squared_norm())) + network.log_scale


@requires(_tail, _TOO_FEW, at_least=2)
def _smoothed_margin_grows(evidence: Evidence, tail: list[tuple[float, float]]) -> FloatArray:
    """Relative growth of the smoothed margin between snapshots."""
    margins = np.array([row[1] for row in tail])
    return np.asarray(np.diff(margins) / margins[:-1])


def _limit_is_kkt(evidence: Evidence) -> Comparison:
    """KKT residual of the solved limit of the run's direction, relative to |theta|."""
    limit = proved_limit(evidence)
    residual = kkt_certificate(limit.network, evidence.dataset).residual
    return at_most(residual, KKT_RTOL, detail=f"residual {residual:.2g}; {limit.reason}")


def _direction_closes_in(evidence: Evidence) -> Comparison:
    """Distance of the run's own direction to the solved limit, over the snapshots with n L < ln 2."""
    limit, tail = limit_of(evidence), _classified(evidence)
    require(limit.is_proof, limit.reason)
    require(len(tail) >= 2, _TOO_FEW)
    require(_has_moved(evidence), _NO_CHANGE)
    return closes_in([direction_distance(unit_norm(s.network), limit.network) for s in tail])


@drawn("kkt")
def _kkt(evidence: Evidence) -> KKTCertificate:
    """The certificate of the run's limit, or the one given as a witness."""
    return kkt_certificate(limit_of(evidence).network, evidence.dataset)


def _balance_allowed(evidence: Evidence) -> float:
    """For ||a_k| - |w_k|| over the largest neuron: a residual e relative to |theta| allows sqrt(m) e."""
    return float(np.sqrt(evidence.network.num_neurons)) * _kkt(evidence).residual


def _run_is_less_unbalanced(evidence: Evidence) -> Comparison:
    """Largest |a_k^2 - |w_k|^2| / |theta|^2 at the first and the last snapshot; the numerator is conserved."""
    networks = [unit_norm(evidence.run.snapshots[k].network) for k in (0, -1)]
    return closes_in([float(np.max(np.abs(network.balancedness()))) for network in networks], floor=INTEGRATION)


def _separator(evidence: Evidence) -> tuple[FloatArray, float]:
    """w* and gamma* of the samples, not rescaled."""
    found = evidence.facts.separator if evidence.dataset.is_binary else None
    if found is None or not found.separable:
        return np.zeros(evidence.dataset.d), 0.0
    return found.w, found.margin


def driving_strengths(evidence: Evidence) -> FloatArray:
    """c_k e^(-2 log_scale) = <w_k, w*>^2 - |w_k|^2 + a_k^2 where sgn(a_k) <w_k, w*> > 0, else -inf, shape (m,)."""
    network, (separator, _) = evidence.network, _separator(evidence)
    along = network.w @ separator
    strengths = along**2 + network.balancedness()
    return np.where(network.a * along > 0.0, strengths, -np.inf)


def _has_driver(evidence: Evidence) -> Comparison:
    if _separator(evidence)[1] <= 0.0:
        return fails("there is no separator")
    strengths = driving_strengths(evidence)
    best = float(np.max(strengths))
    if best <= 0.0:
        return fails("no neuron has sgn(a_k) <w_k, w*> > 0 and c > 0")
    count = int(np.sum(strengths > 0.0))
    return judgement(True, best, f"{count} neurons qualify; the largest c is {best:.6g} times the squared scale")


def loss_rate_bound(evidence: Evidence) -> float:
    """ln of c (leak gamma* / 2n)^2, the least -dL/dt while L >= ln 2 / n (erratum E14: c, not c^2)."""
    margin = _separator(evidence)[1]
    return log_strength(evidence) + 2.0 * float(np.log(evidence.leak * margin / (2.0 * evidence.dataset.n)))


def log_hitting_time_bound(evidence: Evidence) -> float:
    """ln of the latest time at which L < ln 2 / n is reached; -inf where it holds at the start."""
    excess = evidence.problem.initial_loss - np.log(2.0) / evidence.dataset.n
    return float(np.log(excess)) - loss_rate_bound(evidence) if excess > 0.0 else -np.inf


def log_strength(evidence: Evidence) -> float:
    """ln of c."""
    return float(np.log(np.max(driving_strengths(evidence)))) + 2.0 * evidence.network.log_scale


def _driven_plan(evidence: Evidence) -> FlowPlan:
    """The driven time, then over decades until n L is e^-7 of ln 2, or the driven time is long over."""
    radius = unit_ball(evidence).radius
    late = np.geomspace(evidence.parameter("until"), 1e7, 25) / radius
    return FlowPlan(
        times=(*even_times(evidence, 40).times, *(float(t) for t in late[1:])),
        until=LossBelow(float(np.exp(-7.0) * np.log(2.0)) / evidence.dataset.n),
        horizon=1e9 / radius,
    )


def _output_weight_stays(evidence: Evidence) -> Values:
    """a_k^2 / c of the driving neuron over the snapshots; 0 where its sign has changed."""
    k, start = int(np.argmax(driving_strengths(evidence))), evidence.network
    for s in evidence.run.snapshots:
        factor = np.exp(2.0 * (s.network.log_scale - start.log_scale))
        same_sign = np.sign(s.network.a[k]) == np.sign(start.a[k])
        yield factor * s.network.a[k] ** 2 / driving_strengths(evidence)[k] if same_sign else 0.0


def _loss_rate(evidence: Evidence) -> Values:
    """ln(-dL/dt) at the snapshots with L >= ln 2 / n."""
    early = [s for s in evidence.run.snapshots if s.loss >= np.log(2.0) / evidence.dataset.n]
    for s in require(early, "no snapshot has L >= ln 2 / n"):
        yield 2.0 * (s.network.log_scale + float(np.log(np.linalg.norm(velocity_at(evidence, s)))))


def _hitting_time(evidence: Evidence) -> Comparison:
    """ln of the first recorded time with L < ln 2 / n against ln of its bound."""
    bound, run = log_hitting_time_bound(evidence), evidence.run
    require(np.isfinite(bound), "L < ln 2 / n holds at the start, so there is no time to bound")
    below = np.flatnonzero(run.losses < np.log(2.0) / evidence.dataset.n)
    if below.size:
        first = float(run.log_times[below[0]])
        return at_most(first, bound, detail=f"reached by ln t = {first:.4g}, bound {bound:.4g}")
    if run.log_time > bound:
        return at_most(run.log_time, bound, detail=f"not reached by ln t = {run.log_time:.4g}, bound {bound:.4g}")
    return missing("the run ended before the bound without reaching L < ln 2 / n")


def _pull_along_separator(evidence: Evidence) -> Values:
    """<sgn(a_k) dw_k/dt, w*> over |a_k| leak gamma* (1 - exp(-nL))/n, for neurons and snapshots."""
    (separator, margin), n = _separator(evidence), evidence.dataset.n
    for s in evidence.run.snapshots:
        moved = velocity_at(evidence, s)[:, :-1] @ separator
        bound = np.abs(s.network.a) * evidence.leak * margin * -np.expm1(-n * s.loss) / n
        alive = np.abs(s.network.a) > 0.0
        yield (np.sign(s.network.a) * moved)[alive] / bound[alive]


def _total_force(evidence: Evidence) -> Values:
    """sum_i g_i over 1 - exp(-nL), at the snapshots."""
    for s in evidence.run.snapshots:
        total = float(np.sum(np.abs(evidence.loss.force(s.outputs, evidence.dataset.y))))
        yield total / -np.expm1(-evidence.dataset.n * s.loss)


_GRID = np.linspace(0.0, 3.0, 301)


def _rate(t: FloatArray) -> FloatArray:
    return 0.7 + 0.5 * np.cos(2.0 * t)


def _rate_integral(t: FloatArray) -> FloatArray:
    return 0.7 * t + 0.25 * np.sin(2.0 * t)


def _level(t: FloatArray) -> FloatArray:
    return 1.0 + 0.3 * t**2


def _gronwall_bound() -> FloatArray:
    """alpha(t) + integral of alpha(s) beta(s) exp(B(t) - B(s)), to rounding, on the grid."""
    nodes, weights = np.polynomial.legendre.leggauss(6)
    half = 0.5 * np.diff(_GRID)[:, None]
    points = _GRID[:-1, None] + half * (1.0 + nodes)
    inner = _level(points) * _rate(points) * np.exp(-_rate_integral(points)) * half
    integral = np.concatenate([[0.0], np.cumsum(inner @ weights)])
    return np.asarray(_level(_GRID) + np.exp(_rate_integral(_GRID)) * integral)


@drawn("subsolutions")
def subsolutions(evidence: Evidence) -> tuple[FloatArray, ...]:
    """Functions u on the grid with u' <= alpha' + beta u and u(0) <= alpha(0), so that u <= alpha + integral beta u."""
    from scipy.integrate import solve_ivp

    def right(t: float, u: FloatArray, share: float) -> FloatArray:
        return np.asarray(0.6 * t + share * _rate(np.asarray(t)) * u)

    solved = []
    for share in (1.0, 0.95, 0.8, 0.3):
        run = solve_ivp(right, (0.0, 3.0), [share], args=(share,), t_eval=_GRID, rtol=1e-11, atol=1e-13)
        solved.append(np.asarray(run.y[0]))
    return tuple(solved)


def _over_integral_form(evidence: Evidence) -> Values:
    """Functions that satisfy the inequality strictly over the bound (11)."""
    return [u / _gronwall_bound() for u in subsolutions(evidence)[1:]]


def _attained(evidence: Evidence) -> FloatArray:
    return np.asarray(np.abs(subsolutions(evidence)[0] / _gronwall_bound() - 1.0))


def _over_closed_form(evidence: Evidence) -> Values:
    return [u / (_level(_GRID) * np.exp(_rate_integral(_GRID))) for u in subsolutions(evidence)[1:]]
