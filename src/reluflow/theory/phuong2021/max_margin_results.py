"""Where training ends: Theorem 1 [phuong2021]."""

from __future__ import annotations

import numpy as np

from reluflow.certificates.kkt import kkt_certificate
from reluflow.data.dataset import Dataset
from reluflow.network import Network
from reluflow.theory.evidence import Evidence
from reluflow.theory.measurement import Measurement, at_most, need, nothing
from reluflow.theory.phuong2021.death import both_groups_chance, one_neuron_death
from reluflow.theory.phuong2021.late_runs import SOLVED, distances, falls, late_networks, limit, relative, solved_limit
from reluflow.theory.phuong2021.sectors import Sign, two_groups
from reluflow.theory.phuong2021.two_neuron_limit import class_vectors, group_square
from reluflow.theory.theorem import Constants


def _falls(evidence: Evidence, part: str) -> Measurement:
    return falls(evidence, distances(evidence, part), by_root=True)


def _exact_limit(evidence: Evidence) -> Measurement:
    """Distance of the solved direction from the closed form, W and a together."""
    W, a = relative(solved_limit(evidence))
    target = limit(evidence)
    distance = float(np.hypot(np.linalg.norm(W - target.W), np.linalg.norm(a - target.a)))
    return at_most(distance, SOLVED, detail=f"the direction solved for in the final patterns is {distance:.2g} away")


def _is_kkt(evidence: Evidence) -> Measurement:
    """KKT residual of the closed-form limit on the classes that have a group."""
    target = limit(evidence)
    signs = [sign for sign, share in ((1, target.u), (-1, target.z)) if np.any(share)]
    keep = np.isin(evidence.dataset.y, signs)
    seen = Dataset(evidence.dataset.X[keep], evidence.dataset.y[keep])
    root = np.sqrt(evidence.network.weight)
    network = Network(target.W / root[:, None], target.a / root, weight=evidence.network.weight)
    return at_most(kkt_certificate(network, seen, active_rtol=1e-7).residual, 1e-7)


def _still_allowed(evidence: Evidence) -> float:
    """C/log t at the last time: limits are approached logarithmically; 0.2/log t was the largest distance seen."""
    return evidence.parameter("closeness") / late_networks(evidence)[-1][0]


def _share(evidence: Evidence, sign: Sign) -> Measurement:
    """|u|^2 (|z|^2) read off the last state, against its closed form."""
    target = limit(evidence)
    vector, wanted = (target.w_plus, target.u) if sign == 1 else (target.w_minus, target.z)
    W, _ = relative(late_networks(evidence)[-1][1])
    measured = np.where(
        two_groups(late_networks(evidence)[-1][1], evidence.dataset) == sign, W @ vector / (vector @ vector), 0.0
    )
    expected = float(wanted @ wanted)
    error = abs(float(measured @ measured) - expected) / max(expected, 1.0)
    words = f"{float(measured @ measured):.8g} at the last time, limit {expected:.8g}"
    return at_most(error, _still_allowed(evidence), detail=words)


def _growth(evidence: Evidence, sign: Sign) -> Measurement:
    """Growth of |W_+|^2 per unit of log t + log log t between the last two times, against |w_+|."""
    late = late_networks(evidence)[-2:]
    need(len(late) >= 2, "fewer than two late snapshots")
    squares = [group_square(network, evidence, sign) for _, network in late]
    lengths = [vector.norm for vector in class_vectors(evidence)]
    if squares[-1] == 0.0:
        return nothing("the group is empty")
    rate = (squares[1] - squares[0]) / (late[1][0] + np.log(late[1][0]) - late[0][0] - np.log(late[0][0]))
    expected = lengths[0] if sign == 1 else lengths[1]
    words = f"{rate:.8g} against |w| = {expected:.8g}; |W|^2/log t is {squares[1] / late[1][0]:.6g}"
    return at_most(abs(rate / expected - 1.0), _still_allowed(evidence), detail=words)


def _constants(evidence: Evidence) -> Constants:
    plus, minus = class_vectors(evidence)
    death = one_neuron_death(evidence)
    return {
        "w_plus": plus.w.tolist(),
        "w_minus": minus.w.tolist(),
        "death_positive": death.positive,
        "death_negative": death.negative,
        "death_is_exact": death.is_exact,
        "both_groups_probability": both_groups_chance(evidence),
        "log_dead_probability_bound": -evidence.network.num_neurons * float(np.log(2.0)),
    }
