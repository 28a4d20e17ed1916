"""The chance that a neuron dies, exactly in the plane and by simulation elsewhere (the probability of Theorem 1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.arrays import FloatArray
from reluflow.geometry.alignment import DEAD, align
from reluflow.geometry.basins import circle_basins
from reluflow.theory.evidence import Evidence
from reluflow.theory.measurement import Measurement, at_most, missing
from reluflow.theory.phuong2021.two_neuron_limit import both_groups_probability

NUM_DRAWS = 4000  # of each sign; the standard error of a share is then below 0.008
CONFIDENCE = 1e-6  # chance that the one-sided Hoeffding interval misses


@dataclass(frozen=True)
class Death:
    """Chance that a balanced neuron of uniform direction dies, for a > 0 and for a < 0, as the scale vanishes."""

    positive: float
    negative: float
    is_exact: bool

    @property
    def average(self) -> float:
        """The same under a fair sign."""
        return 0.5 * (self.positive + self.negative)


def one_neuron_death(evidence: Evidence) -> Death:
    """Exact arcs in d = 2, else the share of random neurons carried to their end."""
    X, forces = evidence.dataset.X, evidence.loss.label_forces(evidence.dataset.y)
    return evidence.witness("death", lambda: exact_death(X, forces) if X.shape[1] == 2 else sampled_death(X, forces))


def exact_death(X: FloatArray, forces: FloatArray) -> Death:
    """Lengths of the dead arcs of the circle."""
    shares = [sum(b.probability for b in circle_basins(X, forces, sign=sign) if b.end == "dead") for sign in (1, -1)]
    return Death(shares[0], shares[1], is_exact=True)


def sampled_death(X: FloatArray, forces: FloatArray, *, num_draws: int = NUM_DRAWS) -> Death:
    """Shares of `num_draws` random neurons of each sign that die under frozen forces."""
    w = np.random.default_rng(0).standard_normal((num_draws, X.shape[1]))
    norms = np.linalg.norm(w, axis=1)
    shares = [float(np.mean(align(X, forces, w, sign * norms).ends == DEAD)) for sign in (1.0, -1.0)]
    return Death(shares[0], shares[1], is_exact=False)


def death_measurement(evidence: Evidence) -> Measurement:
    """A neuron dies with probability at most 1/2, hence all m of them with probability at most 2^-m.

    A sampled share is held against 1/2 with its Hoeffding interval: undecided where 1/2 lies inside.
    """
    death = one_neuron_death(evidence)
    m = evidence.network.num_neurons
    width = 0.0 if death.is_exact else float(np.sqrt(-np.log(CONFIDENCE) / (4.0 * NUM_DRAWS)))
    how = "exactly" if death.is_exact else f"+- {width:.2g}"
    words = f"{death.average:.6g} {how}, so all {m} die with probability {death.average**m:.3g} <= {0.5**m:.3g}"
    if death.average <= 0.5 < death.average + width:
        return missing(f"1/2 lies within the interval of the simulation: {words}")
    return at_most(death.average, 0.5, detail=words)


def both_groups_chance(evidence: Evidence) -> float:
    """Chance that neither J_+ nor J_- is empty, from the death chances above."""
    death = one_neuron_death(evidence)
    return both_groups_probability(evidence.network.num_neurons, 1.0 - death.positive, 1.0 - death.negative)
