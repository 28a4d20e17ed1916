"""The neurons of a class from t_1 on: those of one sign in the cone of their class [min2024]."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.papers.min2024.theorems.constants import data_constants, proof_constants
from reluflow.papers.min2024.theorems.landmarks import fitted_time
from reluflow.papers.min2024.theorems.moving_neurons import DEAD, Moment, moments_from
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.measures import Constants

NO_FIT, NO_NEURON = "the run did not reach $t_2$", "no neuron in its cone at $t_1$"


@dataclass(frozen=True, eq=False)
class Group:
    """One class with its neurons: those of one sign in the cone of their class at t_1.

    Parameters
    ----------
    sign
        1 for V~_+, -1 for V~_-.
    neurons
        Mask over the network, shape (m,).
    own
        Mask over the samples, shape (n,).
    aggregate
        x_+ or x_-, shape (d,).
    moments
        The snapshots from t_1 on.
    fitted
        t_2^+ or t_2^-; None if the run did not get there.
    """

    sign: int
    neurons: BoolArray
    own: BoolArray
    aggregate: FloatArray
    moments: tuple[Moment, ...]
    fitted: float | None

    @property
    def unit(self) -> FloatArray:
        """The direction of the aggregate, shape (d,)."""
        return np.asarray(self.aggregate / np.linalg.norm(self.aggregate))

    @property
    def growing(self) -> tuple[Moment, ...]:
        """The snapshots on [t_1, t_2^+-]."""
        return tuple(m for m in self.moments if self.fitted is not None and m.time <= self.fitted)

    def own_forces(self, moment: Moment) -> FloatArray:
        """y_i g_i over the own samples: how hard each pulls the group towards itself."""
        return np.asarray((moment.data.y * moment.forces)[self.own])

    def weighted_sum(self, moment: Moment) -> FloatArray:
        """x~_a = sum over own samples of |g_i| x_i, shape (d,)."""
        return np.asarray(self.own_forces(moment) @ moment.data.X[self.own])

    def log_norm_square(self, moment: Moment) -> float:
        """log of the sum of |w_j|^2 over the group."""
        return float(np.logaddexp.reduce(2.0 * moment.log_norms[self.neurons]))


@computed_once
def groups(evidence: Evidence) -> tuple[Group, ...]:
    """The nonempty groups V~_+ and V~_-, read off the first snapshot at or after t_1."""
    data, found = data_constants(evidence), []
    later = moments_from(evidence, proof_constants(evidence).t_1)
    for sign in data.classes if later else ():
        neurons = (later[0].cones == sign) & (later[0].signs == sign)
        if np.any(neurons):
            fitted = fitted_time(evidence, sign)
            found.append(Group(sign, neurons, data.members(sign), data.total(sign), later, fitted))
    return tuple(found)


def dead_neurons(evidence: Evidence) -> BoolArray:
    """V~_dead: the neurons of S_dead at t_1, shape (m,)."""
    later = moments_from(evidence, proof_constants(evidence).t_1)
    return later[0].cones == DEAD if later else np.zeros(evidence.network.num_neurons, dtype=bool)


def growing_moments(evidence: Evidence) -> Iterator[tuple[Group, Moment]]:
    """Every group with every snapshot on its [t_1, t_2^+-]."""
    return ((group, moment) for group in groups(evidence) for moment in group.growing)


def fit_bound(evidence: Evidence, sign: int) -> float:
    """Right-hand side of (39): the latest t_2^+- the proof allows."""
    data, constants = data_constants(evidence), proof_constants(evidence)
    speed, log_eps = data.speed(sign), constants.log_scale
    needed = math.log(2.0 / (math.sqrt(data.mu) * data.smallest_norm)) - 2.0 * (log_eps + constants.log_smallest_start)
    return constants.t_1 + 6.0 / speed + 4.0 / speed * (needed + 4.0 * data.n * data.largest_norm * constants.t_1)


def fit_predictions(evidence: Evidence) -> Constants:
    """t_2^+-: the bound (39), the slope in log(1/eps), and when it was, where the run got there."""
    data, names = data_constants(evidence), {1: "plus", -1: "minus"}
    found: dict[str, float] = {}
    for sign in data.classes:
        found[f"t_2_{names[sign]}_at_most"] = fit_bound(evidence, sign)
        found[f"t_2_{names[sign]}_slope"] = 1.0 / float(np.linalg.norm(data.total(sign)))
    if evidence.trajectory is not None:
        found |= {f"t_2_{n}": t for s, n in names.items() if (t := fitted_time(evidence, s)) is not None}
    return found
