"""BalancedNeuron: one point of the balanced magnitude-angle plane, where every run and every bound starts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reluflow.errors import InvalidInputError
from reluflow.papers.lee2022.single_neuron.angle import deficit, gap_of_psi, overlap, phi_of_psi, psi_of_gap, psi_of_phi


@dataclass(frozen=True)
class BalancedNeuron:
    """A student neuron with q scalar layers above it, balanced: |w| = v_1 = ... = v_q = `magnitude`.

    The teacher has the same form with common magnitude `teacher_magnitude`. The angle is given once, as `phi`, as
    its distance `gap` from pi, or as `psi` = log tan(phi/2); give the gap when the neuron is nearly aligned.

    Parameters
    ----------
    q
        Number of scalar layers: 0, 1, 2 are the paper's one-, two- and three-layer networks.
    magnitude
        v > 0.
    phi, gap, psi
        Exactly one of them; phi and gap lie strictly between 0 and pi, because neither an aligned nor an
        antiparallel neuron turns.
    teacher_magnitude
        v* > 0.

    Notes
    -----
    The paper writes m for q.

    References
    ----------
    Lee et al. (2022), Secs. 2 and 3 [lee2022].

    Examples
    --------
    >>> start = BalancedNeuron(1, 0.1, phi=np.pi / 2)
    >>> round(start.deficit, 8), round(start.threshold, 6)
    (0.68169011, 0.56419)
    """

    q: int
    magnitude: float
    psi: float
    teacher_magnitude: float

    def __init__(
        self,
        q: int,
        magnitude: float,
        *,
        phi: float | None = None,
        gap: float | None = None,
        psi: float | None = None,
        teacher_magnitude: float = 1.0,
    ) -> None:
        object.__setattr__(self, "q", checked_layers(q))
        object.__setattr__(self, "magnitude", _checked_positive(magnitude, "magnitude"))
        object.__setattr__(self, "psi", _checked_psi(phi, gap, psi))
        object.__setattr__(self, "teacher_magnitude", _checked_positive(teacher_magnitude, "teacher_magnitude"))

    @property
    def phi(self) -> float:
        """Pi minus the angle to the teacher."""
        return float(phi_of_psi(self.psi))

    @property
    def gap(self) -> float:
        """Angle to the teacher."""
        return float(gap_of_psi(self.psi))

    @property
    def log_ratio(self) -> float:
        """log(v / v*)."""
        return float(np.log(self.magnitude) - np.log(self.teacher_magnitude))

    @property
    def deficit(self) -> float:
        """eps(phi), the share of the teacher the student's angle cannot reach."""
        return float(deficit(self.gap))

    @property
    def overlap(self) -> float:
        """1 - eps(phi)."""
        return float(overlap(self.phi))

    @property
    def half_cotangent(self) -> float:
        """y_0 = cot(phi/2)."""
        return float(np.exp(-self.psi))

    @property
    def teacher_power(self) -> float:
        """V = v*^(q+1), the gain of the teacher."""
        return float(self.teacher_magnitude ** (self.q + 1))

    @property
    def clock(self) -> float:
        """v*^(2q)/2: the intrinsic time of the flow of one neuron is this times t."""
        return float(0.5 * self.teacher_magnitude ** (2 * self.q))

    @property
    def threshold(self) -> float:
        """v* (1 - eps)^(1/(q+1)): the magnitude above which dv/dt < 0 (Eq. (11))."""
        return float(self.teacher_magnitude * self.overlap ** (1.0 / (self.q + 1)))


def checked_layers(q: int) -> int:
    """The number of scalar layers as an int of at least 0, or a refusal."""
    if not isinstance(q, int | np.integer) or isinstance(q, bool) or q < 0:
        raise InvalidInputError(f"`q` must be a whole number of scalar layers, at least 0, got {q!r}.")
    return int(q)


def _checked_positive(value: float, name: str) -> float:
    if not (np.isfinite(value) and value > 0):
        raise InvalidInputError(f"`{name}` must be positive and finite, got {value}.")
    return float(value)


def _checked_psi(phi: float | None, gap: float | None, psi: float | None) -> float:
    if sum(angle is not None for angle in (phi, gap, psi)) != 1:
        raise InvalidInputError("exactly one of `phi`, `gap` and `psi` must be given; they name the same angle.")
    if psi is not None:
        if not np.isfinite(psi):
            raise InvalidInputError(f"`psi` must be finite, got {psi}.")
        return float(psi)
    name, value = ("phi", phi) if phi is not None else ("gap", gap)
    if value is None or not 0.0 < value < np.pi:
        raise InvalidInputError(
            f"`{name}` must lie strictly between 0 and pi, got {value}; an aligned or antiparallel neuron never turns."
        )
    return float(psi_of_phi(value) if name == "phi" else psi_of_gap(value))
