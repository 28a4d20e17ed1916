"""Approximation (4) and Lemmas 1 to 4, 10: while outputs are small every direction follows s_j P_j x_a [min2024].

No assumption on the data and any leak in [0, 1] (Remark 5).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.network.network import row_norms
from reluflow.papers.min2024.assumptions import SUMMED_LOSS, UNIT_FORCE
from reluflow.papers.min2024.paper import EXAMPLE, SETTING
from reluflow.papers.min2024.theorems.constants import certified_horizon, data_constants, log_small_scale, start_norms
from reluflow.papers.min2024.theorems.landmarks import alignment_plan
from reluflow.papers.min2024.theorems.moving_neurons import Moment, force_excess, moments, moments_until
from reluflow.papers.min2024.theorems.shared_hypotheses import APPROXIMATION, BINARY, NONZERO_NEURONS
from reluflow.theory.comparison import (
    Comparison,
    Level,
    Values,
    at_most,
    fitted_slope,
    judgement,
    nothing,
    require,
    requires,
    worst_compared,
)
from reluflow.theory.elsewhere import condition, part
from reluflow.theory.evidence import Evidence
from reluflow.theory.flow_plan import FlowPlan
from reluflow.theory.hypotheses import BALANCED, assumed
from reluflow.theory.measures import AtLeast, AtMost, Constants, Equals, ScaledDownTo
from reluflow.theory.theorem import Conclusion, Hypothesis, Reference, Theorem

ROUNDING = 1e-12  # relative; the ratios below come out with errors near 1e-15


# Lemma 2 --------------------------------------------------------------------------------------------------------------


def _unit_slope(evidence: Evidence) -> Comparison:
    labels = np.array([-1.0, 1.0])
    gap = float(np.max(np.abs(evidence.loss.factor * evidence.loss.force_at_zero(labels) - labels)))
    return judgement(gap <= 1e-15, -gap, f"the force at zero output misses the label by {gap:.3g}")


@dataclass(frozen=True, eq=False)
class OutputGrid:
    """Outputs in [-1, 1] at which a force is tried."""

    outputs: FloatArray


def _output_grid(evidence: Evidence) -> OutputGrid:
    return OutputGrid(np.linspace(-1.0, 1.0, 4001))


def _force_is_near_the_label(evidence: Evidence) -> Values:
    outputs = evidence.recorded(OutputGrid).outputs
    outputs = outputs[outputs != 0.0]
    for label in (-1.0, 1.0):
        force = evidence.loss.factor * evidence.loss.force(outputs, np.full_like(outputs, label))
        yield np.abs(force - label) / np.abs(outputs)


LEMMA_2 = Theorem(
    "min2024:lemma2",
    Reference("min2024", "Lemma 2"),
    r"$|-d\ell/df(y, f) - y| \le 2|f|$ for $y = \pm 1$ and $|f| \le 1$.",
    hypotheses=(Hypothesis("unit-slope", "the force at zero output is the label", _unit_slope),),
    conclusions=(
        Conclusion(
            "force",
            "the force is within $2|f|$ of the label",
            AtMost(_force_is_near_the_label, 2.0, words="largest $|F - y|/|f|$ of the force $F$ is {measured:.6g}"),
        ),
    ),
    record=_output_grid,
    setting=SETTING,
    example=EXAMPLE,
    erratum="E4: the main text's logistic loss lacks the factor 2; its force at 0 is $y/2$.",
)

REMARK_4 = condition(
    "min2024:remark4", "Remark 4", UNIT_FORCE, "Lemmas 1, 3, 4 hold for any loss that satisfies Lemma 2"
)


# Lemma 3 --------------------------------------------------------------------------------------------------------------


def _log_norm_bound(evidence: Evidence, factor: float = 1.0) -> float:
    """log(eps W_max^2/sqrt(m)), plus that of a factor: 1 is the sharp form of Lemma 3, 2 the printed one."""
    network, largest = evidence.network, 2.0 * math.log(start_norms(evidence)[1])
    return network.log_scale + largest - 0.5 * math.log(network.num_neurons) + math.log(factor)


def _log_output_bound(evidence: Evidence, factor: float = 1.0) -> float:
    """log(eps sqrt(m) X_max W_max^2), plus that of a factor."""
    m, data = evidence.network.num_neurons, data_constants(evidence)
    return _log_norm_bound(evidence, factor) + math.log(m) + math.log(data.largest_norm)


def log_at_most(log_measured: float, log_bound: float, *, detail: str) -> Comparison:
    """`at_most` for logarithms; the logarithm of 0 satisfies any bound, with no slack to print."""
    if log_measured == -math.inf:
        return nothing(f"{detail}: it vanishes")
    return at_most(log_measured, log_bound, detail=detail)


def _certified(evidence: Evidence) -> tuple[Moment, ...]:
    return require(moments_until(evidence, certified_horizon(evidence)), "no snapshot in $[0, T]$")


def norms_stay_small(evidence: Evidence, factor: float) -> Comparison:
    """max |w_j|^2 on [0, T] is at most factor times the sharp bound of Lemma 3; logarithms."""
    measured = max(2.0 * float(np.max(moment.log_norms)) for moment in _certified(evidence))
    bound = _log_norm_bound(evidence, factor)
    return at_most(measured, bound, detail=rf"$\log\,\max|w_j|^2$ = {measured:.6g}, at most {bound:.6g} on $[0, T]$")


def outputs_stay_small(evidence: Evidence, factor: float) -> Comparison:
    """max |f| on [0, T] is at most factor times the sharp bound of Lemma 3; logarithms."""
    measured = max(moment.log_largest_output for moment in _certified(evidence))
    bound = _log_output_bound(evidence, factor)
    return log_at_most(measured, bound, detail=rf"$\log\,\max|f|$ = {measured:.6g}, at most {bound:.6g} on $[0, T]$")


def _growth_per_neuron(evidence: Evidence) -> Values:
    """Groenwall: log |w_j(t)|^2 <= log |w_j(0)|^2 + 2 n X_max (1 + 4 eps sqrt(m) X_max W_max^2) t."""
    data, start = data_constants(evidence), evidence.network
    first = np.log(row_norms(start.w)) + start.log_scale
    rate = data.n * data.largest_norm * (1.0 + 4.0 * math.exp(_log_output_bound(evidence)))
    for moment in moments_until(evidence, certified_horizon(evidence)):
        if moment.time > 0.0:
            yield (moment.log_norms - first - rate * moment.time)[~np.isnan(moment.log_norms)]


def _small_constants(evidence: Evidence) -> Constants:
    return {
        "log_scale": evidence.network.log_scale,
        "T": certified_horizon(evidence),
        "log_norm_square_bound": _log_norm_bound(evidence, 2.0),
        "log_output_bound": _log_output_bound(evidence, 2.0),
        "X_max": data_constants(evidence).largest_norm,
        "W_max": start_norms(evidence)[1],
    }


LEMMA_3 = Theorem(
    "min2024:lemma3",
    Reference("min2024", "Lemma 3"),
    r"For $\varepsilon \le 1/(4 \sqrt{m} X_{\max} W_{\max}^2)$ norms and outputs stay below twice "
    r"$\varepsilon W_{\max}^2/\sqrt{m}$ and twice $\varepsilon \sqrt{m} X_{\max} W_{\max}^2$ until "
    r"$T = \log(1/(\sqrt{m} \varepsilon))/(4 n X_{\max})$.",
    hypotheses=APPROXIMATION,
    conclusions=(
        Conclusion(
            "norms",
            r"$\max|w_j|^2 \le 2 \varepsilon W_{\max}^2/\sqrt{m}$; logarithms compared",
            partial(norms_stay_small, factor=2.0),
        ),
        Conclusion(
            "outputs",
            r"$\max|f| \le 2 \varepsilon \sqrt{m} X_{\max} W_{\max}^2$; logarithms",
            partial(outputs_stay_small, factor=2.0),
        ),
        Conclusion("norms-sharp", "the same without the factor 2", partial(norms_stay_small, factor=1.0)),
        Conclusion("outputs-sharp", "the same without the factor 2", partial(outputs_stay_small, factor=1.0)),
        Conclusion(
            "growth",
            r"each $|w_j|^2$ grows at most like $\exp(2 n X_{\max} (1 + \dots) t)$",
            AtMost(
                _growth_per_neuron,
                0.0,
                allowance=1e-09,
                words=r"$\log|w_j(t)|$ exceeds its bound by at most {measured:.3g} (rounding 1e-9)",
                without="no snapshot in $(0, T]$",
            ),
        ),
    ),
    constants=_small_constants,
    plan=alignment_plan,
    log_scale=ScaledDownTo(log_small_scale),
    setting=SETTING,
    example=EXAMPLE,
)


# Lemma 4 --------------------------------------------------------------------------------------------------------------


def _past_the_horizon(evidence: Evidence) -> FlowPlan:
    """Past T, to where outputs are not small: Lemmas 4 and 10 speak of max|f| <= 1, whenever that is."""
    return FlowPlan(times=tuple(0.25 * k for k in range(25)))


def _small_moments(evidence: Evidence) -> tuple[Moment, ...]:
    return tuple(moment for moment in moments(evidence) if moment.log_largest_output <= 0.0)


@requires(_small_moments, r"no snapshot with $\max|f| \le 1$")
def _error_ratio(evidence: Evidence, found: tuple[Moment, ...]) -> Comparison:
    data = data_constants(evidence)
    worst = max(float(np.max(moment.relative_error())) for moment in found) / (2.0 * data.n * data.largest_norm)
    return at_most(
        worst, 1.0, detail=rf"largest error over $2 n X_{{\max}}\,\max|f|$ is {worst:.6g} in {len(found)} snapshots"
    )


def _error_identity(evidence: Evidence) -> Comparison:
    """The error from the two velocities against the one from the excess force, where f is not tiny."""
    small, differences = _small_moments(evidence), []
    found = [moment for moment in small if moment.log_largest_output > math.log(1e-4)] or small[-1:]
    for moment in found:
        direct = moment.turning - moment.signs[:, None] * moment.across(moment.active_sums)
        excess = moment.slopes * force_excess(evidence.loss, moment.outputs, moment.data.y)
        identity = (moment.signs * moment.ratios)[:, None] * moment.across(excess @ moment.data.X)
        differences.append(np.abs(direct - identity))
    words = f"the two ways differ by {{measured:.3g}} in {len(found)} snapshots"
    return worst_compared(differences, "at_most", ROUNDING, words=words)


LEMMA_4 = Theorem(
    "min2024:lemma4",
    Reference("min2024", "Lemma 4"),
    r"Whenever $\max|f| \le 1$, $|d/dt(w_j/|w_j|) - s_j P_j x_a(w_j)| \le 2 n X_{\max}\,\max|f|$ for every neuron.",
    hypotheses=(BINARY, assumed(UNIT_FORCE), assumed(SUMMED_LOSS), BALANCED, NONZERO_NEURONS),
    conclusions=(
        Conclusion("error", r"error over $2 n X_{\max}\,\max|f|$ is at most 1", _error_ratio),
        Conclusion("identity", r"the error is $|P_j \sum_i\sigma' (g_i - y_i) x_i|$", _error_identity, Level.EXACT),
    ),
    plan=_past_the_horizon,
    setting=SETTING,
    example=EXAMPLE,
)


# Lemma 1 and approximation (4) ----------------------------------------------------------------------------------------


def _log_error(moment: Moment) -> float:
    largest = float(np.max(moment.relative_error()))
    return math.log(largest) + moment.log_largest_output if largest > 0.0 else -math.inf


def errors_stay_small(evidence: Evidence, factor: float) -> Comparison:
    """Lemma 1: the error in (4) on [0, T] is at most factor n X_max times the sharp output bound; logarithms."""
    data, worst = data_constants(evidence), max(_log_error(moment) for moment in _certified(evidence))
    log_bound = math.log(factor * data.n * data.largest_norm) + _log_output_bound(evidence)
    return log_at_most(worst, log_bound, detail=f"log of the error is {worst:.6g} against at most {log_bound:.6g}")


LEMMA_1 = Theorem(
    "min2024:lemma1",
    Reference("min2024", "Lemma 1"),
    r"Under Lemma 3's scale the error in (4) is at most $4 \varepsilon n \sqrt{m} X_{\max}^2 W_{\max}^2$ on $[0, T]$.",
    hypotheses=APPROXIMATION,
    conclusions=(
        Conclusion("error", "logarithm of the error against the bound", partial(errors_stay_small, factor=4.0)),
        Conclusion(
            "error-sharp", "the same with factor 2, from the sharp Lemma 3", partial(errors_stay_small, factor=2.0)
        ),
    ),
    constants=_small_constants,
    plan=alignment_plan,
    log_scale=ScaledDownTo(log_small_scale),
    setting=SETTING,
    example=EXAMPLE,
)

REMARK_5 = part("min2024:remark5", "Remark 5", LEMMA_1, "Lemmas 1 to 4 hold for every leak; tried at leak 0.3 and 1")


def _error_exponent(evidence: Evidence) -> float:
    """Exponent of the largest error on [0, T] in eps: T grows as eps falls, and still the error is O(eps)."""
    runs = (evidence, *evidence.other_scales)
    require(len(runs) >= 3, "runs at two other scales or more")
    errors = [max(_log_error(moment) for moment in _certified(run)) for run in runs]
    require(np.all(np.isfinite(errors)), "the error vanishes at every snapshot")
    return fitted_slope([run.network.log_scale for run in runs], errors)


def _swept_plan(evidence: Evidence) -> FlowPlan:
    return replace(alignment_plan(evidence, num_times=10), other_scales=(-3.0, -6.0, -9.0))


EQ_4 = Theorem(
    "min2024:eq4",
    Reference("min2024", "Eq. (4)"),
    r"$d/dt(w_j/|w_j|) = s_j P_j x_a(w_j)$ up to $O(\varepsilon)$ on $[0, T]$, so exactly as $\varepsilon \to 0$.",
    hypotheses=APPROXIMATION,
    conclusions=(
        Conclusion(
            "order",
            r"the largest error on $[0, T]$ vanishes at least like $\varepsilon$",
            AtLeast(
                _error_exponent,
                1.0,
                words=r"it scales like $\varepsilon$ to the power {measured:.4g}, claimed $O(\varepsilon)$",
            ),
            Level.SCALING,
        ),
    ),
    constants=_small_constants,
    plan=_swept_plan,
    log_scale=ScaledDownTo(log_small_scale),
    setting=SETTING,
    example=EXAMPLE,
)


# Lemma 10 -------------------------------------------------------------------------------------------------------------


def _active_units(moment: Moment) -> tuple[FloatArray, FloatArray]:
    """|x_a(w_j)|, shape (m,), and x_a/|x_a|, 0 where there is none, shape (m, d)."""
    length = np.linalg.norm(moment.active_sums, axis=1)
    return length, np.asarray(moment.active_sums / np.where(length > 0, length, 1.0)[:, None])


def _references(moment: Moment) -> list[FloatArray]:
    """Unit reference vectors, each repeated for or adapted to every neuron, shape (m, d)."""
    totals = [moment.data.total(sign) for sign in moment.data.classes]
    fixed = [*moment.data.unit_signed, *(total / np.linalg.norm(total) for total in totals)]
    return [_active_units(moment)[1], *(np.tile(row, (len(moment.directions), 1)) for row in fixed)]


@requires(_small_moments, r"no snapshot with $\max|f| \le 1$")
def _psi_error(evidence: Evidence, found: tuple[Moment, ...]) -> Values:
    """Lemma 10 with x_r among y_i x_i/|x_i|, x_a/|x_a| and the other class's aggregate."""
    data = data_constants(evidence)
    for moment in found:
        error = moment.relative_error_vectors()
        for vectors in _references(moment):
            yield np.abs(np.sum(vectors * error, axis=1)) / (2.0 * data.n * data.largest_norm)


@dataclass(frozen=True, eq=False)
class Projection:
    """What gives P_j v_j for every neuron of a moment, from vectors of shape (m, d)."""

    across: Callable[[Moment, FloatArray], FloatArray]


def _projection(evidence: Evidence) -> Projection:
    return Projection(Moment.across)


def _psi_differences(evidence: Evidence) -> Values:
    """(psi_ra - psi_rj psi_aj)|x_a| against <x_r, P x_a>."""
    across = evidence.recorded(Projection).across
    for moment in moments(evidence):
        length, unit = _active_units(moment)
        psi_aj = np.sum(unit * moment.directions, axis=1)
        for vectors in _references(moment):
            psi_ra, psi_rj = np.sum(vectors * unit, axis=1), np.sum(vectors * moment.directions, axis=1)
            projected = np.sum(vectors * across(moment, moment.active_sums), axis=1)
            yield np.abs((psi_ra - psi_rj * psi_aj) * length - projected)


def _psi_rounding(evidence: Evidence) -> float:
    return ROUNDING * data_constants(evidence).largest_norm * data_constants(evidence).n


LEMMA_10 = Theorem(
    "min2024:lemma10",
    Reference("min2024", "Lemma 10"),
    r"Whenever $\max|f| \le 1$, $d/dt \langle x_r, w_j/|w_j|\rangle = s_j (\psi_{ra} - \psi_{rj} \psi_{aj})|x_a|$ "
    r"up to $2 n X_{\max}\,\max|f|$.",
    hypotheses=(BINARY, assumed(UNIT_FORCE), assumed(SUMMED_LOSS), BALANCED, NONZERO_NEURONS),
    conclusions=(
        Conclusion(
            "error",
            r"error over $2 n X_{\max}\,\max|f|$ is at most 1",
            AtMost(_psi_error, 1.0, words=r"largest error over $2 n X_{{\max}}\,\max|f|$ is {measured:.6g}"),
        ),
        Conclusion(
            "formula",
            r"$(\psi_{ra} - \psi_{rj} \psi_{aj})|x_a| = \langle x_r, P_j x_a\rangle$",
            Equals(_psi_differences, 0.0, allowance=_psi_rounding),
            Level.EXACT,
        ),
    ),
    plan=_past_the_horizon,
    record=_projection,
    setting=SETTING,
    example=EXAMPLE,
)
