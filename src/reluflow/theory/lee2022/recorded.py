"""What runs of the population model leave behind beside the trajectories of the single-neuron room."""

from __future__ import annotations

from dataclasses import dataclass

from reluflow.arrays import FloatArray, IntArray
from reluflow.single_neuron.balanced_neuron import BalancedNeuron


@dataclass(frozen=True, eq=False)
class NeuronDescent:
    """Population gradient descent of one neuron.

    Parameters
    ----------
    start
        The balanced neuron at step 0.
    step_size
        eta.
    steps
        Recorded step numbers, shape (num_records,).
    magnitude, gap
        |w| and the angle to the teacher, shape (num_records,).
    v
        The scalar layers, shape (num_records, q).
    """

    start: BalancedNeuron
    step_size: float
    steps: IntArray
    magnitude: FloatArray
    gap: FloatArray
    v: FloatArray


@dataclass(frozen=True, eq=False)
class EulerRuns:
    """Euler's method on u' = -u (u^2 - A)/2 from one start, for several step sizes.

    `curves[k]` holds all iterates at `step_sizes[k]`, from step 0 on.
    """

    initial: float
    level: float
    step_sizes: FloatArray
    curves: tuple[FloatArray, ...]


@dataclass(frozen=True, eq=False)
class ComparisonCurves:
    """The comparison equation integrated at the levels V (1 - eps_0) (`lower`) and V (`upper`), shape (num_times,)."""

    start: BalancedNeuron
    times: FloatArray
    lower: FloatArray
    upper: FloatArray
