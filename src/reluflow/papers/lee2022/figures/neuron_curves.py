"""NeuronCurves: length and angle of neurons at the recorded steps, on samples, on the population or by the flow."""

from __future__ import annotations

from dataclasses import dataclass

from reluflow.arrays import FloatArray
from reluflow.papers.lee2022.single_neuron import BalancedNeuron


@dataclass(frozen=True, eq=False)
class NeuronCurves:
    """What is recorded of neurons: a row per step, and a column per neuron where there are several.

    Parameters
    ----------
    magnitude
        |w|.
    gap
        pi - phi, the angle to the teacher.

    Examples
    --------
    >>> import numpy as np
    >>> curves = NeuronCurves(np.array([[2.0, 3.0], [1.5, 3.5]]), np.array([[1.0, 0.5], [0.25, 0.125]]))
    >>> late = curves.column(0).neuron(1, q=1, teacher_norm=4.0)
    >>> late.magnitude, round(late.gap, 12)
    (1.5, 0.25)
    """

    magnitude: FloatArray
    gap: FloatArray

    def column(self, number: int) -> NeuronCurves:
        """The curves of one of several neurons."""
        return NeuronCurves(self.magnitude[:, number], self.gap[:, number])

    def neuron(self, row: int, *, q: int, teacher_norm: float) -> BalancedNeuron:
        """The state of the only neuron in one row, under q scalar layers."""
        gap = float(self.gap[row])
        return BalancedNeuron(q, float(self.magnitude[row]), gap=gap, teacher_magnitude=teacher_norm)
