"""Approximation (4) and Lemmas 1 to 4, 10: while outputs are small every direction follows s_j P_j x_a [min2024].

No assumption on the data and any leak in [0, 1] (Remark 5).
"""

from __future__ import annotations

import math

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.network.network import row_norms
from reluflow.theory.comparison import (
    Comparison,
    Values,
    at_most,
    equals,
    fitted_slope,
    judgement,
    nothing,
    require,
    requires,
)
from reluflow.theory.evidence import Evidence, drawn
from reluflow.theory.min2024.constants import certified_horizon, data_constants, start_norms
from reluflow.theory.min2024.moving_neurons import Moment, force_excess, moments, moments_until

ROUNDING = 1e-12  # relative; the ratios below come out with errors near 1e-15


def _unit_slope(evidence: Evidence) -> Comparison:
    labels = np.array([-1.0, 1.0])
    gap = float(np.max(np.abs(evidence.loss.factor * evidence.loss.force_at_zero(labels) - labels)))
    return judgement(gap <= 1e-15, -gap, f"the force at zero output misses the label by {gap:.3g}")


@drawn("outputs")
def _output_grid(evidence: Evidence) -> FloatArray:
    return np.linspace(-1.0, 1.0, 4001)


def _force_is_near_the_label(evidence: Evidence) -> Values:
    outputs = _output_grid(evidence)
    outputs = outputs[outputs != 0.0]
    for label in (-1.0, 1.0):
        force = evidence.loss.factor * evidence.loss.force(outputs, np.full_like(outputs, label))
        yield np.abs(force - label) / np.abs(outputs)


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
    return require(moments_until(evidence, certified_horizon(evidence)), "no snapshot in [0, T]")


def norms_stay_small(evidence: Evidence, factor: float) -> Comparison:
    """max |w_j|^2 on [0, T] is at most factor times the sharp bound of Lemma 3; logarithms."""
    measured = max(2.0 * float(np.max(moment.log_norms)) for moment in _certified(evidence))
    bound = _log_norm_bound(evidence, factor)
    return at_most(measured, bound, detail=f"log max |w_j|^2 = {measured:.6g} against at most {bound:.6g} on [0, T]")


def outputs_stay_small(evidence: Evidence, factor: float) -> Comparison:
    """max |f| on [0, T] is at most factor times the sharp bound of Lemma 3; logarithms."""
    measured = max(moment.log_largest_output for moment in _certified(evidence))
    bound = _log_output_bound(evidence, factor)
    return log_at_most(measured, bound, detail=f"log max |f| = {measured:.6g} against at most {bound:.6g} on [0, T]")


def _growth_per_neuron(evidence: Evidence) -> Values:
    """Groenwall: log |w_j(t)|^2 <= log |w_j(0)|^2 + 2 n X_max (1 + 4 eps sqrt(m) X_max W_max^2) t."""
    data, start = data_constants(evidence), evidence.network
    first = np.log(row_norms(start.w)) + start.log_scale
    rate = data.n * data.largest_norm * (1.0 + 4.0 * math.exp(_log_output_bound(evidence)))
    for moment in moments_until(evidence, certified_horizon(evidence)):
        if moment.time > 0.0:
            yield (moment.log_norms - first - rate * moment.time)[~np.isnan(moment.log_norms)]


def _small_moments(evidence: Evidence) -> tuple[Moment, ...]:
    return tuple(moment for moment in moments(evidence) if moment.log_largest_output <= 0.0)


@requires(_small_moments, "no snapshot with max|f| <= 1")
def _error_ratio(evidence: Evidence, found: tuple[Moment, ...]) -> Comparison:
    data = data_constants(evidence)
    worst = max(float(np.max(moment.relative_error())) for moment in found) / (2.0 * data.n * data.largest_norm)
    return at_most(worst, 1.0, detail=f"largest error over 2 n X_max max|f| is {worst:.6g} in {len(found)} snapshots")


def _error_identity(evidence: Evidence) -> Comparison:
    """The error from the two velocities against the one from the excess force, where f is not tiny."""
    found = [moment for moment in _small_moments(evidence) if moment.log_largest_output > math.log(1e-4)]
    found, worst = found or list(_small_moments(evidence)[-1:]), -np.inf
    for moment in found:
        direct = moment.turning - moment.signs[:, None] * moment.across(moment.active_sums)
        excess = moment.slopes * force_excess(evidence.loss, moment.outputs, moment.data.y)
        identity = (moment.signs * moment.ratios)[:, None] * moment.across(excess @ moment.data.X)
        worst = max(worst, float(np.max(np.abs(direct - identity))))
    return at_most(worst, ROUNDING, detail=f"the two ways differ by {worst:.3g} in {len(found)} snapshots")


def errors_stay_small(evidence: Evidence, factor: float) -> Comparison:
    """Lemma 1: the error in (4) on [0, T] is at most factor n X_max times the sharp output bound; logarithms."""
    data, worst = data_constants(evidence), max(_log_error(moment) for moment in _certified(evidence))
    log_bound = math.log(factor * data.n * data.largest_norm) + _log_output_bound(evidence)
    return log_at_most(worst, log_bound, detail=f"log of the error is {worst:.6g} against at most {log_bound:.6g}")


def _log_error(moment: Moment) -> float:
    largest = float(np.max(moment.relative_error()))
    return math.log(largest) + moment.log_largest_output if largest > 0.0 else -math.inf


def _error_exponent(evidence: Evidence) -> float:
    """Exponent of the largest error on [0, T] in eps: T grows as eps falls, and still the error is O(eps)."""
    runs = (evidence, *evidence.sweep)
    require(len(runs) >= 3, "a sweep of at least two more scales")
    errors = [max(_log_error(moment) for moment in _certified(run)) for run in runs]
    require(np.all(np.isfinite(errors)), "the error vanishes at every snapshot")
    return fitted_slope([run.network.log_scale for run in runs], errors)


@requires(_small_moments, "no snapshot with max|f| <= 1")
def _psi_error(evidence: Evidence, found: tuple[Moment, ...]) -> Values:
    """Lemma 10 with x_r among y_i x_i/|x_i|, x_a/|x_a| and the other class's aggregate."""
    data = data_constants(evidence)
    for moment in found:
        error = moment.relative_error_vectors()
        for vectors in _references(moment):
            yield np.abs(np.sum(vectors * error, axis=1)) / (2.0 * data.n * data.largest_norm)


def _psi_formula(evidence: Evidence) -> Comparison:
    """(psi_ra - psi_rj psi_aj)|x_a| is <x_r, P x_a>."""
    worst, across = 0.0, evidence.witness("projection", lambda: Moment.across)
    for moment in moments(evidence):
        length, unit = _active_units(moment)
        psi_aj = np.sum(unit * moment.directions, axis=1)
        for vectors in _references(moment):
            psi_ra, psi_rj = np.sum(vectors * unit, axis=1), np.sum(vectors * moment.directions, axis=1)
            projected = np.sum(vectors * across(moment, moment.active_sums), axis=1)
            worst = max(worst, float(np.max(np.abs((psi_ra - psi_rj * psi_aj) * length - projected))))
    return equals(worst, 0.0, atol=ROUNDING * data_constants(evidence).largest_norm * data_constants(evidence).n)


def _active_units(moment: Moment) -> tuple[FloatArray, FloatArray]:
    """|x_a(w_j)|, shape (m,), and x_a/|x_a|, 0 where there is none, shape (m, d)."""
    length = np.linalg.norm(moment.active_sums, axis=1)
    return length, np.asarray(moment.active_sums / np.where(length > 0, length, 1.0)[:, None])


def _references(moment: Moment) -> list[FloatArray]:
    """Unit reference vectors, each repeated for or adapted to every neuron, shape (m, d)."""
    totals = [moment.data.total(sign) for sign in moment.data.classes]
    fixed = [*moment.data.unit_signed, *(total / np.linalg.norm(total) for total in totals)]
    return [_active_units(moment)[1], *(np.tile(row, (len(moment.directions), 1)) for row in fixed)]
