"""Runs to log t = 600 and what is read off them: groups, distances to the limit, the limit itself."""

from __future__ import annotations

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.certificates.pattern_margin import max_margin_in_patterns
from reluflow.data.dataset import Dataset
from reluflow.dynamics.stopping import Exhausted
from reluflow.network import Network
from reluflow.theory.condition import Judgement, undecided
from reluflow.theory.evidence import Evidence, FlowPlan, kept
from reluflow.theory.hypotheses import balanced_start, data_assumption, loss_among, relu_activation
from reluflow.theory.limit import unit_norm
from reluflow.theory.measurement import Measurement, at_most, need
from reluflow.theory.phuong2021.sectors import LEFT, two_groups
from reluflow.theory.phuong2021.two_neuron_limit import TwoNeuronLimit, class_vectors, limit_of
from reluflow.theory.stating import hypothesis
from reluflow.theory.theorem import Constants, Hypothesis

SOLVED = 1e-7  # the direction solved for in the final patterns is exact to about 1e-9


def late_plan(evidence: Evidence) -> FlowPlan:
    """Snapshots at time 0 and at four times, even in log log t."""
    logs = np.geomspace(20.0, evidence.parameter("log_time"), 4)
    return FlowPlan(times=(0.0, *np.exp(logs)), until=Exhausted(), horizon=float(np.exp(logs[-1])))


def late_networks(evidence: Evidence) -> list[tuple[float, Network]]:
    """log t and network of the snapshots after time 0."""
    return [(float(np.log(s.time)), s.network) for s in evidence.run.snapshots if s.time > 1.0]


@kept
def limit(evidence: Evidence) -> TwoNeuronLimit:
    """The closed-form limit for the groups and shares of the last snapshot."""
    return limit_of(late_networks(evidence)[-1][1], evidence)


def _is_late(evidence: Evidence) -> Judgement:
    if evidence.trajectory is None:
        return Judgement(False, None, "no run was made")
    count = len(late_networks(evidence))
    words = f"{count} late snapshots; the run ended: {evidence.run.outcome}"
    if count < 2 and evidence.run.outcome.is_cut_short:
        return undecided(words)
    return Judgement(count >= 2, float(count - 2), words)


@hypothesis("small-scale", "every neuron has been sorted by the end of the run", is_regime=True, needs_trajectory=True)
def _all_sorted(evidence: Evidence) -> Judgement:
    need(_is_late(evidence).holds, "there is no late snapshot")
    code = two_groups(late_networks(evidence)[-1][1], evidence.dataset)
    left = int(np.sum(code == LEFT))
    sizes = f"{int(np.sum(code == 1))} in J+, {int(np.sum(code == -1))} in J-, {int(np.sum(code == 0))} dead"
    return Judgement(left == 0, float(-left), f"{sizes}, {left} unsorted at the last time")


def _someone_lives(evidence: Evidence) -> Judgement:
    need(_is_late(evidence).holds, "there is no late snapshot")
    alive = int(np.sum(two_groups(late_networks(evidence)[-1][1], evidence.dataset) != 0))
    return Judgement(alive > 0, float(alive), f"{alive} neurons are not dead")


HYPOTHESES = (
    loss_among("logistic", "exponential"),
    relu_activation,
    balanced_start(),
    data_assumption("orthogonally-separable"),
    data_assumption("support-spans"),
    Hypothesis("late-run", "the run reaches at least two of its late times", _is_late, needs_trajectory=True),
    Hypothesis("not-all-dead", "some neuron survives, the event of Theorem 1", _someone_lives, needs_trajectory=True),
)


def relative(network: Network) -> tuple[FloatArray, FloatArray]:
    """W/|W| and a/|a|, the weights of the neurons counted."""
    root = np.sqrt(network.weight)
    w, a = network.w * root[:, None], network.a * root
    return np.asarray(w / np.linalg.norm(w)), np.asarray(a / np.linalg.norm(a))


def distances(evidence: Evidence, part: str) -> list[float]:
    """Distance of W/|W| (part "W") or a/|a| from the limit at each late time."""
    target = limit(evidence)
    found = []
    for _, network in late_networks(evidence):
        W, a = relative(network)
        found.append(float(np.linalg.norm(W - target.W) if part == "W" else np.linalg.norm(a - target.a)))
    return found


def falls(evidence: Evidence, found: list[float], *, by_root: bool) -> Measurement:
    """The last distance against C (log t)^(-1/2) and the largest earlier one; without `by_root`, the one before it.

    A distance may pass through a small value on its way, so with a rate to meet successive ones need not fall.
    """
    need(len(found) >= 2, "fewer than two late snapshots")
    logs = [log for log, _ in late_networks(evidence)]
    bound = found[-2]
    if by_root:
        bound = min(max(found[:-1]), evidence.parameter("closeness") / np.sqrt(logs[-1]))
    values = ", ".join(f"{distance:.3g} at log t = {log:.4g}" for log, distance in zip(logs, found, strict=True))
    return at_most(found[-1], bound, allowance=1e-12, detail=f"distance {values}")


@kept
def solved_limit(evidence: Evidence) -> Network:
    """The direction the last state tends to, by a conic program in its patterns, on the classes that have a group."""
    last = unit_norm(late_networks(evidence)[-1][1])
    code = two_groups(last, evidence.dataset)
    keep = np.isin(evidence.dataset.y, [sign for sign in (1, -1) if np.any(code == sign)])
    seen = Dataset(evidence.dataset.X[keep], evidence.dataset.y[keep])
    return max_margin_in_patterns(last, seen)


def limit_predictions(evidence: Evidence) -> Constants:
    """The closed values of |u|^2, |z|^2, the growth rates and the weights of the function."""
    target = limit(evidence)
    first, second = target.function_weights
    plus, minus = class_vectors(evidence)
    return {
        "u_squared": float(target.u @ target.u),
        "z_squared": float(target.z @ target.z),
        "nu_plus": plus.norm if np.any(target.u) else 0.0,
        "nu_minus": minus.norm if np.any(target.z) else 0.0,
        "function_u": first,
        "function_z": second,
    }
