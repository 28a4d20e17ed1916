"""What all results of the paper speak of: teacher, spectrum, groups of neurons, yardsticks, delta, Delta, the scale."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reluflow.arrays import FloatArray, IndexArray
from reluflow.papers.chistikov2023.theorems.yardsticks import Yardstick, alignment_time, yardstick
from reluflow.theory.elsewhere import definition
from reluflow.theory.evidence import Evidence, computed_once

DELTA_TERMS = (
    "shortest sample",
    "cosine of samples",
    r"gap of $\sqrt{\eta}$",
    r"$\sqrt{\eta_d}$",
    "teacher's coordinate",
    "shortest neuron",
    "cosine at the start, $J_+$",
    "sine at the start, $J_-$",
    "cosine with a sample on the way",
    "cosine with the first sample lost",
    "shortest stage",
)


@dataclass(frozen=True, eq=False)
class Scene:
    """A problem of the paper, in its own letters.

    Parameters
    ----------
    X, y
        Samples in rows, and labels.
    teacher
        v*, shape (d,).
    z, signs, multiplicity
        The neurons are lambda z_j with a_j = s_j |lambda z_j|, each counted so often.
    log_scale
        ln lambda.

    Notes
    -----
    The flow does not know how w = lambda z is split, but delta holds min |z_j| and Delta holds max |z_j|. `scene` takes
    the z with max |z_j| = max(max |x_i|, 1), the largest that leaves Delta as it is.
    """

    X: FloatArray
    y: FloatArray
    teacher: FloatArray
    z: FloatArray
    signs: FloatArray
    multiplicity: FloatArray
    log_scale: float

    @cached_property
    def gamma(self) -> FloatArray:
        """(1/n) sum y_i x_i = H v*, shape (d,)."""
        return np.asarray(self.y @ self.X / len(self.y))

    @cached_property
    def speed(self) -> float:
        """|gamma|."""
        return float(np.linalg.norm(self.gamma))

    @cached_property
    def H(self) -> FloatArray:
        """(1/n) sum x_i x_i^T, shape (d, d)."""
        return np.asarray(self.X.T @ self.X / len(self.y))

    @cached_property
    def spectrum(self) -> tuple[FloatArray, FloatArray]:
        """eta_1 > ... > eta_d of H, and u_1, ..., u_d in the columns with <u_k, v*> > 0."""
        eta, basis = np.linalg.eigh(self.H)
        basis = basis[:, ::-1]
        signs = np.where(basis.T @ self.teacher < 0.0, -1.0, 1.0)
        return eta[::-1], basis * signs

    @property
    def eta(self) -> FloatArray:
        """Eigenvalues of H, largest first, shape (d,)."""
        return self.spectrum[0]

    @cached_property
    def nu(self) -> FloatArray:
        """nu_k* = <u_k, v*>, shape (d,)."""
        return np.asarray(self.spectrum[1].T @ self.teacher)

    @cached_property
    def positive(self) -> IndexArray:
        """J_+: neurons with s = 1 that have a sample inside."""
        return np.flatnonzero((self.signs > 0) & np.any(self.X @ self.z.T > 0.0, axis=0))

    @cached_property
    def negative(self) -> IndexArray:
        """J_-: neurons with s = -1 that have a sample inside."""
        return np.flatnonzero((self.signs < 0) & np.any(self.X @ self.z.T > 0.0, axis=0))

    @cached_property
    def yardsticks(self) -> dict[int, Yardstick]:
        """alpha_j for j in J_+ and J_-."""
        active = np.union1d(self.positive, self.negative)
        return {int(j): yardstick(self.X, self.y, self.z[j], int(self.signs[j])) for j in active}

    @cached_property
    def alignment_time(self) -> float:
        """T_0 = max tau_j^{n_j} + 1."""
        return alignment_time(self.yardsticks.values())

    def phase_time(self, epsilon: float) -> float:
        """T_1 = epsilon ln(1/lambda)/|gamma|."""
        return -epsilon * self.log_scale / self.speed

    @cached_property
    def Delta(self) -> float:
        """max(|x_i|, |z_j|, 1)."""
        return float(max(np.max(np.linalg.norm(self.X, axis=1)), np.max(np.linalg.norm(self.z, axis=1)), 1.0))

    @cached_property
    def delta_terms(self) -> tuple[float, ...]:
        """The eleven numbers of which delta is the least, in the paper's order; infinite where there is none.

        The ninth is a minimum over time: on a stage that cosine is a sinusoid of the angle without a zero, so its
        modulus is concave and least at an end of the stage.
        """
        lengths = np.linalg.norm(self.X, axis=1)
        unit = self.X / lengths[:, None]
        roots = np.sqrt(np.maximum(self.eta, 0.0))
        d = self.X.shape[1]
        gaps = (d - 1) * float(np.min(roots[:-1] - roots[1:], initial=np.inf))
        pos = [self.yardsticks[int(j)] for j in self.positive]
        neg = [self.yardsticks[int(j)] for j in self.negative]
        return (
            float(np.min(lengths)),
            float(np.min(unit @ unit.T)),
            gaps,
            float(roots[-1]),
            float(np.sqrt(d) * np.min(self.nu)),
            float(np.min(np.linalg.norm(self.z, axis=1))),
            min((float(np.cos(path.starts[0])) for path in pos), default=np.inf),
            min((float(np.sin(path.starts[0])) for path in neg), default=np.inf),
            min((_nearest_other(unit, path) for path in (*pos, *neg)), default=np.inf),
            min((float(unit[path.samples[0]] @ path.directions[0]) for path in neg), default=np.inf),
            min((float(np.min(path.lengths, initial=np.inf)) for path in (*pos, *neg)), default=np.inf),
        )

    @property
    def delta(self) -> float:
        """The least of `delta_terms`."""
        return min(self.delta_terms)

    def largest_log_scale(self, epsilon: float) -> float:
        """ln of the largest lambda of Assumption 2, (m n^(9 n Delta^2/delta^3))^(-3/epsilon)."""
        n, count = len(self.y), max(float(np.sum(self.multiplicity)), 1.0)
        power = 9.0 * n * self.Delta**2 / self.delta**3
        return float(-3.0 / epsilon * (np.log(count) + power * np.log(n)))

    @cached_property
    def log_growths(self) -> FloatArray:
        """ln R_j of J_+, R_j = lim |alpha_j| exp(-|gamma| t)."""
        return np.array([self.yardsticks[int(j)].log_growth for j in self.positive])

    @cached_property
    def limit_norms(self) -> FloatArray:
        """|w_j| of J_+ at the end as lambda -> 0: R_j/sqrt(sum R^2); ours, the paper has the ratios."""
        weights = np.exp(self.log_growths - np.max(self.log_growths))
        return np.asarray(weights / np.sqrt(np.sum(self.multiplicity[self.positive] * weights**2)))


def _nearest_other(unit: FloatArray, path: Yardstick) -> float:
    """Least |cosine| of alpha with a sample at the ends of each stage, the samples met at its ends left out."""
    least = np.inf
    for stage in range(len(path.samples)):
        met = set(path.samples[max(stage - 1, 0) : stage + 1].tolist())
        rest = [i for i in range(len(unit)) if i not in met]
        for direction in path.directions[stage : stage + 2]:
            least = min(least, float(np.min(np.abs(unit[rest] @ direction), initial=np.inf)))
    return least


@computed_once
def scene(evidence: Evidence) -> Scene:
    """The problem in the paper's letters, with the split of lambda and z that is best for Assumption 2."""
    network, X = evidence.network, evidence.dataset.X
    factor = max(float(np.max(np.linalg.norm(X, axis=1))), 1.0) / float(np.max(np.linalg.norm(network.w, axis=1)))
    return Scene(
        X,
        evidence.dataset.y,
        evidence.facts.least_squares,
        network.w * factor,
        np.sign(network.a),
        network.weight,
        network.log_scale - float(np.log(factor)),
    )


DELTA = definition("chistikov2023:delta", "Sec. 3", Scene.delta, r"$\delta$, the least of eleven numbers; $\Delta$")
ASM_2 = definition("chistikov2023:asm2", "Assumption 2", Scene.largest_log_scale, "the scale, as a logarithm")
