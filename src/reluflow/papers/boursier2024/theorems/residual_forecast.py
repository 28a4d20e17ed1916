"""Section 5 and App. B.2: which neurons leave the least-squares line, where to and how fast [boursier2024]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray, IntArray
from reluflow.dynamics.stopping import Stationary
from reluflow.dynamics.trajectory import Snapshot
from reluflow.geometry.extremal import extremal_vectors_of
from reluflow.network.network import row_norms
from reluflow.papers.boursier2024.assumptions import ACUTE_POSITIVE_DATA
from reluflow.papers.boursier2024.paper import EXAMPLE
from reluflow.papers.boursier2024.theorems.phase_states import log_lambda_of
from reluflow.papers.boursier2024.theorems.spurious_constants import constants_of
from reluflow.papers.boursier2024.theorems.spurious_hypotheses import MEAN_HALF_SQUARE, on_a_run
from reluflow.theory.comparison import Comparison, Source, at_most, equals, judgement, requires
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.hypotheses import RELU, assumed
from reluflow.theory.measures import Constants
from reluflow.theory.setting import Setting
from reluflow.theory.theorem import Conclusion, Hypothesis, Parameter, Reference, Theorem

DEGREES = Parameter("degrees", 1.0, "largest angle between the growing neuron and the forecast", low=0.0, high=90.0)
RATE_TOLERANCE = Parameter(
    "rtol", 0.05, "largest relative difference between its rate and the forecast", low=0.0, high=1.0
)

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


@on_a_run
def _leaves_a_plateau(evidence: Evidence) -> Comparison:
    (start, distance), end = plateau(evidence), escape(evidence)
    rates = line_forecast(evidence).rates
    folds = 0.0 if end is None else (end.time - start.time) * float(np.max(rates, initial=0.0))
    words = "is never left" if end is None else f"is left {folds:.3g} e-folds later, at $t$ = {end.time:.6g}"
    detail = f"the run comes within {distance:.2g} $|y|$ of the line at $t$ = {start.time:.6g}, which {words}"
    return judgement(distance < NEAR_THE_LINE and folds > LEAST_FOLDS, folds - LEAST_FOLDS, detail)


LEAVES_A_PLATEAU = Hypothesis(
    "plateau",
    "the run comes to the least-squares line and leaves it again after three e-folds or more",
    _leaves_a_plateau,
    is_regime=True,
    needs_trajectory=True,
)


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
    detail = f"neuron {seen.neuron + 1}, which grew most, is {seen.degrees:.3g} degrees from a forecast of its sign"
    return at_most(seen.degrees, evidence.parameter("degrees"), detail=detail)


@requires(_observed, "a run that leaves the plateau")
def _rate(evidence: Evidence, seen: _Observed) -> Comparison:
    detail = f"neuron {seen.neuron + 1} grew at the rate {seen.rate:.6g}, forecast {seen.forecast_rate:.6g}"
    return equals(seen.rate, seen.forecast_rate, atol=evidence.parameter("rtol") * seen.forecast_rate, detail=detail)


def _forecast_numbers(evidence: Evidence) -> Constants:
    forecast = line_forecast(evidence)
    angles = forecast.angles.tolist() if evidence.dataset.d == 2 else None
    return {"rates": forecast.rates.tolist(), "signs": forecast.signs.tolist(), "angles": angles}


APP_B_2 = Theorem(
    "boursier2024:appB.2",
    Reference("boursier2024", "Section 5 and Appendix B.2"),
    "Training goes from plateau to plateau: the neurons that leave the least-squares line are aligned with an "
    "extremal vector of the residual there, and grow at its length.",
    hypotheses=(MEAN_HALF_SQUARE, RELU, assumed(ACUTE_POSITIVE_DATA), LEAVES_A_PLATEAU),
    conclusions=(
        Conclusion("direction", "the neuron that grows points along a forecast direction of its sign", _direction),
        Conclusion(
            "rate",
            "its rate over the second half of the plateau is the length of that extremal vector",
            _rate,
            source=Source.RELUFLOW,
        ),
    ),
    predictions=_forecast_numbers,
    parameters=(DEGREES, RATE_TOLERANCE),
    plan=plateau_plan,
    setting=Setting(init="unbalanced", width=100),
    example=EXAMPLE,
    departs="An observation of the paper made quantitative: it names the bundles that grow, not their rates.",
)
