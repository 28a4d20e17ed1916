"""Section 5 and App. B.2: which directions neurons occupy, what grows next, and what the limit is [boursier2024]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import BoolArray, FloatArray, IntArray
from reluflow.certificates.certify import Kind, certify
from reluflow.certificates.stationarity import Escape, find_escape, stationarity
from reluflow.data.dataset import Dataset
from reluflow.dynamics.stopping import Stationary
from reluflow.dynamics.trajectory import Snapshot
from reluflow.geometry.alignment import align
from reluflow.geometry.extremal import extremal_vectors_of
from reluflow.losses import AbstractLoss
from reluflow.network import Network
from reluflow.network.network import row_norms
from reluflow.theory.boursier2024.phase_states import KINK, log_lambda_of, signs_on
from reluflow.theory.boursier2024.spurious_constants import constants_of
from reluflow.theory.comparison import (
    Comparison,
    all_of,
    at_least,
    at_most,
    equals,
    judgement,
    none_of,
    nothing,
    requires,
    undecided,
)
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.hypotheses import is_dominated
from reluflow.theory.measures import Constants

FITTED_RTOL = 1e-9  # a loss below this share of that of the zero network is a fit
GAIN_RTOL = 1e-9  # a first-order gain below this share of the forces is rounding
NEGLIGIBLE = 1e-4  # pulls below this share of sum |r_k| |x_k| are what is left of a fit, not a direction to grow in
NEAR_THE_LINE = 0.01  # outputs within this share of |y| of the least-squares line are at the plateau
LEAST_FOLDS = 3.0  # a plateau shorter than this, in e-folds of the fastest escape, leaves no time to align on it
NUM_TIMES = 200


@dataclass(frozen=True, eq=False)
class EscapeForecast:
    """The directions in which light neurons can grow under frozen forces, fastest first.

    Parameters
    ----------
    directions
        Unit w, shape (k, d).
    signs
        Output sign a neuron needs to grow there, shape (k,): +1 at a positive maximum of G_r, -1 at a negative minimum.
    rates
        |D|, shape (k,): its size grows like exp(|D| t).
    exact
        Whether every cone was visited.
    """

    directions: FloatArray
    signs: IntArray
    rates: FloatArray
    exact: bool

    def __len__(self) -> int:
        return len(self.rates)

    @property
    def angles(self) -> FloatArray:
        """Angles of the directions in degrees, in [0, 360), for data in the plane."""
        return np.asarray(np.degrees(np.arctan2(self.directions[:, 1], self.directions[:, 0])) % 360.0)


def escape_forecast(X: ArrayLike, forces: ArrayLike, *, leak: float = 0.0, atol: float = 0.0) -> EscapeForecast:
    """The extremal vectors of G_r at given forces that a light neuron of the right sign would follow.

    Parameters
    ----------
    X
        Samples, shape (n, d).
    forces
        r_k = -c dl/dh at the plateau, shape (n,).
    leak
        Negative slope.
    atol
        Rates up to this one are what rounding leaves of a fit.

    References
    ----------
    Boursier & Flammarion (2024), Def. 1 with the residual in place of the labels; App. B.2 [boursier2024].

    Examples
    --------
    >>> from reluflow.data.registry import load
    >>> data = load("three-points")
    >>> line = np.linalg.lstsq(data.X, data.y, rcond=None)[0]
    >>> forecast = escape_forecast(data.X, (data.y - data.X @ line) / 3)
    >>> sorted(forecast.angles.round(3).tolist()), forecast.rates.round(5).tolist(), forecast.signs.tolist()
    ([26.565, 206.565], [0.03058, 0.03058], [1, 1])
    """
    samples, pulls = np.asarray(X, dtype=np.float64), np.asarray(forces, dtype=np.float64)
    found = extremal_vectors_of(samples, pulls, leak)
    signs = np.array([{"maximum": 1, "minimum": -1, "saddle": 0}[kind] for kind in found.kinds], dtype=np.int64)
    floor = max(atol, NEGLIGIBLE * float(np.abs(pulls) @ np.linalg.norm(samples, axis=1)))
    keep = (signs * found.sides > 0) & (found.norms > floor)
    return EscapeForecast(found.directions[keep], signs[keep], found.norms[keep], found.exact)


@computed_once
def line_forecast(evidence: Evidence) -> EscapeForecast:
    """The forecast at the least-squares line itself, computed once."""
    forces = evidence.loss.forces(evidence.dataset.X @ evidence.facts.least_squares, evidence.dataset.y)
    return escape_forecast(evidence.dataset.X, forces, leak=evidence.leak)


def plateau_plan(evidence: Evidence) -> FlowPlan:
    """Snapshots from the start past the first plateau to the forecast escape, then on to the end."""
    constants, forecast = constants_of(evidence), line_forecast(evidence)
    log_lambda = min(log_lambda_of(evidence), -1.0)
    reach = 8.0 / constants.pull_norm - log_lambda / constants.pull_norm + 12.0 / constants.pl_constant
    wait = -2.0 * log_lambda / float(forecast.rates.max()) if len(forecast) else 0.0
    times = np.concatenate([np.linspace(0.0, reach, NUM_TIMES // 2), np.linspace(reach, reach + wait, NUM_TIMES // 2)])
    return FlowPlan(times=tuple(np.unique(times).tolist()), until=Stationary())


def plateau(evidence: Evidence) -> tuple[Snapshot, float]:
    """The snapshot whose outputs are nearest to the least-squares line, and their distance from it over |y|."""
    line, y = evidence.dataset.X @ evidence.facts.least_squares, evidence.dataset.y
    nearest = min(evidence.run.snapshots, key=lambda s: float(np.linalg.norm(s.outputs - line)))
    return nearest, float(np.linalg.norm(nearest.outputs - line) / np.linalg.norm(y))


def escape(evidence: Evidence) -> Snapshot | None:
    """The first snapshot after the plateau with a loss at least 1 % below; None where the run stays."""
    start, _ = plateau(evidence)
    later = (s for s in evidence.run.snapshots if s.time > start.time and s.loss < 0.99 * start.loss)
    return next(later, None)


def _leaves_a_plateau(evidence: Evidence) -> Comparison:
    (start, distance), end = plateau(evidence), escape(evidence)
    rates = line_forecast(evidence).rates
    folds = 0.0 if end is None else (end.time - start.time) * float(np.max(rates, initial=0.0))
    words = "is never left" if end is None else f"is left {folds:.3g} e-folds later, at t = {end.time:.6g}"
    detail = f"the run comes within {distance:.2g} |y| of the line at t = {start.time:.6g}, which {words}"
    return judgement(distance < NEAR_THE_LINE and folds > LEAST_FOLDS, folds - LEAST_FOLDS, detail)


def _sizes(snapshot: Snapshot) -> FloatArray:
    network = snapshot.network.materialized()
    return np.asarray(np.abs(network.a) * row_norms(network.w))


def growing_neuron(start: Snapshot, end: Snapshot) -> tuple[int, float]:
    """The neuron that gained most |a| |w| between two snapshots, and its mean rate of growth."""
    gains = _sizes(end) - _sizes(start)
    neuron = int(np.argmax(gains))
    rate = 0.5 * float(np.log(_sizes(end)[neuron] / _sizes(start)[neuron])) / (end.time - start.time)
    return neuron, rate


@dataclass(frozen=True)
class _Observed:
    """The neuron that grew most on the way out, its angle to the nearest forecast of its sign, and the two rates."""

    neuron: int
    degrees: float
    rate: float
    forecast_rate: float


def _observed(evidence: Evidence) -> _Observed | None:
    end = escape(evidence) if evidence.run.snapshots else None
    if end is None:
        return None
    start, _ = plateau(evidence)
    half = 0.5 * (start.time + end.time)
    between = [s for s in evidence.run.snapshots if start.time <= s.time < end.time]
    middle = min(between, key=lambda s: abs(s.time - half))  # by then it has aligned
    neuron, rate = growing_neuron(middle, end)
    forces = evidence.loss.forces(start.outputs, evidence.dataset.y)
    forecast = escape_forecast(evidence.dataset.X, forces, leak=evidence.leak)
    w, sign = end.network.w[neuron], np.sign(end.network.a[neuron])
    cosines = (forecast.directions @ w / np.linalg.norm(w))[forecast.signs == sign]
    if not cosines.size:
        return _Observed(neuron, 180.0, rate, 0.0)
    degrees = float(np.degrees(np.arccos(np.clip(cosines.max(), -1.0, 1.0))))
    return _Observed(neuron, degrees, rate, float(forecast.rates[forecast.signs == sign][int(cosines.argmax())]))


@requires(_observed, "a run that leaves the plateau")
def _direction(evidence: Evidence, seen: _Observed) -> Comparison:
    detail = f"neuron {seen.neuron}, which grew most, is {seen.degrees:.3g} degrees from a forecast of its sign"
    return at_most(seen.degrees, evidence.parameter("degrees"), detail=detail)


@requires(_observed, "a run that leaves the plateau")
def _rate(evidence: Evidence, seen: _Observed) -> Comparison:
    detail = f"neuron {seen.neuron} grew at the rate {seen.rate:.6g}, forecast {seen.forecast_rate:.6g}"
    return equals(seen.rate, seen.forecast_rate, atol=evidence.parameter("rtol") * seen.forecast_rate, detail=detail)


def _forecast_numbers(evidence: Evidence) -> Constants:
    forecast = line_forecast(evidence)
    angles = forecast.angles.tolist() if evidence.dataset.d == 2 else None
    return {"rates": forecast.rates.tolist(), "signs": forecast.signs.tolist(), "angles": angles}


@dataclass(frozen=True, eq=False)
class Omnidirectionality:
    """How the neurons of a network are spread, and whether they can leave a bad fit.

    Parameters
    ----------
    occupied
        For each output sign, the activation patterns that hold a neuron, with their number.
    largest_gaps
        For each output sign, the largest angle in degrees that no direction w/|w| falls into; nan beyond the plane.
    forecast
        The directions in which a light neuron would grow under the present forces.
    is_reached
        For each of them, whether a neuron of the network flows there if the forces stay as they are.
    """

    occupied: dict[int, dict[tuple[int, ...], int]]
    largest_gaps: dict[int, float]
    forecast: EscapeForecast
    is_reached: BoolArray

    @property
    def is_trapped(self) -> bool:
        """Whether a better fit exists for one more neuron, but no neuron of this network is on its way there."""
        return len(self.forecast) > 0 and not bool(np.any(self.is_reached))


def omnidirectionality(network: Network, dataset: Dataset, loss: AbstractLoss) -> Omnidirectionality:
    """Where the neurons of a network stand and where the present forces would take them.

    References
    ----------
    Boursier & Flammarion (2024), Section 5 [boursier2024].
    """
    X, sizes, signs = dataset.X, row_norms(network.w), signs_on(network, dataset.X)
    lengths = np.linalg.norm(X, axis=1)
    occupied: dict[int, dict[tuple[int, ...], int]] = {}
    gaps: dict[int, float] = {}
    for sign in (1, -1):
        members = (np.sign(network.a) == sign) & (sizes > 0.0)
        patterns, counts = np.unique(signs[members], axis=0, return_counts=True)
        occupied[sign] = {tuple(map(int, u)): int(c) for u, c in zip(patterns, counts, strict=True)}
        gaps[sign] = _largest_gap(network.w[members])
    forces = loss.forces(network.outputs(X), dataset.y)
    rounding = FITTED_RTOL * float(np.abs(loss.label_forces(dataset.y)) @ lengths)
    forecast = escape_forecast(X, forces, leak=network.leak, atol=rounding)
    floor = max(rounding, NEGLIGIBLE * float(np.abs(forces) @ lengths))
    pulls = (np.where(signs > 0, 1.0, np.where(signs < 0, network.leak, 0.0)) * forces) @ X
    moving = np.flatnonzero((np.linalg.norm(pulls, axis=1) > floor) & (sizes > 0.0))
    reached = np.zeros(len(forecast), dtype=bool)
    if moving.size and len(forecast):
        outcome = align(X, forces, network.w[moving], network.a[moving], leak=network.leak)
        ended = outcome.indices >= 0
        cosines = outcome.directions[ended] @ forecast.directions.T
        reached = np.any((cosines > 1.0 - 1e-9) & (np.sign(outcome.a[ended])[:, None] == forecast.signs), axis=0)
    return Omnidirectionality(occupied, gaps, forecast, reached)


def _largest_gap(w: FloatArray) -> float:
    if w.shape[1] != 2:
        return float("nan")
    if not len(w):
        return 360.0
    angles = np.sort(np.degrees(np.arctan2(w[:, 1], w[:, 0])) % 360.0)
    return float(np.max(np.diff(np.append(angles, angles[0] + 360.0))))


def nature_of_limit(network: Network, dataset: Dataset, loss: AbstractLoss) -> tuple[bool, Escape | None, float]:
    """Whether some neuron is zero, a change of one neuron that lowers the loss, and the largest first-order gain.

    At a stationary point no escape and a gain of 0 make a local minimum; a zero neuron makes a saddle wherever a
    direction is left to grow in. Only a neuron that is exactly zero counts as zero here, however light the others are.

    References
    ----------
    Boursier & Flammarion (2024), Section 5 [boursier2024].
    """
    is_zero = bool(np.any((network.a == 0.0) & np.all(network.w == 0.0, axis=1)))
    point = stationarity(network, dataset, loss, kink_rtol=KINK)
    found = find_escape(network, dataset, loss, point, gain_rtol=GAIN_RTOL, zero_rtol=0.0)
    return is_zero, found.escape, found.gain


def _nature(evidence: Evidence) -> Comparison:
    has_zero, escape, gain = nature_of_limit(evidence.run.network, evidence.dataset, evidence.loss)
    if has_zero:
        words = "a zero neuron escapes" if escape is not None else "a zero neuron was found, but no escape"
        return all_of([(escape is not None, words)], detail=f"saddle: {words}")
    detail = f"local minimum: largest first-order gain of a neuron {gain:.2g} of the forces"
    return at_most(gain, GAIN_RTOL, detail=detail if escape is None else f"an escape was found, gain {gain:.2g}")


def _dominated_never_zero(evidence: Evidence) -> Comparison:
    """a_j^2 = a_j(0)^2 - |w_j(0)|^2 + |w_j|^2 never falls below its first two terms."""
    start, end = evidence.network, evidence.run.network
    room = start.balancedness()
    dominated = room > 1e-12 * start.a**2
    if not np.any(dominated):
        return nothing("no neuron starts strictly dominated")
    with np.errstate(divide="ignore"):
        logs = np.log(np.abs(end.a[dominated])) + end.log_scale - start.log_scale - 0.5 * np.log(room[dominated])
    detail = f"least ln |a_j| - ln sqrt(a_j(0)^2 - |w_j(0)|^2) over {int(dominated.sum())} dominated neurons"
    return at_least(float(logs.min()), 0.0, allowance=1e-9, detail=detail)


def _lost_cones(evidence: Evidence) -> Comparison:
    spread, mixed = omnidirectionality(evidence.run.network, evidence.dataset, evidence.loss), {}
    for sign, cones in spread.occupied.items():
        mixed[sign] = sum(count for u, count in cones.items() if max(u) > 0 and min(u) < 0)
    detail = (
        f"{mixed[1]} positive and {mixed[-1]} negative neurons stand across the data; largest empty angles "
        f"{spread.largest_gaps[1]:.4g} and {spread.largest_gaps[-1]:.4g} degrees"
    )
    return none_of(mixed[1] + mixed[-1], detail=detail)


def _is_trapped(evidence: Evidence) -> Comparison:
    spread = omnidirectionality(evidence.run.network, evidence.dataset, evidence.loss)
    words = f"{len(spread.forecast)} directions to grow in, {int(spread.is_reached.sum())} of them reached by a neuron"
    return all_of([(spread.is_trapped, words)], detail=words)


def _line_misfits(evidence: Evidence) -> Comparison:
    share = constants_of(evidence).loss_star / (0.5 * constants_of(evidence).mean_square_label)
    return judgement(share > FITTED_RTOL, share, f"the line leaves {share:.4g} of the loss of the zero network")


def _is_unbalanced(evidence: Evidence) -> Comparison:
    found = is_dominated(evidence)
    margin = None if found.margin is None else -found.margin
    return judgement(not found.holds, margin, found.detail)


def _keeps_directions(evidence: Evidence) -> Comparison:
    snapshot, distance = plateau(evidence)
    if distance > NEAR_THE_LINE:
        return undecided(f"no snapshot is near the line; the nearest is {distance:.2g} |y| away")
    spread = omnidirectionality(snapshot.network, evidence.dataset, evidence.loss)
    detail = f"at t = {snapshot.time:.6g}, nearest to the line, {int(spread.is_reached.sum())} escapes are reached"
    return judgement(not spread.is_trapped, None, detail)


def _global_minimum(evidence: Evidence) -> Comparison:
    run = evidence.run
    nothing = evidence.loss.total(np.zeros(evidence.dataset.n), evidence.dataset.y)
    kind = certify(run.network, evidence.dataset, evidence.loss, rtol=1e-5).kind
    detail = f"loss {run.loss:.3g} of {nothing:.3g} at zero output, certified {kind}"
    if kind is not Kind.GLOBAL_MINIMUM:
        return none_of(1, detail=detail)
    return at_most(run.loss / nothing, FITTED_RTOL, detail=detail)


def _sign_flips(evidence: Evidence) -> Comparison:
    flips = int(np.sum(np.sign(evidence.run.network.a) != np.sign(evidence.network.a)))
    return at_least(flips, 1.0, detail=f"{flips} of {evidence.network.num_neurons} output weights changed sign")
