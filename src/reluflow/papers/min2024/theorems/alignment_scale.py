"""How small the start must be, (28), and how small outputs then are, (29) [min2024]."""

from __future__ import annotations

import math
from dataclasses import dataclass

from reluflow.network import Network
from reluflow.papers.min2024.paper import EXAMPLE, SETTING
from reluflow.papers.min2024.theorems.constants import (
    alignment_constants,
    data_constants,
    horizon_of,
    log_bound,
    norms_of,
    proof_constants,
)
from reluflow.papers.min2024.theorems.landmarks import alignment_plan
from reluflow.papers.min2024.theorems.moving_neurons import moments_until
from reluflow.papers.min2024.theorems.shared_hypotheses import REGIME
from reluflow.papers.min2024.theorems.small_outputs import log_at_most
from reluflow.theory.comparison import Comparison, at_least, require
from reluflow.theory.elsewhere import part
from reluflow.theory.evidence import Evidence
from reluflow.theory.measures import AtMost, ScaledDownTo
from reluflow.theory.theorem import Conclusion, Reference, Theorem


def unit_rate(evidence: Evidence) -> float:
    """kappa sqrt(mu) X_min: every time of the alignment proof is a number over this."""
    data = data_constants(evidence)
    return proof_constants(evidence).kappa * math.sqrt(data.mu) * data.smallest_norm


def _log_output_of_29(evidence: Evidence) -> float:
    data = data_constants(evidence)
    return math.log(unit_rate(evidence) / (4.0 * data.n * data.largest_norm))


@dataclass(frozen=True, eq=False)
class StartsOf28:
    """The start of the run, which (28) allows, and the same at the first term of (28) itself."""

    own: Network
    at_first_term: Network


def _starts_of_28(evidence: Evidence) -> StartsOf28:
    network = evidence.network
    return StartsOf28(network, network.replace(log_scale=proof_constants(evidence).log_first))


def _window_suffices(evidence: Evidence) -> Comparison:
    """t_1 <= T is exactly the second term of (28)."""
    T = horizon_of(evidence.recorded(StartsOf28).own, data_constants(evidence))
    t_1 = proof_constants(evidence).t_1
    return at_least(T, t_1, allowance=1e-9 * t_1, detail=f"$T$ = {T:.8g}, $t_1$ = {t_1:.8g}")


def _first_term_implies_29(evidence: Evidence) -> float:
    """At eps equal to the first term, Lemma 3's output bound is at most (29)'s; logarithms compared."""
    data, start = data_constants(evidence), evidence.recorded(StartsOf28).at_first_term
    log_unit = start.log_scale + math.log(2.0 * math.sqrt(start.num_neurons) * data.largest_norm)
    return log_unit + 2.0 * math.log(norms_of(start)[1])


EQ_28 = Theorem(
    "min2024:eq28",
    Reference("min2024", "Eq. (28)"),
    r"$\varepsilon \le \min\{\kappa \sqrt{\mu} X_{\min}/(8 \sqrt{m} n X_{\max}^2 W_{\max}^2), m^{-1/2}\,\exp(-4 n "
    r"X_{\max} t_1)\}$ gives $t_1 \le T$ and, through Lemma 3, (29).",
    hypotheses=REGIME,
    conclusions=(
        Conclusion("window", "$t_1$ is at most $T$", _window_suffices),
        Conclusion(
            "implies-29",
            "at the first term Lemma 3 gives (29); logarithms",
            AtMost(_first_term_implies_29, _log_output_of_29, allowance=1e-12),
        ),
    ),
    constants=alignment_constants,
    record=_starts_of_28,
    log_scale=ScaledDownTo(log_bound),
    setting=SETTING,
    example=EXAMPLE,
    erratum=r"E2: printed with 4, which gives twice (29); E1: $\zeta$ is $\min(\zeta_1, \zeta_2)$, printed as a "
    r"maximum.",
)

BOUNDED_ALIGNMENT_TIME = part(
    "min2024:bounded-alignment-time",
    "Sec. 3.2, why $t_1$ must be bounded",
    EQ_28,
    r"$t_1 \le T$ is the second term of (28)",
)


def _outputs_of_29(evidence: Evidence) -> Comparison:
    found = require(moments_until(evidence, proof_constants(evidence).horizon), "no snapshot in $[0, T]$")
    measured, bound = max(moment.log_largest_output for moment in found), _log_output_of_29(evidence)
    return log_at_most(
        measured, bound, detail=rf"$\log\,\max|f|$ = {measured:.6g} against at most {bound:.6g} on $[0, T]$"
    )


EQ_29 = Theorem(
    "min2024:eq29",
    Reference("min2024", "Eq. (29)"),
    r"On $[0, T]$, $\max|f| \le \kappa \sqrt{\mu} X_{\min}/(4 n X_{\max})$.",
    hypotheses=REGIME,
    conclusions=(Conclusion("outputs", r"$\log\,\max|f|$ on $[0, T]$", _outputs_of_29),),
    constants=alignment_constants,
    plan=alignment_plan,
    log_scale=ScaledDownTo(log_bound),
    setting=SETTING,
    example=EXAMPLE,
)
