"""The neurons that the growth and fit are about: those of one sign in the cone of their class at t_1 [min2024]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.theory.evidence import Evidence, kept
from reluflow.theory.min2024.constants import data_constants, proof_constants
from reluflow.theory.min2024.landmarks import fitted_time
from reluflow.theory.min2024.moving_neurons import DEAD, Moment, moments_from


@dataclass(frozen=True, eq=False)
class Group:
    """One class with its neurons.

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
    forces
        Forces (n,) to be judged in place of the run's own, given as the witness "forces"; None for the run's own.
    """

    sign: int
    neurons: BoolArray
    own: BoolArray
    aggregate: FloatArray
    moments: tuple[Moment, ...]
    fitted: float | None
    forces: FloatArray | None = None

    @property
    def growing(self) -> tuple[Moment, ...]:
        """The snapshots on [t_1, t_2^+-]."""
        return tuple(m for m in self.moments if self.fitted is not None and m.time <= self.fitted)

    def own_forces(self, moment: Moment) -> FloatArray:
        """y_i g_i over the own samples: how hard each pulls the group towards itself."""
        forces = moment.forces if self.forces is None else self.forces
        return np.asarray((moment.data.y * forces)[self.own])

    def weighted_sum(self, moment: Moment) -> FloatArray:
        """x~_a = sum over own samples of |g_i| x_i, shape (d,)."""
        return np.asarray(self.own_forces(moment) @ moment.data.X[self.own])

    def log_norm_square(self, moment: Moment) -> float:
        """log of the sum of |w_j|^2 over the group."""
        return float(np.logaddexp.reduce(2.0 * moment.log_norms[self.neurons]))


@kept
def groups(evidence: Evidence) -> tuple[Group, ...]:
    """The nonempty groups V~_+ and V~_-, read off the first snapshot at or after t_1."""
    return tuple(_groups(evidence))


def _groups(evidence: Evidence) -> list[Group]:
    data = data_constants(evidence)
    later = moments_from(evidence, proof_constants(evidence).t_1)
    found = []
    for sign in (1, -1):
        if later and data.count(sign):
            neurons = (later[0].cones == sign) & (later[0].signs == sign)
            if np.any(neurons):
                members, fitted = data.members(sign), fitted_time(evidence, sign)
                forces: FloatArray | None = evidence.witnesses.get("forces")
                found.append(Group(sign, neurons, members, data.total(sign), later, fitted, forces))
    return found


def dead_neurons(evidence: Evidence) -> BoolArray:
    """V~_dead: the neurons of S_dead at t_1, shape (m,)."""
    later = moments_from(evidence, proof_constants(evidence).t_1)
    return later[0].cones == DEAD if later else np.zeros(evidence.network.num_neurons, dtype=bool)
