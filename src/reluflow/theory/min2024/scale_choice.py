"""How small the start must be: (28), and what it buys, (29) [min2024]."""

from __future__ import annotations

import math

from reluflow.theory.evidence import Evidence
from reluflow.theory.measurement import Measurement, at_least, at_most, missing
from reluflow.theory.min2024.assumptions import EXAMPLE, REGIME, SETTING, log_factor_28
from reluflow.theory.min2024.constants import FIRST_FACTOR, data_constants, proof_constants
from reluflow.theory.min2024.landmarks import alignment_plan
from reluflow.theory.min2024.moving_neurons import moments_until
from reluflow.theory.min2024.small_outputs import log_at_most
from reluflow.theory.stating import conclusion, theorems_of
from reluflow.theory.theorem import Constants


def alignment_constants_of(evidence: Evidence) -> Constants:
    """The constants as the results of this family print them."""
    return {"mu": data_constants(evidence).mu, **proof_constants(evidence).as_dict()}


def unit_rate(evidence: Evidence) -> float:
    """kappa sqrt(mu) X_min: every time of the alignment proof is a number over this."""
    data = data_constants(evidence)
    return proof_constants(evidence).kappa * math.sqrt(data.mu) * data.smallest_norm


def _log_output_of_29(evidence: Evidence) -> float:
    data = data_constants(evidence)
    return math.log(unit_rate(evidence) / (4.0 * data.n * data.largest_norm))


@conclusion("window", "t_1 is at most T")
def _window_suffices(evidence: Evidence) -> Measurement:
    """t_1 <= T is exactly the second term of (28)."""
    constants = proof_constants(evidence)
    rounding = 1e-9 * constants.t_1
    return at_least(constants.horizon, constants.t_1, allowance=rounding, detail=_times_detail(evidence))


def _times_detail(evidence: Evidence) -> str:
    constants = proof_constants(evidence)
    return f"T = {constants.horizon:.8g}, t_1 = {constants.t_1:.8g}"


@conclusion("implies-29", "at the first term Lemma 3 gives (29); logarithms")
def _first_term_implies_29(evidence: Evidence) -> Measurement:
    """At eps equal to the first term, Lemma 3's output bound is at most (29)'s; logarithms compared."""
    factor = evidence.witness("first factor", lambda: FIRST_FACTOR)
    data, constants, m = data_constants(evidence), proof_constants(evidence), evidence.network.num_neurons
    log_scale = constants.log_first + math.log(FIRST_FACTOR / factor)
    log_output = log_scale + math.log(2.0 * math.sqrt(m) * data.largest_norm) + 2.0 * constants.log_largest_start
    return at_most(log_output, _log_output_of_29(evidence), allowance=1e-12)


@conclusion("outputs", "log max|f| on [0, T]")
def _outputs_of_29(evidence: Evidence) -> Measurement:
    found = moments_until(evidence, proof_constants(evidence).horizon)
    if not found:
        return missing("no snapshot in [0, T]")
    measured, bound = max(moment.log_largest_output for moment in found), _log_output_of_29(evidence)
    return log_at_most(measured, bound, detail=f"log max|f| = {measured:.6g} against at most {bound:.6g} on [0, T]")


_theorem = theorems_of("min2024", setting=SETTING, example=EXAMPLE)

EQUATION_28 = _theorem(
    "eq28",
    "eps <= min{kappa sqrt(mu) X_min/(8 sqrt(m) n X_max^2 W_max^2), m^(-1/2) exp(-4 n X_max t_1)} gives "
    "t_1 <= T and, through Lemma 3, (29).",
    hypotheses=REGIME,
    conclusions=(_window_suffices, _first_term_implies_29),
    constants=alignment_constants_of,
    log_scale=log_factor_28,
    erratum="E2: printed with 4, which gives twice (29); E1: zeta is min(zeta_1, zeta_2), printed as a maximum.",
)
EQUATION_29 = _theorem(
    "eq29",
    "On [0, T] max|f| <= kappa sqrt(mu) X_min/(4 n X_max).",
    hypotheses=REGIME,
    conclusions=(_outputs_of_29,),
    constants=alignment_constants_of,
    plan=alignment_plan,
    log_scale=log_factor_28,
)
