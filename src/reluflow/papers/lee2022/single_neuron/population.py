"""Population loss of one deep ReLU neuron and its gradient, for any positive parameters, balanced or not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from reluflow.arrays import FloatArray
from reluflow.errors import InvalidInputError
from reluflow.papers.lee2022.single_neuron.angle import deficit, gap_between, overlap
from reluflow.papers.lee2022.single_neuron.balanced_neuron import BalancedNeuron


@dataclass(frozen=True, eq=False)
class NeuronParameters:
    """f(x) = v_1 s(v_2 s(... v_q s(<w,x>))) = (prod_k v_k) s(<w,x>), all v_k > 0.

    Parameters
    ----------
    w
        Input weight, shape (d,), not zero.
    v
        Scalar layers, shape (q,), positive; empty for q = 0.
    """

    w: FloatArray
    v: FloatArray

    def __init__(self, w: ArrayLike, v: ArrayLike = ()) -> None:
        weight, scalars = np.array(w, dtype=np.float64), np.array(v, dtype=np.float64)
        if weight.ndim != 1 or not np.all(np.isfinite(weight)) or not np.any(weight):
            raise InvalidInputError(f"`w` must be a finite vector other than 0, got shape {weight.shape}.")
        if scalars.ndim != 1 or not (np.all(np.isfinite(scalars)) and np.all(scalars > 0)):
            raise InvalidInputError(
                "`v` must hold positive finite scalar layers; with one of them at or below 0 the neuron is dead."
            )
        for name, array in (("w", weight), ("v", scalars)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def q(self) -> int:
        """Number of scalar layers."""
        return int(self.v.size)

    @property
    def product(self) -> float:
        """prod_k v_k."""
        return float(np.prod(self.v))

    @property
    def norm(self) -> float:
        """|w|."""
        return float(np.linalg.norm(self.w))

    def outputs(self, X: ArrayLike) -> FloatArray:
        """f(x_k), shape (n,)."""
        return np.asarray(self.product * np.maximum(np.asarray(X, dtype=np.float64) @ self.w, 0.0))


@dataclass(frozen=True, eq=False)
class NeuronGradient:
    """Gradient of the loss in the shape of the parameters: `w` (d,), `v` (q,)."""

    w: FloatArray
    v: FloatArray


def balanced_parameters(w: ArrayLike, *, q: int) -> NeuronParameters:
    """The neuron with v_1 = ... = v_q = |w|, the paper's initialisation and its teacher."""
    weight = np.asarray(w, dtype=np.float64)
    return NeuronParameters(weight, np.full(q, np.linalg.norm(weight)))


def balanced_state(parameters: NeuronParameters, teacher: NeuronParameters) -> BalancedNeuron:
    """Magnitude and angle of a balanced neuron seen from its balanced teacher; unbalanced ones are refused."""
    _check_pair(parameters, teacher)
    if parameters.q != teacher.q:
        raise InvalidInputError(f"student and teacher must have as many layers, got {parameters.q} and {teacher.q}.")
    for name, neuron in (("parameters", parameters), ("teacher", teacher)):
        if not np.allclose(neuron.v, neuron.norm, rtol=1e-9, atol=0.0):
            raise InvalidInputError(f"`{name}` must be balanced, v_k = |w| = {neuron.norm:.6g}, got {neuron.v}.")
    gap = float(gap_between(parameters.w, teacher.w))
    return BalancedNeuron(teacher.q, parameters.norm, gap=gap, teacher_magnitude=teacher.norm)


def population_loss(parameters: NeuronParameters, teacher: NeuronParameters) -> float:
    """L = E (f(x) - f*(x))^2 / 2 over standard Gaussian x.

    With gains g = prod(v) |w| and g*, L = ((g - g*)^2 + 2 g g* eps(phi)) / 4, a sum of two terms that do not cancel.

    References
    ----------
    Lee et al. (2022), Eq. (1) with Lemma 2.1 [lee2022].

    Examples
    --------
    >>> teacher = balanced_parameters([1.0, 0.0], q=1)
    >>> population_loss(NeuronParameters([2.0, 0.0], [0.5]), teacher)
    0.0
    """
    _check_pair(parameters, teacher)
    gain, target = parameters.product * parameters.norm, teacher.product * teacher.norm
    eps = float(deficit(gap_between(parameters.w, teacher.w)))
    return 0.25 * ((gain - target) ** 2 + 2.0 * gain * target * eps)


def population_gradient(parameters: NeuronParameters, teacher: NeuronParameters) -> NeuronGradient:
    """Gradient of the population loss in w and in every v_k.

    With P = prod(v), -dL/dw = -P^2 w/2 + P P* [(phi/pi) w* + (|w*|/|w|)(sin phi/pi) w]/2 and
    -dL/dv_k = (P/v_k) |w| [-P |w| + P* |w*| (1 - eps)]/2.

    References
    ----------
    Lee et al. (2022), Props. 3.1 and 3.6 with Eqs. (4) to (10) [lee2022].
    """
    _check_pair(parameters, teacher)
    w, v, norm = parameters.w, parameters.v, parameters.norm
    gap = float(gap_between(w, teacher.w))
    phi = np.pi - gap
    product, target = parameters.product, teacher.product
    pull = (phi / np.pi) * teacher.w + (teacher.norm / norm) * (np.sin(gap) / np.pi) * w
    slope = 0.5 * norm * (product * norm - target * teacher.norm * float(overlap(phi)))
    return NeuronGradient(np.asarray(0.5 * product * (product * w - target * pull)), np.asarray(product / v * slope))


def _check_pair(parameters: NeuronParameters, teacher: NeuronParameters) -> None:
    if parameters.w.shape != teacher.w.shape:
        raise InvalidInputError(
            f"`parameters` and `teacher` must have one dimension, got {parameters.w.size} and {teacher.w.size}."
        )
