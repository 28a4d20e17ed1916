"""Gradient descent on the population: Theorem 4.2, Corollary 4.3, Theorems A.1 to A.3 [lee2022].

All but Theorem A.1 hold up to O(eta) only (erratum E5); `descent_allowance` is the explicit form of that O(eta), and
the strict slack stands beside it in every detail.
"""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.papers.lee2022.paper import EXAMPLE, SETTING
from reluflow.papers.lee2022.plans import MAX_STEPS, DescentPlan, NeuronDescent
from reluflow.papers.lee2022.single_neuron.balanced_neuron import BalancedNeuron
from reluflow.papers.lee2022.single_neuron.bounds import Band, MagnitudeRange, angle_rates, magnitude_range
from reluflow.papers.lee2022.single_neuron.descent_bounds import (
    alignment_steps,
    balance_drift,
    descent_angle_band,
    descent_magnitude_band,
)
from reluflow.papers.lee2022.teacher_and_student import largest_step_rate, start
from reluflow.papers.lee2022.theorems.population_model import LAYERS, POPULATION_MODEL, START, once_turning
from reluflow.theory.comparison import Comparison, at_most, judgement, require
from reluflow.theory.evidence import Evidence
from reluflow.theory.measures import AtLeast, AtMost, Quantities
from reluflow.theory.theorem import Conclusion, Hypothesis, Parameter, Reference, Theorem

Side = Literal["lower", "upper"]

ROUNDING = 1e-12
SMALL = 0.05  # what "eta << 1/rate" is read as


def step_size(evidence: Evidence) -> float:
    """eta: given itself, or as `step` over the fastest rate of the flow."""
    given = dict(evidence.parameters)
    return float(given["eta"]) if "eta" in given else float(given["step"]) / largest_step_rate(start(evidence))


def descent_allowance(neuron: BalancedNeuron, eta: float) -> float:
    """2 eta (rate) (1 + log(R/r)): the relative amount by which descent may leave a band of the flow.

    The leading error of Euler's method carries the logarithm of a ratio of slopes (Theorem 4.1, corrected), which grows
    like log(R/r) for small starts.
    """
    limits = magnitude_range(neuron)
    return 2.0 * eta * largest_step_rate(neuron) * (1.0 + float(np.log(limits.largest / limits.smallest)))


def allowance(evidence: Evidence) -> float:
    """The same for the start and the step size of the evidence."""
    return descent_allowance(start(evidence), step_size(evidence))


def _relative_step(evidence: Evidence) -> float:
    """eta times the fastest rate of the flow."""
    return step_size(evidence) * largest_step_rate(start(evidence))


@once_turning
def _is_small_step(evidence: Evidence) -> Comparison:
    return AtMost(_relative_step, SMALL, words=r"$\eta$ times the fastest rate is {number:.4g}")(evidence)


SMALL_STEP = Hypothesis(
    "small-step", r"$\eta \ll 1/\mathrm{rate}$, read as $\eta$ times the fastest rate at most 0.05", _is_small_step
)
STEP = Parameter("step", 0.01, "step size times the fastest rate of the flow", low=0.0, high=1.0)
DESCENT_GAP = Parameter("gap", 0.001, "angle to the teacher until which descent is followed", low=1e-09, high=3.14)


def descent_plan(evidence: Evidence) -> DescentPlan:
    """Steps until the slowest rate has brought the gap down to the parameter."""
    neuron, eta = start(evidence), step_size(evidence)
    wanted = (np.log(0.5 * evidence.parameter("gap")) + neuron.psi) / np.log1p(-angle_rates(neuron)[0] * eta)
    return _steps(evidence, min(float(wanted), MAX_STEPS))


def _steps(evidence: Evidence, steps: float) -> DescentPlan:
    """So many steps of descent, and at least 100."""
    return DescentPlan(step_size(evidence), max(steps, 100.0))


def _run(evidence: Evidence) -> NeuronDescent:
    return evidence.recorded(NeuronDescent)


def _up_to_allowance(evidence: Evidence, slack: FloatArray, what: str) -> Comparison:
    """The largest relative violation against the allowance, with the strict slack in words."""
    run = _run(evidence)
    allowed = descent_allowance(run.start, run.step_size)
    index = int(np.argmin(slack))
    strict = float(slack[index])
    words = (
        rf"{what}: strict slack {strict:.3g} at $T$ = {int(run.steps[1:][index])}, allowed -{allowed:.3g} = $O(\eta)$"
    )
    return at_most(max(-strict, 0.0), allowed, detail=words)


# Theorem 4.2 ----------------------------------------------------------------------------------------------------------


def measured_range(evidence: Evidence) -> MagnitudeRange:
    """r and R as the run has them: the least and the largest of |w(T)| and all v_k(T)."""
    run = _run(evidence)
    everything = np.concatenate([run.magnitude, run.v.ravel()])
    return MagnitudeRange(float(np.min(everything)), float(np.max(everything)))


def _angle_side(evidence: Evidence, side: Side) -> Comparison:
    run = _run(evidence)
    band: Band = descent_angle_band(
        start(evidence), run.steps, step_size=run.step_size, magnitudes=measured_range(evidence)
    )
    if side == "upper":
        slack = np.log(band.upper[1:]) - np.log(run.gap[1:])
    else:
        binding = band.lower[1:] > 0.0
        slack = np.where(binding, np.log(run.gap[1:]) - np.log(np.where(binding, band.lower[1:], 1.0)), np.inf)
    return _up_to_allowance(evidence, slack, r"$\log(\pi - \varphi)$")


def _angle_grows(evidence: Evidence) -> FloatArray:
    gap = _run(evidence).gap
    return np.asarray(np.log(gap[:-1] / gap[1:]))


THM_4_2 = Theorem(
    "lee2022:thm4.2",
    Reference("lee2022", "Theorem 4.2"),
    r"For $q \ge 1$ the bounds of Theorem 3.9 hold for descent with $(1 - c \eta)^T$ for $e^{-ct}$, the cubic term "
    r"with $(1 - c \eta)^{3T}$, up to $O(\eta)$.",
    hypotheses=(*POPULATION_MODEL, SMALL_STEP),
    conclusions=(
        Conclusion(
            "lower", r"$\pi - \varphi(T)$ is above the lower curve up to $O(\eta)$", partial(_angle_side, side="lower")
        ),
        Conclusion(
            "upper", r"$\pi - \varphi(T)$ is below the upper curve up to $O(\eta)$", partial(_angle_side, side="upper")
        ),
        Conclusion(
            "grows",
            r"$\varphi(T)$ increases",
            AtLeast(
                _angle_grows,
                0.0,
                words=r"$\log(\pi - \varphi)$ falls by at least {measured:.3g} between recorded steps",
            ),
        ),
    ),
    constants=Quantities({"eta": step_size, "allowance": allowance}, others=(START,)),
    parameters=(LAYERS, STEP, DESCENT_GAP),
    plan=descent_plan,
    setting=SETTING,
    example=EXAMPLE,
    erratum=r"E5, E6: true up to $O(\eta)$ only, and the cubic term is misprinted.",
    departs="$r$ and $R$ are the least and largest magnitude of the run.",
)

# Corollary 4.3 --------------------------------------------------------------------------------------------------------


def _smallest_magnitude(evidence: Evidence) -> float:
    """r: the flow's own, less the drift that descent may have."""
    limits = magnitude_range(start(evidence))
    return limits.smallest * (1.0 - 2.0 * _relative_step(evidence))


def stopping_step(evidence: Evidence) -> float:
    """log((eps/2) tan(phi_0/2))/log(1 - phi_0 r^(q-1) V eta/(2 pi)); at most 0 means from the first step on."""
    return alignment_steps(
        start(evidence),
        tolerance=evidence.parameter("angle"),
        step_size=step_size(evidence),
        smallest=_smallest_magnitude(evidence),
    )


def _stopping_plan(evidence: Evidence) -> DescentPlan:
    return _steps(evidence, min(1.1 * stopping_step(evidence) + 10.0, MAX_STEPS))


@once_turning
def _stays_above(evidence: Evidence) -> Comparison:
    require(isinstance(evidence.record, NeuronDescent), "no descent was run")
    least, r = measured_range(evidence).smallest, _smallest_magnitude(evidence)
    return judgement(least > r, (least - r) / r, f"least magnitude {least:.6g}, $r$ = {r:.6g}")


def _aligned_after(evidence: Evidence) -> Comparison:
    """Largest angle at a recorded step beyond the stopping step, against the angle aimed at."""
    run, bound = _run(evidence), stopping_step(evidence)
    later = (run.steps > bound) & (run.steps >= 1)
    require(np.any(later), f"the run of {int(run.steps[-1])} steps ends before the stopping step {bound:.4g}")
    largest = float(np.max(run.gap[later]))
    first = run.steps[np.flatnonzero(run.gap < evidence.parameter("angle"))]
    words = (
        f"bound $T$ > {bound:.2f}; recorded angles beyond it at most {largest:.4g}, first below at $T$ = {first[:1]}"
    )
    return at_most(largest, evidence.parameter("angle"), detail=words)


COR_4_3 = Theorem(
    "lee2022:cor4.3",
    Reference("lee2022", "Corollary 4.3"),
    r"For $q \ge 1$ and $|w(T)| > r$, $\varphi(T) > \pi - \alpha$ for every "
    r"$T > \log((\alpha/2)\,\tan(\varphi_0/2))/\log(1 - \varphi_0 r^{q-1} V \eta/(2 \pi))$, $\alpha$ the angle "
    r"allowed.",
    hypotheses=(
        *POPULATION_MODEL,
        SMALL_STEP,
        Hypothesis("magnitude-range", "$r < |w(T)|$, $v_k(T)$ along the run", _stays_above, needs_trajectory=True),
    ),
    conclusions=(
        Conclusion(
            "aligned", r"$\pi - \varphi(T)$ is below the angle allowed beyond the stopping step", _aligned_after
        ),
    ),
    constants=Quantities({"eta": step_size, "r": _smallest_magnitude, "T": stopping_step}, others=(START,)),
    parameters=(LAYERS, STEP, Parameter("angle", 0.1, "angle to the teacher aimed at", low=0.0, high=3.14)),
    plan=_stopping_plan,
    setting=SETTING,
    example=EXAMPLE,
)

# Theorem A.1 ----------------------------------------------------------------------------------------------------------


def _exact_side(evidence: Evidence, side: Side) -> FloatArray:
    """Slack of the magnitude on one side of its band, in units of v*."""
    run = _run(evidence)
    band = descent_magnitude_band(start(evidence), run.steps, step_size=run.step_size)
    slack = run.magnitude - band.lower if side == "lower" else band.upper - run.magnitude
    return np.asarray(slack[1:] / run.start.teacher_magnitude)


def _long_plan(evidence: Evidence) -> DescentPlan:
    return _steps(evidence, 60.0 / step_size(evidence))


THM_A_1 = Theorem(
    "lee2022:thmA.1",
    Reference("lee2022", "Theorem A.1"),
    r"For $q = 0$, $0 < \eta < 2$ and $T \ge 1$, with $x = (1 - \eta/2)^T$: "
    r"$(1 - \varepsilon_0)(1 - x) v^* + |w_0| x < |w(T)| < (1 - x) v^* + |w_0| x$.",
    hypotheses=POPULATION_MODEL,
    conclusions=(
        Conclusion(
            "lower",
            "$|w(T)|$ is above the lower curve",
            AtLeast(
                partial(_exact_side, side="lower"),
                0.0,
                allowance=ROUNDING,
                words="smallest slack {measured:.3g} $v^*$, 1e-12 forgiven",
            ),
        ),
        Conclusion(
            "upper",
            "$|w(T)|$ is below the upper curve",
            AtLeast(
                partial(_exact_side, side="upper"),
                0.0,
                allowance=ROUNDING,
                words="smallest slack {measured:.3g} $v^*$, 1e-12 forgiven",
            ),
        ),
    ),
    constants=Quantities({"eta": step_size}, others=(START,)),
    parameters=(Parameter("eta", 0.5, "step size", low=0.0, high=2.0),),
    plan=_long_plan,
    setting=SETTING,
    example=EXAMPLE,
    departs=r"The paper asks for $\eta \ll 2$; projection and the growing angle prove it for every $\eta$ below 2.",
)

# Theorem A.2 ----------------------------------------------------------------------------------------------------------

THM_A_2 = Theorem(
    "lee2022:thmA.2",
    Reference("lee2022", "Theorem A.2"),
    r"For $q = 0$ the bounds of Theorem 3.4 hold for descent with $(1 - c \eta)^T$ for $e^{-ct}$, the cubic term "
    r"with $(1 - c \eta)^{3T}$, up to $O(\eta)$.",
    hypotheses=(*POPULATION_MODEL, SMALL_STEP),
    conclusions=(
        Conclusion(
            "lower", r"$\pi - \varphi(T)$ is above the lower curve up to $O(\eta)$", partial(_angle_side, side="lower")
        ),
        Conclusion(
            "upper", r"$\pi - \varphi(T)$ is below the upper curve up to $O(\eta)$", partial(_angle_side, side="upper")
        ),
        Conclusion(
            "grows",
            r"$\varphi(T)$ increases",
            AtLeast(
                _angle_grows,
                0.0,
                words=r"$\log(\pi - \varphi)$ falls by at least {measured:.3g} between recorded steps",
            ),
        ),
    ),
    constants=Quantities({"eta": step_size, "allowance": allowance}, others=(START,)),
    parameters=(STEP, DESCENT_GAP),
    plan=descent_plan,
    setting=SETTING,
    example=EXAMPLE,
    erratum=r"E6: printed with $(1 - 3c \eta)^T$; the proof's function gives $(1 - c \eta)^{3T}$.",
    departs="$r$ and $R$ are the least and largest magnitude of the run.",
)

# Theorem A.3 ----------------------------------------------------------------------------------------------------------


def _magnitude_side(evidence: Evidence, side: Side, part: Literal["w", "v"]) -> Comparison:
    run = _run(evidence)
    band = descent_magnitude_band(start(evidence), run.steps, step_size=run.step_size)
    values = run.magnitude if part == "w" else run.v[:, 0]
    slack = np.log(values / band.lower) if side == "lower" else np.log(band.upper / values)
    return _up_to_allowance(evidence, slack[1:], f"log |{part}|")


def _drift(evidence: Evidence) -> Comparison:
    """(|w|^2 - v^2)/eta at the end of the run against its leading value."""
    run = _run(evidence)
    measured = float((run.magnitude[-1] ** 2 - run.v[-1, 0] ** 2) / run.step_size)
    expected = balance_drift(start(evidence))
    relative = run.step_size * largest_step_rate(run.start)
    words = rf"$(|w|^2 - v^2)/\eta$ = {measured:.6g}, leading value {expected:.6g}"
    return at_most(abs(measured / expected - 1.0), 5.0 * relative, detail=words)


def drift(evidence: Evidence) -> float:
    """The leading value of (|w|^2 - v^2)/eta."""
    return balance_drift(start(evidence))


THM_A_3 = Theorem(
    "lee2022:thmA.3",
    Reference("lee2022", "Theorem A.3"),
    r"For $q = 1$ the bounds of Theorem 3.8 hold for $|w(T)|$ and $v(T)$ under descent with "
    r"$(1 - (1 - \varepsilon) (v^*)^2 \eta)^T$ for the exponential, up to $O(\eta)$; $|w|^2 - v^2$ tends to $\eta$ "
    r"times the integral of $v^2 (d\varphi/dt)^2$.",
    hypotheses=(*POPULATION_MODEL, SMALL_STEP),
    conclusions=(
        Conclusion(
            "lower-w",
            r"$|w(T)|$ is above the lower curve up to $O(\eta)$",
            partial(_magnitude_side, side="lower", part="w"),
        ),
        Conclusion(
            "upper-w",
            r"$|w(T)|$ is below the upper curve up to $O(\eta)$",
            partial(_magnitude_side, side="upper", part="w"),
        ),
        Conclusion(
            "lower-v",
            r"$v(T)$ is above the lower curve up to $O(\eta)$",
            partial(_magnitude_side, side="lower", part="v"),
        ),
        Conclusion(
            "upper-v",
            r"$v(T)$ is below the upper curve up to $O(\eta)$",
            partial(_magnitude_side, side="upper", part="v"),
        ),
        Conclusion("drift", "descent leaves balance by the stated amount", _drift),
    ),
    constants=Quantities({"eta": step_size, "allowance": allowance, "drift": drift}, others=(START,)),
    parameters=(
        Parameter("q", 1.0, "number of scalar layers; the result is about 1", low=0.5, high=1.5),
        STEP,
        DESCENT_GAP,
    ),
    plan=descent_plan,
    setting=SETTING,
    example=EXAMPLE,
    erratum="E5: printed as strict bounds; $v$ breaks the lower one at $T = 1$, and $|w|$ ends above $v^*$.",
)
