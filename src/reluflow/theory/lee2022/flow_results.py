"""The flow of one neuron under any number of scalar layers: Sec. 3 with Eq. (8), measured on runs [lee2022]."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import BoolArray, FloatArray
from reluflow.single_neuron.balanced_trajectory import BalancedTrajectory
from reluflow.single_neuron.bounds import Band, angle_band, magnitude_band, vanishing_start_band
from reluflow.single_neuron.comparison import escape_time
from reluflow.single_neuron.full_parameter_flow import ParameterTrajectory
from reluflow.single_neuron.magnitude_angle_flow import balanced_flow
from reluflow.single_neuron.one_layer import one_layer_flow, vanishing_start_upper_bound_holds_late
from reluflow.single_neuron.population import population_gradient
from reluflow.theory.comparison import Comparison, at_least, at_most, none_of, nothing, require, worst_compared
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.lee2022.model import magnitude_limits, start, student, teacher
from reluflow.theory.lee2022.runs import run_of

ROUNDING = 1e-12  # relative; quadrature and closed forms agree to 1e-13, and bounds touch the run at t = 0 and infinity

ARRIVED = 1e-10  # in units of v*
SMALLEST_GAP = 1e-12  # radians; below it an angle is rounding


def flow(evidence: Evidence) -> BalancedTrajectory:
    """The recorded run."""
    return run_of(evidence, BalancedTrajectory)


def _smallest(slack: FloatArray, times: FloatArray, unit: str) -> Comparison:
    """The smallest slack over t > 0, with its time; a value that is no number counts as the smallest."""
    later = np.flatnonzero((times > 0.0) & (slack < np.inf) | np.isnan(slack))
    require(later.size != 0, "a recorded time at which the bound says something")
    index = later[np.argmin(slack[later])]
    value = float(slack[index])
    words = f"smallest slack {value:.3g} {unit}, at t = {times[index]:.4g}; {ROUNDING:g} forgiven"
    return at_least(value, 0.0, allowance=ROUNDING, detail=words)


def has_arrived(evidence: Evidence) -> BoolArray:
    """Times at which the upper curve of the magnitude equals v* to nearly all digits: a difference from it is rounding.

    Said of the curve, not of the run: a run that claims to have arrived too early must not escape its bounds.
    """
    return np.asarray(np.abs(magnitudes(evidence).upper / start(evidence).teacher_magnitude - 1.0) < 1e-11)


def above_lower(evidence: Evidence, band: Band) -> Comparison:
    """v(t) above the lower curve, in units of v*."""
    run = flow(evidence)
    return _smallest((run.magnitude - band.lower) / run.start.teacher_magnitude, run.times, "v*")


def below_upper(evidence: Evidence, band: Band) -> Comparison:
    """v(t) below the upper curve, in units of v*; where the curve has arrived ten of its roundings are forgiven."""
    run = flow(evidence)
    slack = (band.upper - run.magnitude) / run.start.teacher_magnitude
    return _smallest(slack + np.where(has_arrived(evidence), ARRIVED, 0.0), run.times, "v*")


@computed_once
def magnitudes(evidence: Evidence) -> Band:
    """Theorems 3.3 and 3.8 from the start, on the recorded times."""
    run = flow(evidence)
    return magnitude_band(start(evidence), run.times)


def gap_above_lower(evidence: Evidence, *, sharp: bool = False) -> Comparison:
    """log of gap over its lower curve; a lower curve at or below 0 binds nothing."""
    run = flow(evidence)
    band = angle_band(start(evidence), run.times, sharp=sharp)
    slack = np.full_like(run.gap, np.inf)
    seen = band.lower > SMALLEST_GAP  # at the very end the rates are lost to rounding of the exponent
    with np.errstate(divide="ignore"):  # a gap of 0 lies below every curve
        slack[seen] = np.log(run.gap[seen]) - np.log(band.lower[seen])
    return _smallest(slack, run.times, "in log(pi - phi)")


def gap_below_upper(evidence: Evidence, *, sharp: bool = False) -> Comparison:
    """log of the upper curve over the gap."""
    run = flow(evidence)
    band = angle_band(start(evidence), run.times, sharp=sharp)
    slack = np.log(np.maximum(band.upper, SMALLEST_GAP)) - np.log(np.maximum(run.gap, SMALLEST_GAP))
    return _smallest(slack, run.times, "in log(pi - phi)")


def within_range(evidence: Evidence) -> Comparison:
    """r <= v(t) <= R with r = min(v_0, v*(1-eps_0)^(1/(q+1))), R = max(v_0, v*), in units of v*."""
    run, limits = flow(evidence), magnitude_limits(evidence)
    slack = np.minimum(run.magnitude - limits.smallest, limits.largest - run.magnitude)
    return _smallest(slack / run.start.teacher_magnitude, run.times, "v*")


def angle_grows(evidence: Evidence) -> Comparison:
    """Smallest increment of log tan(phi/2) between recorded times."""
    psi = flow(evidence).psi
    words = f"log tan(phi/2) grows by at least {{measured:.3g}} between recorded times, to {psi[-1]:.4g}"
    return worst_compared(np.diff(psi), "at_least", np.finfo(np.float64).tiny, words=words)


def distance_at_end(evidence: Evidence) -> Comparison:
    """|w - w*|/v* at the last time, from magnitude and angle."""
    run = flow(evidence)
    ratio, gap = float(np.exp(run.log_ratio[-1])), float(run.gap[-1])
    distance = float(np.hypot(np.expm1(run.log_ratio[-1]), 2.0 * np.sqrt(ratio) * np.sin(0.5 * gap)))
    return at_most(distance, CONVERGED, detail=f"|w - w*| = {distance:.2g} v* at t = {run.times[-1]:.4g}")


CONVERGED = 1e-9  # the run ends 40 relaxation times after the angle has passed `gap`


_NUM_POINTS = 24
_AWAY = 1e-5  # relative distance to the fixed point below which time is no longer resolved by u


def printed_antiderivative(q: int, u: ArrayLike, level: float) -> FloatArray:
    """F(u; A) = u^(1-q)/((q-1) A) 2F1(1, (1-q)/(q+1); 2/(q+1); u^(q+1)/A), for q >= 2 and u below the fixed point.

    Notes
    -----
    SciPy's 2F1 is infinite for arguments above 1, so above the fixed point the integral itself is used.

    References
    ----------
    Lee et al. (2022), Thm. 3.8 [lee2022].
    """
    from scipy.special import hyp2f1

    value = np.asarray(u, dtype=np.float64)
    series = hyp2f1(1.0, (1.0 - q) / (q + 1.0), 2.0 / (q + 1.0), value ** (q + 1) / level)
    return np.asarray(value ** (1.0 - q) / ((q - 1) * level) * series)


def travel_time(q: int, initial: float, u: float, level: float) -> float:
    """t = 2 int_u^{u_0} ds/(s^q (s^(q+1) - A)) by adaptive quadrature in log s."""
    from scipy.integrate import quad

    def integrand(log_s: float) -> float:
        s = np.exp(log_s)
        return float(2.0 * s ** (1 - q) / (s ** (q + 1) - level))

    return float(quad(integrand, np.log(u), np.log(initial), epsabs=0.0, epsrel=1e-12, limit=400)[0])


def implicit_error(q: int, initial: float, level: float, curve: FloatArray, times: FloatArray) -> float:
    """Largest relative error of the time the implicit equation gives to points of a comparison curve.

    Points next to the fixed point are left out, where u no longer tells the time.
    """
    fixed = level ** (1.0 / (q + 1))
    seen = np.flatnonzero(
        (times > 0.0) & (np.abs(curve / fixed - 1.0) > _AWAY) & (np.abs(curve / initial - 1.0) > _AWAY)
    )
    if seen.size == 0:
        return 0.0
    chosen = np.unique(seen[np.linspace(0, seen.size - 1, _NUM_POINTS).astype(np.intp)])
    if q >= 2 and initial < fixed:
        found = 2.0 * (printed_antiderivative(q, initial, level) - printed_antiderivative(q, curve[chosen], level))
    else:
        found = np.array([travel_time(q, initial, float(u), level) for u in curve[chosen]])
    return float(np.max(np.abs(found / times[chosen] - 1.0)))


INTEGRATION = 1e-8  # relative for |w|, radians for the angle; the integrator runs at 1e-11, and 2e-9 was seen
STANDARD_ERRORS = 6.0  # two-sided chance 2e-9 under a Gaussian


def _vector_against(evidence: Evidence, part: str, reference: str = "two-variable system") -> Comparison:
    """Largest difference of the vector flow's |w| (relative) or gap from the two-variable system or the closed form."""
    run = run_of(evidence, ParameterTrajectory)
    neuron = start(evidence)
    other = one_layer_flow(neuron, run.times) if reference == "closed form" else balanced_flow(neuron, run.times)
    away = run.magnitude / other.magnitude - 1.0 if part == "magnitude" else run.gap - other.gap
    worst = float(np.max(np.abs(away)))
    return at_most(worst, INTEGRATION, detail=f"largest difference of the {part} from the {reference} {worst:.2g}")


def sample_gradient(evidence: Evidence) -> Comparison:
    """Gradient of the finite sample at the start against the population's, in standard errors of its coordinates."""
    one, other = student(evidence), teacher(evidence)
    X, y = evidence.dataset.X, evidence.dataset.y
    residuals = evidence.witness("residuals", lambda: one.outputs(X) - y)
    terms = (one.product * residuals * (X @ one.w > 0))[:, None] * X
    error = terms.std(axis=0, ddof=1) / np.sqrt(len(X))
    away = float(np.max(np.abs(terms.mean(axis=0) - population_gradient(one, other).w) / np.maximum(error, 1e-300)))
    return at_most(away, STANDARD_ERRORS, detail=f"largest deviation {away:.3g} standard errors over {len(X)} samples")


def _vanishing_band(evidence: Evidence) -> Band:
    return vanishing_start_band(start(evidence), flow(evidence).times)


def _broken_at_first(evidence: Evidence) -> Comparison:
    """The printed upper half must be broken at the first recorded time: |w_0| > 0 = its value at t = 0."""
    run, band = flow(evidence), _vanishing_band(evidence)
    first = int(np.flatnonzero(run.times > 0.0)[0])
    excess = float(run.magnitude[first] - band.upper[first])
    words = f"|w| - (1 - e^(-t/2)) v* = {excess:.3g} at t = {run.times[first]:.3g}"
    return none_of(int(excess <= 0.0), detail=words)


def _late_side(evidence: Evidence) -> Comparison:
    """The sign of the printed upper half's slack late in the run against the sign of pi cos phi_0 + sin phi_0."""
    run, band = flow(evidence), _vanishing_band(evidence)
    slack = (band.upper - run.magnitude) * np.exp(0.5 * run.times)  # the difference itself decays like e^(-t/2)
    late = np.flatnonzero((run.gap < 1e-2) & (np.abs(band.upper - run.magnitude) > 1e-11 * run.start.teacher_magnitude))
    require(late.size != 0, "no time is late enough and still resolved")
    phi = start(evidence).phi
    expected = bool(vanishing_start_upper_bound_holds_late(phi))
    measured = bool(slack[late[-1]] > 0.0)
    late_words = "it holds late" if measured else "it fails late"
    words = f"pi cos phi_0 + sin phi_0 = {np.pi * np.cos(phi) + np.sin(phi):.4g}; {late_words}"
    return none_of(int(measured is not expected), detail=words)


CONSERVED = 1e-8  # relative drift of v_k^2 - |w|^2; the integrator at 1e-11 leaves 4e-11


# Proposition 3.5 ------------------------------------------------------------------------------------------------------


def _positive_layers(evidence: Evidence) -> FloatArray:
    run = run_of(evidence, ParameterTrajectory)
    return np.asarray(run.v / run.v[0])


def _conserved(evidence: Evidence) -> FloatArray:
    run = run_of(evidence, ParameterTrajectory)
    size = np.maximum(np.square(run.v), np.square(run.magnitude)[:, None])
    return np.asarray(np.abs(run.balance - run.balance[0]) / size)


def nested_output(w: np.ndarray, v: np.ndarray, X: np.ndarray) -> np.ndarray:
    """f(x) = v_1 s(v_2 s(... s(v_q s(<w, x>)))), evaluated layer by layer for any signs of the v_k."""
    value = np.maximum(X @ w, 0.0)
    for scalar in v[:0:-1]:
        value = np.maximum(scalar * value, 0.0)
    return np.asarray(v[0] * value if v.size else value)


def _dead_layer(evidence: Evidence) -> Comparison:
    """Largest output on the samples with v_2 < 0, and with every parameter moved by 1e-3 of its size."""
    one, rng = student(evidence), np.random.default_rng(0)
    if one.q < 2:
        return nothing("with one scalar layer there is none below the first")
    v = evidence.witness("dead layers", lambda: np.where(np.arange(one.q) == 1, -one.v, one.v))
    outputs = []
    for size in (0.0, 1e-3, 1e-3):
        moved_w = one.w * (1.0 + size * rng.standard_normal(one.w.size))
        moved_v = v * (1.0 + size * rng.standard_normal(v.size))
        outputs.append(np.abs(nested_output(moved_w, moved_v, evidence.dataset.X)))
    return worst_compared(outputs, "at_most", 0.0, words="largest output with v_2 < 0 is {measured:.3g}, also nearby")


# Propositions and theorems of the balanced flow -----------------------------------------------------------------------


def _implicit(evidence: Evidence) -> Comparison:
    """Largest relative error of the implicit equation along the two comparison curves."""
    neuron, band, times = start(evidence), magnitudes(evidence), flow(evidence).times
    errors = [
        implicit_error(neuron.q, neuron.magnitude, level * neuron.teacher_power, curve, times)
        for level, curve in ((neuron.overlap, band.lower), (1.0, band.upper))
    ]
    return at_most(max(errors), 1e-8, detail=f"relative errors {errors[0]:.2g} (lower), {errors[1]:.2g} (upper)")


def _escape_time(evidence: Evidence) -> float:
    """How long a small start of two or more layers stays small."""
    neuron = start(evidence)
    require(neuron.q >= 2 and neuron.magnitude < neuron.threshold, "nothing to escape from")
    return escape_time(neuron.q, neuron.magnitude, neuron.teacher_power)
