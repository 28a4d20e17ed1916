"""The function learnt, and whether the scale must be small: Corollary 1 and Section 3.1 [phuong2021]."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.network import Network
from reluflow.theory.evidence import Evidence
from reluflow.theory.limit import unit_norm
from reluflow.theory.measurement import Level, Measurement, at_most, fitted_slope
from reluflow.theory.phuong2021.extremal_directions import SETTING
from reluflow.theory.phuong2021.late_runs import (
    HYPOTHESES,
    PARAMETERS,
    SMALL_SCALE,
    SOLVED,
    distances,
    falls,
    late_networks,
    late_plan,
    limit,
    limit_predictions,
    solved_limit,
)
from reluflow.theory.phuong2021.motion import one_way
from reluflow.theory.phuong2021.sectors import two_groups
from reluflow.theory.stating import conclusion, theorems_of
from reluflow.theory.theorem import Conclusion, Constants

# Corollary 1 ----------------------------------------------------------------------------------------------------------


def _probes(evidence: Evidence) -> FloatArray:
    X = np.random.default_rng(0).standard_normal((200, evidence.dataset.d))
    return np.asarray(X / np.linalg.norm(X, axis=1)[:, None])


def _function(network: Network, X: FloatArray) -> FloatArray:
    """f(x)/|theta|^2."""
    return unit_norm(network).outputs(X)


@conclusion("function", "the largest error on 200 unit x falls", Level.EXACT)
def _function_approaches(evidence: Evidence) -> Measurement:
    X = _probes(evidence)
    wanted = evidence.witness("limit function", lambda: limit(evidence).function(X))
    errors = [float(np.max(np.abs(_function(network, X) - wanted))) for _, network in late_networks(evidence)]
    return falls(evidence, errors, by_root=True)


@conclusion("limit", "the function of the limit is the stated one", Level.EXACT)
def _function_limit(evidence: Evidence) -> Measurement:
    X = _probes(evidence)
    wanted = evidence.witness("limit function", lambda: limit(evidence).function(X))
    return at_most(float(np.max(np.abs(_function(solved_limit(evidence), X) - wanted))), SOLVED)


_theorem = theorems_of("phuong2021", setting=SETTING, example="phuong-toy")

COROLLARY_1 = _theorem(
    "cor1",
    "f(x)/|theta|^2 tends to u s(<w_+, x>) - z s(<w_-, x>); with both groups u = z = 1/(2 (|w_+| + |w_-|)), so the "
    "function learnt is s(<w_+, x>) - s(<w_-, x>) up to scale.",
    locator="Corollary 1",
    hypotheses=(*HYPOTHESES, SMALL_SCALE),
    conclusions=(_function_approaches, _function_limit),
    predictions=lambda e: {name: value for name, value in limit_predictions(e).items() if name.startswith("function")},
    parameters=PARAMETERS,
    plan=late_plan,
    erratum="P16: the constants u and z are left open in Eq. (10); with both groups they are equal.",
)


# Is a small scale needed? ---------------------------------------------------------------------------------------------


@conclusion("left-behind", "neurons in no extremal sector do not gain in share")
def _left_behind(evidence: Evidence) -> Measurement:
    """Share of |W|^2 in neurons that are in no extremal sector, at the last time against the first."""
    shares = []
    for _, network in late_networks(evidence):
        code = two_groups(network, evidence.dataset)
        squares = np.sum(network.w**2, axis=1)
        shares.append(float(np.sum(squares[np.abs(code) != 1]) / np.sum(squares)))
    return at_most(
        shares[-1], max(shares[0], 1e-12), detail=f"share {shares[0]:.3g} at first, {shares[-1]:.3g} at last"
    )


@conclusion("W", "the distance to the limit of Theorem 1 falls", Level.EXACT)
def _distance_falls(evidence: Evidence) -> Measurement:
    return falls(evidence, distances(evidence, "W"), by_root=False)


def _exponent(evidence: Evidence) -> Constants:
    """Slope of log distance against log log t over the last three times, and the one it tends to.

    A neuron keeps its component orthogonal to its group while its norm grows like (log t)^(1/2), so for a start that is
    not small the distance of W falls like (log t)^(-1/2); from a small scale this part has a small factor.
    """
    logs, found = [log for log, _ in late_networks(evidence)][-3:], distances(evidence, "W")[-3:]
    if min(found) <= 0.0:
        return {}
    return {"fitted_exponent": fitted_slope(np.log(logs), np.log(found)), "asymptotic_exponent": -0.5}


LARGE_SCALE = _theorem(
    "sec3.1",
    "Conjecture: on orthogonally separable data the limit of Theorem 1 does not need a small scale, which changes "
    "the time only; activations are one-way at every scale, and neurons left behind lose their share.",
    locator="Sec. 3.1",
    hypotheses=HYPOTHESES,
    conclusions=(
        Conclusion("one-way", "every y_k sign(a_j) <w_j, x_k> never decreases", one_way, level=Level.EXACT),
        _left_behind,
        _distance_falls,
    ),
    predictions=_exponent,
    parameters=PARAMETERS[:1],
    plan=late_plan,
    setting=replace(SETTING, scale="1"),
    erratum="P15: the paper calls a small scale crucial; for the limit it appears not to be, for finite times it is.",
    departs="A conjecture with a sketched proof, not a theorem; the paper does not state it.",
)
