"""The numbers of Appendix G: the cones C_delta, the tolerances eps, and the time and scale of Lemma G.4 [lyu2021].

With z_i = y_i x_i, C_delta holds the rays of unit w with <w, z_i> >= delta for all i, and a small network pulls every
neuron along +-K^eps, the cone over the box of sums (1/2n) sum beta_i z_i with beta_i in [leak (1 - eps), 1 + eps].
The paper's constants want |x_i| <= 1. Longer samples are divided by a factor c first, which divides times by c and
multiplies the squared network by c; everything a caller sees is in the given units unless it says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, wraps

import numpy as np
from scipy.optimize import brentq, lsq_linear

from reluflow.arrays import BoolArray, FloatArray
from reluflow.errors import InvalidInputError
from reluflow.geometry.alignment import AlignedState, align_until
from reluflow.geometry.cones import activation_cones
from reluflow.network.network import Network, row_norms
from reluflow.papers.lyu2021.assumptions import pairwise_condition
from reluflow.papers.lyu2021.theorems.unit_ball import m_norm, neuron_rows
from reluflow.theory.comparison import Comparison, undecided
from reluflow.theory.elsewhere import ours
from reluflow.theory.evidence import Evidence, computed_once

_LONGEST = 1e12  # alignment times beyond this are taken for never


@dataclass(frozen=True, eq=False)
class CorrectCone:
    """The cone of correct signs and how deep the pulls of a small network point into it.

    Parameters
    ----------
    factor
        c, by which the samples were divided: 1 where they lie in the unit ball.
    rows
        z_i / c, shape (n, d).
    is_positive
        Whether y_i = 1, shape (n,).
    leak
        alpha of the leaky ReLU.
    extremes
        Whether beta_i is at its upper end, one row for each vertex of the zonotope H, shape (V, n).
    """

    factor: float
    rows: FloatArray
    is_positive: BoolArray
    leak: float
    extremes: BoolArray

    @classmethod
    def of(cls, X: FloatArray, y: FloatArray, leak: float) -> CorrectCone:
        """The cone of labelled samples; visits all O(n^(d-1)) vertices of the zonotope."""
        factor = max(1.0, float(np.max(np.linalg.norm(X, axis=1))))
        rows = y[:, None] * X / factor
        # a vertex maximises <u, .> for some u, so beta_i is 1 where <u, z_i> > 0 and the leak elsewhere
        return cls(factor, rows, y > 0, leak, activation_cones(rows, open_only=True).patterns > 0)

    def smallest_margin(self, leak: float) -> float:
        """min over unit w in K of min_i <z_i, w> for the given leak; quasi-concave, so attained at a vertex."""
        vertices = np.where(self.extremes, 1.0, leak) @ self.rows
        lengths = np.linalg.norm(vertices, axis=1)
        return float(np.min((vertices @ self.rows.T).min(axis=1) / np.where(lengths > 0.0, lengths, 1.0)))

    @property
    def delta(self) -> float:
        """The delta of App. G, of the divided samples: positive exactly under Assumption A.2."""
        return self.smallest_margin(self.leak)

    @property
    def eps_1(self) -> float:
        """The largest eps, at most 1, with K^eps inside C_(2 delta/3); K^eps is K for leak (1 - eps)/(1 + eps)."""
        target = 2.0 / 3.0 * self.delta
        if target <= 0.0:
            return 0.0
        if self.smallest_margin(0.0) >= target:
            return 1.0
        leak = brentq(lambda value: self.smallest_margin(value) - target, 0.0, self.leak, xtol=1e-15)
        return float((self.leak - leak) / (self.leak + leak))

    def shortest_pull(self, eps: float) -> float:
        """h_min: the norm of the shortest element of H^eps, of the divided samples."""
        columns = self.rows.T / (2.0 * len(self.rows))
        box = (self.leak * (1.0 - eps), 1.0 + eps)
        found = lsq_linear(columns, np.zeros(columns.shape[0]), bounds=box, method="bvls", tol=1e-14)
        return float(np.linalg.norm(columns @ found.x))

    def seen(self, sign: float) -> FloatArray:
        """z_i^+ (sign 1) or z_i^- (sign -1) of the divided samples, shape (n, d)."""
        return np.where(self.is_positive == (sign > 0), 1.0, self.leak)[:, None] * self.rows

    def mean(self, sign: float) -> FloatArray:
        """mu^+ or mu^- of the divided samples."""
        return np.asarray(self.seen(sign).mean(axis=0))

    def growth(self, sign: float) -> float:
        """lambda_0^+ or lambda_0^-, in the given units: |mu|/2, not the printed |mu| (erratum E2)."""
        return 0.5 * self.factor * float(np.linalg.norm(self.mean(sign)))

    def depths(self, w: FloatArray, a: FloatArray) -> FloatArray:
        """For every neuron the largest delta with sign(a) w in C_delta, negative outside C; shape (num_neurons,)."""
        lengths = np.linalg.norm(w, axis=1)
        return np.asarray((np.sign(a)[:, None] * (w @ self.rows.T)).min(axis=1) / np.where(lengths > 0, lengths, 1.0))


ALG_4 = ours(
    "lyu2021:alg4",
    "App. G.1",
    CorrectCone,
    r"the cones $C_\delta$ and $K^\varepsilon$, $\delta$, $\varepsilon_1$ and $h_{\min}$",
)


@dataclass(frozen=True, eq=False)
class EarlyConstants:
    """What the proof of Lemma G.4 gives for one shape of network; times and scales in the given units.

    Parameters
    ----------
    delta, eps_1
        As in `CorrectCone`.
    eps_2
        An eps for which the perturbed rays keep half their distance to the neurons, by a bound on their angle.
    eps
        Half the smaller of the two: any smaller eps serves, and h_min vanishes as eps tends to 1.
    ray_distance
        The smallest distance of a neuron to the ray it must avoid, of the stored shape.
    shortest
        D-bar: no neuron becomes shorter than this times the scale (min{1, d-bar'}, erratum E16).
    h_min
        Norm of the shortest pull in H^eps.
    time
        T0.
    log_scale
        Natural logarithm of sigma_max for the stored shape, with sqrt(eps/(2m)) (erratum E16).
    """

    delta: float
    eps_1: float
    eps_2: float
    eps: float
    ray_distance: float
    shortest: float
    h_min: float
    time: float
    log_scale: float


def alignment_constants(cone: CorrectCone, network: Network) -> EarlyConstants:
    """T0 and sigma_max of Lemma G.4 for the stored shape of a network."""
    delta, eps_1 = cone.delta, cone.eps_1
    distances, angles, lengths = _ray_distances(cone, network)
    nearest = float(distances.min())
    if not (delta > 0.0 and nearest > 0.0):
        return EarlyConstants(delta, eps_1, 0.0, 0.0, nearest, 0.0, 0.0, np.inf, -np.inf)
    room = angles - np.arcsin(0.5 * nearest / lengths)
    relative = np.array([_relative_mean(cone, -sign) for sign in np.sign(network.a)])
    eps_2 = float(min(1.0, np.min(np.sin(np.minimum(room, 0.5 * np.pi)) * relative)))
    eps = 0.5 * min(eps_1, eps_2)
    shortest = min(1.0, delta / 6.0 / (1.0 + 2.0 * delta / 3.0)) * nearest / 2.0
    h_min = cone.shortest_pull(eps)
    lacking = delta / 3.0 * lengths[:, None] - np.sign(network.a)[:, None] * (network.w @ cone.rows.T)
    time = max(0.0, 3.0 / (delta * h_min * shortest) * float(lacking.max()))
    return EarlyConstants(
        delta,
        eps_1,
        eps_2,
        eps,
        nearest,
        shortest,
        h_min,
        time / cone.factor,
        largest_log_scale(cone, network, eps, time),
    )


def largest_log_scale(cone: CorrectCone, network: Network, eps: float, time: float) -> float:
    """log sigma for which the network stays below sqrt(eps/(2m)) up to `time`, a time of the divided samples."""
    log_size = np.log(m_norm(neuron_rows(network))) + 0.5 * np.log(cone.factor)
    return float(-time + 0.5 * np.log(eps / (2.0 * network.num_neurons)) - log_size)


def idealised_state(evidence: Evidence, time: float) -> AlignedState:
    """The neurons at one time of the flow with the forces of zero outputs, in closed form."""
    network, dataset = evidence.network, evidence.dataset
    forces = evidence.loss.label_forces(dataset.y)
    return align_until(dataset.X, forces, network.w, network.a, time, leak=network.leak)


def idealised_time(evidence: Evidence, depth: float) -> float:
    """To a thousandth the first time at which every idealised neuron has sign(a) w in C_depth; infinite if never."""
    network, dataset = evidence.network, evidence.dataset
    arrays = (dataset.X, dataset.y, evidence.loss.label_forces(dataset.y), network.w, network.a)
    return _entry_time(tuple(np.asarray(part, dtype=np.float64).tobytes() for part in arrays), network.leak, depth)


@lru_cache(maxsize=256)  # the answer is that of the shape alone, and runs at several scales ask for it again and again
def _entry_time(arrays: tuple[bytes, ...], leak: float, depth: float) -> float:
    flat = [np.frombuffer(part, dtype=np.float64) for part in arrays]
    y, forces, a = flat[1], flat[2], flat[4]
    X, w = flat[0].reshape(y.size, -1), flat[3].reshape(a.size, -1)
    cone = CorrectCone.of(X, y, leak)

    def is_inside(time: float) -> bool:
        state = align_until(X, forces, w, a, time, leak=leak)
        return bool(cone.depths(state.w, state.a).min() >= depth)

    if is_inside(0.0):
        return 0.0
    early, late = 0.0, 1.0 / max(cone.growth(1), cone.growth(-1))
    while not is_inside(late):
        early, late = late, 2.0 * late
        if late > _LONGEST:
            return float(np.inf)
    while late - early > 1e-3 * late:  # once inside a neuron stays, so `late` is always inside
        middle = 0.5 * (early + late)
        early, late = (early, middle) if is_inside(middle) else (middle, late)
    return late


@computed_once
def correct_cone(evidence: Evidence) -> CorrectCone:
    """The cone of the evidence's samples, computed once; refused for labels other than -1 and 1."""
    if not evidence.dataset.is_binary:
        raise InvalidInputError("`dataset` must hold the labels -1 and 1 for the cone of correct signs, got others.")
    return CorrectCone.of(evidence.dataset.X, evidence.dataset.y, evidence.leak)


def positive_growth(evidence: Evidence) -> float:
    """lambda_0^+."""
    return correct_cone(evidence).growth(1)


def cone_factor(evidence: Evidence) -> float:
    """c, by which the samples were divided."""
    return correct_cone(evidence).factor


def cone_delta(evidence: Evidence) -> float:
    """delta of App. G."""
    return correct_cone(evidence).delta


def cone_obstacle(evidence: Evidence) -> str | None:
    """Why the cone of correct signs is of no use here, or None."""
    dataset = evidence.dataset
    if not dataset.is_binary:
        return "the labels are not -1 and 1"
    if not 0.0 < evidence.leak < 1.0:
        return f"the cones of App. G want a leak in (0, 1), not {evidence.leak:g}"
    if not evidence.facts.has_affordable_cones:
        return f"{dataset.n} samples in dimension {evidence.facts.rank} have too many activation cones to enumerate"
    if not pairwise_condition(evidence.facts).holds:
        return "Assumption A.2 fails"
    return None


def where_cone_serves(judge: Callable[[Evidence], Comparison]) -> Callable[[Evidence], Comparison]:
    """The same judgement, undecided where there is no cone to speak of; another hypothesis then says why."""

    @wraps(judge)
    def guarded(evidence: Evidence) -> Comparison:
        obstacle = cone_obstacle(evidence)
        return judge(evidence) if obstacle is None else undecided(obstacle)

    return guarded


@computed_once
def constants_of(evidence: Evidence) -> EarlyConstants:
    """Lemma G.4's constants of the evidence's network, computed once."""
    return alignment_constants(correct_cone(evidence), evidence.network)


def force_tolerance(evidence: Evidence) -> float:
    """eps of Lemma G.4."""
    return constants_of(evidence).eps


def _ray_distances(cone: CorrectCone, network: Network) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Distance of -s w to the ray of mu^(-s) for every neuron of sign s, the angle to it, and |w| (erratum E7)."""
    lengths = row_norms(network.w)
    distances, angles = np.zeros_like(lengths), np.zeros_like(lengths)
    for k, (w, sign) in enumerate(zip(network.w, np.sign(network.a), strict=True)):
        mean = cone.mean(-sign)
        size = float(np.linalg.norm(mean))
        if size == 0.0 or lengths[k] == 0.0:
            continue
        unit, point = mean / size, -sign * w
        across = float(np.linalg.norm(point - (point @ unit) * unit))
        angles[k] = np.arctan2(across, point @ unit)
        distances[k] = across if point @ unit > 0.0 else lengths[k]
    return distances, angles, lengths


def _relative_mean(cone: CorrectCone, sign: float) -> float:
    """|mu| over the mean of |z_i|: changing each z_i by a part eps turns mu by at most arcsin(eps over this)."""
    seen = cone.seen(sign)
    return float(np.linalg.norm(seen.mean(axis=0)) / np.mean(np.linalg.norm(seen, axis=1)))
