"""The function learnt, and whether the scale must be small: Corollary 1 and Section 3.1 [phuong2021]."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.network import Network
from reluflow.theory.evidence import Evidence
from reluflow.theory.limit import unit_norm
from reluflow.theory.measurement import Measurement, at_most, fitted_slope
from reluflow.theory.phuong2021.late_runs import (
    SOLVED,
    distances,
    falls,
    late_networks,
    limit,
    limit_predictions,
    solved_limit,
)
from reluflow.theory.phuong2021.sectors import two_groups
from reluflow.theory.theorem import Constants

# Corollary 1 ----------------------------------------------------------------------------------------------------------


def _probes(evidence: Evidence) -> FloatArray:
    X = np.random.default_rng(0).standard_normal((200, evidence.dataset.d))
    return np.asarray(X / np.linalg.norm(X, axis=1)[:, None])


def _function(network: Network, X: FloatArray) -> FloatArray:
    """f(x)/|theta|^2."""
    return unit_norm(network).outputs(X)


def _function_approaches(evidence: Evidence) -> Measurement:
    X = _probes(evidence)
    wanted = evidence.witness("limit function", lambda: limit(evidence).function(X))
    errors = [float(np.max(np.abs(_function(network, X) - wanted))) for _, network in late_networks(evidence)]
    return falls(evidence, errors, by_root=True)


def _function_limit(evidence: Evidence) -> Measurement:
    X = _probes(evidence)
    wanted = evidence.witness("limit function", lambda: limit(evidence).function(X))
    return at_most(float(np.max(np.abs(_function(solved_limit(evidence), X) - wanted))), SOLVED)


# Is a small scale needed? ---------------------------------------------------------------------------------------------


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


def _cor1_predictions(evidence: Evidence) -> Constants:
    return {name: value for name, value in limit_predictions(evidence).items() if name.startswith("function")}
