"""From t_1 to t_2: the neurons of a class, Lemmas 13 and 14, (32), the steps (37) and (40), t_2 and (39) [min2024]."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from reluflow.arrays import BoolArray, FloatArray
from reluflow.network.network import row_norms
from reluflow.theory.comparison import Comparison, Values, at_most, fitted_slope, require
from reluflow.theory.evidence import Evidence, computed_once
from reluflow.theory.measures import Constants
from reluflow.theory.min2024.constants import data_constants, proof_constants
from reluflow.theory.min2024.landmarks import fitted_time
from reluflow.theory.min2024.moving_neurons import DEAD, Moment, moments_from, moments_until

ROUNDING = 1e-9
DECOMPOSITION = 1e-10  # relative; measured 2e-16
NO_FIT, NO_NEURON = "the run did not reach t_2", "no neuron in its cone at t_1"
NOT_GROWING, NOT_READY = "no snapshot in [t_1, t_2]", "no snapshot in [t_1', t_2]"


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
    def unit(self) -> FloatArray:
        """The direction of the aggregate, shape (d,)."""
        return np.asarray(self.aggregate / np.linalg.norm(self.aggregate))

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


@computed_once
def groups(evidence: Evidence) -> tuple[Group, ...]:
    """The nonempty groups V~_+ and V~_-, read off the first snapshot at or after t_1."""
    data, found = data_constants(evidence), []
    later = moments_from(evidence, proof_constants(evidence).t_1)
    for sign in data.classes if later else ():
        neurons = (later[0].cones == sign) & (later[0].signs == sign)
        if np.any(neurons):
            fitted, forces = fitted_time(evidence, sign), evidence.witnesses.get("forces")
            found.append(Group(sign, neurons, data.members(sign), data.total(sign), later, fitted, forces))
    return tuple(found)


def dead_neurons(evidence: Evidence) -> BoolArray:
    """V~_dead: the neurons of S_dead at t_1, shape (m,)."""
    later = moments_from(evidence, proof_constants(evidence).t_1)
    return later[0].cones == DEAD if later else np.zeros(evidence.network.num_neurons, dtype=bool)


def _growing(evidence: Evidence) -> Iterator[tuple[Group, Moment]]:
    """Every group with every snapshot on its [t_1, t_2^+-]."""
    return ((group, moment) for group in groups(evidence) for moment in group.growing)


def _norms_do_not_collapse(evidence: Evidence) -> Values:
    """log |w_j(t)|^2 - log |w_j(0)|^2 + 4 n X_max t >= 0 for every neuron and every t in [0, T]."""
    data, start = data_constants(evidence), evidence.network
    first = np.log(row_norms(start.w)) + start.log_scale
    for moment in moments_until(evidence, proof_constants(evidence).horizon):
        if moment.time > 0.0:
            known = ~np.isnan(moment.log_norms)  # one lost beside the fitted class has no norm
            yield (2.0 * (moment.log_norms - first) + 4.0 * data.n * data.largest_norm * moment.time)[known]


def _norms_grow(evidence: Evidence) -> Values:
    for group in groups(evidence):
        for before, after in pairwise(group.moments):
            yield 2.0 * (after.log_norms - before.log_norms)[group.neurons & before.seen & after.seen]


def _loss_splits(evidence: Evidence) -> Values:
    """|L - L_+ - L_-| / L, with L_+- seen by the neurons of one cone on the samples of one class alone."""
    found = require(groups(evidence), "no snapshot after t_1")
    for moment in found[0].moments:
        total, data, network = 0.0, moment.data, moment.network
        for sign in (1, -1):
            own = data.members(sign)
            neurons = next((g.neurons for g in found if g.sign == sign), np.zeros(network.num_neurons, dtype=bool))
            linear = network.a[neurons] @ (network.w[neurons] @ data.X[own].T)
            values = evidence.loss.value(math.exp(2.0 * network.log_scale) * linear, data.y[own])
            total += evidence.loss.factor * float(np.sum(values))
        yield abs(moment.loss_value - total) / moment.loss_value


def _gradient_splits(evidence: Evidence) -> Values:
    """The pull on a neuron of S_+- is the sum over its own class; relative difference."""
    for group in groups(evidence):
        for moment in group.moments:
            alone = moment.forces[group.own] @ moment.data.X[group.own]
            yield np.max(np.abs(moment.pulls[group.neurons] - alone)) / np.linalg.norm(alone)


def _forces_are_near_one(evidence: Evidence) -> Values:
    """(40): the distances of |g_i| from 1 on [t_1, t_2^+-], at most 1/2."""
    return (np.abs(group.own_forces(moment) - 1.0) for group, moment in _growing(evidence))


def _weighted_cosine(evidence: Evidence) -> Values:
    """cos(x_+-, x~_a) on [t_1, t_2^+-]."""
    for group, moment in _growing(evidence):
        pull = group.weighted_sum(moment)
        yield group.aggregate @ pull / (np.linalg.norm(group.aggregate) * np.linalg.norm(pull))


def _weighted_length(evidence: Evidence) -> Values:
    """|x~_a| over |x_+-|/2 on [t_1, t_2^+-]."""
    for group, moment in _growing(evidence):
        yield 2.0 * float(np.linalg.norm(group.weighted_sum(moment)) / np.linalg.norm(group.aggregate))


def _aggregate_length(evidence: Evidence) -> Values:
    """|x_+-| over sqrt(mu) n_+- X_min, by Lemma 11."""
    data = data_constants(evidence)
    return (float(np.linalg.norm(data.total(sign))) / data.speed(sign) for sign in data.classes)


def _turning_inequality(evidence: Evidence) -> Values:
    """(37) wherever cos <= 1/3, as a difference over sqrt(mu) n_+- X_min/2; elsewhere nothing is claimed (E10).

    Neurons are also tried at directions of their cone with a small cosine, where the inequality bites.
    """
    for group, moment in _growing(evidence):
        half, pull = 0.5 * data_constants(evidence).speed(group.sign), group.weighted_sum(moment)
        directions = np.vstack([moment.directions[group.neurons], _wide_directions(evidence, group)])
        cosines = directions @ group.unit
        chosen = cosines <= 1.0 / 3.0
        speeds = (pull @ group.unit - (directions @ pull) * cosines)[chosen]
        yield speeds / half - (1.0 / 3.0 - cosines[chosen])


def _wide_directions(evidence: Evidence, group: Group) -> FloatArray:
    """Directions of S_+- far from the aggregate: drawn ones whose cosine is at most 1/2."""
    data, rng = data_constants(evidence), np.random.default_rng(37)
    pool = rng.standard_normal((400, data.X.shape[1]))
    pool /= np.linalg.norm(pool, axis=1, keepdims=True)
    inside = np.all((pool @ data.X.T > 0.0) == group.own, axis=1)
    return np.asarray(pool[inside & (pool @ group.aggregate <= 0.5 * np.linalg.norm(group.aggregate))])


def _quarter_speed(evidence: Evidence) -> Values:
    """At cos = 1/4, (37) gives sqrt(mu) n_+- X_min/24; tried on directions of that cosine in the span."""
    for group, moment in _growing(evidence):
        pull, unit = group.weighted_sum(moment), group.unit
        across = np.linalg.norm(pull - (pull @ unit) * unit)
        slowest = (1.0 - 1.0 / 16.0) * (pull @ unit) - 0.25 * math.sqrt(15.0 / 16.0) * across
        yield slowest / (data_constants(evidence).speed(group.sign) / 24.0)


def _ready(evidence: Evidence) -> Iterator[tuple[Group, Moment]]:
    """Every group with every snapshot on its [t_1', t_2^+-], t_1' = t_1 + 6/(sqrt(mu) n_+- X_min)."""
    data, t_1 = data_constants(evidence), proof_constants(evidence).t_1
    return ((g, moment) for g, moment in _growing(evidence) if moment.time >= t_1 + 6.0 / data.speed(g.sign))


def _aligned_growth(evidence: Evidence) -> Values:
    """cos(x_+-, w_j) on [t_1', t_2^+-]."""
    for group, moment in _ready(evidence):
        yield moment.directions[group.neurons] @ group.aggregate / np.linalg.norm(group.aggregate)


def _growth_rate(evidence: Evidence) -> Values:
    """d/dt |w_j|^2 over (sqrt(mu) n_+- X_min/4)|w_j|^2 on [t_1', t_2^+-]."""
    for group, moment in _ready(evidence):
        yield 2.0 * moment.growth[group.neurons] / (0.25 * data_constants(evidence).speed(group.sign))


def _log_norm_before_fit(evidence: Evidence) -> float:
    data = data_constants(evidence)
    return -math.log(math.sqrt(data.mu) * data.smallest_norm)


def _norm_before_fit(evidence: Evidence) -> Values:
    """Until t_2^+- the group's sum of |w_j|^2 is at most 1/(sqrt(mu) X_min)."""
    return (group.log_norm_square(moment) for group in groups(evidence) for moment in group.growing[-1:])


def _log_norm_at_fit(evidence: Evidence) -> float:
    return -math.log(4.0 * data_constants(evidence).largest_norm)


def _norm_at_fit(evidence: Evidence) -> Values:
    """From t_2^+- on the group's sum of |w_j|^2 is at least 1/(4 X_max)."""
    for group in groups(evidence):
        fitted = require(group.fitted, NO_FIT)
        yield from (group.log_norm_square(moment) for moment in group.moments if moment.time >= fitted)


def fit_bound(evidence: Evidence, sign: int) -> float:
    """Right-hand side of (39): the latest t_2^+- the proof allows."""
    data, constants = data_constants(evidence), proof_constants(evidence)
    speed, log_eps = data.speed(sign), constants.log_scale
    needed = math.log(2.0 / (math.sqrt(data.mu) * data.smallest_norm)) - 2.0 * (log_eps + constants.log_smallest_start)
    return constants.t_1 + 6.0 / speed + 4.0 / speed * (needed + 4.0 * data.n * data.largest_norm * constants.t_1)


def _fit_is_late(evidence: Evidence) -> Values:
    return (require(fitted_time(evidence, group.sign), NO_FIT) for group in groups(evidence))


def _fit_is_early(evidence: Evidence) -> Comparison:
    times = [(require(group.fitted, NO_FIT), fit_bound(evidence, group.sign)) for group in groups(evidence)]
    return at_most(*min(require(times, NO_NEURON), key=lambda time: time[1] - time[0]))


def _fit_slope(evidence: Evidence) -> Values:
    """d t_2^+- / d log(1/eps) = 1/|x_+-| over the sweep, for each class; the relative difference is printed."""
    runs = (evidence, *evidence.sweep)
    for group in groups(evidence):
        times = [fitted_time(run, group.sign) for run in runs]
        known = [(run.network.log_scale, t) for run, t in zip(runs, times, strict=True) if t is not None]
        require(len(known) >= 2, "t_2 at two scales at least")
        slope = fitted_slope([-scale for scale, _ in known], [t for _, t in known])
        yield abs(slope * float(np.linalg.norm(group.aggregate)) - 1.0)


def _predictions(evidence: Evidence) -> Constants:
    data, names = data_constants(evidence), {1: "plus", -1: "minus"}
    found: dict[str, float] = {}
    for sign in data.classes:
        found[f"t_2_{names[sign]}_at_most"] = fit_bound(evidence, sign)
        found[f"t_2_{names[sign]}_slope"] = 1.0 / float(np.linalg.norm(data.total(sign)))
    if evidence.trajectory is not None:
        found |= {f"t_2_{n}": t for s, n in names.items() if (t := fitted_time(evidence, s)) is not None}
    return found
